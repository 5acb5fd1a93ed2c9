"""Scratch memory of contact queries, reused between calls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import Float1D, Float2D, Int1D, Int2D
from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.contact.pressure_field.element_pairs import Workspace, make_workspace
from hydro_sim_core.contact.pressure_field.kept_pairs import KeptPairs, make_kept_pairs
from hydro_sim_core.contact.pressure_field.lanes import BLOCK_ROWS, LANES

#: Depth of the stack of tree nodes. A visited pair of nodes pushes two, or eight where nodes have eight children: this
#: suffices for two trees of 2^200 leaves.
_NODES = 1024

#: Slots in the table of visited pairs per face of the capacity; at most half of them are filled.
_SLOTS_A_FACE = 4

#: Most pairs of elements of two bodies for which to try them all is faster than a walk.
FEW = 600

#: Default capacity in faces.
DEFAULT_FACES = 1024


class QueryScratch(NamedTuple):
    """Scratch memory of a query.

    Attributes:
        work: Buffers of the tests of element pairs.
        vertices_B: (V, 3) vertices of A's geometry in B's frame, m; valid where ``stamp`` is the current generation.
            V is a power of two that the vertices of no geometry exceed, and a vertex is where its number modulo V says.
        stamp: (V,) generation in which a vertex was transformed.
        generation: (1,) number of the current query.
        boxes_B: (K, 6) tree boxes of A in B's frame, m; valid where ``box_stamp`` is the current generation. K is as V.
        box_stamp: (K,) generation in which a box was transformed.
        rays: (4, 3) origin and direction of a ray in A's frame, then in B's.
        nodes: (n, 2) stack of pairs of tree nodes to be processed.
        visited: (m, 3) hash table of visited pairs of elements: pair, status, number (see ``visits``). m is a power of
            two.
        num_visited: (1,) filled slots.
        ahead: (3,) direction of the force on B while the contact was sound, in B's frame; zero if it is not known.
        report: (2,) further results of the last query, see ``report``.
        pending: (m, 3) stack of pairs to be visited: element of A, element of B, slot in the table.
        block: (BLOCK_ROWS * LANES,) block of polygons in lanes (see ``lanes``).
        in_lanes: (LANES, 4) the pair in each lane: element of A, element of B, slot in the table, edges last time.
        kept: What is known of pairs from the last step.
        fields_across: (FEW,) first elements of the fields of B in which a triangle of A may press.
        slopes_across: (FEW,) slope of each of them along the triangle's normal, Pa/m.
    """

    work: Workspace
    vertices_B: Float2D
    stamp: Int1D
    generation: Int1D
    boxes_B: Float2D
    box_stamp: Int1D
    rays: Float2D
    nodes: Int2D
    visited: Int2D
    num_visited: Int1D
    ahead: Float1D
    report: Float1D
    pending: Int2D
    block: Float1D
    in_lanes: Int2D
    kept: KeptPairs
    fields_across: Int1D
    slopes_across: Float1D


def make_query_scratch(
    geometries: GeometrySet, max_faces: int = DEFAULT_FACES, num_kept: int = 0
) -> QueryScratch:
    """Allocate scratch memory for a set of geometries and pairs of up to ``max_faces`` faces.

    Args:
        geometries: ``GeometrySet``.
        max_faces: Capacity in faces.
        num_kept: Number of pairs of geometries of which lists are kept.
    """
    num_vertices = _room_for(geometries.vertex_start)
    shell_start = np.append(geometries.shell_start, len(geometries.shell_boxes))
    num_boxes = max(_room_for(geometries.node_start), _room_for(shell_start))
    num_slots = 1 << (_SLOTS_A_FACE * max_faces - 1).bit_length()
    return QueryScratch(
        work=make_workspace(),
        vertices_B=np.zeros((num_vertices, 3)),
        stamp=np.zeros(num_vertices, dtype=np.int64),
        generation=np.zeros(1, dtype=np.int64),
        boxes_B=np.zeros((num_boxes, 6)),
        box_stamp=np.zeros(num_boxes, dtype=np.int64),
        rays=np.zeros((4, 3)),
        nodes=make_nodes(),
        visited=np.zeros((num_slots, 3), dtype=np.int64),
        num_visited=np.zeros(1, dtype=np.int64),
        ahead=np.zeros(3),
        report=np.zeros(2),
        pending=np.zeros((num_slots, 3), dtype=np.int64),
        block=np.zeros(BLOCK_ROWS * LANES),
        in_lanes=np.zeros((LANES, 4), dtype=np.int64),
        kept=make_kept_pairs(num_kept, max_faces),
        fields_across=np.zeros(FEW, dtype=np.int64),
        slopes_across=np.zeros(FEW),
    )


def make_nodes() -> NDArray[np.int64]:
    """A stack (n, 2) of pairs of tree nodes."""
    return np.zeros((_NODES, 2), dtype=np.int64)


def _room_for(start: np.ndarray) -> int:
    """Power of two that no number of rows of one geometry exceeds, of their first rows and the end (G + 1,)."""
    return 1 << (int(np.diff(start).max(initial=1)) - 1).bit_length()
