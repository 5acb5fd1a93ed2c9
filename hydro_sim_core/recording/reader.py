"""Sequential reader of MCAP files, by any recorder, complete or not."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from hydro_sim_core.recording.contents import NO_CHUNK, Piece, RecordingContents
from hydro_sim_core.recording.mcap_records import FRAME, MESSAGE


@dataclass(frozen=True)
class RecordedMessage:
    """A message as it was recorded.

    Attributes:
        topic: Absolute name.
        type_name: Message type, such as ``std_msgs/msg/Float64``; empty if the file lacks it.
        encoding: Encoding of the message; ``cdr`` in ROS 2.
        time: Log time, ns.
        data: Serialised message.
    """

    topic: str
    type_name: str
    encoding: str
    time: int
    data: bytes


def read_messages(path: Path, topics: Collection[str] | None = None) -> Iterator[RecordedMessage]:
    """Every message of some topics, in the order of the file.

    A file without an end, still being written or left by a killed recorder, gives the messages that it has, and a
    damaged one those of its intact chunks; one warning at the end says what is missing.

    Args:
        path: The file.
        topics: Names of topics; None for all.

    Raises:
        InputError: The file cannot be read, is not an MCAP file, or nothing of it is intact.
    """
    with closing(RecordingContents(path)) as contents:
        for piece in contents.pieces():
            yield from _messages(contents, piece, topics)


def _messages(
    contents: RecordingContents, piece: Piece, topics: Collection[str] | None
) -> Iterator[RecordedMessage]:
    rows = zip(piece.channels.tolist(), piece.times.tolist(), piece.offsets.tolist(), strict=True)
    for channel, time, offset in rows:
        topic = contents.topic(channel)
        if topic is None or (topics is not None and topic.topic not in topics):
            continue
        schema = contents.schemas.get(topic.schema_id)
        yield RecordedMessage(
            topic=topic.topic,
            type_name=schema.name if schema is not None else "",
            encoding=topic.message_encoding,
            time=time,
            data=_data(contents, piece, offset),
        )


def _data(contents: RecordingContents, piece: Piece, offset: int) -> bytes:
    if piece.chunk == NO_CHUNK:
        contents.file.seek(offset + FRAME.size + MESSAGE.size)
        return contents.file.read(piece.length - MESSAGE.size)
    _, length = FRAME.unpack_from(piece.records, offset)
    return piece.records[offset + FRAME.size + MESSAGE.size : offset + FRAME.size + length]
