"""Worlds of a batch side by side in one memory, as a GPU steps them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation.gpu_programs import processor_of
from hydro_sim_core.compilation.side_by_side import SideBySide
from hydro_sim_core.dynamics.array_form import (
    BodyMasses,
    Posture,
    bias_forces,
    body_accelerations,
    body_poses,
    body_velocities,
    mass_matrix,
    point_jacobian,
    posture,
)
from hydro_sim_core.dynamics.tree import KinematicTree
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.batches.last_step import LastSteps, copy_in, copy_out
from hydro_sim_core.simulation.batches.links import Begins, Pushes, begins_of, mean_motions, pushes_of
from hydro_sim_core.simulation.batches.memory import Placed, Plan, on_host
from hydro_sim_core.simulation.batches.programs import (
    CudaProgram,
    Program,
    present_cupy,
    stored_ptx,
)
from hydro_sim_core.simulation.batches.stepping import MEMORY, VARIED, Begin, Order, WorldData
from hydro_sim_core.simulation.batches.variants import Differing, differing_constants, share_shapes
from hydro_sim_core.simulation.batches.written import Written
from hydro_sim_core.simulation.integrators.steppers import StepFailed, stepper_of
from hydro_sim_core.simulation.stepping.machine import GROWTH
from hydro_sim_core.simulation.stepping.model import WITHOUT_PAST, Drives, Loads, MachineData, State
from hydro_sim_core.simulation.stepping.step import DONE, NO_ROOM
from hydro_sim_core.simulation.world.link_wrenches import PatchRows
from hydro_sim_core.simulation.world.motion import UNIT_ROUND_OFF
from hydro_sim_core.simulation.world.saved_state import SavedState
from hydro_sim_core.simulation.world.world import World

#: Worlds a warp: as many as it has threads. Fewer make more warps, which lose more than they gain by waiting in turn.
LANES = 32
#: Least room for contact faces, and that at the start, as a multiple of the faces of the first step.
LEAST_FACES = 256
ROOM = 1.25
#: One world of so many may have more contact faces than there is room for: the processor takes its steps.
FEW = 64
_FROZEN = -1
_PATHS = {
    "state": ("machine.state", State),
    "drives": ("machine.drives", Drives),
    "loads": ("machine.loads", Loads),
}


def on_gpu(scenes: Sequence[World], scene_of: NDArray[np.int64]) -> SideBySideWorlds:
    """The worlds on the present GPU; arguments as for ``SideBySideWorlds``.

    Raises:
        InputError: There is none, it has too little memory, or the scene cannot run there.
    """
    for world in scenes:
        refuse_other_steps(world)
    cupy = present_cupy("cuda")

    def program_for(plan: Plan) -> Program:
        solve = scenes[0].machine.solve
        return CudaProgram(cupy, stored_ptx(plan, solve, processor_of(cupy)), plan.lanes)

    return SideBySideWorlds(scenes, scene_of, LANES, cupy, program_for, lambda array: int(array.data.ptr))


def refuse_other_steps(world: World) -> None:
    """Refuse scenes whose steps only a processor takes.

    Raises:
        InputError: The integrator is another one, or the scene moves bodies by prescribed velocities.
    """
    name = world.scene.spec.solver.choice.integrator.name
    if not world.takes_plain_steps:
        raise InputError(
            "BatchWorld", f"integrator '{name}'", "does not run on a GPU", "give backend='cpu' or 'fixed'"
        )
    if len(world.built.model.forest.prescribed):
        raise InputError(
            "BatchWorld", "base: kinematic", "does not run on a GPU", "give backend='cpu', or another base"
        )


class SideBySideWorlds:
    """Worlds in a memory that one program steps.

    A step that cannot be taken whole is taken in pieces by the processor, which every ``World`` does in the same way.

    Args:
        scenes: A world of each scene, to start from.
        scene_of: (n,) scene of every world.
        lanes: Worlds in a group.
        numpy: NumPy, or CuPy for the memory of a GPU.
        program_for: Makes the program that steps them in a memory.
        address_of: Address of an array.

    Attributes:
        failures: Worlds that cannot go on, and why.

    Raises:
        InputError: The scenes differ in what has to be the same for all worlds, or there is too little memory.
    """

    def __init__(
        self,
        scenes: Sequence[World],
        scene_of: NDArray[np.int64],
        lanes: int,
        numpy: Any,
        program_for: Callable[[Plan], Program],
        address_of: Callable[[Any], int],
    ) -> None:
        self.numpy = numpy
        self.failures: dict[int, str] = {}
        self._n, self._lanes, self._scene_of = len(scene_of), lanes, scene_of
        self._program_for, self._address_of = program_for, address_of
        self._starts = [world.save_state() for world in scenes]
        self._scenes = [world.copy() for world in scenes]
        self._differing: list[Differing] = []
        if len(scenes) > 1:
            _refuse_scripts(scenes)
            share_shapes(self._scenes)
            self._differing = differing_constants(self._scenes)
        self._world = self._scenes[0].copy()
        self._faces = max(LEAST_FACES, math.ceil(ROOM * max(map(_faces_of_a_step, scenes))))
        self._memory = self._placed()
        self._last = LastSteps(self._n)
        self._pushed = Loads(*(self.rows[f"machine.loads.{name}"].copy() for name in Loads._fields))
        if len(scenes) > 1:  # all rows have what the first one starts with
            self._begin(list(range(self._n)))

    @property
    def rows(self) -> dict[str, Any]:
        """Arrays (n, ...) with a row of every world, by the path of the field in ``WorldData``."""
        return self._memory.rows

    def parameter(self, name: str) -> Any:
        """(n, ...) rows of a parameter."""
        return self.rows[_parameter_path(name)]

    def _placed(self) -> Placed:
        """Memory for all worlds at the start, with room for ``_faces`` contact faces each."""
        machine = self._world.machine
        machine.make_room(math.ceil(self._faces / GROWTH))
        data = MachineData(machine.model, machine.state, machine.drives, machine.loads, machine.scratch)
        order = Order(np.zeros(1, dtype=np.int64), np.full(1, DONE))
        begin = Begin(machine.state.q, machine.state.v)
        own = {(one.owner, one.name) for one in self._differing}
        memory = SideBySide(MEMORY.row_structs, MEMORY.row_fields | own)
        plan = Plan(WorldData(data, order, begin), memory, self._lanes)
        self._refuse_too_many(plan)
        self._program = self._program_for(plan)
        placed = Placed(plan, self._n, self.numpy, self._address_of)
        for one in self._differing:
            for k, values in enumerate(one.values):
                placed.rows[f"machine.{one.path}"][self._scene_of == k] = self.numpy.asarray(values)
        parameters = {name: placed.rows[_parameter_path(name)] for name in VARIED}
        self._written = Written(self.numpy, placed.rows, parameters, _tree(self._world))
        return placed

    def _begin(self, worlds: list[int]) -> None:
        """Put worlds into the states in which their scenes start."""
        scene_of = self._scene_of[worlds]
        for k, start in enumerate(self._starts):
            of_scene = np.asarray(worlds, dtype=np.int64)[scene_of == k]
            for group, (path, _) in _PATHS.items():
                for name, array in getattr(start, group)._asdict().items():
                    self.rows[f"{path}.{name}"][of_scene] = self.numpy.asarray(array)

    def _refuse_too_many(self, plan: Plan) -> None:
        if self.numpy is np:
            return
        free, _ = self.numpy.cuda.runtime.memGetInfo()
        free += self.numpy.get_default_memory_pool().free_bytes()
        each = plan.bytes_of_world
        if self._n * each > free:
            raise InputError(
                "BatchWorld",
                f"n = {self._n}",
                f"needs {self._n * each / 1e9:.1f} GB where the GPU has {free / 1e9:.1f} GB free",
                f"give at most {int(0.95 * free / each) // self._lanes * self._lanes}",
            )

    def step(self, n: int) -> None:
        """Advance all worlds that can go on by ``n`` steps."""
        for i, why in self._written.unusable():
            if i not in self.failures:
                self._freeze(i, why)
        last = self._clock + n
        while self._clock < last:
            script, time_step = self._world.script, self._world.time_step
            time = self._clock * time_step
            self._command(time)
            self._advance(min(last - self._clock, script.steps_until_change(time, time_step)))

    def _freeze(self, i: int, why: str) -> None:
        """Let a world stay where it is, until it is set free."""
        self.failures[i] = why
        self.rows["order.status"][i] = _FROZEN

    def _command(self, time: float) -> None:
        """Give all worlds what the scene's script commands at ``time`` (s), if it changes."""
        bank = self._world.drive_bank
        before = [array.copy() for array in bank.arrays]
        self._world.script.apply(time, bank)
        for name, old, new in zip(Drives._fields, before, bank.arrays, strict=True):
            for i in np.flatnonzero(old != new):
                self.rows[f"machine.drives.{name}"][:, i] = new[i]

    @property
    def _clock(self) -> int:
        """Steps of the worlds that go on, since all of them started together."""
        return int(self._world.machine.state.step[0])

    def _advance(self, n: int) -> None:
        """Let all worlds take ``n`` steps."""
        self._last.begin(self.failures)
        frozen = np.array(list(self.failures), dtype=np.int64)
        for name, pushed in self._pushed._asdict().items():
            kept = pushed[frozen]
            pushed[...] = self.rows[f"machine.loads.{name}"]
            pushed[frozen] = kept
        # One launch a step, none waited for: threads that begin a step together run through the same code, which has to
        # be fetched once. In a launch of many steps they drift apart.
        for _ in range(n):
            self.rows["order.until"] += 1
            self._program.run(self._memory, self._world.time_step)
        while self._catch_up():
            self._program.run(self._memory, self._world.time_step)
        self._last.end(self.failures)
        self._world.machine.state.step[0] += n

    def _catch_up(self) -> bool:
        """Help worlds over a step that they could not take; whether there were any."""
        status = on_host(self.rows["order.status"])[:, 0]
        stopped = [int(i) for i in np.flatnonzero(status != DONE) if int(i) not in self.failures]
        if np.count_nonzero(status[stopped] == NO_ROOM) > self._n // FEW:
            # A larger memory takes another program, which is compiled.
            self._make_room()
            self.rows["order.status"][status == NO_ROOM] = DONE
            return True
        for i in stopped:
            self._step_on_processor(i)
        return bool(stopped)

    def _make_room(self) -> None:
        """Make room for more contact faces."""
        kept, told = self.rows, copy_out(self._memory)
        needed = int(on_host(self._memory.in_lanes("machine.scratch.faces_needed")).max())
        self._faces = max(int(GROWTH * needed), self._faces)
        self._memory.release_lanes()
        self._memory = self._placed()
        for path, array in kept.items():
            self.rows[path][...] = array
        copy_in(self._memory, told)

    def _step_on_processor(self, i: int) -> None:
        """Take one step of a world as a ``World`` does, in pieces; freeze it if it fails."""
        world = self.copy_of(i)
        stepper = stepper_of(world.machine, like=world.stepper)
        try:
            stepper.advance(1)
        except StepFailed as failure:
            self._last.forget([i])
            self._freeze(i, world.words_for(failure))
            return
        until = self.rows["order.until"][i].copy()
        self.take(i, world)
        self.rows["order.until"][i] = until  # steps that the others have taken meanwhile
        if world.step_count == until[0]:  # else it goes on in its lane
            self._last.put(self._memory, i, world.machine.scratch)

    def set_state(self, worlds: list[int], q: Any, v: Any) -> None:
        """Set the states of some worlds, as ``World.set_state`` does."""
        rows = self.rows
        q = self._with_unit_quaternions(q)
        for path, values in (("q", q), ("v", v), ("v_previous", v)):
            rows[f"machine.state.{path}"][worlds] = values
        for path, value in WITHOUT_PAST.items():
            rows[f"machine.state.{path}"][worlds] = value
        self._last.leave(worlds)
        self._free(worlds)

    def _with_unit_quaternions(self, q: Any) -> Any:
        """The coordinates (m, nq) with quaternions of unit length, to the bits of ``World.set_state``."""
        q = q.copy()
        for first in self._world.machine.quaternion_starts:
            quaternions = q[:, first : first + 4]
            w, x, y, z = quaternions.T
            length = self.numpy.sqrt(w * w + x * x + y * y + z * z)
            length[abs(length - 1.0) <= UNIT_ROUND_OFF] = 1.0
            quaternions /= length[:, None]
        return q

    def reset(self, worlds: list[int]) -> None:
        """Go back to the start: all of them, or some of a scene without scripted commands.

        Raises:
            InputError: Some only, of a scene with scripted commands, whose times would differ.
        """
        is_all = len(set(worlds)) == self._n
        if self._world.script.targets and not is_all:
            raise InputError(
                "reset",
                "worlds",
                "would have other times than the others, and the scene scripts commands",
                "reset all worlds, or remove the scene's commands",
            )
        self._begin(worlds)
        self._last.forget(worlds)
        if is_all:
            self._world = self._scenes[0].copy()
        self._free(worlds)

    def leave_scripts(self, worlds: list[int], targets: Sequence[str]) -> None:
        """End what the script commands joints and grippers; refuse it where some worlds only are meant."""
        for target in self._world.script.commanded(targets):
            if len(set(worlds)) < self._n:
                problem = f"are some only, and a GPU scripts '{target}' in all of them"
                raise InputError("command", "worlds", problem, "command all, or remove the scene's commands")
            self._world.script.release(target)

    def take(self, i: int, world: World) -> None:
        """Continue a world from the state of another."""
        saved = world.save_state()
        for group, (path, _) in _PATHS.items():
            for name, array in getattr(saved, group)._asdict().items():
                self.rows[f"{path}.{name}"][i] = self.numpy.asarray(array)
        self._free([i])

    def save(self, i: int) -> SavedState:
        """State of a world."""
        return self.copy_of(i).save_state()

    def load(self, i: int, saved: SavedState) -> None:
        """Continue a world from a state, which no step of its own led to.

        Raises:
            InputError: It is of another scene; or of another time, where the scene scripts commands.
        """
        world = self.copy_of(i)
        world.restore_state(saved)
        if self._world.script.targets and world.step_count != self._clock:
            raise InputError(
                "load",
                f"world {i}",
                "would have another time than the others, and the scene scripts commands",
                "load a state of their time, or remove the scene's commands",
            )
        self.take(i, world)
        self._last.forget([i])

    def _free(self, worlds: list[int]) -> None:
        """Let worlds go on from the states that they have been given."""
        for i in worlds:
            self.failures.pop(i, None)
        self.rows["order.status"][worlds] = DONE
        self.rows["order.until"][worlds] = self.rows["machine.state.step"][worlds]

    def copy_of(self, i: int) -> World:
        """A ``World`` in the state of one of these, with the contacts of its last step."""
        scene = self._scene_of[i]
        world = (self._scenes[scene] if scene else self._world).copy()
        structs = {
            group: struct(*(on_host(self.rows[f"{path}.{name}"][i]) for name in struct._fields))  # type: ignore[attr-defined]
            for group, (path, struct) in _PATHS.items()
        }
        constants = {VARIED[name]: on_host(self.parameter(name)[i]) for name in VARIED}
        world.use_arrays(**structs, constants=constants)
        world.machine.use_scratch(self._last.scratch(self._memory, i, self._world.machine.scratch))
        if self._last.led_here[i]:
            begin = tuple(on_host(self.rows[f"begin.{name}"][i]) for name in Begin._fields)
            loads = Loads(*(on_host(array[i]) for array in self._pushed))
            world.tell_of_step(begin, loads)
        if not self._last.is_told[i]:
            world.machine.forget_step()
        return world

    def joint_wrench(self, i: int, joint: str) -> NDArray[np.float64]:
        """What a joint transmits in a world (6,)."""
        return self.copy_of(i).joint_wrench(joint)

    def patches(self) -> PatchRows:
        """Patches of the steps that led to the states of the worlds."""
        return self._last.patches(self._memory)

    def begins(self) -> Begins:
        """Where these steps began; see ``links.Worlds``, as for all of these."""
        return begins_of(self.numpy, self.rows, self.numpy.asarray(self._last.led_here))

    def motions_of_steps(self) -> tuple[Any, Any, Any]:
        """With which momenta changed in these steps; see ``links.Worlds``."""
        return mean_motions(self.begins(), self.rows["machine.state.v"], self._world.time_step)

    def pushes(self) -> Pushes:
        """What pushed in them, beside contact."""
        return pushes_of(self.numpy, self._pushed, self.numpy.asarray(self._last.led_here))

    def body_motions(self, scene: int, q: Any, v: Any) -> tuple[Any, Any, Any]:
        """How the bodies of a scene lie and move in some worlds."""
        tree = _tree(self._scenes[scene])
        R_WB, p_WB, own = body_poses(tree, q)
        V_WB = body_velocities(tree, own, v)
        return self._stacked(q, R_WB, 3, 3), self._stacked(q, p_WB, 3), self._stacked(q, V_WB, 6)

    def body_accelerations(self, scene: int, q: Any, v: Any, a: Any) -> tuple[Any, Any, Any, Any]:
        """The same with their accelerations."""
        tree = _tree(self._scenes[scene])
        R_WB, p_WB, own = body_poses(tree, q)
        V_WB = body_velocities(tree, own, v)
        A_WB = body_accelerations(tree, Posture(R_WB, p_WB, own, []), V_WB, v, a)
        poses = self._stacked(q, R_WB, 3, 3), self._stacked(q, p_WB, 3)
        return *poses, self._stacked(q, V_WB, 6), self._stacked(q, A_WB, 6)

    def mass_matrices(self) -> Any:
        """(n, nv, nv) mass matrices."""
        return self._of_postures(lambda world, q, v, posed, masses: mass_matrix(_tree(world), posed, masses))

    def bias_forces(self) -> Any:
        """(n, nv) Coriolis, centrifugal and gravity forces."""
        return self._of_postures(
            lambda world, q, v, posed, masses: bias_forces(_tree(world), posed, masses, v)
        )

    def gravity_forces(self) -> Any:
        """(n, nv) forces that compensate gravity at rest."""
        return self._of_postures(
            lambda world, q, v, posed, masses: bias_forces(_tree(world), posed, masses, 0.0 * v)
        )

    def frame_jacobians(self, link: int) -> Any:
        """(n, 6, nv) Jacobians of the origins of the frames of a link."""

        def jacobian(world: World, q: Any, v: Any, posed: Posture, masses: BodyMasses) -> Any:
            assembly = world.built.assembly
            return point_jacobian(
                _tree(world), posed, int(assembly.link_body[link]), assembly.X_BL[link, :3, 3], q
            )

        return self._of_postures(jacobian)

    def _of_postures(self, tell: Callable[[World, Any, Any, Posture, BodyMasses], Any]) -> Any:
        """What is told of the worlds of each scene (m, ...), for all worlds (n, ...)."""
        numpy, told = self.numpy, []
        of_scenes = [np.flatnonzero(self._scene_of == k) for k in range(len(self._scenes))]
        for world, of_scene in zip(self._scenes, of_scenes, strict=True):
            worlds = numpy.asarray(of_scene)
            q, v = (self.rows[f"machine.state.{name}"][worlds] for name in ("q", "v"))
            masses = (self.parameter(name)[worlds] for name in ("mass", "centre_of_mass", "inertia"))
            told.append(tell(world, q, v, posture(_tree(world), q), BodyMasses(*masses)))
        return numpy.concatenate(told)[numpy.asarray(np.argsort(np.concatenate(of_scenes)))]

    def _stacked(self, q: Any, of_bodies: list[Any], *shape: int) -> Any:
        """(m, nb, ...) what each body has (m, ...); there may be none."""
        numpy = self.numpy
        return numpy.stack(of_bodies, axis=1) if of_bodies else numpy.zeros((len(q), 0, *shape))


def _tree(world: World) -> KinematicTree:
    return world.machine.model.tree


def _refuse_scripts(scenes: Sequence[World]) -> None:
    for world in scenes:
        if world.script.targets:
            raise InputError(
                "BatchWorld",
                f"scene '{world.name}'",
                "scripts commands, which a GPU gives to the worlds of one scene only",
                "give backend='cpu', or remove the scene's commands",
            )


def _faces_of_a_step(world: World) -> int:
    """Number of contact faces of the first step."""
    probe = world.copy()
    probe.step()
    patches = probe.machine.scratch.patches
    return int(patches.first_face[patches.num[0]])


def _parameter_path(name: str) -> str:
    owner, field = VARIED[name]
    return f"machine.model.{'' if owner.__name__ == 'Model' else 'tree.'}{field}"
