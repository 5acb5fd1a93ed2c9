"""Pairs of rigid bodies: which of the two gets a skin, and the skins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hydro_sim_core.contact.pressure_field.query import canonical_order
from hydro_sim_core.geometry import Geometry, GeometryKind
from hydro_sim_core.geometry.margins import MarginRule
from hydro_sim_core.geometry.skins import rigid_skin, skin_slope
from hydro_sim_core.progress import working
from hydro_sim_core.simulation.assembly.pairs import Collider, Indices

#: What a geometry of each kind is with a skin.
_WITH_SKIN = {
    GeometryKind.RIGID_MESH: GeometryKind.COMPLIANT_MESH,
    GeometryKind.RIGID_HALF_SPACE: GeometryKind.COMPLIANT_HALF_SPACE,
}


def add_skins(
    colliders: Sequence[Collider], pairs: Indices, margin_rule: MarginRule
) -> tuple[list[Collider], Indices, Indices]:
    """Give one side of every rigid pair a skin.

    The softer side gets it; of two that are alike a half space before a simple shape before a mesh, and the one with
    fewer triangles.

    Args:
        colliders: Collision geometries.
        pairs: (R, 2) pairs of rigid ones.
        margin_rule: Rule for margins that are not given.

    Returns:
        The colliders, some with skins; the pairs (R, 2) in the query's canonical order; and the side (R,) of each
        pair that touches with its skin, 0 or 1.
    """
    ranks = {int(i): _rank(colliders[i]) for i in np.unique(pairs)}
    ordered, sides, skinned = [], [], set()
    for a, b in pairs.tolist():
        soft, hard = (a, b) if ranks[a] <= ranks[b] else (b, a)
        skinned.add(soft)
        is_first = canonical_order(_WITH_SKIN[colliders[soft].geometry.kind], colliders[hard].geometry.kind)
        ordered.append((soft, hard) if is_first else (hard, soft))
        sides.append(0 if is_first else 1)
    made: dict[Geometry, Geometry] = {}
    result = list(colliders)
    with working("making skins", len(skinned)) as parts:
        for i in sorted(skinned):
            collider = colliders[i]
            parts.begin(f"{collider.link}, {collider.name}")
            if collider.geometry not in made:
                made[collider.geometry] = collider.skin or rigid_skin(
                    collider.geometry, collider.collision.shape, collider.proximity, margin_rule
                )
            result[i] = replace(collider, skin=made[collider.geometry])
    return result, np.array(ordered, dtype=np.int64).reshape(-1, 2), np.array(sides, dtype=np.int64)


def _rank(collider: Collider) -> tuple[float, bool, bool, int]:
    geometry = collider.geometry
    is_mesh = collider.collision.shape.kind == "mesh"
    return (
        skin_slope(geometry, collider.proximity),
        not geometry.is_half_space,
        is_mesh,
        len(geometry.elements),
    )
