"""Parsing of JointTrajectory messages into checked knots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from hydro_sim.hil.link import OTHER_CLOCK
from hydro_sim_core.errors import InputError

Array = NDArray[np.float64]
_SOURCE = "trajectory"


@dataclass(frozen=True, eq=False)
class Knot:
    """A trajectory point: time from the start (s), positions (J,), and velocities and accelerations (J,) if given."""

    time: float
    positions: Array
    velocities: Array | None = None
    accelerations: Array | None = None


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A checked trajectory.

    Attributes:
        joints: Names, in the order of the knots' columns.
        knots: Knots in strictly increasing time.
        start_time: Simulated time of its time zero, s; None for its arrival.
    """

    joints: tuple[str, ...]
    knots: tuple[Knot, ...]
    start_time: float | None


def parse_trajectory(message: JointTrajectory, now: float) -> Trajectory:
    """Check the form of a message; the World checks names and limits.

    Args:
        message: The message; a zero stamp means "start on arrival".
        now: Simulated time, s.

    Raises:
        InputError: A field is missing, has the wrong length, is not finite or out of order, the trajectory is already
            over, or its stamp is wall-clock time.
    """
    joints = tuple(message.joint_names)
    if not joints or len(set(joints)) != len(joints):
        raise InputError(_SOURCE, "joint_names", "is empty or names a joint twice", "name each joint once")
    if not message.points:
        raise InputError(_SOURCE, "points", "is empty", "send at least one point")
    knots = tuple(_parse_point(point, i, len(joints)) for i, point in enumerate(message.points))
    for i, (before, after) in enumerate(pairwise(knots), start=1):
        if after.time <= before.time:
            problem = "time_from_start does not increase"
            raise InputError(_SOURCE, f"points[{i}]", problem, "give strictly increasing times")
    if knots[0].time < 0.0:
        raise InputError(_SOURCE, "points[0]", "time_from_start is negative", "start at zero or later")
    last_velocity = knots[-1].velocities
    if last_velocity is not None and np.any(last_velocity != 0.0):
        problem = "the last point has a velocity other than zero"
        raise InputError(_SOURCE, "points", problem, "end at rest")

    stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
    start_time = stamp if stamp > 0.0 else None
    if start_time is not None and start_time > now + OTHER_CLOCK:
        problem = f"is {start_time - now:.3g} s ahead, which looks like wall time"
        mend = "set use_sim_time in the program that stamps it, or stamp 0 to start at once"
        raise InputError(_SOURCE, "header.stamp", problem, mend)
    if start_time is not None and start_time + knots[-1].time < now:
        raise trajectory_is_over()
    return Trajectory(joints, knots, start_time)


def trajectory_is_over() -> InputError:
    """The error of a trajectory that arrives after its end."""
    problem = "the trajectory ended before it arrived"
    return InputError(_SOURCE, "header.stamp", problem, "use simulated time, or 0 to start at once")


def _parse_point(point: Any, index: int, num_joints: int) -> Knot:
    where = f"points[{index}]"
    if len(point.effort):
        mend = "send efforts as an effort command"
        raise InputError(_SOURCE, f"{where}.effort", "is not supported in a trajectory", mend)
    positions = _column(point.positions, f"{where}.positions", num_joints)
    velocities = _column(point.velocities, f"{where}.velocities", num_joints)
    accelerations = _column(point.accelerations, f"{where}.accelerations", num_joints)
    if positions is None:
        raise InputError(_SOURCE, f"{where}.positions", "is empty", "give one position a joint")
    if accelerations is not None and velocities is None:
        problem = "has accelerations without velocities"
        raise InputError(_SOURCE, where, problem, "give the velocities too")
    time = point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
    return Knot(time, positions, velocities, accelerations)


def _column(given: Sequence[float], where: str, num_joints: int) -> Array | None:
    """One value per joint, or None if the field is empty."""
    values = np.array(given, dtype=float)
    if len(values) not in (0, num_joints):
        problem = f"has {len(values)} values for {num_joints} joints"
        raise InputError(_SOURCE, where, problem, "give one a joint")
    if not np.all(np.isfinite(values)):
        raise InputError(_SOURCE, where, "is not finite", "give finite numbers")
    return values if len(values) else None
