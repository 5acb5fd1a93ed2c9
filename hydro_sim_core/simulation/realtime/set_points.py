# mypy: allow-untyped-defs
"""Set-points of the compiled loop: what its plan commands in a step, and whether a state is one that Python asked for.

Bit for bit what the controllers do that hand the plan over.
"""

from __future__ import annotations

from hydro_sim_core.compilation import kernel
from hydro_sim_core.dynamics.equations import gravity_forces
from hydro_sim_core.dynamics.kinematics import add_point_jacobian, forward_kinematics
from hydro_sim_core.dynamics.resolved_rate import resolve_rates
from hydro_sim_core.simulation.realtime.loop_data import CHANNEL
from hydro_sim_core.simulation.realtime.plan import (
    DAMPER,
    FRAME,
    GRIPS,
    LEFT,
    MOST_PIECES,
    NEVER,
    PIECES,
    RAMP,
    REACHED,
    RUNS,
    SERVO,
    STANDS,
    STOP_TIME,
    TOOL,
    TWISTED,
    WEIGHTS,
)

#: Least speed by which limits of speed are divided, rad/s or m/s.
_LEAST_RATE = 1e-12


@kernel
def command_joints(machine, loop, dt):
    """Write to the drives what the plan says of the coming step; joints that clients lead are left to them.

    Reads loop: joint_v, joints; loop.plan: is_weighed, kind, speed, weight, whole; machine.state: step.
    Writes machine.drives: effort.
    """
    plan, drives = loop.plan, machine.drives
    time = machine.state.step[0] * dt
    _look_at_posture(machine, loop)
    if plan.whole[TWISTED] > 0:
        _turn_twist_into_speeds(machine, loop)
    for j in range(plan.kind.shape[0]):
        kind, i = plan.kind[j], loop.joint_v[j]
        if loop.joints[j, CHANNEL] >= 0:
            continue
        if kind == PIECES:
            _follow_pieces(machine, loop, j, time + dt)
        elif kind == SERVO:
            _move_set_point(machine, loop, j, dt)
        elif kind == DAMPER:
            _write_speed(machine, i, plan.speed[j])
        elif kind == RAMP:
            _climb(machine, plan, j, i, dt)
        if plan.is_weighed[j]:
            drives.effort[i] = plan.weight[i] + 0.0  # no negative zero, as Python writes none


@kernel
def keep_set_points(plan):
    """Make the set-points at the end of the step that was taken those at the begin of the next.

    Reads plan: coming, kind.
    Writes plan: place.
    """
    for j in range(plan.kind.shape[0]):
        if plan.kind[j] != STANDS:
            plan.place[j] = plan.coming[j]


@kernel
def _look_at_posture(machine, loop):
    """Kinematics and weights, where they are needed.

    Reads loop: R_WB, S, p_WB; loop.plan: weight, whole; machine.state: q.
    Writes loop: R_WB, S, p_WB; loop.plan: weight.
    """
    plan, tree = loop.plan, machine.model.tree
    if plan.whole[WEIGHTS] or plan.whole[TWISTED] > 0:
        forward_kinematics(tree, machine.state.q, loop.R_WB, loop.p_WB, loop.S)
    if plan.whole[WEIGHTS]:
        gravity_forces(tree, loop.R_WB, loop.p_WB, loop.S, plan.weight, plan.memory)


@kernel
def _follow_pieces(machine, loop, j, time):
    """Command the position and velocity of a trajectory at simulated ``time`` (s).

    Reads loop: joint_v; loop.plan: is_rated, knots, piece, pieces, zero; machine.model.tree: q_lower, q_upper.
    Writes loop.plan: coming, desired, piece; machine.drives: q_target.
    """
    plan, tree, drives, i = loop.plan, machine.model.tree, machine.drives, loop.joint_v[j]
    since = time - plan.zero[j]
    while plan.piece[j] + 1 < MOST_PIECES and since >= plan.knots[j, plan.piece[j] + 1]:
        plan.piece[j] += 1
    k = plan.piece[j]
    c = plan.pieces[j, k]
    t = since - plan.knots[j, k]
    place = c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5]))))
    speed = c[1] + t * (2 * c[2] + t * (3 * c[3] + t * (4 * c[4] + t * 5 * c[5])))
    place = min(max(place, tree.q_lower[i]), tree.q_upper[i])
    plan.desired[j, 0], plan.desired[j, 1] = place, speed
    plan.coming[j] = place
    drives.q_target[i] = place + 0.0
    if plan.is_rated[j]:
        _write_speed(machine, i, speed)


