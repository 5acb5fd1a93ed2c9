"""Convex hull of a body as half spaces, and its points closest to a plane.

A body, convex or not, touches a plane only at extreme points, so that its convex hull has the same contacts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.poses import as_pose
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import Geometry

Array = NDArray[np.float64]

#: Tolerance relative to the hull's size: faces with planes within it are merged, and points within it touch a plane.
_COPLANAR = 1e-9


@dataclass(frozen=True, eq=False)
class SupportHull:
    """Convex hull ``{x : normals x <= offsets}`` of a body, in its frame B with the centre of mass as origin.

    Attributes:
        vertices: (V, 3) extreme points, m.
        normals: (m, 3) outward unit normals of the faces, the gradients of f_i in the paper.
        offsets: (m,) plane offsets, m.
    """

    vertices: Array
    normals: Array
    offsets: Array

    @classmethod
    def from_vertices(cls, vertices: ArrayLike) -> SupportHull:
        """Make the hull of points (N, 3) in B, m.

        Raises:
            InputError: The points are not (N, 3), not finite, or lie in a plane.
        """
        points = _points(vertices)
        try:
            hull = scipy.spatial.ConvexHull(points)
        except (scipy.spatial.QhullError, ValueError):
            raise InputError(
                "SupportHull", "vertices", "lie in a plane", "use from_patch for a flat contact patch"
            ) from None
        return cls(points[hull.vertices], *_distinct_planes(hull.equations, _size(points)))

    @classmethod
    def from_patch(cls, vertices: ArrayLike, normal: ArrayLike) -> SupportHull:
        """Make the hull of a flat contact patch, extended without bound against its normal.

        Args:
            vertices: (N, 3) points of the patch in B, all in one plane, m. The patch may be non-convex or in
                pieces.
            normal: (3,) outward normal of the patch, pointing away from the body.

        Raises:
            InputError: The points are not (N, 3), not finite, not in one plane across ``normal``, or span no
                area; or ``normal`` has no direction.
        """
        points = _points(vertices)
        normal = np.asarray(normal, dtype=float)
        length = np.linalg.norm(normal) if normal.shape == (3,) else np.nan
        if not 0.0 < length < np.inf:
            raise InputError("SupportHull", "normal", f"is {normal.tolist()}", "give a vector (3,), not zero")
        normal = normal / length
        height = points @ normal
        if np.ptp(height) > _COPLANAR * _size(points):
            problem = f"leave the plane across the normal by {np.ptp(height):g} m"
            raise InputError("SupportHull", "vertices", problem, "give the points of one flat face")

        across = np.linalg.svd(normal[None])[2][1:]  # (2, 3) axes in the plane
        try:
            hull = scipy.spatial.ConvexHull(points @ across.T)
        except (scipy.spatial.QhullError, ValueError):
            raise InputError(
                "SupportHull", "vertices", "span no area", "give three or more points not in a line"
            ) from None
        sides = np.column_stack([hull.equations[:, :2] @ across, hull.equations[:, 2]])
        planes = np.vstack([np.append(normal, -height.max()), sides])
        return cls(points[hull.vertices], *_distinct_planes(planes, _size(points)))

    @classmethod
    def from_geometry(cls, geometry: Geometry, p_GBo: ArrayLike = (0.0, 0.0, 0.0)) -> SupportHull:
        """Make the hull of a rigid mesh.

        Args:
            geometry: Rigid mesh in its frame G, whose axes are those of B.
            p_GBo: (3,) centre of mass in G, m.

        Raises:
            InputError: The geometry is compliant or a half space, or flat; or ``p_GBo`` is not a point.
        """
        if geometry.is_half_space or not geometry.is_rigid:
            raise InputError("SupportHull", "geometry", f"is a {geometry.kind.name}", "give a rigid mesh")
        p_GBo = np.asarray(p_GBo, dtype=float)
        if p_GBo.shape != (3,) or not np.all(np.isfinite(p_GBo)):
            raise InputError("SupportHull", "p_GBo", f"is {p_GBo.tolist()}", "give three finite numbers")
        return cls.from_vertices(geometry.vertices - p_GBo)

    @property
    def radius(self) -> float:
        """Largest distance of a vertex from the centre of mass, m."""
        return float(np.linalg.norm(self.vertices, axis=1).max())


@dataclass(frozen=True, eq=False)
class ClosestPoints:
    """A solution of eqs. 8 to 11 for a hull and the plane z = 0 of frame G.

    Attributes:
        a1: (3,) point of the hull in G, m. Of several equally close vertices, their mean.
        a2: (3,) point of the solid z <= 0 in G, m.
        face_multipliers: (m,) l_i >= 0 of the hull's faces, such that ``z + sum_i l_i normal_i = 0``: eq. 9
            divided by the plane's multiplier l_j, so that any active face can serve as the paper's face k.
    """

    a1: Array
    a2: Array
    face_multipliers: Array


def closest_points(hull: SupportHull, X_GB: ArrayLike) -> ClosestPoints:
    """Find the point of a hull closest to the solid z <= 0 of frame G, or deepest in it.

    Args:
        hull: The hull in its frame B.
        X_GB: (4, 4) pose of B in G.

    Raises:
        InputError: ``X_GB`` is no rigid transform, or a hull made by ``from_patch`` lies upside down.
    """
    X_GB = as_pose(X_GB, "closest_points", "X_GB")
    heights = hull.vertices @ X_GB[2, :3]
    nearest, misfit = _mean_support(hull, X_GB, heights <= heights.min() + _COPLANAR * hull.radius)
    if misfit > 1e-6:
        raise InputError(
            "closest_points",
            "X_GB",
            "turns the open side of a patch hull down",
            "use the hull of all vertices",
        )
    return nearest


def lowest_features(hull: SupportHull, X_GB: Array) -> Iterator[ClosestPoints]:
    """Candidate contacts of a hull: the vertex, edge or face of its two, three and four lowest vertices.

    The multipliers of each candidate are a least-squares fit to eq. 9, exact only for the closest feature.
    """
    order = np.argsort(hull.vertices @ X_GB[2, :3])
    for count in (2, 3, 4):
        yield _mean_support(hull, X_GB, order[:count])[0]


def _mean_support(hull: SupportHull, X_GB: Array, chosen: NDArray[Any]) -> tuple[ClosestPoints, float]:
    """Mean of the chosen vertices, multipliers of the faces through it, and their residual in eq. 9."""
    R_GB, p_GBo = X_GB[:3, :3], X_GB[:3, 3]
    p_Ba1 = hull.vertices[chosen].mean(axis=0)
    a1 = R_GB @ p_Ba1 + p_GBo
    a2 = a1 * (1.0, 1.0, 0.0) if a1[2] > 0.0 else a1.copy()

    active = np.flatnonzero(hull.normals @ p_Ba1 >= hull.offsets - 10.0 * _COPLANAR * hull.radius)
    multipliers = np.zeros(len(hull.normals))
    misfit = 1.0
    if active.size:
        multipliers[active], misfit = scipy.optimize.nnls(
            (hull.normals[active] @ R_GB.T).T, np.array([0.0, 0.0, -1.0])
        )
    return ClosestPoints(a1, a2, multipliers), float(misfit)


def _points(values: ArrayLike) -> Array:
    points = np.asarray(values, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise InputError("SupportHull", "vertices", f"has shape {points.shape}", "give shape (N, 3)")
    if not np.all(np.isfinite(points)):
        raise InputError("SupportHull", "vertices", "holds NaN or infinity", "give finite numbers")
    return points


def _size(points: Array) -> float:
    return float(np.ptp(points, axis=0).max())


def _distinct_planes(planes: Array, size: float) -> tuple[Array, Array]:
    """Normals and offsets of the hull from planes ``n . x + d <= 0``, with coplanar triangles merged."""
    kept: list[Array] = []
    for plane in planes:
        if not any(np.abs(plane - other).max() <= _COPLANAR * max(1.0, size) for other in kept):
            kept.append(plane)
    distinct = np.array(kept)
    return distinct[:, :3], -distinct[:, 3]
