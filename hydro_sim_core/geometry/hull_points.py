"""Few points whose convex hull is nearly that of many."""

from __future__ import annotations

import numpy as np
import scipy

from hydro_sim_core.geometry.geometry import FloatArray
from hydro_sim_core.geometry.mesh_cache import load_arrays, store_arrays

#: Most points of which the few are found anew every time, in a twentieth of a second.
_MANY_POINTS = 500
#: Most points that are added before distances are computed anew.
_MOST_AT_ONCE = 8


def kept_few_hull_points(points: FloatArray, tolerance: float) -> FloatArray:
    """``few_hull_points`` of thousands of points, found once and kept in the cache of meshes."""
    if len(points) <= _MANY_POINTS:
        return few_hull_points(points, tolerance)
    key = points, np.empty((0, 3), dtype=np.int64), {"few_hull_points": 1, "tolerance": tolerance}
    kept = load_arrays(*key, _check)
    if kept is not None:
        return kept["points"]
    found = few_hull_points(points, tolerance)
    store_arrays(*key, {"points": found})
    return found


def _check(arrays: dict[str, np.ndarray]) -> None:
    points = arrays["points"]
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4 or not np.isfinite(points).all():
        raise ValueError("points")


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