@kernel
def _write_speed(machine, i, speed):
    """Command a velocity within the limit.

    Reads machine.model.tree: velocity_limit.
    Writes machine.drives: v_target.
    """
    most = machine.model.tree.velocity_limit[i]
    machine.drives.v_target[i] = max(-most, min(speed + 0.0, most))


@kernel
def _move_set_point(machine, loop, j, dt):
    """Move a set-point at its speed: within the limits, and not further from its joint than the drive reaches.

    Reads loop: joint_q, joint_v; loop.plan: coming, place, reach, speed; machine.state: q; machine.model.tree: q_lower,
    q_upper.
    Writes loop.plan: coming; machine.drives: q_target.
    """
    plan, tree, i = loop.plan, machine.model.tree, loop.joint_v[j]
    place, speed = machine.state.q[loop.joint_q[j]], plan.speed[j]
    reach = plan.reach[j] + dt * abs(speed)
    near = max(place - reach, min(plan.place[j] + dt * speed, place + reach))
    plan.coming[j] = max(tree.q_lower[i], min(near, tree.q_upper[i]))
    machine.drives.q_target[i] = plan.coming[j] + 0.0
    _write_speed(machine, i, speed if plan.coming[j] == near else 0.0)


@kernel
def _climb(machine, plan, j, i, dt):
    """Bring the position of a ramp nearer to its end.

    Reads plan: coming, end, place, speed.
    Writes plan: coming; machine.drives: q_target.
    """
    step, left = plan.speed[j] * dt, plan.end[j] - plan.place[j]
    plan.coming[j] = plan.end[j]
    if abs(left) > step:
        plan.coming[j] = plan.place[j] + (step if left > 0.0 else -step)
    machine.drives.q_target[i] = plan.coming[j] + 0.0


@kernel
def _turn_twist_into_speeds(machine, loop):
    """Speeds of the joints of an arm at which its tool moves as it is told.

    Reads loop: R_WB, S, joint_q, joint_v, p_WB; loop.plan: A, J_WT, J_arm, arm, bounds, is_free, p_WT, rates, twist_W,
    whole, x; machine.model: link_body, p_BL; machine.state: q; machine.model.tree: q_lower, q_upper, velocity_limit.
    Writes loop.plan: A, J_WT, J_arm, bounds, is_free, p_WT, rates, speed, twist_W, x.
    """
    plan, model = loop.plan, machine.model
    _turn_twist_into_world(model, loop)
    body, tool, num = model.link_body[plan.whole[TOOL]], plan.whole[TOOL], plan.whole[TWISTED]
    for r in range(3):
        plan.p_WT[r] = model.p_BL[tool, r]
        if body >= 0:
            plan.p_WT[r] = loop.R_WB[body, r, 0] * model.p_BL[tool, 0]
            plan.p_WT[r] += loop.R_WB[body, r, 1] * model.p_BL[tool, 1]
            plan.p_WT[r] += loop.R_WB[body, r, 2] * model.p_BL[tool, 2]
            plan.p_WT[r] += loop.p_WB[body, r]
    for r in range(6):
        for c in range(plan.J_WT.shape[1]):
            plan.J_WT[r, c] = 0.0
    add_point_jacobian(model.tree, loop.S, body, plan.p_WT, 1.0, plan.J_WT)
    for n in range(num):
        j = plan.arm[n]
        i, q = loop.joint_v[j], machine.state.q[loop.joint_q[j]]
        plan.bounds[0, n] = (model.tree.q_lower[i] - q) / STOP_TIME
        plan.bounds[1, n] = (model.tree.q_upper[i] - q) / STOP_TIME
        for r in range(6):
            plan.J_arm[r, n] = plan.J_WT[r, i]
    resolve_rates(plan.J_arm, num, plan.twist_W, plan.bounds, plan.rates, plan.is_free, plan.A, plan.x)
    share = 1.0  # scaling all joints equally preserves the direction
    for n in range(num):
        most = model.tree.velocity_limit[loop.joint_v[plan.arm[n]]]
        share = min(share, most / max(abs(plan.rates[n]), _LEAST_RATE))
    for n in range(num):
        j = plan.arm[n]
        most = model.tree.velocity_limit[loop.joint_v[j]]
        plan.speed[j] = max(-most, min(share * plan.rates[n], most))


