"""Writes the byte stream that DDS carries (little-endian XCDR1), for messages too large to build as objects.

``Publisher.publish`` takes these bytes as they are and does not look inside, so whatever is written here is
tested by decoding it with ``rclpy.serialization``.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

_ENCAPSULATION = b"\x00\x01\x00\x00"


class CdrWriter:
    """Appends fields in the order in which the message definition lists them."""

    def __init__(self) -> None:
        self._buffer = bytearray(_ENCAPSULATION)

    def bytes(self) -> bytes:
        """The serialised message so far."""
        return bytes(self._buffer)

    def boolean(self, value: bool) -> None:
        """One ``bool``."""
        self._buffer.append(1 if value else 0)

    def int32(self, *values: int) -> None:
        """Consecutive ``int32`` fields."""
        self._pack("i", 4, values)

    def uint32(self, *values: int) -> None:
        """Consecutive ``uint32`` fields; also the count in front of a sequence."""
        self._pack("I", 4, values)

    def float32(self, *values: float) -> None:
        """Consecutive ``float32`` fields."""
        self._pack("f", 4, values)

    def float64(self, *values: float) -> None:
        """Consecutive ``float64`` fields."""
        self._pack("d", 8, values)

    def string(self, value: str) -> None:
        """A ``string``, whose length counts the closing NUL."""
        encoded = value.encode() + b"\x00"
        self.uint32(len(encoded))
        self._buffer += encoded

    def rows(self, values: NDArray[np.floating]) -> None:
        """A sequence of structs of equal floats (``Point[]``, ``ColorRGBA[]``), one a row of ``values``."""
        self.uint32(len(values))
        if len(values):
            self._align(values.itemsize)
            self._buffer += values.tobytes()

    def _pack(self, code: str, size: int, values: tuple[float, ...]) -> None:
        self._align(size)
        self._buffer += struct.pack(f"<{len(values)}{code}", *values)

    def _align(self, size: int) -> None:
        self._buffer += bytes(-(len(self._buffer) - len(_ENCAPSULATION)) % size)
