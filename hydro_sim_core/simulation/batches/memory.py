"""Memory of many worlds, laid out as ``compilation.side_by_side`` tells: planned on the host, placed anywhere."""

from __future__ import annotations

import struct as binary
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation.arrays import (
    ArrayLayout,
    NumberLayout,
    StructLayout,
    struct_layout,
)
from hydro_sim_core.compilation.handles import Handle
from hydro_sim_core.compilation.side_by_side import LANES, ROWS, SideBySide

Words = NDArray[np.int64]
_WORD = 8


@dataclass
class Field:
    """An array in the memory.

    Attributes:
        path: Names of the fields that lead to it, such as ``machine.state.q``.
        place: ``SHARED``, ``ROWS`` or ``LANES``.
        values: Its values at the start, the same for every world.
        word: Number of the word that tells where it is.
        offset: Of lanes: the number of elements before it in the lane of a world.
    """

    path: str
    place: str
    values: NDArray[Any]
    word: int
    offset: int = 0


class Plan:
    """Where the fields of a world's structs are to lie.

    Args:
        world: Struct of structs and arrays of one world, with the values at the start.
        memory: Where they lie.

    Attributes:
        words: Structs in memory, one after another; addresses are still missing.
        structs: Words that are to hold the address of another one: (word, other).
        fields: Every array, by its path.
        lane: Number of elements in the lane of a world.
    """

    def __init__(self, world: Any, memory: SideBySide) -> None:
        self._memory = memory
        self._written: list[int] = []
        self.structs: list[tuple[int, int]] = []
        self.fields: dict[str, Field] = {}
        self.lane = 0
        self._add(struct_layout(type(world)), world, "")
        self.words: Words = np.array(self._written, dtype=np.int64)

    def _add(self, layout: StructLayout, values: Any, path: str) -> int:
        """Write a struct; returns its first word."""
        first = len(self._written)
        self._written += [0] * _words_of(layout)
        for (name, of_field), offset, value in zip(layout.fields, layout.offsets, values, strict=True):
            word, where = first + offset // _WORD, f"{path}{name}"
            match of_field:
                case StructLayout():
                    value = value.struct if isinstance(value, Handle) else value
                    self.structs.append((word, self._add(of_field, value, f"{where}.")))
                case ArrayLayout():
                    self._add_array(self._memory.place(layout, name), value, word, where)
                case NumberLayout(kind):
                    packed = binary.pack("=d" if kind is float else "=q", value)
                    self._written[word] = binary.unpack("=q", packed)[0]
                case _:
                    raise TypeError(f"{where}: {of_field} has no place in memory side by side")
        return first

    def _add_array(self, place: str, values: NDArray[Any], word: int, path: str) -> None:
        self._written[word + 1 : word + 1 + values.ndim] = values.shape
        field = Field(path, place, values, word)
        if place == LANES:
            field.offset = self.lane
            self.lane += values.size
        self.fields[path] = field

    def start_of_lane(self) -> Words:
        """(lane,) what the lane of a world holds at the start, bit by bit."""
        lane = np.zeros(self.lane, dtype=np.int64)
        for field in self.fields.values():
            if field.place == LANES:
                lane[field.offset : field.offset + field.values.size] = as_words(field.values)
        return lane

    def from_lane(self, lane: Words, path: str) -> NDArray[Any]:
        """An array of the world whose lane this is."""
        field = self.fields[path]
        words = lane[field.offset : field.offset + field.values.size]
        dtype = field.values.dtype
        values = words.astype(np.bool_) if dtype == np.bool_ else words.view(dtype)
        return values.reshape(field.values.shape)


def _words_of(layout: StructLayout) -> int:
    words = 0
    for _, field in layout.fields:
        words += 1 + field.ndim if isinstance(field, ArrayLayout) else 1
    return words


def as_words(values: NDArray[Any]) -> Words:
    """(size,) elements of an array as they lie in a lane, 8 bytes each."""
    flat = np.ravel(values)
    return flat.astype(np.int64) if flat.dtype == np.bool_ else flat.view(np.int64)


class Placed:
    """The memory of ``n`` worlds.

    Args:
        plan: What is to be placed.
        n: Number of worlds.
        lanes: Worlds in a group.
        numpy: NumPy, or CuPy for the memory of a GPU.
        address_of: Address of such an array.

    Attributes:
        rows: Arrays (n, ...) with a row of every world, by their path.
        lanes: (groups, lane, lanes) elements of all lanes.
        data: Words of the structs.
    """

    def __init__(self, plan: Plan, n: int, lanes: int, numpy: Any, address_of: Any) -> None:
        self.plan = plan
        self.n = n
        self.rows: dict[str, Any] = {}
        self._kept: list[Any] = []
        words = plan.words.copy()
        groups = -(-n // lanes)
        start = numpy.asarray(plan.start_of_lane())
        self.lanes = numpy.empty((groups, plan.lane, lanes), dtype=np.int64)
        self.lanes[...] = start[None, :, None]
        for field in plan.fields.values():
            if field.place == LANES:
                words[field.word] = field.offset * lanes * _WORD
            elif field.place == ROWS:
                rows = numpy.empty((n, *field.values.shape), dtype=field.values.dtype)
                rows[...] = numpy.asarray(field.values)[None]
                self.rows[field.path] = rows
                words[field.word] = address_of(rows)
            else:
                shared = numpy.array(field.values, order="C")
                self._kept.append(shared)
                words[field.word] = address_of(shared)
        self.data = numpy.empty(len(words), dtype=np.int64)
        for word, other in plan.structs:
            words[word] = address_of(self.data) + _WORD * other
        self.data[:] = numpy.asarray(words)
        #: Address of the lanes, bytes of a group's, number of worlds: for ``ptx.LANES_VARIABLE``.
        self.where = np.array([address_of(self.lanes), plan.lane * lanes * _WORD, n], dtype=np.int64)

    def lane_of(self, world: int) -> Any:
        """(lane,) the elements of a world."""
        group, lane = divmod(world, self.lanes.shape[2])
        return self.lanes[group, :, lane]
