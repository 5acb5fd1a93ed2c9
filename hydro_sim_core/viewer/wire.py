"""What a simulation and its viewer's server tell each other through a pair of sockets.

Every message is a kind, the length of what follows, and that.
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
    """Of a message."""

    #: To the server: how to serve; the first message. JSON.
    CONFIGURE = 1
    #: To the server: a mesh that the next scene needs. Key, then bytes.
    MESH = 2
    #: To the server: the scene. JSON, as pages get it.
    SCENE = 3
    #: To the server: a frame. Number, then bytes as pages get them.
    FRAME = 4
    #: To the server: a command of a page could not be obeyed. JSON: page, reason.
    REJECTED = 5
    #: To the simulation: the port on which pages are served. JSON.
    READY = 11
    #: To the simulation: why none are. JSON.
    FAILED = 12
    #: To the simulation: how many pages there are. JSON.
    WATCHING = 13
    #: To the simulation: a command. Page, then JSON.
    COMMAND = 14
    #: To the simulation: a line for the log. JSON.
    LOG = 15


def pack(kind: Kind, *parts: bytes) -> bytes:
    """A message."""
    return b"".join((_HEADER.pack(kind, sum(map(len, parts))), *parts))


def pack_json(kind: Kind, content: Any) -> bytes:
    """A message whose content is JSON."""
    return pack(kind, json.dumps(content, allow_nan=False).encode())


def pack_frame(seq: int, frame: bytes) -> bytes:
    """A frame with its number."""
    return pack(Kind.FRAME, _SEQ.pack(seq), frame)


def unpack_frame(content: bytes) -> tuple[int, bytes]:
    """Number and bytes of a frame."""
    return _SEQ.unpack_from(content)[0], content[_SEQ.size :]


def header_text(data: bytes) -> str:
    """The header of a frame as pages get it: JSON with all but what only pictures need."""
    (length,) = struct.unpack_from("<I", data)
    return data[4 : 4 + length].decode().rstrip()


def pack_mesh(key: str, data: bytes) -> bytes:
    """A mesh with its key."""
    return pack(Kind.MESH, key.encode(), data)


def unpack_mesh(content: bytes) -> tuple[str, bytes]:
    """Key and bytes of a mesh."""
    return content[:_KEY_LENGTH].decode(), content[_KEY_LENGTH:]


def pack_command(page: int, text: bytes) -> bytes:
    """A command and the page that it comes from."""
    return pack(Kind.COMMAND, _PAGE.pack(page), text)


def unpack_command(content: bytes) -> tuple[int, bytes]:
    """Page and text of a command."""
    return _PAGE.unpack_from(content)[0], content[_PAGE.size :]


def unpack_header(header: bytes) -> tuple[Kind, int]:
    """Kind of a message and the length of its content."""
    kind, length = _HEADER.unpack(header)
    return Kind(kind), length


def read_message(stream: BinaryIO) -> tuple[Kind, bytes] | None:
    """Wait for a message; None when the other side is gone."""
    header = stream.read(HEADER_SIZE)
    if len(header) < HEADER_SIZE:
        return None
    kind, length = unpack_header(header)
    content = stream.read(length)
    return (kind, content) if len(content) == length else None
