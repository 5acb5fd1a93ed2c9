"""Who commands which joint, and what becomes of a trajectory's goal."""

import math

import numpy as np
import pytest

from hydro_sim.controllers.joint_trajectory import (
    GOAL_TOLERANCE_VIOLATED,
    INVALID_GOAL,
    INVALID_JOINTS,
    OLD_HEADER_TIMESTAMP,
    PATH_TOLERANCE_VIOLATED,
    SUCCESSFUL,
)
from hydro_sim.controllers.motion import position_limits
from hydro_sim.controllers.tolerances import JointTolerance, Tolerances
from hydro_sim_core.errors import InputError
from support.ros.arm_bench import ArmBench, Goal, trajectory
from support.ros.arms import BENT, JOINTS, gen3


@pytest.fixture(scope="module")
def world():
    return gen3(gravity_compensation=True)


@pytest.fixture
def arm(world):
    world.reset()
    return ArmBench(world)


# --- who commands which joint


def test_array_takes_exactly_the_joints_that_it_names(arm):
    """A trajectory of others goes on; one that loses a joint goes on with the rest."""
    arm.go(joint_1=0.2, joint_7=0.3)
    arm.step(100)
    arm.command("position", joint_5=0.2)
    arm.step(50)
    arm.command("position", joint_7=-0.1)
    arm.step(1000)
    assert arm.position("joint_1") == pytest.approx(0.2, abs=2e-3)
    assert arm.position("joint_5") == pytest.approx(0.2, abs=2e-3)
    assert arm.position("joint_7") == pytest.approx(-0.1, abs=2e-3)


def test_trajectory_may_begin_where_a_joint_presses_against_its_stop(arm):
    """Planners begin where joints are measured, which is a little beyond a compliant stop; further out is a mistake."""
    upper = position_limits(arm.world)["joint_2"][1]
    arm.go(joint_2=upper + 2e-4)
    arm.step(1500)
    assert arm.position("joint_2") == pytest.approx(upper, abs=2e-3)
    with pytest.raises(InputError, match="outside its limits"):
        arm.go(joint_2=upper + 2e-3)


@pytest.mark.parametrize("velocities", [[0.0], []], ids=["cubic", "linear"])
def test_trajectory_is_followed_within_five_mrad(arm, velocities):
    """0.4 rad in 2 s, also along a ramp, on which the joint starts and ends with a jerk."""
    message = trajectory(2.0, joint_2=0.9)
    message.points[0].velocities = velocities
    arm.trajectories.follow(arm.trajectories.checked(message))
    error = 0.0
    for i in range(1, 2501):
        arm.step()
        t = min(i / 2000, 1.0)
        desired = 0.5 + 0.4 * (t * t * (3.0 - 2.0 * t) if velocities else t)
        error = max(error, abs(arm.position("joint_2") - desired))
    assert error < 0.005


def test_trajectory_takes_joints_back(arm):
    """From wherever the array has brought them."""
    arm.command("velocity", joint_1=0.5)
    arm.step(200)
    arm.go(joint_1=0.0)
    arm.step(800)
    assert arm.position("joint_1") == pytest.approx(0.0, abs=2e-3)


def test_goal_that_loses_a_joint_is_aborted_and_the_rest_holds(arm):
    """As when ros2_control switches its controller off."""
    goal = arm.aim(joint_1=0.4, joint_7=0.4)
    arm.step(150)
    arm.command("effort", joint_7=0.0)
    arm.step(1)
    outcome, code, reason = goal.end
    assert (outcome, code) == ("aborted", INVALID_GOAL)
    assert reason == "joint_7: preempted by effort commands"
    there = arm.position("joint_1")
    assert 0.1 < there < 0.3
    arm.step(1000)
    assert arm.position("joint_1") == pytest.approx(there, abs=0.02)


def test_trajectories_without_a_common_joint_go_on_side_by_side(arm):
    goals = arm.aim(joint_1=0.2), arm.aim(joint_7=0.2)
    arm.step(1000)
    assert [goal.end[0] for goal in goals] == ["succeeded", "succeeded"]
    assert arm.position("joint_1") == pytest.approx(0.2, abs=2e-3)
    assert arm.position("joint_7") == pytest.approx(0.2, abs=2e-3)


def test_new_trajectory_goes_on_from_what_the_old_one_asked_for_joint_by_joint(arm):
    """No jump in what is commanded, also where the two move different joints."""
    arm.go(0.4, joint_1=0.4, joint_2=BENT["joint_2"] + 0.2)
    arm.step(200)
    arm.go(0.4, joint_1=0.0, joint_7=0.2)
    path = []
    for _ in range(400):
        arm.step()
        path.append(arm.world.drive_targets()[0, [0, 1, 6]])
    assert np.abs(np.diff(path, axis=0)).max() < 3e-3
    assert path[-1] == pytest.approx([0.0, BENT["joint_2"] + 0.2, 0.2], abs=1e-9)


# --- goals


def test_goal_is_reached_within_its_tolerances(arm):
    """Not before the joints are there and stand; progress tells desired and actual states on the way."""
    goal = arm.aim(0.3, joint_1=0.3)
    arm.step(299)
    assert not goal.ends
    arm.step(701)
    assert goal.end[:2] == ("succeeded", SUCCESSFUL)
    assert len(goal.progress) >= 6
    times = [progress.time for progress in goal.progress]
    assert np.diff(times) == pytest.approx(0.05)
    desired = [progress.desired.positions[0] for progress in goal.progress]
    smooth = [0.3 * (3 * (t / 0.3) ** 2 - 2 * (t / 0.3) ** 3) for t in np.minimum(times, 0.3)]
    assert desired == pytest.approx(smooth, abs=1e-9)
    assert goal.progress[3].actual.positions[0] == pytest.approx(desired[3], abs=0.01)


