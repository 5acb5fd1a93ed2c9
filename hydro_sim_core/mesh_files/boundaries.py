"""Surfaces of solids that files hold as tetrahedra."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def boundary_triangles(vertices: NDArray[np.float64], tetrahedra: NDArray[np.int64]) -> NDArray[np.int64]:
    """Triangles (T, 3) on the boundary of tetrahedra (M, 4), counter-clockwise seen from outside.

    Args:
        vertices: (N, 3) positions.
        tetrahedra: (M, 4) vertex indices, of either orientation.
    """
    sides = tetrahedra[:, [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]]
    corners = vertices[tetrahedra]
    inverted = np.linalg.det(corners[:, 1:] - corners[:, :1]) < 0.0
    sides[inverted] = sides[inverted][..., ::-1]
    sides = sides.reshape(-1, 3)
    _, first, count = np.unique(np.sort(sides, axis=1), axis=0, return_index=True, return_counts=True)
    found: NDArray[np.int64] = sides[first[count == 1]]
    return found
