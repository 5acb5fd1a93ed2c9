"""Cylinders, meshed by prisms and cones between the rings of the two ends and the medial axis."""

from __future__ import annotations

import math

import numpy as np

from hydro_sim_core.geometry.checks import DEFAULT_RESOLUTION, element_budget, non_negative, positive
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, IntArray
from hydro_sim_core.geometry.mesh import MEDIAL_TOLERANCE, primitive
from hydro_sim_core.geometry.prisms import cones, ring, split_prisms


def cylinder(
    radius: float,
    length: float,
    *,
    resolution: float = DEFAULT_RESOLUTION,
    modulus: float | None = None,
    margin: float = 0.0,
) -> Geometry:
    """Make a cylinder about the z axis centred at the origin, with pressure ``E depth / min(R, L / 2)``.

    Args:
        radius: R, m.
        length: L, m.
        resolution: Target edge length around the ends, m; the side is not split along z.
        modulus: Hydroelastic modulus E, Pa; None makes the rigid surface.
        margin: Distance of side and ends of a compliant mesh outside the cylinder, m.

    Raises:
        InputError: A length or the modulus is not positive and finite, or the resolution is absurdly fine.
    """
    source = "cylinder"
    radius, length = positive(source, "radius", radius), positive(source, "length", length)
    resolution = positive(source, "resolution", resolution)
    margin = 0.0 if modulus is None else non_negative(source, "margin", margin)
    modulus = None if modulus is None else positive(source, "modulus", modulus)
    sides = max(3.0, float(np.ceil(2.0 * math.pi * (radius + margin) / resolution)))
    element_budget(source, resolution, 9.0 * sides)

    medial, medial_tetrahedra = _medial_mesh(radius, length / 2.0, int(sides))
    surface = _surface_points(radius + margin, length / 2.0 + margin, int(sides))
    unit_pressure = np.r_[
        np.full(len(surface), 0.0 - margin / min(radius, length / 2.0)), np.ones(len(medial))
    ]
    return primitive(
        np.vstack([surface, medial]), medial_tetrahedra, unit_pressure, modulus=modulus, margin=margin
    )


def _surface_points(radius: float, half_length: float, sides: int) -> FloatArray:
    """Surface points: centres of the lower and the upper end, then their rings."""
    ends = [[0.0, 0.0, -half_length], [0.0, 0.0, half_length]]
    return np.vstack([ends, ring(radius, -half_length, sides), ring(radius, half_length, sides)])


def _medial_mesh(radius: float, half_length: float, sides: int) -> tuple[FloatArray, IntArray]:
    """Medial vertices, and tetrahedra between them and the surface points, which come first in the numbering."""
    here = np.arange(sides)
    after = np.roll(here, -1)
    bottom, top = np.array([0]), np.array([1])
    low, low_after = here + 2, after + 2
    high, high_after = low + sides, low_after + sides
    first = np.array([2 + 2 * sides])

    excess = half_length - radius
    if abs(excess) <= MEDIAL_TOLERANCE * radius:
        medial = np.zeros((1, 3))
        sides_of_mantle = [cones(first, low, high, low_after), cones(first, high, high_after, low_after)]
        ends = [cones(first, bottom, low, low_after), cones(first, top, high_after, high)]
        return medial, np.vstack([*ends, *sides_of_mantle])
    if excess > 0.0:
        medial = np.array([[0.0, 0.0, -excess], [0.0, 0.0, excess]])
        below, above = first, first + 1
        ends = [cones(below, bottom, low, low_after), cones(above, top, high_after, high)]
        return medial, np.vstack([*ends, split_prisms((above, high, high_after), (below, low, low_after))])
    medial = np.vstack([np.zeros(3), ring(-excess, 0.0, sides)])
    inner, inner_after = first + 1 + here, first + 1 + after
    return medial, np.vstack(
        [
            split_prisms((top, high, high_after), (first, inner, inner_after)),
            split_prisms((first, inner, inner_after), (bottom, low, low_after)),
            split_prisms((low_after, inner_after, high_after), (low, inner, high)),
        ]
    )
