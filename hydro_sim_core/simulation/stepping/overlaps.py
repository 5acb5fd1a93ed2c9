# mypy: allow-untyped-defs
"""How far pairs of bodies overlap: now, when they have moved on freely, and as a solve has it."""

from __future__ import annotations

import math

from hydro_sim_core.arithmetic import sine_cosine
from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.faces import (
    face_at,
    speed_along,
    speed_along_normal,
    steepness_of,
)
from hydro_sim_core.contact.pressure_field.fans import split_into_fans
from hydro_sim_core.contact.pressure_field.query import find_faces
from hydro_sim_core.contact.pressure_field.report import OVERLAPS
from hydro_sim_core.simulation.stepping.face_points import apart_and_area, pressure_at, set_points
from hydro_sim_core.simulation.stepping.placement import copy_rotation, twist_of_pair
from hydro_sim_core.simulation.stepping.push_directions import choose_directions, set_push
from hydro_sim_core.simulation.stepping.round_sides import straighten_faces, turn_round_sides
from hydro_sim_core.solvers.patch_work import relative_twist
from hydro_sim_core.solvers.problem import DRIFT

#: Largest number of poses looked at within a step.
MOST_POSES = 4096


@kernel
def poses_of(model, pair, reach):
    """Number of poses after the first to look at while the bodies of a pair move by ``reach`` (m).

    Reads model: pair_thickness.
    """
    return min(1 + int(reach / model.pair_thickness[pair]), MOST_POSES)


@kernel
def way_deeper(model, scratch, pair, reach, depth, energy, room, share, gain, dt):
    """Way that the bodies of a pair, if they went on freely, would approach into more overlap than now or expected, m.

    It is 0 where they do not overlap more within the step, and ``reach`` where they do without faces that approach.

    Args:
        model: ``Model``.
        scratch: ``Scratch`` with the twists ``V_WB``.
        pair: Row of the pair.
        reach: Largest way that the bodies move relative to each other, m.
        depth: Depth that is expected, m.
        energy: Energy of the overlap that is expected, J.
        room: Depth by which they may overlap more, m.
        share: The same as a share of their present depth; the larger one holds.
        gain: Energy that the overlap may gain, J; infinite if its depth alone matters.
        dt: Length of the step, s.

    Reads scratch.patches: first_face, num.
    """
    poses = poses_of(model, pair, reach)
    deep, stored = overlap_now(model, scratch, pair)
    deep, stored = max(deep, depth), max(stored, energy)
    most_depth, most_energy = deep + max(room, share * deep), stored + gain
    for k in range(1, poses + 1):
        deep, stored, num = overlap_at(model, scratch, pair, dt * k / poses)
        if deep > most_depth or stored > most_energy:
            first = scratch.patches.first_face[scratch.patches.num[0]]
            _, fastest = _speeds_of_approach(model, scratch, pair, first, first + num)
            return min(dt * fastest, reach) if fastest > 0.0 else reach
    return 0.0


@kernel
def way_into_overlap(model, scratch, pair, reach, steps, dt):
    """Way that the bodies of a compliant pair, if they went on freely, would approach into an overlap, m.

    It is 0 where no overlap begins that matters: its energy is a small share of what the bodies come with along its
    normals, or they come so slowly that the margin foresees it.

    Args:
        model: ``Model``.
        scratch: ``Scratch`` with the twists ``V_WB``.
        pair: Row of the pair.
        reach: Largest way that the bodies move relative to each other in the step, m.
        steps: How many steps that keep that energy small are in this one, more than 1 (``Model.pair_rate``).
        dt: Length of the step, s.

    Reads model: pair_flat, pair_foreseen, pair_room; scratch.patches: first_face, num.
    """
    poses = poses_of(model, pair, reach)
    deep, stored = overlap_now(model, scratch, pair)
    most_depth, first = deep + model.pair_room[pair], scratch.patches.first_face[scratch.patches.num[0]]
    for k in range(1, poses + 1):
        deep, energy, num = overlap_at(model, scratch, pair, dt * k / poses)
        if deep > most_depth:
            return reach
        if energy > stored:
            speed, _ = _speeds_of_approach(model, scratch, pair, first, first + num)
            way = min(dt * speed, reach)
            gain = 0.5 * model.pair_flat[pair] * (way / steps) ** 2
            if way > model.pair_foreseen[pair] + way / steps and energy > stored + gain:
                return way
    return 0.0


@kernel
def _speeds_of_approach(model, scratch, pair, first, last):
    """Speeds along the normals of faces that were found last and press, m/s.

    Returns:
        The root of their mean square, weighted by the forces, and the largest.

    Reads model: geometry_body, pairs; scratch: R_WM, V_WB, X_moved, twist; scratch.faces: data.
    Writes scratch: twist.
    """
    data, V, about = scratch.faces.data, scratch.twist, (0.0, 0.0, 0.0)
    body_a = model.geometry_body[model.pairs[pair, 0]]
    body_b = model.geometry_body[model.pairs[pair, 1]]
    twist_of_pair(scratch.V_WB, body_a, body_b, scratch.R_WM, scratch.X_moved[1, :, 3], V)
    forces = squares = fastest = 0.0
    for f in range(first, last):
        face = face_at(data, f)
        if face.pressure > 0.0:
            force, speed = face.area * face.pressure, speed_along_normal(face, about, V)
            forces, squares = forces + force, squares + force * (speed * speed)
            fastest = max(fastest, abs(speed))
    return (math.sqrt(squares / forces) if forces > 0.0 else 0.0), fastest


