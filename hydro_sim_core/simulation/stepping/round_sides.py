# mypy: allow-untyped-defs
"""Rigid round bodies: their meshes are turned so that a vertex is towards what they touch.

A mesh has facets, on which a ball or a wheel would roll as a polygon does: slower, and up and down. But a turn about an
axis of symmetry changes nothing of the exact body, so its mesh may be taken in any. With a vertex towards the nearest
point of a box, a half space, a convex mesh or another round body it touches where the exact body does, and stays so
while it rolls. Its faces then push as the exact body would: along the shortest way
(``docs/decisions/0052-round-sides.md``).
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import Float1D, Float2D, Int2D, entry, kernel
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
from hydro_sim_core.simulation.stepping.face_points import points_of
from hydro_sim_core.simulation.stepping.model import Model
from hydro_sim_core.simulation.stepping.placement import copy_rotation, set_relative_pose, turned_back
from hydro_sim_core.simulation.stepping.shortest_ways import (
    HALF_OF_CORE,
    NOT_ROUND,
    way_and_foot,
    way_to_other,
)
from hydro_sim_core.triples import dot

#: Sine of a turn of one ball about the way to another, so that round-off does not decide which edges cross.
_SINE_OF_TWIST = 0.4
#: Fall of a pressure over the depth of an overlap, as a multiple of that which it has.
_LEAST_FALL = 2.0
#: Sine of the angle by which the shortest way may lean along the axis for the round side to be what touches, and cosine
#: of that between the way and the normal of a face for the face to be of that side.
_MOST_LEAN, _LEAST_ALONG = 0.05, 0.7


@kernel
def set_pose_for_faces(model, scratch, pair):
    """Compute the pose of geometry A of a pair in B, and where B is, with meshes turned as they should meet.

    Reads model: pairs; scratch: R_BA, R_WG, R_WM, p_BA; scratch.query: nodes.
    Writes scratch: R_BA, R_WM, p_BA; scratch.query: nodes.
    """
    a, b = model.pairs[pair, 0], model.pairs[pair, 1]
    set_relative_pose(scratch, a, b, scratch.R_BA, scratch.p_BA)
    copy_rotation(scratch.R_WG[b], scratch.R_WM)
    turn_round_sides(model, pair, scratch.R_WM, scratch.R_BA, scratch.p_BA, scratch.query.nodes)


@entry
def turn_round_sides(
    model: Model, pair: int, R_WB: Float2D, R_BA: Float2D, p_BA: Float1D, nodes: Int2D
) -> None:
    """Turn the meshes of a pair such that they meet with vertices, if A is round and B is convex.

    Args:
        model: ``Model``.
        pair: Row of the pair.
        R_WB: (3, 3) rotation of B in any frame W; that of its mesh in W afterwards.
        R_BA: (3, 3) rotation of A in B; that of the one mesh in the other afterwards.
        p_BA: (3,) origin of A in B, m; in the axes of B's mesh afterwards.
        nodes: (n, 2) stack of tree nodes.

    Reads model: pair_axis, pair_core.
    """
    half = model.pair_axis[pair]
    if half == NOT_ROUND:
        return
    way, half_of_core = way_to_other(model, pair, R_BA, p_BA, nodes), model.pair_core[pair, HALF_OF_CORE]
    if half_of_core != NOT_ROUND:
        way = _turn_b(half, half_of_core, way, R_WB, R_BA, p_BA)
    if half > 0.0:
        _turn_about_z(R_BA, way)
    else:
        _turn_z_along(R_BA, way, 0.0 if half_of_core == NOT_ROUND else _SINE_OF_TWIST)


@kernel
def straighten_faces(model, faces, pair, first, last, R_BA, p_BA, nodes):
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
        nodes: (n, 2) stack of tree nodes.

    Reads faces: data; model: pair_axis, pair_core, pair_touch.
    Writes faces: data.
    """
    half = model.pair_axis[pair]
    if half == NOT_ROUND:
        return
    way, data = way_and_foot(model, pair, R_BA, p_BA, nodes), faces.data
    size = math.sqrt(dot(way, way))
    if size == 0.0:
        return
    u = way[0] / size, way[1] / size, way[2] / size
    depth = model.pair_touch[pair] - size
    origin, axis = (p_BA[0], p_BA[1], p_BA[2]), (R_BA[0, 2], R_BA[1, 2], R_BA[2, 2])
    lean, has_line = dot(u, axis), half > 0.0
    if has_line and abs(lean) > _MOST_LEAN:
        if model.pair_core[pair, HALF_OF_CORE] == NOT_ROUND:
            return
        # The cap of a capsule is part of a ball.
        foot, has_line = way[3], False
        origin = origin[0] + foot * axis[0], origin[1] + foot * axis[1], origin[2] + foot * axis[2]
    for f in range(first, last):
        face = face_at(data, f)
        along, steepness = dot(face.normal, u), dot(face.gradient, u)
        if along < _LEAST_ALONG or steepness <= 0.0:
            continue
        c = face.centroid
        arm = c[0] - origin[0], c[1] - origin[1], c[2] - origin[2]
        # Where the face is in the plane of the axis and the way; of a ball, on the way.
        out, beside = dot(arm, u), 0.0
        if has_line:
            beside = (dot(arm, axis) - lean * out) / (1.0 - lean * lean)
            out -= lean * beside
        p, q = points_of(faces, f, face)
        for i in range(3):
            data[CENTROID + i, f] = origin[i] + out * u[i] + (beside * axis[i] if has_line else 0.0)
            data[NORMAL + i, f], data[GRADIENT + i, f] = u[i], steepness * u[i]
        if depth > 0.0:
            # Beside an edge the field of the other side rises hardly along the way, and yet ends with the overlap.
            steepness = max(steepness, _LEAST_FALL * face.pressure / depth)
        data[AREA, f], data[SLOPE_B, f] = along * face.area, steepness
        _keep_points_along(data, f, u, axis, p, q, has_line)


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
def _turn_b(half_a, half_b, way, R_WB, R_BA, p_BA):
    """Turn the round body B against a way (3,) that leads to it, in its axes; return the way in the new ones.

    A ball is turned with its z axis along it; what has an axis, of ``half_b`` to both sides, about that with its x
    axis. Then the way is in the plane of x and z, and so is a ball A: exactly, as otherwise round-off would decide on
    which side of an edge a vertex lies.
    """
    length = math.sqrt(way[0] * way[0] + way[1] * way[1] + (way[2] * way[2] if half_b == 0.0 else 0.0))
    if length == 0.0:
        return way
    if half_b == 0.0:
        z = -way[0] / length, -way[1] / length, -way[2] / length
        x, y = axes_across(z)
        way = 0.0, 0.0, -length
    else:
        x, y, z = (
            (-way[0] / length, -way[1] / length, 0.0),
            (way[1] / length, -way[0] / length, 0.0),
            (0.0, 0.0, 1.0),
        )
        way = -length, 0.0, way[2]
    for i in range(3):
        row = R_WB[i, 0], R_WB[i, 1], R_WB[i, 2]
        R_WB[i, 0], R_WB[i, 1], R_WB[i, 2] = dot(row, x), dot(row, y), dot(row, z)
    _see_from(x, y, z, R_BA, p_BA)
    if half_a == 0.0:
        p_BA[1] = 0.0
        p_BA[0] = 0.0 if half_b == 0.0 else p_BA[0]
    return way


