"""Where the query writes contact faces: one row a quantity, one column a face."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.contact.pressure_field.polygon import MAX_VERTICES
from hydro_sim_core.jit import kernel

#: Rows of ``FaceBuffer.data``. Points and vectors are in the frame of the pair's geometry B.
CENTROID = 0
NORMAL = 3
AREA = 6
PRESSURE = 7
SLOPE_A = 8
SLOPE_B = 9
GRADIENT = 10
NUM_ROWS = 13

#: Faces are kept where the pressure gradient is less than 5 pi / 8 away from the normal on each compliant side; beyond
#: that the equal-pressure plane is an artefact of the coarse field. The reference implementation uses the same angle.
MIN_COSINE = math.cos(5.0 * math.pi / 8.0)


class FaceBuffer(NamedTuple):
    """Preallocated storage for the faces of one or more pairs.

    Attributes:
        data: (NUM_ROWS, capacity): centroid (3), unit normal out of A into B (3), area m^2, pressure at the centroid
            Pa, slopes of the two fields along the normal Pa/m (infinite on a rigid side), gradient of the field that
            gives the pressure (3) Pa/m.
        polygons: (capacity, MAX_VERTICES, 3) vertices.
        num_vertices: (capacity,).
    """

    data: np.ndarray
    polygons: np.ndarray
    num_vertices: np.ndarray


def make_face_buffer(capacity: int) -> FaceBuffer:
    """Allocate room for ``capacity`` faces."""
    return FaceBuffer(
        data=np.zeros((NUM_ROWS, capacity)),
        polygons=np.zeros((capacity, MAX_VERTICES, 3)),
        num_vertices=np.zeros(capacity, dtype=np.int64),
    )


@kernel(forceinline=True)
def store_face(faces, slot, polygon, n, area, centroid, normal, field, slope_a, slope_b):
    """Write a face into a column of the buffer, unless the buffer ends before it.

    Args:
        faces: ``FaceBuffer``.
        slot: Column.
        polygon: Buffer with the ``n`` vertices.
        n: Number of vertices.
        area: m^2.
        centroid: (3,) m.
        normal: (3,) unit normal from A into B.
        field: (4,) pressure field (g, c) that gives the pressure on the face.
        slope_a: -grad p_A . n, infinite if A is rigid.
        slope_b: grad p_B . n, infinite if B is rigid.
    """
    if slot >= faces.num_vertices.shape[0]:
        return
    for axis in range(3):
        faces.data[CENTROID + axis, slot] = centroid[axis]
        faces.data[NORMAL + axis, slot] = normal[axis]
        faces.data[GRADIENT + axis, slot] = field[axis]
    faces.data[AREA, slot] = area
    faces.data[PRESSURE, slot] = (
        field[0] * centroid[0] + field[1] * centroid[1] + field[2] * centroid[2] + field[3]
    )
    faces.data[SLOPE_A, slot] = slope_a
    faces.data[SLOPE_B, slot] = slope_b
    faces.num_vertices[slot] = n
    for i in range(n):
        for axis in range(3):
            faces.polygons[slot, i, axis] = polygon[i, axis]
