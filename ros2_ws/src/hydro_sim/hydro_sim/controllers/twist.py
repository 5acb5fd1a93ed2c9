"""Twist controller: moves the tool of an arm at a Cartesian velocity, like that of a Kinova Gen3."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import Twist, TwistStamped
from numpy.typing import NDArray

from hydro_sim.controllers.arbiter import Arbiter, Controller
from hydro_sim.controllers.hold import HoldController, WeightFeedForward
from hydro_sim.controllers.motion import position_limits
from hydro_sim.controllers.speed_servo import SpeedServo
from hydro_sim.hil.link import Action
from hydro_sim_core.arithmetic import product
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.dynamics.resolved_rate import joint_rates
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.simulation.realtime.plan import FRAME, STOP_TIME, TOOL, TWISTED, Plan

Array = NDArray[np.float64]
_SOURCE = "twist"
#: Usual names of an arm's tool link, in order of preference.
_USUAL_TOOLS = ("tool_frame", "end_effector_link", "tool0")
_FASTEST = 1e3  # rad/s and m/s, beyond what any joint reaches


@dataclass(frozen=True)
class _Command:
    """Desired angular and linear velocity of the tool, in the axes of a link; None for the world's."""

    twist: Array
    frame: str | None


def find_tool(world: World, asked: str, joints: Sequence[str]) -> str | None:
    """The link that twists move: the given one, one with a usual name, or the link after the last joint.

    Raises:
        InputError: The given link does not exist, or no commanded joint moves it.
    """
    if asked and asked not in world.frame_names:
        mend = did_you_mean(asked, world.frame_names)
        raise InputError("parameters", "twist_link", f"'{asked}' is not in the scene", mend)
    if asked and not chain_of(world, asked, joints):
        raise InputError(
            "parameters", "twist_link", f"no commanded joint moves '{asked}'", "name a link of the arm"
        )
    usual = [link for link in _USUAL_TOOLS if link in world.frame_names and chain_of(world, link, joints)]
    last = [_carried(world, joint) for joint in joints[-1:]]
    return next((link for link in (asked, *usual, *last) if link), None)


def _carried(world: World, joint: str) -> str:
    """The child link of a joint."""
    assembly = world.built.assembly
    body = next(scalar.body for scalar in assembly.scalar_joints if scalar.name == joint)
    return assembly.link_names[int(np.flatnonzero(assembly.link_body == body)[0])]


def chain_of(world: World, link: str, joints: Sequence[str]) -> tuple[str, ...]:
    """Joints of ``joints`` that move a link, from the base on."""
    assembly = world.built.assembly
    body = int(assembly.link_body[assembly.link_names.index(link)])
    carriers = set()
    while body >= 0:
        carriers.add(body)
        body = int(assembly.tree.parent[body])
    # Bodies, and with them their joints, are listed from the base on.
    return tuple(
        scalar.name for scalar in assembly.scalar_joints if scalar.body in carriers and scalar.name in joints
    )


