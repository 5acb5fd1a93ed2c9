"""Convex hulls, meshed by cones from the triangles to the centroid, or by cells around the medial axis."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.checks import float_rows, non_negative, positive
from hydro_sim_core.geometry.convex_depth import depth_mesh, inscribed_ball
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, IntArray
from hydro_sim_core.geometry.mesh import compliant_mesh, primitive
from hydro_sim_core.geometry.mesh_cache import load_arrays, store_arrays
from hydro_sim_core.geometry.simplices import tetrahedron_volumes

#: Most points of a hull whose medial axis is found anew every time, which takes a fifth of a second.
_MANY_POINTS = 30

#: Ratio of a face's distance from the centroid to the inscribed radius above which a hull is slender. Coned to the
#: centroid, its stiffness would be lower at that face by the same factor than with a pressure that increases uniformly
#: with depth.
SLENDER = 8.0


def convex_mesh(
    vertices: ArrayLike,
    *,
    modulus: float | None = None,
    margin: float = 0.0,
    medial: bool | None = None,
) -> Geometry:
    """Make the convex hull of points, with zero pressure on its surface and E at the deepest point.

    For most hulls every triangle is coned to the centroid of the volume, where the pressure is E. With a margin every
    vertex of the hull is moved away from the centroid until its faces are at least the margin further out, and the
    field is extrapolated along that line.

    For slender hulls the mesh has vertices on the medial axis, and the pressure is E times the depth below the nearest
    face over the largest depth. A margin then moves every face outwards.

    In both cases the margin changes neither the field inside nor the zero level set.

    Args:
        vertices: (N, 3) points, m; those inside the hull are ignored.
        modulus: Hydroelastic modulus E, Pa; None makes the rigid surface.
        margin: Least distance of the faces of a compliant mesh outside the hull, m.
        medial: Whether to put vertices on the medial axis. None does so for slender hulls (``SLENDER``) whose medial
            axis can be computed in spite of round-off.

    Raises:
        InputError: The points are not finite or span no volume, a parameter is out of range, or ``medial`` is true
            and round-off prevents the computation of the medial axis.
    """
    source = "convex_mesh"
    margin = 0.0 if modulus is None else non_negative(source, "margin", margin)
    modulus = None if modulus is None else positive(source, "modulus", modulus)
    points, triangles = hull(source, float_rows(source, "vertices", vertices, 3))
    centroid = _volume_centroid(points, triangles)
    distances = _face_distances(points, triangles, centroid)
    if modulus is not None and medial is not False and (medial or _is_slender(points, triangles, distances)):
        geometry = _medial_mesh(points, triangles, modulus, margin)
        if geometry is not None:
            return geometry
        if medial:
            mend = "move points that nearly coincide onto each other, or leave medial out"
            raise InputError(source, "vertices", "have a medial axis that round-off hides", mend)
    stretch = margin / _nearest(triangles, distances, len(points))
    grown = points + stretch[:, None] * (points - centroid)
    tetrahedra = np.column_stack([triangles, np.full(len(triangles), len(points))])
    return primitive(
        np.vstack([grown, centroid]), tetrahedra, np.r_[0.0 - stretch, 1.0], modulus=modulus, margin=margin
    )


def _is_slender(points: FloatArray, triangles: IntArray, distances: FloatArray) -> bool:
    a, b, c = (points[triangles[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    # The inscribed radius is at least the smallest distance, so that it need not be computed in most cases.
    if distances.max() <= SLENDER * distances.min():
        return False
    _, radius = inscribed_ball(normals, np.einsum("ij,ij->i", normals, a))
    return bool(distances.max() > SLENDER * radius)


def _medial_mesh(points: FloatArray, triangles: IntArray, modulus: float, margin: float) -> Geometry | None:
    if len(points) <= _MANY_POINTS:
        found = _unit_medial_mesh(points, triangles, margin)
    else:
        options = {"medial_mesh": 1, "margin": margin}
        kept = load_arrays(points, triangles, options, _check_medial)
        found = _unit_medial_mesh(points, triangles, margin) if kept is None else kept
        if kept is None:
            store_arrays(points, triangles, options, found)
    if not len(found["tetrahedra"]):
        return None
    return compliant_mesh(
        found["vertices"], found["tetrahedra"], modulus * found["pressure"], modulus=modulus, margin=margin
    )


def _unit_medial_mesh(points: FloatArray, triangles: IntArray, margin: float) -> dict[str, np.ndarray]:
    """Vertices, tetrahedra and pressure for the modulus 1; all empty if round-off prevents a mesh."""
    bare = depth_mesh(points, triangles)
    grown = bare if bare is None or margin == 0.0 else depth_mesh(points, triangles, margin)
    if bare is None or grown is None:
        return {
            "vertices": np.empty((0, 3)),
            "tetrahedra": np.empty((0, 4), dtype=np.int64),
            "pressure": np.empty(0),
        }
    vertices, tetrahedra, depth = grown
    pressure = (depth - margin) / bare[2].max()
    pressure[depth == depth.max()] = 1.0
    return {"vertices": vertices, "tetrahedra": tetrahedra, "pressure": pressure}


def _check_medial(arrays: dict[str, np.ndarray]) -> None:
    """Refuse what a file of the cache holds, if it is not the like of what was stored there."""
    vertices, tetrahedra, pressure = (arrays[name] for name in ("vertices", "tetrahedra", "pressure"))
    shapes = vertices.shape[1:], tetrahedra.shape[1:], pressure.shape
    if shapes != ((3,), (4,), (len(vertices),)) or tetrahedra.dtype != np.int64:
        raise ValueError("shapes")
    if not (np.isfinite(vertices).all() and np.isfinite(pressure).all()):
        raise ValueError("numbers")
    if len(tetrahedra) and not 0 <= tetrahedra.min() <= tetrahedra.max() < len(vertices):
        raise ValueError("tetrahedra")


def hull(source: str, points: FloatArray) -> tuple[FloatArray, IntArray]:
    """Vertices (N, 3) and triangles (M, 3) of a convex hull, the triangles counter-clockwise from outside."""
    try:
        found = scipy.spatial.ConvexHull(points)
    except (scipy.spatial.QhullError, ValueError):
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
    return (volumes[:, None] * centres).sum(axis=0) / volumes.sum()


def _face_distances(points: FloatArray, triangles: IntArray, centroid: FloatArray) -> FloatArray:
    """Distance from the centroid to the plane of every triangle, (M,)."""
    a, b, c = (points[triangles[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    return np.einsum("ij,ij->i", a - centroid, normals) / np.linalg.norm(normals, axis=1)


def _nearest(triangles: IntArray, distances: FloatArray, num_points: int) -> FloatArray:
    """Smallest distance among the triangles at each vertex, (N,)."""
    nearest = np.full(num_points, np.inf)
    np.minimum.at(nearest, triangles.ravel(), np.repeat(distances, 3))
    return nearest
