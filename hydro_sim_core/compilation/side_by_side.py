"""Memory of many worlds that one program steps side by side, as on a GPU, where neighbouring threads read neighbours.

The kernels are those of a single world. What differs is where a field of a struct lies, so here they are typed and
translated once more, with structs whose fields are found by the world that the thread works on:

- *shared* by all worlds: constants of the model; a field holds an offset in the memory of these, bytes.
- one *row* per world: what a user reads and writes, such as the state. Array ``(n, *shape)``; a field holds the
  complement of its offset in the rows of a single world, bytes: ``n`` times that lies before the array.
- *lanes*: a step's memory. Worlds are in groups of ``lanes``; within the memory of a group, element k of all its worlds
  comes before element k + 1 of any, 8 bytes each, so that threads that do the same touch one stretch of memory. A field
  holds its offset in the memory of a group, bytes.

Nothing in the structs depends on the number of worlds or on addresses, so that they can be constants of the program.
Machine code finds its world through functions of the program (see ``ptx.py``): ``hydro_world()`` gives the number of
the world, ``hydro_lane()`` the first element of its lanes, ``hydro_stride()`` the bytes from one element to the next,
``hydro_address(i64)`` the pointer to what is shared or to the first row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hydro_sim_core.compilation.arrays import ArrayLayout, StructLayout

#: Where the array of a field lies.
SHARED, ROWS, LANES = "shared", "rows", "lanes"


@dataclass(frozen=True)
class SideBySide:
    """Where the fields of structs lie.

    Attributes:
        row_structs: Classes of structs of which every world has a row, in all fields.
        row_fields: Class and name of constant fields of which it has one too, such as masses.
    """

    row_structs: frozenset[type] = field(default_factory=frozenset)
    row_fields: frozenset[tuple[type, str]] = field(default_factory=frozenset)

    def place(self, struct: StructLayout, name: str) -> str:
        """Where the array of a field lies: ``SHARED``, ``ROWS`` or ``LANES``."""
        layout = dict(struct.fields)[name]
        if struct.struct in self.row_structs or (struct.struct, name) in self.row_fields:
            return ROWS
        return SHARED if isinstance(layout, ArrayLayout) and layout.const else LANES


@dataclass(frozen=True)
class Addressed(SideBySide):
    """Memory of a single struct of whose fields every one holds an address, as arrays of a GPU have them.

    All threads of a grid (see ``grids``) see the same arrays; ``hydro_address(i64)`` makes a pointer of an address.
    """

    def place(self, struct: StructLayout, name: str) -> str:
        """Where the array of a field lies: where the field says."""
        return SHARED


_present: list[SideBySide] = []


def present() -> SideBySide | None:
    """The memory for which kernels are translated now; None for that of a single world."""
    return _present[-1] if _present else None


@contextmanager
def translating_for(memory: SideBySide) -> Iterator[None]:
    """Translate kernels for this memory."""
    _present.append(memory)
    try:
        yield
    finally:
        _present.pop()