@kernel
def overlap_now(model, scratch, pair):
    """Depth and energy as from ``overlap_at``, before the bodies move: asked for before and after a solve.

    Reads scratch: look, looked, overlap_now.
    Writes scratch: has_faces, looked, overlap_now.
    """
    now = scratch.overlap_now[pair]
    if scratch.looked[pair] != scratch.look[0]:
        now[0], now[1], num_faces = overlap_at(model, scratch, pair, 0.0)
        scratch.has_faces[pair] = num_faces > 0
        scratch.looked[pair] = scratch.look[0]
    return now[0], now[1]


@kernel
def has_faces(model, scratch, pair):
    """Whether a pair has faces before it moves, in its margins at least.

    Reads scratch: has_faces.
    """
    overlap_now(model, scratch, pair)
    return scratch.has_faces[pair]


@kernel
def overlap_at(model, scratch, pair, time):
    """Largest depth of a pair (m), its energy (J) and number of faces when both bodies have moved freely for some time.

    The first two are infinite for bodies that overlap without faces, and where there is no room for the faces: then
    ``scratch.faces_needed`` is set, and the step is to be taken again with more.

    Reads model: pair_flat, pair_rows, splits_faces; scratch: R_BA, R_WM, X_moved, p_BA; scratch.patches: first_face,
    num; scratch.query: nodes, report.
    Writes scratch: R_BA, R_WM, faces_needed, p_BA; scratch.query: nodes.
    """
    # The contacts of the last step stay in the buffer.
    first = scratch.patches.first_face[scratch.patches.num[0]]
    R_BA, p_BA = scratch.R_BA, scratch.p_BA
    set_moved_relative_pose(model, scratch, pair, time, R_BA, p_BA)
    copy_rotation(scratch.X_moved[1], scratch.R_WM)
    turn_round_sides(model, pair, scratch.R_WM, R_BA, p_BA, scratch.query.nodes)
    row_a, row_b = model.pair_rows[pair, 0], model.pair_rows[pair, 1]
    found = find_faces(model.geometries, row_a, row_b, R_BA, p_BA, False, scratch.query, scratch.faces, first)
    if found > scratch.faces.num_vertices.shape[0]:
        scratch.faces_needed[0] = found
        return math.inf, math.inf, 0
    if found == first:
        nothing = math.inf if scratch.query.report[OVERLAPS] != 0.0 else 0.0
        return nothing, nothing, 0
    if model.splits_faces:
        found = split_into_fans(scratch.faces, first, found)
        if found > scratch.faces.num_vertices.shape[0]:
            scratch.faces_needed[0] = found
            return math.inf, math.inf, 0
    straighten_faces(model, scratch.faces, pair, first, found, R_BA, p_BA, scratch.query.nodes)
    apart, area = apart_and_area(model, scratch, pair, first, found)
    depth, energy = depth_and_energy(scratch, first, found, model.pair_flat[pair] == 0.0, apart, area)
    return depth, energy, found - first


@kernel
def set_moved_relative_pose(model, scratch, pair, time, R_BA, p_BA):
    """Write the pose of geometry A in B, (3, 3) and (3,), when both bodies have moved on freely for some time.

    Reads model: pairs; scratch: X_moved.
    Writes scratch: X_moved.
    """
    A, B = scratch.X_moved[0], scratch.X_moved[1]
    _set_moved_pose(model, scratch, model.pairs[pair, 0], time, A)
    _set_moved_pose(model, scratch, model.pairs[pair, 1], time, B)
    for i in range(3):
        p_BA[i] = 0.0
        for j in range(3):
            p_BA[i] += B[j, i] * (A[j, 3] - B[j, 3])
            R_BA[i, j] = B[0, i] * A[0, j] + B[1, i] * A[1, j] + B[2, i] * A[2, j]


@kernel
def depth_and_energy(scratch, first, last, is_rigid, apart, area):
    """Largest depth of faces at their centroids, m, and the energy of all that press, J.

    Reads scratch: face_points; scratch.faces: data.
    Writes scratch: face_points.
    """
    data, points, most, energy = scratch.faces.data, scratch.face_points, 0.0, 0.0
    for f in range(first, last):
        face = face_at(data, f)
        pressure, steepness = face.pressure, steepness_of(face)
        if pressure <= 0.0:
            continue
        if steepness > 0.0:
            most = max(most, pressure / steepness)
        num = set_points(scratch.faces, f, face, is_rigid, apart, area, points)
        if num == 1:
            energy += _energy_of_face(face, pressure, is_rigid)
        else:
            for j in range(num):
                energy += _energy_of_face(face, pressure_at(face, points[j]), is_rigid) / num
    return most, energy


