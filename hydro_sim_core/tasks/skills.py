"""Skills: parts of controllers that a robot goes on with for a while. All end with the robot at rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError
from hydro_sim_core.manipulation import CartesianMotion, MotionLimits, inverse_kinematics
from hydro_sim_core.manipulation.cartesian_motion import fastest_share
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks.robot import GraspLost, Robot, Script, TaskFailed, ToolArm

Array = NDArray[np.float64]
Check = Callable[[], bool]

#: Share of their speed limits with which joints move through the air.
BRISK = 0.6
#: Speed of each finger on its way to what it shall grasp, m/s.
CLOSING_SPEED = 0.03
#: Force at which a finger has touched, N; with the rate at which it grows from there on, N/s.
TOUCH, FORCE_RATE = 3.0, 40.0
#: A motion that has to be slowed down further leads to where the arm cannot go.
SLOWEST = 20.0
#: Shares of a wanted force: what makes a grasp secure, and below what it is lost.
SECURE, LOST = 0.8, 0.3


def wait(robot: ToolArm, duration: float) -> Script:
    """Stand still for a time, s.

    Raises:
        TaskFailed: The time is none.
    """
    if not 0.0 <= duration < math.inf:
        raise TaskFailed(f"the robot cannot wait for {duration} s: give 0 or more")
    for _ in range(max(1, round(duration / robot.period))):
        robot.measured = yield robot.commands()


def move_joints(robot: ToolArm, goal: Mapping[str, float], share: float = BRISK) -> Script:
    """Move all joints of the arm, which begin and end together, with a share of their speed limits.

    Args:
        robot: The robot.
        goal: Positions of all joints of the arm by name, rad.
        share: Share of the speed limits, above 0 and at most 1.

    Raises:
        TaskFailed: The goal leaves a joint out, or one is not finite or cannot be there, or the share is none.
    """
    begin = robot.q
    if not 0.0 < share <= 1.0:
        raise TaskFailed(
            f"joints cannot move with {share} of their speed limits: give a share above 0, up to 1"
        )
    for name in robot.arm.names:
        if name not in goal:
            raise TaskFailed(f"a goal of the joints leaves out {name}; give one of every joint of the arm")
        if not math.isfinite(goal[name]):
            raise TaskFailed(f"a goal of {name} is {goal[name]}, no position; give a finite number")
    way = np.array([goal[name] for name in robot.arm.names]) - begin
    duration = float((np.abs(way) / (share * robot.arm.speed_limits)).max())
    if duration == 0.0:
        return
    # Half a second to the full speed.
    course = fastest_share(1.0 / duration, 2.0 / duration, 16.0 / duration)
    for k in range(1, periods(robot, course.duration) + 1):
        robot.go_to(begin + course.at(min(k * robot.period, course.duration))[0] * way)
        robot.measured = yield robot.commands()


def positions_at(robot: ToolArm, model: World, X_WT: Array) -> dict[str, float]:
    """Positions (rad) of the arm's joints, by name, with the tool at a pose (4, 4); it does not go there.

    Raises:
        TaskFailed: The pose is out of reach.
    """
    model.set_joint_positions(dict(zip(robot.arm.names, robot.q.tolist(), strict=True)))
    try:
        return inverse_kinematics(model, robot.flange, X_WT @ np.linalg.inv(robot.X_PT))
    except InputError as error:
        raise TaskFailed(f"a pose is out of reach: {error.problem}") from error


def move_to(robot: ToolArm, model: World, X_WT: Array) -> Script:
    """Take the tool to a pose (4, 4) somewhere else, with no regard to the way.

    Raises:
        TaskFailed: The pose is out of reach.
    """
    yield from move_joints(robot, positions_at(robot, model, X_WT))


def move_tool(
    robot: ToolArm,
    X_WT: Sequence[Array],
    limits: MotionLimits | None = None,
    until: Check | None = None,
) -> Script:
    """Move the tool along straight lines through poses (4, 4), until a check holds if one is given.

    Where the check does not come to hold, the tool is at the last pose: whoever gives one asks it again.

    Raises:
        TaskFailed: As ``follow_tool``.
    """
    motion = CartesianMotion([robot.X_WT, *X_WT], limits)
    yield from follow_tool(robot, lambda time: motion.at(time)[0], motion.duration, until)


def follow_tool(
    robot: ToolArm, X_WT: Callable[[float], Array], duration: float, until: Check | None = None
) -> Script:
    """Have the tool at a pose (4, 4) that depends on time, more slowly where a joint could not follow.

    Args:
        robot: The robot.
        X_WT: The pose at a time (s) from 0 to ``duration``.
        duration: s.
        until: Ends it when it holds.

    Raises:
        TaskFailed: The poses lead where a joint would have to be ``SLOWEST`` times as fast as it can, as at the end of
            the arm's reach.
    """
    time = 0.0
    while time < duration - 1e-9:
        before, pace = robot.q, 1.0
        while True:
            later = min(time + pace * robot.period, duration)
            q = robot.towards(X_WT(later))
            excess = float((np.abs(q - before) / robot.most_in_a_period).max())
            if excess <= 1.0:
                break
            pace *= 0.98 / excess
            if pace < 1.0 / SLOWEST:
                raise TaskFailed("the arm cannot follow: it is at the end of its reach")
        time = later
        robot.go_to(q)
        robot.measured = yield robot.commands()
        if until is not None and until():
            return


def grasp(robot: Robot, held: str, force: float, met: float = 0.0) -> Script:
    """Close the fingers on a link until each presses on it with a force, N.

    Args:
        robot: The robot.
        held: The link.
        force: N.
        met: Opening of each finger at which there is nothing between them, m; below 0 soft ones are pressed in.

    Raises:
        GraspLost: The fingers meet without it, or the force does not last.
        TaskFailed: The force is not above 0, or a number is not finite.
    """
    _check_grasp(robot, held, force, met)
    touch = min(TOUCH, force)
    while robot.grip_on(held) < touch:
        robot.opening -= CLOSING_SPEED * robot.period
        if robot.opening < met:
            raise GraspLost(f"there is no {held} between the {robot.gripper.called[1]}")
        robot.measured = yield robot.commands()
    robot.squeeze = touch
    while robot.squeeze < force:
        robot.squeeze = min(robot.squeeze + FORCE_RATE * robot.period, force)
        robot.measured = yield robot.commands()
    yield from wait(robot, 0.3)
    if robot.grip_on(held) < SECURE * force:
        raise GraspLost(
            f"no secure grasp of {held}: {robot.grip_on(held):z.1f} N of {force:g} N on the looser {robot.side}"
        )


def let_go(robot: Robot, opening: float, speed: float = CLOSING_SPEED) -> Script:
    """Open the fingers.

    Args:
        robot: The robot.
        opening: Distance of each finger from the middle at the end, m.
        speed: Of each finger, m/s.

    Raises:
        TaskFailed: The speed is not above 0, or a number is not finite.
    """
    _check_opening(robot, opening)
    if not 0.0 < speed < math.inf:
        raise TaskFailed(f"{robot.gripper.called[1]} cannot open at {speed} m/s: give a finite speed above 0")
    robot.opening, robot.squeeze = robot.kept_opening, None
    while robot.opening < opening:
        robot.opening = min(robot.opening + speed * robot.period, opening)
        robot.measured = yield robot.commands()


def regrasp(
    robot: Robot,
    held: str,
    hands: Sequence[Array],
    opening: float,
    force: float,
    limits: MotionLimits | None = None,
    met: float = 0.0,
) -> Script:
    """Let go of a link that stands by itself, and grasp it again in another way: where a joint could not turn further.

    Args:
        robot: The robot; from now on its tool is the hand.
        held: The link.
        hands: Poses (4, 4) of the hand between the two grasps, the last of them where it grasps again. ``Grasp.hand``
            tells such, with a distance from the link before.
        opening: Distance of each finger from the middle in between, m.
        force: N.
        limits: Of the hand's motions.
        met: As for ``grasp``.

    Raises:
        TaskFailed: As ``follow_tool``, ``let_go`` and ``grasp``; one for a number before it lets go.
    """
    _check_opening(robot, opening)
    _check_grasp(robot, held, force, met)
    yield from let_go(robot, opening)
    robot.X_PT = np.eye(4)
    yield from move_tool(robot, hands, limits)
    yield from grasp(robot, held, force, met)


def _check_grasp(robot: Robot, held: str, force: float, met: float) -> None:
    fingers = robot.gripper.called[1]
    if not 0.0 < force < math.inf:
        raise TaskFailed(f"{fingers} cannot grasp {held} with {force} N: give a finite force above 0")
    if not math.isfinite(met):
        raise TaskFailed(f"{fingers} cannot meet at an opening of {met} m: give a finite number")


def _check_opening(robot: Robot, opening: float) -> None:
    if not math.isfinite(opening):
        raise TaskFailed(f"{robot.gripper.called[1]} cannot open to {opening} m: give a finite number")


class Holder(Protocol):
    """Protocol of a robot that holds something by force.

    Attributes:
        squeeze: Force with which it holds, N.
    """

    squeeze: float | None

    @property
    def side(self) -> str:
        """What one of those is that hold: a finger, or another thing."""

    def grip_on(self, held: str) -> float:
        """Force with which the looser side presses on a link, N."""


def while_held(robot: Holder, held: str, script: Script) -> Script:
    """Do something as long as the fingers hold a link.

    Raises:
        GraspLost: It is lost.
    """

    def check() -> None:
        if robot.grip_on(held) < LOST * (robot.squeeze or 0.0):
            raise GraspLost(
                f"lost the grasp of {held}: {robot.grip_on(held):z.1f} N on the looser {robot.side}"
            )

    yield from watched(check, script)


def watched(check: Callable[[], object], script: Script) -> Script:
    """Do something, and check every period whether it may go on.

    Args:
        check: Raises TaskFailed with the reason if not.
        script: What to do; it may be nothing, as a motion to where the joints are.
    """
    try:
        commands = next(script)
    except StopIteration:
        return
    while True:
        measured = yield commands
        try:
            commands = script.send(measured)
        except StopIteration:
            return
        check()


def periods(robot: ToolArm, duration: float) -> int:
    """Number of periods that a time (s) takes, the last one begun counted."""
    return max(1, math.ceil(duration / robot.period - 1e-9))
