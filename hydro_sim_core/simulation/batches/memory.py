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
from hydro_sim_core.compilation.side_by_side import LANES, ROWS, SHARED, SideBySide

Words = NDArray[np.int64]
_WORD = 8


@dataclass
class Field:
    """An array in the memory.

    Attributes:
        place: ``SHARED``, ``ROWS`` or ``LANES``.
        values: Its values at the start, the same for every world.
        word: Number of the word that tells where it is.
        offset: Bytes before it: of what is shared; of the rows of a single world; elements before it, of a lane.
    """

    place: str
    values: NDArray[Any]
    word: int
    offset: int


class Plan:
    """Where the fields of a world's structs are to lie.

    Args:
        world: Struct of structs and arrays of one world, with the values at the start.
        memory: Where they lie.
        lanes: Worlds in a group.

    Attributes:
        memory: Where they lie.
        words: Structs in memory, one after another, as ``side_by_side`` tells.
        structs: Words that are to hold the address of another one: (word, other).
        fields: Every array, by its path, such as ``machine.state.q``.
        sizes: Bytes that are shared, bytes of the rows of a world, elements of the lane of a world.
    """

    def __init__(self, world: Any, memory: SideBySide, lanes: int) -> None:
        self.memory = memory
        self.lanes = lanes
        self.words: list[int] = []
        self.structs: list[tuple[int, int]] = []
        self.fields: dict[str, Field] = {}
        self.sizes = {SHARED: 0, ROWS: 0, LANES: 0}
        self._add(struct_layout(type(world)), world, "")

    def _add(self, layout: StructLayout, values: Any, path: str) -> int:
        """Write a struct; returns its first word."""
        first = len(self.words)
        self.words += [0] * _words_of(layout)
        for (name, of_field), offset, value in zip(layout.fields, layout.offsets, values, strict=True):
            word, where = first + offset // _WORD, f"{path}{name}"
            match of_field:
                case StructLayout():
                    inner = value.struct if isinstance(value, Handle) else value
                    self.structs.append((word, self._add(of_field, inner, f"{where}.")))
                case ArrayLayout():
                    self._add_array(self.memory.place(layout, name), value, word, where)
                case NumberLayout(kind):
                    packed = binary.pack("=d" if kind is float else "=q", value)
                    self.words[word] = binary.unpack("=q", packed)[0]
                case _:
                    raise TypeError(f"{where}: {of_field} has no place in memory side by side")
        return first

    def _add_array(self, place: str, values: NDArray[Any], word: int, path: str) -> None:
        self.words[word + 1 : word + 1 + values.ndim] = values.shape
        offset = self.sizes[place]
        self.fields[path] = Field(place, values, word, offset)
        self.sizes[place] += values.size if place == LANES else -(-values.nbytes // _WORD) * _WORD
        # See ``side_by_side``: a row is told by the complement.
        self.words[word] = {SHARED: offset, ROWS: ~offset, LANES: _WORD * self.lanes * offset}[place]

    @property
    def bytes_of_world(self) -> int:
        """Bytes that one more world takes."""
        return _WORD * self.sizes[LANES] + self.sizes[ROWS]

    def start_of_lane(self) -> Words:
        """(lane,) what the lane of a world holds at the start, bit by bit."""
        lane = np.zeros(self.sizes[LANES], dtype=np.int64)
        for field in self.fields.values():
            if field.place == LANES:
                lane[field.offset : field.offset + field.values.size] = as_words(field.values)
        return lane

    def shared(self) -> NDArray[np.uint8]:
        """Bytes of what all worlds share."""
        memory = np.zeros(self.sizes[SHARED], dtype=np.uint8)
        for field in self.fields.values():
            if field.place == SHARED:
                values = np.ascontiguousarray(field.values).reshape(-1).view(np.uint8)
                memory[field.offset : field.offset + values.size] = values
        return memory

    def from_lane(self, lane: Words, path: str) -> NDArray[Any]:
        """An array of the world whose lane this is; one that is elsewhere as it was at the start."""
        field = self.fields[path]
        if field.place != LANES:
            return field.values.copy()
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
        numpy: NumPy, or CuPy for the memory of a GPU.
        address_of: Address of such an array.

    Attributes:
        numpy: What made its arrays.
        rows: Arrays (n, ...) with a row of every world, by their path.
        lanes: (groups, lane, lanes) elements of all lanes.
        places: What ``ptx.PLACES_VARIABLE`` is to hold.
    """

    def __init__(self, plan: Plan, n: int, numpy: Any, address_of: Any) -> None:
        self.plan, self.n, self.numpy = plan, n, numpy
        groups = -(-n // plan.lanes)
        self.lanes = numpy.empty((groups, plan.sizes[LANES], plan.lanes), dtype=np.int64)
        self.lanes[...] = numpy.asarray(plan.start_of_lane())[None, :, None]
        self._shared = numpy.asarray(plan.shared())
        self._rows = numpy.zeros(plan.sizes[ROWS] * n, dtype=np.uint8)
        self.rows: dict[str, Any] = {}
        for path, field in plan.fields.items():
            if field.place == ROWS:
                values = field.values
                begin = field.offset * n
                memory = self._rows[begin : begin + values.nbytes * n].view(values.dtype)
                self.rows[path] = memory.reshape((n, *values.shape))
                self.rows[path][...] = numpy.asarray(values)[None]
        addresses = (address_of(array) for array in (self.lanes, self._shared, self._rows))
        lanes, shared, rows = addresses
        of_group = plan.sizes[LANES] * plan.lanes * _WORD
        self.places = np.array([lanes, of_group, n, shared, rows], dtype=np.int64)

    def release_lanes(self) -> None:
        """Give the memory of the lanes back before a larger one is made."""
        self.lanes = None

    def lane_of(self, world: int) -> Any:
        """(lane,) the elements of a world."""
        group, lane = divmod(world, self.plan.lanes)
        return self.lanes[group, :, lane]

    def in_lanes(self, path: str) -> Any:
        """(groups, ..., lanes) words of a field of all worlds, where they are."""
        field = self.plan.fields[path]
        words = self.lanes[:, field.offset : field.offset + field.values.size]
        return words.reshape(len(words), *field.values.shape, self.plan.lanes)

    def of_all(self, path: str) -> Any:
        """(n, ...) a copy of a field of all worlds."""
        words = self.numpy.moveaxis(self.in_lanes(path), -1, 1)
        groups, lanes, *shape = words.shape
        found = words.reshape(groups * lanes, *shape)[: self.n].copy()
        dtype = self.plan.fields[path].values.dtype
        return found.astype(dtype) if dtype == np.bool_ else found.view(dtype)


def on_host(array: Any) -> Any:
    """A copy of an array in the memory of the processor."""
    return array.get() if hasattr(array, "get") else np.array(array)
