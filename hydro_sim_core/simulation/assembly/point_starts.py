"""How deep hulls that touch at equivalent points overlap where they start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.equivalent_point.hull_set import Hull

Floats = NDArray[np.float64]

#: Distance of cores, as a share of their size, below which they count as overlapping.
_ROUND_OFF = 1e-9


def start_depth(a: Hull, X_WA: Floats, b: Hull, X_WB: Floats, enough: float) -> float:
    """Depth by which two hulls overlap, m: exact where it exceeds ``enough`` (m), else at most that.

    It is the shortest way out of each other, in any direction.
    """
    if a.plane is not None or b.plane is not None:
        plane, X_WP, body, X = (a, X_WA, b, X_WB) if a.plane is not None else (b, X_WB, a, X_WA)
        assert plane.plane is not None
        n = X_WP[:3, :3] @ plane.plane[:3]
        heights = _moved(body.points, X) @ n - plane.plane[3] - n @ X_WP[:3, 3]
        return float(body.radius - heights.min())
    points_a, points_b, radii = _moved(a.points, X_WA), _moved(b.points, X_WB), a.radius + b.radius
    for hull, X, others in ((a, X_WA, points_b), (b, X_WB, points_a)):
        if hull.solid is not None:
            normals = hull.solid.planes[:, :3] @ X[:3, :3].T
            offsets = hull.solid.planes[:, 3] + normals @ X[:3, 3]
            apart = (others @ normals.T).min(axis=0) - offsets
            if radii - apart.max() <= enough:
                return float(radii - apart.max())
    differences = (points_a[:, None] - points_b[None]).reshape(-1, 3)
    return radii - _distance(differences)


def _moved(points: Floats, X: Floats) -> Floats:
    return np.asarray(points @ X[:3, :3].T + X[:3, 3])


def _distance(differences: Floats) -> float:
    """Distance of the origin from the convex hull of points (N, 3), m; inside, less the distance to its surface."""
    from scipy.optimize import nnls  # takes a third of a second to import
    from scipy.spatial import ConvexHull, QhullError

    size = float(np.abs(differences).max())
    if size == 0.0:
        return 0.0
    # Least squares with weights that sum to one: their row outweighs the others.
    heavy = 1e3 * size
    weights, _ = nnls(
        np.vstack([differences.T, np.full(len(differences), heavy)]), np.array([0.0, 0.0, 0.0, heavy])
    )
    distance = float(np.linalg.norm(differences.T @ weights / weights.sum()))
    if distance > _ROUND_OFF * size:
        return distance
    try:
        return float(ConvexHull(differences).equations[:, 3].max())
    except QhullError:  # they are in a plane, so that one step across it is out
        return 0.0
