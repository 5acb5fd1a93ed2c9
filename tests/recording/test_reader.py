"""Whatever a file holds, reading gives messages or one line that says what is wrong with it."""

from __future__ import annotations

import logging
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_typestore

from hydro_sim_core.errors import InputError
from hydro_sim_core.recording import read_messages, reader
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
    length = min(length, len(data) - 1)
    scratch.write_bytes(data[:length])
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        found = tuple(read_messages(scratch))
    assert found == messages[: len(found)]
    assert len(found) % 10 == 0
    assert "ends early" in caplog.text


def test_a_growing_file_is_no_damaged_one(recording, scratch, caplog, monkeypatch):
    """The rest of the chunk appears just after half of it was read."""
    data, messages = recording
    cut = [found.start() for found in re.finditer(b"zstd", data)][5] + 20  # inside the last chunk
    scratch.write_bytes(data[:cut])
    read = reader._messages

    def read_and_grow(*arguments):
        try:
            yield from read(*arguments)
        finally:
            with scratch.open("ab") as file:
                file.write(data[cut:])

    monkeypatch.setattr(reader, "_messages", read_and_grow)
    with caplog.at_level(logging.WARNING):
        assert tuple(read_messages(scratch)) == messages[:50]
    assert "ends early" in caplog.text


@given(at=st.integers(min_value=0, max_value=10_000), value=st.integers(min_value=1, max_value=255))
def test_a_damaged_file_is_refused_in_one_line(recording, scratch, at, value):
    """Any byte changed: no other exception, and no message that was not recorded."""
    data, messages = recording
    damaged = bytearray(data)
    damaged[at % len(data)] ^= value
    scratch.write_bytes(damaged)
    found, refusal = [], ""
    try:
        found = list(read_messages(scratch))
    except InputError as error:
        refusal = str(error)
    assert refusal == "" or refusal.startswith(f"{scratch}: ")
    assert "\n" not in refusal
    assert {message.data for message in found} <= {message.data for message in messages}


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
    with pytest.raises(InputError, match="is a directory"):
        list(read_messages(tmp_path))
