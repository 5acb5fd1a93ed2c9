"""Distance or penetration depth of two convex meshes, by the library ``coal``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import Geometry

Array = NDArray[np.float64]

#: Fraction of the convex hull's volume that a mesh may leave empty and still count as convex; it allows for vertices in
#: single precision.
_HOLLOW = 1e-4
#: Tolerance of the library's solvers; its looser defaults leave errors of micrometres.
_TOLERANCE = 1e-10


def convex_pair(a: Geometry, b: Geometry, R_AB: Array, p_AB: Array) -> tuple[Array, Array, float]:
    """Contact point (3,) and normal (3,) from A into B, both in A's frame, and the depth, m.

    The contact point is midway between the deepest (or closest) points of the two. Where faces are parallel
    these are not unique, and the point is anywhere in their overlap.
    """
    coal = _coal()
    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = _TOLERANCE
    result = coal.DistanceResult()
    distance = coal.distance(
        _hull(a, "a"),
        coal.Transform3s.Identity(),
        _hull(b, "b"),
        coal.Transform3s(R_AB, p_AB),
        request,
        result,
    )
    midpoint = 0.5 * (result.getNearestPoint1() + result.getNearestPoint2())
    return np.array(midpoint), np.array(result.normal), -float(distance)


@lru_cache(maxsize=256)
def _hull(geometry: Geometry, element: str) -> Any:
    try:
        hull_volume = scipy.spatial.ConvexHull(geometry.vertices).volume
    except scipy.spatial.QhullError:
        raise InputError("point_contact", element, "is flat", "give a mesh that encloses a volume") from None
    if geometry.volume() < (1.0 - _HOLLOW) * hull_volume:
        filled = geometry.volume() / hull_volume
        problem = f"is not convex: it fills {filled:.2%} of its convex hull"
        raise InputError("point_contact", element, problem, "split it into convex parts")

    coal = _coal()
    points = coal.StdVec_Vec3s()
    points.extend(geometry.vertices)
    return coal.Convex.convexHull(points, False, "")


def _coal() -> Any:
    try:
        import coal
    except ImportError:
        raise InputError(
            "point_contact",
            "two meshes",
            "need the library coal, which is not installed",
            "run pip install 'hydro-sim-core[point]'",
        ) from None
    return coal
