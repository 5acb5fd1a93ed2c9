"""Drives: validation of commands to joints and grippers, and the arrays that the step reads."""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.scene_drives import ActuatorSpec, GripperSpec
from hydro_sim_core.dynamics import Assembly
from hydro_sim_core.errors import InputError, excerpt, shortened
from hydro_sim_core.simulation.assembly.drive_gains import JointDrive
from hydro_sim_core.simulation.assembly.fingers import FingerGroup, finger_groups
from hydro_sim_core.simulation.stepping.model import Drives, copied, make_drives
from hydro_sim_core.simulation.world.command_values import (
    SOURCE,
    CommandMode,
    checked_mode,
    finite_value,
    listed,
)

Array = NDArray[np.float64]
Values = Sequence[float] | Array | Mapping[str, float]

#: Distance of a finger from its target at which a given largest force is reached, m; of a linkage a share of its range.
_FORCE_WITHIN, _EFFORT_WITHIN = 5e-4, 5e-3


#: Fields of ``Drives`` that a command writes.
WRITTEN = ("kp", "kd", "q_target", "v_target", "effort", "limit")


class JointCommand(NamedTuple):
    """Command to the drive of a joint: effort = kp (position - q) + kd (velocity - v) + effort.

    Without a position the drive has no stiffness; without position and velocity it has no damping either.

    Attributes:
        position: Target position, rad or m.
        velocity: Target velocity, rad/s or m/s; with a position, the rate of that position.
        effort: Feed-forward effort, N m or N; without position and velocity, the total effort.
    """

    position: float | None = None
    velocity: float | None = None
    effort: float | None = None


