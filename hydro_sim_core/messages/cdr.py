"""Serialisation to CDR (little-endian XCDR1), for messages that are too large or too frequent for Python objects.

``Publisher.publish`` sends these bytes unchecked; tests therefore decode every message that is written here.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import ArrayLike, NDArray

_ENCAPSULATION = b"\x00\x01\x00\x00"


class CdrWriter:
    """Appends fields in the order in which the message definition lists them."""

    def __init__(self) -> None:
        self._buffer = bytearray(_ENCAPSULATION)

    def bytes(self) -> bytes:
        """The serialised message so far."""
        return bytes(self._buffer)

    def boolean(self, value: bool) -> None:
        """Append a ``bool``."""
        self._buffer.append(1 if value else 0)

    def int32(self, *values: int) -> None:
        """Append consecutive ``int32`` fields."""
        self._pack("i", 4, values)

    def uint32(self, *values: int) -> None:
        """Append consecutive ``uint32`` fields, such as the length of a sequence."""
        self._pack("I", 4, values)

    def float32(self, *values: float) -> None:
        """Append consecutive ``float32`` fields."""
        self._pack("f", 4, values)

    def float64(self, *values: float) -> None:
        """Append consecutive ``float64`` fields."""
        self._pack("d", 8, values)

    def string(self, value: str) -> None:
        """Append a ``string``; its length counts the closing NUL."""
        encoded = value.encode() + b"\x00"
        self.uint32(len(encoded))
        self._buffer += encoded

    def time(self, stamp: tuple[int, int]) -> None:
        """Append a ``Time``: (seconds, nanoseconds)."""
        self._align(4)
        self._buffer += struct.pack("<iI", *stamp)

    def header(self, frame_id: str, stamp: tuple[int, int]) -> None:
        """Append a ``std_msgs/Header``."""
        self.time(stamp)
        self.string(frame_id)

    def rows(self, values: NDArray[np.number]) -> None:
        """Append a sequence with one element a row of ``values``: a number, or a struct of numbers (``Point[]``)."""
        self.uint32(len(values))
        if len(values):
            self._align(values.itemsize)
            self._buffer += values.tobytes()

    def _pack(self, code: str, size: int, values: tuple[float, ...]) -> None:
        self._align(size)
        self._buffer += struct.pack(f"<{len(values)}{code}", *values)

    def _align(self, size: int) -> None:
        self._buffer += bytes(-(len(self._buffer) - len(_ENCAPSULATION)) % size)


class TemplateWriter(CdrWriter):
    """Writes a message once and remembers the offsets of its times and doubles."""

    def __init__(self) -> None:
        super().__init__()
        self._times: list[int] = []
        self._doubles: list[int] = []

    def time(self, stamp: tuple[int, int]) -> None:
        """Append a ``Time`` that the template fills in."""
        super().time(stamp)
        self._times.append(len(self._buffer) - 8)

    def float64(self, *values: float) -> None:
        """Append consecutive ``float64`` fields that the template fills in."""
        super().float64(*values)
        end = len(self._buffer)
        self._doubles += range(end - 8 * len(values), end, 8)

    def doubles(self, count: int) -> None:
        """Append a ``float64[]`` of fixed length that the template fills in."""
        self.uint32(count)
        if count:
            self.float64(*[0.0] * count)

    def template(self) -> MessageTemplate:
        """Template of the message written so far."""
        return MessageTemplate(self._buffer, self._times, self._doubles)


class MessageTemplate:
    """A serialised message in which only times and doubles change; they are written in place.

    Args:
        message: The message.
        times: Offset of every ``Time``, bytes; all get the same value.
        doubles: Offset of every ``float64``, bytes.
    """

    def __init__(self, message: bytes | bytearray, times: list[int], doubles: list[int]) -> None:
        self._buffer = np.frombuffer(bytearray(message), dtype=np.uint8)
        self._times = _eight_bytes_at(times)
        self._doubles = _eight_bytes_at(doubles).ravel()

    def fill(self, stamp: tuple[int, int], values: ArrayLike = ()) -> bytes:
        """The message at ``stamp`` (seconds, nanoseconds) with ``values`` in the order of the doubles."""
        self._buffer[self._times] = np.frombuffer(struct.pack("<iI", *stamp), dtype=np.uint8)
        if len(self._doubles):
            self._buffer[self._doubles] = np.ascontiguousarray(values, dtype="<f8").ravel().view(np.uint8)
        return self._buffer.tobytes()


def _eight_bytes_at(offsets: list[int]) -> NDArray[np.int64]:
    """Indices (n, 8) of the bytes of fields that begin at ``offsets``."""
    return np.array(offsets, dtype=np.int64)[:, None] + np.arange(8)
