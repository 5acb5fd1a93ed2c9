"""Rigid balls, cylinders and capsules on rigid boxes and half spaces, on which they roll as the exact shapes do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.simulation.assembly.pairs import Collider, Floats, Indices
from hydro_sim_core.simulation.stepping.round_sides import NOT_ROUND


def half_axis(collider: Collider) -> float:
    """Half length of the axis of a round shape, m: 0 of a ball, ``NOT_ROUND`` of others."""
    shape = collider.collision.shape
    if shape.kind == "sphere":
        return 0.0
    return 0.5 * float(shape.size[1]) if shape.kind in ("cylinder", "capsule") else NOT_ROUND


def rolls_on(one: Collider, other: Collider) -> bool:
    """Whether the mesh of ``one`` may be turned about an axis of its shape so that a vertex is towards ``other``."""
    return half_axis(one) != NOT_ROUND and (
        other.geometry.is_half_space or other.collision.shape.kind == "box"
    )


def axes_of_pairs(colliders: Sequence[Collider], pairs: Indices, skinned: NDArray[np.bool_]) -> Floats:
    """Half length (P,) of the axis about which the mesh of A may be turned, see ``Model.pair_axis``.

    Args:
        colliders: Geometries.
        pairs: (P, 2) of them.
        skinned: (P, 2) which sides touch with their skins.
    """
    axes = np.full(len(pairs), NOT_ROUND)
    for row in np.flatnonzero(skinned[:, 1]):
        one, other = (colliders[i] for i in pairs[row])
        if rolls_on(one, other):
            axes[row] = half_axis(one)
    return axes
