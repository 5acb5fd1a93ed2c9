"""Faces of one large patch by a grid of threads: what is launched when, and its memory.

The geometries stay in the memory of the program between queries; a pose is what travels. Lists are as long as what was
counted before, so that no room has to be guessed. What is found depends on nothing but the pose: a query that is
repeated gives the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation.grids import GridProgram
from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.contact.pressure_field.elements import COMPLIANT_MESH, RIGID_MESH, tie_distance
from hydro_sim_core.contact.pressure_field.faces import AHEAD
from hydro_sim_core.contact.pressure_field.grid.programs import grid_of
from hydro_sim_core.contact.pressure_field.grid.query import GridQuery
from hydro_sim_core.contact.pressure_field.grid.sums import ADDED, NUM_SUMS
from hydro_sim_core.contact.pressure_field.polygon import MAX_VERTICES
from hydro_sim_core.errors import InputError

Array = NDArray[np.float64]

#: Rows of the faces' data that a query fills; what the others hold, steps alone need.
ROWS = AHEAD + 1
#: Round-off of pressures, relative.
_ROUND_OFF = 1e-9
#: Sums that are not worth another launch: the rest is added up here.
_FEW_SUMS = 1024
#: Bytes of a face and of a pair of elements.
FACE_BYTES = 8 * (ROWS + 3 * MAX_VERTICES + 4)
PAIR_BYTES = 8 * 4


@dataclass(frozen=True, eq=False)
class GridFaces:
    """Faces of one query, in the frame of B and in a fixed order; arrays are those of the program's memory.

    Attributes:
        data: (ROWS, F) rows as in a ``FaceBuffer``.
        polygons: (F, MAX_VERTICES, 3) vertices, m; zero where a face has none.
        num_vertices: (F,) number of vertices.
        elements: (2, F) elements of A and of B in the set; that of a half space is 0.
        sums: (NUM_SUMS,) sums over faces, see ``sums``, NumPy's.
        dropped: Force on polygons that are no contact faces, N; 0 if every polygon counts.
        num_met: Number of pairs of elements whose boxes and pressures meet.
        num_pairs: Number of those that may have polygons.
    """

    data: Any
    polygons: Any
    num_vertices: Any
    elements: Any
    sums: Array
    dropped: float
    num_met: int
    num_pairs: int


class GridSearch:
    """Search for the faces of one canonical pair, at one pose after another.

    Args:
        geometries: Set of geometries.
        a: Index of geometry A.
        b: Index of geometry B.
        program: The program ``grid_of`` the pair, not used elsewhere.
        numpy: NumPy, or CuPy for a program on a GPU.
        every: Whether to find every polygon of equal pressure, also those that are no contact faces.
        source: Who asks, for errors.
    """

    def __init__(
        self,
        geometries: GeometrySet,
        a: int,
        b: int,
        program: GridProgram,
        numpy: Any = np,
        *,
        every: bool = False,
        source: str = "GridSearch",
    ) -> None:
        self._host, self._a, self._b = geometries, a, b
        self._program, self._numpy, self._source = program, numpy, source
        names = grid_of(geometries, a, b).names
        self._find_faces, self._write_faces = names[:2]
        leaves = _leaves(geometries, a), _leaves(geometries, b)
        # With few threads, each with many elements to meet, most of a GPU would wait for one.
        self._of_a = len(leaves[0]) >= len(leaves[1])
        side = "a" if self._of_a else "b"
        self._count_touching = ""
        self._count_pairs, self._list_pairs = "count_near_half_space", "list_near_half_space"
        if geometries.kind[b] == COMPLIANT_MESH:
            self._count_touching = names[2]
            self._count_pairs, self._list_pairs = f"count_pairs_of_{side}", f"list_pairs_of_{side}"
        self._largest = [_largest(geometries, g) for g in (a, b)]
        self._none = self._numpy.zeros((1, 1))
        self._room = ("its geometries", 1, sum(array.nbytes for array in geometries))
        try:
            self._query = self._on_device(every)
        except MemoryError:
            raise self._too_small() from None

    def _on_device(self, every: bool) -> GridQuery:
        """The query with all that stays; lists are empty."""
        host, numpy, (a, b) = self._host, self._numpy, (self._a, self._b)
        after, pressures = tree_order(host)
        leaves, other = _leaves(host, a if self._of_a else b), b if self._of_a else a
        added = {"node_pressures": pressures, "after": after, "leaves": leaves}
        arrays = {
            name: numpy.asarray(np.ascontiguousarray(array))
            for name, array in {**host._asdict(), **added}.items()
            if name in GridQuery._fields
        }
        counts, lists = numpy.zeros(1, dtype=np.int64), self._none
        return GridQuery(
            **arrays,
            R_BA=lists,
            p_BA=lists[0],
            b=b,
            root=int(host.node_start[other]),
            end=int(host.node_start[other + 1]),
            tie=0.0,
            height=0.0,
            slack=0.0,
            every=every,
            has_margin=bool(host.margin[a] > 0.0 or host.margin[b] > 0.0),
            skin=bool(host.is_skin[a] or host.is_skin[b]),
            counts=counts,
            ends=counts,
            pairs=counts[None],
            touching=counts[None],
            uneven=counts,
            source=counts,
            face_elements=counts[None],
            dropped=lists,
            data=lists,
            polygons=lists[None],
            num_vertices=counts,
            made_data=lists,
            made_polygons=lists[None],
            made_num_vertices=counts,
            terms=lists,
            sums=lists,
        )

    def find(self, R_BA: Array, p_BA: Array) -> GridFaces:
        """Faces at a pose.

        Args:
            R_BA: (3, 3) rotation of A in B.
            p_BA: (3,) origin of A in B, m.

        Raises:
            InputError: The memory is too small.
        """
        try:
            return self._found(self._at_pose(R_BA, p_BA))
        except MemoryError:
            raise self._too_small() from None
        finally:
            # The program keeps what it sees: lists and faces are let go.
            self._program.place(self._query)

    def _found(self, query: GridQuery) -> GridFaces:
        query, num_met = self._listed_pairs(query)
        query, num_pairs = self._touching_pairs(query, num_met)
        query, num_faces = self._with_faces(query, num_pairs)
        dropped = 0.0 if query.every else float(self._added_up(query, query.dropped).sum())
        return GridFaces(
            data=query.data,
            polygons=query.polygons,
            num_vertices=query.num_vertices,
            elements=query.face_elements,
            sums=self._sums(query, num_faces),
            dropped=dropped,
            num_met=num_met,
            num_pairs=num_pairs,
        )

    def _at_pose(self, R_BA: Array, p_BA: Array) -> GridQuery:
        pose = self._numpy.asarray(np.concatenate([np.ravel(R_BA), p_BA]))
        # The kernel as plain Python: numbers of NumPy are computed with like those of machine code.
        function = getattr(tie_distance, "function", tie_distance)
        tie = float(function(self._host, self._a, self._b, p_BA))
        pressure, steepness = (sum(numbers) for numbers in zip(*self._largest, strict=True))
        return self._query._replace(
            R_BA=pose[:9].reshape(3, 3),
            p_BA=pose[9:],
            tie=tie,
            height=float(self._host.margin[self._b] + tie),
            slack=float(_ROUND_OFF * pressure + 4.0 * tie * steepness),
        )

    def _listed_pairs(self, query: GridQuery) -> tuple[GridQuery, int]:
        """The query with all pairs of elements that may meet, and their number."""
        threads = len(query.leaves)
        query = query._replace(counts=self._ints(threads))
        self._launch(query, self._count_pairs, threads)
        query, total = self._scanned(query)
        self._room = ("pairs of elements that may meet", total, PAIR_BYTES)
        if total:
            query = query._replace(pairs=self._ints(2, total))
            self._launch(query, self._list_pairs, threads)
        return query, total

    def _touching_pairs(self, query: GridQuery, num_met: int) -> tuple[GridQuery, int]:
        """The query with those of its pairs that may have polygons, and their number."""
        if not (self._count_touching and num_met):
            return query, num_met
        query = query._replace(counts=self._ints(num_met))
        self._launch(query, self._count_touching, num_met)
        query, total = self._scanned(query)
        query = query._replace(touching=self._ints(2, total))
        self._launch(query, "list_touching", num_met)
        return query._replace(pairs=query.touching), total

    def _with_faces(self, query: GridQuery, num_pairs: int) -> tuple[GridQuery, int]:
        """The query with its faces, and their number."""
        dropped = (1, max(num_pairs, 1)) if not query.every else (1, 1)
        query = query._replace(counts=self._ints(num_pairs), dropped=self._numpy.zeros(dropped))
        if num_pairs == 0:
            return self._with_room(query, 0), 0
        if self._count_touching:
            return self._made_faces(query, num_pairs)
        self._launch(query, self._find_faces, num_pairs)
        return self._written_faces(query, num_pairs)

    def _made_faces(self, query: GridQuery, num_pairs: int) -> tuple[GridQuery, int]:
        """The query with the faces of pairs that touch: nearly all have one, which is written where the pair stands."""
        uneven = self._numpy.zeros(2, dtype=np.int64)
        made = self._with_room(query, num_pairs)._replace(uneven=uneven)
        self._launch(made, self._find_faces, num_pairs)
        without, with_two = on_host(uneven)
        if with_two:
            del made
            self._program.place(query)  # lets them go before there is room for all
            return self._written_faces(query, num_pairs)
        if not without:
            return made._replace(face_elements=made.pairs), num_pairs
        query, num_faces = self._placed_faces(query, num_pairs)
        query = query._replace(
            made_data=made.data, made_polygons=made.polygons, made_num_vertices=made.num_vertices
        )
        self._launch(query, "move_faces", num_faces)
        return query, num_faces

    def _written_faces(self, query: GridQuery, num_pairs: int) -> tuple[GridQuery, int]:
        """The query with its faces, after they have been counted."""
        query, num_faces = self._placed_faces(query, num_pairs)
        self._launch(query, self._write_faces, num_faces)
        return query, num_faces

    def _placed_faces(self, query: GridQuery, num_pairs: int) -> tuple[GridQuery, int]:
        """The query with room for its faces, each of which knows its pair."""
        query, num_faces = self._scanned(query)
        query = self._with_room(query, num_faces)
        query = query._replace(source=self._ints(num_faces), face_elements=self._ints(2, num_faces))
        self._launch(query, "place_faces", num_pairs)
        return query, num_faces

    def _with_room(self, query: GridQuery, num_faces: int) -> GridQuery:
        """The query with room for so many faces."""
        numpy = self._numpy
        self._room = ("faces", num_faces, FACE_BYTES)
        return query._replace(
            face_elements=self._ints(2, 0),
            data=numpy.empty((ROWS, num_faces)),
            polygons=numpy.zeros((num_faces, MAX_VERTICES, 3)),
            num_vertices=self._ints(num_faces),
        )

    def _sums(self, query: GridQuery, num_faces: int) -> Array:
        if num_faces == 0:
            return np.zeros(NUM_SUMS)
        threads = math.ceil(num_faces / ADDED)
        query = query._replace(sums=self._numpy.empty((NUM_SUMS, threads)))
        self._launch(query, "sum_faces", threads)
        return self._added_up(query, query.sums).sum(axis=1)

    def _added_up(self, query: GridQuery, terms: Any) -> Array:
        """(rows, m) few sums of the terms in each row, in NumPy's memory."""
        while terms.shape[1] > _FEW_SUMS:
            sums = self._numpy.empty((len(terms), math.ceil(terms.shape[1] / ADDED)))
            self._launch(query._replace(terms=terms, sums=sums), "add_sums", sums.size)
            terms = sums
        return on_host(terms)

    def _scanned(self, query: GridQuery) -> tuple[GridQuery, int]:
        """The query with the sums of its counts, and the last of them; waits for a GPU."""
        ends = self._numpy.cumsum(query.counts)
        return query._replace(ends=ends), int(ends[-1])

    def _launch(self, query: GridQuery, name: str, threads: int) -> None:
        self._program.place(query)
        self._program.launch(name, threads)

    def _ints(self, *shape: int) -> Any:
        return self._numpy.empty(shape, dtype=np.int64)

    def _too_small(self) -> InputError:
        """What to say when the memory does not hold what was to be made last."""
        what, number, each = self._room
        needed, there, fit = number * each, "there is less", ""
        if self._numpy is not np:
            free = self._numpy.cuda.runtime.memGetInfo()[0]
            free += self._numpy.get_default_memory_pool().free_bytes()
            there = f"the GPU has {free / 1e9:.2f} GB free"
            fit = f"at most {int(0.95 * free / each)} fit: " if number > 1 else ""
        element = f"{number} {what}" if number > 1 else what
        return InputError(
            self._source,
            element,
            f"needs {needed / 1e9:.2f} GB of memory where {there}",
            f"{fit}use coarser meshes, or give backend='cpu'",
        )