@kernel
def _turn_twist_into_world(model, loop):
    """The desired twist in the world's axes.

    Reads loop: R_WB; model: R_BL, link_body; loop.plan: twist, whole.
    Writes loop.plan: twist_W.
    """
    plan, frame = loop.plan, loop.plan.whole[FRAME]
    for r in range(6):
        plan.twist_W[r] = plan.twist[r]
    if frame < 0:
        return
    body = model.link_body[frame]
    for r in range(3):
        angular, linear = 0.0, 0.0
        for c in range(3):
            entry = model.R_BL[frame, r, c]
            if body >= 0:
                entry = loop.R_WB[body, r, 0] * model.R_BL[frame, 0, c]
                entry += loop.R_WB[body, r, 1] * model.R_BL[frame, 1, c]
                entry += loop.R_WB[body, r, 2] * model.R_BL[frame, 2, c]
            angular = entry * plan.twist[c] if c == 0 else angular + entry * plan.twist[c]
            linear = entry * plan.twist[3 + c] if c == 0 else linear + entry * plan.twist[3 + c]
        plan.twist_W[r], plan.twist_W[3 + r] = angular, linear


# --- States that Python has asked for


@kernel
def is_asked_for(machine, loop, dt):
    """Whether Python wants to see the present state.

    Reads loop.plan: whole.
    """
    is_wanted = False
    for g in range(loop.plan.whole[GRIPS]):
        is_wanted = _gripper_is_done(machine, loop, g, dt) or is_wanted
    return is_wanted or _run_is_wanted(machine, loop)


@kernel
def _run_is_wanted(machine, loop):
    """Whether a joint has left its tolerances, or all joints of a run that ends are within them.

    Reads loop: joint_q, joint_v, joints; loop.plan: allowed, desired, off, run, watch, whole; machine.state: q, v.
    Writes loop.plan: off.
    """
    plan, is_wanted = loop.plan, False
    for run in range(plan.whole[RUNS]):
        plan.off[run] = 0
    for j in range(plan.run.shape[0]):
        if plan.watch[j] == NEVER or loop.joints[j, CHANNEL] >= 0:
            continue
        place, speed = plan.allowed[j, 0], plan.allowed[j, 1]
        is_off = 0.0 < place < abs(plan.desired[j, 0] - machine.state.q[loop.joint_q[j]])
        is_off = is_off or 0.0 < speed < abs(plan.desired[j, 1] - machine.state.v[loop.joint_v[j]])
        is_wanted = is_wanted or (is_off and plan.watch[j] == LEFT)
        # Runs that are on their way are not asked for where nothing is off.
        plan.off[plan.run[j]] += 1 if is_off or plan.watch[j] != REACHED else 0
    for run in range(plan.whole[RUNS]):
        is_wanted = is_wanted or plan.off[run] == 0
    return is_wanted


@kernel
def _gripper_is_done(machine, loop, g, dt):
    """Whether a gripper is where it was told to go, or has stood for long.

    Reads loop: joint_offset, joint_q, joint_scale, joint_v; loop.plan: closed, closing, finger, gap, is_linkage,
    moved_at, near, patience, slowest; machine.state: q, step, v.
    Writes loop.plan: moved_at.
    """
    plan, gap, speed = loop.plan, 0.0, 0.0
    time, patience = machine.state.step[0] * dt, plan.patience[g]
    for n in range(plan.finger.shape[1]):
        j = plan.finger[g, n]
        if j < 0:
            break
        scale = loop.joint_scale[j]
        place = scale * machine.state.q[loop.joint_q[j]] + loop.joint_offset[j]
        gap += place if plan.is_linkage[g] else plan.closing[g, n] * (plan.closed[g, n] - place)
        speed += plan.closing[g, n] * (scale * machine.state.v[loop.joint_v[j]])
    if abs(speed) > plan.slowest[g]:
        plan.moved_at[g] = time
    return abs(gap - plan.gap[g]) < plan.near[g] or time - plan.moved_at[g] > patience
