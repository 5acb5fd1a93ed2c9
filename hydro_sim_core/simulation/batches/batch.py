"""``BatchWorld``: many worlds of one scene or some, on the cores of a processor or on a GPU."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.errors import InputError, excerpt, whole_number
from hydro_sim_core.simulation.batches.commands import BatchCommands
from hydro_sim_core.simulation.batches.cpu import CpuWorlds
from hydro_sim_core.simulation.batches.links import Links
from hydro_sim_core.simulation.batches.parts import SOURCE, finite_numbers
from hydro_sim_core.simulation.batches.programs import present_cupy
from hydro_sim_core.simulation.batches.side_by_side import (
    SideBySideWorlds,
    on_gpu,
    refuse_other_steps,
)
from hydro_sim_core.simulation.batches.stepping import VARIED
from hydro_sim_core.simulation.batches.variants import check_alike
from hydro_sim_core.simulation.batches.written import DriveRows, Parameters
from hydro_sim_core.simulation.world.link_wrenches import signs_of_pairs, wrench_about
from hydro_sim_core.simulation.world.motion import LEAST_QUATERNION
from hydro_sim_core.simulation.world.saved_state import COUNTERS, SavedState
from hydro_sim_core.simulation.world.world import World

Backend = Literal["cpu", "cuda", "auto"]
_BACKENDS = ("cpu", "cuda", "auto")
#: Of numbers of worlds for which NumPy can say how much memory they need.
_MOST_BITS = 62


class BatchWorld(BatchCommands):
    """``n`` worlds that are stepped together and do not influence each other.

    They start alike; what is written to the rows of its arrays makes them differ. The arrays are those that the steps
    use: NumPy's on the CPU, CuPy's on a GPU, which PyTorch and JAX take over without a copy (DLPack).

    Attributes:
        n: Number of worlds.
        backend: ``cpu`` or ``cuda``.
        world: A world of the first scene, for names, frames and checks; it is none of the ``n``.
        scene_of: (n,) scene of every world, by its place in the list; read it.
        q: (n, nq) coordinates of all worlds; read them, and write with ``set_state``,
            or to their rows: then what is told of the last step stays.
        v: (n, nv) velocities.
        drives: Targets and gains of the drives, each (n, nv), in the order of ``world.velocity_names``; free to write.
        parameters: Constants that may differ, by name, each (n, ...): ``mass``, ``centre_of_mass`` and ``inertia`` of
            the bodies, ``joint_damping`` and ``joint_friction`` of the velocities, ``friction`` and ``dissipation`` of
            the pairs; ``parameters.columns`` tells which is which. What was derived from them when the scene was
            loaded, such as gains, stays.

    Args:
        scene: Scene of every world, or a world of it: all start as the scene says. Or a list of scenes that differ in
            constants only, such as shapes, moduli and places.
        n: Number of worlds.
        backend: Where they run; ``auto`` takes a GPU if there is one that can run the scenes.
        scene_of: (n,) which of several scenes every world is of; in turns by default.

    Raises:
        InputError: There is no such backend, no GPU, or too little memory, the scene cannot run there, or scenes have
            other joints, links or pairs than the first one.
    """

    _instead: ClassVar = {
        **dict.fromkeys(("q", "v"), "write to its rows, as batch.v[3] = …, or call set_state"),
        "drives": "write to one of them, as batch.drives.effort = …",
        "parameters": 'write to one of them, as batch.parameters["friction"] = …',
        "time_step": 'make another batch, of scene.with_({"time_step": …})',
        **dict.fromkeys(("step_counts", "time"), "call reset or load"),
        "failures": "call reset or set_state",
    }

    def __init__(
        self,
        scene: LoadedScene | World | Sequence[LoadedScene | World],
        n: int,
        backend: Backend = "auto",
        scene_of: ArrayLike | None = None,
    ) -> None:
        self.n = whole_number(SOURCE, "n", n, least=1)
        if self.n.bit_length() > _MOST_BITS:
            raise InputError(SOURCE, f"n = {excerpt(self.n)}", "is more than any memory holds", "give fewer")
        if backend not in _BACKENDS:
            raise InputError(
                SOURCE, f"backend {excerpt(backend)}", "is not known", f"give one of {', '.join(_BACKENDS)}"
            )
        scenes = _worlds_of(scene)
        self.scene_of = _scenes_of(scene_of, self.n, len(scenes))
        self.world, self._scenes = scenes[0], scenes
        self.backend = _chosen(backend, scenes)
        made = CpuWorlds if self.backend == "cpu" else on_gpu
        self._worlds: CpuWorlds | SideBySideWorlds = made(scenes, self.scene_of)
        self._stepping = threading.Lock()
        self._is_made = True

    def __repr__(self) -> str:
        return f"<BatchWorld of {self.n} worlds '{self.world.name}', {self.backend}>"

    @property
    def time_step(self) -> float:
        """Time step, s."""
        return self.world.time_step

    @property
    def numpy(self) -> Any:
        """What made its arrays: NumPy, or CuPy on a GPU."""
        return self._worlds.numpy

    @property
    def q(self) -> Any:
        """(n, nq) coordinates of all worlds."""
        return self._worlds.rows["machine.state.q"]

    @property
    def v(self) -> Any:
        """(n, nv) velocities of all worlds."""
        return self._worlds.rows["machine.state.v"]

    @property
    def step_counts(self) -> Any:
        """(n,) steps that every world has done."""
        return self._worlds.rows["machine.state.step"][:, 0]

    @property
    def time(self) -> Any:
        """(n,) simulated time of every world, s."""
        return self.step_counts * self.time_step

    @property
    def drives(self) -> DriveRows:
        """Targets and gains of all drives, each (n, nv)."""
        return DriveRows(*(self._worlds.rows[f"machine.drives.{name}"] for name in DriveRows._fields))

    @property
    def parameters(self) -> Parameters:
        """Constants that may differ from world to world, each (n, ...)."""
        return Parameters(VARIED, self._worlds.parameter, self.world)

    @property
    def failures(self) -> dict[int, str]:
        """Worlds that are frozen because a step could not be completed, and why; ``reset`` frees them."""
        return dict(self._worlds.failures)

    def diagnostics(self) -> dict[str, Any]:
        """Numbers of steps (n,) since the start that did not meet their tolerances: those of ``World.diagnostics``.

        ``unconverged_steps``, ``unsettled_steps``, ``deep_steps`` and ``faceless_steps``.
        """
        rows = self._worlds.rows
        return {f"{name}_steps": rows[f"machine.state.{name}"][:, 0].copy() for name in COUNTERS}

    def step(self, n: int = 1) -> None:
        """Advance all worlds by ``n`` time steps; one that cannot go on stays where it is, see ``failures``.

        Raises:
            InputError: ``n`` is negative or not a whole number, or another thread steps the batch.
        """
        n = whole_number("step", "n", n, least=0)
        with self._alone("step"):
            self._worlds.step(n)

    def set_state(self, q: Any, v: Any, worlds: Any = None) -> None:
        """Set coordinates (m, nq) and velocities (m, nv) of ``m`` worlds, by default all, as ``World.set_state`` does.

        Args:
            q: (m, nq) coordinates.
            v: (m, nv) velocities.
            worlds: (m,) numbers of worlds, or a mask (n,) of which ``m`` are true.

        Raises:
            InputError: A shape is wrong, a number is not finite, there is no such world, or another thread steps them.
        """
        chosen = self._chosen(worlds)
        numpy = self._worlds.numpy
        q = finite_numbers(numpy, "set_state", "q", q, (len(chosen), self.q.shape[1]))
        v = finite_numbers(numpy, "set_state", "v", v, (len(chosen), self.v.shape[1]))
        for first in self.world.machine.quaternion_starts:
            if bool(((q[:, first : first + 4] ** 2).sum(axis=1) < LEAST_QUATERNION**2).any()):
                element = f"q[:, {first}:{first + 4}]"
                raise InputError("set_state", element, "has a zero quaternion", "give unit ones")
        with self._alone("set_state"):
            self._worlds.set_state(chosen, q, v)

    def apply_wrench(self, link: str, wrench: Any, worlds: Any = None) -> None:
        """Let a wrench act on a link of ``m`` worlds, by default of all, from now on.

        Args:
            link: Name of the link.
            wrench: (m, 6) torque and force at its origin, world axes, N m and N.
            worlds: (m,) numbers of worlds, or a mask (n,) of which ``m`` are true.

        Raises:
            InputError: There is no such link or world, no force can move the link, the shape is wrong, a number is not
                finite, or another thread steps the worlds.
        """
        chosen, row = self._chosen(worlds), self.world.row_of_pushed("apply_wrench", link)
        numpy = self._worlds.numpy
        given = finite_numbers(numpy, "apply_wrench", f"wrench on '{link}'", wrench, (len(chosen), 6))
        rows = self._worlds.rows
        with self._alone("apply_wrench"):
            rows["machine.loads.wrench"][chosen, row] = given
            rows["machine.loads.num"][:, 0] = (rows["machine.loads.wrench"] != 0.0).any(axis=2).sum(axis=1)

    @property
    def _links(self) -> Links:
        return Links(self._worlds, self._scenes, self.scene_of)

    def frame_poses(self) -> Any:
        """Poses (n, links, 4, 4) of all links in their world, in the order of ``world.frame_names``."""
        return self._links.motions(self.q, self.v)[0]

    def frame_twists(self) -> Any:
        """Twists (n, links, 6) of all links about the origin of their world, as ``World.frame_twists``."""
        return self._links.motions(self.q, self.v)[1]

    def frame_pose(self, name: str) -> Any:
        """Poses (n, 4, 4) of a link in every world.

        Raises:
            InputError: There is no such link.
        """
        return self.frame_poses()[:, self.world.row_of_frame("frame_pose", name)]

    def frame_twist(self, name: str) -> Any:
        """Angular velocity (rad/s) of a link in every world, then velocity of the origin of its frame (m/s): (n, 6).

        Raises:
            InputError: There is no such link.
        """
        row = self.world.row_of_frame("frame_twist", name)
        X_WL, V_WL = self._links.motions(self.q, self.v)
        twist = V_WL[:, row]
        twist[:, 3:] += self._worlds.numpy.cross(twist[:, :3], X_WL[:, row, :3, 3])
        return twist

    def frame_jacobian(self, name: str) -> Any:
        """Jacobians J (n, 6, nv) of the origin of a link's frame in every world, as ``World.frame_jacobian``.

        Raises:
            InputError: There is no such link.
        """
        return self._worlds.frame_jacobians(self.world.row_of_frame("frame_jacobian", name))

    def mass_matrix(self) -> Any:
        """Mass matrices (n, nv, nv) at the states of the worlds, each with masses of its own."""
        return self._worlds.mass_matrices()

    def bias_forces(self) -> Any:
        """Coriolis, centrifugal and gravity forces (n, nv), as ``World.bias_forces``."""
        return self._worlds.bias_forces()

    def gravity_forces(self) -> Any:
        """Generalised forces (n, nv) that compensate gravity at rest, N m or N."""
        return self._worlds.gravity_forces()

    def contact_wrench(self, link: str, other: str | None = None) -> Any:
        """Wrenches that contact applies to a link of every world, as ``World.contact_wrench``.

        Args:
            link: Name in ``world.frame_names``, or of a static shape.
            other: The link or static shape that touches it; by default all that do.

        Returns:
            Torque about the origin of the link's frame at the begin of the step, N m, then force, N, along the axes of
            the world: (n, 6); for a static shape about the world's origin. Nothing where no step led to the state.

        Raises:
            InputError: There is no such link, or the two cannot touch.
        """
        row, numpy = self.world.row_of_touched(link), self._worlds.numpy
        signs = signs_of_pairs(self.world.built, link, other)
        origins = numpy.zeros((self.n, 3))
        if row is not None:
            begins = self._worlds.begins()
            origins = self._links.motions(begins.q, begins.v)[0][:, row, :3, 3]
        return wrench_about(numpy, self._worlds.patches(), numpy.asarray(signs), origins)

    def joint_wrench(self, joint: str) -> Any:
        """Wrenches that a joint transmits in every world, as ``World.joint_wrench`` and a force-torque sensor in it.

        Args:
            joint: Any joint, fixed ones included; ``MODEL_base`` is that between a model's root and the world.

        Returns:
            Torque about the origin of the child link's frame, N m, then force, N, that the child applies to its parent,
            along the axes of this frame at the begin of the step, or in its middle: (n, 6).

        Raises:
            InputError: There is no such joint.
        """
        pushes = self._worlds.pushes()
        wrenches = self._links.joint_wrenches(joint, pushes.wrench)
        for i in pushes.pulled:
            wrenches[i] = self.numpy.asarray(self._worlds.joint_wrench(i, joint))
        return wrenches

    def reset(self, worlds: Any = None) -> None:
        """Go back to the start of the scene, with its commands: all worlds, or those given.

        Parameters stay as they are.

        Args:
            worlds: (m,) numbers of worlds, or a mask (n,) that is true for them, such as ``batch.q[:, 6] < 0.0``.

        Raises:
            InputError: There is no such world, the mask is not of all worlds, or another thread steps them.
        """
        chosen = self._chosen(worlds)
        with self._alone("reset"):
            self._worlds.reset(chosen)

    def save(self, world: int) -> SavedState:
        """State of one world, for bit-identical continuation, also in a ``World`` or in another batch.

        Raises:
            InputError: There is no such world, or another thread steps them.
        """
        chosen = self._one(world)
        with self._alone("save"):
            return self._worlds.save(chosen)

    def load(self, world: int, saved: SavedState) -> None:
        """Continue one world from a saved state.

        Raises:
            InputError: There is no such world, the state is of another scene, or another thread steps the worlds.
        """
        chosen = self._one(world)
        with self._alone("load"):
            self._worlds.load(chosen, saved)

    def copy_of(self, world: int) -> World:
        """A ``World`` of its own in the state of one of these, with the contacts of its last step.

        It continues bit-identically, and tells what any world does: contact patches, sensors, pictures.

        Raises:
            InputError: There is no such world, or another thread steps them.
        """
        chosen = self._one(world)
        with self._alone("copy_of"):
            return self._worlds.copy_of(chosen)

    def __reduce__(self) -> Any:
        """Pickle the states and parameters of all worlds; contacts of their last steps stay behind.

        Raises:
            InputError: They are on a GPU, or another thread steps them.
        """
        if not isinstance(self._worlds, CpuWorlds):
            mend = "pickle the states that save gives, or a batch with backend='cpu'"
            raise InputError(SOURCE, "pickle", "has its worlds on a GPU", mend)
        with self._alone("pickle"):
            parameters = {name: self._worlds.parameter(name).copy() for name in VARIED}
            states = [self._worlds.save(i) for i in range(self.n)]
            return _unpickled, (type(self), self._scenes, self.scene_of, parameters, states, self.failures)


def _unpickled(
    kind: type[BatchWorld],
    scenes: Sequence[World],
    scene_of: NDArray[np.int64],
    parameters: dict[str, Any],
    states: Sequence[SavedState],
    failures: dict[int, str],
) -> BatchWorld:
    """The batch of a pickle."""
    batch = kind(scenes, len(states), "cpu", scene_of)
    for name, values in parameters.items():
        batch._worlds.parameter(name)[...] = values
    for i, state in enumerate(states):
        batch.load(i, state)
        for name in COUNTERS:
            batch._worlds.rows[f"machine.state.{name}"][i] = getattr(state.state, name)
    batch._worlds.failures.update(failures)
    return batch


def _worlds_of(scene: LoadedScene | World | Sequence[LoadedScene | World]) -> list[World]:
    """A world of each scene."""
    given: list[Any] = list(scene) if isinstance(scene, list | tuple) else [scene]
    if not given:
        raise InputError(SOURCE, "scene", "is an empty list", "give one scene or more")
    worlds: list[World] = []
    for one in given:
        # Shapes that both have are made once. Those of a world are there, whatever has become of their files.
        like = one if isinstance(one, World) else worlds[-1] if worlds else None
        worlds.append(World(one.scene if isinstance(one, World) else one, like))
    check_alike(worlds)
    return worlds


def _scenes_of(scene_of: ArrayLike | None, n: int, count: int) -> NDArray[np.int64]:
    """Scene of each of ``n`` worlds."""
    if scene_of is None and count == 1:
        return np.broadcast_to(np.int64(0), (n,))  # takes no memory: whether there is enough is not known yet
    try:
        chosen = np.arange(n) % count if scene_of is None else np.asarray(scene_of)
    except ValueError:  # lists of several lengths
        chosen = np.empty(0)
    if chosen.shape != (n,) or chosen.dtype.kind not in "iu" or np.any((chosen < 0) | (chosen >= count)):
        raise InputError(
            SOURCE, "scene_of", f"is {excerpt(scene_of)}", f"give {n} numbers from 0 to {count - 1}"
        )
    chosen = chosen.astype(np.int64)
    chosen.setflags(write=False)
    return chosen


def _chosen(backend: Backend, worlds: Sequence[World]) -> str:
    if backend != "auto":
        return backend
    try:
        for world in worlds:
            refuse_other_steps(world)
        present_cupy(backend)
    except InputError:
        return "cpu"
    return "cuda"
