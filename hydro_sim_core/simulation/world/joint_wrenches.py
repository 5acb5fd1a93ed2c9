"""What joints transmit: the wrench between each link and its parent over the last step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.arithmetic import cross
from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.dynamics import KinematicTree
from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.simulation.stepping.model import Loads, copied, overwrite
from hydro_sim_core.simulation.world.contacts import WorldContacts
from hydro_sim_core.simulation.world.link_masses import (
    LinkMasses,
    masses_of,
    momentum_rates,
    with_other_bodies,
)
from hydro_sim_core.simulation.world.pulls import Pull, WorldPulls

Array = NDArray[np.float64]


class StepLoads(NamedTuple):
    """What pushed links during a step, beside contact, and how the step was taken.

    Attributes:
        length: Length of the step, s. After ``World.take_over`` it is that of another world.
        follows_motion: Whether the step followed the motion within it, see ``WorldJointWrenches.follows_motion``.
        wrenches: Those of ``World.apply_wrench`` by link.
        pulls: Springs that pulled.
    """

    length: float
    follows_motion: bool
    wrenches: Mapping[str, Array] = {}
    pulls: tuple[Pull, ...] = ()


class Transmitted(NamedTuple):
    """What parents apply to links over a step.

    Attributes:
        wrench: (links, 6) moment about the world's origin, then force, world axes, N m and N.
        X_WL: (links, 4, 4) poses of the links to which the wrenches belong, see ``WorldJointWrenches.joint_wrench``.
    """

    wrench: Array
    X_WL: Array


class WorldJointWrenches(WorldPulls, WorldContacts):
    """Wrenches through joints, from the momentum of what they carry and all that acts on it."""

    _loads_before: StepLoads
    _stepper_class: Any
    #: The bodies as the scene describes them, where they have been given other masses since.
    _described_tree: KinematicTree | None = None

    def joint_wrench(self, joint: str) -> Array:
        """Wrench that a joint transmits, as a force-torque sensor in it reads: what the child applies to its parent.

        The mean over the last step, of weight, inertia, contact and all other forces on what the joint carries; about
        its own axis the torque of drive, stops, damping and friction. The gear of a mimic joint counts as in that
        joint. At rest a hanging mass reads its weight, downwards. Where no step led to the state, as after a reset,
        what joints carry keeps its velocities and touches nothing.

        Args:
            joint: Any joint, fixed ones included; ``MODEL_base`` is that between a model's root and the world.

        Returns:
            Torque about the origin of the child link's frame, N m, then force, N, along the axes of this frame at the
            begin of the step: (6,). Under error control, and with the continuous integrator, which follow the motion
            within a step, the frame is that in the middle of the step.

        Raises:
            InputError: There is no such joint.
        """
        link = self.carried_by(joint)
        return self.through(link, np.eye(4), self._transmitted_now())

    def carried_by(self, joint: str) -> str:
        """The child link of a joint.

        Raises:
            InputError: There is no such joint.
        """
        link = self._children.get(str(joint))
        if link is None:
            mend = did_you_mean(str(joint), self._children)
            raise InputError("joint_wrench", f"joint '{shortened(str(joint))}'", "is not in the scene", mend)
        return link

    def rows_carried_by(self, joint: str) -> list[int]:
        """Rows in ``frame_names`` of all links that a joint carries, its child first.

        Raises:
            InputError: There is no such joint.
        """
        rows = [self.row_of_frame("joint_wrench", self.carried_by(joint))]
        for parent, row in self._rows_of_tree:
            if parent in rows:
                rows.append(row)
        return rows

    def through(self, link: str, X_LF: Array, transmitted: Transmitted) -> Array:
        """Torque and force (6,) that a link applies to its parent, about and along the frame ``X_LF`` (4, 4) in it."""
        row = self.row_of_frame("joint_wrench", link)
        X_WF = transmitted.X_WL[row] @ X_LF
        R_FW, moment, force = X_WF[:3, :3].T, transmitted.wrench[row, :3], transmitted.wrench[row, 3:]
        return -np.concatenate([R_FW @ (moment - cross(X_WF[:3, 3], force)), R_FW @ force])

    def transmitted(
        self,
        before: tuple[Array, Array] | None,
        after: tuple[Array, Array],
        patches: Sequence[ContactPatch],
        loads: StepLoads,
    ) -> Transmitted:
        """What parents applied to links in a step; safe to call from any thread.

        The equations are those of the step, see ``motion_of_step``.

        Args:
            before: Coordinates (nq,) and velocities (nv,) at its begin; None without one.
            after: The same at its end.
            patches: Its contact.
            loads: What else pushed, and how it was taken.
        """
        q, mean, a = self.motion_of_step(before, after, loads)
        X_WL = self.frame_poses(q)
        wrench = self._momentum_rates(q, mean, a, X_WL)
        if before is not None:
            for link, pushed in self._pushes(X_WL, patches, loads):
                wrench[link] -= pushed
            for link, pulled in self._pull_wrenches(q, mean, after[1], X_WL, loads):
                wrench[link] -= pulled
        for parent, row in reversed(self._rows_of_tree):
            if parent >= 0:
                wrench[parent] += wrench[row]
        return Transmitted(wrench, X_WL)

    def motion_of_step(
        self, before: tuple[Array, Array] | None, after: tuple[Array, Array], loads: StepLoads
    ) -> tuple[Array, Array, Array]:
        """Posture (nq,), velocities and accelerations (nv,) with which momentum changes in a step.

        The equations of a fixed step have the first posture, the mean velocities and the mean accelerations. What
        follows the motion within the step has its mean accelerations in the middle, but for the square of its length.

        Args:
            before: Coordinates (nq,) and velocities (nv,) at its begin; None without one.
            after: The same at its end.
            loads: How it was taken.
        """
        if before is None:
            return after[0], after[1], np.zeros_like(after[1])
        q, v = before
        a = (after[1] - v) / loads.length
        if loads.follows_motion:
            # A kinematic base has the velocity of its end from the step's begin on.
            v = np.where(self._built.model.tree.prescribed, after[1], v)
            q = self._evaluator.moved(q, 0.75 * v + 0.25 * after[1], 0.5 * loads.length)
        return q, 0.5 * (v + after[1]), a

    @property
    def follows_motion(self) -> bool:
        """Whether its steps follow the motion within them, as those under error control do."""
        return bool(getattr(self._stepper_class, "follows_motion", False))

    @property
    def loads_of_last_step(self) -> StepLoads:
        """What pushed links during the last step, and how that was taken."""
        return self._loads_before

    @property
    def loads_of_next_step(self) -> StepLoads:
        """What will push links during the next step, a copy."""
        return self._present_loads()

    def tell_of_step(self, before: tuple[Array, Array], loads: Loads) -> None:
        """Tell of a last step that began with ``q`` (nq,) and ``v`` (nv,), and in which ``loads`` pushed.

        For a world that is given the results of a step, instead of taking it.
        """
        present = copied(self._machine.loads)
        overwrite(self._machine.loads, loads)
        self._before, self._loads_before = before, self._present_loads()
        overwrite(self._machine.loads, present)

    def _transmitted_now(self) -> Transmitted:
        return self.transmitted(self._before, (self.q, self.v), self.contacts, self._loads_before)

    def _present_loads(self) -> StepLoads:
        """What pushes links now, a copy, in steps of this world."""
        step, loads = StepLoads(self.time_step, self.follows_motion), self._machine.loads
        if loads.num[0] == 0 and loads.num_pulls[0] == 0:
            return step
        rows = np.flatnonzero(loads.wrench.any(axis=1))
        wrenches = {self.frame_names[row]: loads.wrench[row].copy() for row in rows}
        return step._replace(wrenches=wrenches, pulls=self.pulls)

    def _shared_loads(self, loads: StepLoads) -> StepLoads:
        """Those of another world's loads that pushed links which this one has, too."""
        rows = self._frame_index
        wrenches = {link: wrench for link, wrench in loads.wrenches.items() if link in rows}
        return loads._replace(
            wrenches=wrenches, pulls=tuple(pull for pull in loads.pulls if pull.link in rows)
        )

    def _momentum_rates(self, q: Array, v: Array, a: Array, X_WL: Array) -> Array:
        """Rates of the links' momenta (links, 6) relative to free fall, moments about the world's origin."""
        body, gravity = self._built.assembly.link_body, self._built.model.tree.gravity
        posture = self._evaluator.update(q)
        # Index -1: what stands in the world falls upwards, seen from what falls freely.
        A = np.vstack([posture.body_accelerations(v, a), np.append(np.zeros(3), -gravity)])[body]
        V = np.vstack([posture.body_velocities(v), np.zeros(6)])[body]
        rates: Array = momentum_rates(np, self.link_masses, gravity, X_WL, V, A)
        return rates

    def _pushes(
        self, X_WL: Array, patches: Sequence[ContactPatch], loads: StepLoads
    ) -> list[tuple[int, Array]]:
        """Row of the link, and moment about the world's origin and force (6,), of contact and ``apply_wrench``."""
        rows = self._frame_index
        found: list[tuple[int, Array]] = []

        def add(link: str, force: Array, moment: Array, point: Array) -> None:
            if link in rows:
                found.append((rows[link], np.concatenate([moment + cross(point, force), force])))

        for patch in patches:
            add(patch.name_b, patch.force_on_b, patch.moment_on_b_at_reference, patch.p_WR)
            add(patch.name_a, -patch.force_on_b, -patch.moment_on_b_at_reference, patch.p_WR)
        for link, wrench in loads.wrenches.items():
            add(link, wrench[3:], wrench[:3], X_WL[rows[link], :3, 3])
        return found

    def _pull_wrenches(
        self, q: Array, mean: Array, after: Array, X_WL: Array, loads: StepLoads
    ) -> Iterator[tuple[int, Array]]:
        """The same of springs, with the velocities (nv,) of the step in the mean and after it."""
        if not loads.pulls:
            return
        follows, dt = loads.follows_motion, loads.length
        twists = self.frame_twists(q, mean if follows else after)
        for pull in loads.pulls:
            row = self._frame_index[pull.link]
            # A step from the first posture is implicit: the point goes on with the velocity at its end.
            drag = pull.damping + (0.0 if follows else dt * pull.stiffness)
            force = replace(pull, damping=drag).force(X_WL[row], twists[row])
            yield row, np.concatenate([cross(pull.point_in_world(X_WL[row]), force), force])

    @cached_property
    def _children(self) -> dict[str, str]:
        """Child link of every joint, and of the bases of models."""
        children = {}
        for model, robot in zip(self.scene.spec.models, self.scene.robots, strict=True):
            if robot.root in self._frame_index:
                children[model.base_joint_name] = robot.root
            children |= {joint.name: joint.child for joint in robot.joints}
        return children

    @cached_property
    def _rows_of_tree(self) -> list[tuple[int, int]]:
        """Row of its parent (-1 for the world) and of every link, parents first."""
        rows = self._frame_index
        return [(rows.get(parent, -1), rows[child]) for parent, child in self._built.assembly.link_tree]

    def forget_masses(self) -> None:
        """See to it that masses of links are found anew, as those of bodies in arrays may have been changed."""
        self.__dict__.pop("link_masses", None)

    @cached_property
    def link_masses(self) -> LinkMasses:
        """Masses of the links; where a batch gives a body others than the scene, its links share the difference."""
        given = {link.name: link for robot in self.scene.robots for link in robot.links}
        masses = masses_of([given[name] for name in self.frame_names])
        if self._described_tree is None:
            return masses
        tree = self._built.model.tree
        now = tree.mass, tree.p_BCo, tree.I_BCo
        return with_other_bodies(np, masses, self._built.assembly, self._described_tree, now)
