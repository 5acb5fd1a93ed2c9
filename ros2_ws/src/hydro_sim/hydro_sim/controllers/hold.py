"""Hold controller: modes of joints that have no other controller (hold, float, zero effort)."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

from hydro_sim.controllers.arbiter import Arbiter, Controller
from hydro_sim.controllers.motion import position_limits
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.simulation.realtime.plan import WEIGHTS, Plan

HoldMode = Literal["hold", "float", "zero_effort"]


class WeightFeedForward:
    """Feed-forward efforts against gravity for joints whose drives do not compensate it."""

    def __init__(self, world: World) -> None:
        self._row = {
            joint: world.velocity_names.index(joint)
            for joint in world.actuated_joint_names
            if joint not in world.weightless_joint_names
        }

    def needed(self, joints: Collection[str]) -> bool:
        """Whether any of the joints needs a feed-forward that changes with the posture."""
        return any(joint in self._row for joint in joints)

    def hand_over(self, joints: Collection[str], world: World, plan: Plan) -> None:
        """Have the compiled loop command these efforts to joints."""
        rows = [world.joint_names.index(joint) for joint in joints if joint in self._row]
        plan.is_weighed[rows] = 1
        if rows:
            plan.whole[WEIGHTS] = 1

    def efforts(self, world: World, joints: Collection[str]) -> dict[str, float]:
        """Effort of every joint in the present posture, N m or N; 0 where the drive compensates gravity itself."""
        if not self.needed(joints):
            return dict.fromkeys(joints, 0.0)
        forces = world.gravity_forces()
        return {joint: float(forces[self._row[joint]]) if joint in self._row else 0.0 for joint in joints}


class HoldController(Controller):
    """Holds joints in place or lets them float, with gravity compensated in both modes.

    Args:
        world: World with the joints.
        arbiter: Arbiter of the joints.
    """

    interface = "hold"

    def __init__(self, world: World, arbiter: Arbiter) -> None:
        self._arbiter = arbiter
        self._held: dict[str, JointCommand] = {}
        self.world_changed(world)

    def world_changed(self, world: World) -> None:
        """See ``Controller``."""
        self._weight = WeightFeedForward(world)
        self._limits = position_limits(world)

    def assume(self, world: World, joints: Collection[str], mode: HoldMode) -> None:
        """Set the mode of joints from now on.

        Args:
            world: The World.
            joints: Joints that take commands.
            mode: ``hold`` keeps the present positions with the drives' gains, ``float`` lets the joints move without
                stiffness or damping; both compensate gravity. ``zero_effort`` does not, unless the model has gravity
                compensation.
        """
        self._arbiter.take(self, joints, world.time)
        for joint in joints:
            self._held.pop(joint, None)
        if mode == "zero_effort":
            world.command_joints(dict.fromkeys(joints, JointCommand(effort=0.0)))
            return
        places = dict(zip(world.joint_names, world.joint_positions().tolist(), strict=True))
        for joint in joints:
            self._held[joint] = JointCommand()
            if mode == "hold" and world.takes(joint, "position"):
                lower, upper = self._limits[joint]
                # A joint at its limit may be pressed slightly beyond it.
                self._held[joint] = JointCommand(position=max(lower, min(places[joint], upper)))
            elif mode == "hold" and world.takes(joint, "velocity"):
                self._held[joint] = JointCommand(velocity=0.0)
        self._command(world)

    def advance(self, world: World) -> None:
        """Adapt the feed-forward to the posture."""
        if self._weight.needed(self._held):
            self._command(world)

    def hand_over(self, world: World, plan: Plan) -> float:
        """See ``Controller``."""
        self._weight.hand_over(self._held, world, plan)
        return math.inf

    def _command(self, world: World) -> None:
        efforts = self._weight.efforts(world, self._held)
        world.command_joints(
            {joint: command._replace(effort=efforts[joint]) for joint, command in self._held.items()}
        )

    def lost(self, joints: frozenset[str], to: str | None) -> None:
        """See ``Controller``."""
        for joint in joints:
            self._held.pop(joint, None)

    def forget(self) -> None:
        """See ``Controller``."""
        self._held.clear()
