"""Mass and inertia of links whose description gives none, from their shapes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hydro_sim_core.description.mass_properties import mass_properties
from hydro_sim_core.description.places import Place
from hydro_sim_core.description.spec import Array, InertialSpec, LinkSpec
from hydro_sim_core.errors import InputError

#: Density of a link whose mass follows from its shapes, kg/m^3: that of water, as robots' links are hollow.
DENSITY = 1e3
#: Mass (kg) and radius (m) of the ball that a link without solid shapes is taken for.
BALL_MASS, BALL_RADIUS = 1e-3, 0.01


def with_inertia(link: LinkSpec, place: Place) -> tuple[LinkSpec, str]:
    """The link with mass and inertia of solid shapes of a density, or of a small ball; and what it became, in words.

    Meshes count as their convex hulls. A mass and a centre of mass that the link has are kept.

    Args:
        link: The link.
        place: Place of its description.
    """
    try:
        volume, p_LCo, unit_inertia = _solids(link, place)
        became = f"{DENSITY:g} kg/m^3 of its shapes"
    except InputError:
        volume, p_LCo, unit_inertia = BALL_MASS / DENSITY, np.zeros(3), 0.4 * BALL_RADIUS**2 * np.eye(3)
        became = f"a ball of {1e3 * BALL_RADIUS:g} mm radius"
    if link.inertial is not None:
        mass, p_LCo, rest = link.inertial.mass, link.inertial.p_LCo, link.inertial.I_LCo
        inertial = InertialSpec(mass, p_LCo, rest + mass * unit_inertia)
        return replace(link, inertial=inertial), f"took the inertia of {mass:g} kg spread over {became}"
    mass = DENSITY * volume
    inertial = InertialSpec(mass, p_LCo, mass * unit_inertia)
    return replace(link, inertial=inertial), f"took {mass:.3g} kg, {became}"


def _solids(link: LinkSpec, place: Place) -> tuple[float, Array, Array]:
    shapes = [
        (replace(one.shape, declare_convex=one.shape.kind == "mesh"), one.X_LG)
        for one in link.collisions or link.visuals
    ]
    if not shapes:
        raise place.error("has no shape", "add one")
    return mass_properties(shapes, place)
