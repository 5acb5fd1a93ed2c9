"""Gripper controller: forces and openings on topics, and moves as goals that end at the opening or a held object.

What is said of openings (m) and forces a finger (N) holds for linkages too: they have the position (rad or m) and the
effort (N m or N) of the joint that drives them, and move no faster than the speed limit of that joint.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from std_msgs.msg import Float64

from hydro_sim.controllers.arbiter import Arbiter, Controller
from hydro_sim.hil.link import Action
from hydro_sim.parameters import Parameters
from hydro_sim_core.description.scene_drives import GripperSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.state import topic_token
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.realtime.plan import GRIPS, RAMP, Plan
from hydro_sim_core.simulation.running.sources import steps_before

#: Simulated time between two reports of progress, s; the default of ros2_control's gripper controllers.
FEEDBACK_PERIOD = 0.05


@dataclass(frozen=True)
class GripperState:
    """State of a gripper during a move; a gripper that is not in the scene has no joints.

    Attributes:
        joints: Finger joints.
        positions: Positions of the joints, m.
        velocities: Velocities of the joints, m/s.
        gap: Opening, m.
        force: Mean contact force per finger, N.
        stalled: Whether it has not moved for ``gripper_stall_timeout`` before reaching its goal.
        reached_goal: Whether it is at its goal.
    """

    joints: tuple[str, ...] = ()
    positions: tuple[float, ...] = ()
    velocities: tuple[float, ...] = ()
    gap: float = 0.0
    force: float = 0.0
    stalled: bool = False
    reached_goal: bool = False


class Goal(Protocol):
    """Protocol of a goal that receives feedback and result of a move."""

    def tell(self, state: GripperState) -> None:
        """Report progress."""

    def finish(self, outcome: str, state: GripperState) -> None:
        """Report the end: ``succeeded``, ``aborted`` or ``canceled``."""


@dataclass(eq=False)
class _Move:
    gap: float
    max_force: float | None
    goal: Goal | None
    moved_at: float
    commanded: float
    is_new: bool = True
    told_at: float = -math.inf


class GripperController(Controller):
    """Commands one gripper.

    Args:
        name: Name of the gripper in the scene.
        interface: Name of the gripper in reports and topics.
        world: World that checks commands.
        arbiter: Arbiter of the joints.
        parameters: ``gripper_*``, followed live.
    """

    def __init__(
        self, name: str, interface: str, world: World, arbiter: Arbiter, parameters: Parameters
    ) -> None:
        self.interface = interface
        self.name = name
        self._world = world
        self._arbiter = arbiter
        self._parameters = parameters
        self._move: _Move | None = None
        self._grip = 0  # row of it in the plan of the compiled loop
        self._ended_at = -math.inf  # end of the last move, simulated time in s

    @property
    def kind(self) -> str:
        """See ``Controller``: all grippers share one timeout."""
        return "gripper"

    def busy_until(self) -> float:
        """See ``Controller``: a move needs no further command until it ends."""
        return math.inf if self._move is not None else self._ended_at

    @property
    def spec(self) -> GripperSpec:
        """Description of the gripper in the scene.

        Raises:
            InputError: It is no longer in the scene.
        """
        for gripper in self._world.scene.grippers:
            if gripper.name == self.name:
                return gripper
        raise InputError("gripper", f"'{self.name}'", "is no longer in the scene", "reset the simulation")

    @property
    def _present(self) -> bool:
        return any(gripper.name == self.name for gripper in self._world.scene.grippers)

    # --- called in the executor's thread

    def checker(self, quantity: str) -> Callable[[Float64], Action]:
        """Make a check of messages with a ``force`` (N per finger) or a ``position`` (opening, m)."""

        def check(message: Float64) -> Action:
            command = {quantity: message.data}
            self._world.check_gripper(self.name, **command)
            if quantity == "position" and self.spec.is_linkage:
                return lambda world: self.move(world, message.data, None, None)
            return lambda world: self._apply(world, command)

        return check

    def check_move(self, gap: float, max_force: float) -> tuple[float, float | None]:
        """Check the opening and largest force of a goal; return them, with None for the gripper's own force.

        Args:
            gap: Opening, m.
            max_force: Largest force per finger, N, up to the gripper's own; 0 for the gripper's own.

        Raises:
            InputError: Out of range or not finite.
        """
        limit = min(max_force, self.spec.max_force) if max_force else None
        self._world.check_gripper(self.name, position=gap, max_force=limit)
        return gap, limit

    # --- called in the stepping thread

    def move(self, world: World, gap: float, max_force: float | None, goal: Goal | None) -> None:
        """Open or close to a gap; arguments as ``check_move`` returns them."""
        start = self._place(world) if self.spec.is_linkage else gap
        self._apply(world, {"position": start, "max_force": max_force})
        self._move = _Move(gap, max_force, goal, world.time, start)

    def _place(self, world: World) -> float:
        """Position of a linkage's joint, within its limits, rad or m."""
        (joint,) = self.spec.joints
        lower, upper = (limits[world.joint_names.index(joint)] for limits in world.joint_limits())
        return float(min(max(_Fingers(self.spec, world).gap, lower), upper))

    def cancel(self, world: World, goal: Goal) -> None:
        """Hold the present opening."""
        state = self._state(world) if self._present else GripperState()
        if self._move is not None and self._move.goal == goal:
            self._move = None
            self._hold(world, state)
        goal.finish("canceled", state)

    def _hold(self, world: World, state: GripperState) -> None:
        try:
            world.set_gripper(self.name, position=state.gap)
        except InputError:
            # The fingers are pressed beyond their limits, and stay there under the last command.
            return

    def _apply(self, world: World, command: dict[str, float | None]) -> None:
        world.set_gripper(self.name, **command)
        self._end("aborted", world)
        self._arbiter.take(self, world.gripper_joints(self.name), world.time)

    def _end(self, outcome: str, world: World, **how: bool) -> None:
        if self._move is not None:
            move, self._move = self._move, None
            self._ended_at = world.time
            if move.goal is not None:
                move.goal.finish(outcome, self._state(world, **how))

    def hand_over(self, world: World, plan: Plan) -> float:
        """See ``Controller``: until the next report, or the end of a move."""
        move, p = self._move, self._parameters
        if move is None:
            return math.inf
        if move.is_new or not self._present:
            return 0.0
        spec, grip = self.spec, int(plan.whole[GRIPS])
        rows = [world.joint_names.index(joint) for joint in spec.joints]
        if move.commanded != move.gap and not self._hand_over_ramp(move, rows[0], world, plan):
            return 0.0
        plan.finger[grip] = -1
        plan.finger[grip, : len(rows)] = rows
        plan.closing[grip, : len(rows)] = list(spec.joints.values())
        plan.closed[grip, : len(rows)] = [spec.closed.get(joint, 0.0) for joint in spec.joints]
        plan.is_linkage[grip] = spec.is_linkage
        plan.gap[grip], plan.near[grip] = move.gap, p.gripper_goal_tolerance
        plan.slowest[grip], plan.patience[grip] = p.gripper_stall_velocity, p.gripper_stall_timeout
        plan.moved_at[grip] = move.moved_at
        plan.whole[GRIPS] = grip + 1
        self._grip = grip
        # Without a goal too: parameters are followed live.
        since = world.time if move.goal is None else move.told_at
        return steps_before(since + FEEDBACK_PERIOD * (1.0 - 1e-9) - world.time, world)

    def _hand_over_ramp(self, move: _Move, row: int, world: World, plan: Plan) -> bool:
        """Have the compiled loop move a linkage's joint; False where that mimics another one, which moves instead."""
        (joint,) = self.spec.joints
        if world.gripper_joints(self.name) != (joint,):
            return False
        plan.kind[row], plan.place[row], plan.end[row] = RAMP, move.commanded, move.gap
        plan.coming[row], plan.speed[row] = move.commanded, world.joint_velocity_limits()[row]
        return True

    def take_back(self, world: World, plan: Plan) -> None:
        """See ``Controller``."""
        move = self._move
        if move is None:
            return
        move.moved_at = float(plan.moved_at[self._grip])
        if move.commanded != move.gap:
            (joint,) = self.spec.joints
            move.commanded = float(plan.place[world.joint_names.index(joint)])

    def advance(self, world: World) -> None:
        """End a move that has reached its goal or an obstacle."""
        move, p = self._move, self._parameters
        if move is None:
            return
        move.is_new = False
        self._approach(move, world)
        fingers = _Fingers(self.spec, world)
        if abs(fingers.speed) > p.gripper_stall_velocity:
            move.moved_at = world.time
        if abs(fingers.gap - move.gap) < p.gripper_goal_tolerance:
            self._end("succeeded", world, reached_goal=True)
        elif world.time - move.moved_at > p.gripper_stall_timeout:
            world.set_gripper(self.name, position=move.gap, max_force=move.max_force)
            self._end("succeeded" if p.gripper_allow_stalling else "aborted", world, stalled=True)
        elif move.goal is not None and world.time - move.told_at >= FEEDBACK_PERIOD * (1.0 - 1e-9):
            move.told_at = world.time
            move.goal.tell(self._state(world))

    def _approach(self, move: _Move, world: World) -> None:
        """Bring the target of a linkage nearer to the end of its move, at the speed limit of its joint."""
        if move.commanded == move.gap:
            return
        (joint,) = self.spec.joints
        step = float(world.joint_velocity_limits()[world.joint_names.index(joint)]) * world.time_step
        left = move.gap - move.commanded
        move.commanded = move.gap if abs(left) <= step else move.commanded + math.copysign(step, left)
        world.set_gripper(self.name, position=move.commanded, max_force=move.max_force)

    def _state(self, world: World, stalled: bool = False, reached_goal: bool = False) -> GripperState:
        fingers = _Fingers(self.spec, world)
        places = fingers.joints, fingers.positions, fingers.velocities, fingers.gap
        return GripperState(*places, world.grip_force(self.name), stalled, reached_goal)

    def lost(self, joints: frozenset[str], to: str | None) -> None:
        """See ``Controller``."""
        self._end("aborted", self._world)

    def forget(self) -> None:
        """See ``Controller``."""
        self._end("aborted", self._world)
        self._ended_at = -math.inf

    def world_changed(self, world: World) -> None:
        """See ``Controller``."""
        self._world = world


def gripper_interface(world: World, name: str) -> str:
    """Name of a gripper in topics and reports.

    The only one with fingers is called ``gripper`` in all scenes; a linkage has its own name, by which its driver's
    controller is called too.
    """
    linkages = {gripper.name: gripper.is_linkage for gripper in world.scene.grippers}
    is_only_one = list(linkages.values()).count(False) == 1
    if not linkages[name] and is_only_one and (name == "gripper" or "gripper" not in linkages):
        return "gripper"
    return "/".join(topic_token(part) for part in re.split("/+", name.strip("/")))


class _Fingers:
    """The fingers of a gripper: joints, positions (m), velocities (m/s), gap (m) and the speed of closing (m/s)."""

    def __init__(self, spec: GripperSpec, world: World) -> None:
        positions = dict(zip(world.joint_names, world.joint_positions().tolist(), strict=True))
        velocities = dict(zip(world.joint_names, world.joint_velocities().tolist(), strict=True))
        self.joints = tuple(spec.joints)
        self.positions = tuple(positions[joint] for joint in self.joints)
        self.velocities = tuple(velocities[joint] for joint in self.joints)
        self.gap = spec.gap(positions)
        self.speed = sum(sign * velocities[joint] for joint, sign in spec.joints.items())
