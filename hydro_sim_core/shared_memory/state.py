"""A state that a client has copied out of the ring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hydro_sim_core.shared_memory.layout import Flag, Header, JointState, LinkState, Slot, Wrench
from hydro_sim_core.shared_memory.memory import Memory
from hydro_sim_core.shared_memory.tables import Tables

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ContactWrench:
    """A contact wrench on B of a pair, mean over the step, world axes.

    Attributes:
        pair: Row of the pair in ``Tables.pairs``.
        faces: Number of contact faces.
        p_WC: Point that the moment is about, (3,), m.
        moment: (3,), N m.
        force: (3,), N.
        normal_force: Magnitude of the part of the force along the normals, N.
    """

    pair: int
    faces: int
    p_WC: Array
    moment: Array
    force: Array
    normal_force: float


class Rows:
    """Where in a slot a segment keeps what: constant, so that a state is made of a copy and nothing else."""

    def __init__(self, memory: Memory, tables: Tables) -> None:
        words = memory.words

        def table(at: Header, stride: Header, count: int) -> tuple[slice, tuple[int, int]]:
            begin = words[at]
            return slice(begin, begin + count * words[stride]), (count, words[stride])

        self.tables = tables
        begin = words[Header.SLOT_COMMANDS]
        self.commands = slice(begin, begin + words[Header.NUM_CHANNELS])
        self.q = slice(words[Header.SLOT_Q], words[Header.SLOT_Q] + tables.num_q)
        self.v = slice(words[Header.SLOT_V], words[Header.SLOT_V] + tables.num_v)
        self.joints = table(Header.SLOT_JOINTS, Header.JOINT_STATE_WORDS, len(tables.joints))
        self.links = table(Header.SLOT_LINKS, Header.LINK_STATE_WORDS, len(tables.links))
        self.wrenches = table(Header.SLOT_WRENCHES, Header.WRENCH_WORDS, words[Header.MOST_WRENCHES])
        self.sensors = words[Header.SLOT_SENSORS]


class State:
    """A state at the end of a step, or after a change from outside; its arrays may not be written.

    Joints and links are in the order of ``Client.joints`` and ``Client.links``.
    """

    __slots__ = ("_integers", "_reals", "_rows")

    def __init__(self, content: bytes, rows: Rows) -> None:
        self._integers = np.frombuffer(content, np.int64)
        self._reals = self._integers.view(np.float64)
        self._rows = rows

    @property
    def serial(self) -> int:
        """Its number; that of the next state is greater by one."""
        return int(self._integers[Slot.SERIAL])

    @property
    def epoch(self) -> int:
        """Number of restarts of the simulation before it."""
        return int(self._integers[Slot.EPOCH])

    @property
    def step(self) -> int:
        """Steps since the last reset."""
        return int(self._integers[Slot.STEP])

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return float(self._reals[Slot.TIME])

    @property
    def stepped(self) -> bool:
        """Whether a step led to it, and not a reset or another change from outside."""
        return bool(self._integers[Slot.FLAGS] & Flag.STEPPED)

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return bool(self._integers[Slot.FLAGS] & Flag.CONVERGED)

    @property
    def began_ns(self) -> int:
        """CLOCK_MONOTONIC at the begin of the step, ns; 0 for a change from outside."""
        return int(self._integers[Slot.BEGAN_NS])

    @property
    def late(self) -> float:
        """Wall-clock time by which the step began after its deadline, s."""
        return 1e-9 * int(self._integers[Slot.LATE_NS])

    @property
    def step_time(self) -> float:
        """Wall-clock time that the step took, s."""
        return 1e-9 * int(self._integers[Slot.STEP_NS])

    @property
    def q(self) -> Array:
        """Coordinates, (num_q,)."""
        return self._reals[self._rows.q]

    @property
    def v(self) -> Array:
        """Velocities, (num_v,)."""
        return self._reals[self._rows.v]

    @property
    def positions(self) -> Array:
        """Positions of the joints, (joints,), rad or m."""
        return self._joints(self._reals)[:, JointState.POSITION]

    @property
    def velocities(self) -> Array:
        """Velocities of the joints, (joints,), rad/s or m/s."""
        return self._joints(self._reals)[:, JointState.VELOCITY]

    @property
    def efforts(self) -> Array:
        """Efforts of the drives, mean over the step, (joints,), N m or N."""
        return self._joints(self._reals)[:, JointState.EFFORT]

    @property
    def joint_status(self) -> Array:
        """``JointStatus`` bits of the joints, (joints,)."""
        return self._joints(self._integers)[:, JointState.STATUS]

    @property
    def link_poses(self) -> Array:
        """Positions (m) and quaternions (w, x, y, z) of the links in the world, (links, 7)."""
        part, shape = self._rows.links
        return self._reals[part].reshape(shape)[:, : LinkState.QZ + 1]

    @property
    def commands(self) -> Array:
        """Number of the command set of each channel that was in force in this step, (channels,)."""
        return self._integers[self._rows.commands]

    @property
    def patches(self) -> int:
        """Number of contact patches."""
        return int(self._integers[Slot.PATCHES])

    @property
    def wrenches(self) -> list[ContactWrench]:
        """Contact wrenches of the first patches."""
        part, shape = self._rows.wrenches
        count = int(self._integers[Slot.NUM_WRENCHES])
        integers, reals = (words[part].reshape(shape)[:count] for words in (self._integers, self._reals))
        return [
            ContactWrench(
                pair=int(whole[Wrench.PAIR]),
                faces=int(whole[Wrench.FACES]),
                p_WC=real[Wrench.POINT : Wrench.POINT + 3],
                moment=real[Wrench.MOMENT : Wrench.MOMENT + 3],
                force=real[Wrench.FORCE : Wrench.FORCE + 3],
                normal_force=float(real[Wrench.NORMAL_FORCE]),
            )
            for whole, real in zip(integers, reals, strict=True)
        ]

    @property
    def sensors(self) -> dict[str, Array]:
        """Values of the sensors by name, in the order that ``SensorKind`` says."""
        begin = self._rows.sensors
        return {
            sensor.name: self._reals[begin + sensor.first : begin + sensor.first + sensor.count]
            for sensor in self._rows.tables.sensors
        }

    def _joints(self, words: Array) -> Array:
        part, shape = self._rows.joints
        return words[part].reshape(shape)
