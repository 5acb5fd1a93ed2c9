"""Tetrahedral meshes from files: pressure grows with the distance to the surface."""

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
from hydro_sim_core.geometry.simplices import boundary_triangles, linear_fields, tetrahedron_volumes

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

    The distance is that to the surface; vertices on the surface have pressure zero. With a margin they move
    outwards and their pressure becomes that of the adjacent tetrahedra continued to there, so that the zero
    level set stays where it was as far as those tetrahedra agree.

    Args:
        path: File in a format that meshio reads as tetrahedra (VTK, Gmsh and others), lengths in m.
        modulus: Hydroelastic modulus E, Pa; None makes the rigid surface.
        margin: How far the surface of a compliant mesh moves out, m.
        scale: Factor on the coordinates, one or one an axis.

    Raises:
        InputError: The file cannot be read or holds no linear tetrahedra, no vertex lies inside, the margin
            turns a tetrahedron inside out, or a parameter is out of range.
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
        pressure = modulus * _relative_depth(str(path), vertices, surface)
        if margin > 0.0:
            vertices, pressure = _grown(str(path), vertices, tetrahedra, surface, pressure, margin)
        return compliant_mesh(vertices, tetrahedra, pressure, modulus=modulus, margin=margin)


def _relative_depth(source: str, vertices: FloatArray, surface: IntArray) -> FloatArray:
    """Distance of every vertex to the surface over the largest one, (N,)."""
    depth = np.zeros(len(vertices))
    inside = np.setdiff1d(np.arange(len(vertices)), surface)
    if not inside.size:
        mend = "refine the mesh until at least one vertex lies inside"
        raise InputError(source, "vertices", "all lie on the surface, so there is no pressure inside", mend)
    depth[inside] = distance_to_surface(vertices[inside], vertices, surface)
    return depth / depth.max()


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


def _grown(
    source: str,
    vertices: FloatArray,
    tetrahedra: IntArray,
    surface: IntArray,
    pressure: FloatArray,
    margin: float,
) -> tuple[FloatArray, FloatArray]:
    """Move the surface out by the margin and continue the pressure to its new place."""
    grown = vertices + margin * _outward(vertices, surface)
    if not tetrahedron_volumes(grown, tetrahedra).min() > 0.0:
        raise InputError(
            source, "margin", f"{margin:g} m turns a tetrahedron inside out", "give a smaller margin"
        )

    fields = linear_fields(vertices, tetrahedra, pressure)
    sloped = (pressure[tetrahedra] > 0.0).any(
        axis=1
    )  # the others lie between surface vertices: p = 0 throughout
    owner = tetrahedra[sloped].ravel()
    points = grown[owner]
    fields = np.repeat(fields[sloped], 4, axis=0)
    continued = np.einsum("ij,ij->i", fields[:, :3], points) + fields[:, 3]
    total = np.bincount(owner, continued, len(vertices))
    count = np.bincount(owner, minlength=len(vertices))
    on_surface = np.zeros(len(vertices), dtype=bool)
    on_surface[surface] = True
    return grown, np.where(on_surface, np.minimum(total / np.maximum(count, 1), 0.0), pressure)


def _outward(vertices: FloatArray, surface: IntArray) -> FloatArray:
    """Displacement (N, 3) of every surface vertex that moves the faces around it out by one on average.

    The least-squares solution of ``n . w = 1`` over the normals n of the faces at a vertex, regularised so
    that nearly parallel normals do not send it sideways.
    """
    a, b, c = (vertices[surface[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    lhs = np.zeros((len(vertices), 3, 3))
    rhs = np.zeros((len(vertices), 3))
    np.add.at(lhs, surface, (normals[:, :, None] * normals[:, None, :])[:, None])
    np.add.at(rhs, surface, normals[:, None])
    on_surface = np.unique(surface)
    weight = 1e-3 * np.trace(lhs[on_surface], axis1=1, axis2=2)
    displacement = np.zeros_like(vertices)
    regular = lhs[on_surface] + weight[:, None, None] * np.eye(3)
    displacement[on_surface] = np.linalg.solve(regular, rhs[on_surface][:, :, None])[:, :, 0]
    return displacement
