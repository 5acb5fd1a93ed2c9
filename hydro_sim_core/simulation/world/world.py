"""``World``: a running scene, with its model, state and the step's memory."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import make_ready, prepare
from hydro_sim_core.description import LoadedScene, SceneBuilder
from hydro_sim_core.description.described_drives import compensated_coordinates, described_joints
from hydro_sim_core.description.joint_types import joint_types
from hydro_sim_core.description.paths import as_path
from hydro_sim_core.description.scene_solver import SolverSettings
from hydro_sim_core.description.sensor_types import sensor_types
from hydro_sim_core.description.solver_choices import Integrator
from hydro_sim_core.description.spec import VisualSpec
from hydro_sim_core.dynamics import NoInertia, evaluate
from hydro_sim_core.dynamics.joint_dispatch import joint_number
from hydro_sim_core.errors import InputError, excerpt, whole_number
from hydro_sim_core.mesh_files import EmptyMesh, shared_allowance
from hydro_sim_core.plugins import referred
from hydro_sim_core.simulation.assembly.builder import BuiltModel, build_model
from hydro_sim_core.simulation.assembly.drive_gains import described_drives
from hydro_sim_core.simulation.assembly.mending import mended
from hydro_sim_core.simulation.assembly.placement import place_robots
from hydro_sim_core.simulation.assembly.point_pairs import refuse_point_pairs
from hydro_sim_core.simulation.assembly.soft_pairs import soft_pairs
from hydro_sim_core.simulation.assembly.step_margin import StepMargin
from hydro_sim_core.simulation.assembly.unit_slips import warn_of_unit_slips
from hydro_sim_core.simulation.integrators.steppers import StepFailed, Stepper, stepper_of
from hydro_sim_core.simulation.stepping.machine import Machine, with_constants
from hydro_sim_core.simulation.stepping.model import Drives, Loads, State, copied, overwrite
from hydro_sim_core.simulation.stepping.soft_model import SoftPairs
from hydro_sim_core.simulation.stepping.step import OF_POINTS
from hydro_sim_core.simulation.world.commands import WorldCommands
from hydro_sim_core.simulation.world.drives import DriveBank
from hydro_sim_core.simulation.world.motion import WorldMotion
from hydro_sim_core.simulation.world.saved_state import (
    SavedState,
    fingerprint,
    read_saved_state,
    with_counters,
)
from hydro_sim_core.simulation.world.scripts import Script, check_commands
from hydro_sim_core.simulation.world.stretches import WorldStretches
from hydro_sim_core.simulation.world.take_over import WorldTakeOver
from hydro_sim_core.solvers import SolverOptions, solver_entry

if TYPE_CHECKING:
    from hydro_sim_core.simulation.world.world_sensors import WorldSensors
    from hydro_sim_core.viewer.world_view import WorldView

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)


class World(WorldMotion, WorldCommands, WorldStretches, WorldTakeOver):
    """A running scene. Not thread-safe: one thread steps and reads it (``FixedRateRunner`` hands out snapshots).

    Attributes:
        scene: Scene that the world was made from, with the repairs that this took.
        name: Name of the scene.
        time_step: Time step, s; another takes another world, ``World(scene.with_({"time_step": 0.002}))``.
        joint_names: Every joint with one coordinate, mimic joints included, and the coordinates of those with several,
            such as ``joint/x``, ``joint/y`` and ``joint/yaw`` of a planar one.
        velocity_names: Name of each entry of ``v``: one of ``joint_names``, or ``joint/i`` of a joint with a
            quaternion, such as a floating one.
        actuated_joint_names: Joints that take commands.
        frame_names: Names of all links.
        link_tree: (parent link, child link) of every link; the parent of a root is ``world``.
        visuals: (link, visual geometry) of every robot.

    Args:
        scene: Scene to make it from.
        like: A world with a similar scene; geometry in both is reused.
    """

    _instead: ClassVar = {
        "time_step": 'make another world, World(world.scene.with_({"time_step": …}))',
        "time": "call reset or restore_state",
        "step_count": "call reset or restore_state",
        "q": "call set_state, set_joint_positions or place",
        "v": "call set_state, set_joint_velocities or place",
        "scene": "make a world of the other one, World(scene)",
    }
    #: Warnings of units that were given.
    _slips: tuple[str, ...] = ()

    def __init__(self, scene: LoadedScene, like: World | None = None) -> None:
        _refuse_others(scene, like)
        spec, choice = scene.spec, scene.spec.solver.choice
        # Compile now, not at the first step: compilation parallelises better, and its duration is known from the start.
        solver = (choice.method.name, choice.law.name) if choice.method is not None else None
        self._stepper_class = _stepper_class(choice.integrator)
        solvers = [solver_entry(*solver)] if solver is not None else []
        prepare((*evaluate.ENTRIES, *self._stepper_class.entries, *solvers))
        with shared_allowance(scene.source):
            scene, self._built = _built_or_mended(scene, like)
            self._slips = warn_of_unit_slips(scene, self._built, like._slips if like is not None else ())
        if not choice.integrator.has_points:
            refuse_point_pairs(self._built.laws, choice.integrator.name)
        if len(self._built.model.points.pairs):
            make_ready(OF_POINTS)
        assembly = self._built.assembly
        self.scene = scene
        self.name = spec.name
        self.time_step = spec.time_step
        self.joint_names = tuple(joint.name for joint in assembly.scalar_joints)
        self.velocity_names = assembly.velocity_names
        self.frame_names = assembly.link_names
        self.link_tree = assembly.link_tree
        self.visuals: tuple[tuple[str, VisualSpec], ...] = tuple(
            (link.name, visual) for robot in scene.robots for link in robot.links for visual in link.visuals
        )
        led = {
            model.name: assembly.velocity_names.index(f"{model.base_joint_name}/0")
            for model in spec.models
            if model.base == "kinematic"
        }
        described = described_drives(described_joints(spec, scene.robots), assembly, self._built.q0)
        self._drives = DriveBank(assembly, spec.actuators, described, scene.grippers, led)
        self.actuated_joint_names = self._drives.joint_names
        check_commands(spec.commands, self._drives, scene.source)
        self._commands = spec.commands
        self._q0 = self._built.q0
        self._machine = Machine(
            self._built.model, solver, self._drives.arrays, self._q0, _soft_pairs(scene, self._built)
        )
        self._start()
        self._sensors = {
            sensor.name: sensor_types()[sensor.type].sensor(sensor, self) for sensor in scene.sensors
        }
        self._is_made = True

    def _start(self) -> None:
        self._machine.restart(self._q0)
        self._stepper = self._make_stepper()
        self._failed_step: SavedState | None = None
        self._before, self._loads_before = None, self._present_loads()
        self._drives.hold(self._q0)
        self._script = Script(self._commands)

    def _make_stepper(self) -> Stepper:
        return self._stepper_class(self._machine, self.time_step, self.scene.spec.solver.accuracy)

    def __repr__(self) -> str:
        return (
            f"<World '{self.name}' at {self.time:g} s: {len(self.entities.names)} entities, "
            f"{len(self.velocity_names)} velocities>"
        )

    def reset(self, *, time: bool = True, state: bool = True) -> None:
        """Go back to the start.

        Args:
            time: Whether to reset time to zero.
            state: Whether to reset poses and commands to their start values, at rest.

        Raises:
            InputError: Another thread is stepping the world.
        """
        self._refuse_while_stepping("reset")
        step = 0 if time else self.step_count
        if state:
            self._start()
        self._state.step[0] = step

    def step(self, n: int = 1) -> None:
        """Advance by ``n`` time steps.

        Raises:
            InputError: ``n`` is negative or not a whole number, or another thread is stepping the world.
            FloatingPointError: A step gave NaN or infinity, or a velocity beyond 1e6 rad/s or m/s; the state stays at
                the last good step.
        """
        n = whole_number("step", "n", n, least=0)
        # Compiled steps run beside other threads, and two in one memory would end the process.
        self._refuse_while_stepping("step")
        self._is_stepping = True
        try:
            self._advance(n)
        finally:
            self._is_stepping = False

    def _advance(self, n: int) -> None:
        last = self.step_count + n
        is_told = len(self._built.model.forest.prescribed) > 0
        while self.step_count < last:
            self._script.apply(self.time, self._drives)
            chunk = min(last - self.step_count, self._script.steps_until_change(self.time, self.time_step))
            if is_told and self._drives.prescribes_a_change:
                chunk = 1
            # Stop before the last step, whose initial motion is recorded for sensors and what joints transmit.
            chunk = max(1, min(chunk, last - 1 - self.step_count))
            self._before, self._loads_before = (self.q, self.v), self._present_loads()
            try:
                self._stepper.advance(chunk)
            except StepFailed as failure:
                self._keep_failed_step()
                self._before = None
                self._machine.forget_contacts()  # those of the failed step do not belong to the state
                raise FloatingPointError(self.words_for(failure)) from None
            self._keep_failed_step()
            if is_told:
                self._drives.end_time_step()

    def words_for(self, failure: StepFailed) -> str:
        """What is told of a step that cannot be completed, after which the state is that of the last good one."""
        where = f"{self.name}: the state stays at {self.time:g} s, step {self.step_count + 1}"
        return f"{where} {failure.told(self.velocity_names)}"

    def _keep_failed_step(self) -> None:
        if self._failed_step is None and self._stepper.failed is not None:
            self._failed_step = self._saved(self._stepper.failed)

    def _saved(self, state: State) -> SavedState:
        drives, loads = copied(self._machine.drives), copied(self._machine.loads)
        return SavedState(self._fingerprint, state, drives, loads, self._script.released)

    @cached_property
    def _fingerprint(self) -> str:
        """Identifies scenes whose states are compatible."""
        return fingerprint(self.name, self.scene, self._built.model)

    @property
    def failed_step(self) -> SavedState | None:
        """The state before the first step since the start that did not reach its tolerance; None without one."""
        return self._failed_step

    def save_state(self) -> SavedState:
        """Save everything that the next steps depend on, for bit-identical continuation."""
        return self._saved(self._machine.copy_state())

    def load_state(self, path: str | os.PathLike[str]) -> None:
        """Continue from a state that ``SavedState.write`` wrote for this scene, at its time.

        Raises:
            InputError: The file is not a saved state of this scene; the state is then unchanged.
        """
        self._refuse_while_stepping("load_state")
        saved = read_saved_state(
            as_path(path, "load_state"), self._fingerprint, self._machine, tuple(self._script.targets)
        )
        self._start()
        self.restore_state(saved)

    def restore_state(self, saved: SavedState) -> None:
        """Continue from a state saved by this world or another of the same scene, at its time.

        Counters since the start are kept, and the contacts of the last step are dropped.

        Raises:
            InputError: It was saved by another scene, or another thread is stepping the world; the state is then
                unchanged.
        """
        self._refuse_while_stepping("restore_state")
        if not isinstance(saved, SavedState):
            mend = "give what save_state gave; load_state of a World reads it from a file"
            raise InputError("restore_state", excerpt(saved), "is no saved state", mend)
        if saved.scene != self._fingerprint:
            problem = f"is of {saved.scene!r} where {self._fingerprint!r} is run"
            raise InputError("restore_state", "scene", problem, "restore what a world of this scene saved")
        self._machine.restore_state(with_counters(saved.state, self._state))
        self._machine.forget_contacts()
        self._before = None
        overwrite(self._machine.drives, saved.drives)
        overwrite(self._machine.loads, saved.loads)
        self._drives.writes += 1
        self._script = Script(self._commands)
        self._script.resume(saved.released)

    def copy(self) -> World:
        """An independent copy that continues bit-identically.

        The constant parts are shared: the scene, the meshes and the model.
        """
        other = World.__new__(World)
        other.__dict__.update(self._values())
        other._drives = self._drives.copy()
        other._machine = self._machine.copy(other._drives.arrays)
        other._stepper = stepper_of(other._machine, like=self._stepper)
        other._script = self._script.copy()
        return other

    def use_arrays(
        self, state: State, drives: Drives, loads: Loads, constants: Mapping[tuple[type, str], Any]
    ) -> None:
        """Step in these arrays from now on, such as rows of those of many worlds, and with these constants.

        Args:
            state: Its state, which stays as it is in the arrays.
            drives: Targets and gains of its drives, likewise.
            loads: What acts on its links, likewise.
            constants: Fields of the model, by class and name; what was derived from them before stays.
        """
        self._described_tree = self._described_tree or self._built.model.tree
        model = with_constants(self._built.model, constants)
        self._built = replace(self._built, model=model)
        self._drives = self._drives.copy()
        self._drives.arrays = drives
        self._machine.use_arrays(state, drives, loads, model)
        self.__dict__.pop("_evaluators", None)
        self.forget_masses()

    @property
    def machine(self) -> Machine:
        """Model, state, drives and memory of its steps."""
        return self._machine

    @property
    def stepper(self) -> Stepper:
        """What advances it by whole time steps."""
        return self._stepper

    @property
    def script(self) -> Script:
        """Commands of the scene that change with time."""
        return self._script

    @property
    def drive_bank(self) -> DriveBank:
        """Its drives, with checks of commands."""
        return self._drives

    def __copy__(self) -> World:
        return self.copy()

    def __deepcopy__(self, _: dict[int, Any]) -> World:
        return self.copy()

    def __reduce__(self) -> Any:
        """Pickle the content apart from its version, which is checked before the rest is unpickled."""
        types = {joint.type for robot in self.scene.robots for joint in robot.joints if joint.traits.num_v}
        numbers = {name: joint_number(name) for name in sorted(types)}
        values = pickle.dumps(self._values(), pickle.HIGHEST_PROTOCOL)
        return _unpickled, (version("hydro-sim-core"), numbers, values)

    def _values(self) -> dict[str, Any]:
        """All attributes except those that belong to threads: evaluators, made again when needed, and who steps."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_evaluators", "_is_stepping")
        }

    @property
    def sensors(self) -> WorldSensors:
        """The scene's sensors: ``world.sensors["wrist_imu"].read()``."""
        room = import_module("hydro_sim_core.simulation.world.world_sensors")
        sensors: WorldSensors = room.WorldSensors(self._sensors, self)
        return sensors

    def view(self, open_browser: bool = False, full_scale: float | None = None) -> WorldView:
        """Serve a page that shows the world; ``sync`` of the result updates it.

        Args:
            open_browser: Whether to open the page in the user's browser.
            full_scale: Pressure (Pa) of the brightest colour; by default chosen from the scene.

        Raises:
            InputError: The page cannot be served.
        """
        view: WorldView = import_module("hydro_sim_core.viewer.world_view").WorldView(self, full_scale)
        return view.open_browser() if open_browser else view

    def render(
        self,
        path: str | os.PathLike[str] | None = None,
        camera: str = "iso",
        size: tuple[int, int] = (1280, 720),
        full_scale: float | None = None,
    ) -> NDArray[np.uint8]:
        """Take a picture of the world as it is now, (height, width, 3) red, green, blue.

        Takes a second or two, mostly to start a browser; use ``pictures.world_camera`` for many pictures.

        Args:
            path: PNG file to write it to as well.
            camera: View of the camera: ``iso``, ``front``, ``side``, ``top`` or ``contact``.
            size: Width and height, pixels.
            full_scale: Pressure (Pa) of the brightest colour; by default chosen from the scene.

        Raises:
            InputError: There is no browser, no such camera, or the file cannot be written.
        """
        room = import_module("hydro_sim_core.pictures.world_camera")
        picture: NDArray[np.uint8] = room.render(self, path, camera, size, full_scale)
        return picture