class DriveBank:
    """The drives of a scene: one for every coordinate of a joint that is not a mimic joint.

    Joints with an actuator, that move fingers of a gripper, or that their description drives have gains; others take
    efforts only. Position actuators hold their start position; all other drives give no effort until they are
    commanded.

    Attributes:
        joint_names: Driven joints, in the order of their velocities.
        led: First entry of v of every kinematic model, by the model's name.
        arrays: The drive arrays of the step.
        writes: Number of changes of drive commands; targets are unchanged while this number is.
    """

    def __init__(
        self,
        assembly: Assembly,
        actuators: Sequence[ActuatorSpec],
        described: Mapping[str, JointDrive],
        grippers: Sequence[GripperSpec],
        led: Mapping[str, int],
    ) -> None:
        tree = assembly.tree
        own = {name: i for i, name in enumerate(assembly.velocity_names) if tree.q_of_v[i] >= 0}
        self.joint_names = tuple(own)
        self.led = led
        self.arrays: Drives = make_drives(len(assembly.velocity_names))
        self.writes = 0
        self._velocity_of = own
        self._prescribed = np.flatnonzero(tree.prescribed)
        self._velocities = np.array(list(own.values()), dtype=np.int64)
        self._speed = {name: float(tree.velocity_limit[i]) for name, i in own.items()}
        self._coordinate_of = {name: int(tree.q_of_v[i]) for name, i in own.items()}
        self._lower = {name: float(tree.q_lower[i]) for name, i in own.items()}
        self._upper = {name: float(tree.q_upper[i]) for name, i in own.items()}
        self._kp = dict.fromkeys(own, 0.0)
        self._kd = dict.fromkeys(own, 0.0)
        self._mode: dict[str, CommandMode] = dict.fromkeys(own, "effort")
        self._grippers = {gripper.name: gripper for gripper in grippers}
        self._fingers = {gripper.name: finger_groups(gripper, assembly) for gripper in grippers}
        for i in own.values():
            self.arrays.limit[i] = tree.effort_limit[i]
        for actuator in actuators:
            for name in actuator.joints:
                self._set_gains(name, actuator.kp, actuator.kd, actuator.effort_limit)
                self._mode[name] = actuator.mode
        for name, drive in described.items():
            self._set_gains(name, drive.kp, drive.kd, drive.effort_limit)
            self._mode[name] = drive.mode
        for gripper in grippers:
            for group in self._fingers[gripper.name]:
                kp, kd = self._gains_of(gripper, group)
                self._set_gains(group.master, kp, kd, gripper.max_force * abs(group.closing))
                self._mode[group.master] = "position" if gripper.is_linkage else "effort"
        self._limit = {name: float(self.arrays.limit[i]) for name, i in own.items()}

    def copy(self) -> DriveBank:
        """Independent copy of the drives and their commands."""
        other = copy.copy(self)
        other.arrays = copied(self.arrays)
        return other

    def _set_gains(self, joint: str, kp: float, kd: float, limit: float | None) -> None:
        self._kp[joint], self._kd[joint] = kp, kd
        if limit is not None:
            self.arrays.limit[self._velocity_of[joint]] = limit

    def _gains_of(self, gripper: GripperSpec, group: FingerGroup) -> tuple[float, float]:
        """Gains of the drive that moves some fingers; those that follow from inertia are set already."""
        if gripper.kp is None or gripper.kd is None:
            return self._kp[group.master], self._kd[group.master]
        return gripper.kp * group.stiffness, gripper.kd * group.stiffness

    @property
    def gripper_names(self) -> tuple[str, ...]:
        """Names of the grippers."""
        return tuple(self._grippers)

    @property
    def gripper_joint_names(self) -> tuple[str, ...]:
        """Driven joints that move the fingers of grippers."""
        return tuple(group.master for groups in self._fingers.values() for group in groups)

    def default_mode(self, joint: str) -> CommandMode:
        """Mode in which a joint's drive starts."""
        return self._mode[joint]

    @property
    def drives(self) -> dict[str, JointDrive]:
        """Mode and gains of every drive, by joint."""
        return {
            name: JointDrive(self._mode[name], self._kp[name], self._kd[name], self._limit[name])
            for name in self.joint_names
        }

    def hold(self, q: Array) -> None:
        """Set start modes: position drives hold ``q`` (nq,), velocity drives hold zero velocity, others give no effort.

        Prescribed velocities become zero, and so does what was written for velocities without a drive.
        """
        for array in self.arrays:
            array[...] = 0.0
        for name in self.joint_names:
            self._hold(name, q)

    def _hold(self, name: str, q: Array) -> None:
        mode = self._mode[name]
        value = float(q[self._coordinate_of[name]]) if mode == "position" else 0.0
        self._write(name, JointCommand(**{mode: value}))

    def can(self, joint: str, mode: CommandMode) -> bool:
        """Whether the drive of a joint has the gain that commands of a mode need.

        Raises:
            InputError: There is no such mode, or the joint cannot be driven.
        """
        self._check_name(joint)
        return {"position": self._kp[joint], "velocity": self._kd[joint], "effort": 1.0}[
            checked_mode(mode)
        ] != 0.0

    def reach(self, joint: str) -> float:
        """Distance from its target (rad or m) at which the stiffness of a position drive gives its whole effort.

        Raises:
            InputError: The joint cannot be driven.
        """
        self._check_name(joint)
        return self._limit[joint] / self._kp[joint]

    def check_command(
        self, values: Values, mode: str = "effort", joints: Sequence[str] | None = None
    ) -> dict[str, float]:
        """Check a joint command without applying it.

        Positions outside the limits are refused; velocities and efforts are clipped to their limits.

        Args:
            values: One value per joint (rad, m; rad/s, m/s; N m, N), or a mapping from joint names.
            mode: ``"position"``, ``"velocity"`` or ``"effort"``, whatever the mode of the actuators is.
            joints: Joints that ``values`` belong to; all driven joints by default.

        Returns:
            Value of every commanded joint.

        Raises:
            InputError: Unknown mode or joint, wrong length, NaN or infinity, a position outside the joint's limits, or
                a mode for which the joint has no gain.
        """
        known = checked_mode(mode)
        named = self.by_name(values, mode, joints)
        return {name: self._check_value(name, value, known) for name, value in named.items()}

    def by_name(self, values: Values, mode: str, joints: Sequence[str] | None) -> dict[str, Any]:
        """The values of a command by the names of joints, not looked at yet; arguments as for ``check_command``.

        Raises:
            InputError: Values are not as many as joints, or a joint is named twice.
        """
        if isinstance(values, Mapping):
            if joints is not None:
                raise InputError(SOURCE, "joints", "are named by the values already", "leave joints out")
            return {str(name): value for name, value in values.items()}
        names = self.joint_names if joints is None else listed(joints, "joints", "give a list of joint names")
        given = listed(values, mode, f"give one value each for {', '.join(map(str, names))}")
        if len(given) != len(names):
            problem = f"has {len(given)} values for {len(names)} joints"
            raise InputError(SOURCE, mode, problem, f"give one value each for {', '.join(map(str, names))}")
        named = {str(name): value for name, value in zip(names, given, strict=True)}
        if len(named) != len(names):
            raise InputError(SOURCE, mode, "names a joint twice", "name each joint once")
        return named

    def _check_name(self, name: str) -> None:
        if name not in self._velocity_of:
            mend = did_you_mean(str(name), self.joint_names)
            raise InputError(SOURCE, f"joint '{name}'", "cannot be driven", mend)

    def _check_value(self, name: str, value: float, mode: CommandMode) -> float:
        element = f"joint '{name}'"
        self._check_name(name)
        value = finite_value(value, element)
        if mode == "position" and not self._lower[name] <= value <= self._upper[name]:
            bounds = f"{self._lower[name]:g} to {self._upper[name]:g}"
            raise InputError(SOURCE, element, f"{value:g} is outside its limits", f"stay within {bounds}")
        if not self.can(name, mode):
            mend = "list the joint under 'actuators' in the scene with gains"
            raise InputError(SOURCE, element, f"has no gain for {mode} commands", mend)
        return value

    def set_command(
        self, values: Values, mode: str = "effort", joints: Sequence[str] | None = None
    ) -> tuple[str, ...]:
        """Apply a joint command; arguments and errors as ``check_command``.

        Returns:
            Targets that the command takes over: the joints, and the grippers whose fingers they move.
        """
        named = self.check_command(values, mode, joints)
        return self._apply({name: JointCommand(**{mode: value}) for name, value in named.items()})

    def check_joints(self, commands: Mapping[str, JointCommand]) -> None:
        """Check commands that mix modes without applying them.

        Raises:
            InputError: As ``check_command``; or a joint has an empty command.
        """
        if not isinstance(commands, Mapping) or not all(
            isinstance(command, JointCommand) for command in commands.values()
        ):
            mend = "give a JointCommand by the name of each joint"
            raise InputError(SOURCE, excerpt(commands), "is no such mapping", mend)
        for name, command in commands.items():
            given = {mode: value for mode, value in command._asdict().items() if value is not None}
            if not given:
                mend = "give a position, a velocity or an effort"
                raise InputError(SOURCE, f"joint '{name}'", "is named without a command", mend)
            for mode, value in given.items():
                self._check_value(name, value, checked_mode(mode))

    def set_joints(self, commands: Mapping[str, JointCommand]) -> tuple[str, ...]:
        """Apply commands that mix modes; errors as ``check_joints``, result as ``set_command``."""
        self.check_joints(commands)
        return self._apply(commands)

    def _apply(self, commands: Mapping[str, JointCommand]) -> tuple[str, ...]:
        for name, command in commands.items():
            self._write(name, command)
        return (*commands, *self.grippers_of(commands))

    def grippers_of(self, joints: Collection[str]) -> list[str]:
        """Grippers with fingers that some of the joints move."""
        return [
            name for name, groups in self._fingers.items() if any(group.master in joints for group in groups)
        ]

    def _write(
        self, name: str, command: JointCommand, limit: float | None = None, stiffer: float = 1.0
    ) -> None:
        """Write a command to a drive.

        Args:
            name: The joint.
            command: The command.
            limit: Restricts its effort further than its own limit, N m or N.
            stiffer: Ratio of its stiffness to the position gain; its damping ratio stays.
        """
        self.writes += 1
        i = self._velocity_of[name]
        for field, value in self.fields_of(name, command, limit, stiffer).items():
            getattr(self.arrays, field)[i] = value

    def fields_of(
        self, name: str, command: JointCommand, limit: float | None = None, stiffer: float = 1.0
    ) -> dict[str, Any]:
        """What a drive that follows a command has in ``WRITTEN``; arguments as for ``_write``.

        Commands of several worlds at once, arrays, give arrays.
        """
        position, velocity, effort = command
        if velocity is not None:
            # With a target above its speed limit, a drive would not brake a load that drives it beyond the limit.
            velocity = _within(velocity, self._speed[name])
        fields = (
            0.0 if position is None else self._kp[name] * stiffer,
            0.0 if position is None and velocity is None else self._kd[name] * math.sqrt(stiffer),
            *(0.0 if target is None else target for target in (position, velocity, effort)),
            self._limit[name] if limit is None else limit,
        )
        return dict(zip(WRITTEN, fields, strict=True))

    def keep_own_gains(self, other: DriveBank, q: Array) -> None:
        """After the arrays of another scene's drives were copied: follow the same targets, with one's own gains.

        Args:
            other: Drives of the other scene.
            q: (nq,) coordinates, where what had no drive there is held if it is to start so.
        """
        own, theirs = self.drives, other.drives
        for name, drive in own.items():
            if name in theirs and theirs[name] != drive:
                if (
                    theirs[name].kp == theirs[name].kd == 0.0
                    and self.arrays.effort[self._velocity_of[name]] == 0.0
                ):
                    self._hold(name, q)
                else:
                    self._keep_own_gains(name, other)

    def _keep_own_gains(self, name: str, other: DriveBank) -> None:
        i, drives = self._velocity_of[name], self.arrays
        if drives.kp[i] > 0.0:
            stiffer = drives.kp[i] / other._kp[name]
            drives.kp[i], drives.kd[i] = self._kp[name] * stiffer, self._kd[name] * math.sqrt(stiffer)
        elif drives.kd[i] > 0.0:
            drives.kd[i] = self._kd[name]
        # What a command restricts to less stays restricted.
        is_own = drives.limit[i] == other._limit[name]
        drives.limit[i] = self._limit[name] if is_own else min(drives.limit[i], self._limit[name])

    def prescribe(self, first: int, coming: Array, after: Array) -> None:
        """Set prescribed velocities from entry ``first`` of v on: in the coming time step, and in later ones."""
        self.arrays.v_target[first : first + len(coming)] = coming
        self.arrays.v_after[first : first + len(after)] = after

    def lead(self, model: str, component: int, value: float) -> None:
        """Set one component (0 to 5, angular first) of a kinematic model's twist from now on, rad/s or m/s."""
        place = self.led[model] + component
        self.arrays.v_target[place] = self.arrays.v_after[place] = value

    @property
    def prescribes_a_change(self) -> bool:
        """Whether velocities are prescribed for the coming time step alone."""
        told = self._prescribed
        return bool(np.any(self.arrays.v_target[told] != self.arrays.v_after[told]))

    def end_time_step(self) -> None:
        """After a time step, make the prescribed velocities of the next one those of all later ones."""
        self.arrays.v_target[self._prescribed] = self.arrays.v_after[self._prescribed]

    def targets(self) -> Array:
        """(3, n) position, velocity and effort targets of every joint's drive; NaN for none."""
        drives, joints = self.arrays, self._velocities
        follows_position = drives.kp[joints] > 0.0
        follows_velocity = (drives.kd[joints] > 0.0) & ~follows_position
        speed, effort = drives.v_target[joints], drives.effort[joints]
        return np.array(
            [
                np.where(follows_position, drives.q_target[joints], np.nan),
                np.where(follows_velocity | (speed != 0.0), speed, np.nan),
                np.where(~(follows_position | follows_velocity) | (effort != 0.0), effort, np.nan),
            ]
        )

    def gripper(self, name: str | None = None) -> GripperSpec:
        """A gripper by name, which may be omitted if there is only one.

        Raises:
            InputError: There is no such gripper, or several and no name.
        """
        if name is None and len(self._grippers) == 1:
            return next(iter(self._grippers.values()))
        name = None if name is None else str(name)
        if name is None or name not in self._grippers:
            element = "gripper" if name is None else f"gripper '{shortened(name)}'"
            known = ", ".join(self._grippers)
            mend = f"name one of {known}" if known else "add one under 'grippers' in the scene"
            raise InputError(SOURCE, element, "is not in the scene" if name else "is not named", mend)
        return self._grippers[name]

    def gripper_joints(self, name: str) -> tuple[str, ...]:
        """Driven joints that move the fingers of one gripper."""
        return tuple(group.master for group in self._fingers[self.gripper(name).name])

    def check_gripper(
        self,
        name: str | None = None,
        force: float | None = None,
        position: float | None = None,
        max_force: float | None = None,
    ) -> GripperSpec:
        """Check a gripper command without applying it; arguments and errors as ``set_gripper``."""
        gripper = self.gripper(name)
        element = f"gripper '{gripper.name}'"
        if (force is None) == (position is None):
            raise InputError(SOURCE, element, "needs one of force and position", "give exactly one")
        if force is not None and max_force is not None:
            raise InputError(SOURCE, element, "limits a force that is given", "give max_force with position")
        for given in (force, max_force):
            if (
                given is not None
                and not 0.0 <= (newtons := finite_value(given, element)) <= gripper.max_force
            ):
                mend = f"stay within 0 to {gripper.max_force:g} N"
                raise InputError(SOURCE, element, f"force {newtons:g} N is out of range", mend)
        if position is not None:
            for joint, value in self._coordinates(gripper, finite_value(position, element)).items():
                self._check_value(joint, value, "position")
        return gripper

    def _coordinates(self, gripper: GripperSpec, gap: float) -> dict[str, float]:
        """Target of every joint that moves fingers, with the gap (m) shared evenly where possible."""
        positions = gripper.positions(gap)
        return {group.master: group.coordinate(positions) for group in self._fingers[gripper.name]}

    def set_gripper(
        self,
        name: str | None = None,
        force: float | None = None,
        position: float | None = None,
        max_force: float | None = None,
    ) -> None:
        """Command a gripper: either a closing force or an opening.

        Args:
            name: Gripper; the only one by default.
            force: Closing force per finger, N, not negative; of a linkage the effort at its joint, N m or N.
            position: Gap between the fingers, m; of a linkage the position of its joint, rad or m.
            max_force: Force with which the gripper moves to ``position`` and presses on what is in its way, as
                ``force``. By default the stiffness decides, up to the gripper's own force.

        Raises:
            InputError: Unknown gripper, neither or both of force and position, NaN, or out of range.
        """
        gripper = self.check_gripper(name, force, position, max_force)
        gap = self._coordinates(gripper, float(position or 0.0))
        for group in self._fingers[gripper.name]:
            # The power of all fingers equals that of their common drive.
            if force is not None:
                self._write(group.master, JointCommand(effort=group.closing * float(force)))
            else:
                limit, stiffer = self._limited(gripper, group, max_force)
                self._write(group.master, JointCommand(position=gap[group.master]), limit, stiffer)

    def _limited(
        self, gripper: GripperSpec, group: FingerGroup, max_force: float | None
    ) -> tuple[float | None, float]:
        """Largest effort and stiffness, as for ``_write``, with which a gripper presses by ``max_force``.

        The drive of a real gripper goes on until its force is reached. So does this one, by being as stiff as that
        takes a little before the target.
        """
        if max_force is None:
            return None, 1.0
        limit = float(max_force) * abs(group.closing)
        if gripper.kp is not None and not gripper.is_linkage:
            return limit, max(1.0, float(max_force) / (gripper.kp * _FORCE_WITHIN))
        travel = self._upper[group.master] - self._lower[group.master]
        stiffness = self._kp[group.master]
        return limit, max(1.0, limit / (stiffness * _EFFORT_WITHIN * travel))


def _within(values: Any, most: float) -> Any:
    """A number or an array, clipped at ``most`` on both sides."""
    return max(-most, min(values, most)) if isinstance(values, Real) else values.clip(-most, most)
