"""Protocol between a simulation and its viewer's server over a pair of sockets.

Every message is its kind, the length of its content, and the content.
"""

from __future__ import annotations

import json
import struct
from enum import IntEnum
from typing import Any, BinaryIO

_HEADER = struct.Struct("<BI")
HEADER_SIZE = _HEADER.size
_SEQ = struct.Struct("<Q")
_PAGE = struct.Struct("<I")
_KEY_LENGTH = 40


class Kind(IntEnum):
    """Kind of a message."""

    #: To the server: its options; the first message. JSON.
    CONFIGURE = 1
    #: To the server: a mesh that the next scene needs. Key, then bytes.
    MESH = 2
    #: To the server: the scene. The JSON that pages get.
    SCENE = 3
    #: To the server: a frame. Number, then the bytes that pages get.
    FRAME = 4
    #: To the server: a command of a page was rejected. JSON: page, reason.
    REJECTED = 5
    #: To the server: what is being loaded, and why that failed. JSON that pages get.
    NEWS = 6
    #: To the simulation: the port on which pages are served. JSON.
    READY = 11
    #: To the simulation: why pages cannot be served. JSON.
    FAILED = 12
    #: To the simulation: numbers of the connected pages. JSON.
    WATCHING = 13
    #: To the simulation: a command. Page, then JSON.
    COMMAND = 14
    #: To the simulation: a line for the log. JSON.
    LOG = 15


def pack(kind: Kind, *parts: bytes) -> bytes:
    """Pack a message."""
    return b"".join((_HEADER.pack(kind, sum(map(len, parts))), *parts))


def pack_json(kind: Kind, content: Any) -> bytes:
    """Pack a message with JSON content."""
    return pack(kind, json.dumps(content, allow_nan=False).encode())


def pack_frame(seq: int, frame: bytes) -> bytes:
    """Pack a frame with its number."""
    return pack(Kind.FRAME, _SEQ.pack(seq), frame)


def unpack_frame(content: bytes) -> tuple[int, bytes]:
    """Unpack number and bytes of a frame."""
    return _SEQ.unpack_from(content)[0], content[_SEQ.size :]


def header_text(data: bytes) -> str:
    """Header of a frame for pages that skip its picture: JSON without poses and faces."""
    (length,) = struct.unpack_from("<I", data)
    return data[4 : 4 + length].decode().rstrip()


def pack_mesh(key: str, data: bytes) -> bytes:
    """Pack a mesh with its key."""
    return pack(Kind.MESH, key.encode(), data)


def unpack_mesh(content: bytes) -> tuple[str, bytes]:
    """Unpack key and bytes of a mesh."""
    return content[:_KEY_LENGTH].decode(), content[_KEY_LENGTH:]


def pack_command(page: int, text: bytes) -> bytes:
    """Pack a command with the number of its page."""
    return pack(Kind.COMMAND, _PAGE.pack(page), text)


def unpack_command(content: bytes) -> tuple[int, bytes]:
    """Unpack page and text of a command."""
    return _PAGE.unpack_from(content)[0], content[_PAGE.size :]


def unpack_header(header: bytes) -> tuple[Kind, int]:
    """Unpack kind and content length of a message."""
    kind, length = _HEADER.unpack(header)
    return Kind(kind), length


def read_message(stream: BinaryIO) -> tuple[Kind, bytes] | None:
    """Wait for a message; None when the other side has disconnected."""
    header = stream.read(HEADER_SIZE)
    if len(header) < HEADER_SIZE:
        return None
    kind, length = unpack_header(header)
    content = stream.read(length)
    return (kind, content) if len(content) == length else None