def test_controller_state_covers_all_joints_under_way(arm):
    arm.go(joint_1=0.2)
    arm.go(joint_7=0.2)
    arm.step(200)
    assert [progress.joints for progress in arm.published] == [("joint_1", "joint_7")] * 4
    progress = arm.published[-1]
    assert progress.actual.positions == pytest.approx(progress.desired.positions, abs=0.01)


def test_path_tolerance_ends_a_goal_that_is_pushed_aside(arm):
    """The joints then hold where they are."""
    goal = arm.aim(0.5, path={"joint_1": JointTolerance(0.05)}, joint_1=0.1, joint_2=BENT["joint_2"])
    arm.step(100)
    q, v = arm.world.q.copy(), arm.world.v
    q[0] -= 0.08
    arm.world.set_state(q, v)
    arm.step(1)
    outcome, code, reason = goal.end
    assert (outcome, code) == ("aborted", PATH_TOLERANCE_VIOLATED)
    assert "joint_1 is off by 0.0" in reason
    arm.step(500)
    assert arm.position("joint_1") == pytest.approx(q[0], abs=0.01)


def test_goal_that_is_not_reached_in_time_is_aborted(arm):
    """Drives that lag behind by more than the tolerance for longer than goal_time."""
    strict = {"joint_1": JointTolerance(1e-9)}
    goal = arm.aim(0.2, goal=strict, goal_time=0.1, joint_1=0.3)
    arm.step(299)
    assert not goal.ends
    arm.step(3)
    outcome, code, reason = goal.end
    assert (outcome, code) == ("aborted", GOAL_TOLERANCE_VIOLATED)
    assert "joint_1 is off by" in reason


def test_without_goal_time_a_goal_is_waited_for(arm):
    goal = arm.aim(0.1, goal={"joint_1": JointTolerance(1e-6)}, joint_1=0.3)
    arm.step(150)
    assert not goal.ends
    assert arm.trajectories.busy_until() == math.inf
    arm.step(1500)
    assert goal.end[0] == "succeeded"


def test_cancelled_goal_holds_where_it_is(arm):
    goal = arm.aim(0.4, joint_1=0.4)
    arm.step(200)
    arm.trajectories.cancel(goal)
    there = arm.position("joint_1")
    assert goal.end[:2] == ("canceled", SUCCESSFUL)
    arm.step(1000)
    assert arm.position("joint_1") == pytest.approx(there, abs=0.02)


def test_goal_that_is_cancelled_before_it_begins_never_does(arm):
    goal = arm.aim(stamp=0.2, joint_1=0.4)
    arm.step(100)
    arm.trajectories.cancel(goal)
    arm.step(500)
    assert goal.end[0] == "canceled"
    assert arm.position("joint_1") == pytest.approx(0.0, abs=1e-3)


def test_new_goal_preempts_at_once(arm):
    """What the old one asked for goes on until the new one begins."""
    old = arm.aim(0.4, joint_1=0.4)
    arm.step(100)
    new = arm.aim(0.2, stamp=0.2, joint_1=0.0)
    assert old.end[:2] == ("aborted", INVALID_GOAL)
    assert "preempted by a new goal" in old.end[2]
    before = arm.position("joint_1")
    arm.step(90)
    assert arm.position("joint_1") > before + 0.05
    arm.step(1000)
    assert new.end[0] == "succeeded"
    assert arm.position("joint_1") == pytest.approx(0.0, abs=2e-3)


def test_goal_that_a_bad_link_delays_beyond_its_end_is_too_old(arm):
    """It was in time when it was checked."""
    message = trajectory(0.1, stamp=0.1, joint_1=0.2)
    checked = arm.trajectories.checked(message)
    arm.step(300)
    goal = Goal()
    arm.trajectories.follow(checked, goal, Tolerances({}, {}, 0.0))
    arm.step(1)
    assert goal.end[:2] == ("aborted", OLD_HEADER_TIMESTAMP)
    assert len(arm.refused) == 1


def test_goal_that_cannot_be_joined_says_why(arm):
    """From a speed at which the joint would swing out of its limits, for example."""
    goal = arm.aim(0.5, joint_2=2.0)
    q, v = arm.world.q, arm.world.v.copy()
    v[1] = 60.0
    arm.world.set_state(q, v)
    arm.step(1)
    assert goal.end[:2] == ("aborted", INVALID_GOAL)
    assert "swings out" in goal.end[2]


def test_joint_that_leaves_the_scene_ends_its_goal(arm):
    """Another trajectory goes on in the World that takes over."""
    lost, kept = arm.aim(0.5, joint_1=0.2), arm.aim(0.5, joint_2=BENT["joint_2"] + 0.1)
    arm.step(100)
    arm.arbiter.keep_only(JOINTS[1:])
    arm.trajectories.world_changed(arm.world)
    assert lost.end[:2] == ("aborted", INVALID_JOINTS)
    arm.step(1000)
    assert kept.end[0] == "succeeded"
