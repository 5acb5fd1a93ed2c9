"""Actions GripperCommand and ParallelGripperCommand, if control_msgs is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sensor_msgs.msg import JointState

from hydro_sim import optional
from hydro_sim.controllers.goals import ActionGoal, Start
from hydro_sim.controllers.gripper import GripperController, GripperState
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World

_SOURCE = "goal"


@dataclass(frozen=True)
class GripperGoal:
    """A goal of either action, as the controller's ``Goal``; ``feedback`` and ``result`` make its messages."""

    _goal: ActionGoal
    _feedback: Callable[[GripperState], Any]
    _result: Callable[[GripperState], Any]

    def tell(self, state: GripperState) -> None:
        """Report progress."""
        self._goal.tell(partial(self._feedback, state))

    def finish(self, outcome: Any, state: GripperState) -> None:
        """Report the end."""
        self._goal.finish(outcome, self._result(state))


class GripperCommandGoals:
    """GripperCommand: ``position`` is the opening (m), ``max_effort`` the force per finger (N, 0 for its largest).

    Of a linkage they are the position (rad or m) and the effort (N m or N) of the joint that drives it.
    """

    def __init__(self, controller: GripperController) -> None:
        self._controller = controller

    def check(self, request: Any) -> Start:
        """Check a goal and return the function that starts it; raises ``InputError`` if it is out of range."""
        move = self._controller.check_move(request.command.position, request.command.max_effort)
        return lambda world, goal: self._controller.move(world, *move, _gripper_goal(goal))

    def cancel(self, world: World, goal: ActionGoal) -> None:
        """Hold the present opening."""
        self._controller.cancel(world, _gripper_goal(goal))

    def aborted(self, reason: str) -> Any:
        """The result of a goal that was not carried out; it has no field for the reason."""
        return _gripper_result(GripperState())


def _gripper_goal(goal: ActionGoal) -> GripperGoal:
    return GripperGoal(goal, _gripper_feedback, _gripper_result)


def _gripper_feedback(state: GripperState) -> Any:
    return optional.control_actions.GripperCommand.Feedback(**_fields(state))


def _gripper_result(state: GripperState) -> Any:
    return optional.control_actions.GripperCommand.Result(**_fields(state))


def _fields(state: GripperState) -> dict[str, Any]:
    outcome = {"stalled": state.stalled, "reached_goal": state.reached_goal}
    return {"position": float(state.gap), "effort": float(state.force), **outcome}


class ParallelGripperCommandGoals:
    """ParallelGripperCommand: positions of finger joints (m), or without names one opening (m).

    Of a linkage it is the position of the joint that drives it (rad or m), with its name or without.
    """

    def __init__(self, controller: GripperController) -> None:
        self._controller = controller

    def check(self, request: Any) -> Start:
        """Check a goal and return the function that starts it; ``InputError`` if it is malformed or out of range."""
        command = request.command
        if len(command.velocity):
            raise InputError(_SOURCE, "command.velocity", "cannot be limited", "leave it empty")
        wanted = 1 if not command.name else len(command.name)
        if len(command.position) != wanted or len(command.effort) not in (0, wanted):
            problem = f"has {len(command.position)} positions and {len(command.effort)} efforts for {wanted}"
            raise InputError(_SOURCE, "command", problem, "give a position each, and an effort each or none")
        gap = self._gap(dict(zip(command.name, command.position, strict=True))) if command.name else None
        force = max(command.effort) if len(command.effort) else 0.0
        move = self._controller.check_move(command.position[0] if gap is None else gap, force)
        return lambda world, goal: self._controller.move(world, *move, _parallel_goal(goal))

    def _gap(self, positions: dict[str, float]) -> float:
        """Opening (m) with fingers at these positions (m); fingers that are not named follow the others."""
        spec = self._controller.spec
        for joint in positions:
            if joint not in spec.joints:
                problem = f"'{joint}' is no finger of '{spec.name}'"
                raise InputError(_SOURCE, "command.name", problem, f"use {', '.join(spec.joints)}")
        if spec.is_linkage:
            return spec.gap(positions)
        openings = [spec.joints[joint] * (spec.closed.get(joint, 0.0) - q) for joint, q in positions.items()]
        return sum(openings) / len(openings) * len(spec.joints)

    def cancel(self, world: World, goal: ActionGoal) -> None:
        """Hold the present opening."""
        self._controller.cancel(world, _parallel_goal(goal))

    def aborted(self, reason: str) -> Any:
        """The result of a goal that was not carried out; it has no field for the reason."""
        return _parallel_result(GripperState())


def _parallel_goal(goal: ActionGoal) -> GripperGoal:
    return GripperGoal(goal, _parallel_feedback, _parallel_result)


def _parallel_feedback(state: GripperState) -> Any:
    return optional.control_actions.ParallelGripperCommand.Feedback(state=_joint_state(state))


def _parallel_result(state: GripperState) -> Any:
    outcome = {"stalled": state.stalled, "reached_goal": state.reached_goal}
    return optional.control_actions.ParallelGripperCommand.Result(state=_joint_state(state), **outcome)


def _joint_state(state: GripperState) -> JointState:
    efforts = [float(state.force)] * len(state.joints)
    return JointState(
        name=list(state.joints),
        position=list(state.positions),
        velocity=list(state.velocities),
        effort=efforts,
    )
