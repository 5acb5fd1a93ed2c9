"""Random small meshes: Delaunay tetrahedra with random pressures, hulls and stars, also degenerate ones.

A recipe is a few plain values, so that a failing example names the mesh.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, Delaunay

import hydro_sim_core as hs
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.geometry.simplices import (
    boundary_triangles,
    longest_edges,
    tetrahedron_volumes,
)
from support.contact.solids import ball_surface, layered

CLOUDS = ("ball", "lattice", "coplanar", "doubled", "needle", "pancake")
FIELDS = ("peaks", "any", "linear", "plateau", "skirt")
SOLIDS = ("tetrahedra", "hull", "star")
#: Tetrahedra flatter than this, relative to their longest edge, are left out, which leaves cracks.
FLAT = 1e-9


@dataclass(frozen=True)
class Recipe:
    """What a random body is made of.

    Attributes:
        solid: One of ``SOLIDS``.
        cloud: How the points lie, one of ``CLOUDS``.
        field: How the pressures lie, one of ``FIELDS``; ``rigid`` for a surface.
        points: Number of points.
        seed: Of positions and pressures.
        size: Half the extent, m.
        away: Distance of the body from the origin of its frame, in sizes.
    """

    solid: str
    cloud: str
    field: str
    points: int
    seed: int
    size: float
    away: float

    def center(self) -> np.ndarray:
        """(3,) middle of the body in its frame, m."""
        direction = np.random.default_rng(self.seed + 1).normal(size=3)
        return self.away * self.size * direction / np.linalg.norm(direction)

    def build(self) -> Geometry:
        """Make the body."""
        rng = np.random.default_rng(self.seed)
        if self.solid == "star":
            return self._star(rng)
        cloud = cloud_of_points(self.cloud, self.points, rng)
        points = self.size * cloud + self.center()
        if self.field == "rigid":
            hull = outward_hull(cloud)
            return hs.geometry.rigid_mesh(points, hull)
        if self.solid == "hull":
            used = np.unique(outward_hull(cloud))
            return hs.geometry.convex_mesh(points[used], modulus=1e5)
        tetrahedra = Delaunay(cloud).simplices.astype(np.int64)
        volumes = np.abs(tetrahedron_volumes(cloud, tetrahedra))
        tetrahedra = tetrahedra[volumes > FLAT * longest_edges(cloud, tetrahedra) ** 3]
        return hs.geometry.compliant_mesh(points, tetrahedra, self._pressure(cloud, tetrahedra, rng))

    def _star(self, rng: np.random.Generator) -> Geometry:
        radii = rng.uniform(0.4, 1.0, 200)
        surface = ball_surface(self.size, rng.choice([0.9, 1.5]) * self.size, lambda x: radii[: len(x)])
        if self.field == "rigid":
            return hs.geometry.rigid_mesh(surface[0] + self.center(), surface[1])
        body = layered(surface, [0.0, *rng.uniform(0.2, 1.0, rng.integers(1, 4))])
        return hs.geometry.compliant_mesh(body.vertices + self.center(), body.elements, body.pressure)

    def _pressure(self, cloud: np.ndarray, tetrahedra: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        count = len(cloud)
        if self.field == "linear":
            return 1e5 * (1.5 + cloud @ rng.uniform(-1.0, 1.0, 3))
        if self.field == "any":
            return 1e5 * rng.uniform(0.1, 1.0, count)
        if self.field == "skirt":
            return 1e5 * np.r_[1.0, rng.uniform(-0.5, 1.0, count - 1)]
        level = rng.uniform(0.2, 1.0, 1 if self.field == "plateau" else count)
        pressure = 1e5 * np.broadcast_to(level, count)
        surface = np.unique(boundary_triangles(tetrahedra))
        if len(surface) < len(np.unique(tetrahedra)):
            pressure[surface] = 0.0
        return pressure


def cloud_of_points(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points (N, 3) about the origin, about 1 in extent, that are not all in a plane."""
    points = rng.uniform(-1.0, 1.0, (count, 3))
    if kind == "lattice":
        points = np.round(2.0 * points) / 2.0
    if kind == "coplanar":
        points[: count // 2, 2] = 0.25
    if kind == "doubled":
        points[1::4] = points[0::4][: len(points[1::4])]
    corners = 0.9 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1], [0, 0, 0]])
    points = np.vstack([points, corners])
    if kind == "needle":
        points[:, :2] *= 0.02
    if kind == "pancake":
        points[:, 2] *= 0.02
    return points


def outward_hull(points: np.ndarray) -> np.ndarray:
    """Triangles (T, 3) of the convex hull, counter-clockwise from outside."""
    hull = ConvexHull(points)
    corners = points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0.0
    return np.where(inward[:, None], hull.simplices[:, [0, 2, 1]], hull.simplices).astype(np.int64)


def recipes(rigid: bool = False) -> st.SearchStrategy[Recipe]:
    """Recipes of compliant, or rigid, bodies."""
    return st.builds(
        Recipe,
        solid=st.sampled_from(SOLIDS[1:] if rigid else SOLIDS),
        cloud=st.sampled_from(CLOUDS),
        field=st.just("rigid") if rigid else st.sampled_from(FIELDS),
        points=st.integers(1, 16),
        seed=st.integers(0, 10**6),
        size=st.sampled_from([1e-3, 0.1, 1.0, 1e3]),
        away=st.sampled_from([0.0, 1.0, 100.0]),
    )
