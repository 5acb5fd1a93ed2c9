"""Tetrahedral meshes from files: pressure proportional to the distance to the surface."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import trimesh
from scipy.spatial import cKDTree

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.checks import non_negative, positive
from hydro_sim_core.geometry.files import load_tetrahedra, named_after
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, IntArray
from hydro_sim_core.geometry.mesh import compliant_mesh, oriented, rigid_mesh
from hydro_sim_core.geometry.prisms import split_prisms
from hydro_sim_core.geometry.simplices import boundary_triangles, tetrahedron_volumes

#: Point-triangle pairs whose distances are computed at once: bounds the memory (about 200 bytes a pair).
_PAIRS_AT_ONCE = 2_000_000


def tetrahedral_mesh(
    path: str | Path,
    modulus: float | None = None,
    margin: float = 0.0,
    *,
    scale: float | Sequence[float] = 1.0,
) -> Geometry:
    """Read a tetrahedral mesh and give every vertex the pressure ``E distance / (largest distance)``.

    The distance is that to the surface; vertices on the surface have pressure zero. A margin adds a skin of
    that thickness, three tetrahedra a surface triangle, in which the pressure falls on at the same slope; the
    mesh inside and its zero level set stay as they are.

    Args:
        path: File in VTK or Gmsh format, lengths in m.
        modulus: Hydroelastic modulus E, Pa; None makes the rigid surface.
        margin: Thickness of the skin of a compliant mesh, m.
        scale: Factor on the coordinates, one or one an axis.

    Raises:
        InputError: The file cannot be read or holds no linear tetrahedra, no vertex lies inside, the skin
            would fold, or a parameter is out of range.
    """
    margin = 0.0 if modulus is None else non_negative(str(path), "margin", margin)
    modulus = None if modulus is None else positive(str(path), "modulus", modulus)
    vertices, tetrahedra = load_tetrahedra(path, scale)
    with named_after(path):
        tetrahedra = oriented("", vertices, tetrahedra)
        surface = boundary_triangles(tetrahedra)
        if modulus is None:
            used, triangles = np.unique(surface, return_inverse=True)
            return rigid_mesh(vertices[used], triangles.reshape(-1, 3))
        depth = _depth("", vertices, surface)
        if margin > 0.0:
            vertices, tetrahedra, depth = _with_skin("", vertices, tetrahedra, surface, depth, margin)
        return compliant_mesh(
            vertices, tetrahedra, modulus * (depth / depth.max()), modulus=modulus, margin=margin
        )


def _depth(source: str, vertices: FloatArray, surface: IntArray) -> FloatArray:
    """Distance of every vertex to the surface, (N,), m."""
    inside = np.setdiff1d(np.arange(len(vertices)), surface)
    if not inside.size:
        mend = "refine the mesh until at least one vertex lies inside"
        raise InputError(source, "vertices", "all lie on the surface, so there is no pressure inside", mend)
    depth = np.zeros(len(vertices))
    depth[inside] = distance_to_surface(vertices[inside], vertices, surface)
    return depth


def distance_to_surface(points: FloatArray, vertices: FloatArray, triangles: IntArray) -> FloatArray:
    """Distance (P,) from each point (P, 3) to the nearest of the triangles, m."""
    corners = vertices[triangles]
    centres = corners.mean(axis=1)
    reach = np.linalg.norm(corners - centres[:, None], axis=2).max()
    upper_bound, _ = cKDTree(vertices[np.unique(triangles)]).query(points)
    tree = cKDTree(centres)
    counts = tree.query_ball_point(points, upper_bound + reach, return_length=True)

    distance = np.empty(len(points))
    chunk = np.cumsum(counts) // _PAIRS_AT_ONCE
    for number in range(chunk[-1] + 1):
        rows = np.flatnonzero(chunk == number)
        if not rows.size:
            continue
        near = np.concatenate(tree.query_ball_point(points[rows], upper_bound[rows] + reach)).astype(np.int64)
        repeated = np.repeat(points[rows], counts[rows], axis=0)
        closest = trimesh.triangles.closest_point(corners[near], repeated)
        starts = np.cumsum(counts[rows]) - counts[rows]
        distance[rows] = np.minimum.reduceat(np.linalg.norm(closest - repeated, axis=1), starts)
    return distance


def _with_skin(
    source: str,
    vertices: FloatArray,
    tetrahedra: IntArray,
    surface: IntArray,
    depth: FloatArray,
    margin: float,
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Add a layer of prisms, cut into tetrahedra, on the surface; its outer vertices have depth -margin."""
    inner = np.unique(surface)
    outer_points = vertices[inner] + margin * _outward(vertices, surface)[inner]
    outer = np.zeros(len(vertices), dtype=np.int64)
    outer[inner] = len(vertices) + np.arange(len(inner))
    vertices = np.vstack([vertices, outer_points])

    # Neighbouring prisms agree on the diagonal of their common wall because each cuts it by vertex number.
    order = np.argsort(surface, axis=1)
    low = np.take_along_axis(surface, order, axis=1)
    skin = split_prisms(tuple(outer[low].T), tuple(low.T))
    mirrored = np.repeat((order[:, 0] + 1) % 3 != order[:, 1], 3)
    folded = np.where(mirrored, -1.0, 1.0) * tetrahedron_volumes(vertices, skin) <= 0.0
    if folded.any():
        corner = np.round(vertices[skin[folded.argmax(), 0]], 6).tolist()
        problem = f"of {margin:g} m folds the skin near {corner}"
        raise InputError(source, "margin", problem, "smooth the surface there or give a smaller margin")
    return vertices, np.vstack([tetrahedra, skin]), np.r_[depth, np.full(len(inner), -margin)]


def _outward(vertices: FloatArray, surface: IntArray) -> FloatArray:
    """Displacement (N, 3) of every surface vertex that moves the faces around it out by one.

    The least-squares solution of ``n . w = 1`` over the normals n of the faces at a vertex, regularised so
    that nearly parallel normals do not send it sideways.
    """
    a, b, c = (vertices[surface[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    matrix = np.zeros((len(vertices), 3, 3))
    total = np.zeros((len(vertices), 3))
    np.add.at(matrix, surface, (normals[:, :, None] * normals[:, None, :])[:, None])
    np.add.at(total, surface, normals[:, None])
    faces = np.trace(matrix, axis1=1, axis2=2)  # their number: normals have length one
    regular = matrix + (1e-6 * faces + (faces == 0.0))[:, None, None] * np.eye(3)
    return np.linalg.solve(regular, total[:, :, None])[:, :, 0]
