"""Pairs of rigid bodies: which of the two gets a skin, and the skins."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.pressure_field.query import canonical_order
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import Geometry, GeometryKind
from hydro_sim_core.geometry.margins import MarginRule
from hydro_sim_core.geometry.skins import mean_side, rigid_skin
from hydro_sim_core.progress import working
from hydro_sim_core.simulation.assembly.pairs import Collider, Indices
from hydro_sim_core.simulation.assembly.round_pairs import rolls_on

logger = logging.getLogger(__name__)

#: Share of the thinner body from which a depth under its weight is told, and most pairs that are named.
_MOST_SUNK, _MOST_NAMED = 0.25, 5

#: What a geometry of each kind is with a skin.
_WITH_SKIN = {
    GeometryKind.RIGID_MESH: GeometryKind.COMPLIANT_MESH,
    GeometryKind.RIGID_HALF_SPACE: GeometryKind.COMPLIANT_HALF_SPACE,
}


def add_skins(
    colliders: Sequence[Collider], pairs: Indices, margin_rule: MarginRule
) -> tuple[list[Collider], Indices, Indices]:
    """Give one side of every rigid pair a skin.

    The side with the smaller ``point_stiffness`` gets it. If both have the same or none, what is round keeps its
    surface on what is flat (``round_pairs``). Else, of two that have the same the one whose box has the smaller sides,
    and of two without a half space before a simple shape before a mesh, and the one with fewer triangles. The stiffness
    is that of a flat as large as the mean side of its box, or of the largest body on the skin if that is smaller: a box
    sinks alike into tables of all sizes.

    Args:
        colliders: Collision geometries.
        pairs: (R, 2) pairs of rigid ones.
        margin_rule: Rule for margins that are not given.

    Returns:
        The colliders, some with skins; the pairs (R, 2) in the query's canonical order; and the side (R,) of each
        pair that touches with its skin, 0 or 1.

    Raises:
        InputError: A mesh is too poor for a skin.
    """
    ranks = {int(i): _rank(colliders[i]) for i in np.unique(pairs)}
    ordered, sides = [], []
    skinned: dict[int, float] = {}
    area = {i: mean_side(colliders[i].geometry) for i in ranks}
    for a, b in pairs.tolist():
        soft, hard = (a, b) if _has_skin(colliders, ranks, a, b) else (b, a)
        skinned[soft] = max(skinned.get(soft, 0.0), min(area[soft], area[hard]))
        is_first = canonical_order(_WITH_SKIN[colliders[soft].geometry.kind], colliders[hard].geometry.kind)
        ordered.append((soft, hard) if is_first else (hard, soft))
        sides.append(0 if is_first else 1)
    made: dict[tuple[Geometry, float], Geometry] = {}
    result = list(colliders)
    with working("making skins", len(skinned)) as parts:
        for i in sorted(skinned):
            collider = colliders[i]
            parts.begin(f"{collider.link}, {collider.name}")
            # Where no stiffness is given the area does not count, and equal bodies share one skin.
            key = collider.geometry, 0.0 if collider.proximity.point_stiffness is None else skinned[i]
            if key not in made:
                made[key] = collider.skin or _skin(collider, margin_rule, skinned[i])
            result[i] = replace(collider, skin=made[key])
    return result, np.array(ordered, dtype=np.int64).reshape(-1, 2), np.array(sides, dtype=np.int64)


def _skin(collider: Collider, margin_rule: MarginRule, area: float) -> Geometry:
    """The skin of a rigid collider; ``area`` as in ``rigid_skin``."""
    shape = collider.collision.shape
    try:
        return rigid_skin(collider.geometry, shape, collider.proximity, margin_rule, area)
    except InputError as error:
        file = "" if shape.path is None else f"{shape.path}: "
        raise InputError(
            collider.collision.source,
            collider.collision.element,
            f"{file}{error.problem}",
            error.mend,
        ) from None


def _has_skin(colliders: Sequence[Collider], ranks: Mapping[int, tuple[Any, ...]], a: int, b: int) -> bool:
    """Whether of two rigid colliders it is the first that gets a skin."""
    is_alike = ranks[a][0] == ranks[b][0]
    if is_alike and rolls_on(colliders[b], colliders[a]):
        return True
    return ranks[a] <= ranks[b] and not (is_alike and rolls_on(colliders[a], colliders[b]))


def _rank(collider: Collider) -> tuple[float, float, bool, bool, int]:
    geometry, stiffness = collider.geometry, collider.proximity.point_stiffness
    is_mesh = collider.collision.shape.kind == "mesh"
    return (
        math.inf if stiffness is None else stiffness,
        0.0 if stiffness is None else mean_side(geometry),
        not geometry.is_half_space,
        is_mesh,
        len(geometry.elements),
    )


def warn_of_soft_pairs(
    colliders: Sequence[Collider],
    pairs: Indices,
    skinned: NDArray[np.bool_],
    masses: ArrayLike,
    gravity: ArrayLike,
    source: Path,
) -> None:
    """Warn of rigid pairs so soft that a body's weight alone presses it far into the other, or through.

    Args:
        colliders: Collision geometries.
        pairs: (P, 2) of them that may touch.
        skinned: (P, 2) which sides touch with their skins.
        masses: (bodies,) kg.
        gravity: (3,) m/s^2.
        source: Scene file, for the message.
    """
    told: dict[tuple[str, str], str] = {}
    for row in np.flatnonzero(skinned.any(axis=1)):
        sides = [colliders[i] for i in pairs[row]]
        soft = sides[int(skinned[row, 1])]
        if soft.proximity.point_stiffness is None or soft.skin is None:
            continue
        mass = min(float(np.asarray(masses)[one.body]) for one in sides if one.body >= 0)
        area = min(mean_side(one.geometry) for one in sides)
        sink = mass * float(np.linalg.norm(gravity)) / (soft.skin.steepest_slope * area)
        thin = min(
            float(np.ptp(one.geometry.vertices, axis=0).min())
            for one in sides
            if not one.geometry.is_half_space
        )
        if sink > _MOST_SUNK * thin:
            told.setdefault((sides[0].link, sides[1].link), f"{1e3 * sink:.3g} mm of {1e3 * thin:.3g} mm")
    if told:
        listing = [f"'{a}' and '{b}' by {depth}" for (a, b), depth in list(told.items())[:_MOST_NAMED]]
        more = [f"{len(told) - _MOST_NAMED} more pairs"] if len(told) > _MOST_NAMED else []
        logger.warning(
            "%s: point_stiffness is so small that weight alone presses bodies deep into each other, or through: %s; "
            "give more, or leave it out",
            source,
            "; ".join(listing + more),
        )
