"""Worlds of a batch on the cores of the processor: each is a ``World``, with its rows for arrays."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import Handle
from hydro_sim_core.dynamics.equations import body_accelerations_of_all
from hydro_sim_core.dynamics.kinematics import body_motions_of_all
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.batches.cores import on_cores
from hydro_sim_core.simulation.batches.host_memory import available_bytes
from hydro_sim_core.simulation.batches.links import Begins, Pushes, begins_of, mean_motions, pushes_of
from hydro_sim_core.simulation.batches.stepping import VARIED, Begin
from hydro_sim_core.simulation.batches.turns import Turns
from hydro_sim_core.simulation.batches.written import Written
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import Drives, Loads, State, copied
from hydro_sim_core.simulation.stepping.step import DONE
from hydro_sim_core.simulation.world.link_wrenches import PatchRows, rows_of
from hydro_sim_core.simulation.world.saved_state import SavedState
from hydro_sim_core.simulation.world.world import World
from hydro_sim_core.threads import threads_of_a_batch

Rows = NDArray[Any]
Numbers = NDArray[np.int64]
Struct = TypeVar("Struct")

#: Steps of a world between two looks whether whoever asked for them has been interrupted.
_BURST = 256
#: More steps than anybody takes, in 64 bits with those that were taken.
_MOST_STEPS = 2**62
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
        self.rows["order.until"] = np.zeros((len(scene_of), 1), dtype=np.int64)
        self.rows["order.status"] = np.full((len(scene_of), 1), DONE)
        self.rows |= {f"begin.{name}": self.rows[f"machine.state.{name}"].copy() for name in Begin._fields}
        self._varied = {
            name: _rows([_owner(m.model, owner, field) for m in machines], scene_of)
            for name, (owner, field) in VARIED.items()
        }
        self._written = Written(np, self.rows, self._varied, machines[0].model.tree)
        self.failures: dict[int, str] = {}
        for world in scenes:
            world.save_state()  # by what states are known stays that of the scene, whatever the parameters
        self._worlds = [self._bound(scenes[k].copy(), i) for i, k in enumerate(scene_of.tolist())]
        #: (n,) whether the last step of a world led to its state, and no other one has been set since.
        self._led_here = np.zeros(len(scene_of), dtype=bool)
        self._pushed = copied(self._loads)
        self._is_scripted = any(world.script.targets for world in scenes)
        self._turns = Turns(self._worlds, self.rows) if all(map(_is_one_call, scenes)) else None
        self._trees = [Handle(machine.model.tree) for machine in machines]
        self._subspaces = np.zeros_like(machines[0].scratch.S)

    def _bound(self, world: World, i: int) -> World:
        """A world whose arrays are rows ``i``."""
        world.machine.is_helped = False  # the cores have worlds of their own to step
        world.use_arrays(
            self._row("machine.state", State, i),
            self._row("machine.drives", Drives, i),
            self._row("machine.loads", Loads, i),
            {VARIED[name]: rows[i] for name, rows in self._varied.items()},
        )
        return world

    def _row(self, path: str, struct: type[Struct], i: int) -> Struct:
        """Struct of the rows ``i`` of its fields."""
        return struct(*(self.rows[f"{path}.{name}"][i] for name in struct._fields))  # type: ignore[attr-defined]

    def parameter(self, name: str) -> Rows:
        """(n, ...) rows of a parameter."""
        return self._varied[name]

    def step(self, n: int) -> None:
        """Advance all worlds that can go on by ``n`` steps."""
        for i, why in self._written.unusable():
            self.failures.setdefault(i, why)
        going = np.delete(np.arange(len(self._worlds)), list(self.failures))
        if n == 0 or not len(going):
            return
        self._note_pushes(going)
        steps, until = self.rows["machine.state.step"][:, 0], self.rows["order.until"][:, 0]
        until[going] = steps[going] + min(n, _MOST_STEPS)
        if self._turns is not None:
            self._step_in_turn(self._turns, self._without_new_commands(going, n))
        self._step_alone(going[steps[going] < until[going]])

    def _without_new_commands(self, going: Numbers, n: int) -> Numbers:
        """Worlds to which the scene's script gives no other commands in ``n`` steps; they are given those of now."""
        if not self._is_scripted:
            return going
        return going[[self._worlds[i].begin_stretch() >= n for i in going.tolist()]]

    def _note_pushes(self, going: Numbers) -> None:
        """Note what will push in the next steps, for what is told of them."""
        if any(loads.num.any() or loads.num_pulls.any() for loads in (self._pushed, self._loads)):
            for noted, now in zip(self._pushed, self._loads, strict=True):
                noted[going] = now[going]

    @property
    def _loads(self) -> Loads:
        return Loads(*(self.rows[f"machine.loads.{name}"] for name in Loads._fields))

    def _step_in_turn(self, turns: Turns, worlds: Numbers) -> None:
        """Let worlds do their orders in compiled calls, until a step of theirs takes more than that."""
        steps, status = self.rows["machine.state.step"][:, 0], self.rows["order.status"][:, 0]
        before = steps[worlds]
        try:
            turns.take(worlds)
        finally:
            self._led_here[worlds] |= steps[worlds] > before
            self._led_here[worlds] &= status[worlds] == DONE
            status[worlds] = DONE

    def _step_alone(self, worlds: Numbers) -> None:
        """Let worlds take the steps that are left of their orders by themselves."""
        if not len(worlds):
            return
        stop = threading.Event()
        # A few shares a thread, so that none waits long for the others; worlds one by one would wait for Python.
        shares = np.array_split(worlds, min(len(worlds), 4 * threads_of_a_batch()))
        on_cores([partial(self._step_share, share.tolist(), stop) for share in shares], stop.set)

    def _step_share(self, worlds: list[int], stop: threading.Event) -> None:
        for i in worlds:
            world, until = self._worlds[i], int(self.rows["order.until"][i, 0])
            begin = world.step_count
            try:
                while world.step_count < until and not stop.is_set():
                    world.step(min(_BURST, until - world.step_count))
            except FloatingPointError as error:
                self.failures[i] = str(error)
                self._led_here[i] = False
            else:
                self._tell_of_steps(i, begin)
            if self._turns is not None:
                self._turns.place(i)

    def _tell_of_steps(self, i: int, begin: int) -> None:
        """Note where the last step of a world began, if it has taken any since step ``begin``."""
        world = self._worlds[i]
        if world.step_count > begin and world.before_last_step is not None:
            self.rows["begin.q"][i], self.rows["begin.v"][i] = world.before_last_step
            self._led_here[i] = True

    def set_state(self, worlds: list[int], q: Rows, v: Rows) -> None:
        """Set the states of some worlds."""
        for row, i in enumerate(worlds):
            self._worlds[i].set_state(q[row], v[row])
        self._begin_anew(worlds)

    def reset(self, worlds: list[int]) -> None:
        """Go back to the start."""
        for i in worlds:
            self._worlds[i].reset()
        self._begin_anew(worlds)

    def leave_scripts(self, worlds: list[int], targets: Sequence[str]) -> None:
        """End what the scripts of some worlds command joints and grippers."""
        if self._is_scripted:
            for i in worlds:
                for target in targets:
                    self._worlds[i].script.release(target)

    def save(self, i: int) -> SavedState:
        """State of a world."""
        return self._worlds[i].save_state()

    def load(self, i: int, saved: SavedState) -> None:
        """Continue a world from a state, which no step of its own led to.

        Raises:
            InputError: It is of another scene.
        """
        self._worlds[i].restore_state(saved)
        self._begin_anew([i])

    def _begin_anew(self, worlds: list[int]) -> None:
        """Let worlds go on from states that they have been given."""
        self._led_here[worlds] = False
        for i in worlds:
            self.failures.pop(i, None)

    def patches(self) -> PatchRows:
        """Patches of the steps that led to the states of the worlds."""
        tables = [rows_of(world.machine.scratch.patches) for world in self._worlds]
        most = max(len(table.pair) for table in tables)
        num = np.where(self._led_here, [table.num for table in tables], 0)
        rows = [np.zeros((len(tables), most, *array.shape[1:]), array.dtype) for array in tables[0][1:]]
        for i, table in enumerate(tables):
            for row, array in zip(rows, table[1:], strict=True):
                row[i, : table.num] = array
        return PatchRows(num, *rows)

    def begins(self) -> Begins:
        """Where these steps began; see ``links.Worlds``, as for all of these."""
        return begins_of(np, self.rows, self._led_here)

    def motions_of_steps(self) -> tuple[Rows, Rows, Rows]:
        """With which momenta changed in these steps; see ``links.Worlds``."""
        if not self._worlds[0].follows_motion:
            return mean_motions(self.begins(), self.rows["machine.state.v"], self._worlds[0].time_step)
        told = [
            world.motion_of_step(world.before_last_step, (world.q, world.v), world.loads_of_last_step)
            for world in self._worlds
        ]
        q, mean, a = (np.array(rows) for rows in zip(*told, strict=True))
        return q, mean, a

    def pushes(self) -> Pushes:
        """What pushed in them, beside contact."""
        return pushes_of(np, self._pushed, self._led_here)

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
        world = self._told_of_step(i)
        world.forget_masses()
        return world.joint_wrench(joint)

    def copy_of(self, i: int) -> World:
        """A copy of a world, with parameters of its own."""
        world = self._told_of_step(i).copy()
        machine = world.machine
        constants = {VARIED[name]: rows[i].copy() for name, rows in self._varied.items()}
        world.use_arrays(machine.state, machine.drives, machine.loads, constants)
        machine.is_helped = True
        return world

    def _told_of_step(self, i: int) -> World:
        """A world that knows of its last step."""
        if self._led_here[i]:
            begin = self._row("begin", Begin, i)
            pushed = Loads(*(array[i] for array in self._pushed))
            self._worlds[i].tell_of_step((begin.q.copy(), begin.v.copy()), pushed)
        return self._worlds[i]


def _is_one_call(world: World) -> bool:
    """Whether a step is one compiled call where it succeeds, and nothing else has a say in it but a script."""
    return world.takes_plain_steps and not len(world.built.model.forest.prescribed)


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
