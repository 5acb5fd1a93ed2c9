"""Meshes of non-primitive shapes: a solid with six lobes and a bowl."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from hydro_sim_core.geometry import Geometry, pressurised, rigid_mesh, sphere
from hydro_sim_core.geometry.geometry import FloatArray, IntArray
from hydro_sim_core.geometry.mesh import oriented
from hydro_sim_core.geometry.prisms import cones, split_prisms

#: Reduction of the radius between the lobes, as a share of that at their tips.
WAIST = 0.45


def lobed_solid(radius: float, level: int, layers: int, modulus: float) -> Geometry:
    """A star-shaped, non-convex solid with a lobe along every half axis, several tetrahedra deep.

    The pressure is proportional to the distance to the surface, as Drake makes it for tetrahedral meshes.

    Args:
        radius: Distance of the lobes' tips from the centre, m.
        level: Number of times that the eight triangles of an octahedron are split in four.
        layers: Number of tetrahedra between the surface and the centre.
        modulus: Hydroelastic modulus, Pa.

    Returns:
        Geometry of ``8 4^level (3 layers - 2)`` tetrahedra.
    """
    directions, triangles = unit_sphere(level)
    # The sum of fourth powers is 1 on the axes and 1/3 on the diagonals of the octants.
    lobe = 1.5 * (np.sum(directions**4, axis=1) - 1.0 / 3.0)
    shell = radius * (1.0 - WAIST * (1.0 - lobe))[:, None] * directions
    depths = np.arange(1, layers + 1) / layers
    vertices = np.vstack([np.zeros((1, 3)), *(depth * shell for depth in depths)])

    # Neighbouring prisms agree on the diagonal of their common face because each chooses it by vertex number.
    low = 1 + np.sort(triangles, axis=1)
    core = cones(np.array([0]), *low.T)
    rings = [low + ring * len(shell) for ring in range(layers)]
    prisms = [split_prisms(tuple(outer.T), tuple(inner.T)) for inner, outer in pairwise(rings)]
    tetrahedra = oriented("lobed solid", vertices, np.vstack([core, *prisms]))
    return pressurised(vertices, tetrahedra, modulus=modulus, field="distance")


def unit_sphere(level: int) -> tuple[FloatArray, IntArray]:
    """Directions (N, 3) and outward triangles (8 4^level, 3) of an octahedron split ``level`` times."""
    edge = 2.0 * math.sin(math.pi / 2.0 ** (level + 2))
    surface = sphere(1.0, resolution=1.001 * edge)
    return surface.vertices, surface.elements


def bowl(radius: float, wall: float, opening: float, divisions: int) -> Geometry:
    """A rigid spherical bowl, open towards +z, its inner surface centred at the origin.

    Args:
        radius: Radius of the inner surface, m.
        wall: Wall thickness, m.
        opening: Angle between the axis and the rim, seen from the centre, rad.
        divisions: Squares along each side of the grids that are mapped to the inner and to the outer surface.

    Returns:
        Closed surface of ``4 divisions^2 + 8 divisions`` triangles.
    """
    side = np.linspace(-1.0, 1.0, divisions + 1)
    u, v = (grid.ravel() for grid in np.meshgrid(side, side, indexing="ij"))
    # Mapping the square to a disc of evenly sized cells avoids the slivers around a pole.
    x, y = u * np.sqrt(1.0 - v**2 / 2.0), v * np.sqrt(1.0 - u**2 / 2.0)
    from_axis = opening * np.hypot(x, y)
    around = np.arctan2(y, x)
    directions = np.column_stack(
        [np.sin(from_axis) * np.cos(around), np.sin(from_axis) * np.sin(around), -np.cos(from_axis)]
    )
    number = np.arange(len(u)).reshape(divisions + 1, divisions + 1)
    a, b, c, d = (
        corner.ravel() for corner in (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:])
    )
    inner = np.vstack([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    outer = inner[:, ::-1] + len(u)
    rim = np.concatenate([number[:-1, 0], number[-1, :-1], number[:0:-1, -1], number[0, :0:-1]])
    after = np.roll(rim, -1)
    edge = np.vstack(
        [np.column_stack([rim, rim + len(u), after]), np.column_stack([after, rim + len(u), after + len(u)])]
    )
    vertices = np.vstack([radius * directions, (radius + wall) * directions])
    return rigid_mesh(vertices, np.vstack([inner, outer, edge]))