def _solver_options(settings: SolverSettings) -> SolverOptions:
    choice = settings.choice
    method = choice.method
    return SolverOptions(
        tolerance=settings.tolerance,
        max_iterations=settings.max_iterations or (method.max_iterations if method is not None else 0),
        stiction_speed=settings.stiction_speed,
        lags=choice.law.lags,
        relag=settings.relag,
        keeps_bounds=settings.parity is not None,
        numbers_per_face=method.numbers_per_face if method is not None else 0,
    )


def _stepper_class(integrator: Integrator) -> Any:
    """The class of the integrator's stepper."""
    where = f"integrator '{integrator.name}'"
    found = referred(integrator.stepper, where)
    if not (isinstance(found, type) and hasattr(found, "entries") and hasattr(found, "advance")):
        raise InputError(integrator.stepper, where, "is no class of steppers", "give it what Stepper has")
    return found


def _built_or_mended(scene: LoadedScene, like: World | None) -> tuple[LoadedScene, BuiltModel]:
    """The model of a scene, and the scene with the repairs that it takes to make one."""
    while True:
        try:
            return scene, _build(scene, like)
        except (NoInertia, EmptyMesh) as error:
            scene = mended(scene, error)


def _build(scene: LoadedScene, like: World | None) -> BuiltModel:
    spec, margin_rule = scene.spec, StepMargin(scene.spec.time_step)
    return build_model(
        place_robots(scene),
        scene.environment,
        spec.gravity,
        spec.contact,
        spec.damping,
        spec.solver.choice.law,
        _solver_options(spec.solver),
        margin_rule,
        scene.start_positions,
        scene.source,
        [tuple(gripper.joints) for gripper in scene.grippers],
        compensated_coordinates(spec, scene.robots),
        like.built.colliders if like is not None and like.built.margin_rule == margin_rule else (),
    )


