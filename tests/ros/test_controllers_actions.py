"""Actions as clients of ros2_control's controllers use them; they need control_msgs, which the ROS wheels lack."""

import math

import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from support.ros.ros_client import Client

REASON = "control_msgs is not built here; `make workspace` builds what is needed of it"
actions = pytest.importorskip("control_msgs.action", reason=REASON)
messages = pytest.importorskip("control_msgs.msg", reason=REASON)

FOLLOW = "/joint_trajectory_controller/follow_joint_trajectory"
GRIP, PARALLEL = "/gripper_controller/gripper_cmd", "/parallel_gripper_controller/gripper_cmd"
STATE = "/joint_trajectory_controller/controller_state"


class ActionUser(Client):
    """A client that sends goals too."""

    def __init__(self, domain):
        super().__init__(domain)
        types = {
            FOLLOW: actions.FollowJointTrajectory,
            GRIP: actions.GripperCommand,
            PARALLEL: actions.ParallelGripperCommand,
        }
        self._actions = {name: ActionClient(self._node, kind, name) for name, kind in types.items()}
        state = messages.JointTrajectoryControllerState
        self._node.create_subscription(state, STATE, self.received[STATE].append, 10)

    def begin(self, action, goal):
        """Send a goal; its handle, accepted or not, and the list of feedback that grows."""
        feedback = []
        client = self._actions[action]
        self.wait_until(client.server_is_ready, action)
        future = client.send_goal_async(goal, feedback_callback=lambda m: feedback.append(m.feedback))
        self.wait_until(future.done, "an answer to the goal")
        return future.result(), feedback

    def end(self, handle):
        """Wait for the result: status and contents."""
        future = handle.get_result_async()
        self.wait_until(future.done, "a result")
        return future.result().status, future.result().result

    def cancel(self, handle):
        future = handle.cancel_goal_async()
        self.wait_until(future.done, "an answer to the cancelling")
        return future.result()


def follow(seconds=0.5, goal_tolerance=(), goal_time=0.0, **positions):
    point = JointTrajectoryPoint(
        positions=list(positions.values()),
        velocities=[0.0] * len(positions),
        time_from_start=_duration(seconds),
    )
    return actions.FollowJointTrajectory.Goal(
        trajectory=JointTrajectory(joint_names=list(positions), points=[point]),
        goal_tolerance=list(goal_tolerance),
        goal_time_tolerance=_duration(goal_time),
    )


def _duration(seconds):
    return Duration(sec=int(seconds), nanosec=round(seconds % 1.0 * 1e9))


@pytest.fixture(scope="module")
def shared_client(node):
    user = ActionUser(node.domain)
    yield user
    user.close()


# --- trajectories


def test_goal_is_followed_and_reported(client):
    """Feedback holds desired, actual and error of its joints; the state topic speaks meanwhile."""
    start = client.joint("joint_7")
    handle, feedback = client.begin(FOLLOW, follow(joint_7=start + 0.2))
    assert handle.accepted
    status, result = client.end(handle)
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert result.error_code == actions.FollowJointTrajectory.Result.SUCCESSFUL
    # A result may overtake the states on their topic.
    client.wait_until(
        lambda: abs(client.joint("joint_7") - start - 0.2) < 0.01, "the goal on the topic of states"
    )
    assert len(feedback) >= 3
    told = feedback[-1]
    assert list(told.joint_names) == ["joint_7"]
    error = told.desired.positions[0] - told.actual.positions[0]
    assert told.error.positions[0] == pytest.approx(error)
    client.wait_until(lambda: client.received[STATE], "controller_state")
    assert list(client.received[STATE][0].joint_names) == ["joint_7"]


def test_cancelled_goal_holds_where_it_is(client):
    start = client.joint("joint_7")
    handle, feedback = client.begin(FOLLOW, follow(seconds=20.0, joint_7=start + 1.0))
    client.wait_until(lambda: feedback, "feedback")
    assert client.cancel(handle).goals_canceling
    status, _ = client.end(handle)
    assert status == GoalStatus.STATUS_CANCELED
    assert client.joint("joint_7") < start + 0.9


