"""Commands to joints and grippers of a world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.scene_drives import GripperSpec
from hydro_sim_core.simulation.assembly.drive_gains import JointDrive
from hydro_sim_core.simulation.world.contact_records import (
    ContactRecord,
    contact_efforts,
    coordinate_efforts,
    record_contacts,
)
from hydro_sim_core.simulation.world.drives import CommandMode, JointCommand, Values
from hydro_sim_core.simulation.world.parts import WorldParts

Array = NDArray[np.float64]


class WorldCommands(WorldParts):
    """Commands to joints and grippers."""

    def set_command(self, values: Values, mode: str = "effort", joints: Sequence[str] | None = None) -> None:
        """Command joints, overriding their scripted commands.

        See ``DriveBank.check_command`` for arguments and errors.
        """
        for name in self._drives.set_command(values, mode, joints):
            self._script.release(name)

    def check_command(
        self, values: Values, mode: str = "effort", joints: Sequence[str] | None = None
    ) -> None:
        """Raise what ``set_command`` would raise, without commanding anything."""
        self._drives.check_command(values, mode, joints)

    @property
    def drive_writes(self) -> int:
        """Number of changes of drive commands; ``drive_targets`` is unchanged while this number is."""
        return self._drives.writes

    def note_drive_writes(self) -> None:
        """Count a change of drive commands that was made without this class."""
        self._drives.writes += 1

    def drive_targets(self) -> Array:
        """(3, n) position, velocity and effort targets of the drives, including those of the script.

        One column for each of ``actuated_joint_names``; NaN where a drive has no target.
        """
        return self._drives.targets()

    def command_joints(self, commands: Mapping[str, JointCommand]) -> None:
        """Command joints in different or combined modes, overriding their scripted commands.

        Raises:
            InputError: As ``DriveBank.check_joints``.
        """
        for name in self._drives.set_joints(commands):
            self._script.release(name)

    def leave_to_others(self, joints: Sequence[str]) -> None:
        """End the scripted commands of joints whose drives are commanded without this class."""
        for name in (*joints, *self._drives.grippers_of(joints)):
            self._script.release(name)

    def check_joint_commands(self, commands: Mapping[str, JointCommand]) -> None:
        """Raise what ``command_joints`` would raise, without commanding anything."""
        self._drives.check_joints(commands)

    @property
    def drives(self) -> Mapping[str, JointDrive]:
        """Mode and gains of every drive, by joint: as the scene says, or as they follow from the description.

        Read-only, as a write to it would change no drive; ``dict(world.drives)`` gives one to keep or to pickle.
        """
        return MappingProxyType(self._drives.drives)

    def takes(self, joint: str, mode: CommandMode) -> bool:
        """Whether a commandable joint has the gain that commands of a mode need."""
        return self._drives.can(joint, mode)

    def drive_reach(self, joint: str) -> float:
        """Distance from its target (rad or m) at which the stiffness of a position drive gives its whole effort."""
        return self._drives.reach(joint)

    @cached_property
    def weightless_joint_names(self) -> frozenset[str]:
        """Commandable joints whose drive compensates gravity."""
        borne = self._built.model.compensated
        return frozenset(name for name in self.actuated_joint_names if borne[self.velocity_names.index(name)])

    @property
    def gripper_names(self) -> tuple[str, ...]:
        """Grippers of the scene."""
        return self._drives.gripper_names

    @property
    def gripper_joint_names(self) -> tuple[str, ...]:
        """Driven joints that move fingers: the fingers' own joints, or those that they mimic."""
        return self._drives.gripper_joint_names

    def gripper_joints(self, name: str) -> tuple[str, ...]:
        """Names of ``gripper_joint_names`` that move the fingers of one gripper."""
        return self._drives.gripper_joints(name)

    @cached_property
    def grip_units(self) -> dict[str, str]:
        """Unit of the force of every gripper: N, or N m of a linkage that a revolute joint drives."""
        units = {
            name: unit
            for robot in self.scene.robots
            for one in robot.joints
            for name, unit in one.units.items()
        }
        return {
            gripper.name: "N m" if any(units[name] == "rad" for name in gripper.joints) else "N"
            for gripper in self.scene.grippers
        }

    def set_gripper(
        self,
        name: str | None = None,
        force: float | None = None,
        position: float | None = None,
        max_force: float | None = None,
    ) -> None:
        """Command a gripper, overriding its scripted command. See ``DriveBank.set_gripper``."""
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
        """Mean contact force per finger along its closing direction over the last step, N.

        Of a linkage it is the effort at its joint that balances what the fingers press on, N m or N.
        The fingers may touch several things, and each other: ``grip_forces_on`` tells them apart.
        """
        return self.grip_force_of(record_contacts(self._built.model, self._scratch), name)

    def grip_force_of(self, record: ContactRecord, name: str | None = None) -> float:
        """The same in a record of contacts, N."""
        return sum(self.grip_forces_of(record, name).values())

    def grip_forces_on(self, name: str | None = None) -> dict[str, float]:
        """The part of ``grip_force`` with which a gripper presses on each link that its fingers touch, N.

        A finger that touches another one is such a link, too.
        """
        return self.grip_forces_of(record_contacts(self._built.model, self._scratch), name)

    def grip_forces_of(self, record: ContactRecord, name: str | None = None) -> dict[str, float]:
        """The same in a record of contacts, N."""
        gripper = self._drives.gripper(name)
        if gripper.is_linkage:
            return self._linkage_forces(record, gripper)
        fingers = gripper.joints
        model, colliders = self._built.model, self._built.colliders
        forces: dict[str, float] = {}
        for joint, sign in fingers.items():
            body = self._built.assembly.joint_names.index(joint)
            efforts = contact_efforts(record, model, body)
            for p in np.flatnonzero(efforts):
                a, b = model.pairs[record.pair[p]]
                other = colliders[b if model.geometry_body[a] == body else a].link
                # A held object pushes a finger open, against its closing direction.
                forces[other] = forces.get(other, 0.0) - sign * float(efforts[p]) / len(fingers)
        return forces

    def _linkage_forces(self, record: ContactRecord, gripper: GripperSpec) -> dict[str, float]:
        model, colliders, assembly = self._built.model, self._built.colliders, self._built.assembly
        ((name, sign),) = gripper.joints.items()
        (driving,) = (joint for joint in assembly.scalar_joints if joint.name == name)
        moved = [joint.body for joint in assembly.scalar_joints if joint.v_index == driving.v_index]
        efforts = coordinate_efforts(record, model, moved)
        forces: dict[str, float] = {}
        for p in np.flatnonzero(efforts):
            a, b = model.pairs[record.pair[p]]
            other = colliders[b if self._carries(moved, int(model.geometry_body[a])) else a].link
            forces[other] = forces.get(other, 0.0) - sign * float(efforts[p])
        return forces

    def _carries(self, moved: Sequence[int], body: int) -> bool:
        """Whether one of the bodies ``moved`` is, or carries, a body."""
        parent = self._built.model.tree.parent
        while body >= 0 and body not in moved:
            body = int(parent[body])
        return body >= 0
