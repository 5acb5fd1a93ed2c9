"""One query of a large patch, as all threads see it."""

from __future__ import annotations

from typing import NamedTuple

from hydro_sim_core.compilation import (
    ConstBool1D,
    ConstFloat1D,
    ConstFloat2D,
    ConstFloat3D,
    ConstInt1D,
    ConstInt2D,
    Float2D,
    Float3D,
    Int1D,
    Int2D,
)


class GridQuery(NamedTuple):
    """One query, as all threads see it. Fields of a ``GeometrySet`` and a ``FaceBuffer`` have their names and meaning.

    Attributes:
        node_pressures: (K, 2) least and largest pressure in the elements below each tree node, Pa; infinite without.
        after: (K,) the node that follows those below a node, in the order of their numbers.
        leaves: (L,) leaves of the tree that has more, A's on a half space: one for each thread that looks for pairs.
        R_BA: (3, 3) rotation of A in B.
        p_BA: (3,) origin of A in B, m.
        b: Geometry B.
        root: Root of the other tree.
        end: One past its last node.
        tie: Tie distance, m.
        height: Top of a half space B with margin and tie, m.
        slack: Round-off of pressures, Pa.
        every: Whether polygons that are no contact faces count too.
        has_margin: Whether one of the two has a margin.
        skin: Whether one of the two is the skin of a rigid body.
        counts: (n,) what each thread found.
        ends: (n,) sums of the counts up to each thread.
        pairs: (2, n) elements of A and of B that may meet.
        touching: (2, m) those of them that may have polygons; they become the pairs.
        uneven: (2,) 1 if some pair has no face, and if some has two.
        source: (F,) pair of each face.
        face_elements: (2, F) elements of A and of B of each face.
        dropped: (1, n) force on polygons of each pair that are no faces, N.
        made_data: Faces in the places of their pairs, of which some have none.
        made_polygons: Theirs.
        made_num_vertices: Theirs.
        terms: (rows, n) numbers to be added up.
        sums: (rows, m) their sums.
    """

    kind: ConstInt1D
    field_start: ConstInt1D
    margin: ConstFloat1D
    is_skin: ConstBool1D
    vertices: ConstFloat2D
    pressure: ConstFloat1D
    elements: ConstInt2D
    fields: ConstFloat2D
    steepness: ConstFloat1D
    coordinates: ConstFloat3D
    boxes: ConstFloat2D
    links: ConstInt2D
    node_pressures: ConstFloat2D
    after: ConstInt1D
    leaves: ConstInt1D
    R_BA: ConstFloat2D
    p_BA: ConstFloat1D
    b: int
    root: int
    end: int
    tie: float
    height: float
    slack: float
    every: bool
    has_margin: bool
    skin: bool
    counts: Int1D
    ends: ConstInt1D
    pairs: Int2D
    touching: Int2D
    uneven: Int1D
    source: Int1D
    face_elements: Int2D
    dropped: Float2D
    data: Float2D
    polygons: Float3D
    num_vertices: Int1D
    made_data: ConstFloat2D
    made_polygons: ConstFloat3D
    made_num_vertices: ConstInt1D
    terms: Float2D
    sums: Float2D
