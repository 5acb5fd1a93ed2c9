# mypy: allow-untyped-defs
"""Rigid round bodies on flat ones: their meshes are turned so that a vertex is towards the other body.

A mesh has facets, on which a ball or a wheel would roll as a polygon does: slower, and up and down. But a turn about an
axis of symmetry changes nothing of the exact body, so its mesh may be taken in any. With a vertex towards the nearest
point of a box or a half space it touches where the exact body does, and stays so while it rolls
(``docs/decisions/0052-round-sides.md``).
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import Float1D, Float2D, entry, kernel
from hydro_sim_core.simulation.stepping.model import Model
from hydro_sim_core.simulation.stepping.placement import set_relative_pose

#: ``Model.pair_axis`` where the mesh of A stays as its body is.
NOT_ROUND = -1.0
#: Share of the way of two bodies from which on one rolls on the other.
_ROLLING_SHARE = 0.1
#: Times that the nearest points of an axis and a box are looked for, each from the other one.
_LOOKS = 8


@kernel
def set_pose_for_faces(model, scratch, pair, R_BA, p_BA):
    """Compute the pose of geometry A of a pair in B, (3, 3) and (3,), m, with its mesh turned as B should meet it.

    Reads model: pairs.
    """
    set_relative_pose(scratch, model.pairs[pair, 0], model.pairs[pair, 1], R_BA, p_BA)
    turn_round_side(model, pair, R_BA, p_BA)


@entry
def turn_round_side(model: Model, pair: int, R_BA: Float2D, p_BA: Float1D) -> None:
    """Turn the mesh of A such that a vertex is towards B, if A is round and B is flat.

    Args:
        model: ``Model``.
        pair: Row of the pair.
        R_BA: (3, 3) rotation of A in B; that of its mesh afterwards.
        p_BA: (3,) origin of A in B, m.

    Reads model: geometry_row, pair_axis, pairs; model.geometries: boxes, node_start.
    """
    half = model.pair_axis[pair]
    if half == NOT_ROUND:
        return
    geometries, row = model.geometries, model.geometry_row[model.pairs[pair, 1]]
    if geometries.node_start[row] == geometries.node_start[row + 1]:
        # A half space has no tree.
        way = (0.0, 0.0, -1.0)
    else:
        way = _way_to_box(geometries.boxes[geometries.node_start[row]], R_BA, p_BA, half)
    if half > 0.0:
        _turn_about_z(R_BA, way)
    else:
        _turn_z_along(R_BA, way)


@kernel
def rolls(model, scratch, pair, reach, dt):
    """Whether A of a pair turns about its axis of symmetry by a good part of the way that the two move in a step.

    Its mesh does not come down with it then, so nothing of it is in the way of the other body (``false_faces``). A
    cylinder that slides on its end is another matter.

    Args:
        model: ``Model``.
        scratch: ``Scratch`` with the twists ``V_WB``.
        pair: Row of the pair.
        reach: Largest way that the bodies move relative to each other in the step, m.
        dt: Length of the step, s.

    Reads model: geometry_body, geometry_box, pair_axis, pairs; scratch: R_WG, V_WB.
    """
    if model.pair_axis[pair] <= 0.0:
        return model.pair_axis[pair] == 0.0
    a, b = model.pairs[pair, 0], model.pairs[pair, 1]
    body_a, body_b, spin = model.geometry_body[a], model.geometry_body[b], 0.0
    for i in range(3):
        of_a = scratch.V_WB[body_a, i] if body_a >= 0 else 0.0
        of_b = scratch.V_WB[body_b, i] if body_b >= 0 else 0.0
        spin += (of_a - of_b) * scratch.R_WG[a, i, 2]
    return dt * abs(spin) * model.geometry_box[a, 3] > _ROLLING_SHARE * reach


@kernel
def _way_to_box(box, R_BA, p_BA, half):
    """Shortest way (3,) from the axis of A, ``half`` to both sides of its origin, to a box (6,) in its axes, m."""
    along, d0, d1, d2 = 0.0, 0.0, 0.0, 0.0
    for _ in range(_LOOKS):
        d0 = _way_to_range(p_BA[0] + along * R_BA[0, 2], box[0], box[3])
        d1 = _way_to_range(p_BA[1] + along * R_BA[1, 2], box[1], box[4])
        d2 = _way_to_range(p_BA[2] + along * R_BA[2, 2], box[2], box[5])
        before = along
        along = min(max(along + d0 * R_BA[0, 2] + d1 * R_BA[1, 2] + d2 * R_BA[2, 2], -half), half)
        if along == before:
            break
    return d0, d1, d2


@kernel
def _way_to_range(x, centre, half):
    """Way from a coordinate to the nearest one that is within ``half`` of a centre."""
    return min(max(x, centre - half), centre + half) - x


@kernel
def _turn_about_z(R_BA, way):
    """Turn A about its z axis such that its x axis is towards a direction in B, unless that is along z."""
    x = R_BA[0, 0] * way[0] + R_BA[1, 0] * way[1] + R_BA[2, 0] * way[2]
    y = R_BA[0, 1] * way[0] + R_BA[1, 1] * way[1] + R_BA[2, 1] * way[2]
    length = math.sqrt(x * x + y * y)
    if length == 0.0:
        return
    cosine, sine = x / length, y / length
    for i in range(3):
        x_of_a, y_of_a = R_BA[i, 0], R_BA[i, 1]
        R_BA[i, 0] = cosine * x_of_a + sine * y_of_a
        R_BA[i, 1] = cosine * y_of_a - sine * x_of_a


@kernel
def _turn_z_along(R_BA, way):
    """Turn A such that its z axis is along a direction in B, if there is one: by which turn depends on that alone."""
    length = math.sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2])
    if length == 0.0:
        return
    x, y, z = way[0] / length, way[1] / length, way[2] / length
    sign = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (sign + z)
    R_BA[0, 0], R_BA[1, 0], R_BA[2, 0] = 1.0 + sign * x * x * a, sign * x * y * a, -sign * x
    R_BA[0, 1], R_BA[1, 1], R_BA[2, 1] = x * y * a, sign + y * y * a, -y
    R_BA[0, 2], R_BA[1, 2], R_BA[2, 2] = x, y, z
