"""Faces of a contact patch as arrays in the world frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FaceArrays:
    """Faces of one patch in the world frame, one row a face.

    Attributes:
        centroids: (F, 3) m.
        normals: (F, 3) unit normals from A into B.
        areas: (F,) m^2.
        pressures: (F,) pressure at the centroids, Pa; negative in the margin skirt.
        gradients: (F, 2) slopes of the fields of A and B along the normal, Pa/m; infinite on a rigid side.
        field_gradients: (F, 3) gradient of the field that gives the pressure on the face, Pa/m: at a point x of the
            face the pressure is ``pressures + field_gradients . (x - centroids)``.
        vertices: (F, MAX_VERTICES, 3) polygon vertices, m; only the first ``num_vertices`` of each row are valid.
        num_vertices: (F,) number of vertices of each polygon.
    """

    centroids: Array
    normals: Array
    areas: Array
    pressures: Array
    gradients: Array
    field_gradients: Array
    vertices: Array
    num_vertices: NDArray[np.int64]
