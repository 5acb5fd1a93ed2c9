"""Any message at once is the one that reading from the start gives, also in files that are cut, damaged or not ours."""

from __future__ import annotations

import logging
import re
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.writer import CompressionType, IndexType, Writer

from hydro_sim_core.errors import InputError
from hydro_sim_core.recording import MessageIndex, read_messages
from hydro_sim_core.recording.contents import Gap
from hydro_sim_core.recording.mcap_records import MAGIC
from support.recording.number_file import FLOAT, number, record_numbers


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Bytes of a file with six chunks; a topic of its own begins in the fourth."""
    path = tmp_path_factory.mktemp("recording") / "run.mcap"
    return record_numbers(path, lambda i: f"/topic{i % 3 if i < 30 else i % 5}")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch") / "run.mcap"


def by_reading(path):
    found = {}
    for message in read_messages(path):
        found.setdefault(message.topic, []).append((message.time, message.data))
    return {topic: sorted(rows) for topic, rows in found.items()}


def by_index(path):
    with MessageIndex(path) as index:
        return {
            topic.name: [(time, index.read(topic, row)) for row, time in enumerate(topic.times.tolist())]
            for topic in index.topics
        }


def test_topics_are_described(recording, scratch):
    scratch.write_bytes(recording)
    with MessageIndex(scratch) as index:
        assert index.about == {"scene": "some"}
        assert [topic.name for topic in index.topics] == [f"/topic{i}" for i in range(5)]
        for topic in index.topics:
            assert (topic.type_name, topic.encoding, topic.definition_encoding) == (FLOAT, "cdr", "ros2msg")
            assert "float64 data" in topic.definition
    assert by_index(scratch) == by_reading(scratch)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(length=st.integers(min_value=8, max_value=10_000))
def test_a_cut_file_gives_what_reading_gives_and_a_warning(recording, scratch, caplog, length):
    """Wherever it is cut: in a chunk, between a chunk and its index, within that."""
    scratch.write_bytes(recording[: min(length, len(recording) - len(MAGIC) - 1)])
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        found = by_index(scratch)
    assert found == by_reading(scratch)
    assert "ends early" in caplog.text


@settings(max_examples=300)
@given(at=st.integers(min_value=len(MAGIC), max_value=10_000), value=st.integers(min_value=1, max_value=255))
def test_a_damaged_byte_costs_one_chunk_at_most(recording, scratch, at, value):
    """Any byte changed behind the first eight: no exception, no message that was not recorded, none of other chunks."""
    damaged = bytearray(recording)
    damaged[at % (len(recording) - len(MAGIC)) + len(MAGIC)] ^= value
    scratch.write_bytes(damaged)
    found = by_index(scratch)
    assert {topic: sorted(rows) for topic, rows in found.items()} == by_reading(scratch)
    left = {data for rows in found.values() for _, data in rows}
    lost = [i for i in range(60) if number(i) not in left]
    assert len(left) + len(lost) == 60
    assert len({i // 10 for i in lost}) <= 1


@pytest.mark.parametrize("compression", list(CompressionType))
@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("indexed", [True, False])
def test_files_of_other_writers_are_read_too(scratch, compression, chunked, indexed):
    """Without chunks, indices or order in time; several channels of one topic."""
    stream = BytesIO()
    writer = Writer(
        stream,
        chunk_size=200,
        compression=compression,
        index_types=IndexType.ALL if indexed else IndexType.NONE,
        use_chunking=chunked,
    )
    writer.start("ros2", "another")
    schema = writer.register_schema(FLOAT, "ros2msg", b"float64 data")
    channels = [writer.register_channel("/topic", "cdr", schema) for _ in range(2)]
    times = [7, 3, 5, 1, 4, 0, 9, 2, 8, 6]
    for i, time in enumerate(times):
        writer.add_message(channels[i % 2], time, number(time), time, i)
    writer.finish()
    scratch.write_bytes(stream.getvalue())
    assert by_index(scratch) == {"/topic": [(time, number(time)) for time in range(10)]}


def chunks(content):
    """Places in the middle of what the chunks hold."""
    return [found.end() + 30 for found in re.finditer(b"zstd", content)][:6]


@pytest.mark.parametrize(
    ("lost", "gap", "words"),
    [
        ([0], (None, 10), "10 of 60 messages are lost, nothing is left before 0.01 s"),
        ([2], (19, 30), "10 of 60 messages are lost, nothing is left from 0.019 to 0.03 s"),
        ([2, 3], (19, 40), "20 of 60 messages are lost, nothing is left from 0.019 to 0.04 s"),
        ([5], (49, None), "10 of 60 messages are lost, nothing is left after 0.049 s"),
    ],
)
def test_a_gap_is_told_once(recording, scratch, caplog, lost, gap, words):
    damaged = bytearray(recording)
    for number_of_chunk in lost:
        damaged[chunks(recording)[number_of_chunk]] ^= 0x55
    scratch.write_bytes(damaged)
    with MessageIndex(scratch) as index:
        begin, end = (None if time is None else 10**6 * time for time in gap)
        assert index.gaps == (Gap(begin, end),)
        assert [topic.name for topic in index.topics] == [f"/topic{i}" for i in range(5)]
    assert [record.getMessage() for record in caplog.records] == [
        f"{scratch}: is damaged: {words}; the rest is used"
    ]


def test_a_damaged_index_is_built_anew_and_costs_nothing(recording, scratch, caplog):
    """Between the chunks and at the end, whatever they claim."""
    damaged = bytearray(recording)
    for found in re.finditer(rb"\x07.\x00{7}", recording, re.DOTALL):
        damaged[found.end() + 8] ^= 0xFF
    damaged[-60] ^= 0xFF
    scratch.write_bytes(damaged)
    scratch_found = by_index(scratch)
    assert not caplog.records
    scratch.write_bytes(recording)
    assert scratch_found == by_index(scratch)


def test_a_file_without_an_intact_chunk_is_refused(recording, scratch):
    damaged = bytearray(recording)
    for place in chunks(recording):
        damaged[place] ^= 0xFF
    scratch.write_bytes(damaged)
    with pytest.raises(InputError, match="is damaged, and no message is left; give a recording"):
        MessageIndex(scratch)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path, problem in (
        (tmp_path / "gone.mcap", "no such file; check"),
        (tmp_path, "is a folder; give a rec"),
    ):
        with pytest.raises(InputError, match=f"{path}: {problem}"):
            MessageIndex(Path(path))
