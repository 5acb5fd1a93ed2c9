"""A scene that runs: ``World`` holds the model, the state and the step's memory."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.arithmetic import norm
from hydro_sim_core.compilation import prepare
from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.contact.poses import as_pose
from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.scene import TWIST_MODES
from hydro_sim_core.description.spec import VisualSpec
from hydro_sim_core.dynamics import TreeEvaluator, evaluate
from hydro_sim_core.dynamics.tree import FLOATING
from hydro_sim_core.errors import InputError, whole_number
from hydro_sim_core.rotations import quaternions_of, twist_between
from hydro_sim_core.simulation import continuous
from hydro_sim_core.simulation.builder import BuiltModel, build_model
from hydro_sim_core.simulation.carry_over import carry_over
from hydro_sim_core.simulation.contact_summary import ContactSummary
from hydro_sim_core.simulation.contacts import (
    ContactRecord,
    contact_effort,
    contact_patches,
    faceless_overlaps,
    record_contacts,
)
from hydro_sim_core.simulation.continuous import DEFAULT_ACCURACY, ContinuousSteps
from hydro_sim_core.simulation.drives import CommandMode, DriveBank, JointCommand, Values
from hydro_sim_core.simulation.energies import Energies, elastic_energy
from hydro_sim_core.simulation.entities import Entities
from hydro_sim_core.simulation.machine import Machine, step_entries
from hydro_sim_core.simulation.model import Scratch, State, copied, overwrite
from hydro_sim_core.simulation.placement import place_robots, reported_pairs, start_coordinates
from hydro_sim_core.simulation.saved_state import SavedState, fingerprint, read_saved_state
from hydro_sim_core.simulation.scripts import Script, check_commands
from hydro_sim_core.simulation.steppers import (
    ErrorControlledSteps,
    FixedSteps,
    StepFailed,
    Stepper,
    stepper_of,
)
from hydro_sim_core.solvers import LAGGED, SAP, SIMILAR, TAMSI, SolverOptions
from hydro_sim_core.solvers.options import CONVERGED, FRICTION_CHANGE, ITERATIONS, RESIDUAL, SOLVES

if TYPE_CHECKING:
    from hydro_sim_core.viewer.world_view import WorldView

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)

#: Contact law of a scene's solver model; the continuous one has the lagged law's friction at every instant.
_LAWS = {"lagged": LAGGED, "similar": SIMILAR, "sap": SAP, "tamsi": TAMSI, "continuous": LAGGED}


class World:
    """A running scene. Not thread-safe: one thread steps and reads it (``FixedRateRunner`` hands out snapshots).

    Attributes:
        scene: What the world was made from.
        name: Name of the scene.
        time_step: Seconds.
        joint_names: Every joint with one coordinate, mimic joints included, and the coordinates of planar joints:
            ``joint/x``, ``joint/y`` and ``joint/yaw``.
        velocity_names: What each entry of ``v`` moves: one of ``joint_names``, or ``joint/i`` of a floating joint.
        actuated_joint_names: Joints that take commands.
        frame_names: Every link.
        link_tree: (parent link, child link) of every link; the parent of a root is ``world``.
        visuals: (link, visual geometry) of every robot.

    Args:
        scene: What to make it from.
        like: A world with much the same scene; geometry that both share is not made again.
    """

    def __init__(self, scene: LoadedScene, like: World | None = None) -> None:
        spec = scene.spec
        placed = place_robots(scene)
        compensated = [
            name
            for model, robot in zip(spec.models, scene.robots, strict=True)
            if model.gravity_compensation
            for joint in robot.joints
            for name in joint.coordinate_names
        ]
        options = SolverOptions(
            law=_LAWS[spec.solver.model],
            tolerance=spec.solver.tolerance,
            max_iterations=spec.solver.max_iterations,
            stiction_speed=spec.solver.stiction_speed,
            relag=spec.solver.relag,
        )
        # At once, though the steps come later: compiling is shared better, and what it takes is known from the start.
        is_continuous = spec.solver.model == "continuous"
        prepare((*evaluate.ENTRIES, *(continuous.ENTRIES if is_continuous else step_entries(options.law))))
        self._built: BuiltModel = build_model(
            placed,
            scene.environment,
            spec.gravity,
            spec.contact,
            spec.damping,
            options,
            compensated,
            like.built.colliders if like is not None else (),
        )
        pairs = self._built.unsupported_pairs
        if len(pairs):
            logger.warning(
                "%s: %d pairs of rigid geometries pass through each other, %s and %s among them; make one compliant",
                spec.name,
                len(pairs),
                *(self._built.colliders[geometry].link for geometry in pairs[0]),
            )
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
        self._drives = DriveBank(assembly, spec.actuators, spec.grippers, led)
        self.actuated_joint_names = self._drives.joint_names
        check_commands(spec.commands, self._drives, scene.source)
        self._commands = spec.commands
        self._q0 = start_coordinates(self._built, scene)
        self._machine = Machine(self._built.model, self._drives.arrays, self._q0)
        self._start()

    @cached_property
    def contact_pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of links whose contact wrench is reported; found when first asked for, as there may be very many."""
        return reported_pairs(self._built, self.scene.spec)

    def _start(self) -> None:
        self._machine.restart(self._q0)
        self._stepper = self._make_stepper()
        self._failed_step: SavedState | None = None
        self._drives.hold(self._q0)
        self._script = Script(self._commands)

    def _make_stepper(self) -> Stepper:
        settings = self.scene.spec.solver
        if settings.model == "continuous":
            return ContinuousSteps(self._machine, self.time_step, settings.accuracy or DEFAULT_ACCURACY)
        if settings.accuracy is None:
            return FixedSteps(self._machine, self.time_step)
        return ErrorControlledSteps(self._machine, self.time_step, settings.accuracy)

    def __repr__(self) -> str:
        return (
            f"<World '{self.name}' at {self.time:g} s: {len(self.entities.names)} entities, "
            f"{len(self.velocity_names)} velocities>"
        )

    @property
    def _state(self) -> State:
        return self._machine.state

    @property
    def _scratch(self) -> Scratch:
        return self._machine.scratch

    # --- time and state

    @property
    def built(self) -> BuiltModel:
        """The frozen model and the names behind its indices: bodies, colliders, pairs."""
        return self._built

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return float(self._state.step[0]) * self.time_step

    @property
    def step_count(self) -> int:
        """Steps done since the start or the last reset."""
        return int(self._state.step[0])

    @property
    def q(self) -> Array:
        """(nq,) coordinates, a copy."""
        return self._state.q.copy()

    @property
    def v(self) -> Array:
        """(nv,) velocities, a copy."""
        return self._state.v.copy()

    def set_state(self, q: ArrayLike, v: ArrayLike) -> None:
        """Set coordinates and velocities; time goes on.

        Args:
            q: (nq,) coordinates; quaternions are normalised.
            v: (nv,) velocities; those of kinematic models hold until the next step, which goes by what they were told.

        Raises:
            InputError: Wrong length, NaN or infinity, or a zero quaternion. The state is then unchanged.
        """
        q, v = _checked("q", q, len(self._state.q)), _checked("v", v, len(self._state.v))
        for first in self._machine.quaternion_starts:
            length = norm(q[first : first + 4])
            if length < 1e-6:
                raise InputError(
                    "set_state", f"q[{first}:{first + 4}]", "is a zero quaternion", "give a unit one"
                )
            q[first : first + 4] /= length
        self._state.q[:], self._state.v[:], self._state.v_previous[:] = q, v, v
        for history in (
            self._state.extrapolate,
            self._state.dt_previous,
            self._state.substep,
            self._state.push,
        ):
            history[:] = 0

    def set_joint_positions(self, positions: Mapping[str, float]) -> None:
        """Set the positions of some joints; velocities, all other joints and the time stay as they are.

        Args:
            positions: By name of a joint in ``joint_names``, rad or m; its limits are not looked at. A mimic joint goes
                with the joint that it mimics.

        Raises:
            InputError: There is no such joint, it has no position of its own, or a position is not finite. Nothing is
                then changed.
        """
        q = self.q
        for index, value in self._own_coordinates("set_joint_positions", positions).items():
            q[self._joint_q[index]] = value
        self.set_state(q, self._state.v)

    def set_joint_velocities(self, velocities: Mapping[str, float]) -> None:
        """Set the velocities of some joints, rad/s or m/s; otherwise as ``set_joint_positions``."""
        v = self.v
        for index, value in self._own_coordinates("set_joint_velocities", velocities).items():
            v[self._joint_v[index]] = value
        self.set_state(self._state.q, v)

    def _own_coordinates(self, asker: str, values: Mapping[str, float]) -> dict[int, float]:
        """Values by the rows of their joints in ``joint_names``."""
        found: dict[int, float] = {}
        for name, value in values.items():
            element = f"joint '{name}'"
            if name not in self.joint_names:
                mend = did_you_mean(str(name), self.joint_names)
                raise InputError(asker, element, "is not in the scene, or has not one coordinate", mend)
            index = self.joint_names.index(name)
            if not self._joint_is_master[index]:
                master = self.velocity_names[self._joint_v[index]]
                raise InputError(asker, element, f"mimics '{master}'", f"set '{master}'")
            found[index] = float(_checked(element, [value], 1)[0])
        return found

    def place(self, name: str, X_WB: ArrayLike | None = None, V_WB: ArrayLike | None = None) -> None:
        """Put a body that is welded to nothing somewhere else; all others and the time stay as they are.

        Args:
            name: A model with a floating or kinematic base, or any floating joint, as named in ``velocity_names``.
            X_WB: (4, 4) pose of its root link in the world, or of the joint's child in the frame that it floats in;
                None leaves it where it is.
            V_WB: (6,) its angular and linear velocity there, rad/s and m/s; None leaves them as they are. A kinematic
                model goes on with it.

        Raises:
            InputError: There is no such thing, it is fixed, or pose or velocity is none. Nothing is then changed.
        """
        body = self._floating_body("place", name)
        X = None if X_WB is None else as_pose(X_WB, "place", "X_WB")
        V = None if V_WB is None else _checked("V_WB", V_WB, 6)
        tree, state = self._built.model.tree, self._state
        q, v = int(tree.q_index[body]), int(tree.v_index[body])
        if X is not None:
            x, y, z, w = quaternions_of(X[:3, :3])
            state.q[q : q + 7] = [w, x, y, z, *X[:3, 3]]
        if V is not None:
            state.v[v : v + 6] = state.v_previous[v : v + 6] = V
            if tree.prescribed[v]:
                self._lead(v, V, V)
        carrier = self._built.model.geometry_body
        is_with_it = (carrier >= 0) & np.isin(carrier, list(self._moved_with(body)))
        state.push[is_with_it[self._built.model.pairs].any(axis=1)] = 0.0

    def _moved_with(self, body: int) -> set[int]:
        """Bodies of the same independent tree, and those that a body carries."""
        moved = {body}
        parent, tree_of_body = self._built.model.tree.parent, self._built.model.forest.tree_of_body
        for i in range(len(parent)):
            if int(parent[i]) in moved or tree_of_body[i] == tree_of_body[body] >= 0:
                moved.add(i)
        return moved

    def move(self, name: str, X_WB: ArrayLike | None = None, V_WB: ArrayLike | None = None) -> None:
        """Tell a kinematic model where to be after the coming time step, and how fast to go on from there.

        Ends scripted commands to it.
        It gets there at constant velocity, whatever is in its way; contact pushes the others alone. Without any call it
        goes on as it was told last.

        Args:
            name: A model with ``base: kinematic``.
            X_WB: (4, 4) pose of its root link in the world after the coming time step. Without it the model goes by
                ``V_WB`` from now on.
            V_WB: (6,) its angular and linear velocity from then on, rad/s and m/s, which the world's axes and the root
                link's origin are meant by; without it the model stands still then.

        Raises:
            InputError: There is no such model, it is not kinematic, or pose or velocity is none. Nothing is then
                changed.
        """
        body = self._floating_body("move", name)
        first = int(self._built.model.tree.v_index[body])
        if not self._built.model.tree.prescribed[first]:
            problem = "moves as forces make it"
            raise InputError("move", f"'{name}'", problem, "write base: kinematic for it in the scene")
        after = np.zeros(6) if V_WB is None else _checked("V_WB", V_WB, 6)
        if X_WB is None:
            coming = after
        else:
            X_WS = self._evaluator.update(self._state.q).body_pose(body)
            coming = twist_between(X_WS, as_pose(X_WB, "move", "X_WB"), self.time_step)
        self._lead(first, coming, after)

    def _lead(self, first: int, coming: Array, after: Array) -> None:
        """Prescribe six velocities and end scripted commands of them."""
        model = next(name for name, place in self._drives.led.items() if place == first)
        for mode in TWIST_MODES:
            self._script.release(f"{model}.{mode}")
        self._drives.prescribe(first, coming, after)

    def _floating_body(self, asker: str, name: str) -> int:
        """Body that a floating joint, or the floating or kinematic base of a model, moves."""
        joints = self._built.assembly.joint_names
        floating = [
            joint
            for joint, kind in zip(joints, self._built.model.tree.joint_type, strict=True)
            if kind == FLOATING
        ]
        if name in floating:
            return joints.index(name)
        if name not in self.entities.names:
            mend = did_you_mean(str(name), [*self.entities.names, *floating])
            raise InputError(asker, f"'{name}'", "is not in the scene", mend)
        joint = self.entities[name].joint
        if joint is None:
            base = "kinematic" if asker == "move" else "floating"
            raise InputError(asker, f"'{name}'", "is fixed", f"write base: {base} for it in the scene")
        return joints.index(joint)

    def take_over(self, other: World) -> None:
        """Go on where another world stands: at its time, and in the state of whatever both have, by name.

        What only this world has starts at its place; contacts of the last step stay to be seen where both have them.
        """
        self._start()
        carry_over(other._built, other._machine, self._built, self._machine)
        released = [name for name in other._script.released if name in self._script.targets]
        self._script.resume(self.time, released)

    def reset(self, *, time: bool = True, state: bool = True) -> None:
        """Go back to the start.

        Args:
            time: Begin to count time anew; otherwise it goes on.
            state: Take everything back to its start, at rest, and its commands; otherwise it goes on moving.
        """
        step = 0 if time else self.step_count
        if state:
            self._start()
        self._state.step[0] = step

    def step(self, n: int = 1) -> None:
        """Advance by ``n`` time steps.

        Raises:
            InputError: ``n`` is negative or not a whole number.
            FloatingPointError: A step gave NaN or infinity; the state stays at the last good step.
        """
        last = self.step_count + whole_number("step", "n", n, least=0)
        is_told = len(self._built.model.forest.prescribed) > 0
        while self.step_count < last:
            self._script.apply(self.time, self._drives)
            chunk = min(last - self.step_count, self._script.steps_until_change(self.time, self.time_step))
            if is_told and self._drives.prescribes_a_change:
                chunk = 1
            try:
                self._stepper.advance(chunk)
            except StepFailed as failure:
                self._keep_failed_step()
                self._machine.forget_contacts()  # those of the failed step would not fit the state
                raise FloatingPointError(
                    f"{self.name}: the state stays at {self.time:g} s, step {self.step_count + 1} {failure}"
                ) from None
            self._keep_failed_step()
            if is_told:
                self._drives.end_time_step()

    def _keep_failed_step(self) -> None:
        if self._failed_step is None and self._stepper.failed is not None:
            self._failed_step = self._saved(self._stepper.failed)

    def _saved(self, state: State) -> SavedState:
        drives, loads = copied(self._machine.drives), copied(self._machine.loads)
        return SavedState(self._fingerprint, state, drives, loads, self._script.released)

    @cached_property
    def _fingerprint(self) -> str:
        """Tells scenes apart whose states would mean something else."""
        return fingerprint(self.name, self.scene, self._built.model)

    @property
    def failed_step(self) -> SavedState | None:
        """The state before the first step that did not reach its tolerance, or none at all, since the start."""
        return self._failed_step

    def save_state(self) -> SavedState:
        """Everything that the next steps depend on, bit by bit."""
        return self._saved(self._machine.copy_state())

    def load_state(self, path: str | os.PathLike[str]) -> None:
        """Go on from a state that ``SavedState.write`` wrote for this scene, at its time.

        Raises:
            InputError: The file is no saved state of this scene; the state is then unchanged.
        """
        saved = read_saved_state(Path(path), self._fingerprint, self._machine, tuple(self._script.targets))
        self._start()
        self.restore_state(saved)

    def restore_state(self, saved: SavedState) -> None:
        """Go on from a state that this world saved, or another of the same scene, at its time.

        What was counted since the start is kept, and the contacts of the last step are forgotten.

        Raises:
            InputError: It was saved by another scene; the state is then unchanged.
        """
        if saved.scene != self._fingerprint:
            problem = f"is of {saved.scene!r} where {self._fingerprint!r} is run"
            raise InputError("restore_state", "scene", problem, "restore what a world of this scene saved")
        self._machine.restore_state(saved.state)
        self._machine.forget_contacts()
        overwrite(self._machine.drives, saved.drives)
        overwrite(self._machine.loads, saved.loads)
        self._drives.writes += 1
        self._script = Script(self._commands)
        self._script.resume(self.time, saved.released)

    # --- copies

    def copy(self) -> World:
        """A world that goes on from here by itself, to the same bits.

        Both share what never changes: the scene, the meshes and the model.
        """
        other = World.__new__(World)
        other.__dict__.update(self._values())
        other._drives = self._drives.copy()
        other._machine = self._machine.copy(other._drives.arrays)
        other._stepper = stepper_of(other._machine, like=self._stepper)
        other._script = self._script.copy()
        return other

    def __copy__(self) -> World:
        return self.copy()

    def __deepcopy__(self, _: dict[int, Any]) -> World:
        return self.copy()

    def __reduce__(self) -> Any:
        """Pickled apart from its version, which is looked at before the rest is unpacked."""
        return _unpickled, (version("hydro-sim-core"), pickle.dumps(self._values(), pickle.HIGHEST_PROTOCOL))

    def _values(self) -> dict[str, Any]:
        """Everything but the evaluator, which writes into memory of its own and is made anew where it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_evaluator"}

    # --- kinematics and dynamics

    @cached_property
    def _evaluator(self) -> TreeEvaluator:
        return TreeEvaluator(self._built.model.tree)

    def mass_matrix(self) -> Array:
        """Mass matrix (nv, nv) at the current state."""
        return self._evaluator.update(self._state.q).mass_matrix()

    def bias_forces(self) -> Array:
        """Coriolis, centrifugal and gravity forces (nv,): ``M a + bias = tau``."""
        return self._evaluator.update(self._state.q).bias_forces(self._state.v)

    def inverse_dynamics(self, a: ArrayLike) -> Array:
        """Generalised forces (nv,) that give accelerations ``a`` (nv,) without contact, damping and friction."""
        return self._evaluator.update(self._state.q).inverse_dynamics(
            self._state.v, _checked("a", a, len(self._state.v))
        )

    def gravity_forces(self) -> Array:
        """Generalised forces (nv,) that hold the joints at rest against gravity, N m or N."""
        return self._evaluator.update(self._state.q).gravity_forces()

    def energies(self) -> Energies:
        """Kinetic, potential and elastic energy at the current state; the elastic one of what touched in the last step.

        For analysis: elastic energy looks at all pairs of elements of two bodies, which takes milliseconds.
        """
        patches = self._scratch.patches
        return self._energies(
            self._evaluator.update(self._state.q), self._state.v, patches.pair[: patches.num[0]]
        )

    def energies_of(self, q: Array, v: Array, record: ContactRecord) -> Energies:
        """The same at ``q`` (nq,) and ``v`` (nv,) with the contacts of a record; safe to call from any thread."""
        return self._energies(TreeEvaluator(self._built.model.tree).update(q), v, record.pair)

    def _energies(self, posture: TreeEvaluator, v: Array, pairs: NDArray[np.int64]) -> Energies:
        return Energies(
            posture.kinetic_energy(v),
            posture.potential_energy(),
            elastic_energy(self._built.model, posture, pairs),
        )

    def frame_pose(self, name: str) -> Array:
        """Pose (4, 4) of a link in the world.

        Raises:
            InputError: There is no such link.
        """
        return self.frame_poses()[self._frame("frame_pose", name)]

    def frame_jacobian(self, name: str) -> Array:
        """Jacobian J (6, nv) of the origin of a link's frame, world axes: ``J v = [w_WF; v_WF]``.

        Raises:
            InputError: There is no such link.
        """
        index = self._frame("frame_jacobian", name)
        body = int(self._built.assembly.link_body[index])
        evaluator = self._evaluator.update(self._state.q)
        X_WF = evaluator.body_pose(body) @ self._built.assembly.X_BL[index]
        return evaluator.point_jacobian(body, X_WF[:3, 3].copy())

    def _frame(self, asker: str, name: str) -> int:
        index = self._frame_index.get(str(name))
        if index is None:
            mend = did_you_mean(str(name), self.frame_names)
            raise InputError(asker, f"link '{name}'", "is not in the scene", mend)
        return index

    def frame_poses(self, q: Array | None = None) -> Array:
        """Poses (links, 4, 4) of all links at ``q`` (nq,) or the current coordinates, in the order of ``frame_names``.

        Safe to call from several threads if ``q`` is given.

        Raises:
            InputError: ``q`` is not an array of nq finite numbers.
        """
        if q is not None:
            q = _checked("q", q, len(self._state.q))
        evaluator = self._evaluator if q is None else TreeEvaluator(self._built.model.tree)
        evaluator.update(self._state.q if q is None else q)
        bodies = np.zeros((len(evaluator.p_WB) + 1, 4, 4))
        bodies[:-1, :3, :3], bodies[:-1, :3, 3], bodies[:-1, 3, 3] = evaluator.R_WB, evaluator.p_WB, 1.0
        bodies[-1] = np.eye(4)  # index -1: the world
        return bodies[self._built.assembly.link_body] @ self._built.assembly.X_BL

    def frame_twists(self, q: Array | None = None, v: Array | None = None) -> Array:
        """Twists (links, 6) of all links about the world's origin, in the order of ``frame_names``.

        The velocity of a link at a point p is then ``twist[3:] + twist[:3] x p``. Safe to call from several threads if
        ``q`` (nq,) and ``v`` (nv,) are given; otherwise the current ones are meant.

        Raises:
            InputError: ``q`` or ``v`` is no array of as many finite numbers.
        """
        q = self.q if q is None else _checked("q", q, len(self._state.q))
        v = self.v if v is None else _checked("v", v, len(self._state.v))
        bodies = TreeEvaluator(self._built.model.tree).update(q).body_velocities(v)
        bodies = np.vstack([bodies, np.zeros(6)])  # index -1: the world
        return bodies[self._built.assembly.link_body]

    @cached_property
    def _frame_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.frame_names)}

    def joint_positions(self) -> Array:
        """Position of every joint in ``joint_names``, rad or m."""
        return self._joint_scale * self._state.q[self._joint_q] + self._joint_offset

    def joint_velocities(self) -> Array:
        """Velocity of every joint in ``joint_names``, rad/s or m/s."""
        return self._joint_scale * self._state.v[self._joint_v]

    def joint_efforts(self) -> Array:
        """Drive effort of every joint in ``joint_names`` over the last step, N m or N; 0 for mimic joints."""
        return np.where(self._joint_is_master, self._scratch.effort[self._joint_v], 0.0)

    @cached_property
    def _joint_q(self) -> NDArray[np.int64]:
        return np.array([j.q_index for j in self._built.assembly.scalar_joints], dtype=np.int64)

    @cached_property
    def _joint_v(self) -> NDArray[np.int64]:
        return np.array([j.v_index for j in self._built.assembly.scalar_joints], dtype=np.int64)

    @cached_property
    def _joint_scale(self) -> Array:
        return np.array([j.scale for j in self._built.assembly.scalar_joints])

    @cached_property
    def _joint_offset(self) -> Array:
        return np.array([j.offset for j in self._built.assembly.scalar_joints])

    @cached_property
    def _joint_is_master(self) -> NDArray[np.bool_]:
        return np.array([name in self.velocity_names for name in self.joint_names], dtype=bool)

    @cached_property
    def entities(self) -> Entities:
        """The models and static shapes of the scene."""
        return Entities(self.scene, self._built)

    # --- pictures: their rooms lie above this one, and a world that nobody looks at needs none of them

    def view(self, open_browser: bool = False, full_scale: float | None = None) -> WorldView:
        """Serve a page that shows the world; ``sync`` of what this returns shows it as it is then.

        Args:
            open_browser: Open the page in the user's browser.
            full_scale: Pressure (Pa) of the brightest colour; 20 kPa by default.

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
        """A picture of the world as it is now, (height, width, 3) red, green, blue.

        Takes a second or two, most of it for starting a browser; ``pictures.world_camera`` takes many.

        Args:
            path: PNG file to write it to as well.
            camera: Where the camera stands: ``iso``, ``front``, ``side``, ``top`` or ``contact``.
            size: Width and height, pixels.
            full_scale: Pressure (Pa) of the brightest colour; 20 kPa by default.

        Raises:
            InputError: There is no browser, no such camera, or the file cannot be written.
        """
        room = import_module("hydro_sim_core.pictures.world_camera")
        picture: NDArray[np.uint8] = room.render(self, path, camera, size, full_scale)
        return picture

    # --- commands

    def set_command(self, values: Values, mode: str = "effort", joints: Sequence[str] | None = None) -> None:
        """Command joints; ends scripted commands to them.

        See ``DriveBank.check_command`` for arguments and errors.
        """
        for name in self._drives.set_command(values, mode, joints):
            self._script.release(name)

    def apply_wrench(self, link: str, wrench: ArrayLike | None) -> None:
        """Push a link from outside: in every step from now on, until it is told otherwise or reset.

        Args:
            link: In ``frame_names``.
            wrench: (6,) torque about the origin of the link's frame and force, in world axes, N m and N. The origin
                goes with the link, the direction stays. None ends it.

        Raises:
            InputError: There is no such link, it cannot move, or the wrench is none. Nothing is then changed.
        """
        row = self._frame("apply_wrench", link)
        if self._built.model.link_body[row] < 0:
            raise InputError(
                "apply_wrench", f"link '{link}'", "is fixed to the world", "push a link that moves"
            )
        loads = self._machine.loads
        loads.wrench[row] = 0.0 if wrench is None else _checked("wrench", wrench, 6)
        loads.num[0] = np.any(loads.wrench, axis=1).sum()

    def applied_wrench(self, link: str) -> Array:
        """What ``apply_wrench`` pushes a link with, (6,), a copy.

        Raises:
            InputError: There is no such link.
        """
        return self._machine.loads.wrench[self._frame("applied_wrench", link)].copy()

    def check_command(
        self, values: Values, mode: str = "effort", joints: Sequence[str] | None = None
    ) -> None:
        """Raise what ``set_command`` would raise, without commanding anything."""
        self._drives.check_command(values, mode, joints)

    @property
    def drive_writes(self) -> int:
        """How often drives were told something; ``drive_targets`` has not changed while this has not."""
        return self._drives.writes

    def drive_targets(self) -> Array:
        """(3, n) position, velocity and effort that the drives were told, by the script too.

        One column for each of ``actuated_joint_names``; NaN where a drive follows none.
        """
        return self._drives.targets()

    def command_joints(self, commands: Mapping[str, JointCommand]) -> None:
        """Command joints in modes that may differ and mix; ends scripted commands to them.

        Raises:
            InputError: As ``DriveBank.check_joints``.
        """
        for name in self._drives.set_joints(commands):
            self._script.release(name)

    def check_joint_commands(self, commands: Mapping[str, JointCommand]) -> None:
        """Raise what ``command_joints`` would raise, without commanding anything."""
        self._drives.check_joints(commands)

    def takes(self, joint: str, mode: CommandMode) -> bool:
        """Whether a joint that takes commands has the gain for those of a mode."""
        return self._drives.can(joint, mode)

    @cached_property
    def weightless_joint_names(self) -> frozenset[str]:
        """Joints that take commands and whose drive bears their model's weight by itself."""
        borne = self._built.model.compensated
        return frozenset(name for name in self.actuated_joint_names if borne[self.velocity_names.index(name)])

    @property
    def gripper_names(self) -> tuple[str, ...]:
        """Grippers of the scene."""
        return self._drives.gripper_names

    @property
    def gripper_joint_names(self) -> tuple[str, ...]:
        """Drivable joints that move fingers: the fingers' own, or those that they mimic."""
        return self._drives.gripper_joint_names

    def gripper_joints(self, name: str) -> tuple[str, ...]:
        """Those of ``gripper_joint_names`` that move the fingers of one gripper."""
        return self._drives.gripper_joints(name)

    def set_gripper(
        self,
        name: str | None = None,
        force: float | None = None,
        position: float | None = None,
        max_force: float | None = None,
    ) -> None:
        """Command a gripper; ends a scripted command to it. See ``DriveBank.set_gripper``."""
        gripper = self._drives.check_gripper(name, force, position, max_force)
        self._script.release(gripper.name)
        self._drives.set_gripper(gripper.name, force, position, max_force)

    def check_gripper(
        self,
        name: str | None = None,
        force: float | None = None,
        position: float | None = None,
        max_force: float | None = None,
    ) -> None:
        """Raise what ``set_gripper`` would raise, without commanding anything."""
        self._drives.check_gripper(name, force, position, max_force)

    def grip_force(self, name: str | None = None) -> float:
        """Mean contact force a finger along its closing direction over the last step, N."""
        return self.grip_force_of(record_contacts(self._scratch), name)

    def grip_force_of(self, record: ContactRecord, name: str | None = None) -> float:
        """Mean contact force a finger along its closing direction in a record of contacts, N."""
        fingers = self._drives.gripper(name).joints
        bodies = {joint: self._built.assembly.joint_names.index(joint) for joint in fingers}
        # What is held pushes a finger open, against its closing direction.
        forces = [
            -sign * contact_effort(record, self._built.model, bodies[joint])
            for joint, sign in fingers.items()
        ]
        return float(np.mean(forces))

    # --- contacts and reports

    @property
    def contacts(self) -> list[ContactPatch]:
        """Contact patches of the last step with the wrenches that the solver applied, averaged over the step.

        Where a time step was taken in pieces, its last piece is meant, and with the continuous model its end.
        """
        return self.patches_of(self.record_contacts())

    def record_contacts(self) -> ContactRecord:
        """Copy the last step's contacts, to be turned into patches later and elsewhere."""
        return record_contacts(self._scratch)

    def patches_of(self, record: ContactRecord) -> list[ContactPatch]:
        """Patches of a record; safe to call from any thread."""
        return contact_patches(record, self._built.model, self._built.colliders)

    def faceless_overlaps_of(self, record: ContactRecord) -> tuple[tuple[str, str], ...]:
        """Pairs of links that overlap without contact in a record; safe to call from any thread."""
        return faceless_overlaps(record, self._built.model, self._built.colliders)

    def contact_summary(self) -> ContactSummary:
        """How far the last step's contact forces can be trusted; about 1 ms a patch of 200 faces."""
        record = self.record_contacts()
        return ContactSummary(tuple(self.patches_of(record)), self.faceless_overlaps_of(record))

    def diagnostics(self) -> dict[str, float | int | bool]:
        """What the last step did, and how many steps since the start did not meet their tolerances.

        Returns:
            Contact ``faces`` and ``patches``; Newton ``iterations`` over all ``solves`` of the island that needed most;
            relative momentum ``residual`` and whether it ``converged``; ``friction_change``, how far Coulomb's bounds
            were from those of the solution (relative, of the worst patch); ``unconverged_steps`` and
            ``unsettled_steps``; ``deep_steps``, in which bodies were pushed past a medial surface, and
            ``faceless_steps``, in which bodies overlapped without contact; ``faceless_overlaps``, how many pairs do so
            now; and ``step_statistics``.
        """
        report = self._scratch.solver.report
        patches = self._scratch.patches
        return {
            "faces": int(patches.first_face[patches.num[0]]),
            "patches": int(patches.num[0]),
            "iterations": int(report[ITERATIONS]),
            "residual": float(report[RESIDUAL]),
            "converged": bool(report[CONVERGED]),
            "solves": int(report[SOLVES]),
            "friction_change": float(report[FRICTION_CHANGE]),
            "unconverged_steps": int(self._state.unconverged[0]),
            "unsettled_steps": int(self._state.unsettled[0]),
            "deep_steps": int(self._state.deep[0]),
            "faceless_steps": int(self._state.faceless[0]),
            "faceless_overlaps": int(patches.num_faceless[0]),
            **self.step_statistics(),
        }

    def step_statistics(self) -> dict[str, float | int]:
        """What was done beyond plain steps since the start; what that is depends on ``solver`` in the scene."""
        return self._stepper.statistics()


def _unpickled(made_by: str, values: bytes) -> World:
    here = version("hydro-sim-core")
    if made_by != here:
        raise InputError(
            "pickle",
            "world",
            f"was made by hydro-sim-core {made_by}, and this is {here}",
            "load the scene anew, or install that version",
        )
    world = World.__new__(World)
    world.__dict__.update(pickle.loads(values))
    return world


def _checked(name: str, values: ArrayLike, length: int) -> Array:
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            "world", name, "is not an array of numbers", f"give {length} finite numbers"
        ) from None
    if array.shape != (length,):
        raise InputError("world", name, f"has shape {array.shape}", f"give {length} numbers")
    if not np.all(np.isfinite(array)):
        raise InputError("world", name, "holds NaN or infinity", f"give {length} finite numbers")
    return array
