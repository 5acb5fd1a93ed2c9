"""Tetrahedral meshes of solids made of little cubes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product

import numpy as np


def cube_grid(
    cells: int, keep: Callable[[int, int, int], bool] = lambda i, j, k: True
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and tetrahedra of the unit cube about the origin, cut into cells of which some are kept."""

    def vertex(i, j, k):
        return (i * (cells + 1) + j) * (cells + 1) + k

    points = np.array(list(product(range(cells + 1), repeat=3))) / cells - 0.5
    tetrahedra = []
    for cell in product(range(cells), repeat=3):
        if not keep(*cell):
            continue
        for axes in permutations(range(3)):
            corner = list(cell)
            path = [vertex(*corner)]
            for axis in axes:
                corner[axis] += 1
                path.append(vertex(*corner))
            even = axes in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
            tetrahedra.append(path if even else [path[0], path[1], path[3], path[2]])
    used, tetrahedra = np.unique(tetrahedra, return_inverse=True)
    return points[used], tetrahedra.reshape(-1, 4)
