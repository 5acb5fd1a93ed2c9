"""Convex hulls: every triangle of the hull coned to the centroid of its volume."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import ConvexHull, QhullError

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.checks import float_rows, non_negative, positive
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, IntArray
from hydro_sim_core.geometry.mesh import primitive
from hydro_sim_core.geometry.simplices import tetrahedron_volumes


def convex_mesh(vertices: ArrayLike, *, modulus: float | None = None, margin: float = 0.0) -> Geometry:
    """Make the convex hull of points, with pressure E at the centroid of its volume and zero on its surface.

    With a margin every vertex of the hull moves away from the centroid until the faces that meet there stand
    at least the margin further out, and its pressure continues the field along that line. The field inside,
    and with it the zero level set, stays exactly as it is without margin.

    Args:
        vertices: (N, 3) points, m; those inside the hull are left out.
        modulus: Hydroelastic modulus E, Pa; None makes the rigid surface.
        margin: How far the faces of a compliant mesh stand outside the hull at least, m.

    Raises:
        InputError: The points are not finite or span no volume, or a parameter is out of range.
    """
    source = "convex_mesh"
    margin = 0.0 if modulus is None else non_negative(source, "margin", margin)
    modulus = None if modulus is None else positive(source, "modulus", modulus)
    points, triangles = hull(source, float_rows(source, "vertices", vertices, 3))
    centroid = _volume_centroid(points, triangles)
    stretch = margin / _nearest_face_distance(points, triangles, centroid)
    grown = points + stretch[:, None] * (points - centroid)
    tetrahedra = np.column_stack([triangles, np.full(len(triangles), len(points))])
    return primitive(
        np.vstack([grown, centroid]), tetrahedra, np.r_[0.0 - stretch, 1.0], modulus=modulus, margin=margin
    )


def hull(source: str, points: FloatArray) -> tuple[FloatArray, IntArray]:
    """Vertices (N, 3) and triangles (M, 3) of a convex hull, the triangles counter-clockwise from outside."""
    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):
        mend = "give at least four points that do not lie in one plane"
        raise InputError(source, "vertices", "span no volume", mend) from None
    used, triangles = np.unique(found.simplices, return_inverse=True)
    vertices, triangles = points[used], triangles.reshape(-1, 3)
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0.0
    return vertices, np.where(inward[:, None], triangles[:, [0, 2, 1]], triangles)


def _volume_centroid(points: FloatArray, triangles: IntArray) -> FloatArray:
    apex = points.mean(axis=0)
    tetrahedra = np.column_stack([triangles, np.full(len(triangles), len(points))])
    volumes = np.abs(tetrahedron_volumes(np.vstack([points, apex]), tetrahedra))
    centres = (points[triangles].sum(axis=1) + apex) / 4.0
    return volumes @ centres / volumes.sum()


def _nearest_face_distance(points: FloatArray, triangles: IntArray, centroid: FloatArray) -> FloatArray:
    """Distance from the centroid to the nearest plane among the faces at each vertex, (N,)."""
    a, b, c = (points[triangles[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    distances = np.einsum("ij,ij->i", a - centroid, normals) / np.linalg.norm(normals, axis=1)
    nearest = np.full(len(points), np.inf)
    np.minimum.at(nearest, triangles.ravel(), np.repeat(distances, 3))
    return nearest