@kernel
def _energy_of_face(face, pressure, is_rigid):
    """What a face adds to the energy of an overlap if it has some pressure (Pa), J.

    On the skin of a rigid body it is exact for pressures p of constant gradient g: by the divergence theorem their
    integral over a volume is that of ``p^2 g.n / (2 g.g)`` over its surface, to which upright faces add nothing. In a
    compliant body it is ``A p d / 2``, with d the depth along the normal: exact if that line stays in one element.

    Reads face: area, slope_a, slope_b.
    """
    a, b = face.slope_a, face.slope_b
    softness = 0.0
    if is_rigid:
        steepness = steepness_of(face)
        if steepness > 0.0:
            softness = min(a, b) / (steepness * steepness)
    else:
        for slope in (a, b):
            if slope > 0.0:
                softness += 1.0 / slope
    return 0.5 * face.area * pressure * pressure * softness


@kernel
def _set_moved_pose(model, scratch, g, time, X):
    """Write the pose (3, 4) of a geometry whose body has moved on with its twist for some time.

    Reads model: geometry_body; scratch: R_WG, V_WB, p_WG.
    """
    R, p, body = scratch.R_WG[g], scratch.p_WG[g], model.geometry_body[g]
    for i in range(3):
        X[i, 3] = p[i]
        for j in range(3):
            X[i, j] = R[i, j]
    if body < 0:
        return
    V = scratch.V_WB[body]
    w0, w1, w2 = time * V[0], time * V[1], time * V[2]
    X[0, 3] += time * (V[3] + V[1] * p[2] - V[2] * p[1])
    X[1, 3] += time * (V[4] + V[2] * p[0] - V[0] * p[2])
    X[2, 3] += time * (V[5] + V[0] * p[1] - V[1] * p[0])
    angle = math.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
    if angle == 0.0:
        return
    # Rodrigues: the columns turn about the axis.
    sine, cosine = sine_cosine(angle)
    s, c = sine / angle, (1.0 - cosine) / (angle * angle)
    for j in range(3):
        x, y, z = R[0, j], R[1, j], R[2, j]
        cx, cy, cz = w1 * z - w2 * y, w2 * x - w0 * z, w0 * y - w1 * x
        X[0, j] = x + s * cx + c * (w1 * cz - w2 * cy)
        X[1, j] = y + s * cy + c * (w2 * cx - w0 * cz)
        X[2, j] = z + s * cz + c * (w0 * cy - w1 * cx)


@kernel
def overlap_foreseen(model, scratch, pair, dt):
    """What the solve has made of the overlap of a pair: as ``overlap_of_solve``, zeros without faces.

    Reads scratch.patches: pair; scratch.points: num_faced.
    """
    for p in range(scratch.points.num_faced[0]):
        if scratch.patches.pair[p] == pair:
            return overlap_of_solve(model, scratch, p, dt)
    return 0.0, 0.0


@kernel(inline=True)
def spread_of_points(model, patches, p):
    """What the energy of patch p depends on: whether both bodies are rigid, and the ``apart_and_area`` of its faces.

    Points of two rigid bodies count apart for it also where the solver has them at the centroids.

    Reads model: pair_flat; patches: apart, area, pair.
    """
    if model.pair_flat[patches.pair[p]] == 0.0:
        return True, 1.0, 0.0
    return False, patches.apart[p], patches.area[p]


@kernel
def overlap_of_solve(model, scratch, p, dt):
    """Largest depth (m) and energy (J) that the faces of patch p have at the end of a solved step, by its velocities.

    Each comes in along the direction in which the solve has it push, not along its normal: on what slides along the
    skin of a rigid body the normals lean, and would tell of depths that nothing has stopped.

    Reads scratch: face_points, mean_push, push_along, twist; scratch.faces: data; scratch.patches: first_face, p_GR;
    scratch.solver: v.
    Writes scratch: face_points, push_along, twist.
    """
    data, patches, V = scratch.faces.data, scratch.patches, scratch.twist
    is_rigid, apart, area = spread_of_points(model, patches, p)
    relative_twist(scratch.problem, p, scratch.solver.v, DRIFT, V)
    p_GR, points, depth, energy = patches.p_GR[p], scratch.face_points, 0.0, 0.0
    ways, push = choose_directions(model, scratch, p), scratch.push_along
    for f in range(patches.first_face[p], patches.first_face[p + 1]):
        face = face_at(data, f)
        _, slope = set_push(face, ways, scratch.mean_push, push)
        num = set_points(scratch.faces, f, face, is_rigid, apart, area, points)
        at_centroid = 0.0
        for j in range(num):
            x, c = points[j], face.centroid
            arm = c[0] + x[0] - p_GR[0], c[1] + x[1] - p_GR[1], c[2] + x[2] - p_GR[2]
            pressure = pressure_at(face, x) - dt * slope * speed_along(push, arm, V)
            at_centroid += pressure / num
            if pressure > 0.0:
                energy += _energy_of_face(face, pressure, is_rigid) / num
        steepness = steepness_of(face)
        if steepness > 0.0:
            depth = max(depth, at_centroid / steepness)
    return depth, energy