def test_new_goal_preempts_the_old_one(client):
    result_codes = actions.FollowJointTrajectory.Result
    start = client.joint("joint_7")
    old, feedback = client.begin(FOLLOW, follow(seconds=20.0, joint_7=start + 1.0))
    client.wait_until(lambda: feedback, "feedback")
    new, _ = client.begin(FOLLOW, follow(joint_7=start))
    status, result = client.end(old)
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, result_codes.INVALID_GOAL)
    assert "preempted" in result.error_string
    assert client.end(new)[0] == GoalStatus.STATUS_SUCCEEDED


def test_goal_out_of_reach_of_its_tolerance_is_aborted(client):
    strict = messages.JointTolerance(name="joint_7", position=1e-12)
    start = client.joint("joint_7")
    goal = follow(joint_7=start + 0.1, goal_tolerance=[strict], goal_time=0.05)
    status, result = client.end(client.begin(FOLLOW, goal)[0])
    violated = actions.FollowJointTrajectory.Result.GOAL_TOLERANCE_VIOLATED
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, violated)
    assert "joint_7 is off by" in result.error_string


@pytest.mark.parametrize(
    "goal",
    [
        follow(elbow=0.1),
        follow(joint_2=9.0),
        follow(joint_1=math.nan),
        actions.FollowJointTrajectory.Goal(),
        follow(joint_1=0.1, goal_tolerance=[messages.JointTolerance(name="joint_1", position=-2.0)]),
        follow(joint_1=0.1, goal_tolerance=[messages.JointTolerance(name="joint_2", position=0.1)]),
    ],
    ids=["unknown joint", "limits", "NaN", "empty", "negative tolerance", "tolerance of another joint"],
)
def test_goal_that_cannot_be_followed_is_rejected(client, goal):
    """As joint_trajectory_controller does; the reason is in the log and the count in /diagnostics."""
    refused = client.refused()
    assert not client.begin(FOLLOW, goal)[0].accepted
    client.wait_until(lambda: client.refused() == refused + 1, "the refusal in /diagnostics")


def test_reset_ends_a_goal(client):
    start = client.joint("joint_7")
    handle, feedback = client.begin(FOLLOW, follow(seconds=20.0, joint_7=start + 1.0))
    client.wait_until(lambda: feedback, "feedback")
    client.call_reset()
    status, result = client.end(handle)
    assert status == GoalStatus.STATUS_ABORTED
    assert "reset" in result.error_string


def test_goal_that_the_link_loses_is_aborted(client):
    start = client.joint("joint_7")
    assert client.set_parameter("link_loss", 1.0).successful
    handle, _ = client.begin(FOLLOW, follow(joint_7=start + 0.1))
    status, result = client.end(handle)
    # Only now: the goal travels when its acceptance has been told already.
    assert client.set_parameter("link_loss", 0.0).successful
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_string == "lost on the link"


# --- grippers


def test_gripper_closes_on_what_it_holds(client):
    """The result says that it stalls, and with which force."""
    goal = actions.GripperCommand.Goal()
    goal.command.position, goal.command.max_effort = 0.0, 5.0
    status, result = client.end(client.begin(GRIP, goal)[0])
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert (result.stalled, result.reached_goal) == (True, False)
    assert result.effort == pytest.approx(5.0, rel=0.05)


def test_parallel_gripper_takes_positions_of_fingers(client):
    command = JointState(name=["left_finger_joint"], position=[-0.03])
    status, result = client.end(
        client.begin(PARALLEL, actions.ParallelGripperCommand.Goal(command=command))[0]
    )
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert result.reached_goal
    assert list(result.state.name) == ["left_finger_joint", "right_finger_joint"]
    assert result.state.position[0] == pytest.approx(-0.03, abs=3e-3)
    assert result.state.position[1] == pytest.approx(0.03, abs=3e-3)
