"""Rigid round bodies on convex ones: they roll as the exact shapes do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.dynamics import frozen
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.geometry.shapes import is_convex
from hydro_sim_core.simulation.assembly.pairs import Collider, Indices
from hydro_sim_core.simulation.stepping.shortest_ways import CONVEX_MESH, NOT_ROUND, RADIUS_OF_CORE

#: Kinds of round shapes, those with the roundest ends first.
_ROUND = ("sphere", "capsule", "cylinder")


def half_axis(collider: Collider) -> float:
    """Half length of the axis of a round shape, m: 0 of a ball, ``NOT_ROUND`` of others."""
    shape = collider.collision.shape
    if shape.kind == "sphere":
        return 0.0
    return 0.5 * float(shape.size[1]) if shape.kind in ("cylinder", "capsule") else NOT_ROUND


@lru_cache(maxsize=256)
def _is_convex(geometry: Geometry) -> bool:
    return is_convex(geometry.vertices, geometry.elements)


def rolls_on(one: Collider, other: Collider) -> bool:
    """Whether the mesh of ``one`` may be turned about an axis of its shape so that a vertex is towards ``other``.

    The other is convex, so that one shortest way leads there. Of two round bodies it is the one with the rounder ends:
    the shortest way from its axis is that of the bodies. Two cylinders have none such, and keep their facets.
    """
    kind, beside = one.collision.shape.kind, other.collision.shape.kind
    if kind not in _ROUND:
        return False
    if beside in _ROUND:
        return kind != "cylinder" and _ROUND.index(kind) <= _ROUND.index(beside)
    return other.geometry.is_half_space or beside == "box" or _is_convex(other.geometry)


def round_sides_of_pairs(
    colliders: Sequence[Collider], pairs: Indices, skinned: NDArray[np.bool_]
) -> dict[str, Any]:
    """What of pairs is round: ``pair_axis``, ``pair_core`` and ``pair_touch`` of a ``Model``, by name.

    Args:
        colliders: Geometries.
        pairs: (P, 2) of them.
        skinned: (P, 2) which sides touch with their skins.
    """
    axes, cores = np.full(len(pairs), NOT_ROUND), np.full((len(pairs), 2), NOT_ROUND)
    touch = np.zeros(len(pairs))
    for row in np.flatnonzero(skinned[:, 1]):
        one, other = (colliders[i] for i in pairs[row])
        if not rolls_on(one, other):
            continue
        shape = other.collision.shape
        axes[row], touch[row] = half_axis(one), float(one.collision.shape.size[0])
        if shape.kind == "cylinder":
            cores[row] = half_axis(other), float(shape.size[0])
        elif half_axis(other) != NOT_ROUND:
            cores[row] = half_axis(other), 0.0
            touch[row] += float(shape.size[0])
        elif not other.geometry.is_half_space and shape.kind != "box":
            cores[row, RADIUS_OF_CORE] = CONVEX_MESH
    return {
        "pair_axis": frozen(axes),
        "pair_core": frozen(cores, shape=(-1, 2)),
        "pair_touch": frozen(touch),
    }
