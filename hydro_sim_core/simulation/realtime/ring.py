# mypy: allow-untyped-defs
"""States into the ring: what other processes and threads see of a step."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.compilation.instructions import clock_ns, fence, load, store, wake_all
from hydro_sim_core.dynamics.kinematics import forward_kinematics
from hydro_sim_core.shared_memory.layout import (
    Channel,
    Control,
    Flag,
    JointState,
    JointStatus,
    LinkState,
    Slot,
    Status,
    Wrench,
)
from hydro_sim_core.simulation.realtime.loop_data import (
    BEGAN,
    CHANNEL,
    CLIPPED,
    FACELESS,
    FACES,
    LATE,
    LOOKED_UNTIL,
    PATCHES,
    REFUSED,
    SERIAL,
    START,
    TIMED_OUT,
    WRITTEN,
)
from hydro_sim_core.simulation.realtime.quaternions import write_quaternion
from hydro_sim_core.simulation.realtime.sensors import tell_sensors
from hydro_sim_core.solvers.options import CONVERGED, ITERATIONS, NUM_REPORT, RESIDUAL

_CONVERGED = int(Flag.CONVERGED)
_IS_COMMANDED, _HAS_TIMED_OUT = int(JointStatus.COMMANDED), int(JointStatus.TIMED_OUT)
_IS_REFUSED, _IS_CLIPPED = int(JointStatus.REFUSED), int(JointStatus.CLIPPED)
_IS_SATURATED, _IS_AT_LIMIT = int(JointStatus.SATURATED), int(JointStatus.AT_LIMIT)
#: Distance from a stop, and from the largest effort as a share of it, at which a joint is said to be there.
_NEAR, _FULL = 1e-6, 1.0 - 1e-9
#: Rows of the table of counts and the solver's report that precede the contacts of a state.
NUM_COUNTS = 7


@kernel
def tell_state(machine, loop, dt, took, flags):
    """Publish the machine's state, after a step that took so many ns or after a change from outside.

    Reads loop: own, words; loop.at: channel_words, channels, control, num_channels, num_slots, ring, slot_commands,
    slot_words, status; machine.state: step, unconverged; machine.scratch.solver: report.
    Writes loop: own, reals, words.
    """
    at, words, reals, own = loop.at, loop.words, loop.reals, loop.own
    serial, report = own[SERIAL], machine.scratch.solver.report
    slot = at.ring + (serial % at.num_slots) * at.slot_words
    store(words, slot + Slot.SEQUENCE, 2 * serial + 1)
    fence()
    words[slot + Slot.SERIAL], words[slot + Slot.EPOCH] = serial, words[at.status + Status.EPOCH]
    words[slot + Slot.STEP] = machine.state.step[0]
    reals[slot + Slot.TIME] = machine.state.step[0] * dt
    words[slot + Slot.BEGAN_NS] = own[BEGAN] if took > 0 else 0
    words[slot + Slot.LATE_NS], words[slot + Slot.STEP_NS] = own[LATE] if took > 0 else 0, took
    words[slot + Slot.FLAGS] = flags + (_CONVERGED if report[CONVERGED] != 0.0 else 0)
    reals[slot + Slot.RESIDUAL] = report[RESIDUAL]
    words[slot + Slot.ITERATIONS] = int(report[ITERATIONS])
    words[slot + Slot.UNCONVERGED] = machine.state.unconverged[0]
    for c in range(at.num_channels):
        words[slot + at.slot_commands + c] = words[at.channels + c * at.channel_words + Channel.TAKEN]
    _tell_motion(machine, loop, slot)
    tell_sensors(machine, loop, slot, dt, took > 0)
    _tell_links(machine, loop, slot)
    _tell_wrenches(machine, loop, slot)
    _keep_contacts(machine, loop, serial)
    store(words, slot + Slot.SEQUENCE, 2 * serial + 2)
    own[SERIAL] = serial + 1
    store(words, at.status + Status.HEAD, serial + 1)
    fence()
    if load(words, at.control + Control.WAITERS) > 0:
        wake_all(words, at.status + Status.HEAD)


@kernel
def _tell_motion(machine, loop, slot):
    """Write coordinates, velocities and the states of joints.

    Reads loop: interfaces, joint_offset, joint_q, joint_scale, joint_v; loop.at: slot_joints, slot_q, slot_v;
    machine.scratch: effort; machine.state: q, v.
    Writes loop: reals, words.
    """
    at, state = loop.at, machine.state
    for i in range(state.q.shape[0]):
        loop.reals[slot + at.slot_q + i] = state.q[i]
    for i in range(state.v.shape[0]):
        loop.reals[slot + at.slot_v + i] = state.v[i]
    for j in range(loop.joint_q.shape[0]):
        row = slot + at.slot_joints + j * JointState.END
        scale, v = loop.joint_scale[j], loop.joint_v[j]
        loop.reals[row + JointState.POSITION] = scale * state.q[loop.joint_q[j]] + loop.joint_offset[j]
        loop.reals[row + JointState.VELOCITY] = scale * state.v[v]
        loop.reals[row + JointState.EFFORT] = machine.scratch.effort[v] if loop.interfaces[j] else 0.0
        loop.words[row + JointState.STATUS] = _joint_status(machine, loop, j)


@kernel
def _joint_status(machine, loop, j):
    """What is to be said of a joint.

    Reads loop: interfaces, joint_q, joint_v, joints; machine.drives: limit; machine.scratch: effort; machine.state: q;
    machine.model.tree: q_lower, q_upper.
    """
    told, status, i = loop.joints[j], 0, loop.joint_v[j]
    tree, place = machine.model.tree, machine.state.q[loop.joint_q[j]]
    status += _IS_COMMANDED if told[CHANNEL] >= 0 else 0
    status += _HAS_TIMED_OUT if told[TIMED_OUT] else 0
    status += _IS_REFUSED if told[REFUSED] else 0
    status += _IS_CLIPPED if told[CLIPPED] and told[CHANNEL] >= 0 else 0
    limit = machine.drives.limit[i]
    if loop.interfaces[j] and limit > 0.0 and abs(machine.scratch.effort[i]) >= _FULL * limit:
        status += _IS_SATURATED
    if place <= tree.q_lower[i] + _NEAR or place >= tree.q_upper[i] - _NEAR:
        status += _IS_AT_LIMIT
    return status


@kernel
def _tell_links(machine, loop, slot):
    """Write the poses of the links.

    Reads loop: R_WB, R_WL, p_WB; loop.at: slot_links; machine.model: R_BL, link_body, p_BL; machine.state: q.
    Writes loop: R_WB, R_WL, S, p_WB, reals.
    """
    model = machine.model
    forward_kinematics(model.tree, machine.state.q, loop.R_WB, loop.p_WB, loop.S)
    for link in range(model.link_body.shape[0]):
        row, body = slot + loop.at.slot_links + link * LinkState.END, model.link_body[link]
        for r in range(3):
            p = model.p_BL[link, r]
            if body >= 0:
                p = loop.p_WB[body, r]
                for k in range(3):
                    p += loop.R_WB[body, r, k] * model.p_BL[link, k]
            loop.reals[row + r] = p
            for c in range(3):
                entry = model.R_BL[link, r, c]
                if body >= 0:
                    entry = 0.0
                    for k in range(3):
                        entry += loop.R_WB[body, r, k] * model.R_BL[link, k, c]
                loop.R_WL[r, c] = entry
        write_quaternion(loop.R_WL, loop.reals, row + LinkState.QW)


@kernel
def _tell_wrenches(machine, loop, slot):
    """Write the contact wrenches and their sum.

    Reads loop: pair_swapped; loop.at: most_wrenches, slot_wrenches; machine.scratch.patches: R_WG, first_face,
    normal_force, num, num_deep, num_faceless, p_GR, p_WG, pair, wrench.
    Writes loop: reals, words.
    """
    at, words, reals, patches = loop.at, loop.words, loop.reals, machine.scratch.patches
    num, total = patches.num[0], 0.0
    told = min(num, at.most_wrenches)
    for p in range(num):
        wrench, normal = patches.wrench[p], patches.normal_force[p]
        total += math.sqrt(wrench[3] * wrench[3] + wrench[4] * wrench[4] + wrench[5] * wrench[5])
        if p >= told:
            continue
        row = slot + at.slot_wrenches + p * Wrench.END
        sign = -1.0 if loop.pair_swapped[patches.pair[p]] else 1.0
        words[row + Wrench.PAIR] = patches.pair[p]
        words[row + Wrench.FACES] = patches.first_face[p + 1] - patches.first_face[p]
        for r in range(3):
            point = patches.p_WG[p, r]
            for c in range(3):
                point += patches.R_WG[p, r, c] * patches.p_GR[p, c]
            reals[row + Wrench.POINT + r] = point
            reals[row + Wrench.MOMENT + r] = sign * wrench[r]
            reals[row + Wrench.FORCE + r] = sign * wrench[3 + r]
        size = normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]
        reals[row + Wrench.NORMAL_FORCE] = math.sqrt(size)
    words[slot + Slot.PATCHES], words[slot + Slot.FACES] = num, patches.first_face[num]
    words[slot + Slot.DEEP], words[slot + Slot.FACELESS] = patches.num_deep[0], patches.num_faceless[0]
    words[slot + Slot.NUM_WRENCHES] = told
    reals[slot + Slot.FORCE] = total


# --- Contacts, for those who look


@kernel
def _keep_contacts(machine, loop, serial):
    """Keep the contacts of a state, if somebody looks: what ``states.py`` makes a contact record of.

    Reads loop: own; machine.scratch.patches: first_face, num, num_faceless.
    Writes loop: contacts, kept.
    """
    scratch, own, out = machine.scratch, loop.own, loop.contacts
    kept, patches = loop.kept[serial % loop.kept.shape[0]], scratch.patches
    num, faceless = patches.num[0], patches.num_faceless[0]
    count = patches.first_face[num]
    kept[START] = -1
    if own[LOOKED_UNTIL] < clock_ns():
        return
    face = scratch.faces.data.shape[0] + scratch.faces.polygons.shape[1] * 3 + 3
    needed = count * face + num * 38 + 1 + faceless + NUM_COUNTS + NUM_REPORT
    needed += scratch.points.unrepeated.shape[0] + scratch.S.shape[0] * 6
    if needed > out.shape[0]:
        return
    start = own[WRITTEN]
    if start % out.shape[0] + needed > out.shape[0]:
        start += out.shape[0] - start % out.shape[0]
    # Readers look at this last: whatever they have copied of what is overwritten now is void.
    store(own, WRITTEN, start + needed)
    fence()
    kept[PATCHES], kept[FACES], kept[FACELESS] = num, count, faceless
    i = _copy_counts(machine, loop, out, start % out.shape[0])
    i = _copy_patches(patches, num, faceless, out, i)
    _copy_faces(scratch.faces, count, out, i)
    fence()  # who sees where the contacts begin sees their numbers, too
    kept[START] = start


@kernel
def _copy_counts(machine, loop, out, i):
    """Copy counters, the solver's report and what points did not repeat; return where to go on.

    Reads loop: spent; machine.scratch: S; machine.state: deep, faceless, unconverged, unsettled;
    machine.scratch.points: unrepeated; machine.scratch.solver: report.
    """
    state, scratch = machine.state, machine.scratch
    out[i], out[i + 1] = state.unconverged[0], state.unsettled[0]
    out[i + 2], out[i + 3] = state.deep[0], state.faceless[0]
    for k in range(loop.spent.shape[0]):
        out[i + 4 + k] = loop.spent[k]
    i += NUM_COUNTS
    for k in range(NUM_REPORT):
        out[i + k] = scratch.solver.report[k]
    i += NUM_REPORT
    for k in range(scratch.points.unrepeated.shape[0]):
        out[i + k] = scratch.points.unrepeated[k]
    i += scratch.points.unrepeated.shape[0]
    for body in range(scratch.S.shape[0]):
        for k in range(6):
            out[i + k] = scratch.S[body, 0, k]
        i += 6
    return i


@kernel
def _copy_patches(patches, num, faceless, out, i):
    """Copy the table of patches; return where to go on.

    Reads patches: R_BA, R_WG, apart, dropped_force, faceless_pair, faded_force, first_face, normal_force, p_BA, p_GR,
    p_WG, pair, wrench.
    """
    for p in range(num + 1):
        out[i + p] = patches.first_face[p]
    i += num + 1
    for p in range(num):
        out[i] = patches.pair[p]
        out[i + 1] = patches.dropped_force[p]
        for r in range(3):
            out[i + 2 + r], out[i + 5 + r] = patches.p_WG[p, r], patches.p_GR[p, r]
            out[i + 8 + r], out[i + 11 + r] = patches.wrench[p, r], patches.wrench[p, 3 + r]
            for c in range(3):
                out[i + 14 + 3 * r + c] = patches.R_WG[p, r, c]
                out[i + 23 + 3 * r + c] = patches.R_BA[p, r, c]
            out[i + 32 + r] = patches.p_BA[p, r]
        out[i + 35], out[i + 36] = patches.apart[p], patches.faded_force[p]
        i += 37
    for p in range(num):
        for r in range(3):
            out[i + 3 * p + r] = patches.normal_force[p, r]
    i += 3 * num
    for k in range(faceless):
        out[i + k] = patches.faceless_pair[k]
    return i + faceless


@kernel
def _copy_faces(faces, count, out, i):
    """Copy the faces.

    Reads faces: data, elements, num_vertices, polygons.
    """
    for row in range(faces.data.shape[0]):
        for k in range(count):
            out[i + k] = faces.data[row, k]
        i += count
    for k in range(count):
        out[i + k] = faces.num_vertices[k]
        out[i + count + 2 * k], out[i + count + 2 * k + 1] = faces.elements[k, 0], faces.elements[k, 1]
    i += 3 * count
    width = faces.polygons.shape[1]
    for k in range(count):
        for vertex in range(width):
            for r in range(3):
                out[i + (k * width + vertex) * 3 + r] = faces.polygons[k, vertex, r]