@kernel
def see_from_mesh(model, scratch, p, R_BA, p_BA):
    """Turn a pose of A in B, (3, 3) and (3,), into the axes of patch p, which are those of B's turned mesh.

    Reads model: pair_core, pairs; scratch: R_WG; scratch.patches: R_WG, pair.
    """
    pair = scratch.patches.pair[p]
    if model.pair_core[pair, HALF_OF_CORE] == NOT_ROUND:
        return
    R_WB, R_WM = scratch.R_WG[model.pairs[pair, 1]], scratch.patches.R_WG[p]
    x = turned_back(R_WB, R_WM[0, 0], R_WM[1, 0], R_WM[2, 0])
    y = turned_back(R_WB, R_WM[0, 1], R_WM[1, 1], R_WM[2, 1])
    z = turned_back(R_WB, R_WM[0, 2], R_WM[1, 2], R_WM[2, 2])
    _see_from(x, y, z, R_BA, p_BA)


@kernel
def _see_from(x, y, z, R_BA, p_BA):
    """Turn a pose in B, (3, 3) and (3,), into axes x, y and z of B."""
    for i in range(3):
        column = R_BA[0, i], R_BA[1, i], R_BA[2, i]
        R_BA[0, i], R_BA[1, i], R_BA[2, i] = dot(x, column), dot(y, column), dot(z, column)
    p = p_BA[0], p_BA[1], p_BA[2]
    p_BA[0], p_BA[1], p_BA[2] = dot(x, p), dot(y, p), dot(z, p)


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
def _turn_z_along(R_BA, way, sine):
    """Turn A such that its z axis is along a direction in B, if there is one: by which turn depends on that alone.

    About that direction it is turned by an angle with that sine.
    """
    length = math.sqrt(dot(way, way))
    if length == 0.0:
        return
    z = way[0] / length, way[1] / length, way[2] / length
    x, y = axes_across(z)
    cosine = math.sqrt(1.0 - sine * sine)
    for i in range(3):
        R_BA[i, 0], R_BA[i, 1], R_BA[i, 2] = cosine * x[i] + sine * y[i], cosine * y[i] - sine * x[i], z[i]
