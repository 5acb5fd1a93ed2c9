"""Masses of links, of which several may make up one body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.spec import LinkSpec
from hydro_sim_core.dynamics import Assembly, KinematicTree

Array = NDArray[np.float64]


class LinkMasses(NamedTuple):
    """Mass (kg), centre (m) and inertia about it (kg m^2) of every link, in its frame; which gravity does not pull."""

    mass: Array
    p_LCo: Array
    I_LCo: Array
    is_weightless: NDArray[np.bool_]


def masses_of(links: Sequence[LinkSpec]) -> LinkMasses:
    """Masses of links as they are described."""
    inertials = [link.inertial for link in links]
    return LinkMasses(
        mass=np.array([0.0 if one is None else one.mass for one in inertials]),
        p_LCo=np.array([np.zeros(3) if one is None else one.p_LCo for one in inertials]).reshape(-1, 3),
        I_LCo=np.array([np.zeros((3, 3)) if one is None else one.I_LCo for one in inertials]).reshape(
            -1, 3, 3
        ),
        is_weightless=np.array([not link.has_weight for link in links], dtype=bool),
    )


def with_other_bodies(
    masses: LinkMasses, assembly: Assembly, described: KinematicTree, now: KinematicTree
) -> LinkMasses:
    """Masses of links whose bodies have other ones than described.

    The links of a body share its mass as they did, all their centres are shifted as that of the body, and what its
    inertia then lacks is the first link's.

    Args:
        masses: As described.
        assembly: Which links make up each body, and how they stand in it.
        described: Masses of the bodies as described.
        now: As they are.
    """
    mass, p_LCo, I_LCo = masses.mass.copy(), masses.p_LCo.copy(), masses.I_LCo.copy()
    for body in range(len(now.mass)):
        links = np.flatnonzero(assembly.link_body == body)
        before, after = float(described.mass[body]), float(now.mass[body])
        share = after / before if before > 0.0 else 1.0
        shift = now.p_BCo[body] - described.p_BCo[body]
        mass[links] *= share
        I_LCo[links] *= share
        R_BL = assembly.X_BL[links, :3, :3]
        p_LCo[links] += np.einsum("lji,j->li", R_BL, shift)
        first = links[0]
        if before == 0.0:
            mass[first] = after
        I_LCo[first] += R_BL[0].T @ (now.I_BCo[body] - share * described.I_BCo[body]) @ R_BL[0]
    return LinkMasses(mass, p_LCo, I_LCo, masses.is_weightless)
