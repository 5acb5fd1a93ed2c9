"""Action FollowJointTrajectory and state topic of joint_trajectory_controller, if control_msgs is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from builtin_interfaces.msg import Duration, Time
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectoryPoint

from hydro_sim import optional
from hydro_sim.controllers.goals import ActionGoal, Start
from hydro_sim.controllers.joint_trajectory import INVALID_GOAL, JointTrajectoryController, Progress
from hydro_sim.controllers.tolerances import Tolerances, goal_tolerances
from hydro_sim.controllers.trajectory import Knot
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.state import split_time
from hydro_sim_core.simulation import World


class FollowJointTrajectory:
    """Turns goals of the action into trajectories with feedback and result.

    Args:
        controller: Controller that follows them.
        default: Tolerances of a goal that gives none.
    """

    def __init__(self, controller: JointTrajectoryController, default: Callable[[], Tolerances]) -> None:
        self._controller = controller
        self._default = default

    def check(self, request: Any) -> Start:
        """Check a goal; return the function that starts it.

        Raises:
            InputError: The trajectory cannot be followed, or a tolerance is invalid.
        """
        if request.multi_dof_trajectory.points:
            problem = "is for joints with several axes"
            raise InputError("goal", "multi_dof_trajectory", problem, "leave it empty")
        trajectory = self._controller.checked(request.trajectory)
        tolerances = goal_tolerances(self._default(), request, trajectory.joints)

        def start(world: World, goal: ActionGoal) -> None:
            self._controller.follow(trajectory, FollowGoal(goal), tolerances)

        return start

    def cancel(self, world: World, goal: ActionGoal) -> None:
        """Hold the joints in place; a goal that is still on its way ends before it begins."""
        self._controller.cancel(FollowGoal(goal))

    def aborted(self, reason: str) -> Any:
        """Result of a goal that was not carried out."""
        return _result(INVALID_GOAL, reason)


@dataclass(frozen=True)
class FollowGoal:
    """A goal of the action, as the controller's ``Goal``."""

    _goal: ActionGoal

    def tell(self, progress: Progress) -> None:
        """Report progress."""
        self._goal.tell(partial(_feedback, progress))

    def finish(self, outcome: Any, code: int, reason: str) -> None:
        """Report the end."""
        self._goal.finish(outcome, _result(code, reason))


def _result(code: int, reason: str) -> Any:
    return optional.control_actions.FollowJointTrajectory.Result(error_code=code, error_string=reason)


def _feedback(progress: Progress) -> Any:
    feedback = optional.control_actions.FollowJointTrajectory.Feedback(joint_names=list(progress.joints))
    feedback.header.stamp = _stamp(progress.time)
    feedback.desired, feedback.actual, feedback.error = _points(progress)
    return feedback


def _points(progress: Progress) -> tuple[JointTrajectoryPoint, JointTrajectoryPoint, JointTrajectoryPoint]:
    """Desired state, actual state, and their difference, as message points."""
    desired, actual = progress.desired, progress.actual
    assert desired.velocities is not None
    assert actual.velocities is not None
    since = max(0.0, desired.time)
    error = Knot(since, desired.positions - actual.positions, desired.velocities - actual.velocities)
    return _point(desired, since), _point(actual, since), _point(error, since)


def _stamp(time: float) -> Time:
    seconds, nanoseconds = split_time(time)
    return Time(sec=seconds, nanosec=nanoseconds)


def _point(knot: Knot, time: float) -> JointTrajectoryPoint:
    given = {
        field: values.tolist()
        for field in ("positions", "velocities", "accelerations")
        if (values := getattr(knot, field)) is not None
    }
    seconds, nanoseconds = split_time(time)
    return JointTrajectoryPoint(time_from_start=Duration(sec=seconds, nanosec=nanoseconds), **given)


class ControllerState:
    """Publishes ``controller_state`` while trajectories move joints; called in the stepping thread.

    Args:
        node: Owner of the publisher.
        topic: Name of the topic.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._publisher = node.create_publisher(
            optional.control_msgs.JointTrajectoryControllerState, topic, 10
        )
        self._newest: Progress | None = None
        self._news = node.create_guard_condition(self._publish)

    def __call__(self, progress: Progress) -> None:
        """Have the state published in the executor's thread."""
        self._newest = progress
        self._news.trigger()

    def _publish(self) -> None:
        progress = self._newest
        assert progress is not None
        message = optional.control_msgs.JointTrajectoryControllerState(joint_names=list(progress.joints))
        message.header.stamp = _stamp(progress.time)
        message.reference, message.feedback, message.error = _points(progress)
        message.output = message.reference
        message.speed_scaling_factor = 1.0
        self._publisher.publish(message)