class TwistController(Controller):
    """Converts twists of a link into joint velocities before every step.

    Args:
        tool: The link.
        joints: Joints that commands may move.
        world_frame: Name of the world in headers.
        world: The World.
        arbiter: Arbiter of the joints.
        hold: Hold controller, which stops the remaining joints of an arm that loses one.
    """

    interface = "twist"

    def __init__(
        self,
        tool: str,
        joints: Sequence[str],
        world_frame: str,
        world: World,
        arbiter: Arbiter,
        hold: HoldController,
    ) -> None:
        self._tool = tool
        self._may_move = tuple(joints)
        self._world_frame = world_frame
        self._arbiter = arbiter
        self._hold = hold
        self._command: _Command | None = None
        self._stopping: tuple[str, ...] = ()
        self._is_new = False  # joints are not commanded as it says yet
        self._servo = SpeedServo(world)
        self.world_changed(world)

    def world_changed(self, world: World) -> None:
        """See ``Controller``."""
        self._world = world
        present = self._tool in world.frame_names
        self._joints = chain_of(world, self._tool, self._may_move) if present else ()
        self._columns = [world.velocity_names.index(joint) for joint in self._joints]
        self._index = [world.joint_names.index(joint) for joint in self._joints]
        self._speeds = world.built.assembly.tree.velocity_limit[self._columns]
        limits = position_limits(world)
        self._lower, self._upper = np.array([limits[joint] for joint in self._joints]).reshape(-1, 2).T
        self._weight = WeightFeedForward(world)
        self._servo.world_changed(world)
        if not present or (
            self._command is not None and self._command.frame not in (None, *world.frame_names)
        ):
            self._stop()

    # --- called in the executor's thread

    def check(self, message: Twist) -> Action:
        """Check a message without a frame, in the axes of the tool; return the action that carries it out.

        Raises:
            InputError: A value is not finite, or a joint takes no velocity commands.
        """
        return self._action(message, self._tool)

    def check_stamped(self, message: TwistStamped) -> Action:
        """Check a message with a frame (empty for the world); return the action that carries it out.

        Raises:
            InputError: As for ``check``, or the frame is unknown.
        """
        frame = message.header.frame_id
        if frame in ("", self._world_frame):
            return self._action(message.twist, None)
        self._check_frame(frame)
        return self._action(message.twist, frame)

    def _action(self, message: Twist, frame: str | None) -> Action:
        self._check_tool()
        parts = [getattr(vector, axis) for vector in (message.angular, message.linear) for axis in "xyz"]
        if not all(math.isfinite(part) for part in parts):
            raise InputError(_SOURCE, "twist", "is not finite", "give finite numbers")
        self._world.check_joint_commands(dict.fromkeys(self._joints, JointCommand(velocity=0.0)))
        size = max(map(abs, parts))
        # Joint speed limits are applied later and preserve the direction; much larger values would overflow before.
        command = _Command(np.array(parts) * min(1.0, _FASTEST / size) if size else np.array(parts), frame)

        def apply(world: World) -> None:
            self._check_tool()
            self._check_frame(frame)
            self._arbiter.take(self, self._joints, world.time)
            self._command, self._is_new = command, True

        return apply

    def _check_tool(self) -> None:
        if not self._joints:
            raise InputError(
                _SOURCE, f"link '{self._tool}'", "is no longer in the scene", "reset the simulation"
            )

    def _check_frame(self, frame: str | None) -> None:
        if frame is not None and frame not in self._world.frame_names:
            mend = did_you_mean(frame, self._world.frame_names)
            raise InputError(_SOURCE, "header.frame_id", f"'{frame}' is not in the scene", mend)

    # --- called in the stepping thread

    def hand_over(self, world: World, plan: Plan) -> float:
        """See ``Controller``."""
        if self._stopping or self._is_new:
            return 0.0
        if self._command is None:
            return math.inf
        frame = self._command.frame
        plan.twist[:] = self._command.twist
        plan.arm[: len(self._index)] = self._index
        plan.whole[TWISTED], plan.whole[TOOL] = len(self._index), world.frame_names.index(self._tool)
        plan.whole[FRAME] = -1 if frame is None else world.frame_names.index(frame)
        self._weight.hand_over(self._joints, world, plan)
        return self._servo.hand_over(world, plan)

    def take_back(self, world: World, plan: Plan) -> None:
        """See ``Controller``."""
        self._servo.take_back(plan)

    def advance(self, world: World) -> None:
        """Command the joint velocities for the coming step."""
        if self._stopping:
            joints, self._stopping = self._stopping, ()
            self._hold.assume(world, joints, "hold")
        self._is_new = False
        if self._command is None:
            return
        J = world.frame_jacobian(self._tool)[:, self._columns]
        rates = joint_rates(J, self._twist_in_world(self._command, world), *self._bounds(world))
        # Scaling all joints equally preserves the direction.
        share = min(1.0, float(np.min(self._speeds / np.maximum(np.abs(rates), 1e-12))))
        weights = self._weight.efforts(world, self._joints)
        self._servo.command(
            world,
            {
                joint: JointCommand(velocity=rate, effort=weights[joint])
                for joint, rate in zip(self._joints, (share * rates).tolist(), strict=True)
            },
        )
        self._servo.advance(world)

    def _stop(self) -> None:
        self._command = None
        self._servo.forget()

    def _twist_in_world(self, command: _Command, world: World) -> Array:
        if command.frame is None:
            return command.twist
        R_WF = world.frame_pose(command.frame)[:3, :3]
        return np.concatenate([product(R_WF, command.twist[:3]), product(R_WF, command.twist[3:])])

    def _bounds(self, world: World) -> tuple[Array, Array]:
        """Bounds on velocities that keep every joint within its limits."""
        q = world.joint_positions()[self._index]
        return (self._lower - q) / STOP_TIME, (self._upper - q) / STOP_TIME

    def lost(self, joints: frozenset[str], to: str | None) -> None:
        """See ``Controller``: an arm that loses a joint stops."""
        self._stop()
        rest = set(self._arbiter.joints_of(self)) | set(self._stopping)
        self._stopping = tuple(joint for joint in self._joints if joint in rest - joints)

    def forget(self) -> None:
        """See ``Controller``."""
        self._stop()
        self._stopping = ()
