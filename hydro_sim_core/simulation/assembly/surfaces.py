"""What the contact search of a ``Model`` knows of the colliders: their shapes, places and surface velocities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.geometry_set import make_geometry_set
from hydro_sim_core.dynamics import frozen
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.progress import working
from hydro_sim_core.simulation.assembly.pairs import Collider, Floats, Indices
from hydro_sim_core.simulation.assembly.round_pairs import half_axis
from hydro_sim_core.simulation.stepping.shortest_ways import NOT_ROUND


def distinct_shapes(colliders: Sequence[Collider]) -> list[Geometry]:
    """Shapes of colliders and their skins, each once, in the order of their rows in ``Model.geometries``."""
    return list(dict.fromkeys([*(c.geometry for c in colliders), *(c.skin for c in colliders if c.skin)]))


def surfaces(colliders: Sequence[Collider], pairs: Indices, skinned: NDArray[np.bool_]) -> dict[str, Any]:
    """Fields of ``Model`` that describe geometries."""
    geometries = distinct_shapes(colliders)
    row = {geometry: i for i, geometry in enumerate(geometries)}
    row_own = np.array([row[c.geometry] for c in colliders], dtype=np.int64)
    row_skin = np.array([row[c.skin or c.geometry] for c in colliders], dtype=np.int64)
    with working("preparing the search for contact", 1) as parts:
        parts.begin(f"{sum(len(geometry.elements) for geometry in geometries)} elements")
        geometry_set = make_geometry_set(geometries)
    nothing = (0.0, 0.0, 0.0)
    velocity = np.array([c.proximity.surface_velocity or nothing for c in colliders]).reshape(-1, 3)
    grain = np.array([_short_axis(c.proximity.grain or nothing) for c in colliders]).reshape(-1, 3)
    return {
        "geometries": geometry_set,
        "pair_rows": frozen(np.where(skinned, row_skin[pairs], row_own[pairs]), np.int64, (-1, 2)),
        "geometry_box": frozen([_box(c) for c in colliders], shape=(-1, 6)),
        "geometry_body": frozen([c.body for c in colliders], np.int64),
        "geometry_row": frozen(row_own, np.int64),
        "stiffness": frozen([c.geometry.steepest_slope for c in colliders]),
        "has_inside": frozen([c.geometry.has_inside for c in colliders], np.bool_),
        "surface_velocity": frozen(velocity, shape=(-1, 3)),
        "running": frozen(np.flatnonzero(np.any(velocity, axis=1)), np.int64),
        "grain": frozen(grain, shape=(-1, 3)),
        "grained": frozen(np.flatnonzero(np.any(grain, axis=1)), np.int64),
        "R_BG": frozen([c.X_BG[:3, :3] for c in colliders], shape=(-1, 3, 3)),
        "p_BG": frozen([c.X_BG[:3, 3] for c in colliders], shape=(-1, 3)),
    }


def _box(collider: Collider) -> Floats:
    """Centre and half lengths (6,) of the box of a geometry in its frame, m; infinite for a half space.

    That of a round body holds its mesh in any turn about its z axis.
    """
    geometry = collider.skin or collider.geometry
    if geometry.is_half_space:
        return np.array([0.0, 0.0, 0.0, math.inf, math.inf, math.inf])
    lower, upper = np.split(geometry.tree_boxes[0].copy(), 2)
    if half_axis(collider) != NOT_ROUND:
        upper[:2] = max(float(upper[:2].max()), -float(lower[:2].min()))
        lower[:2] = -upper[:2]
    return np.concatenate([0.5 * (lower + upper), 0.5 * (upper - lower)])


def _short_axis(grain: tuple[float, float, float]) -> Floats:
    """Vector h of a grain: the friction ellipse has the squared semi-axes ``mu^2 (I - h h^T)``."""
    share = float(np.sqrt(np.square(grain).sum()))
    # The short semi-axis is (1 - share) times the long one, so 1 - |h|^2 = (1 - share)^2.
    return np.array(grain) * (math.sqrt((2.0 - share) / share) if share > 0.0 else 0.0)
