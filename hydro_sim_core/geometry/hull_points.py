"""Few points whose convex hull is nearly that of many."""

from __future__ import annotations

import numpy as np
import scipy

from hydro_sim_core.geometry.geometry import FloatArray

#: Most points that are added before distances are computed anew.
_MOST_AT_ONCE = 8


def few_hull_points(points: FloatArray, tolerance: float) -> FloatArray:
    """Some of the points (M, 3), such that none of the others is further than a tolerance outside of their hull.

    Begins with the outermost points along the axes and diagonals, and adds those that are furthest outside.

    Args:
        points: (N, 3), m; they span a volume.
        tolerance: m.
    """
    corners = points[scipy.spatial.ConvexHull(points).vertices]
    chosen = _outermost(corners)
    while True:
        planes = scipy.spatial.ConvexHull(corners[chosen]).equations
        outside = (corners @ planes[:, :3].T + planes[:, 3]).max(axis=1)
        outside[chosen] = 0.0
        furthest = np.argsort(-outside, kind="stable")[:_MOST_AT_ONCE]
        news = furthest[outside[furthest] > tolerance]
        if not len(news):
            return np.asarray(corners[np.sort(chosen)])
        chosen = np.concatenate([chosen, news])


def _outermost(corners: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Indices of the outermost points along the 13 axes of a cube, both ways: they span a volume if the points do."""
    grid = np.stack(np.meshgrid(*[(-1.0, 0.0, 1.0)] * 3), axis=-1).reshape(-1, 3)
    axes = grid[np.abs(grid).sum(axis=1) > 0.0]
    return np.unique((corners @ (axes / np.linalg.norm(axes, axis=1, keepdims=True)).T).argmax(axis=0))
