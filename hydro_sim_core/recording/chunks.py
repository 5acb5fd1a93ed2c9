"""Chunks of an MCAP file: unpacked as far as they say, and no further."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import BinaryIO, Final

import lz4.frame
import zstandard

#: Larger chunks are refused, bytes, packed or unpacked. Recorders write about 1 MB, or one message that is larger.
LARGEST_CHUNK: Final = 2**27
#: Time of the first and of the last message, ns; size in bytes and checksum of what is unpacked; length of a name.
_HEADER: Final = struct.Struct("<QQQII")
_LENGTH: Final = struct.Struct("<Q")


def unpack_chunk(file: BinaryIO, start: int, length: int) -> bytes:
    """The records of a chunk.

    What is unpacked is bounded while it is unpacked: a chunk of a few bytes may claim little and hold gigabytes.

    Args:
        file: The file.
        start: Place of the chunk's content in it.
        length: Length of that content.

    Raises:
        ValueError: The chunk is damaged or too large.
        OSError: It cannot be read.
    """
    if length > LARGEST_CHUNK:
        raise ValueError("a chunk is larger than any")
    file.seek(start)
    content = file.read(length)
    _, _, size, checksum, name_length = _HEADER.unpack_from(content)
    begin = _HEADER.size + name_length + _LENGTH.size
    compression = content[_HEADER.size : _HEADER.size + name_length]
    if compression not in _UNPACKERS:
        raise ValueError(f"a chunk is packed by {compression!r}")
    if size > LARGEST_CHUNK:
        raise ValueError("a chunk is larger than any")
    try:
        records = _UNPACKERS[compression](content[begin:], size + 1)
    except (zstandard.ZstdError, RuntimeError, EOFError) as error:
        raise ValueError(str(error)) from None
    if len(records) != size:
        raise ValueError("a chunk holds more or less than it says")
    if checksum and zlib.crc32(records) != checksum:
        raise ValueError("the checksum of a chunk is wrong")
    return records


def claimed_size(file: BinaryIO, start: int) -> int:
    """Bytes to which a chunk claims to unpack; more are never unpacked.

    Raises:
        OSError: It cannot be read.
        struct.error: It ends too early.
    """
    file.seek(start)
    _, _, size, _, _ = _HEADER.unpack(file.read(_HEADER.size))
    return int(min(size, LARGEST_CHUNK))


def _plain(data: bytes, most: int) -> bytes:
    return data[:most]


def _zstd(data: bytes, most: int) -> bytes:
    unpacker = zstandard.ZstdDecompressor(max_window_size=LARGEST_CHUNK)
    return unpacker.stream_reader(data, read_across_frames=True).read(most)


def _lz4(data: bytes, most: int) -> bytes:
    return lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=most)


#: At most so many bytes of what is packed, by the name of the compression.
_UNPACKERS: Final[Mapping[bytes, Callable[[bytes, int], bytes]]] = {b"": _plain, b"zstd": _zstd, b"lz4": _lz4}
