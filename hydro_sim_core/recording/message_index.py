"""Index of the messages of an MCAP file by topic and time, for random access without loading the file."""

from __future__ import annotations

import logging
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType

import numpy as np
from mcap.opcode import Opcode
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError
from hydro_sim_core.recording.chunks import LARGEST_CHUNK, unpack_chunk
from hydro_sim_core.recording.contents import NO_CHUNK, RecordingContents
from hydro_sim_core.recording.mcap_records import FRAME, MESSAGE

logger = logging.getLogger(__name__)
_CHUNKS_KEPT = 4  # unpacked, about 1 MB each


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


class MessageIndex:
    """The messages of a file by topic and time.

    A file without an end, still being written or left by a killed recorder, gives the messages that it has, and a
    damaged one those of its intact chunks; a warning says what is missing. All chunks are read and checked once. Usable
    as a context manager, which closes the file.

    Args:
        path: The file.

    Attributes:
        path: The file.
        topics: Topics in the order of their names; a name occurs twice if it has messages of two types.
        about: Metadata of a file recorded by hydro-sim; empty for other files.
        gaps: What is missing because it is damaged.

    Raises:
        InputError: The file cannot be read, is not an MCAP file, or nothing of it is intact.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._contents = RecordingContents(path)
        self._chunk = lru_cache(maxsize=_CHUNKS_KEPT)(self._unpack)
        self._chunks: list[tuple[int, int]] = []
        try:
            self.topics: tuple[RecordedTopic, ...] = self._by_topic()
        except InputError:
            self.close()
            raise
        self.about = self._contents.about
        self.gaps = tuple(self._contents.gaps)

    def __enter__(self) -> MessageIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; its messages can no longer be read."""
        self._contents.close()

    def read(self, topic: RecordedTopic, row: int) -> bytes:
        """Read message ``row`` of a topic.

        Raises:
            InputError: The file is damaged there.
        """
        chunk, offset = topic.places[row].tolist()
        try:
            if chunk == NO_CHUNK:
                opcode, content = self._single(offset)
            else:
                records = self._chunk(chunk)
                opcode, length = FRAME.unpack_from(records, offset)
                content = records[offset + FRAME.size : offset + FRAME.size + length]
            if opcode != Opcode.MESSAGE or MESSAGE.unpack_from(content)[2] != topic.times[row]:
                raise ValueError("it has changed since it was opened")
        except (ValueError, OSError, struct.error) as error:
            problem = f"cannot be read any more ({' '.join(str(error).split()) or type(error).__name__})"
            raise InputError(self.path, "", problem, "open it again") from None
        return content[MESSAGE.size :]

    def _single(self, offset: int) -> tuple[int, bytes]:
        """Opcode and content of a record in no chunk."""
        file = self._contents.file
        file.seek(offset)
        opcode, length = FRAME.unpack(file.read(FRAME.size))
        if length > LARGEST_CHUNK:
            raise ValueError("a message is larger than any")
        return opcode, file.read(length)

    def _unpack(self, chunk: int) -> bytes:
        """Unpacked records of a chunk."""
        return unpack_chunk(self._contents.file, *self._chunks[chunk])

    def _by_topic(self) -> tuple[RecordedTopic, ...]:
        channels, times, places = self._messages()
        order = np.argsort(channels, kind="stable")
        numbers, starts = np.unique(channels[order], return_index=True)
        rows_of = dict(zip(numbers.tolist(), np.split(order, starts[1:]), strict=False))
        groups: dict[tuple[str, int], list[int]] = {}
        for number in numbers.tolist():
            channel = self._contents.topic(number)
            if channel is None:
                logger.warning(
                    "%s: %d messages are left out, for their topic is told in a part that is lost",
                    self.path,
                    len(rows_of[number]),
                )
            else:
                groups.setdefault((channel.topic, channel.schema_id), []).append(number)
        found = []
        for key, group in sorted(groups.items()):
            rows = np.sort(np.concatenate([rows_of[number] for number in group]))
            rows = rows[np.argsort(times[rows], kind="stable")]
            found.append(self._topic(*key, group[0], times[rows], places[rows]))
        return tuple(found)

    def _messages(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Channel (N,), time (N,), ns, and place (N, 2) of every message, in the order of the file."""
        channels, times = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        places = [np.zeros((0, 2), np.int64)]
        for piece in self._contents.pieces():
            chunk = NO_CHUNK
            if piece.chunk != NO_CHUNK:
                chunk = len(self._chunks)
                self._chunks.append((piece.chunk, piece.length))
            channels.append(piece.channels)
            times.append(piece.times)
            places.append(np.stack([np.full_like(piece.offsets, chunk), piece.offsets], axis=1))
        return np.concatenate(channels), np.concatenate(times), np.concatenate(places)

    def _topic(
        self, name: str, schema_id: int, channel: int, times: NDArray[np.int64], places: NDArray[np.int64]
    ) -> RecordedTopic:
        schema = self._contents.schemas.get(schema_id)
        return RecordedTopic(
            name=name,
            type_name=schema.name if schema is not None else "",
            definition=schema.data.decode(errors="replace") if schema is not None else "",
            definition_encoding=schema.encoding if schema is not None else "",
            encoding=self._contents.channels[channel].message_encoding,
            times=times,
            places=places,
        )
