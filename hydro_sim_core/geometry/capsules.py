"""Capsules, meshed by cones from the caps to the ends of the medial segment and prisms between segment and side."""

from __future__ import annotations

import math

import numpy as np

from hydro_sim_core.arithmetic import sines_cosines
from hydro_sim_core.geometry.checks import DEFAULT_RESOLUTION, element_budget, non_negative, positive
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, IntArray
from hydro_sim_core.geometry.mesh import primitive
from hydro_sim_core.geometry.prisms import cones, ring, split_prisms


def capsule(
    radius: float,
    length: float,
    *,
    resolution: float = DEFAULT_RESOLUTION,
    modulus: float | None = None,
    margin: float = 0.0,
) -> Geometry:
    """Make a capsule about the z axis centred at the origin, with pressure E on its medial segment.

    Args:
        radius: R, m.
        length: L, m: length of the segment, without the caps.
        resolution: Target edge length around the caps, m; the side is not split along z.
        modulus: Hydroelastic modulus E, Pa; None makes the rigid surface.
        margin: Distance of a compliant mesh's surface outside the capsule, m.

    Raises:
        InputError: A length or the modulus is not positive and finite, or the resolution is absurdly fine.
    """
    source = "capsule"
    radius, length = positive(source, "radius", radius), positive(source, "length", length)
    resolution = positive(source, "resolution", resolution)
    margin = 0.0 if modulus is None else non_negative(source, "margin", margin)
    modulus = None if modulus is None else positive(source, "modulus", modulus)
    sides = max(3.0, float(np.floor(2.0 * math.pi * (radius + margin) / resolution)))
    element_budget(source, resolution, 2.0 * sides * (sides + 1.0))

    medial = np.array([[0.0, 0.0, length / 2.0], [0.0, 0.0, -length / 2.0]])
    surface = _surface_points(radius + margin, length / 2.0, int(sides))
    unit_pressure = np.r_[1.0, 1.0, np.full(len(surface), 0.0 - margin / radius)]
    return primitive(
        np.vstack([medial, surface]), _tetrahedra(int(sides)), unit_pressure, modulus=modulus, margin=margin
    )


def _surface_points(radius: float, half_length: float, sides: int) -> FloatArray:
    """The two poles, then the rings from top to bottom: sides // 2 per cap, including its equator."""
    latitudes = sides // 2
    angles = 0.5 * math.pi * np.arange(latitudes) / latitudes
    sines, cosines = sines_cosines(angles)
    heights = half_length + radius * sines
    upper = [ring(radius * cosine, z, sides) for cosine, z in zip(cosines, heights, strict=True)]
    lower = [points * [1.0, 1.0, -1.0] for points in upper]
    pole = half_length + radius
    return np.vstack([[[0.0, 0.0, pole], [0.0, 0.0, -pole]], *upper[::-1], *lower])


def _tetrahedra(sides: int) -> IntArray:
    """Tetrahedra on these vertices: medial top 0 and bottom 1, pole top 2 and bottom 3, rings from the top."""
    latitudes = sides // 2
    here = 4 + np.arange(2 * latitudes * sides).reshape(-1, sides)
    after = np.roll(here, -1, axis=1)
    poles = [
        cones(np.array([0]), np.array([2]), here[0], after[0]),
        cones(np.array([1]), np.array([3]), here[-1], after[-1]),
    ]

    side = latitudes - 1
    band = np.delete(np.arange(2 * latitudes - 1), side)  # between rings i and i + 1 of one cap
    apex = (band > side).astype(np.int64)[:, None]
    upper, upper_after, lower, lower_after = here[band], after[band], here[band + 1], after[band + 1]
    bands = [cones(apex, upper, lower, lower_after), cones(apex, upper, lower_after, upper_after)]

    prisms = split_prisms(
        (np.array([0]), here[side], after[side]), (np.array([1]), here[side + 1], after[side + 1])
    )
    return np.vstack([*poles, *bands, prisms])
