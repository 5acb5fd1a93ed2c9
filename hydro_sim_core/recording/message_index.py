"""Index of the messages of an MCAP file by topic and time, for random access without loading the file."""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Metadata, Schema
from mcap.stream_reader import get_chunk_data_stream
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError
from hydro_sim_core.recording.reader import LONGEST_RECORD, MAGIC, damaged, ends_early, open_recording

logger = logging.getLogger(__name__)
_FRAME: Final = struct.Struct("<BQ")  # opcode and length in front of every record
_MESSAGE: Final = struct.Struct("<HIQQ")  # channel, sequence number, log time, publish time
_INDEX_ENTRY: Final = np.dtype([("time", "<u8"), ("offset", "<u8")])
_CHUNKS_KEPT = 4  # decompressed, about 1 MB each
_NO_CHUNK = -1


@dataclass(frozen=True, eq=False)
class RecordedTopic:
    """A topic of a file and the places of its messages.

    Attributes:
        name: Absolute name.
        type_name: Message type, such as ``std_msgs/msg/Float64``; empty if the file lacks it.
        definition: Definition of the type, as text.
        definition_encoding: ``ros2msg`` if ``definition`` has the format of .msg files.
        encoding: Encoding of the messages; ``cdr`` in ROS 2.
        times: (N,) log time of each message, ns, increasing.
        places: (N, 2) index of the chunk and offset in it; for chunk -1, offset in the file.
    """

    name: str
    type_name: str
    definition: str
    definition_encoding: str
    encoding: str
    times: NDArray[np.int64]
    places: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Entries:
    """Messages of one channel in one chunk, or of the file itself: times, ns, and offsets."""

    channel: int
    chunk: int
    times: NDArray[np.int64]
    offsets: NDArray[np.int64]


