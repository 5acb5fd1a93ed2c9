# mypy: allow-untyped-defs
"""Readings of sensors into the ring: what ``sensors/`` reads of snapshots, for clients of other processes."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.dynamics.equations import inverse_dynamics
from hydro_sim_core.dynamics.kinematics import body_velocities, forward_kinematics, integrate_positions
from hydro_sim_core.noise import standard_normals
from hydro_sim_core.shared_memory.layout import SensorKind
from hydro_sim_core.simulation.realtime.quaternions import write_quaternion
from hydro_sim_core.simulation.stepping.pulls import DAMPING, STIFFNESS, TARGET

_FORCE_TORQUE, _IMU = int(SensorKind.FORCE_TORQUE), int(SensorKind.IMU)
#: Columns of ``SensorTables.mass``, and of ``SensorTables.lifted``.
_MASS, _CENTRE = 0, 1
#: Columns of ``SensorTables.motion``.
_SPIN, _VELOCITY, _PLACE = 0, 3, 6


@kernel
def tell_sensors(machine, loop, slot, dt, has_stepped):
    """Write the readings of all sensors to a slot.

    Args:
        machine: Data of the step.
        loop: Data of the loop; ``q_before`` and ``v_before`` are those of the last step.
        slot: Where the slot begins.
        dt: Time step, s.
        has_stepped: Whether a step led to the state. Else accelerations count as zero, and nothing is touched.

    Reads loop: q_before, v_before; loop.sensors: follows_motion, kind; machine.state: q, v.
    Writes loop.sensors: change, mean.
    """
    sensors, state = loop.sensors, machine.state
    num = sensors.kind.shape[0]
    if num == 0:
        return
    q, v = (loop.q_before, loop.v_before) if has_stepped else (state.q, state.v)
    for i in range(state.v.shape[0]):
        sensors.mean[i] = 0.5 * (v[i] + state.v[i])
        sensors.change[i] = (state.v[i] - v[i]) / dt
    _move_links(machine.model, loop, q, v)
    for n in range(num):
        _keep_motion(machine.model, loop, n, 0)
    if _has_kind(sensors, _FORCE_TORQUE):
        if has_stepped and sensors.follows_motion == 1:
            _move_to_middle(machine, loop, dt)
        _find_wrenches(machine, loop, dt, has_stepped)
    for n in range(num):
        if sensors.kind[n] == _FORCE_TORQUE:
            _tell_wrench(loop, n, slot)
    if not _has_kind(sensors, _IMU):
        return
    _move_links(machine.model, loop, state.q, state.v)
    for n in range(num):
        _keep_motion(machine.model, loop, n, 1)
        if sensors.kind[n] != _FORCE_TORQUE:
            _tell_imu(machine, loop, n, slot, dt)


@kernel
def _move_links(model, loop, q, v):
    """Poses and velocities of bodies, and poses of links, at coordinates and velocities.

    Reads loop: R_WB, S, p_WB; loop.sensors.memory: V_WB.
    Writes loop: R_WB, S, p_WB; loop.sensors.memory: V_WB.
    """
    forward_kinematics(model.tree, q, loop.R_WB, loop.p_WB, loop.S)
    body_velocities(model.tree, v, loop.S, loop.sensors.memory.V_WB)
    _place_links(model, loop)


@kernel
def _move_to_middle(machine, loop, dt):
    """Posture and velocities in the middle of a step that follows the motion, see ``World.motion_of_step``.

    Reads loop: q_before, v_before; loop.sensors: kind, mean, q_half, v_half; machine.state: v; machine.model.tree:
    prescribed.
    Writes loop.sensors: mean, q_half, v_half.
    """
    sensors, state, tree = loop.sensors, machine.state, machine.model.tree
    for i in range(state.v.shape[0]):
        # A kinematic base has the velocity of its end from the step's begin on.
        v = state.v[i] if tree.prescribed[i] else loop.v_before[i]
        sensors.mean[i] = 0.5 * (v + state.v[i])
        sensors.v_half[i] = 0.75 * v + 0.25 * state.v[i]
    integrate_positions(tree, loop.q_before, sensors.v_half, 0.5 * dt, sensors.q_half)
    _move_links(machine.model, loop, sensors.q_half, sensors.mean)
    for n in range(sensors.kind.shape[0]):
        if sensors.kind[n] == _FORCE_TORQUE:
            _keep_motion(machine.model, loop, n, 0)


@kernel
def _has_kind(sensors, kind):
    """Whether there is a sensor of a kind.

    Reads sensors: kind.
    """
    has = False
    for n in range(sensors.kind.shape[0]):
        has = has or sensors.kind[n] == kind
    return has


@kernel
def _place_links(model, loop):
    """Poses of links at the posture of the bodies.

    Reads loop: R_WB, p_WB; model: R_BL, link_body, p_BL.
    Writes loop.sensors: pose.
    """
    pose = loop.sensors.pose
    for link in range(pose.shape[0]):
        body = model.link_body[link]
        for r in range(3):
            p = model.p_BL[link, r]
            if body >= 0:
                p = loop.p_WB[body, r]
                for k in range(3):
                    p += loop.R_WB[body, r, k] * model.p_BL[link, k]
            pose[link, 9 + r] = p
            for c in range(3):
                entry = model.R_BL[link, r, c]
                if body >= 0:
                    entry = 0.0
                    for k in range(3):
                        entry += loop.R_WB[body, r, k] * model.R_BL[link, k, c]
                pose[link, 3 * r + c] = entry


# --- Wrenches that joints transmit


@kernel
def _find_wrenches(machine, loop, dt, has_stepped):
    """What parents apply to links: what changes the momentum of all that they carry, less what else pushes it.

    Reads loop: R_WB, S, p_WB; loop.sensors: change, follows_motion, mean, parent, pose, tau, wrench; machine.loads:
    num_pulls, wrench; machine.state: v; loop.sensors.memory: V_WB.
    Writes loop.sensors: tau, wrench; loop.sensors.memory: V_WB.
    """
    sensors, model, memory = loop.sensors, machine.model, loop.sensors.memory
    wrench, parent = sensors.wrench, sensors.parent
    inverse_dynamics(
        model.tree, loop.R_WB, loop.p_WB, loop.S, sensors.mean, sensors.change, sensors.tau, memory
    )
    for link in range(wrench.shape[0]):
        _find_momentum_rate(model, sensors, link)
    if has_stepped:
        _take_contacts_off(machine, sensors)
        for link in range(wrench.shape[0]):
            for r in range(6):
                wrench[link, r] -= machine.loads.wrench[link, r]
            _add_moment(sensors.pose[link, 9:], machine.loads.wrench[link, 3:], -1.0, wrench[link])
        if machine.loads.num_pulls[0] > 0:
            if sensors.follows_motion == 0:  # else they are those of the middle already
                body_velocities(model.tree, machine.state.v, loop.S, memory.V_WB)
            _take_pulls_off(machine, sensors, dt)
    # Links are listed parents first.
    for back in range(wrench.shape[0]):
        link = wrench.shape[0] - 1 - back
        if parent[link] >= 0:
            for r in range(6):
                wrench[parent[link], r] += wrench[link, r]


@kernel
def _add_moment(p, force, sign, wrench):
    """Add ``sign`` times the moment of a force at p about the origin."""
    wrench[0] += sign * (p[1] * force[2] - p[2] * force[1])
    wrench[1] += sign * (p[2] * force[0] - p[0] * force[2])
    wrench[2] += sign * (p[0] * force[1] - p[1] * force[0])


@kernel
def _find_momentum_rate(model, sensors, link):
    """Rate of a link's momentum relative to free fall, its moment about the origin, into its wrench.

    Reads model: link_body; sensors: lifted, mass, pose, turns, wrench; model.tree: gravity; sensors.memory: A_WB, V_WB.
    Writes sensors: turns, wrench.
    """
    body, pose, wrench, mass = (
        model.link_body[link],
        sensors.pose[link],
        sensors.wrench[link],
        sensors.mass[link],
    )
    A, V = sensors.memory.A_WB, sensors.memory.V_WB
    w, a, x = sensors.turns[0], sensors.turns[1], sensors.turns[2]
    for r in range(3):
        x[r] = pose[9 + r] + pose[3 * r] * mass[_CENTRE] + pose[3 * r + 1] * mass[_CENTRE + 1]
        x[r] += pose[3 * r + 2] * mass[_CENTRE + 2]
        w[r], a[r] = (V[body, r], A[body, r]) if body >= 0 else (0.0, 0.0)
    # Velocity of the centre of mass.
    u0, u1, u2 = w[1] * x[2] - w[2] * x[1], w[2] * x[0] - w[0] * x[2], w[0] * x[1] - w[1] * x[0]
    if body >= 0:
        u0, u1, u2 = u0 + V[body, 3], u1 + V[body, 4], u2 + V[body, 5]
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        u = (u0, u1, u2)
        linear = A[body, 3 + r] if body >= 0 else -model.tree.gravity[r]
        turning = a[i] * x[j] - a[j] * x[i] + w[i] * u[j] - w[j] * u[i]
        wrench[3 + r] = mass[_MASS] * (linear + turning)
        wrench[r] = 0.0
    _add_spin(sensors, link, w, a, wrench)
    _add_moment(x, wrench[3:], 1.0, wrench)
    if sensors.lifted[link, _MASS] > 0.0:
        _add_lift(sensors, model.tree.gravity, link)


@kernel
def _add_lift(sensors, gravity, link):
    """Add the weight that is taken off a link: it does not fall, so that only its acceleration takes a force.

    Reads sensors: lifted, pose, turns, wrench.
    Writes sensors: turns, wrench.
    """
    lifted, pose, wrench = sensors.lifted[link], sensors.pose[link], sensors.wrench[link]
    moment = sensors.turns[0]
    for r in range(3):
        moment[r] = lifted[_MASS] * pose[9 + r]
        for k in range(3):
            moment[r] += pose[3 * r + k] * lifted[_CENTRE + k]
        wrench[3 + r] += lifted[_MASS] * gravity[r]
    _add_moment(moment, gravity, 1.0, wrench)


@kernel
def _add_spin(sensors, link, w, a, wrench):
    """Add the rate of the angular momentum about the centre of mass, I a + w x I w.

    Reads sensors: I_LCo, pose.
    """
    pose, inertia = sensors.pose[link], sensors.I_LCo[link]
    h0 = h1 = h2 = 0.0
    for c in range(3):
        # Angular velocity and acceleration in the axes of the link, then back.
        spin, turn = 0.0, 0.0
        for k in range(3):
            for r in range(3):
                spin += inertia[c, k] * pose[3 * r + k] * w[r]
                turn += inertia[c, k] * pose[3 * r + k] * a[r]
        h0, h1, h2 = h0 + pose[c] * spin, h1 + pose[3 + c] * spin, h2 + pose[6 + c] * spin
        for r in range(3):
            wrench[r] += pose[3 * r + c] * turn
    wrench[0] += w[1] * h2 - w[2] * h1
    wrench[1] += w[2] * h0 - w[0] * h2
    wrench[2] += w[0] * h1 - w[1] * h0


@kernel
def _take_contacts_off(machine, sensors):
    """Take what contacts push from what parents apply.

    Reads sensors: links_of_pair, turns, wrench; machine.scratch.patches: R_WG, num, p_GR, p_WG, pair, wrench.
    Writes sensors: turns, wrench.
    """
    patches, point = machine.scratch.patches, sensors.turns[0]
    for p in range(patches.num[0]):
        for r in range(3):
            point[r] = patches.p_WG[p, r]
            for c in range(3):
                point[r] += patches.R_WG[p, r, c] * patches.p_GR[p, c]
        for side in range(2):
            link, sign = sensors.links_of_pair[patches.pair[p], side], 1.0 if side == 0 else -1.0
            if link >= 0:  # the wrench acts on the second shape
                for r in range(6):
                    sensors.wrench[link, r] += sign * patches.wrench[p, r]
                _add_moment(point, patches.wrench[p, 3:], sign, sensors.wrench[link])


@kernel
def _take_pulls_off(machine, sensors, dt):
    """Take what springs pull: from where points are at the begin of the step, with their velocities at its end.

    Where steps follow the motion, both are those of the middle.

    Reads sensors: follows_motion, pose, turns, wrench; machine.loads: pull; machine.model: link_body; sensors.memory:
    V_WB.
    Writes sensors: turns, wrench.
    """
    model, loads, V = machine.model, machine.loads, sensors.memory.V_WB
    point, force = sensors.turns[0], sensors.turns[1]
    # A step from the first posture is implicit: the point goes on with the velocity at its end.
    ahead = dt if sensors.follows_motion == 0 else 0.0
    for link in range(loads.pull.shape[0]):
        pull, pose, body = loads.pull[link], sensors.pose[link], model.link_body[link]
        if pull[STIFFNESS] == 0.0:
            continue
        for r in range(3):
            point[r] = pose[9 + r]
            for c in range(3):
                point[r] += pose[3 * r + c] * pull[c]
        for r in range(3):
            i, j = (r + 1) % 3, (r + 2) % 3
            speed = 0.0
            if body >= 0:
                speed = V[body, 3 + r] + V[body, i] * point[j] - V[body, j] * point[i]
            force[r] = pull[STIFFNESS] * (pull[TARGET + r] - point[r])
            force[r] -= (pull[DAMPING] + ahead * pull[STIFFNESS]) * speed
            sensors.wrench[link, 3 + r] -= force[r]
        _add_moment(point, force, -1.0, sensors.wrench[link])


@kernel
def _tell_wrench(loop, n, slot):
    """Write force and torque that a sensor's link applies to its parent, about and along the sensor's frame.

    Reads loop.at: slot_sensors; loop.sensors: R_WS, first, link, motion, sign, wrench.
    Writes loop: reals.
    """
    sensors, at = loop.sensors, slot + loop.at.slot_sensors + loop.sensors.first[n]
    wrench, R, p = sensors.wrench[sensors.link[n]], sensors.R_WS[3 * n], sensors.motion[2 * n]
    sign = -sensors.sign[n, 0]
    for r in range(3):
        force, torque = 0.0, 0.0
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            moment = wrench[k] - (p[_PLACE + i] * wrench[3 + j] - p[_PLACE + j] * wrench[3 + i])
            force += R[k, r] * wrench[3 + k]
            torque += R[k, r] * moment
        loop.reals[at + r], loop.reals[at + 3 + r] = sign * force, sign * torque


# --- Motion of sensors


@kernel
def _keep_motion(model, loop, n, when):
    """Keep orientation, place, angular velocity and velocity of a sensor, at the begin (0) or the end (1) of a step.

    Reads model: link_body; loop.sensors: R_LS, R_WS, link, motion, p_LS, pose; loop.sensors.memory: V_WB.
    Writes loop.sensors: R_WS, motion.
    """
    sensors, link = loop.sensors, loop.sensors.link[n]
    pose, body, V = sensors.pose[link], model.link_body[link], sensors.memory.V_WB
    R, motion = sensors.R_WS[3 * n + when], sensors.motion[2 * n + when]
    for r in range(3):
        motion[_PLACE + r] = pose[9 + r]
        for k in range(3):
            motion[_PLACE + r] += pose[3 * r + k] * sensors.p_LS[n, k]
        for c in range(3):
            R[r, c] = 0.0
            for k in range(3):
                R[r, c] += pose[3 * r + k] * sensors.R_LS[n, k, c]
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        motion[_SPIN + r] = V[body, r] if body >= 0 else 0.0
        motion[_VELOCITY + r] = 0.0
        if body >= 0:
            turning = V[body, i] * motion[_PLACE + j] - V[body, j] * motion[_PLACE + i]
            motion[_VELOCITY + r] = V[body, 3 + r] + turning


@kernel
def _tell_imu(machine, loop, n, slot, dt):
    """Write orientation, angular velocity and specific force of an IMU, with its errors.

    Reads loop.at: slot_sensors; loop.sensors: R_WS, bias, deviation, first, motion, noise, seed, turns; machine.state:
    step; machine.model.tree: gravity.
    Writes loop: reals; loop.sensors: R_WS, noise, turns.
    """
    sensors, reals = loop.sensors, loop.reals
    at = slot + loop.at.slot_sensors + sensors.first[n]
    start, end, middle = sensors.turns[0], sensors.turns[1], sensors.turns[2]
    write_quaternion(sensors.R_WS[3 * n], start, 0)
    write_quaternion(sensors.R_WS[3 * n + 1], end, 0)
    _halve_turn(start, end, middle)
    for k in range(3):
        reals[at + k] = end[1 + k]
    reals[at + 3] = end[0]
    noise, deviation = sensors.noise, sensors.deviation[n]
    if deviation[0] > 0.0 or deviation[1] > 0.0:
        standard_normals(sensors.seed[n, 0], sensors.seed[n, 1], machine.state.step[0], noise)
    else:
        noise[:] = 0.0
    R, R_WM = sensors.R_WS[3 * n + 1], sensors.R_WS[3 * n + 2]
    _write_rotation(middle, R_WM)
    before, after = sensors.motion[2 * n], sensors.motion[2 * n + 1]
    for r in range(3):
        spin, force = 0.0, 0.0
        for k in range(3):
            acceleration = (after[_VELOCITY + k] - before[_VELOCITY + k]) / dt
            spin += R[k, r] * after[_SPIN + k]
            force += R_WM[k, r] * (acceleration - machine.model.tree.gravity[k])
        reals[at + 4 + r] = spin + sensors.bias[n, r] + deviation[0] * noise[r]
        reals[at + 7 + r] = force + sensors.bias[n, 3 + r] + deviation[1] * noise[3 + r]


@kernel
def _halve_turn(start, end, middle):
    """The unit quaternion half way between two."""
    cosine, squares = 0.0, 0.0
    for k in range(4):
        cosine += start[k] * end[k]
    for k in range(4):
        middle[k] = start[k] + end[k] if cosine >= 0.0 else start[k] - end[k]
        squares += middle[k] * middle[k]
    for k in range(4):
        middle[k] /= math.sqrt(squares)


@kernel
def _write_rotation(turn, R):
    """The rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = turn[0], turn[1], turn[2], turn[3]
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)
    R[1, 0], R[1, 1], R[1, 2] = 2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)
    R[2, 0], R[2, 1], R[2, 2] = 2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)
