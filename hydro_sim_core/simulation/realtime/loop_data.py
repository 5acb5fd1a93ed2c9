"""Data of the compiled loop: where words of the shared memory are, tables of the scene, and memory of its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import (
    ConstFloat1D,
    ConstInt1D,
    Float1D,
    Float2D,
    Float3D,
    Int1D,
    Int2D,
)
from hydro_sim_core.shared_memory.layout import NUM_CHANNELS, Command, Header, Mode
from hydro_sim_core.simulation.assembly.drive_gains import JointDrive
from hydro_sim_core.simulation.realtime.plan import Plan, make_plan
from hydro_sim_core.simulation.realtime.sensor_tables import SensorTables, make_sensor_tables
from hydro_sim_core.simulation.world import World

#: Words of ``Loop.own``: the next deadline, the begin of the last step (0 without one) and the lateness with which it
#: began, ns; the serial number of the next state; the step that is to be counted as followed by a command, and that
#: command's stamp; until when contacts are to be kept, ns; words of contacts written so far; the status of the step
#: that Python is asked to take; the first state that is not handed over to followers yet, -1 without followers; how
#: often a client has begun or ended to lead a joint; 1 where it takes the steps that are asked for in a pause;
#: ``Control.STEPS_DROPPED`` as it was heeded last; steps for which permits are waited for asleep.
DEADLINE, BEGAN, LATE, SERIAL, STAMP, LOOKED_UNTIL, WRITTEN, ASKED, READ, TAKEOVERS = range(10)
IN_PAUSE, DROPPED, ASLEEP = range(10, 13)
NUM_OWN = 13
#: Columns of ``Loop.joints``: channel that commands a joint, -1 without, the number of channels for one of a scene
#: before; 1 if its command has timed out; mode of it; 1 if the last one was refused; 1 if it was clipped.
CHANNEL, TIMED_OUT, MODE, REFUSED, CLIPPED = range(5)
#: Columns of ``Loop.kept``: where the contacts of a state begin, in words written; patches, faces, pairs without faces.
START, PATCHES, FACES, FACELESS = range(4)
#: Words for the contacts of the last states.
CONTACT_WORDS = 2**22


class Places(NamedTuple):
    """Offsets, strides and counts of the segment: its header, out of reach of clients."""

    control: int
    status: int
    histograms: int
    histogram_words: int
    channels: int
    num_channels: int
    channel_words: int
    banks: int
    num_banks: int
    bank_words: int
    commands: int
    ring: int
    num_slots: int
    slot_words: int
    slot_commands: int
    slot_q: int
    slot_v: int
    slot_joints: int
    slot_links: int
    slot_wrenches: int
    slot_sensors: int
    most_wrenches: int


class Loop(NamedTuple):
    """Arguments of the loop beside the machine.

    Attributes:
        at: Places in the segment.
        words: The segment.
        reals: The same memory, for words that are real.
        joint_q: (J,) coordinate of every joint in the table of joints.
        joint_v: (J,) its velocity.
        joint_scale: (J,) position over coordinate; 1 except for mimic joints.
        joint_offset: (J,) position at coordinate 0, rad or m.
        interfaces: (J,) bits of ``Mode`` that commands may have.
        kp: (J,) stiffness of the drive where a command has no gains of its own.
        kd: (J,) damping.
        effort_limit: (J,) largest effort of the drive.
        pair_swapped: (P,) 1 where the step's wrench acts on the shape that the table of pairs names first.
        R_WB: Scratch of forward kinematics.
        p_WB: Scratch.
        S: Scratch.
        R_WL: (3, 3) scratch: orientation of the present link.
        q_before: (nq,) coordinates before the last step.
        v_before: (nv,) velocities before it.
        bank: Copy of the words of a bank of commands.
        bank_reals: The same memory, for words that are real.
        taken: (C,) ``Channel.SEQUENCE`` of the commands in force.
        dead: (C,) where the client has died, one more than its last set's number; 0 elsewhere.
        joints: (J, 5) state of the command to each joint.
        until: (J,) simulated time at which it times out, s.
        own: Words of the loop's own.
        spent: (3,) ``Substeps.counts`` after the last step.
        sensors: Sensors that clients see.
        plan: What is commanded in the steps that it takes.
        kept: (slots, 4) contacts that are kept of each state of the ring.
        contacts: (CONTACT_WORDS,) these contacts, one after the other.
    """

    at: Places
    words: Int1D
    reals: Float1D
    joint_q: ConstInt1D
    joint_v: ConstInt1D
    joint_scale: ConstFloat1D
    joint_offset: ConstFloat1D
    interfaces: ConstInt1D
    kp: ConstFloat1D
    kd: ConstFloat1D
    effort_limit: ConstFloat1D
    pair_swapped: ConstInt1D
    R_WB: Float3D
    p_WB: Float2D
    S: Float3D
    R_WL: Float2D
    q_before: Float1D
    v_before: Float1D
    bank: Int1D
    bank_reals: Float1D
    taken: Int1D
    dead: Int1D
    joints: Int2D
    until: Float1D
    own: Int1D
    spent: Float1D
    sensors: SensorTables
    plan: Plan
    kept: Int2D
    contacts: Float1D


_PLACES = {
    "control": Header.AT_CONTROL,
    "status": Header.AT_STATUS,
    "histograms": Header.AT_HISTOGRAMS,
    "histogram_words": Header.HISTOGRAM_WORDS,
    "channels": Header.AT_CHANNELS,
    "num_channels": Header.NUM_CHANNELS,
    "channel_words": Header.CHANNEL_WORDS,
    "banks": Header.CHANNEL_BANKS,
    "num_banks": Header.NUM_BANKS,
    "bank_words": Header.BANK_WORDS,
    "commands": Header.BANK_COMMANDS,
    "ring": Header.AT_RING,
    "num_slots": Header.NUM_SLOTS,
    "slot_words": Header.SLOT_WORDS,
    "slot_commands": Header.SLOT_COMMANDS,
    "slot_q": Header.SLOT_Q,
    "slot_v": Header.SLOT_V,
    "slot_joints": Header.SLOT_JOINTS,
    "slot_links": Header.SLOT_LINKS,
    "slot_wrenches": Header.SLOT_WRENCHES,
    "slot_sensors": Header.SLOT_SENSORS,
    "most_wrenches": Header.MOST_WRENCHES,
}


def make_loop(words: np.ndarray, header: dict[Header, int], world: World) -> Loop:
    """Make the data of the loop of a world.

    Args:
        words: The segment, int64.
        header: Words of its header.
        world: The world.
    """
    built, drives = world.built, world.drives
    joints = built.assembly.scalar_joints
    driven = [drives.get(name) for name in world.joint_names]
    num_joints, num_bodies = len(joints), len(built.model.tree.parent)
    nq, nv = header[Header.NUM_Q], header[Header.NUM_V]
    bank = np.zeros(max(1, num_joints * Command.END), dtype=np.int64)
    pairs = np.sort(built.model.pairs, axis=1)
    return Loop(
        at=Places(**{name: header[place] for name, place in _PLACES.items()}),
        words=words,
        reals=words.view(np.float64),
        joint_q=np.array([joint.q_index for joint in joints], dtype=np.int64),
        joint_v=np.array([joint.v_index for joint in joints], dtype=np.int64),
        joint_scale=np.array([joint.scale for joint in joints], dtype=float),
        joint_offset=np.array([joint.offset for joint in joints], dtype=float),
        interfaces=np.array([_interfaces(drive) for drive in driven], dtype=np.int64),
        kp=np.array([0.0 if drive is None else drive.kp for drive in driven], dtype=float),
        kd=np.array([0.0 if drive is None else drive.kd for drive in driven], dtype=float),
        effort_limit=np.array(
            [0.0 if drive is None else drive.effort_limit for drive in driven], dtype=float
        ),
        pair_swapped=(pairs[:, 0] != built.model.pairs[:, 0]).astype(np.int64),
        R_WB=np.zeros((num_bodies, 3, 3)),
        p_WB=np.zeros((num_bodies, 3)),
        S=np.zeros((num_bodies, 6, 6)),
        R_WL=np.zeros((3, 3)),
        q_before=np.zeros(nq),
        v_before=np.zeros(nv),
        bank=bank,
        bank_reals=bank.view(np.float64),
        taken=np.zeros(NUM_CHANNELS, dtype=np.int64),
        dead=np.zeros(NUM_CHANNELS, dtype=np.int64),
        joints=np.full((num_joints, 5), [-1, 0, 0, 0, 0]),
        until=np.full(num_joints, np.inf),
        own=np.zeros(NUM_OWN, dtype=np.int64),
        spent=np.array([0.0, 0.0, np.inf]),
        sensors=make_sensor_tables(world),
        plan=make_plan(world),
        kept=np.zeros((header[Header.NUM_SLOTS], 4), dtype=np.int64),
        contacts=resident(CONTACT_WORDS, float),
    )


def resident(length: int, dtype: type) -> np.ndarray:
    """Zeros in memory that is there: to touch a page for the first time takes up to 4 ms on a virtual machine."""
    return np.full(length, 0, dtype=dtype)


def _interfaces(drive: JointDrive | None) -> int:
    """Bits of ``Mode`` that commands to a drive may have; with gains of their own they may have all."""
    if drive is None:
        return 0
    given = Mode.EFFORT | Mode.GAINS
    given |= Mode.POSITION if drive.kp > 0.0 else 0
    return int(given | (Mode.VELOCITY if drive.kd > 0.0 else 0))
