"""Joint trajectories: checked when they arrive, sampled in simulated time by the stepping thread.

Between two points the motion is the polynomial of lowest degree that meets what is given at both ends, as in
ros2_control's joint_trajectory_controller: linear for positions, cubic with velocities, quintic with
accelerations too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]
_SOURCE = "trajectory"


@dataclass(frozen=True, eq=False)
class Knot:
    """A point to pass through: time from the start (s), positions (J,), and what else was given, (J,)."""

    time: float
    positions: Array
    velocities: Array | None = None
    accelerations: Array | None = None


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A checked trajectory.

    Attributes:
        joints: Names, in the order of the knots' columns.
        knots: In strictly increasing time.
        start_time: Simulated time of its zero, s; None means on arrival.
    """

    joints: tuple[str, ...]
    knots: tuple[Knot, ...]
    start_time: float | None


def parse_trajectory(message: JointTrajectory, now: float) -> Trajectory:
    """Check a message's form; names and limits are the World's to check.

    Args:
        message: The message; a zero stamp means "start on arrival".
        now: Simulated time, s.

    Raises:
        InputError: Anything missing, of the wrong length, not finite, out of order, or already over.
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
    if start_time is not None and start_time + knots[-1].time < now:
        problem = "the trajectory ended before it arrived"
        raise InputError(_SOURCE, "header.stamp", problem, "use simulated time, or 0 to start at once")
    return Trajectory(joints, knots, start_time)


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
    """One value a joint, or None where the field is empty."""
    values = np.array(given, dtype=float)
    if len(values) not in (0, num_joints):
        problem = f"has {len(values)} values for {num_joints} joints"
        raise InputError(_SOURCE, where, problem, "give one a joint")
    if not np.all(np.isfinite(values)):
        raise InputError(_SOURCE, where, "is not finite", "give finite numbers")
    return values if len(values) else None


def segment_coefficients(start: Knot, end: Knot) -> Array:
    """Polynomial between two knots, in time since ``start``: (6, J), the constant term first."""
    duration = end.time - start.time
    coefficients = np.zeros((6, len(start.positions)))
    coefficients[0] = start.positions
    step = end.positions - start.positions
    if start.velocities is None or end.velocities is None:
        coefficients[1] = step / duration
        return coefficients
    coefficients[1] = start.velocities
    turn = end.velocities - start.velocities
    step = step - start.velocities * duration
    if start.accelerations is None or end.accelerations is None:
        coefficients[2] = (3.0 * step - turn * duration) / duration**2
        coefficients[3] = (turn * duration - 2.0 * step) / duration**3
        return coefficients
    coefficients[2] = 0.5 * start.accelerations
    change = end.accelerations - start.accelerations
    step = step - coefficients[2] * duration**2
    turn = (turn - start.accelerations * duration) * duration
    change = change * duration**2
    coefficients[3] = (10.0 * step - 4.0 * turn + 0.5 * change) / duration**3
    coefficients[4] = (-15.0 * step + 7.0 * turn - change) / duration**4
    coefficients[5] = (6.0 * step - 3.0 * turn + 0.5 * change) / duration**5
    return coefficients


class Motion:
    """A trajectory under way, from a given state through its knots, then at rest in the last one."""

    def __init__(self, trajectory: Trajectory, start_time: float, now: float, state: Knot) -> None:
        """Begin at simulated time ``now`` (s) from ``state``, skipping the knots whose time has passed."""
        self.joints = trajectory.joints
        self._zero = start_time
        first = Knot(now - start_time, state.positions, state.velocities, state.accelerations)
        knots = [first, *(knot for knot in trajectory.knots if knot.time > first.time)]
        if len(knots) == 1:
            knots = [trajectory.knots[-1]]
        self._times = [knot.time for knot in knots]
        self._pieces = [segment_coefficients(a, b) for a, b in pairwise(knots)]
        self._goal = knots[-1].positions
        self._piece = 0

    def sample(self, time: float) -> tuple[Knot, bool]:
        """Desired state at simulated ``time`` (s), which must not go back, and whether the end is reached."""
        since = time - self._zero
        if since >= self._times[-1]:
            rest = np.zeros_like(self._goal)
            return Knot(since, self._goal, rest, rest), True
        while since >= self._times[self._piece + 1]:
            self._piece += 1
        c = self._pieces[self._piece]
        t = since - self._times[self._piece]
        positions = c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5]))))
        velocities = c[1] + t * (2 * c[2] + t * (3 * c[3] + t * (4 * c[4] + t * 5 * c[5])))
        accelerations = 2 * c[2] + t * (6 * c[3] + t * (12 * c[4] + t * 20 * c[5]))
        return Knot(since, positions, velocities, accelerations), False


class TrajectoryFollower:
    """Command source that the runner calls before every step; everything here runs in the stepping thread.

    Args:
        joint_names: The World's joints, in the order of its ``joint_positions``.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._index = {name: i for i, name in enumerate(joint_names)}
        self._waiting: Trajectory | None = None
        self._motion: Motion | None = None
        self._desired: Knot | None = None

    def follow(self, trajectory: Trajectory) -> None:
        """Take up a trajectory at its start time; the present one goes on until then."""
        self._waiting = trajectory

    def stop(self) -> None:
        """Forget every trajectory; the joints hold the last command."""
        self._waiting = self._motion = self._desired = None

    def __call__(self, world: World) -> None:
        """Command the positions wanted at the end of the coming step."""
        waiting = self._waiting
        if waiting is not None and (waiting.start_time is None or world.time >= waiting.start_time):
            start_time = world.time if waiting.start_time is None else waiting.start_time
            self._motion = Motion(waiting, start_time, world.time, self._state(waiting.joints, world))
            self._waiting = None
        if self._motion is None:
            return
        self._desired, finished = self._motion.sample(world.time + world.time_step)
        world.set_command(self._desired.positions, mode="position", joints=self._motion.joints)
        if finished:
            self._motion = self._desired = None

    def _state(self, joints: tuple[str, ...], world: World) -> Knot:
        """Where the motion begins: what the present one asks for if the joints are the same, else what is."""
        if self._motion is not None and self._motion.joints == joints and self._desired is not None:
            return self._desired
        index = [self._index[name] for name in joints]
        zero = np.zeros(len(joints))
        return Knot(math.nan, world.joint_positions()[index], world.joint_velocities()[index], zero)
