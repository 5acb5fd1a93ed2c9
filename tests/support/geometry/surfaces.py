"""Closed surfaces of solids that are not convex, small enough to mesh in about a second."""

from __future__ import annotations

import numpy as np
import trimesh

from hydro_sim_core.geometry.simplices import boundary_triangles
from support.geometry.grids import cube_grid


def bracket() -> trimesh.Trimesh:
    """An L of three unit cubes: sharp convex and concave edges, volume 3."""
    points, tetrahedra = cube_grid(2, keep=lambda i, j, k: i == 0 or j == 0)
    surface = boundary_triangles(tetrahedra)
    # Two layers of little cubes along the third axis become one unit high.
    return trimesh.Trimesh((points + 0.5) * [2.0, 2.0, 1.0], surface)


def ring() -> trimesh.Trimesh:
    """A torus."""
    return trimesh.creation.torus(0.2, 0.06, major_sections=16, minor_sections=8)


def plate() -> trimesh.Trimesh:
    """A wall that is thinner than the edge length."""
    return trimesh.creation.box((1.0, 0.6, 0.03))


def ball(radius: float = 1.0, subdivisions: int = 2) -> trimesh.Trimesh:
    """A sphere."""
    return trimesh.creation.icosphere(subdivisions=subdivisions, radius=radius)


def joined(*solids: trimesh.Trimesh) -> trimesh.Trimesh:
    """Several solids as one surface, vertices at the same place merged."""
    together = trimesh.util.concatenate(solids)
    together.merge_vertices()
    return together


def cube(*corner: float) -> trimesh.Trimesh:
    """The unit cube with its lowest corner there."""
    return trimesh.creation.box(bounds=[corner, np.array(corner) + 1.0])
