# mypy: allow-untyped-defs
"""Time derivative of the state: M(q) a = tau - bias + contact, with all forces explicit.

Contact is that of the convex models in the limit of short steps: the same pressure on the same faces, damping by the
same laws, friction regularised by the same soft norm (Elandt 2019, sections III and X-C). Faces are cut into triangles
around their centroids, and each triangle presses at its centre of pressure. Force and moment are then the exact
integrals of the pressure, for any split of the faces, so that they are continuous and derive from the stored energy.
Faces whose pressure falls as they are pressed fade out (``share_by_turn``), where the convex models drop them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from hydro_sim_core.compilation import Float1D, entry, kernel
from hydro_sim_core.contact.pressure_field.faces import (
    CENTROID,
    face_at,
    share_by_turn,
)
from hydro_sim_core.dynamics.equations import bias_forces, gravity_forces, mass_matrix
from hydro_sim_core.dynamics.kinematics import body_velocities, coordinate_rates, forward_kinematics
from hydro_sim_core.simulation.stepping.between import complete_polygons_of_patch
from hydro_sim_core.simulation.stepping.collision import MIN_AREA, find_patches
from hydro_sim_core.simulation.stepping.joint_forces import (
    drop_end_stops,
    load_drive,
    load_end_stops,
    spring_effort,
    stop_effort,
)
from hydro_sim_core.simulation.stepping.loads import add_body_wrenches, apply_loads, has_loads
from hydro_sim_core.simulation.stepping.model import MachineData
from hydro_sim_core.simulation.stepping.patch_loading import add_surface_velocity
from hydro_sim_core.simulation.stepping.placement import place_geometries, twist_of_pair
from hydro_sim_core.simulation.stepping.pulls import apply_pulls
from hydro_sim_core.simulation.stepping.push_directions import choose_directions, set_push
from hydro_sim_core.solvers.face_laws import normal_law
from hydro_sim_core.solvers.joint_terms import JOINT_STICTION, drive_impulse, joint_impulse
from hydro_sim_core.solvers.linear import factorise, solve_factorised

#: Time (s) over which impulse and force are equal in number, so that the convex models' laws apply here too.
_UNIT_TIME = 1.0
_UNMOVED = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@entry
def state_derivative(machine: MachineData, dt: float, y: Float1D, dy: Float1D) -> int:
    """Time derivatives of coordinates and velocities.

    Args:
        machine: Data of the step; of the state only sizes and ``push`` are read. The scratch memory has poses, patches
            with their wrenches and drive efforts at ``y`` afterwards.
        dt: Time step of the scene, s, which sets the stiffness of joint limits that have none of their own.
        y: (n,) coordinates, then velocities.
        dy: (n,) out; NaN where the mass matrix cannot be inverted.

    Returns:
        Number of contact faces; if it exceeds the buffers' size, the results are incomplete.
    """
    model, state, drives, scratch = machine.model, machine.state, machine.drives, machine.scratch
    num_faces = _place(model, state, scratch, y)
    if num_faces <= scratch.faces.num_vertices.shape[0]:
        _accelerate(model, state, drives, machine.loads, scratch, dt, y, dy)
    return num_faces


@kernel
def _place(model, state, scratch, y):
    """Evaluate poses, mass matrix and contact faces at the coordinates; return the number of faces."""
    place_bodies(model, scratch, y[: state.q.shape[0]])
    return find_patches(model, state, scratch)


@kernel
def place_bodies(model, scratch, q):
    """Evaluate poses, mass matrix and poses of geometries at coordinates (nq,).

    Reads scratch: M, R_WB, S, gravity, p_WB; model.forest: prescribed.
    Writes scratch: M, R_WB, S, gravity, p_WB.
    """
    forward_kinematics(model.tree, q, scratch.R_WB, scratch.p_WB, scratch.S)
    mass_matrix(model.tree, scratch.R_WB, scratch.p_WB, scratch.S, scratch.M, scratch.tree)
    gravity_forces(model.tree, scratch.R_WB, scratch.p_WB, scratch.S, scratch.gravity, scratch.tree)
    hold_prescribed(model.forest.prescribed, scratch.M)
    place_geometries(model, scratch)


@kernel
def hold_prescribed(prescribed, M):
    """Make rows and columns of prescribed velocities those of the identity."""
    for k in range(prescribed.shape[0]):
        M[prescribed[k], :] = 0.0
        M[:, prescribed[k]] = 0.0
        M[prescribed[k], prescribed[k]] = 1.0


@kernel
def _accelerate(model, state, drives, loads, scratch, dt, y, dy):
    """Write the derivative at the poses and faces in ``scratch`` to ``dy``."""
    nq = state.q.shape[0]
    v, acceleration = y[nq:], dy[nq:]
    apply_efforts(model, state, drives, loads, scratch, dt, y, dy, False)
    _press_patches(model, scratch, v)
    add_body_wrenches(model.tree, scratch, acceleration)
    solve_accelerations(model, scratch, acceleration)


@kernel
def apply_efforts(model, state, drives, loads, scratch, dt, y, dy, is_explicit):
    """Write the rates of the coordinates and all forces but those of contact to ``dy``.

    Stops and friction of joints are left out if ``is_explicit``: ``soft_joints`` holds them then, as most are too stiff
    for explicit steps.

    Reads scratch: R_WB, S, applied, bias, p_WB; model.tree: damping, spring_stiffness.
    Writes scratch: bias, effort.
    """
    nq, nv = state.q.shape[0], state.v.shape[0]
    q, v, acceleration = y[:nq], y[nq:], dy[nq:]
    coordinate_rates(model.tree, q, v, dy[:nq])
    bias_forces(model.tree, scratch.R_WB, scratch.p_WB, scratch.S, v, scratch.bias, scratch.tree)
    _load_joints(model, drives, scratch, dt, q, is_explicit)
    for i in range(nv):
        drive, _ = drive_impulse(scratch.problem, i, v[i])
        scratch.effort[i] = drive
        forces, _ = joint_impulse(scratch.problem, i, v[i])
        acceleration[i] = forces - model.tree.damping[i] * v[i] - scratch.bias[i]
        if model.tree.spring_stiffness[i] > 0.0:
            acceleration[i] += spring_effort(model.tree, q, i)
        if not is_explicit:
            acceleration[i] += stop_effort(model.tree, q, i)
    if has_loads(loads):
        apply_loads(model, loads, scratch)
        apply_pulls(model, loads, scratch, v, 0.0)
        for i in range(nv):
            acceleration[i] += scratch.applied[i]


@kernel
def solve_accelerations(model, scratch, acceleration):
    """Turn generalised forces (nv,) into accelerations; NaN where the mass matrix cannot be inverted.

    Reads scratch: M, factor; model.forest: prescribed; scratch.problem.islands: envelope.
    Writes scratch: factor; scratch.problem.islands: envelope.
    """
    nv = acceleration.shape[0]
    for k in range(model.forest.prescribed.shape[0]):
        acceleration[model.forest.prescribed[k]] = 0.0
    factor, envelope = scratch.factor, scratch.problem.islands.envelope
    envelope[:] = 0
    if factorise(scratch.M, factor, 0, nv, envelope):
        solve_factorised(factor, 0, nv, envelope, acceleration)
    else:
        acceleration[:] = math.nan


@kernel
def _load_joints(model, drives, scratch, dt, q, is_explicit):
    """Load joint limits, drives and friction of all velocities, as forces.

    Reads scratch: M, gravity; model.options: stiction_speed; model.tree: friction, limit_stiffness, q_of_v.
    Writes scratch.problem: dt, joint_friction, joint_slip.
    """
    problem = scratch.problem
    problem.dt[0], problem.joint_slip[0] = _UNIT_TIME, JOINT_STICTION * model.options.stiction_speed
    for i in range(scratch.M.shape[0]):
        coordinate = model.tree.q_of_v[i]
        position, inertia = q[coordinate] if coordinate >= 0 else 0.0, scratch.M[i, i]
        if is_explicit or model.tree.limit_stiffness[i] < math.inf:
            drop_end_stops(problem, i)
        else:
            load_end_stops(model, problem, i, i, position, inertia, dt, 0.0, math.inf)
        load_drive(model, drives, scratch.gravity, problem, i, i, position, inertia, dt, 0.0)
        problem.joint_friction[i] = 0.0 if is_explicit else model.tree.friction[i]


@kernel
def _press_patches(model, scratch, v):
    """Write wrenches of all patches to the patch table and to the bodies (``scratch.tree.F_WB``, about the origin).

    Reads model: geometry_body, pairs; scratch: S; scratch.patches: R_WG, num, p_WG, pair, wrench; scratch.solver:
    twists; scratch.tree: F_WB, V_WB.
    Writes scratch.patches: apart, normal_force, wrench; scratch.solver: twists; scratch.tree: F_WB, V_WB.
    """
    tree, patches = scratch.tree, scratch.patches
    body_velocities(model.tree, v, scratch.S, tree.V_WB)
    tree.F_WB[:] = 0.0
    for p in range(patches.num[0]):
        pair = patches.pair[p]
        body_a = model.geometry_body[model.pairs[pair, 0]]
        body_b = model.geometry_body[model.pairs[pair, 1]]
        R, x = patches.R_WG[p], patches.p_WG[p]
        twist = scratch.solver.twists[p]
        twist_of_pair(tree.V_WB, body_a, body_b, R, x, twist)
        if model.running.shape[0] > 0:
            add_surface_velocity(model, scratch, p, R, twist[3:])
        m0, m1, m2, f0, f1, f2, s0, s1, s2 = press_faces(model, scratch, p, twist, _UNMOVED)
        turn(R, m0, m1, m2, patches.wrench[p, :3])
        turn(R, f0, f1, f2, patches.wrench[p, 3:])
        turn(R, s0, s1, s2, patches.normal_force[p])
        patches.apart[p] = (
            1.0  # exact integrals have the moments of their areas, whatever points a step would take
        )
        for body, sign in ((body_a, -1.0), (body_b, 1.0)):
            if body >= 0:
                add_wrench(patches.wrench[p], sign, x, tree.F_WB[body])
        _move_to_reference_point(scratch, p)


@kernel(inline=True)
def _force_at(v0, v1, v2, n0, n1, n2, elastic, resistance, dissipation, mu, slip):
    """Normal force and all of the force at a point with velocity v and normal n, N; other arguments: ``normal_law``."""
    v_n = v0 * n0 + v1 * n1 + v2 * n2
    t0, t1, t2 = v0 - v_n * n0, v1 - v_n * n1, v2 - v_n * n2
    normal, _ = normal_law(v_n, elastic, resistance, dissipation, _UNIT_TIME)
    drag = mu * math.sqrt(1.0 / (t0 * t0 + t1 * t1 + t2 * t2 + slip * slip)) * normal
    return normal, normal * n0 - drag * t0, normal * n1 - drag * t1, normal * n2 - drag * t2


class Pressed(NamedTuple):
    """Wrench of a patch on B about the origin of geometry B, in its axes.

    Attributes:
        m0: Moment, N m, with m1 and m2.
        f0: Force, N, with f1 and f2.
        s0: Sum of the normal forces, N, with s1 and s2.
    """

    m0: float
    m1: float
    m2: float
    f0: float
    f1: float
    f2: float
    s0: float
    s1: float
    s2: float


@kernel
def press_faces(model, scratch, p, twist, motion):
    """Sum the forces of patch p.

    Args:
        model: ``Model``.
        scratch: ``Scratch``.
        p: Index of the patch.
        twist: (6,) twist of B relative to A at the origin of B's geometry, in its axes.
        motion: 6 numbers, by how much B has moved relative to A since the faces were found, as the twist over a short
            time: they keep their places and areas, and press the less the farther B moves along their normals.

    Returns:
        ``Pressed``.

    Reads model: pair_dissipation, pair_friction, pair_relaxation; scratch: mean_push, push_along; model.options:
    stiction_speed; scratch.faces: data, num_vertices, polygons; scratch.patches: first_face, is_recovered, pair.
    Writes scratch: push_along.
    """
    faces, patches = scratch.faces, scratch.patches
    data, polygons, pair = faces.data, faces.polygons, patches.pair[p]
    mu, dissipation = model.pair_friction[pair], model.pair_dissipation[pair]
    relaxation, slip = model.pair_relaxation[pair], model.options.stiction_speed
    w0, w1, w2, u0, u1, u2 = twist[0], twist[1], twist[2], twist[3], twist[4], twist[5]
    complete_polygons_of_patch(model, scratch, p)
    ways, push = choose_directions(model, scratch, p), scratch.push_along
    m0 = m1 = m2 = f0 = f1 = f2 = s0 = s1 = s2 = 0.0
    for f in range(patches.first_face[p], patches.first_face[p + 1]):
        face = face_at(data, f)
        share = 1.0 if patches.is_recovered[p] else share_by_turn(face)
        if face.area <= MIN_AREA or share == 0.0:
            continue
        area, slope = set_push(face, ways, scratch.mean_push, push)
        across = share * area / face.area
        n0, n1, n2 = push[0], push[1], push[2]
        (c0, c1, c2), (g0, g1, g2) = face.centroid, face.gradient
        pressure, last = face.pressure, faces.num_vertices[f] - 1
        b0, b1, b2 = polygons[f, last, 0] - c0, polygons[f, last, 1] - c1, polygons[f, last, 2] - c2
        for i in range(last + 1):
            # Triangle of the centroid (from which a and b are measured) and the edge from a to b.
            a0, a1, a2 = b0, b1, b2
            b0, b1, b2 = polygons[f, i, 0] - c0, polygons[f, i, 1] - c1, polygons[f, i, 2] - c2
            k0, k1, k2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
            area = 0.5 * across * math.sqrt(k0 * k0 + k1 * k1 + k2 * k2)
            pressure_a = pressure + g0 * a0 + g1 * a1 + g2 * a2
            pressure_b = pressure + g0 * b0 + g1 * b1 + g2 * b2
            mean, pressed, weight_a, weight_b = pressed_part(pressure, pressure_a, pressure_b)
            if mean <= 0.0:
                continue
            x0 = c0 + (weight_a * a0 + weight_b * b0) / mean
            x1 = c1 + (weight_a * a1 + weight_b * b1) / mean
            x2 = c2 + (weight_a * a2 + weight_b * b2) / mean
            v0, v1, v2 = u0 + w1 * x2 - w2 * x1, u1 + w2 * x0 - w0 * x2, u2 + w0 * x1 - w1 * x0
            resistance = relaxation * slope * pressed * area
            elastic = mean * area - slope * pressed * area * _moved_along(n0, n1, n2, motion, x0, x1, x2)
            normal, h0, h1, h2 = _force_at(v0, v1, v2, n0, n1, n2, elastic, resistance, dissipation, mu, slip)
            m0, m1, m2 = m0 + x1 * h2 - x2 * h1, m1 + x2 * h0 - x0 * h2, m2 + x0 * h1 - x1 * h0
            f0, f1, f2 = f0 + h0, f1 + h1, f2 + h2
            s0, s1, s2 = s0 + normal * n0, s1 + normal * n1, s2 + normal * n2
    return Pressed(m0, m1, m2, f0, f1, f2, s0, s1, s2)


@kernel(inline=True)
def _moved_along(n0, n1, n2, motion, x0, x1, x2):
    """How far a point x moves along the normal n."""
    r0, r1, r2, d0, d1, d2 = motion
    return n0 * (d0 + r1 * x2 - r2 * x1) + n1 * (d1 + r2 * x0 - r0 * x2) + n2 * (d2 + r0 * x1 - r1 * x0)


@kernel(inline=True)
def turn(R, x, y, z, out):
    """Write R (x, y, z) to ``out`` (3,)."""
    for i in range(3):
        out[i] = R[i, 0] * x + R[i, 1] * y + R[i, 2] * z


class PressedPart(NamedTuple):
    """Integrals over the part of a triangle with positive pressure, divided by the area of the whole triangle.

    Attributes:
        mean: Integral of the pressure, Pa.
        share: Integral of one: the share of the area.
        weight_b: Integral of the pressure times the barycentric coordinate of the second vertex, Pa.
        weight_c: Integral of the pressure times that of the third vertex, Pa.
    """

    mean: float
    share: float
    weight_b: float
    weight_c: float


@kernel
def pressed_part(p0, p1, p2):
    """``PressedPart`` of a triangle with a linear pressure, from its values (Pa) at the vertices."""
    total = p0 + p1 + p2
    mean, weight1, weight2 = total / 3.0, (total + p1) / 12.0, (total + p2) / 12.0
    if min(p0, min(p1, p2)) >= 0.0:
        return PressedPart(mean, 1.0, weight1, weight2)
    if max(p0, max(p1, p2)) <= 0.0:
        return PressedPart(0.0, 0.0, 0.0, 0.0)
    # One vertex differs in sign; the line of zero pressure cuts off its corner.
    if (p1 > 0.0) == (p2 > 0.0):
        corner, share, corner1, corner2 = _corner(p0, p1, p2)
        is_pressed = p0 > 0.0
    elif (p0 > 0.0) == (p2 > 0.0):
        corner, share, corner2, corner0 = _corner(p1, p2, p0)
        corner1 = corner - corner0 - corner2
        is_pressed = p1 > 0.0
    else:
        corner, share, corner0, corner1 = _corner(p2, p0, p1)
        corner2 = corner - corner0 - corner1
        is_pressed = p2 > 0.0
    if is_pressed:
        return PressedPart(corner, share, corner1, corner2)
    return PressedPart(mean - corner, 1.0 - share, weight1 - corner1, weight2 - corner2)


@kernel
def _corner(p0, p1, p2):
    """``PressedPart`` of the corner at the first vertex, up to the line of zero pressure."""
    reach1, reach2 = p0 / (p0 - p1), p0 / (p0 - p2)
    share = reach1 * reach2
    pressed = share * p0
    return PressedPart(pressed / 3.0, share, pressed * reach1 / 12.0, pressed * reach2 / 12.0)


@kernel
def add_wrench(wrench, sign, p, total):
    """Add ``sign`` times a wrench (6,) about the point ``p`` to a wrench about the origin."""
    total[0] += sign * (wrench[0] + p[1] * wrench[5] - p[2] * wrench[4])
    total[1] += sign * (wrench[1] + p[2] * wrench[3] - p[0] * wrench[5])
    total[2] += sign * (wrench[2] + p[0] * wrench[4] - p[1] * wrench[3])
    for k in range(3, 6):
        total[k] += sign * wrench[k]


@kernel
def _move_to_reference_point(scratch, p):
    """Move the reference point of patch p's moment to the mean of its faces' centroids, as in the other models.

    Reads scratch.faces: data; scratch.patches: R_WG, first_face, p_GR, wrench.
    Writes scratch.patches: p_GR, wrench.
    """
    data, patches = scratch.faces.data, scratch.patches
    first, last = patches.first_face[p], patches.first_face[p + 1]
    p_GR, R, wrench = patches.p_GR[p], patches.R_WG[p], patches.wrench[p]
    for i in range(3):
        s = 0.0
        for f in range(first, last):
            s += data[CENTROID + i, f]
        p_GR[i] = s / (last - first)
    r0 = R[0, 0] * p_GR[0] + R[0, 1] * p_GR[1] + R[0, 2] * p_GR[2]
    r1 = R[1, 0] * p_GR[0] + R[1, 1] * p_GR[1] + R[1, 2] * p_GR[2]
    r2 = R[2, 0] * p_GR[0] + R[2, 1] * p_GR[1] + R[2, 2] * p_GR[2]
    wrench[0] -= r1 * wrench[5] - r2 * wrench[4]
    wrench[1] -= r2 * wrench[3] - r0 * wrench[5]
    wrench[2] -= r0 * wrench[4] - r1 * wrench[3]
