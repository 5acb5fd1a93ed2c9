"""Snapshots: immutable states of a running world after a step, for other threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.simulation.assembly.contact_laws import ContactLaws
from hydro_sim_core.simulation.world import World
from hydro_sim_core.simulation.world.contact_records import ContactRecord
from hydro_sim_core.simulation.world.contact_summary import ContactSummary
from hydro_sim_core.simulation.world.energies import Energies
from hydro_sim_core.simulation.world.entities import EntityStates
from hydro_sim_core.simulation.world.joint_wrenches import StepLoads, Transmitted
from hydro_sim_core.simulation.world.parts import read_only
from hydro_sim_core.simulation.world.pulls import Pull

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Motion:
    """Poses and velocities of the links of a world at an instant; readable from any thread.

    Attributes:
        q: (nq,) coordinates.
        v: (nv,) velocities.
    """

    q: Array
    v: Array
    _world: World

    @cached_property
    def frames(self) -> Mapping[str, Array]:
        """Pose (4, 4) of every link in the world."""
        poses = read_only(self._world.frame_poses(self.q))
        return MappingProxyType(dict(zip(self._world.frame_names, poses, strict=True)))

    @cached_property
    def twists(self) -> Mapping[str, Array]:
        """Twist (6,) of every link about the world's origin, angular part first, rad/s and m/s."""
        twists = read_only(self._world.frame_twists(self.q, self.v))
        return MappingProxyType(dict(zip(self._world.frame_names, twists, strict=True)))


class Outcome(Protocol):
    """What a step has found; whoever asks first may have it made."""

    @property
    def record(self) -> ContactRecord:
        """Its contacts."""

    @property
    def diagnostics(self) -> Mapping[str, float | int | bool]:
        """``World.diagnostics`` after it."""


@dataclass(frozen=True)
class MadeOutcome:
    """An outcome that was made when its snapshot was taken.

    Attributes:
        record: Contacts of the step.
        diagnostics: ``World.diagnostics`` after it.
    """

    record: ContactRecord
    diagnostics: Mapping[str, float | int | bool]


@dataclass(frozen=True, eq=False)
class Snapshot(Motion):
    """State of a world after a step; immutable, with read-only arrays, readable from any thread.

    Attributes:
        time: Simulated time, s.
        step: Steps since the last reset.
        epoch: Number of restarts of the simulation; (epoch, step) repeats only if the state is changed from outside.
        joint_positions: (J,) positions in the order of ``World.joint_names``, rad or m.
        joint_velocities: (J,) velocities, rad/s or m/s.
        joint_efforts: (J,) drive efforts of the last step, N m or N.
        pulls: ``World.pulls``.
        before: Motion at the begin of the last step. None if there was no step since the start or since another state
            was set.
    """

    time: float
    step: int
    epoch: int
    joint_positions: Array
    joint_velocities: Array
    joint_efforts: Array
    pulls: tuple[Pull, ...]
    before: Motion | None
    _outcome: Outcome
    _loads: StepLoads

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints in the arrays; the same object as long as the world is the same."""
        return self._world.joint_names

    def is_of(self, world: World) -> bool:
        """Whether it was taken of this world, not of one that replaced it or that it replaced."""
        return self._world is world

    @property
    def diagnostics(self) -> Mapping[str, float | int | bool]:
        """``World.diagnostics``."""
        return self._outcome.diagnostics

    @cached_property
    def contacts(self) -> tuple[ContactPatch, ...]:
        """Contact patches of the last step."""
        return tuple(self._world.patches_of(self._outcome.record))

    @cached_property
    def contact_summary(self) -> ContactSummary:
        """Quality of the contact forces; computed at the first access."""
        return self._world.contact_summary_of(self._outcome.record, self.contacts)

    @property
    def contact_laws(self) -> ContactLaws:
        """Which law each pair of links has; computed at the first access to that of a world."""
        return self._world.contact_laws

    @property
    def grip_units(self) -> Mapping[str, str]:
        """Unit of the force of every gripper: N, or N m of a linkage that a revolute joint drives."""
        return self._world.grip_units

    @cached_property
    def grip_forces(self) -> Mapping[str, float]:
        """Mean contact force a finger of every gripper, or effort of a linkage, in ``grip_units``."""
        forces = {
            name: self._world.grip_force_of(self._outcome.record, name) for name in self._world.gripper_names
        }
        return MappingProxyType(forces)

    @cached_property
    def grip_forces_on(self) -> Mapping[str, Mapping[str, float]]:
        """The parts of these with which every gripper presses on each link that its fingers touch, N."""
        forces = {
            name: MappingProxyType(self._world.grip_forces_of(self._outcome.record, name))
            for name in self._world.gripper_names
        }
        return MappingProxyType(forces)

    @property
    def length_of_step(self) -> float:
        """Length of the last step, s: that from ``before`` to this state, which another world may have taken."""
        return self._loads.length

    def joint_wrench(self, joint: str) -> Array:
        """Torque and force (6,) that a joint transmits; see ``World.joint_wrench``."""
        return self.wrench_through(self._world.carried_by(joint), np.eye(4))

    def wrench_through(self, link: str, X_LF: Array) -> Array:
        """Torque (N m) and force (N) that a link applied to its parent over the last step: (6,).

        Args:
            link: The link.
            X_LF: (4, 4) pose in the link of the frame about and along which they are given, where it was at the begin
                of the step.

        Raises:
            InputError: There is no such link.
        """
        return self._world.through(link, X_LF, self._transmitted)

    @cached_property
    def _transmitted(self) -> Transmitted:
        before = None if self.before is None else (self.before.q, self.before.v)
        return self._world.transmitted(before, (self.q, self.v), self.contacts, self._loads)

    @cached_property
    def energies(self) -> Energies:
        """Kinetic, potential and elastic energy; see ``World.energies``."""
        return self._world.energies_of(self.q, self.v)

    @cached_property
    def entities(self) -> EntityStates:
        """Poses and twists of models and static shapes."""
        return EntityStates(self._world.entities, self.q, self.v)


def take_snapshot(world: World, epoch: int) -> Snapshot:
    """Take a snapshot of the present state; called in the thread that steps the world.

    Args:
        world: The world.
        epoch: As in ``Snapshot``.
    """
    before = world.before_last_step
    return Snapshot(
        time=world.time,
        step=world.step_count,
        epoch=epoch,
        q=world.q,
        v=world.v,
        joint_positions=read_only(world.joint_positions()),
        joint_velocities=read_only(world.joint_velocities()),
        joint_efforts=read_only(world.joint_efforts()),
        pulls=world.pulls,
        before=None if before is None else Motion(*before, world),
        _outcome=MadeOutcome(world.record_contacts(), MappingProxyType(world.diagnostics())),
        _loads=world.loads_of_last_step,
        _world=world,
    )
