"""Snapshots of the states in the ring."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.pressure_field.faces import MAX_VERTICES, NUM_ROWS, FaceBuffer
from hydro_sim_core.shared_memory.layout import Flag, Header, JointState, Slot
from hydro_sim_core.simulation.realtime.core import Core
from hydro_sim_core.simulation.realtime.loop_data import FACELESS, FACES, PATCHES, START, WRITTEN
from hydro_sim_core.simulation.realtime.ring import NUM_COUNTS
from hydro_sim_core.simulation.world import World
from hydro_sim_core.simulation.world.contact_records import ContactRecord
from hydro_sim_core.simulation.world.joint_wrenches import StepLoads
from hydro_sim_core.simulation.world.pulls import Pull
from hydro_sim_core.simulation.world.snapshot import Motion, Snapshot
from hydro_sim_core.solvers.options import (
    CONVERGED,
    FRICTION_CHANGE,
    ITERATIONS,
    NUM_REPORT,
    RESIDUAL,
    SOLVES,
)

Array = NDArray[np.float64]
_NUM_PATCH_WORDS = 37


class Circumstances(NamedTuple):
    """What does not change while the loop runs.

    Attributes:
        world: The world.
        loads: What pushes links.
        pulls: Springs that pull.
    """

    world: World
    loads: StepLoads
    pulls: tuple[Pull, ...]


class KeptOutcome:
    """What the loop has kept of a step, taken apart when somebody asks for it: most followers never do.

    Args:
        data: What was kept.
        num: Number of patches.
        count: Number of faces.
        faceless: Number of pairs that overlap without faces.
        world: The world.
    """

    def __init__(self, data: Array, num: int, count: int, faceless: int, world: World) -> None:
        self._data, self._num, self._count, self._faceless, self._world = data, num, count, faceless, world

    @cached_property
    def _parts(self) -> list[Array]:
        """Counts, report, and what a record is made of."""
        num, count = self._num, self._count
        sizes = _sizes_of_parts(self._world, num, count, self._faceless)
        return np.split(self._data, np.cumsum(sizes)[:-1])

    @cached_property
    def record(self) -> ContactRecord:
        """Contacts of the step."""
        return _record(self._parts[1:], self._world, self._num, self._count)

    @cached_property
    def diagnostics(self) -> Mapping[str, float | int | bool]:
        """``World.diagnostics`` after the step."""
        return MappingProxyType(_diagnostics(self._parts[0], self._parts[1], self.record, self._world))


def snapshot_of(core: Core, serial: int, told: Circumstances) -> Snapshot | None:
    """Snapshot of a state of the ring; None if it, or its contacts, are not kept any more or were not.

    Args:
        core: The memory.
        serial: Serial number of the state.
        told: Circumstances in which the loop runs.
    """
    slot = _copied_slot(core, serial)
    outcome = None if slot is None else _copied_outcome(core, serial, told.world)
    if slot is None or outcome is None:
        return None
    header, reals, world = core.header, slot.view(np.float64), told.world
    joints = reals[header[Header.SLOT_JOINTS] :][: len(world.joint_names) * JointState.END]
    joints = joints.reshape(-1, JointState.END)
    before = _copied_slot(core, serial - 1) if slot[Slot.FLAGS] & Flag.STEPPED else None
    return Snapshot(
        time=float(reals[Slot.TIME]),
        step=int(slot[Slot.STEP]),
        epoch=int(slot[Slot.EPOCH]),
        **_motion(core, reals),
        joint_positions=_fixed(joints[:, JointState.POSITION]),
        joint_velocities=_fixed(joints[:, JointState.VELOCITY]),
        joint_efforts=_fixed(joints[:, JointState.EFFORT]),
        pulls=told.pulls,
        before=None if before is None else Motion(**_motion(core, before.view(np.float64)), _world=world),
        _outcome=outcome,
        _loads=told.loads,
        _world=world,
    )


def _copied_slot(core: Core, serial: int) -> NDArray[np.int64] | None:
    """Copy of a slot; None if another state is in it."""
    length, whole = core.header[Header.SLOT_WORDS], 2 * serial + 2
    first = core.header[Header.AT_RING] + serial % core.header[Header.NUM_SLOTS] * length
    slot = core.words[first : first + length].copy()
    return slot if slot[Slot.SEQUENCE] == whole == core.words[first + Slot.SEQUENCE] else None


def _motion(core: Core, reals: Array) -> dict[str, Array]:
    q, v = core.header[Header.SLOT_Q], core.header[Header.SLOT_V]
    return {
        "q": _fixed(reals[q : q + core.header[Header.NUM_Q]]),
        "v": _fixed(reals[v : v + core.header[Header.NUM_V]]),
    }


def _fixed(values: Array) -> Array:
    """A read-only copy, so that not the whole slot lives as long as some of its values."""
    values = values.copy()
    values.flags.writeable = False
    return values


def _copied_outcome(core: Core, serial: int, world: World) -> KeptOutcome | None:
    loop = core.loop
    row = loop.kept[serial % len(loop.kept)].copy()
    start, num, count, faceless = (int(row[i]) for i in (START, PATCHES, FACES, FACELESS))
    if start < 0:
        return None
    room = len(loop.contacts)
    first, total = start % room, sum(_sizes_of_parts(world, num, count, faceless))
    data = loop.contacts[first : first + total].copy()
    overwritten = loop.own[WRITTEN] - start > room
    # Numbers that are just being written may be those of more than there is.
    if len(data) < total or overwritten or not np.array_equal(row, loop.kept[serial % len(loop.kept)]):
        return None
    return KeptOutcome(data, num, count, faceless, world)


def _sizes_of_parts(world: World, num: int, count: int, faceless: int) -> tuple[int, ...]:
    """Lengths of counts, report, points, joint axes, first faces, patches, normals, pairs without faces, and faces."""
    model = world.built.model
    num_points, num_bodies = len(model.points.pairs), len(model.tree.parent)
    patches = (num + 1, num * _NUM_PATCH_WORDS, 3 * num)
    faces = (NUM_ROWS * count, count, 2 * count, count * MAX_VERTICES * 3)
    return (NUM_COUNTS, NUM_REPORT, num_points, 6 * num_bodies, *patches, faceless, *faces)


def _record(parts: list[Array], world: World, num: int, count: int) -> ContactRecord:
    report, points, axes, first_face, patches, normals, faceless, data, vertices, elements, polygons = parts
    rows = patches.reshape(num, _NUM_PATCH_WORDS)
    what = points.astype(np.int64)
    unrepeated = np.flatnonzero(what) if report[CONVERGED] == 0.0 else np.zeros(0, dtype=np.int64)
    return ContactRecord(
        faces=FaceBuffer(
            data=data.reshape(NUM_ROWS, count),
            polygons=polygons.reshape(count, MAX_VERTICES, 3),
            num_vertices=vertices.astype(np.int64),
            elements=elements.reshape(count, 2).astype(np.int64),
        ),
        first_face=first_face.astype(np.int64),
        pair=rows[:, 0].astype(np.int64),
        R_WG=rows[:, 14:23].reshape(num, 3, 3),
        p_WG=rows[:, 2:5],
        R_BA=rows[:, 23:32].reshape(num, 3, 3),
        p_BA=rows[:, 32:35],
        p_GR=rows[:, 5:8],
        wrench=rows[:, 8:14],
        normal_force=normals.reshape(num, 3),
        dropped_force=rows[:, 1],
        apart=rows[:, 35],
        faded_force=rows[:, 36],
        faceless_pairs=faceless.astype(np.int64),
        unrepeated=np.column_stack((world.built.model.points.first_pair[0] + unrepeated, what[unrepeated])),
        joint_axis=axes.reshape(-1, 6),
    )


def _diagnostics(
    counts: Array, report: Array, record: ContactRecord, world: World
) -> dict[str, float | int | bool]:
    """As ``World.diagnostics``."""
    unconverged, unsettled, deep, faceless = (int(count) for count in counts[:4])
    return {
        "faces": int(record.first_face[-1]),
        "patches": len(record.pair),
        "iterations": int(report[ITERATIONS]),
        "residual": float(report[RESIDUAL]),
        "converged": bool(report[CONVERGED]),
        "solves": int(report[SOLVES]),
        "friction_change": float(report[FRICTION_CHANGE]),
        "unconverged_steps": unconverged,
        "unsettled_steps": unsettled,
        "deep_steps": deep,
        "faceless_steps": faceless,
        "faceless_overlaps": len(record.faceless_pairs),
        **world.loop_stepper.statistics_of(counts[4:]),
    }
