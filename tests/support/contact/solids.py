"""Solids of the contact tests: not convex, of several parts, with fields that have several peaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import hydro_sim_core as hs
from hydro_sim_core.geometry import Geometry
from support.geometry.grids import cube_grid

Surface = tuple[np.ndarray, np.ndarray]
Field = Callable[[np.ndarray], np.ndarray]


def ball_surface(radius: float, resolution: float, shape: Field | None = None) -> Surface:
    """Vertices and triangles of a ball, or of the star ``radius * shape(directions)``."""
    ball = hs.geometry.sphere(1.0, resolution=resolution / radius)
    scale = np.ones(len(ball.vertices)) if shape is None else shape(ball.vertices)
    return radius * scale[:, None] * ball.vertices, np.array(ball.elements)


def lobes(directions: np.ndarray) -> np.ndarray:
    """Radius of a solid with six lobes of unlike length and a waist between each two."""
    x, y, z = directions.T
    return 1.0 + 0.35 * (x**4 + y**4 + z**4 - 0.6) / 0.4 + 0.1 * x + 0.05 * y * z


def layered(surface: Surface, profile: Sequence[float], modulus: float = 1e5) -> Geometry:
    """Star-shaped solid of shells around the origin with pressure ``modulus * profile`` from surface to centre.

    Args:
        surface: Vertices and triangles, seen whole from the origin.
        profile: Relative pressure on the surface, between every two shells and at the centre, at even steps.
        modulus: Pa.
    """
    outer, triangles = surface
    count, shells = len(outer), len(profile) - 1
    fractions = 1.0 - np.arange(shells) / shells
    vertices = np.vstack([*(fraction * outer for fraction in fractions), np.zeros(3)])
    pressure = modulus * np.r_[np.repeat(profile[:-1], count), profile[-1]]
    # Prisms cut along the diagonals by vertex number fit together.
    high = np.sort(triangles, axis=1)
    parts = [np.column_stack([high + (shells - 1) * count, np.full(len(high), shells * count)])]
    for shell in range(shells - 1):
        top, bottom = high + shell * count, high + (shell + 1) * count
        parts += [np.column_stack([bottom[:, : i + 1], top[:, i:]]) for i in range(3)]
    return hs.geometry.compliant_mesh(vertices, np.vstack(parts), pressure, modulus=modulus)


def grid(size: float, cells: int, pressure: Field) -> Geometry:
    """Cube of small cubes of six tetrahedra each; ``pressure`` of positions (N, 3), m, in Pa."""
    vertices, tetrahedra = cube_grid(cells)
    return hs.geometry.compliant_mesh(size * vertices, tetrahedra, pressure(size * vertices))


def depth_field(size: float, modulus: float) -> Field:
    """Pressure of a cube that grows with depth, from below zero on its surface.

    It grows a little towards one corner too, so that it is flat nowhere, not even where a tetrahedron has all its
    vertices on the surface.
    """
    return lambda x: modulus * (0.9 - 2.0 * np.abs(x).max(axis=1) / size) * (1.0 + x @ [0.3, 0.2, 0.1] / size)


def bumpy_field(size: float, modulus: float, seed: int) -> Field:
    """Pressure of a cube times a random factor at every vertex: peaks and hollows all over."""
    smooth, rng = depth_field(size, modulus), np.random.default_rng(seed)
    return lambda x: smooth(x) * rng.uniform(0.2, 2.0, len(x))


def split_field(size: float, modulus: float) -> Field:
    """Pressure of a cube that is zero on its middle plane too, in the interior."""
    smooth = depth_field(size, modulus)
    return lambda x: smooth(x) * 2.0 * np.abs(x[:, 0]) / size


def together(parts: Sequence[Geometry], places: Sequence[Sequence[float]]) -> Geometry:
    """One geometry of several separate bodies, all compliant or all rigid."""
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    vertices = np.vstack([part.vertices + place for part, place in zip(parts, places, strict=True)])
    elements = np.vstack([part.elements + start for part, start in zip(parts, starts, strict=False)])
    if parts[0].is_rigid:
        return hs.geometry.rigid_mesh(vertices, elements)
    return hs.geometry.compliant_mesh(vertices, elements, np.concatenate([part.pressure for part in parts]))


def rigid_shell(outer: Surface, inner: Surface) -> Geometry:
    """Solid between two closed surfaces: the inner one bounds a hole."""
    vertices = np.vstack([outer[0], inner[0]])
    return hs.geometry.rigid_mesh(vertices, np.vstack([outer[1], inner[1][:, ::-1] + len(outer[0])]))


def compliant_shell(surface: Surface, thickness: float, modulus: float = 1e5) -> Geometry:
    """Hollow star: the inner wall is the outer one shrunk by a factor; the pressure peaks halfway."""
    outer, triangles = surface
    count = len(outer)
    shrink = np.array([1.0, 1.0 - 0.5 * thickness, 1.0 - thickness])
    vertices = np.vstack([factor * outer for factor in shrink])
    high = np.sort(triangles, axis=1)
    parts = []
    for shell in range(2):
        top, bottom = high + shell * count, high + (shell + 1) * count
        parts += [np.column_stack([bottom[:, : i + 1], top[:, i:]]) for i in range(3)]
    pressure = modulus * np.repeat([0.0, 1.0, 0.0], count)
    return hs.geometry.compliant_mesh(vertices, np.vstack(parts), pressure)


def mirrored(geometry: Geometry) -> Geometry:
    """The compliant geometry seen in the plane x = 0, vertex by vertex."""
    tetrahedra = geometry.elements[:, [0, 1, 3, 2]]
    return hs.geometry.compliant_mesh(
        geometry.vertices * [-1.0, 1.0, 1.0], tetrahedra, geometry.pressure, margin=geometry.margin
    )


def inner_radius(geometry: Geometry) -> float:
    """Distance from the origin, inside a star-shaped body, to the nearest of the planes of its surface, m."""
    a, b, c = (geometry.vertices[geometry.surface_triangles()[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    return float(np.min(np.einsum("ij,ij->i", normals, a) / np.linalg.norm(normals, axis=1)))


def outer_radius(geometry: Geometry) -> float:
    """Largest distance of a vertex from the origin, m."""
    return float(np.linalg.norm(geometry.vertices, axis=1).max())
