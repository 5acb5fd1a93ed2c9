"""What the contact tests measure on patches."""

from __future__ import annotations

from collections import Counter

import numpy as np

from hydro_sim_core.contact import ContactPatch


def moment_of_pressure(patch: ContactPatch, point: object) -> np.ndarray:
    """Moment (3,) on B about ``point``, N m, of the linear pressure on every polygon, by an exact quadrature.

    The patch's own moment lets the force of each face act at its centroid.
    """
    moment = np.zeros(3)
    for vertices, pressures, normal in zip(
        patch.polygons, patch.vertex_pressures, patch.normals, strict=True
    ):
        for i in range(1, len(vertices) - 1):
            corners, values = vertices[[0, i, i + 1]], pressures[[0, i, i + 1]]
            area = 0.5 * np.linalg.norm(np.cross(corners[1] - corners[0], corners[2] - corners[0]))
            # Products of two linear functions are integrated exactly from the middles of the sides.
            arms = 0.5 * (corners + np.roll(corners, 1, axis=0)) - np.asarray(point, dtype=float)
            middles = 0.5 * (values + np.roll(values, 1))
            moment += area / 3.0 * np.cross(middles @ arms, normal)
    return moment


def open_edges(patch: ContactPatch, grid: float = 1e-9) -> int:
    """Number of polygon edges that are not shared by two faces; vertices on the same ``grid`` point, m, are one."""
    edges: Counter[frozenset[tuple[int, ...]]] = Counter()
    for vertices in patch.polygons:
        keys = [tuple(key) for key in np.round(vertices / grid).astype(int).tolist()]
        for first, second in zip(keys, keys[1:] + keys[:1], strict=True):
            if first != second:
                edges[frozenset((first, second))] += 1
    return sum(count != 2 for count in edges.values())
