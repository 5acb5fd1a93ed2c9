"""What an MCAP file holds, chunk by chunk, as far as it is intact: messages, topics, metadata, gaps."""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Channel, Metadata, Schema, Statistics
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError
from hydro_sim_core.files import open_regular_file
from hydro_sim_core.recording.chunks import LARGEST_CHUNK, claimed_size, unpack_chunk
from hydro_sim_core.recording.copies import chunk_of_copy
from hydro_sim_core.recording.mcap_records import DAMAGED, FRAME, MAGIC, MESSAGE, RecordWalk

logger = logging.getLogger(__name__)

#: Place of messages that are in no chunk.
NO_CHUNK: Final = -1
#: Later times than this are wall-clock times, s.
WALL_CLOCK: Final = 1e6
_NS: Final = 1e-9
_MEND: Final = "give a recording"
#: Times from here on are damage, ns: the year 2116.
_LATEST: Final = 2**62
#: What a file may unpack to, bytes: so many, and so many times its size more.
_UNPACKED, _UNPACKED_RATIO = 2**30, 100
#: How many records a file may hold: so many, and one more for so many bytes.
_RECORDS, _BYTES_A_RECORD = 2_000_000, 8
#: Bytes that schemas, channels and metadata may take together, and one of them.
_DESCRIPTIONS, _DESCRIPTION = 2**26, 2**20
_LARGEST_FILE: Final = 2**50
#: Kinds of records that follow the messages.
_BEHIND_MESSAGES: Final = (Opcode.DATA_END, Opcode.STATISTICS, Opcode.SUMMARY_OFFSET, Opcode.CHUNK_INDEX)


@dataclass(frozen=True, eq=False)
class Piece:
    """Messages of a chunk, or one that is in no chunk.

    Attributes:
        chunk: Place in the file of the chunk's content; ``NO_CHUNK`` for a message in no chunk.
        length: Length of that content.
        records: The chunk unpacked; empty for a message in no chunk.
        channels: (N,) channel of every message, in the order of the file.
        times: (N,) log time of every message, ns.
        offsets: (N,) place of every message's record in ``records``; in the file for a message in no chunk.
    """

    chunk: int
    length: int
    records: bytes
    channels: NDArray[np.int64]
    times: NDArray[np.int64]
    offsets: NDArray[np.int64]


@dataclass(frozen=True)
class Gap:
    """A stretch that is missing: after ``begin``, before ``end``, ns; None for the start or the end of the file."""

    begin: int | None
    end: int | None


