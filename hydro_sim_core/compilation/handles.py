"""Structs in memory, as compiled code reads them: passed by one address."""

from __future__ import annotations

import struct as binary
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from hydro_sim_core.compilation.arrays import (
    ArrayLayout,
    EntryLayout,
    NumberLayout,
    StructLayout,
    struct_layout,
)
from hydro_sim_core.compilation.kernels import INTERPRETED, Entry, entry_named

_FORMATS = {float: "d", int: "q", bool: "q"}
#: Handles by address, for kernels that run uncompiled.
_by_address: WeakValueDictionary[int, Handle] = WeakValueDictionary()


class Handle:
    """A struct written to memory once, for kernels that are called often.

    Entry points accept a struct or its handle; a struct is written to memory at every call, which takes about a
    microsecond per array.

    Args:
        struct: A named tuple. The contents of its arrays may change afterwards; the handle keeps the arrays alive.

    Attributes:
        struct: The struct.
        layout: Layout of the struct.
        address: Address of the struct in memory.

    Raises:
        TypeError: A field does not fit its annotation.
    """

    def __init__(self, struct: Any) -> None:
        self.struct = struct
        self.layout: StructLayout = struct_layout(type(struct))
        words: list[bytes] = []
        self._kept: list[Any] = []
        for (name, layout), value in zip(self.layout.fields, struct, strict=True):
            words.append(self._packed(layout, value, f"{type(struct).__name__}.{name}"))
        self._memory = np.frombuffer(b"".join(words), dtype=np.uint8).copy()
        self.address: int = self._memory.ctypes.data
        if INTERPRETED:
            _by_address[self.address] = self

    def _packed(self, layout: Any, value: Any, name: str) -> bytes:
        match layout:
            case ArrayLayout():
                layout.check(value, name)
                self._kept.append(value)
                return binary.pack(f"={1 + layout.ndim}q", address_of(value), *value.shape)
            case NumberLayout():
                return binary.pack("=" + _FORMATS[layout.kind], layout.number(value, name))
            case EntryLayout():
                return binary.pack("=q", address_of_entry(value, layout, name))
            case StructLayout():
                handle = as_handle(value, layout, name)
                self._kept.append(handle)
                return binary.pack("=q", handle.address)
        raise TypeError(f"{name}: {layout}")

    def __getattr__(self, name: str) -> Any:
        """A field of the struct, for kernels that run uncompiled."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.struct, name)

    @property
    def _numba_type_(self) -> Any:
        """Numba type of this object; Numba reads this attribute of objects of unknown type."""
        from hydro_sim_core.compilation.numba_types import StructRef

        return StructRef(self.layout)

    def __reduce__(self) -> Any:
        """Pickle and copy the struct alone: addresses are not valid in another process."""
        return Handle, (self.struct,)


def handle_at(address: int) -> Handle:
    """The handle with this address, where kernels run uncompiled."""
    return _by_address[address]


def as_handle(value: Any, layout: StructLayout, name: str) -> Handle:
    """The handle of a struct; a handle is returned as it is.

    Raises:
        TypeError: The value is neither a struct nor a handle, or is of another class.
    """
    handle = value if isinstance(value, Handle) else None
    if handle is not None and handle.layout is layout:
        return handle
    if isinstance(value, layout.struct):
        return Handle(value)
    given = handle.layout.struct if handle else type(value)
    raise TypeError(f"{name} is a {given.__name__}; it must be a {layout.struct.__name__}")


def address_of(array: np.ndarray) -> int:
    """Address of an array's first element."""
    return int(array.__array_interface__["data"][0])


def address_of_entry(value: Any, layout: EntryLayout, name: str) -> int:
    """Address of an entry point's machine code.

    Raises:
        TypeError: The value is not an entry point, or has another signature than the layout requires.
    """
    if not isinstance(value, Entry):
        raise TypeError(f"{name} is a {type(value).__name__}; it must be an entry point {layout}")
    if not _alike(value, entry_named(layout.like)):
        raise TypeError(f"{name} is {value!r}; it must take and return what {layout.like} does")
    return value.address


@cache
def _alike(entry: Entry, other: Entry) -> bool:
    """Whether two entry points have the same signature."""
    taken, by_other = ([layout for _, layout in one.parameters] for one in (entry, other))
    return taken == by_other and entry.result == other.result
