"""Masses of links, of which several may make up one body, and what changes their momenta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.arithmetic import cross
from hydro_sim_core.description.spec import LinkSpec
from hydro_sim_core.dynamics import Assembly, KinematicTree

Array = NDArray[np.float64]


class LinkMasses(NamedTuple):
    """Masses of all links, each in its frame, with the worlds along the leading axes, if there are several.

    Attributes:
        mass: (..., links) kg.
        p_LCo: (..., links, 3) centre of mass, m.
        I_LCo: (..., links, 3, 3) inertia about it, kg m^2.
        lifted: (links, 4) mass whose weight is taken off each, kg, and its first moment, kg m: that of the scene's
            description, as the steps have it, whatever mass a batch gives.
    """

    mass: Any
    p_LCo: Any
    I_LCo: Any
    lifted: Array


def masses_of(links: Sequence[LinkSpec]) -> LinkMasses:
    """Masses of links as they are described."""
    inertials = [link.inertial for link in links]
    mass = np.array([0.0 if one is None else one.mass for one in inertials])
    p_LCo = np.array([np.zeros(3) if one is None else one.p_LCo for one in inertials]).reshape(-1, 3)
    falls = np.array([link.has_weight for link in links], dtype=bool)
    lifted = np.where(falls, 0.0, mass)[:, None]
    return LinkMasses(
        mass=mass,
        p_LCo=p_LCo,
        I_LCo=np.array([np.zeros((3, 3)) if one is None else one.I_LCo for one in inertials]).reshape(
            -1, 3, 3
        ),
        lifted=np.hstack([lifted, lifted * p_LCo]),
    )


def with_other_bodies(
    numpy: Any,
    masses: LinkMasses,
    assembly: Assembly,
    described: KinematicTree,
    now: tuple[Any, Any, Any],
) -> LinkMasses:
    """Masses of links whose bodies have other ones than described.

    The links of a body share its mass as they did, all their centres are shifted as that of the body, and what its
    inertia then lacks is the first link's.

    Args:
        numpy: What made the arrays of the masses now: NumPy, or CuPy.
        masses: As described, of one world.
        assembly: Which links make up each body, and how they stand in it.
        described: Masses of the bodies as described.
        now: Masses (..., nb), centres (..., nb, 3) and inertias (..., nb, 3, 3) of the bodies as they are.
    """
    mass_now, p_BCo, I_BCo = now
    worlds = mass_now.shape[:-1]

    def of_all(values: Array) -> Any:
        return numpy.broadcast_to(numpy.asarray(values), (*worlds, *values.shape)).copy()

    mass, p_LCo, I_LCo = of_all(masses.mass), of_all(masses.p_LCo), of_all(masses.I_LCo)
    for body, before in enumerate(described.mass.tolist()):
        links = np.flatnonzero(assembly.link_body == body)
        first, R_BL = links[0], numpy.asarray(assembly.X_BL[links, :3, :3])
        share = mass_now[..., body] / before if before > 0.0 else numpy.ones(worlds)
        shift = p_BCo[..., body, :] - numpy.asarray(described.p_BCo[body])
        mass[..., links] *= share[..., None]
        I_LCo[..., links, :, :] *= share[..., None, None, None]
        p_LCo[..., links, :] += (shift[..., None, None, :] @ R_BL)[..., 0, :]
        if before == 0.0:
            mass[..., first] = mass_now[..., body]
        lacks = I_BCo[..., body, :, :] - share[..., None, None] * numpy.asarray(described.I_BCo[body])
        I_LCo[..., first, :, :] += R_BL[0].T @ lacks @ R_BL[0]
    return LinkMasses(mass, p_LCo, I_LCo, masses.lifted)


def momentum_rates(numpy: Any, masses: LinkMasses, gravity: Array, X_WL: Any, V_WL: Any, A_WL: Any) -> Any:
    """Rates of change (..., links, 6) of links' momenta relative to free fall, moments about the world's origin.

    Args:
        numpy: What made the arrays: NumPy, or CuPy.
        masses: Of the links.
        gravity: (3,) m/s^2.
        X_WL: (..., links, 4, 4) poses.
        V_WL: (..., links, 6) twists about the world's origin.
        A_WL: (..., links, 6) accelerations about it, relative to free fall.
    """
    R_WL, w, turn, moves = X_WL[..., :3, :3], V_WL[..., :3], A_WL[..., :3], A_WL[..., 3:]
    p_WCo = X_WL[..., :3, 3] + _turned(R_WL, masses.p_LCo)
    velocity = V_WL[..., 3:] + cross(w, p_WCo)
    force = masses.mass[..., None] * (moves + cross(turn, p_WCo) + cross(w, velocity))
    inertia = R_WL @ masses.I_LCo @ R_WL.swapaxes(-1, -2)
    moment = _turned(inertia, turn) + cross(w, _turned(inertia, w)) + cross(p_WCo, force)
    # What gravity does not pull does not fall, so that only its acceleration in the world takes a force.
    lifted, g = numpy.asarray(masses.lifted), numpy.asarray(gravity)
    first_moment = lifted[:, :1] * X_WL[..., :3, 3] + _turned(R_WL, lifted[:, 1:])
    moment, force = moment + cross(first_moment, g), force + lifted[:, :1] * g
    return numpy.concatenate([moment, force], axis=-1)


def _turned(R: Any, p: Any) -> Any:
    """Products (..., 3) of matrices and vectors."""
    return (R @ p[..., None])[..., 0]
