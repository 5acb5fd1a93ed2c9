# mypy: allow-untyped-defs
"""Rigid round bodies on flat ones: their meshes are turned so that a vertex is towards the other body.

A mesh has facets, on which a ball or a wheel would roll as a polygon does: slower, and up and down. But a turn about an
axis of symmetry changes nothing of the exact body, so its mesh may be taken in any. With a vertex towards the nearest
point of a box or a half space it touches where the exact body does, and stays so while it rolls. Its faces then push as
the exact body would: along the shortest way (``docs/decisions/0052-round-sides.md``).
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import Float1D, Float2D, entry, kernel
from hydro_sim_core.contact.pressure_field.faces import (
    AHEAD,
    AREA,
    ASIDE,
    CENTROID,
    GRADIENT,
    NORMAL,
    SLOPE_B,
    axes_across,
    face_at,
)
from hydro_sim_core.simulation.stepping.face_points import dot, points_of
from hydro_sim_core.simulation.stepping.model import Model
from hydro_sim_core.simulation.stepping.placement import set_relative_pose

#: ``Model.pair_axis`` where the mesh of A stays as its body is.
NOT_ROUND = -1.0
#: Pieces in which the nearest points of an axis and a box are looked for at most.
_MOST_LOOKS = 16
#: Sine of the angle by which the shortest way may lean along the axis for the round side to be what touches, and cosine
#: of that between the way and the normal of a face for the face to be of that side.
_MOST_LEAN, _LEAST_ALONG = 0.05, 0.7


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

    Reads model: pair_axis.
    """
    half = model.pair_axis[pair]
    if half == NOT_ROUND:
        return
    way = _way_to_other(model, pair, R_BA, p_BA)
    if half > 0.0:
        _turn_about_z(R_BA, way)
    else:
        _turn_z_along(R_BA, way)


@kernel
def straighten_faces(model, faces, pair, first, last, R_BA, p_BA):
    """Have the faces of a round side push along the shortest way to the other body, and beside the axis not at all.

    The turned mesh touches with the facets around a vertex, and an edge of a box mostly with one of them. Along its
    normal that would push past the axis and turn the body, for ever, as the energy does not depend on that turn.

    Args:
        model: ``Model``.
        faces: ``FaceBuffer``.
        pair: Row of the pair.
        first: Its first face.
        last: The one behind its last.
        R_BA: (3, 3) rotation of A's turned mesh in B.
        p_BA: (3,) origin of A in B, m.

    Reads faces: data; model: pair_axis.
    Writes faces: data.
    """
    half = model.pair_axis[pair]
    if half == NOT_ROUND:
        return
    way, axis, data = _way_to_other(model, pair, R_BA, p_BA), (R_BA[0, 2], R_BA[1, 2], R_BA[2, 2]), faces.data
    size = math.sqrt(dot(way, way))
    if size == 0.0:
        return
    u = way[0] / size, way[1] / size, way[2] / size
    lean = dot(u, axis) if half > 0.0 else 0.0
    if abs(lean) > _MOST_LEAN:
        return
    for f in range(first, last):
        face = face_at(data, f)
        along, steepness = dot(face.normal, u), dot(face.gradient, u)
        if along < _LEAST_ALONG or steepness <= 0.0:
            continue
        c = face.centroid
        arm = c[0] - p_BA[0], c[1] - p_BA[1], c[2] - p_BA[2]
        # Where the face is in the plane of the axis and the way; of a ball, on the way.
        out, beside = dot(arm, u), 0.0
        if half > 0.0:
            beside = (dot(arm, axis) - lean * out) / (1.0 - lean * lean)
            out -= lean * beside
        p, q = points_of(faces, f, face)
        for i in range(3):
            data[CENTROID + i, f] = p_BA[i] + out * u[i] + (beside * axis[i] if half > 0.0 else 0.0)
            data[NORMAL + i, f], data[GRADIENT + i, f] = u[i], steepness * u[i]
        data[AREA, f], data[SLOPE_B, f] = along * face.area, steepness
        _keep_points_along(data, f, u, axis, p, q, half > 0.0)


@kernel(inline=True)
def _keep_points_along(data, f, u, axis, p, q, has_line):
    """Keep points of face f with the second moment along an axis that points ``p`` and ``q`` have, or at one place."""
    data[AHEAD, f] = data[AHEAD + 1, f] = data[ASIDE, f] = data[ASIDE + 1, f] = 0.0
    if has_line:
        e, h = axes_across(u)
        of_p, of_q = dot(p, axis), dot(q, axis)
        size = math.sqrt(0.75 * of_p * of_p + of_q * of_q)
        data[ASIDE, f], data[ASIDE + 1, f] = size * dot(axis, e), size * dot(axis, h)


@kernel
def _way_to_other(model, pair, R_BA, p_BA):
    """Shortest way (3,) from the axis of A to the box or half space B, in B's axes; of any length to a half space.

    Reads model: geometry_row, pair_axis, pairs; model.geometries: boxes, node_start.
    """
    geometries, row = model.geometries, model.geometry_row[model.pairs[pair, 1]]
    if geometries.node_start[row] == geometries.node_start[row + 1]:
        # A half space has no tree.
        return 0.0, 0.0, -1.0
    return _way_to_box(geometries.boxes[geometries.node_start[row]], R_BA, p_BA, model.pair_axis[pair])


@kernel
def _way_to_box(box, R_BA, p_BA, half):
    """Shortest way (3,) from the axis of A, ``half`` to both sides of its origin, to a box (6,) in its axes, m.

    Half the square of the distance is convex along the axis, and its slope linear in pieces. Newton's method finds
    where that is nothing; where a step would leave what is known to hold the place, a secant between both ends does.
    """
    along, low, high, at_low, at_high = 0.0, -half, half, 0.0, 0.0
    for _ in range(_MOST_LOOKS):
        slope = curvature = 0.0
        for i in range(3):
            way = _way_to_range(p_BA[i] + along * R_BA[i, 2], box[i], box[i + 3])
            slope -= way * R_BA[i, 2]
            curvature += R_BA[i, 2] * R_BA[i, 2] if way != 0.0 else 0.0
        if half == 0.0 or slope == 0.0 or curvature == 0.0:
            break
        if slope > 0.0:
            high, at_high = along, slope
        else:
            low, at_low = along, slope
        before, along = along, along - slope / curvature
        if not low < along < high:
            if at_low < 0.0 < at_high:
                along = low + (high - low) * at_low / (at_low - at_high)
            else:
                along = min(max(along, low), high)
        if along == before:
            break
    return (
        _way_to_range(p_BA[0] + along * R_BA[0, 2], box[0], box[3]),
        _way_to_range(p_BA[1] + along * R_BA[1, 2], box[1], box[4]),
        _way_to_range(p_BA[2] + along * R_BA[2, 2], box[2], box[5]),
    )


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
    length = math.sqrt(dot(way, way))
    if length == 0.0:
        return
    z = way[0] / length, way[1] / length, way[2] / length
    x, y = axes_across(z)
    for i in range(3):
        R_BA[i, 0], R_BA[i, 1], R_BA[i, 2] = x[i], y[i], z[i]