def _soft_pairs(scene: LoadedScene, built: BuiltModel) -> SoftPairs | None:
    """Clouds and parameters of smooth contact; None where another law holds."""
    settings, model = scene.spec.solver.soft_contact, built.model
    if settings is None:
        return None
    return soft_pairs(built.colliders, model.pairs, model.pair_friction, settings, scene.source)


def _refuse_others(scene: object, like: object) -> None:
    """Refuse names, paths and builders, with an error that says how to make a world of them."""
    if not isinstance(scene, LoadedScene):
        mend = (
            "give scene.build()" if isinstance(scene, SceneBuilder) else "use load_scene for names and paths"
        )
        raise InputError("World", excerpt(scene), "is no scene", mend)
    if not isinstance(like, World | None):
        raise InputError("World", f"like: {excerpt(like)}", "is no world", "give a world, or None")


def _unpickled(made_by: str, joint_numbers: dict[str, int], values: bytes) -> World:
    """The world of a pickle.

    Raises:
        InputError: Another version made it, or plug-ins that it needs are not here, or not the same.
    """
    here = version("hydro-sim-core")
    if made_by != here:
        raise InputError(
            "pickle",
            "world",
            f"was made by hydro-sim-core {made_by}, and this is {here}",
            "load the scene anew, or install that version",
        )
    mend = "install the packages that were there when it was pickled, and no others that add joints"
    for name, number in joint_numbers.items():
        if name not in joint_types() or joint_number(name) != number:
            problem = f"has joints of type '{name}', which is not here what it was there"
            raise InputError("pickle", "world", problem, mend)
    world = World.__new__(World)
    try:
        world.__dict__.update(pickle.loads(values))
    except (AttributeError, ImportError, KeyError) as error:
        raise InputError("pickle", "world", f"needs what is not here ({error})", mend) from error
    return world
