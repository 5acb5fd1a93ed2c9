"""Whatever a file holds, reading gives messages or one line that says what is wrong with it."""

from __future__ import annotations

import logging
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_typestore

from hydro_sim_core.errors import InputError
from hydro_sim_core.recording import read_messages
from hydro_sim_core.recording.contents import Gap, told_gaps
from hydro_sim_core.recording.mcap_records import MAGIC
from support.recording.number_file import FLOAT, record_numbers


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Bytes of a file with six chunks, and its messages."""
    path = tmp_path_factory.mktemp("recording") / "run.mcap"
    return record_numbers(path, lambda i: f"/topic{i % 3}"), tuple(read_messages(path))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged") / "run.mcap"


def test_messages_come_in_the_order_of_the_file(recording):
    _, messages = recording
    assert [message.time for message in messages] == [10**6 * i for i in range(60)]
    assert {(message.type_name, message.encoding) for message in messages} == {(FLOAT, "cdr")}
    store = get_typestore(Stores.ROS2_JAZZY)
    values = [store.deserialize_cdr(message.data, FLOAT).data for message in messages]
    assert values == list(range(60))


def test_topics_can_be_chosen(recording, scratch):
    data, messages = recording
    scratch.write_bytes(data)
    assert list(read_messages(scratch, {"/topic1"})) == [m for m in messages if m.topic == "/topic1"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # caplog is cleared by hand
@given(length=st.integers(min_value=8, max_value=10_000))
def test_a_cut_file_gives_what_it_holds_and_a_warning(recording, scratch, caplog, length):
    """Wherever it is cut, also in the middle of a chunk: the messages of the chunks before."""
    data, messages = recording
    length = min(length, len(data) - len(MAGIC) - 1)
    scratch.write_bytes(data[:length])
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        found = tuple(read_messages(scratch))
    assert found == messages[: len(found)]
    assert len(found) % 10 == 0
    assert "ends early" in caplog.text


def test_a_growing_file_is_no_damaged_one(recording, scratch, caplog):
    """The rest of the chunk appears just after half of it was there."""
    data, messages = recording
    cut = [found.start() for found in re.finditer(b"zstd", data)][5] + 20  # inside the last chunk
    scratch.write_bytes(data[:cut])
    found = []
    with caplog.at_level(logging.WARNING):
        for message in read_messages(scratch):
            scratch.write_bytes(data)
            found.append(message)
    assert tuple(found) == messages[:50]
    assert "ends early" in caplog.text
    assert "is damaged" not in caplog.text


def test_what_is_missing_is_told_at_the_end(recording, scratch, caplog):
    """The other chunks are read, also where the lost one told of all topics."""
    data, messages = recording
    for lost in range(6):
        damaged = bytearray(data)
        damaged[[found.end() + 30 for found in re.finditer(b"zstd", data)][lost]] ^= 0x55
        scratch.write_bytes(damaged)
        caplog.clear()
        assert tuple(read_messages(scratch)) == messages[: 10 * lost] + messages[10 * lost + 10 :]
        (record,) = caplog.records
        assert "10 of 60 messages are lost" in record.getMessage()


def test_gaps_of_wall_clock_times_are_told_from_the_start_on():
    begin = 1_700_000_000 * 10**9
    gaps = [Gap(begin + 2 * 10**9, begin + 3 * 10**9)] * 5
    assert told_gaps(gaps, begin, most=1) == "from 2 to 3 s and at 4 more places"


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "no such file"), (b"", "no MCAP file"), (b"#ROSBAG V2.0\n" * 9, "no MCAP file")],
)
def test_another_file_is_refused(tmp_path, content, problem):
    path = tmp_path / "run.mcap"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        list(read_messages(path))


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        list(read_messages(tmp_path))
