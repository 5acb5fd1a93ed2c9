"""Skills of robots end as they should, or with the reason."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description.poses import pose
from hydro_sim_core.errors import InputError
from hydro_sim_core.manipulation import MotionLimits
from hydro_sim_core.tasks.robot import Robot, TaskFailed
from hydro_sim_core.tasks.skills import (
    grasp,
    let_go,
    move_joints,
    move_to,
    move_tool,
    regrasp,
    wait,
    watched,
    while_held,
)
from hydro_sim_core.tasks.trial import measure
from hydro_sim_core.tasks.turner import ALONG, GRIPPER

PERIOD = 0.01
PAIRS = (("left_finger", "handle"), ("right_finger", "handle"))


@pytest.fixture(scope="module")
def start():
    return hs.load_scene("pancake_flip")


@pytest.fixture
def world(start):
    return start.copy()


@pytest.fixture
def robot(start, world):
    robot = Robot(start.copy(), GRIPPER, PERIOD)
    robot.start(measure(world))
    return robot


def carry_out(script, world, most=1000):
    """Let a script command the world until it ends; its commands."""
    told = []
    try:
        told.append(next(script))
        while len(told) < most:
            world.command_joints(told[-1])
            world.step(round(PERIOD / world.time_step))
            told.append(script.send(measure(world)))
    except StopIteration:
        return told
    raise AssertionError("it does not end")


def pretend(script, measured, most=2000):
    """Let a script go on with a measurement that does not change."""
    try:
        next(script)
        for _ in range(most):
            script.send(measured)
    except StopIteration:
        return
    raise AssertionError("it does not end")


def test_joints_end_together_where_they_shall_within_their_speeds(robot, world):
    goal = dict(zip(robot.arm.names, np.add(robot.q, [0.3, -0.1, 0.2, 0.0, 0.1, -0.4]), strict=True))
    told = carry_out(move_joints(robot, goal, share=0.5), world)
    positions = np.array([[command[name].position for name in robot.arm.names] for command in told])
    np.testing.assert_allclose(positions[-1], list(goal.values()), atol=1e-12)
    speeds = np.abs(np.diff(positions, axis=0)) / PERIOD
    assert np.all(speeds <= 0.5 * robot.arm.speed_limits + 1e-9)
    assert speeds.max() > 0.45 * robot.arm.speed_limits.min()
    carry_out(wait(robot, 0.3), world)
    there = [world.joint_positions()[world.joint_names.index(name)] for name in goal]
    np.testing.assert_allclose(there, list(goal.values()), atol=1e-4)


def test_efforts_are_those_of_the_motion(robot, start):
    """With them the arm is where it shall be on the way, too; without them it lags by the force over the stiffness."""
    world = start.copy()
    X_WT = robot.X_WT
    X_WT[2, 3] -= 0.06
    lag = []
    script = move_tool(robot, [X_WT], MotionLimits(speed=0.06, acceleration=1.0))
    commands = next(script)
    try:
        while True:
            world.command_joints(commands)
            world.step(10)
            lag.append(np.abs(world.frame_pose("gripper")[:3, 3] - robot.X_WT[:3, 3]).max())
            commands = script.send(measure(world))
    except StopIteration:
        pass
    assert max(lag) < 1e-3
    np.testing.assert_allclose(robot.X_WT, X_WT, atol=1e-9)


def test_a_motion_that_joints_cannot_follow_is_slower(robot, world):
    X_WT = robot.X_WT
    X_WT[2, 3] -= 0.06
    told = carry_out(move_tool(robot, [X_WT], MotionLimits(speed=0.5, acceleration=5.0, jerk=500.0)), world)
    positions = np.array([[command[name].position for name in robot.arm.names] for command in told])
    speeds = np.abs(np.diff(positions, axis=0)) / PERIOD / robot.arm.speed_limits
    assert 0.9 < speeds.max() <= 1.0 + 1e-9
    np.testing.assert_allclose(robot.X_WT, X_WT, atol=1e-5)


def test_a_motion_beyond_the_reach_is_told(robot, world):
    X_WT = robot.X_WT
    X_WT[0, 3] += 1.0
    with pytest.raises(TaskFailed, match="the arm cannot follow: it is at the end of its reach"):
        carry_out(move_tool(robot, [X_WT], MotionLimits(speed=0.5, acceleration=5.0)), world)


def test_a_joint_at_its_limit_is_told(robot):
    robot.phase = "go on"
    beyond = robot.q.copy()
    row = robot.arm.names.index("joint_2")
    beyond[row] = 5.6  # of 47 to 313 degrees
    with pytest.raises(TaskFailed, match="cannot go on: joint_2 is at the end of its range"):
        robot.go_to(beyond)
    assert robot.q[row] != 5.6


def test_what_is_out_of_reach_is_told(robot, world, start):
    X_WT = robot.X_WT
    X_WT[0, 3] += 2.0
    with pytest.raises(TaskFailed, match=r"a pose is out of reach: stays .* m and"):
        carry_out(move_to(robot, start.copy(), X_WT), world)


def test_a_motion_ends_when_it_is_told_to(robot, world):
    begin = robot.X_WT
    X_WT = begin.copy()
    X_WT[2, 3] += 0.1
    carry_out(move_tool(robot, [X_WT], MotionLimits(speed=0.1), until=lambda: world.time >= 0.5), world)
    assert world.time == pytest.approx(0.5)
    assert 0.01 < robot.X_WT[2, 3] - begin[2, 3] < 0.05


def test_a_hand_grasps_again_somewhere_else(robot, world):
    """The handle of the spatula on its stand, 15 mm further along it and from 10 degrees to the side."""
    X_WS = world.frame_pose("spatula")
    elsewhere = replace(ALONG, X_OG=ALONG.X_OG @ pose([-0.015, 0.0, 0.0], [0.0, 0.0, math.radians(10.0)]))
    carry_out(move_to(robot, world.copy(), ALONG.hand(X_WS, before=0.08)), world)
    carry_out(move_tool(robot, [ALONG.hand(X_WS)]), world)
    opening = robot.opening
    carry_out(grasp(robot, "handle", 20.0), world)
    robot.hold_tool("spatula")
    hands = [ALONG.hand(X_WS, before=0.05), elsewhere.hand(X_WS, before=0.05), elsewhere.hand(X_WS)]
    carry_out(regrasp(robot, "handle", hands, opening, 25.0), world, most=2000)
    assert robot.grip_on("handle") > 20.0
    np.testing.assert_allclose(robot.X_WT, elsewhere.hand(X_WS), atol=2e-3)


def test_fingers_let_go_at_their_speed(robot, world):
    robot.squeeze = 5.0
    told = carry_out(let_go(robot, 0.05, speed=0.02), world)
    openings = [command["right_finger_joint"].position for command in told]
    np.testing.assert_allclose(np.diff(openings)[:-1], 0.02 * PERIOD)
    assert openings[-1] == pytest.approx(0.05)
    assert told[0]["right_finger_joint"].effort == 0.0  # it presses no more


def pressed(measured, newtons):
    """What is measured when each finger presses on the handle so hard."""
    R_HP = measured.poses["handle"][:3, :3].T @ measured.poses["gripper"][:3, :3]
    wrenches = {
        pair: np.concatenate([R_HP @ [0.0, -side * newtons, 0.0], np.zeros(3)])
        for pair, side in zip(PAIRS, GRIPPER.sides, strict=True)
    }
    return replace(measured, wrenches={**measured.wrenches, **wrenches})


@pytest.mark.parametrize("met", [0.0, -0.006])
def test_fingers_that_meet_nothing_are_told(robot, met):
    with pytest.raises(TaskFailed, match="there is no handle between the fingers"):
        pretend(grasp(robot, "handle", 30.0, met), robot.measured)
    assert met - 0.001 < robot.opening < met


def test_a_grasp_that_is_not_firm_is_told(robot):
    robot.measured = pressed(robot.measured, 20.0)
    with pytest.raises(TaskFailed, match=r"no secure grasp of handle: 20.0 N of 30 N on the looser finger"):
        pretend(grasp(robot, "handle", 30.0), robot.measured)
    assert robot.squeeze == 30.0


def test_a_grasp_that_is_lost_is_told(robot):
    robot.squeeze = 30.0
    with pytest.raises(TaskFailed, match=r"lost the grasp of handle: 8.0 N on the looser finger"):
        pretend(while_held(robot, "handle", wait(robot, 1.0)), pressed(robot.measured, 8.0))
    with pytest.raises(TaskFailed, match=r"handle: 0\.0 N on the looser finger"):  # and not -0.0
        pretend(while_held(robot, "handle", wait(robot, 1.0)), pressed(robot.measured, -1e-3))
    pretend(while_held(robot, "handle", wait(robot, 1.0)), pressed(robot.measured, 12.0))


def test_what_is_watched_ends_in_the_period_of_its_reason(robot):
    """A check raises after the third period of five; without one, all five go by."""
    checked = []

    def check():
        checked.append(robot.measured)
        if len(checked) == 3:
            raise TaskFailed("pressed")

    with pytest.raises(TaskFailed, match="pressed"):
        pretend(watched(check, wait(robot, 5 * PERIOD)), robot.measured)
    assert checked == 3 * [robot.measured]
    pretend(watched(lambda: None, wait(robot, 5 * PERIOD)), robot.measured)


def test_what_is_watched_may_have_nothing_to_do(robot):
    """As a motion to where the joints are; what comes after it goes on."""
    stays = dict(zip(robot.arm.names, robot.q.tolist(), strict=True))
    pretend(watched(lambda: None, move_joints(robot, stays)), robot.measured)
    robot.squeeze = 30.0
    pretend(while_held(robot, "handle", move_joints(robot, stays)), pressed(robot.measured, 12.0))


def test_fingers_keep_their_middle_while_they_squeeze(robot, world):
    """A push along their axis moves a held thing by little, although forces alone would let it go anywhere."""
    robot.squeeze = 10.0
    told = robot.commands()
    left, right = (told[name] for name in GRIPPER.joints)
    assert left.effort == 10.0
    assert right.effort == -10.0
    assert left.position == pytest.approx(-right.position)


# --- at the limits of joints, which are elastic: what is measured may lie beyond one, what is commanded may not


def limits_of(world, name):
    lower, upper = world.joint_limits()
    row = world.joint_names.index(name)
    return float(lower[row]), float(upper[row])


def beyond(world, robot, end):
    """What is measured with both fingers a micron beyond an end of their way, 0 closed or 1 open; that end, m."""
    opening = limits_of(world, "right_finger_joint")[end]
    measured = opening + (1e-6 if end else -1e-6)
    positions = {name: side * measured for name, side in zip(GRIPPER.joints, GRIPPER.sides, strict=True)}
    return replace(robot.measured, positions={**robot.measured.positions, **positions}), opening


def openings_of(told):
    return [side * told[name].position for name, side in zip(GRIPPER.joints, GRIPPER.sides, strict=True)]


@pytest.mark.parametrize("end", [0, 1])
def test_fingers_pressed_beyond_a_limit_keep_to_it(robot, world, end):
    robot.measured, opening = beyond(world, robot, end)
    robot.squeeze = 10.0
    told = robot.commands()
    world.check_joint_commands(told)
    assert openings_of(told) == [opening, opening]
    assert robot.measured_opening != opening


def test_one_finger_beyond_its_limit_is_not_both(robot, world):
    """The middle of the two counts, as with fingers that are geared to each other."""
    lower, upper = limits_of(world, "right_finger_joint")
    positions = {**robot.measured.positions, "left_finger_joint": -0.03, "right_finger_joint": upper + 1e-6}
    robot.measured, robot.squeeze = replace(robot.measured, positions=positions), 10.0
    assert openings_of(robot.commands()) == pytest.approx(2 * [0.5 * (0.03 + upper + 1e-6)], abs=1e-15)
    assert lower < 0.0


@pytest.mark.parametrize("end", [0, 1])
def test_fingers_beyond_a_limit_begin_at_it(robot, world, end):
    measured, opening = beyond(world, robot, end)
    robot.start(measured)
    told = robot.commands()
    world.check_joint_commands(told)
    assert openings_of(told) == [opening, opening]


def test_fingers_beyond_a_limit_let_go_from_it(robot, world):
    robot.measured, opening = beyond(world, robot, 0)
    told = next(let_go(robot, 0.05, speed=1e-5))
    world.check_joint_commands(told)
    assert openings_of(told) == pytest.approx(2 * [opening + 1e-5 * PERIOD], abs=1e-15)


def test_an_arm_that_sags_beyond_a_limit_begins_at_it(robot, world):
    upper = limits_of(world, "joint_2")[1]
    positions = {**robot.measured.positions, "joint_2": upper + 1e-6}
    robot.start(replace(robot.measured, positions=positions))
    told = robot.commands()
    world.check_joint_commands(told)
    assert told["joint_2"].position == upper


def test_a_commanded_opening_beyond_the_limit_is_an_error(robot, world):
    robot.opening = limits_of(world, "right_finger_joint")[1] + 1e-6
    with pytest.raises(InputError, match="is outside its limits"):
        world.check_joint_commands(robot.commands())


def test_what_a_skill_cannot_use_is_told(robot):
    goal = dict(zip(robot.arm.names, robot.q, strict=True))
    name = robot.arm.names[-1]
    others = {one: value for one, value in goal.items() if one != name}
    for wrong, share, told in [
        (others, 0.5, f"a goal of the joints leaves out {name}; give one of every joint of the arm"),
        ({**goal, name: math.nan}, 0.5, f"a goal of {name} is nan, no position; give a finite number"),
        (
            {**goal, name: goal[name] + 0.1},
            0.0,
            "joints cannot move with 0.0 of their speed limits: give a share",
        ),
        ({**goal, name: goal[name] + 0.1}, math.nan, "joints cannot move with nan of their speed limits"),
        ({**goal, name: goal[name] + 0.1}, 1.5, "joints cannot move with 1.5 of their speed limits"),
    ]:
        with pytest.raises(TaskFailed, match=re.escape(told)):
            next(move_joints(robot, wrong, share))


@pytest.mark.parametrize("force", [math.nan, -5.0, 0.0, math.inf])
def test_a_force_that_no_grasp_has_is_told(robot, force):
    told = re.escape(f"fingers cannot grasp handle with {force} N: give a finite force above 0")
    begin = robot.opening, robot.squeeze
    for skill in (grasp(robot, "handle", force), regrasp(robot, "handle", [robot.X_WT], 0.05, force)):
        with pytest.raises(TaskFailed, match=told):
            next(skill)
    assert (robot.opening, robot.squeeze) == begin  # it has not let go


def test_openings_and_speeds_that_fingers_cannot_have_are_told(robot):
    at = "fingers cannot open to {} m: give a finite number"
    fast = "fingers cannot open at {} m/s: give a finite speed above 0"
    meet = "fingers cannot meet at an opening of {} m: give a finite number"
    hands = [robot.X_WT]
    begin = robot.opening, robot.squeeze
    for skill, told in [
        (lambda: let_go(robot, math.nan), at.format("nan")),
        (lambda: let_go(robot, math.inf), at.format("inf")),
        (lambda: let_go(robot, 0.05, speed=0.0), fast.format("0.0")),
        (lambda: let_go(robot, 0.05, speed=-0.02), fast.format("-0.02")),
        (lambda: let_go(robot, 0.05, speed=math.nan), fast.format("nan")),
        (lambda: let_go(robot, 0.05, speed=math.inf), fast.format("inf")),
        (lambda: grasp(robot, "handle", 5.0, math.nan), meet.format("nan")),
        (lambda: regrasp(robot, "handle", hands, math.nan, 5.0), at.format("nan")),
        (lambda: regrasp(robot, "handle", hands, 0.05, 5.0, met=-math.inf), meet.format("-inf")),
    ]:
        with pytest.raises(TaskFailed, match=re.escape(told)):
            next(skill())
    assert (robot.opening, robot.squeeze) == begin


@pytest.mark.parametrize("duration", [math.nan, -0.1, math.inf])
def test_a_wait_that_is_no_time_is_told(robot, duration):
    with pytest.raises(TaskFailed, match=f"cannot wait for {duration} s: give 0 or more"):
        next(wait(robot, duration))


def test_a_gentle_grasp_presses_no_harder_than_it_shall(robot):
    """Below the force of a touch as well."""
    robot.measured = pressed(robot.measured, 1.0)
    pretend(grasp(robot, "handle", 1.0), robot.measured)
    assert robot.squeeze == 1.0


def test_a_robot_that_has_not_begun_says_so(start):
    robot = Robot(start.copy(), GRIPPER, PERIOD)
    for use in (
        lambda: robot.X_WT,
        lambda: robot.commands(),
        lambda: robot.grip_on("handle"),
        lambda: next(wait(robot, 0.1)),
    ):
        with pytest.raises(TaskFailed, match=r"used before its start; call robot\.start\(measured\) first"):
            use()


def test_what_a_scene_does_not_have_is_told(robot, start):
    measured = robot.measured
    for held, told in [
        ("spatule", "the scene has no link 'spatule'; did you mean 'spatula'?"),
        (
            "pancake",
            "the scene reports no wrench of pancake on left_finger; add [pancake, left_finger] to its rep",
        ),
    ]:
        with pytest.raises(TaskFailed, match=re.escape(told)):
            robot.grip_on(held)
    with pytest.raises(TaskFailed, match="the scene has no link 'spatule'; did you mean 'spatula'"):
        robot.hold_tool("spatule")
    assert robot.measured is measured
    for part, kind in [("joints", "joint"), ("links", "link")]:
        wrong = replace(GRIPPER, **{part: (getattr(GRIPPER, part)[0], "right_fingre")})
        with pytest.raises(
            InputError, match=f"task: {kind} 'right_fingre': of the gripper is not in the scene; did"
        ):
            Robot(start, wrong, PERIOD)


def test_no_joint_is_told_to_be_faster_than_its_limit(robot):
    most = robot.most_in_a_period
    begin = robot.q.copy()
    robot.go_to(begin - most)  # as fast as it can
    for far in (1.0 + 1e-6, math.nan):
        way = np.zeros(len(most))
        way[2] = far * most[2]
        with pytest.raises(
            TaskFailed, match=r"cannot go on: joint_3 would move at .*, and its velocity limit is"
        ):
            robot.go_to(begin - most + way)
    np.testing.assert_array_equal(robot.q, begin - most)  # it has not gone