class RecordingContents:
    """The contents of an MCAP file, by any recorder, complete or not, with damaged chunks left out.

    Only the chunks themselves are trusted, whose checksums are checked: the index at the end of a file is not used, but
    for the names of topics whose first chunk is lost. Latched messages of a lost chunk are taken from their copies.

    Args:
        path: The file.

    Attributes:
        path: The file.
        file: The file, open.
        schemas: Message types by their number, as far as ``pieces`` has come.
        channels: Topics by their number, as far as ``pieces`` has come.
        about: Metadata of a file recorded by hydro-sim; empty for other files.
        gaps: What is missing; complete when ``pieces`` has ended.

    Raises:
        InputError: The file cannot be read, or is not an MCAP file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open = ExitStack()
        self.file: BinaryIO = self._open.enter_context(open_regular_file(path, _LARGEST_FILE, mend=_MEND))
        if self.file.read(len(MAGIC)) != MAGIC:
            self.close()
            raise InputError(path, "", "is no MCAP file", _MEND)
        self.schemas: dict[int, Schema] = {}
        self.channels: dict[int, Channel] = {}
        self.about: dict[str, str] = {}
        self.gaps: list[Gap] = []
        self._size = self.file.seek(0, os.SEEK_END)  # the file may be growing
        self._unpacked = self._records = self._described = self._found = 0
        self._promised: int | None = None
        self._searched = False
        self._copies: dict[tuple[int, int], tuple[int, int]] = {}
        self._earliest = self._latest = -1

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    def pieces(self) -> Iterator[Piece]:
        """All messages, piece by piece, those from copies last; warns once at the end of what is missing.

        Raises:
            InputError: No message is left of a damaged file, or it holds implausibly much.
        """
        walk = RecordWalk(self.file, self._size)
        damaged = ended = False
        for opcode, start, length in walk:
            ended = ended or opcode in _BEHIND_MESSAGES
            piece = None
            if opcode in (Opcode.CHUNK, Opcode.MESSAGE):
                piece = self._piece(opcode, start, length)
                damaged = damaged or piece is None
            elif opcode == DAMAGED:
                damaged = damaged or not ended
            elif opcode == Opcode.ATTACHMENT:
                self._note_copy(start, length)
            else:
                self._describe(opcode, self.file, length)
            if piece is not None and len(piece.times):
                self._note(piece, damaged)
                damaged = False
                yield piece
        if damaged:
            self.gaps.append(Gap(self._latest if self._found else None, None))
        if self._found:
            yield from self._pieces_of_copies()
        self._tell(walk.complete)

    def read_about(self) -> dict[str, str]:
        """Read ``about`` alone, which stands before the first message."""
        for opcode, _, length in RecordWalk(self.file, self._size):
            if opcode in (Opcode.CHUNK, Opcode.MESSAGE, Opcode.DATA_END):
                break
            if opcode == Opcode.METADATA:
                self._describe(opcode, self.file, length)
        return self.about

    def topic(self, channel: int) -> Channel | None:
        """Topic of a channel; None if it is told nowhere that is intact."""
        if channel not in self.channels and not self._searched:
            self._searched = True
            for opcode, _, length in RecordWalk(self.file, self._size):
                self._describe(opcode, self.file, length)  # the index repeats what a lost chunk has told
        return self.channels.get(channel)

    def _piece(self, opcode: int, start: int, length: int) -> Piece | None:
        """A piece of the file; None if it is damaged."""
        try:
            if opcode == Opcode.CHUNK:
                return self._chunk(start, length)
            if length > LARGEST_CHUNK:
                raise ValueError("a message is larger than any")
            channel, _, time, _ = MESSAGE.unpack(self.file.read(MESSAGE.size))
            return _piece(NO_CHUNK, length, b"", [channel], [time], [start - FRAME.size])
        except InputError:
            raise
        except (ValueError, OSError, struct.error):
            return None

    def _chunk(self, start: int, length: int) -> Piece:
        self._unpacked += claimed_size(self.file, start)  # also of a chunk that turns out to be damaged
        if self._unpacked > _UNPACKED + _UNPACKED_RATIO * self._size:
            raise self._implausible("unpacks to more than a recording of its size would")
        records = unpack_chunk(self.file, start, length)
        channels, times, offsets = [], [], []
        at, end = 0, len(records)
        most = _RECORDS + self._size // _BYTES_A_RECORD
        while at + FRAME.size <= end:
            opcode, size = FRAME.unpack_from(records, at)
            self._records += 1
            if self._records > most:
                raise self._implausible("holds more records than a recording of its size would")
            if opcode == DAMAGED:
                raise ValueError("a chunk holds what is no record")
            begin = at + FRAME.size
            if opcode == Opcode.MESSAGE:
                channel, _, time, _ = MESSAGE.unpack_from(records, begin)
                channels.append(channel)
                times.append(time)
                offsets.append(at)
            else:
                self._describe(opcode, BytesIO(records[begin : begin + size]), size)
            at = begin + size
        if at != end:
            raise ValueError("the records of a chunk do not fill it")
        return _piece(start, length, records, channels, times, offsets)

    def _note_copy(self, start: int, length: int) -> None:
        """Take note of a copy of a message, by channel and time; it stands before the message."""
        chunk = chunk_of_copy(self.file, start, length)
        piece = None if chunk is None else self._piece(Opcode.CHUNK, *chunk)
        if chunk is not None and piece is not None and len(piece.times) == 1:
            self._copies[int(piece.channels[0]), int(piece.times[0])] = chunk

    def _pieces_of_copies(self) -> Iterator[Piece]:
        """The messages that are left in copies alone."""
        for chunk in self._copies.values():
            piece = self._piece(Opcode.CHUNK, *chunk)
            if piece is not None:
                self._found += 1
                yield piece

    def _note(self, piece: Piece, damaged: bool) -> None:
        """Take note of a piece, and of the gap before it."""
        first, last = int(piece.times.min()), int(piece.times.max())
        if damaged:
            self.gaps.append(Gap(min(self._latest, first) if self._found else None, first))
        self._earliest = first if not self._found else min(self._earliest, first)
        self._latest = max(self._latest, last)
        self._found += len(piece.times)
        if self._copies:
            for message in zip(piece.channels.tolist(), piece.times.tolist(), strict=True):
                self._copies.pop(message, None)

    def _describe(self, opcode: int, stream: BinaryIO, length: int) -> None:
        """Read a schema, channel, metadata or statistics; what is damaged is left out, and the first one holds."""
        if opcode not in (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.METADATA, Opcode.STATISTICS):
            return
        self._described += length
        if self._described > _DESCRIPTIONS:
            raise self._implausible("describes more than a recording does")
        if length > _DESCRIPTION:
            return
        content = ReadDataStream(BytesIO(stream.read(length)))
        with suppress(Exception):  # damaged data may raise anything in the library
            if opcode == Opcode.SCHEMA:
                schema = Schema.read(content)
                self.schemas.setdefault(schema.id, schema)
            elif opcode == Opcode.CHANNEL:
                channel = Channel.read(content)
                self.channels.setdefault(channel.id, channel)
            elif opcode == Opcode.METADATA:
                metadata = Metadata.read(content)
                self.about.update(metadata.metadata if metadata.name == "hydro_sim" else {})
            else:
                self._promised = Statistics.read(content).message_count

    def _tell(self, complete: bool) -> None:
        lost = None if self._promised is None else self._promised - self._found
        if lost == 0:
            self.gaps.clear()  # only the index is damaged
        if self.gaps and not self._found:
            raise InputError(self.path, "", "is damaged, and no message is left", _MEND)
        if self.gaps:
            count = "" if lost is None or lost < 0 else f"{lost} of {self._promised} messages are lost, "
            stretches = told_gaps(self.gaps, self._earliest)
            logger.warning(
                "%s: is damaged: %snothing is left %s; the rest is used", self.path, count, stretches
            )
        if not complete:
            logger.warning(
                "%s: ends early, being written or its recorder killed; taken up to there", self.path
            )

    def _implausible(self, problem: str) -> InputError:
        return InputError(self.path, "", problem, _MEND)


def _piece(
    chunk: int, length: int, records: bytes, channels: list[int], times: list[int], offsets: list[int]
) -> Piece:
    if times and max(times) >= _LATEST:
        raise ValueError("a time is later than any")
    return Piece(
        chunk, length, records, *(np.array(values, np.int64) for values in (channels, times, offsets))
    )


def told_gaps(gaps: list[Gap], earliest: int, most: int = 3) -> str:
    """Gaps in words, such as "from 0.5 to 1 s"; wall-clock times are told from the ``earliest`` (ns) on."""
    zero = earliest if earliest * _NS > WALL_CLOCK else 0

    def told(gap: Gap) -> str:
        begin, end = (None if time is None else f"{(time - zero) * _NS:.6g}" for time in (gap.begin, gap.end))
        if begin is None:
            return f"before {end} s"
        return f"after {begin} s" if end is None else f"from {begin} to {end} s"

    words = [told(gap) for gap in gaps[:most]]
    return ", ".join(words) + (f" and at {len(gaps) - most} more places" if len(gaps) > most else "")
