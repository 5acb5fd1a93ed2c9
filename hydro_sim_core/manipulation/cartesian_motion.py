"""Motion of a tool from pose to pose, as fast as limits of speed, acceleration and jerk allow.

Between two poses the tool moves along a straight line while it turns about a fixed axis, and both end together. It
comes to rest at every pose. The share of the way is time-optimal (Berscheid and Kröger 2021, as in the library Ruckig).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.poses import as_pose
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.manipulation.checks import LARGEST, number_within, of_kind
from hydro_sim_core.rotations import twist_between

Array = NDArray[np.float64]

#: Ways shorter than this, m and rad, are none.
NO_WAY = 1e-12
#: Share of a limit that does not matter.
ROUNDING = 1e-9


@dataclass(frozen=True)
class MotionLimits:
    """What a tool may not exceed.

    Attributes:
        speed: m/s.
        acceleration: m/s^2.
        jerk: m/s^3.
        angular_speed: rad/s.
        angular_acceleration: rad/s^2.
        angular_jerk: rad/s^3.
        braking: Share of the accelerations with which it slows down, at most 1, as for what lies loosely on it.

    Raises:
        InputError: One is not a positive number, or more than it may be.
    """

    speed: float = 0.25
    acceleration: float = 1.0
    jerk: float = 10.0
    angular_speed: float = 1.0
    angular_acceleration: float = 4.0
    angular_jerk: float = 40.0
    braking: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            least, most = 1.0 / LARGEST, 1.0 if field.name == "braking" else LARGEST
            mend = f"give a number above 0, from {least:g} to {most:g}"
            value = number_within("MotionLimits", field.name, getattr(self, field.name), least, most, mend)
            object.__setattr__(self, field.name, value)


class CartesianMotion:
    """A tool's motion through poses, at each of which it rests for an instant.

    Args:
        X_WF: Two or more poses (4, 4) of the tool in the world.
        limits: Its limits.

    Attributes:
        duration: Time of the whole motion, s.
        times: Time at which it is at each pose, s.
        jerk_changes: (K,) times at which its jerk changes, s: in between speeds neither peak nor dip.

    Raises:
        InputError: There are less than two poses, one is none, or limits are too far apart for a motion to one.
    """

    def __init__(self, X_WF: Sequence[ArrayLike], limits: MotionLimits | None = None) -> None:
        try:
            count = len(X_WF)
        except TypeError:
            raise InputError(
                "CartesianMotion", "X_WF", f"is {excerpt(X_WF)}", "give two or more poses"
            ) from None
        if count < 2:
            raise InputError("CartesianMotion", "X_WF", f"holds {count} poses", "give two or more")
        poses = [as_pose(X, "CartesianMotion", f"X_WF[{i}]") for i, X in enumerate(X_WF)]
        limits = MotionLimits() if limits is None else limits
        limits = of_kind("CartesianMotion", "limits", limits, MotionLimits, "give MotionLimits")
        self._legs: list[_Leg] = []
        for i, (begin, end) in enumerate(pairwise(poses), 1):
            try:
                self._legs.append(_Leg(begin, end, limits))
            except InputError as error:
                problem = f"cannot be reached from X_WF[{i - 1}]: {error.problem}"
                raise InputError("CartesianMotion", f"X_WF[{i}]", problem, error.mend) from None
        self.times = [0.0, *np.cumsum([leg.duration for leg in self._legs]).tolist()]
        self.duration: float = self.times[-1]
        self.jerk_changes: Array = np.unique(
            np.concatenate(
                [begin + leg.begins for begin, leg in zip(self.times[:-1], self._legs, strict=True)]
            )
        )

    def at(self, time: float) -> tuple[Array, Array, Array]:
        """Pose, twist and acceleration at a time; before the begin and after the end it rests there.

        Args:
            time: s.

        Returns:
            ``X_WF`` (4, 4); angular velocity and velocity of the tool's origin ``V_WF`` (6,), rad/s and m/s; and their
            rates ``A_WF`` (6,), world axes.

        Raises:
            InputError: The time is no number.
        """
        asked = number_within("CartesianMotion.at", "time", time, -math.inf, math.inf, "give seconds")
        within = min(max(asked, 0.0), self.duration)
        i = min(int(np.searchsorted(self.times, within, side="right")) - 1, len(self._legs) - 1)
        return self._legs[i].at(within - self.times[i])


class _Leg:
    """The way between two poses."""

    def __init__(self, X_WA: Array, X_WB: Array, limits: MotionLimits) -> None:
        self._start = X_WA
        # Rotation vector (rad, world axes) and shift (m) of the whole way.
        self._way = twist_between(X_WA, X_WB, 1.0)
        if (farthest := float(np.abs(self._way[3:]).max())) > LARGEST:
            problem, mend = f"{farthest:g} m are between", f"give at most {LARGEST:g} m"
            raise InputError("CartesianMotion", "X_WF", problem, mend)
        turn, shift = (float(np.linalg.norm(part)) for part in (self._way[:3], self._way[3:]))
        self._profile: Profile | None = None
        self.duration = 0.0
        if max(turn, shift) > NO_WAY:
            share_limits = [
                min(linear / max(shift, NO_WAY), angular / max(turn, NO_WAY))
                for linear, angular in (
                    (limits.speed, limits.angular_speed),
                    (limits.acceleration, limits.angular_acceleration),
                    (limits.jerk, limits.angular_jerk),
                )
            ]
            self._profile = fastest_share(share_limits[0], share_limits[1], share_limits[2], limits.braking)
            self.duration = self._profile.duration

    @property
    def begins(self) -> Array:
        """Times at which its phases begin, s."""
        return np.zeros(1) if self._profile is None else self._profile.begin

    def at(self, time: float) -> tuple[Array, Array, Array]:
        """Pose, twist and acceleration; see ``CartesianMotion.at``."""
        from scipy.spatial.transform import Rotation  # 0.3 s, which not every start of a program should take

        share, rate, change = 1.0, 0.0, 0.0
        if self._profile is not None:
            share, rate, change = self._profile.at(time)
        X = self._start.copy()
        X[:3, :3] = Rotation.from_rotvec(share * self._way[:3]).as_matrix() @ self._start[:3, :3]
        X[:3, 3] += share * self._way[3:]
        return X, rate * self._way, change * self._way


class Profile(NamedTuple):
    """A motion of constant jerk in every phase.

    Attributes:
        duration: s.
        begin: (P,) begin of each phase, s.
        position: (P,) there; with ``velocity`` (1/s), ``acceleration`` (1/s^2), and the ``jerk`` (1/s^3) of the phase.
    """

    duration: float
    begin: Array
    position: Array
    velocity: Array
    acceleration: Array
    jerk: Array

    def at(self, time: float) -> tuple[float, float, float]:
        """Position, velocity and acceleration."""
        i = max(int(np.searchsorted(self.begin, time, side="right")) - 1, 0)
        t, p, v, a, j = (
            time - self.begin[i],
            self.position[i],
            self.velocity[i],
            self.acceleration[i],
            self.jerk[i],
        )
        return p + t * (v + t * (a / 2.0 + t * j / 6.0)), v + t * (a + t * j / 2.0), a + t * j


def fastest_share(speed: float, acceleration: float, jerk: float, braking: float = 1.0) -> Profile:
    """The time-optimal motion from 0 to 1, from rest to rest, within limits of its derivatives (1/s, 1/s^2, 1/s^3).

    It slows down with at most the share ``braking`` of the acceleration.

    Raises:
        InputError: The limits are too far apart for its numbers.
    """
    from ruckig import RuckigError

    # Where the top speed or acceleration is reached for an instant only, rounding may leave the library without a
    # solution. It compares with absolute numbers, so a unit of time near the duration helps; else a little less jerk.
    unit = _power_of_two(max(1.0 / speed, acceleration**-0.5, jerk ** (-1.0 / 3.0)))
    for second, share in ((1.0, 1.0), (unit, 1.0), (unit, 1.0 - ROUNDING)):
        limits = (second * speed, second * second * acceleration, share * second * second * second * jerk)
        try:
            return _fastest(*limits, braking, second)
        except RuckigError:
            continue
    problem = f"no motion of {speed:g} 1/s, {acceleration:g} 1/s^2 and {jerk:g} 1/s^3 is found"
    raise InputError("fastest_share", "limits", problem, "give limits that are less far apart")


def _fastest(speed: float, acceleration: float, jerk: float, braking: float, second: float) -> Profile:
    """``fastest_share`` of limits in another unit of time, of so many seconds."""
    from ruckig import InputParameter, Ruckig, Trajectory

    asked, found = InputParameter(1), Trajectory(1)
    asked.current_position, asked.target_position = [0.0], [1.0]
    asked.min_acceleration = [-braking * acceleration]
    asked.max_velocity, asked.max_acceleration, asked.max_jerk = [speed], [acceleration], [jerk]
    Ruckig(1).calculate(asked, found)
    ((phases,),) = found.profiles
    begin = np.concatenate([[0.0], np.cumsum(phases.t)[:-1]])
    # Beyond the last phase there are the values at the end.
    course = (np.array(values)[: len(begin)] for values in (phases.p, phases.v, phases.a, phases.j))
    rates = (values / second**order for order, values in enumerate(course))
    return Profile(second * float(found.duration), second * begin, *rates)


def _power_of_two(number: float) -> float:
    """The one next to a number: products with it are exact."""
    return 2.0 ** round(math.log2(number))
