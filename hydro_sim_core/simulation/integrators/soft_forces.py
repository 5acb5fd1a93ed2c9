# mypy: allow-untyped-defs
"""Time steps under smooth contact: explicit, by Euler's method or that of Runge and Kutta."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import entry, kernel
from hydro_sim_core.contact.pressure_field.faces import store_even_face
from hydro_sim_core.contact.soft_distance.kernels import press_pair
from hydro_sim_core.contact.soft_distance.pressing import EPSILON3
from hydro_sim_core.dynamics.kinematics import body_velocities, integrate_positions
from hydro_sim_core.simulation.integrators.continuous_forces import (
    apply_efforts,
    place_bodies,
    solve_accelerations,
)
from hydro_sim_core.simulation.integrators.soft_joints import hold_accelerations, hold_joints
from hydro_sim_core.simulation.stepping.fastest import all_slow_enough
from hydro_sim_core.simulation.stepping.loads import add_body_wrenches
from hydro_sim_core.simulation.stepping.model import MachineData
from hydro_sim_core.simulation.stepping.placement import set_relative_pose, twist_of_pair
from hydro_sim_core.simulation.stepping.soft_model import SoftPairs, SoftScratch
from hydro_sim_core.simulation.stepping.step import DONE, NOT_FINITE

#: A pair is told as a contact while it is nearer than this many of its ``epsilon3``: force then is above e^-20 of full.
_REACH = 20.0
#: A point is shown if its weight is above this share of the largest.
_SHOWN = 1e-3


@entry
def advance_soft(machine: MachineData, soft: SoftPairs, memory: SoftScratch, dt: float, steps: int) -> int:
    """Take steps under smooth contact.

    Args:
        machine: Data of the step.
        soft: Clouds and parameters.
        memory: Memory.
        dt: Length of a step, s.
        steps: Number of steps.

    Returns:
        DONE; or NOT_FINITE, and the state is that of the last good step; ``scratch.v_next`` tells of the one that
        failed. The patches are those of the last step.

    Reads memory: change, slope; soft: stages; machine.scratch: v_next; machine.state: q, v.
    Writes memory: braked, change, mean, y; machine.scratch: v_next.
    """
    model, state = machine.model, machine.state
    nq, nv = state.q.shape[0], state.v.shape[0]
    y, change = memory.y, memory.change
    for number in range(steps):
        change[:] = 0.0
        memory.mean[:] = 0.0
        memory.braked[:] = 0.0
        for stage in range(soft.stages):
            reach = 0.0 if stage == 0 else (1.0 if stage == 3 else 0.5)
            for i in range(nq):
                y[i] = state.q[i] + reach * dt * memory.slope[i] if stage > 0 else state.q[i]
            for i in range(nv):
                y[nq + i] = state.v[i] + reach * dt * memory.slope[nq + i] if stage > 0 else state.v[i]
            share = 1.0 if soft.stages == 1 else (1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0)
            is_shown = stage == 0 and number == steps - 1
            _evaluate(machine, soft, memory, dt, share, is_shown)
            for i in range(nq + nv):
                change[i] += share * memory.slope[i]
        for i in range(nq + nv):
            if not abs(change[i]) < math.inf:
                return NOT_FINITE
        v_next = machine.scratch.v_next
        for i in range(nv):
            v_next[i] = state.v[i] + dt * change[nq + i]
        if not all_slow_enough(v_next):
            return NOT_FINITE
        _go_on(machine, soft, memory, dt)
    if steps > 0:
        _tell_wrenches(model, machine.scratch, memory)
    return DONE


@kernel
def _go_on(machine, soft, memory, dt):
    """Take over the state that the mean of the derivatives, and stops and friction of joints, lead to.

    Reads memory: change, y; soft: stages; machine.state: q, step, v.
    Writes memory: y; machine.state: q, step, v, v_previous.
    """
    model, state = machine.model, machine.state
    nq, before, change = state.q.shape[0], memory.y[: state.q.shape[0]], memory.change
    for i in range(nq):
        before[i] = state.q[i]
    for i in range(state.v.shape[0]):
        state.v_previous[i] = state.v[i]
        state.v[i] += dt * change[nq + i]
    if soft.stages == 1:
        integrate_positions(model.tree, state.q, state.v, dt, state.q)
    else:
        for i in range(nq):
            state.q[i] += dt * change[i]
        # Integration over zero time normalises the quaternions.
        integrate_positions(model.tree, state.q, state.v, 0.0, state.q)
    # Euler's steps move with the velocities that they end with.
    lever = dt if soft.stages == 1 else 0.5 * dt
    hold_joints(model, state, machine.scratch, memory, before, dt, lever)
    state.step[0] += 1


@kernel
def _evaluate(machine, soft, memory, dt, share, is_shown):
    """Write the time derivative at ``memory.y`` to ``memory.slope`` and add its contacts' wrenches to the mean.

    Reads memory: slope, y; machine.scratch: S; machine.scratch.tree: V_WB.
    Writes memory: slope; machine.scratch.patches: first_face, num; machine.scratch.tree: F_WB, V_WB.
    """
    model, scratch, y = machine.model, machine.scratch, memory.y
    nq = machine.state.q.shape[0]
    place_bodies(model, scratch, y[:nq])
    apply_efforts(model, machine.state, machine.drives, machine.loads, scratch, dt, y, memory.slope, True)
    body_velocities(model.tree, y[nq:], scratch.S, scratch.tree.V_WB)
    scratch.tree.F_WB[:] = 0.0
    if is_shown:
        scratch.patches.num[0] = 0
        scratch.patches.first_face[0] = 0
    for pair in range(model.pairs.shape[0]):
        _press(model, soft, scratch, memory, pair, share, is_shown)
    acceleration = memory.slope[nq:]
    add_body_wrenches(model.tree, scratch, acceleration)
    solve_accelerations(model, scratch, acceleration)
    hold_accelerations(model, machine.state, scratch, memory, y[:nq], dt, share, acceleration)


@kernel
def _press(model, soft, scratch, memory, pair, share, is_shown):
    """Press the bodies of a pair (``scratch.tree.F_WB``, about the origin), and show the contact if asked.

    Reads memory: R_BA, mean, no_jacobian, p_BA, twist, wrench; model: geometry_body, pairs; scratch: R_WG, p_WG; soft:
    balls, counts, parameters, planes; scratch.tree: F_WB, V_WB.
    Writes memory: R_BA, mean, no_jacobian, p_BA, twist, wrench; scratch.tree: F_WB.
    """
    a, b = model.pairs[pair, 0], model.pairs[pair, 1]
    body_a, body_b = model.geometry_body[a], model.geometry_body[b]
    R, p, V_WB = scratch.R_WG[b], scratch.p_WG[b], scratch.tree.V_WB
    set_relative_pose(scratch, a, b, memory.R_BA, memory.p_BA)
    twist_of_pair(V_WB, body_a, body_b, R, p, memory.twist)
    counts, wrench = soft.counts, memory.wrench
    least = press_pair(
        soft.planes[a],
        soft.planes[b],
        soft.balls[a],
        soft.balls[b],
        counts[a],
        counts[b],
        memory.R_BA,
        memory.p_BA,
        memory.twist,
        soft.parameters[pair],
        memory.pair,
        wrench,
        memory.no_jacobian,
    )
    mean = memory.mean[pair]
    m0 = R[0, 0] * wrench[0] + R[0, 1] * wrench[1] + R[0, 2] * wrench[2]
    m1 = R[1, 0] * wrench[0] + R[1, 1] * wrench[1] + R[1, 2] * wrench[2]
    m2 = R[2, 0] * wrench[0] + R[2, 1] * wrench[1] + R[2, 2] * wrench[2]
    f0 = R[0, 0] * wrench[3] + R[0, 1] * wrench[4] + R[0, 2] * wrench[5]
    f1 = R[1, 0] * wrench[3] + R[1, 1] * wrench[4] + R[1, 2] * wrench[5]
    f2 = R[2, 0] * wrench[3] + R[2, 1] * wrench[4] + R[2, 2] * wrench[5]
    m0, m1, m2 = m0 + p[1] * f2 - p[2] * f1, m1 + p[2] * f0 - p[0] * f2, m2 + p[0] * f1 - p[1] * f0
    for k, value in enumerate((m0, m1, m2, f0, f1, f2)):
        mean[k] += share * value
        if body_a >= 0:
            scratch.tree.F_WB[body_a, k] -= value
        if body_b >= 0:
            scratch.tree.F_WB[body_b, k] += value
    if is_shown and least < _REACH * soft.parameters[pair, EPSILON3]:
        _show(soft, scratch, memory, pair, a, b)


@kernel
def _show(soft, scratch, memory, pair, a, b):
    """Add the patch of a pair: the cells of the points that press, each with its share of the force as pressure.

    Reads scratch: R_WG, p_WG; soft: areas, counts, planes; memory.pair: force, planes, weight; scratch.patches:
    first_face, num.
    Writes memory: mean; scratch.patches: R_WG, dropped_force, first_face, is_recovered, num, p_GR, p_WG, pair.
    """
    patches = scratch.patches
    p = patches.num[0]
    patches.pair[p] = pair
    for i in range(3):
        patches.p_GR[p, i] = 0.0
        patches.p_WG[p, i] = scratch.p_WG[b, i]
        for j in range(3):
            patches.R_WG[p, i, j] = scratch.R_WG[b, i, j]
    patches.is_recovered[p] = False
    patches.dropped_force[p] = 0.0
    own, most = memory.pair, 0.0
    for row in range(2):
        for f in range(soft.counts[b if row == 0 else a, 1]):
            most = max(most, own.weight[row, f])
    slot = patches.first_face[p]
    n0 = n1 = n2 = 0.0
    for row in range(2):
        g = b if row == 0 else a
        for f in range(soft.counts[g, 1]):
            force = own.force[3 * row], own.force[3 * row + 1], own.force[3 * row + 2]
            planes, sign = (soft.planes[b], -1.0) if row == 0 else (own.planes, 1.0)
            n = sign * planes[3, f], sign * planes[4, f], sign * planes[5, f]
            push = force[0][f] * n[0] + force[1][f] * n[1] + force[2][f] * n[2]
            n0, n1, n2 = n0 + push * n[0], n1 + push * n[1], n2 + push * n[2]
            is_large = own.weight[row, f] > _SHOWN * most and push > 0.0
            if is_large and slot < scratch.faces.num_vertices.shape[0]:
                _write_cell(
                    scratch.faces, slot, planes[0, f], planes[1, f], planes[2, f], n, soft.areas[g, f], push
                )
                slot += 1
    for i in range(3):
        R = scratch.R_WG[b]
        memory.mean[pair, 6 + i] = R[i, 0] * n0 + R[i, 1] * n1 + R[i, 2] * n2
    patches.first_face[p + 1] = slot
    patches.num[0] += 1


@kernel
def _write_cell(faces, slot, x, y, z, n, area, push):
    """Write the square cell of a plane as a face with the pressure that its push (N) makes.

    Writes faces: data, num_vertices, polygons.
    """
    half = 0.5 * math.sqrt(area)
    # Any two directions across the normal: a square about it is as good as another.
    if abs(n[0]) < 0.6:
        a0, a1, a2 = 0.0, n[2], -n[1]
    else:
        a0, a1, a2 = -n[2], 0.0, n[0]
    length = half / math.sqrt(a0 * a0 + a1 * a1 + a2 * a2)
    a0, a1, a2 = a0 * length, a1 * length, a2 * length
    b0, b1, b2 = n[1] * a2 - n[2] * a1, n[2] * a0 - n[0] * a2, n[0] * a1 - n[1] * a0
    for corner in range(4):
        s = 1.0 if corner == 0 or corner == 3 else -1.0
        t = 1.0 if corner < 2 else -1.0
        faces.polygons[slot, corner, 0] = x + s * a0 + t * b0
        faces.polygons[slot, corner, 1] = y + s * a1 + t * b1
        faces.polygons[slot, corner, 2] = z + s * a2 + t * b2
    faces.num_vertices[slot] = 4
    store_even_face(faces.data, slot, (x, y, z), n, area, push / area)


@kernel
def _tell_wrenches(model, scratch, memory):
    """Write the mean wrenches of the last step to the patches, about their reference points.

    Reads memory: mean; scratch.patches: num, p_WG, pair.
    Writes scratch.patches: normal_force, wrench.
    """
    patches = scratch.patches
    for p in range(patches.num[0]):
        mean, x = memory.mean[patches.pair[p]], patches.p_WG[p]
        patches.wrench[p, 0] = mean[0] - (x[1] * mean[5] - x[2] * mean[4])
        patches.wrench[p, 1] = mean[1] - (x[2] * mean[3] - x[0] * mean[5])
        patches.wrench[p, 2] = mean[2] - (x[0] * mean[4] - x[1] * mean[3])
        for i in range(3):
            patches.wrench[p, 3 + i] = mean[3 + i]
            patches.normal_force[p, i] = mean[6 + i]
