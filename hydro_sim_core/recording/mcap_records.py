"""Records of an MCAP file, one after another, also behind a damaged one."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import BinaryIO, Final

from mcap.opcode import Opcode

MAGIC: Final = b"\x89MCAP0\r\n"
#: Opcode and length in front of every record.
FRAME: Final = struct.Struct("<BQ")
#: Beginning of a message: channel, sequence number, log time, publish time.
MESSAGE: Final = struct.Struct("<HIQQ")
#: Stands for bytes that are no record.
DAMAGED: Final = 0

#: Fields of a record: the size of a number, or of the number of bytes that follow.
_TEXT, _BYTES, _LONG_BYTES = "text", "bytes", "long bytes"
_COUNTERS: Final = {_TEXT: struct.Struct("<I"), _BYTES: struct.Struct("<I"), _LONG_BYTES: struct.Struct("<Q")}
#: What every kind of record consists of, as far as its length follows from it (MCAP, version 0). Where a byte of an
#: opcode or a length is damaged, the record no longer has the shape that it should have.
_SHAPES: Final[dict[int, tuple[int | str, ...]]] = {
    Opcode.HEADER: (_TEXT, _TEXT),
    Opcode.FOOTER: (20,),
    Opcode.SCHEMA: (2, _TEXT, _TEXT, _BYTES),
    Opcode.CHANNEL: (4, _TEXT, _TEXT, _BYTES),
    Opcode.MESSAGE: (),
    Opcode.CHUNK: (28, _TEXT, _LONG_BYTES),
    Opcode.MESSAGE_INDEX: (2, _BYTES),
    Opcode.CHUNK_INDEX: (32, _BYTES, 8, _TEXT, 16),
    Opcode.ATTACHMENT: (16, _TEXT, _TEXT, _LONG_BYTES, 4),
    Opcode.ATTACHMENT_INDEX: (40, _TEXT, _TEXT),
    Opcode.STATISTICS: (42, _BYTES),
    Opcode.METADATA: (_TEXT, _BYTES),
    Opcode.METADATA_INDEX: (16, _TEXT),
    Opcode.SUMMARY_OFFSET: (17,),
    Opcode.DATA_END: (4,),
}
#: Where a record may begin: an opcode, and a length below 2^40.
_BEGINNING: Final = re.compile(rb"[\x01-\x0f](?=.{5}\x00\x00\x00)", re.DOTALL)
_TOO_LONG: Final = 2**40
_BLOCK: Final = 2**20
#: How far a record is looked for, bytes: behind the largest chunk, and not through a file of nothing.
_FARTHEST: Final = 2**28
#: Most places at which a record is looked for behind damaged ones, so that made-up files end too.
_MOST_PLACES: Final = 200_000


class RecordWalk:
    """A walk over the records of a file. Stretches that are no records are skipped and told as ``DAMAGED``.

    Args:
        file: The file; it is positioned at the content of each record in turn.
        size: Bytes of the file to look at; it may be growing.

    Attributes:
        complete: Whether the end of the file was reached: a footer, or the mark at the end.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size
        self._places = _MOST_PLACES
        self._has_end = size >= 2 * len(MAGIC) and self._bytes(size - len(MAGIC), len(MAGIC)) == MAGIC
        self.complete = self._has_end

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        """Opcode, start and length of the content of every record."""
        at = len(MAGIC)
        end = self._size - (len(MAGIC) if self._has_end else 0)
        while at < end:
            opcode = self._kind(at)
            if opcode == DAMAGED:
                found = self._next_record(at + 1)
                if found is None:
                    if self._has_end or not self._is_cut(at):
                        yield DAMAGED, at, end - at
                    return
                yield DAMAGED, at, found - at
                at = found
                opcode = self._kind(at)
            _, length = self._frame(at)
            at += FRAME.size
            self._file.seek(at)
            yield opcode, at, length
            if opcode == Opcode.FOOTER:
                self.complete = True
                return
            at += length

    def _frame(self, at: int) -> tuple[int, int]:
        opcode, length = FRAME.unpack(self._bytes(at, FRAME.size))
        return opcode, length

    def _bytes(self, at: int, length: int) -> bytes:
        self._file.seek(at)
        return self._file.read(length)

    def _is_frame(self, at: int) -> bool:
        """Whether a frame is here, of a record that fits into the file."""
        if at + FRAME.size > self._size:
            return False
        opcode, length = self._frame(at)
        return opcode != DAMAGED and at + FRAME.size + length <= self._size

    def _is_cut(self, at: int) -> bool:
        """Whether a record may begin here that goes on behind the end of the file."""
        if at + FRAME.size > self._size:
            return True
        opcode, length = self._frame(at)
        return opcode in _SHAPES and length < _TOO_LONG

    def _kind(self, at: int) -> int:
        """Opcode of the record that begins here; ``DAMAGED`` if none does."""
        if not self._is_frame(at):
            return DAMAGED
        opcode, length = self._frame(at)
        start, after = at + FRAME.size, at + FRAME.size + length
        shape = _SHAPES.get(opcode)
        if shape and self._has_shape(start, after, shape):
            return opcode
        if self._has_shape(start, after, _SHAPES[Opcode.CHUNK]):
            return Opcode.CHUNK  # only its opcode is damaged, for no other record has this shape
        if shape or (opcode == Opcode.MESSAGE and length < MESSAGE.size):
            return DAMAGED
        # Nothing in a message tells its length, and nothing is known of kinds that newer versions may add: what
        # follows must be a record, or the end.
        follows = self._is_frame(after) or (not self._has_end and after + FRAME.size > self._size)
        return opcode if follows else DAMAGED

    def _has_shape(self, at: int, end: int, shape: tuple[int | str, ...]) -> bool:
        for field in shape:
            if isinstance(field, int):
                at += field
                continue
            counter = _COUNTERS[field]
            if at + counter.size > end:
                return False
            at += counter.size + counter.unpack(self._bytes(at, counter.size))[0]
        return at == end

    def _next_record(self, begin: int) -> int | None:
        """The next place at which a record begins; None if none is near."""
        for block in range(begin, min(self._size, begin + _FARTHEST), _BLOCK):
            content = self._bytes(block, _BLOCK + FRAME.size)
            for match in _BEGINNING.finditer(content, 0, len(content)):
                if match.start() >= _BLOCK:
                    break
                self._places -= 1
                if self._places < 0:
                    return None
                if self._kind(block + match.start()) != DAMAGED:
                    return block + match.start()
        return None
