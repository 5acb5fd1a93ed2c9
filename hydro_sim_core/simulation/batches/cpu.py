"""Worlds of a batch on the cores of the processor: each is a ``World``, with its rows for arrays."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import Handle
from hydro_sim_core.dynamics.equations import body_accelerations_of_all
from hydro_sim_core.dynamics.kinematics import body_motions_of_all
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.batches.host_memory import available_bytes
from hydro_sim_core.simulation.batches.links import Begins, Pushes, mean_motions
from hydro_sim_core.simulation.batches.stepping import VARIED
from hydro_sim_core.simulation.batches.written import floating_bodies, unusable, written_rows
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import Drives, Loads, State
from hydro_sim_core.simulation.world.link_wrenches import PatchRows, rows_of
from hydro_sim_core.simulation.world.saved_state import SavedState
from hydro_sim_core.simulation.world.world import World

Rows = NDArray[Any]

#: Steps of a world between two looks whether whoever asked for them has been interrupted.
_BURST = 256
#: Bytes at whose multiples arrays begin: JAX takes over what begins at multiples of 64, and copies the rest.
_ALIGNMENT = 64


class CpuWorlds:
    """Worlds that threads step, as many at a time as there are cores.

    Args:
        scenes: A world of each scene, to copy.
        scene_of: (n,) scene of every world.

    Raises:
        InputError: There is too little memory for so many.

    Attributes:
        rows: Arrays (n, ...) with a row of every world, by the path of the field in ``WorldData``.
        failures: Worlds that cannot go on, and why.
        numpy: NumPy.
    """

    numpy = np

    def __init__(self, scenes: Sequence[World], scene_of: Rows) -> None:
        machines = [world.machine for world in scenes]
        _refuse_too_many(len(scene_of), machines)
        self.rows: dict[str, Rows] = {
            f"machine.{group}.{name}": _rows([getattr(getattr(m, group), name) for m in machines], scene_of)
            for group in ("state", "drives", "loads")
            for name in getattr(machines[0], group)._fields
        }
        self._varied = {
            name: _rows([_owner(m.model, owner, field) for m in machines], scene_of)
            for name, (owner, field) in VARIED.items()
        }
        self._written = written_rows(self.rows, self._varied)
        self.failures: dict[int, str] = {}
        for world in scenes:
            world.save_state()  # by what states are known stays that of the scene, whatever the parameters
        self._worlds = [self._bound(scenes[k].copy(), i) for i, k in enumerate(scene_of.tolist())]
        self._trees = [Handle(machine.model.tree) for machine in machines]
        self._floating = floating_bodies(machines[0].model.tree)
        self._subspaces = np.zeros_like(machines[0].scratch.S)

    def _bound(self, world: World, i: int) -> World:
        """A world whose arrays are rows ``i``."""

        def row_of(group: str, struct: type) -> Any:
            return struct(*(self.rows[f"machine.{group}.{name}"][i] for name in struct._fields))  # type: ignore[attr-defined]

        world.machine.is_helped = False  # the cores have worlds of their own to step
        world.use_arrays(
            row_of("state", State),
            row_of("drives", Drives),
            row_of("loads", Loads),
            {VARIED[name]: rows[i] for name, rows in self._varied.items()},
        )
        return world

    def parameter(self, name: str) -> Rows:
        """(n, ...) rows of a parameter."""
        return self._varied[name]

    def step(self, n: int) -> None:
        """Advance all worlds that can go on by ``n`` steps."""
        for i, why in unusable(np, self._written, self._floating):
            self.failures.setdefault(i, why)
        going = [i for i in range(len(self._worlds)) if i not in self.failures]
        cores, stop = min(_cores(), len(going)), threading.Event()
        if cores < 2:
            self._step_share(going, n, stop)
            return
        # A few shares a thread, so that none waits long for the others; worlds one by one would wait for Python.
        shares = np.array_split(np.array(going), 4 * cores)
        pool = _pool(os.getpid())
        running = [pool.submit(self._step_share, share.tolist(), n, stop) for share in shares]
        try:
            for done in running:
                done.result()
        except BaseException:  # Ctrl-C too: nobody steps the worlds any more when it is told
            stop.set()
            wait(running)
            raise

    def _step_share(self, worlds: list[int], n: int, stop: threading.Event) -> None:
        for i in worlds:
            try:
                for taken in range(0, n, _BURST):
                    if stop.is_set():
                        return
                    self._worlds[i].step(min(_BURST, n - taken))
            except FloatingPointError as error:
                self.failures[i] = str(error)

    def set_state(self, worlds: list[int], q: Rows, v: Rows) -> None:
        """Set the states of some worlds."""
        for row, i in enumerate(worlds):
            self._worlds[i].set_state(q[row], v[row])
            self.failures.pop(i, None)

    def reset(self, worlds: list[int]) -> None:
        """Go back to the start."""
        for i in worlds:
            self._worlds[i].reset()
            self.failures.pop(i, None)

    def save(self, i: int) -> SavedState:
        """State of a world."""
        return self._worlds[i].save_state()

    def load(self, i: int, saved: SavedState) -> None:
        """Continue a world from a state, which no step of its own led to.

        Raises:
            InputError: It is of another scene.
        """
        self._worlds[i].restore_state(saved)
        self.failures.pop(i, None)

    def patches(self) -> PatchRows:
        """Patches of the steps that led to the states of the worlds."""
        tables = [rows_of(world.machine.scratch.patches) for world in self._worlds]
        most = max(len(table.pair) for table in tables)
        has_begun = np.array([world.before_last_step is not None for world in self._worlds])
        num = np.where(has_begun, [table.num for table in tables], 0)
        rows = [np.zeros((len(tables), most, *array.shape[1:]), array.dtype) for array in tables[0][1:]]
        for i, table in enumerate(tables):
            for row, array in zip(rows, table[1:], strict=True):
                row[i, : table.num] = array
        return PatchRows(num, *rows)

    def begins(self) -> Begins:
        """Where these steps began; see ``links.Worlds``, as for all of these."""
        begins = [world.before_last_step or (world.q, world.v) for world in self._worlds]
        return Begins(*(np.array(rows) for rows in zip(*begins, strict=True)))

    def motions_of_steps(self) -> tuple[Rows, Rows, Rows]:
        """With which momenta changed in these steps; see ``links.Worlds``."""
        if not self._worlds[0].follows_motion:
            return mean_motions(self.begins(), self.rows["machine.state.v"], self._worlds[0].time_step)
        told = [world.motion_of_step(world.before_last_step, (world.q, world.v)) for world in self._worlds]
        q, mean, a = (np.array(rows) for rows in zip(*told, strict=True))
        return q, mean, a

    def pushes(self) -> Pushes:
        """What pushed in them, beside contact."""
        wrench, pulled = np.zeros_like(self.rows["machine.loads.wrench"]), []
        for i, world in enumerate(self._worlds):
            if world.before_last_step is None:
                continue
            for link, pushed in world.loads_of_last_step.wrenches.items():
                wrench[i, world.row_of_frame("joint_wrench", link)] = pushed
            if world.loads_of_last_step.pulls:
                pulled.append(i)
        return Pushes(wrench, pulled)

    def body_motions(self, scene: int, q: Rows, v: Rows) -> tuple[Rows, Rows, Rows]:
        """How the bodies of a scene lie and move in some worlds."""
        m, nb = len(q), len(self._subspaces)
        R_WB, p_WB, V_WB = np.empty((m * nb, 3, 3)), np.empty((m * nb, 3)), np.empty((m * nb, 6))
        body_motions_of_all(self._trees[scene], q, v, R_WB, p_WB, V_WB, self._subspaces)
        return R_WB.reshape(m, nb, 3, 3), p_WB.reshape(m, nb, 3), V_WB.reshape(m, nb, 6)

    def body_accelerations(self, scene: int, q: Rows, v: Rows, a: Rows) -> tuple[Rows, Rows, Rows, Rows]:
        """The same with their accelerations."""
        m, nb = len(q), len(self._subspaces)
        R_WB, p_WB, V_WB = np.empty((m * nb, 3, 3)), np.empty((m * nb, 3)), np.empty((m * nb, 6))
        A_WB = np.empty_like(V_WB)
        body_accelerations_of_all(self._trees[scene], q, v, a, R_WB, p_WB, V_WB, A_WB, self._subspaces)
        rows = R_WB.reshape(m, nb, 3, 3), p_WB.reshape(m, nb, 3)
        return *rows, V_WB.reshape(m, nb, 6), A_WB.reshape(m, nb, 6)

    def mass_matrices(self) -> Rows:
        """(n, nv, nv) mass matrices."""
        return np.array([world.mass_matrix() for world in self._worlds])

    def bias_forces(self) -> Rows:
        """(n, nv) Coriolis, centrifugal and gravity forces."""
        return np.array([world.bias_forces() for world in self._worlds])

    def gravity_forces(self) -> Rows:
        """(n, nv) forces that compensate gravity at rest."""
        return np.array([world.gravity_forces() for world in self._worlds])

    def frame_jacobians(self, link: int) -> Rows:
        """(n, 6, nv) Jacobians of the origins of the frames of a link."""
        name = self._worlds[0].frame_names[link]
        return np.array([world.frame_jacobian(name) for world in self._worlds])

    def joint_wrench(self, i: int, joint: str) -> Rows:
        """What a joint transmits in a world (6,)."""
        self._worlds[i].forget_masses()
        return self._worlds[i].joint_wrench(joint)

    def copy_of(self, i: int) -> World:
        """A copy of a world, with parameters of its own."""
        world = self._worlds[i].copy()
        machine = world.machine
        constants = {VARIED[name]: rows[i].copy() for name, rows in self._varied.items()}
        world.use_arrays(machine.state, machine.drives, machine.loads, constants)
        machine.is_helped = True
        return world


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads of a process, for all batches; one that was forked starts without."""
    return ThreadPoolExecutor(_cores(), thread_name_prefix="batch")


