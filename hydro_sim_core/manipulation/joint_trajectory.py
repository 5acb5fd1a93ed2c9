"""Joint positions over time that take a frame along a Cartesian motion."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError, shortened, told_apart
from hydro_sim_core.manipulation.arm import Arm, is_reached, off_by
from hydro_sim_core.manipulation.cartesian_motion import CartesianMotion
from hydro_sim_core.manipulation.checks import number_within, of_kind
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

#: Largest deviation of the present joint positions from those at the begin of a motion, rad or m.
AT_BEGIN = 0.01
#: Longest time without a look at the speeds of joints, s, and the shortest that is worth a look between two others.
LOOK, NEGLIGIBLE = 0.02, 1e-3
#: Share of a period that is no interval of its own at the end.
SLIVER = 1e-3
#: Most points of a trajectory.
MOST_POINTS = 100_000


@dataclass(frozen=True)
class JointTrajectory:
    """Points of a trajectory, as ``follow_joint_trajectory`` takes them.

    Attributes:
        names: (J,) joints.
        times: (N,) s, from 0.
        positions: (N, J) rad or m.
        velocities: (N, J) rad/s or m/s.
    """

    names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array


def follow(
    world: World,
    frame: str,
    motion: CartesianMotion,
    *,
    period: float = 0.02,
    joints: Sequence[str] | None = None,
) -> JointTrajectory:
    """Find the joint positions that take a link's frame along a motion without a jump.

    From each point the next is the nearest: of a redundant arm the joints move as little as they can. Speeds are looked
    at every 0.02 s and wherever the speed of the frame peaks, however far apart the points are, and between points on
    the cubic through their positions and velocities, as controllers interpolate them. The world is not changed.

    Args:
        world: World with the robot, whose joints stand where the motion begins, to 0.01 rad or m.
        frame: Name of the link.
        motion: Motion of its frame.
        period: Time between two points, s; the last comes at the end of the motion.
        joints: Joints that may move; all that move the frame by default.

    Returns:
        The trajectory.

    Raises:
        InputError: The motion is none, there is no such frame or joint, the period is not above 0 or makes more than
            100 000 points, the joints stand elsewhere than where the motion begins, a pose of it is out of reach of the
            present way around, or a joint would exceed its velocity limit; it says when.
    """
    mend = "give a CartesianMotion, such as of poses: CartesianMotion([X_WA, X_WB])"
    motion = of_kind("follow", "motion", motion, CartesianMotion, mend)
    period = number_within(
        "follow", "period", period, 0.0, sys.float_info.max, "give seconds, above 0", above=True
    )
    if motion.duration > MOST_POINTS * period:
        problem = f"of {period:g} s makes more than {MOST_POINTS} points of {motion.duration:g} s"
        raise InputError("follow", "period", problem, "give a longer one")
    arm = Arm("follow", world, frame, joints)
    # A period that but for rounding divides the duration leaves no sliver at the end.
    intervals = max(math.ceil(motion.duration / period - SLIVER), int(motion.duration > 0.0))
    points = np.append(period * np.arange(intervals), motion.duration)
    looks = _times_to_look(points, motion)
    before = _position_at_begin(arm, motion)
    trajectory = [before]
    for time in looks[1:]:
        now = _next_position(arm, before, motion, float(time))
        _check_speeds(arm, before, now)
        before = now
        if time == points[len(trajectory)]:
            _check_speeds(arm, trajectory[-1], now)
            trajectory.append(now)
    return JointTrajectory(
        arm.names, points, np.array([one.q for one in trajectory]), np.array([one.v for one in trajectory])
    )


class _Point(NamedTuple):
    """Positions (J,) and velocities (J,) of the joints at a time, s."""

    time: float
    q: Array
    v: Array


def _times_to_look(points: Array, motion: CartesianMotion) -> Array:
    """Times (K,) of a trajectory's points (N,) and in between, at all peaks of the frame's speed among them."""
    looks = [float(points[0])]
    for begin, end in pairwise(points.tolist()):
        steps = np.linspace(begin, end, math.ceil((end - begin) / LOOK), endpoint=False)
        first, last = np.searchsorted(motion.jerk_changes, (begin, end))
        for time in np.union1d(steps, motion.jerk_changes[first:last]).tolist():
            if min(time - looks[-1], end - time) > NEGLIGIBLE:
                looks.append(time)
        looks.append(end)
    return np.array(looks)


def _position_at_begin(arm: Arm, motion: CartesianMotion) -> _Point:
    """Where the joints are at the begin, which is where they stand."""
    X_WF, V_WF, _ = motion.at(0.0)
    q = arm.nearest(arm.present, X_WF)
    _check_reach(arm, q, X_WF, 0.0)
    off = np.abs(q - arm.present)
    farthest = int(np.argmax(off))
    if off[farthest] > AT_BEGIN:
        problem = f"is at {arm.present[farthest]:.3g}, and at {q[farthest]:.3g} where the motion begins"
        mend = "bring the joints there first, or begin the motion at the present pose"
        raise InputError("follow", f"joint '{arm.names[farthest]}'", problem, mend)
    return _Point(0.0, q, arm.velocities(q, V_WF))


def _next_position(arm: Arm, before: _Point, motion: CartesianMotion, time: float) -> _Point:
    """Where the joints are at a time, from where they were shortly before."""
    X_WF, V_WF, _ = motion.at(time)
    # Where the last velocities lead, and what of a redundant arm's posture the pose leaves free stays there.
    q = arm.close_by(before.q + (time - before.time) * before.v, X_WF)
    _check_reach(arm, q, X_WF, time)
    return _Point(time, q, arm.velocities(q, V_WF))


def _check_reach(arm: Arm, q: Array, X_WF: Array, time: float) -> None:
    error = arm.error(q, X_WF)
    if not is_reached(error):
        raise InputError(
            "follow",
            f"frame '{shortened(arm.frame)}'",
            f"stays {off_by(error)} off the motion at {time:.3g} s",
            "give poses in reach of the present way around, or start from other joint positions",
        )


def _check_speeds(arm: Arm, begin: _Point, end: _Point) -> None:
    """Check the speeds of the cubic through two points."""
    duration = end.time - begin.time
    mean = (end.q - begin.q) / duration
    # v(s) = v0 + s b + s^2 c, with s from 0 to 1.
    b, c = 6.0 * mean - 4.0 * begin.v - 2.0 * end.v, 3.0 * (begin.v + end.v - 2.0 * mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        peak = np.nan_to_num(np.clip(-b / (2.0 * c), 0.0, 1.0))
    shares = np.array([np.zeros_like(peak), peak, np.ones_like(peak)])
    speeds = np.abs(begin.v + shares * (b + shares * c))
    for i, j in np.argwhere(speeds > arm.speed_limits)[:1]:
        time = begin.time + float(shares[i, j]) * duration
        speed, limit = told_apart(speeds[i, j], arm.speed_limits[j])
        raise InputError(
            "follow",
            f"joint '{arm.names[j]}'",
            f"would move at {speed} at {time:.3g} s, and its velocity limit is {limit}",
            "give the motion lower limits, or another way around",
        )