def _largest(geometries: GeometrySet, g: int) -> tuple[float, float]:
    """Largest pressure (Pa) and steepness (Pa/m) of a geometry, by size; 0 of rigid ones."""
    vertices = slice(*geometries.vertex_start[g : g + 2])
    elements = slice(*geometries.field_start[g : g + 2])
    pressure = float(np.abs(geometries.pressure[vertices]).max(initial=0.0))
    is_rigid = geometries.kind[g] == RIGID_MESH
    return pressure, 0.0 if is_rigid else float(geometries.steepness[elements].max(initial=0.0))


def _leaves(geometries: GeometrySet, g: int) -> NDArray[np.int64]:
    """Leaves of a geometry's tree, in the order of their numbers."""
    first, end = (int(start) for start in geometries.node_start[g : g + 2])
    return first + np.flatnonzero(geometries.links[first:end, 0] < 0)


def tree_order(geometries: GeometrySet) -> tuple[NDArray[np.int64], Array]:
    """What threads need to follow trees in the order of their nodes' numbers.

    Returns:
        ``after`` (K,), the node that follows those below each node, and ``pressures`` (K, 2), the least and largest
        pressure in the elements below it, Pa; those of rigid geometries are infinite.
    """
    links, elements = geometries.links, geometries.elements
    after = np.empty(len(links), dtype=np.int64)
    pressures = np.tile([-math.inf, math.inf], (len(links), 1))
    roots = np.flatnonzero(np.diff(geometries.node_start) > 0)
    nodes = geometries.node_start[roots]
    after[nodes] = geometries.node_start[roots + 1]
    levels = []
    while nodes.size:
        inner = nodes[links[nodes, 0] >= 0]
        left, right = links[inner].T
        after[left], after[right] = right, after[inner]
        levels.append(inner)
        nodes = np.concatenate([left, right])
    leaves = np.flatnonzero(links[:, 0] < 0)
    leaves = leaves[elements[links[leaves, 1], 3] >= 0]
    of_leaves = geometries.pressure[elements[links[leaves, 1]]]
    pressures[leaves] = np.column_stack([of_leaves.min(axis=1), of_leaves.max(axis=1)])
    for inner in reversed(levels):
        left, right = links[inner].T
        pressures[inner, 0] = np.minimum(pressures[left, 0], pressures[right, 0])
        pressures[inner, 1] = np.maximum(pressures[left, 1], pressures[right, 1])
    return after, pressures


def on_host(array: Any) -> Any:
    """A NumPy array of an array of either kind."""
    return array.get() if hasattr(array, "get") else array
