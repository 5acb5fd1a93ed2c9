"""Meshes of convex polyhedra with pressure exactly proportional to depth.

The depth below the nearest face plane, ``d(x) = min_i (b_i - n_i . x)``, is concave, and linear in one cell per face;
the cells meet in the medial axis. They are the projections of the upper facets of the four-dimensional polyhedron of
all (x, t) with ``0 <= t <= d(x)``, whose vertices are computed by Qhull. Each cell is then cut into tetrahedra.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy

from hydro_sim_core.arithmetic import dot, norm, product
from hydro_sim_core.geometry.geometry import FloatArray, IntArray
from hydro_sim_core.geometry.mesh import FLATNESS
from hydro_sim_core.geometry.simplices import (
    longest_edges,
    sorted_rows,
    tetrahedron_faces,
    tetrahedron_volumes,
    triangle_areas,
)

#: Distances, relative to the extent, that count as zero, tried in this order; the second is for files in single
#: precision.
TOLERANCES = (1e-9, 1e-5)

#: Largest relative difference between the sum of the tetrahedra's volumes and the polyhedron's volume.
VOLUME_TOLERANCE = 1e-4

#: Difference of normals below which triangles in one plane belong to the same face.
_SAME_NORMAL = 1e-3


def depth_mesh(
    points: FloatArray, triangles: IntArray, margin: float = 0.0
) -> tuple[FloatArray, IntArray, FloatArray] | None:
    """Cut a convex polyhedron, with faces moved outwards by a margin, into tetrahedra in which the depth is linear.

    Args:
        points: (N, 3) vertices, m.
        triangles: (M, 3) triangles of its surface, counter-clockwise seen from outside.
        margin: Margin, m.

    Returns:
        Vertices, tetrahedra and depth of the vertices below the moved faces, m; None if round-off prevents a valid
        mesh.
    """
    extent = norm(np.ptp(points, axis=0))
    for tolerance in TOLERANCES:
        normals, offsets = _face_planes(points, triangles, tolerance * extent)
        meshed = _cells(normals, offsets + margin, tolerance * extent)
        if meshed is not None and _is_valid(*meshed[:2]):
            return meshed
    return None


def _face_planes(points: FloatArray, triangles: IntArray, tolerance: float) -> tuple[FloatArray, FloatArray]:
    """Outward unit normals (F, 3) and offsets (F,) of the faces, each of which may have several triangles."""
    corners = points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    # The largest of the triangles in one plane has the most accurate normal.
    waiting = np.argsort(-triangle_areas(points, triangles), kind="stable")
    faces = []
    while waiting.size:
        normal = normals[waiting[0]]
        offset = dot(normal, corners[waiting[0]].mean(axis=0))
        faces.append((*normal, offset))
        apart = np.abs(product(corners[waiting], normal) - offset).max(axis=1) > tolerance
        turned = np.linalg.norm(normals[waiting] - normal, axis=1) > _SAME_NORMAL
        together = ~(apart | turned)
        together[0] = True
        waiting = waiting[~together]
    planes = np.array(faces)
    return planes[:, :3], planes[:, 3]


def inscribed_ball(normals: FloatArray, offsets: FloatArray) -> tuple[FloatArray, float]:
    """Centre (3,) and radius of the largest ball inside the polyhedron ``n_i . x <= b_i``."""
    found = scipy.optimize.linprog(
        [0.0, 0.0, 0.0, -1.0],
        A_ub=np.column_stack([normals, np.ones(len(normals))]),
        b_ub=offsets,
        bounds=[(None, None)] * 3 + [(0.0, None)],
    )
    return found.x[:3], float(found.x[3])


def _cells(
    normals: FloatArray, offsets: FloatArray, tolerance: float
) -> tuple[FloatArray, IntArray, FloatArray] | None:
    centre, radius = inscribed_ball(normals, offsets)
    lifted = np.column_stack([normals, np.ones(len(normals))])
    halfspaces = np.vstack([np.column_stack([lifted, -offsets]), [0.0, 0.0, 0.0, -1.0, 0.0]])
    try:
        corners = scipy.spatial.HalfspaceIntersection(halfspaces, np.r_[centre, 0.5 * radius]).intersections
    except scipy.spatial.QhullError:
        return None
    corners = _distinct(corners[np.isfinite(corners).all(axis=1)], tolerance)
    corners = corners[
        np.argsort(-corners[:, 3], kind="stable")
    ]  # deepest vertices first, which become the apices of the cells
    corners[corners[:, 3] <= tolerance, 3] = 0.0
    tight = np.abs(product(corners, lifted.T) - offsets) <= 10.0 * tolerance
    on_surface = corners[:, 3] == 0.0
    tetrahedra = [
        tetrahedron
        for face in range(len(normals))
        for tetrahedron in _cell(corners[:, :3], tight, face, on_surface)
    ]
    return corners[:, :3], np.array(tetrahedra, dtype=np.int64).reshape(-1, 4), corners[:, 3]


def _distinct(points: FloatArray, distance: float) -> FloatArray:
    ordered = points[np.lexsort(points.T)]
    kept = np.empty_like(ordered)
    count = 0
    for point in ordered:
        # The last coordinate ascends, so those that are further back in it are not near; twice, because of round-off.
        first = np.searchsorted(kept[:count, -1], point[-1] - 2.0 * distance)
        near = kept[first:count]
        if not len(near) or np.abs(near - point).max(axis=1).min() > distance:
            kept[count] = point
            count += 1
    return kept[:count]


def _cell(
    points: FloatArray, tight: np.ndarray, face: int, on_surface: np.ndarray
) -> list[tuple[int, int, int, int]]:
    """Cut the cell below a face: cones from its first vertex to the polygons that do not contain it.

    Each polygon is cut into a fan from its own first vertex, so that the two cells at a polygon have the same
    triangles.
    """
    in_cell = tight[:, face]
    if not in_cell.any():
        return []
    own = np.flatnonzero(in_cell)  # few of all vertices
    apex = int(own[0])
    sides = np.column_stack([on_surface[own], np.delete(tight[own], face, axis=1)])
    polygons = {tuple(own[side].tolist()) for side in sides.T[sides.sum(axis=0) > 2]}
    tetrahedra = []
    for polygon in sorted(polygons):
        if apex in polygon or any(set(polygon) < set(other) for other in polygons):
            continue
        ring = _ring(points, polygon)
        tetrahedra += [(apex, ring[0], b, c) for b, c in pairwise(ring[1:])]
    return tetrahedra


def _ring(points: FloatArray, polygon: tuple[int, ...]) -> list[int]:
    """Vertices of a convex polygon in cyclic order, starting with the lowest number."""
    corners = points[list(polygon)]
    centred = corners - corners.mean(axis=0)
    along = centred[(centred**2).sum(axis=1).argmax()]
    normals = np.cross(along, centred)
    across = np.cross(normals[(normals**2).sum(axis=1).argmax()], along)
    angle = np.arctan2(product(centred, across), norm(along) * product(centred, along))
    ring = [polygon[i] for i in np.argsort(angle, kind="stable")]
    first = ring.index(min(ring))
    return ring[first:] + ring[:first]


def _is_valid(vertices: FloatArray, tetrahedra: IntArray) -> bool:
    """Whether the tetrahedra have positive volume, fill the hull of the vertices, and meet face to face."""
    if not len(tetrahedra):
        return False
    volumes = np.abs(tetrahedron_volumes(vertices, tetrahedra))
    if (volumes <= FLATNESS * longest_edges(vertices, tetrahedra) ** 3).any():
        return False
    if abs(volumes.sum() / scipy.spatial.ConvexHull(vertices).volume - 1.0) > VOLUME_TOLERANCE:
        return False
    _, _, counts = sorted_rows(tetrahedron_faces(tetrahedra))
    return bool((counts <= 2).all())