class MessageIndex:
    """The messages of a file by topic and time.

    A file without an end, still being written or left by a killed recorder, gives the messages that it has, and a
    warning. Usable as a context manager, which closes the file.

    Args:
        path: The file.

    Attributes:
        path: The file.
        topics: Topics in the order of their names; a name occurs twice if it has messages of two types.
        about: Metadata of a file recorded by hydro-sim; empty for other files.

    Raises:
        InputError: The file cannot be read, is not an MCAP file, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_recording(path)
        self._chunk = lru_cache(maxsize=_CHUNKS_KEPT)(self._unpack)
        self._chunk_starts: list[int] = []
        self._schemas: dict[int, Schema] = {}
        self._channels: dict[int, Channel] = {}
        self.about: dict[str, str] = {}
        try:
            with self._damage_told():
                self.topics: tuple[RecordedTopic, ...] = self._by_topic(self._walk())
        except InputError:
            self.close()
            raise

    def __enter__(self) -> MessageIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; its messages can no longer be read."""
        self._file.close()

    def read(self, topic: RecordedTopic, row: int) -> bytes:
        """Read message ``row`` of a topic.

        Raises:
            InputError: The file is damaged there.
        """
        with self._damage_told():
            chunk, offset = topic.places[row].tolist()
            if chunk == _NO_CHUNK:
                opcode, length = self._frame(offset)
                content = self._file.read(length)
            else:
                records = self._chunk(chunk)
                opcode, length = _FRAME.unpack_from(records, offset)
                content = records[offset + _FRAME.size : offset + _FRAME.size + length]
            time = _MESSAGE.unpack_from(content)[2]
            if opcode != Opcode.MESSAGE or time != topic.times[row] or len(content) != length:
                raise ValueError("its index points elsewhere")
            return content[_MESSAGE.size :]

    @contextmanager
    def _damage_told(self) -> Iterator[None]:
        try:
            yield
        except InputError:
            raise
        except Exception as error:  # damaged data may raise anything
            raise damaged(self.path, error) from None

    # --- one pass through the file

    def _walk(self) -> list[_Entries]:
        """Read chunks, channels and schemas, and index the messages."""
        found: list[_Entries] = []
        indexed: set[int] = set()
        size = self._file.seek(0, os.SEEK_END)  # the file may be growing
        complete = False
        for opcode, start, length in _records(self._file, size):
            if opcode == Opcode.CHUNK:
                self._chunk_starts.append(start)
            elif opcode == Opcode.MESSAGE_INDEX:
                chunk = len(self._chunk_starts) - 1
                indexed.add(chunk)
                found.append(_index_entries(self._file.read(length), chunk))
            elif opcode == Opcode.MESSAGE:
                channel, _, time, _ = _MESSAGE.unpack(self._file.read(_MESSAGE.size))
                found.append(_entries(channel, _NO_CHUNK, [time], [start - _FRAME.size]))
            elif opcode == Opcode.METADATA:
                metadata = Metadata.read(_stream(self._file.read(length)))
                self.about.update(metadata.metadata if metadata.name == "hydro_sim" else {})
            elif opcode == Opcode.FOOTER:
                complete = True
            else:
                self._take_description(opcode, self._file, length)
        if not complete:
            self._file.seek(max(0, size - len(MAGIC)))
            if self._file.read() == MAGIC and size > len(MAGIC):
                raise ValueError("its records do not fill it")
            ends_early(self.path)
            indexed.discard(len(self._chunk_starts) - 1)  # part of its index may be missing
        unindexed = set(range(len(self._chunk_starts))) - indexed
        found = [entries for entries in found if entries.chunk not in unindexed]
        for chunk in unindexed:
            found += self._entries_of_chunk(chunk)
        return found

    def _take_description(self, opcode: int, stream: BinaryIO, length: int) -> None:
        if opcode == Opcode.SCHEMA:
            schema = Schema.read(_stream(stream.read(length)))
            self._schemas[schema.id] = schema
        elif opcode == Opcode.CHANNEL:
            channel = Channel.read(_stream(stream.read(length)))
            self._channels[channel.id] = channel

    def _entries_of_chunk(self, chunk: int) -> list[_Entries]:
        """Index the messages of a chunk and read its channels."""
        places: dict[int, tuple[list[int], list[int]]] = {}
        records = BytesIO(self._chunk(chunk))
        for opcode, start, length in _records(records, len(records.getbuffer()), first=0):
            if opcode == Opcode.MESSAGE:
                channel, _, time, _ = _MESSAGE.unpack(records.read(_MESSAGE.size))
                times, offsets = places.setdefault(channel, ([], []))
                times.append(time)
                offsets.append(start - _FRAME.size)
            else:
                self._take_description(opcode, records, length)
        return [_entries(channel, chunk, *lists) for channel, lists in places.items()]

    def _by_topic(self, found: list[_Entries]) -> tuple[RecordedTopic, ...]:
        missing = {entries.channel for entries in found} - set(self._channels)
        for chunk in range(
            len(self._chunk_starts)
        ):  # a file without an end declares channels in its chunks only
            if not missing:
                break
            self._entries_of_chunk(chunk)
            missing -= set(self._channels)
        groups: dict[tuple[str, int], list[_Entries]] = {}
        for entries in found:
            channel = self._channels[entries.channel]
            groups.setdefault((channel.topic, channel.schema_id), []).append(entries)
        return tuple(self._topic(*key, group) for key, group in sorted(groups.items()))

    def _topic(self, name: str, schema_id: int, group: list[_Entries]) -> RecordedTopic:
        times = np.concatenate([entries.times for entries in group])
        chunks = np.concatenate([np.full(len(entries.times), entries.chunk) for entries in group])
        offsets = np.concatenate([entries.offsets for entries in group])
        order = np.argsort(times, kind="stable")
        schema = self._schemas.get(schema_id)
        return RecordedTopic(
            name=name,
            type_name=schema.name if schema is not None else "",
            definition=schema.data.decode() if schema is not None else "",
            definition_encoding=schema.encoding if schema is not None else "",
            encoding=self._channels[group[0].channel].message_encoding,
            times=times[order],
            places=np.stack([chunks, offsets], axis=1)[order],
        )

    def _frame(self, at: int) -> tuple[int, int]:
        self._file.seek(at)
        opcode, length = _FRAME.unpack(self._file.read(_FRAME.size))
        return opcode, length

    def _unpack(self, chunk: int) -> bytes:
        """Decompressed records of a chunk."""
        self._file.seek(self._chunk_starts[chunk])
        packed = Chunk.read(ReadDataStream(self._file))
        if packed.uncompressed_size > LONGEST_RECORD:
            raise ValueError("a chunk is larger than any")
        stream, length = get_chunk_data_stream(packed, validate_crc=True)
        return stream.read(length)


def _records(file: BinaryIO, size: int, first: int = len(MAGIC)) -> Iterator[tuple[int, int, int]]:
    """Opcode, start and length of the content of every complete record; the file is positioned at that start."""
    at = first
    while at + _FRAME.size <= size:
        file.seek(at)
        opcode, length = _FRAME.unpack(file.read(_FRAME.size))
        at += _FRAME.size
        if at + length > size:
            return
        yield opcode, at, length
        if opcode == Opcode.FOOTER:
            return
        at += length


def _index_entries(content: bytes, chunk: int) -> _Entries:
    channel, size = struct.unpack_from("<HI", content)
    rows = np.frombuffer(content, _INDEX_ENTRY, size // _INDEX_ENTRY.itemsize, offset=6)
    return _entries(channel, chunk, rows["time"], rows["offset"])


def _entries(
    channel: int, chunk: int, times: list[int] | NDArray[np.uint64], offsets: list[int] | NDArray[np.uint64]
) -> _Entries:
    return _Entries(channel, chunk, np.asarray(times, dtype=np.int64), np.asarray(offsets, dtype=np.int64))


def _stream(content: bytes) -> ReadDataStream:
    return ReadDataStream(BytesIO(content))
