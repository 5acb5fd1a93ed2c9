"""Spheres and ellipsoids, meshed by a triangulated surface with every triangle coned to the centre."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hydro_sim_core.geometry.checks import (
    DEFAULT_RESOLUTION,
    element_budget,
    lengths,
    non_negative,
    positive,
)
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, IntArray
from hydro_sim_core.geometry.mesh import primitive
from hydro_sim_core.geometry.simplices import sorted_rows

_OCTAHEDRON = np.array(
    [[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=np.float64
)
_OCTAHEDRON_TRIANGLES = np.array(
    [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4], [1, 0, 5], [2, 1, 5], [3, 2, 5], [0, 3, 5]]
)


def sphere(
    radius: float,
    *,
    resolution: float = DEFAULT_RESOLUTION,
    modulus: float | None = None,
    margin: float = 0.0,
) -> Geometry:
    """Make a sphere centred at the origin, with pressure ``E (1 - r / R)`` at its vertices.

    Args:
        radius: R, m.
        resolution: Target edge length, m; every edge is at most about this long, and the surface is an evenly split
            octahedron.
        modulus: Hydroelastic modulus E, Pa; None makes the rigid surface.
        margin: Distance of a compliant mesh's surface outside the sphere, m.

    Raises:
        InputError: A length or the modulus is not positive and finite, or the resolution is absurdly fine.
    """
    radius = positive("sphere", "radius", radius)
    return _ellipsoid("sphere", np.full(3, radius), resolution, modulus, margin)


def ellipsoid(
    *semi_axes: Any,
    resolution: float = DEFAULT_RESOLUTION,
    modulus: float | None = None,
    margin: float = 0.0,
) -> Geometry:
    """Make an ellipsoid centred at the origin with semi-axes along x, y and z.

    The pressure at a vertex is ``E (1 - |(x/a, y/b, z/c)|)``. The margin is added to the semi-axes.

    Args:
        *semi_axes: a, b, c, m: three numbers or one sequence of them.
        resolution: Target length of the longest edges, m.
        modulus: Hydroelastic modulus E, Pa; None makes the rigid surface.
        margin: Distance of a compliant mesh's surface outside the ellipsoid along its axes, m.

    Raises:
        InputError: A length or the modulus is not positive and finite, or the resolution is absurdly fine.
    """
    return _ellipsoid("ellipsoid", lengths("ellipsoid", semi_axes), resolution, modulus, margin)


def _ellipsoid(
    source: str, semi_axes: FloatArray, resolution: float, modulus: float | None, margin: float
) -> Geometry:
    resolution = positive(source, "resolution", resolution)
    margin = 0.0 if modulus is None else non_negative(source, "margin", margin)
    modulus = None if modulus is None else positive(source, "modulus", modulus)
    grown = semi_axes + margin
    level = _split_level(resolution / grown.max())
    element_budget(source, resolution, 8.0 * 4.0**level)

    directions, triangles = _unit_sphere(level)
    vertices = np.vstack([np.zeros(3), directions * grown])
    tetrahedra = np.column_stack([np.zeros(len(triangles), dtype=np.int64), triangles + 1])
    unit_pressure = 1.0 - np.linalg.norm(vertices / semi_axes, axis=1)
    unit_pressure[1:] = np.minimum(unit_pressure[1:], 0.0) if margin > 0.0 else 0.0  # no positive round-off
    return primitive(vertices, tetrahedra, unit_pressure, modulus=modulus, margin=margin)


def _split_level(edge: float) -> int:
    """Number of splits of the unit octahedron after which a great circle has edges of at most ``edge``."""
    edge = min(max(edge, 1e-100), 2.0)  # the element budget refuses edges far longer than this
    edges_around = math.pi / math.asin(edge / 2.0)
    return max(0, math.ceil(math.log2(edges_around)) - 2)


def _unit_sphere(level: int) -> tuple[FloatArray, IntArray]:
    """Vertices and outward triangles of an octahedron whose triangles are split in four ``level`` times."""
    vertices, triangles = _OCTAHEDRON, _OCTAHEDRON_TRIANGLES
    for _ in range(level):
        vertices, triangles = _split_in_four(vertices, triangles)
        vertices = vertices / np.linalg.norm(vertices, axis=1, keepdims=True)
    return vertices, triangles


def _split_in_four(vertices: FloatArray, triangles: IntArray) -> tuple[FloatArray, IntArray]:
    """Split every triangle in four at the midpoints of its edges, which neighbours share."""
    edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    order, starts, counts = sorted_rows(edges)
    midpoints = vertices[edges[order[starts]]].mean(axis=1)
    midpoint_of_edge = np.empty(len(edges), dtype=np.int64)
    midpoint_of_edge[order] = len(vertices) + np.repeat(np.arange(len(starts)), counts)

    a, b, c = triangles.T
    ab, bc, ca = midpoint_of_edge.reshape(-1, 3).T
    split = np.stack([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]])
    return np.vstack([vertices, midpoints]), split.transpose(2, 0, 1).reshape(-1, 3)
