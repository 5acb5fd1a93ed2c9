# mypy: allow-untyped-defs
"""All contact faces of a pair of geometries.

Pairs have a canonical order (``canonical_order``): a half space is B; of a rigid and a compliant mesh the rigid one is
A. Faces are returned in the frame of B.
"""

from __future__ import annotations

from hydro_sim_core.compilation import ConstFloat1D, ConstFloat2D, entry, kernel
from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.contact.pressure_field.elements import (
    COMPLIANT_HALF_SPACE,
    COMPLIANT_MESH,
    RIGID_HALF_SPACE,
    RIGID_MESH,
)
from hydro_sim_core.contact.pressure_field.faces import FaceBuffer
from hydro_sim_core.contact.pressure_field.few_elements import are_few, try_every_pair
from hydro_sim_core.contact.pressure_field.lane_walk import (
    IN_DOUBT,
    NO_ROOM,
    may_walk_in_lanes,
    walk_in_lanes,
)
from hydro_sim_core.contact.pressure_field.scratch import QueryScratch, make_query_scratch
from hydro_sim_core.contact.pressure_field.walk import walk_surface
from hydro_sim_core.geometry import GeometryKind

__all__ = [
    "QueryScratch",
    "canonical_order",
    "find_faces",
    "find_faces_again",
    "make_query_scratch",
]

_HALF_SPACES = (COMPLIANT_HALF_SPACE, RIGID_HALF_SPACE)


def canonical_order(kind_a: GeometryKind, kind_b: GeometryKind) -> bool | None:
    """Order in which a pair is queried.

    Returns:
        True if A and B stand in canonical order, False if they must be swapped, None if such a pair has no pressure
        field contact (two rigid geometries, two half spaces).
    """
    a, b = int(kind_a), int(kind_b)
    if {a, b} <= {RIGID_MESH, RIGID_HALF_SPACE} or {a, b} <= set(_HALF_SPACES):
        return None
    if a in _HALF_SPACES:
        return False
    if b in _HALF_SPACES:
        return True
    return not (a == COMPLIANT_MESH and b == RIGID_MESH)


@entry
def find_faces(
    geometries: GeometrySet,
    a: int,
    b: int,
    R_BA: ConstFloat2D,
    p_BA: ConstFloat1D,
    every: bool,
    scratch: QueryScratch,
    faces: FaceBuffer,
    count: int,
) -> int:
    """Append the contact faces of a canonical pair to ``faces``: by trying all pairs of few elements, else by a walk.

    Args:
        geometries: ``GeometrySet``.
        a: Index of geometry A.
        b: Index of geometry B.
        R_BA: (3, 3) rotation of A in B.
        p_BA: (3,) origin of A in B, m.
        every: Whether to append every polygon with pressure of the equilibrium surface instead, also those that are no
            contact faces.
        scratch: ``QueryScratch``.
        faces: ``FaceBuffer``.
        count: Faces already in the buffer.

    Returns:
        Number of faces after the query; more than the buffer's capacity if that or the scratch memory was too small
        (surplus faces are not stored). ``scratch.report`` holds the force on rejected polygons and, if there is no
        polygon, whether one body lies inside the other.
    """
    if are_few(geometries, a, b):
        return try_every_pair(geometries, a, b, R_BA, p_BA, every, scratch, faces, count)
    return walk_surface(geometries, a, b, R_BA, p_BA, every, scratch, faces, count)


@kernel
def find_faces_again(geometries, a, b, pair, R_BA, p_BA, scratch, faces, count):
    """Append the contact faces of a pair that is queried step by step, with what was kept of it in row ``pair``.

    Faces are those of ``find_faces`` but for round-off, sorted by their elements, and most have no polygon: see
    ``late_polygons.complete_polygons``. They depend on the pose alone: what was kept only saves time. Where round-off
    decides which pairs have polygons they are those of ``find_faces``, which has rules for that.

    ``kept_pairs.begin_pass`` must be called before the pairs of a scene are queried once more.
    """
    if not are_few(geometries, a, b) and may_walk_in_lanes(geometries, a, b):
        found = walk_in_lanes(geometries, a, b, pair, R_BA, p_BA, scratch, faces, count)
        if found == NO_ROOM:
            return faces.num_vertices.shape[0] + count + 1
        if found != IN_DOUBT:
            return found
    return find_faces(geometries, a, b, R_BA, p_BA, False, scratch, faces, count)
