# mypy: allow-untyped-defs
"""Contact query on a GPU, compiled from the same functions as that on the CPU.

A simple brute-force version: one thread per pair of elements of the two geometries. Threads append their faces through
an atomic counter, so that the order of the faces is not fixed.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.contact.pressure_field.element_pairs import IS_FACE, ROWS, Workspace
from hydro_sim_core.contact.pressure_field.elements import (
    COMPLIANT_MESH,
    RIGID_MESH,
    face_of_elements,
    face_on_half_space,
    move_vertex,
    tie_distance,
)
from hydro_sim_core.contact.pressure_field.faces import (
    FaceBuffer,
    crosses_zero,
    make_face_buffer,
    store_face,
    take_side,
)
from hydro_sim_core.contact.pressure_field.polygon import MAX_POINTS, polygon_area_centroid

#: Threads per block along A's and B's elements.
_BLOCK = (8, 8)


@cuda.jit
def _test_element_pairs(geometries, a, b, R_BA, p_BA, tie, faces, count):
    """Find the face of the thread's pair of elements and store it in the next free slot."""
    i, j = cuda.grid(2)
    element_a, element_b = geometries.field_start[a] + i, geometries.field_start[b] + j
    if element_a >= geometries.field_start[a + 1] or element_b >= geometries.field_start[b + 1]:
        return
    work = Workspace(
        cuda.local.array((4, 3), np.float64),
        cuda.local.array(4, np.float64),
        cuda.local.array(4, np.float64),
        cuda.local.array(4, np.float64),
        cuda.local.array((MAX_POINTS, 3), np.float64),
        cuda.local.array((MAX_POINTS, 4), np.float64),
        cuda.local.array(3, np.int64),
        cuda.local.array(3, np.float64),
        cuda.local.array(2, np.float64),
        cuda.local.array(4, np.float64),
        cuda.local.array(3, np.float64),
    )
    a_is_rigid = geometries.kind[a] == RIGID_MESH
    for k in range(3 if a_is_rigid else 4):
        move_vertex(geometries, geometries.elements[element_a, k], R_BA, p_BA, work.x[k])
    if geometries.kind[b] == COMPLIANT_MESH:
        n = face_of_elements(geometries, element_a, element_b, a_is_rigid, R_BA, p_BA, tie, work)
    else:
        n = face_on_half_space(geometries, element_a, b, a_is_rigid, R_BA, p_BA, tie, work)
    if n == 0 or work.cycle[IS_FACE] == 0:
        return
    has_margin = geometries.margin[a] > 0.0 or geometries.margin[b] > 0.0
    rows, parts = work.cycle[ROWS], 2 if has_margin and crosses_zero(work, n) else 1
    for side in range(parts):
        corners = n if parts == 1 else take_side(work, n, rows, 1.0 - 2.0 * side, MAX_POINTS - 4 + 2 * side)
        area = polygon_area_centroid(work.points, corners, work.cycle[ROWS], work.centroid)
        if corners != 0 and area > 0.0:
            store_face(faces, cuda.atomic.add(count, 0, 1), corners, area, work)


class CudaQuery:
    """Contact query for pairs of a set; the geometries stay on the GPU between queries.

    Args:
        geometries: Set of geometries.
        capacity: Capacity in faces.
    """

    def __init__(self, geometries: GeometrySet, capacity: int) -> None:
        self._geometries = geometries
        self._on_device = GeometrySet(*(cuda.to_device(array) for array in geometries))
        self._faces = tuple(cuda.to_device(array) for array in make_face_buffer(capacity))

    def find_faces(
        self, a: int, b: int, R_BA: NDArray[np.float64], p_BA: NDArray[np.float64]
    ) -> tuple[FaceBuffer, int]:
        """Contact faces of a canonical pair (see ``query.canonical_order``).

        Args:
            a: Index of geometry A.
            b: Index of geometry B.
            R_BA: (3, 3) rotation of A in B.
            p_BA: (3,) origin of A in B, m.

        Returns:
            The faces, in B's frame and no fixed order, and their number. If it exceeds the capacity, the surplus was
            not stored: repeat the query with a larger capacity.
        """
        host = self._geometries
        num_a, num_b = np.diff(host.field_start)[[a, b]]
        blocks = (math.ceil(num_a / _BLOCK[0]), math.ceil(num_b / _BLOCK[1]))
        tie = tie_distance(host, a, b, p_BA)
        count = cuda.to_device(np.zeros(1, dtype=np.int64))
        faces = FaceBuffer(*self._faces)
        _test_element_pairs[blocks, _BLOCK](
            self._on_device, a, b, cuda.to_device(R_BA), cuda.to_device(p_BA), tie, faces, count
        )
        return FaceBuffer(*(array.copy_to_host() for array in self._faces)), int(count.copy_to_host()[0])