def _refuse_too_many(n: int, machines: Sequence[Machine]) -> None:
    """See that there is memory for so many worlds.

    Raises:
        InputError: There is not.
    """
    free = available_bytes()
    each = max(sum(map(_bytes_of, (m.state, m.drives, m.loads, m.scratch))) for m in machines)
    if n * each > free:
        raise InputError(
            "BatchWorld",
            f"n = {n}",
            f"needs {n * each / 1e9:.1f} GB where {free / 1e9:.1f} GB are free",
            f"give at most {int(0.9 * free / each)}",
        )


def _bytes_of(struct: Any) -> int:
    """Bytes of all arrays of a struct and of those in it."""
    if isinstance(struct, np.ndarray):
        return struct.nbytes
    return sum(_bytes_of(field) for field in struct) if isinstance(struct, tuple) else 0


def _owner(model: Any, owner: type, field: str) -> Rows:
    """A field of the model or of its tree."""
    struct = model if isinstance(model, owner) else model.tree
    found: Rows = getattr(struct, field)
    return found


def _rows(arrays: Sequence[Rows], scene_of: Rows) -> Rows:
    """(n, ...) the array of its scene for every world, where other libraries can take it over."""
    first, n = arrays[0], len(scene_of)
    memory = np.empty(first.nbytes * n + _ALIGNMENT, dtype=np.uint8)
    begin = -memory.ctypes.data % _ALIGNMENT
    rows = memory[begin : begin + first.nbytes * n].view(first.dtype).reshape((n, *first.shape))
    for k, array in enumerate(arrays):
        rows[scene_of == k] = array
    return rows


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
