"""Motion along a trajectory, sampled in simulated time by the stepping thread.

Between two knots it is the polynomial of lowest degree with the given values at both ends, as in ros2_control's
joint_trajectory_controller: linear for positions, cubic with velocities, quintic with accelerations too. Such a
polynomial may overshoot its ends, so every segment is checked against the limits before it is followed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from hydro_sim.controllers.trajectory import Knot, Trajectory
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.realtime.plan import MOST_PIECES, PIECES, Plan

Array = NDArray[np.float64]
#: Lowest and highest position of every joint that takes position commands, rad or m.
PositionLimits = Mapping[str, tuple[float, float]]
_SOURCE = "trajectory"
#: Tolerance of limits for rounding, for a segment that ends on a limit, rad or m.
_ROUNDING = 1e-9
#: Share of the largest term of a polynomial on the unit interval below which terms count as rounding.
_NEGLIGIBLE = 1e-14


def position_limits(world: World) -> PositionLimits:
    """Limits of the commandable joints of a World."""
    tree, names = world.built.assembly.tree, world.built.assembly.velocity_names
    rows = {name: names.index(name) for name in world.actuated_joint_names}
    return {name: (float(tree.q_lower[i]), float(tree.q_upper[i])) for name, i in rows.items()}


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


def checked_segment(
    joints: Sequence[str], start: Knot, end: Knot, limits: PositionLimits, where: str
) -> Array:
    """``segment_coefficients``, checked to stay within the limits over the whole segment.

    Args:
        joints: Names, in the order of the knots' columns.
        start: Start knot.
        end: End knot.
        limits: Limits of these joints.
        where: Name of the segment in an error.

    Raises:
        InputError: A joint leaves its limits on the way, or the polynomial is not finite.
    """
    # Overflows are refused below.
    with np.errstate(all="ignore"):
        coefficients = segment_coefficients(start, end)
        for joint, column in zip(joints, coefficients.T, strict=True):
            lowest, highest = _extremes(column, end.time - start.time)
            _check_range(f"joint '{joint}' {where}", lowest, highest, limits[joint])
    return coefficients


def _extremes(coefficients: Array, duration: float) -> tuple[float, float]:
    """Smallest and largest value of a polynomial from time 0 to ``duration``; NaN where it overflows."""
    # On the unit interval a coefficient is its term's contribution, so small terms can be recognised.
    scaled = coefficients * duration ** np.arange(len(coefficients))
    size = np.abs(scaled).max()
    if not np.isfinite(size):
        return math.nan, math.nan
    shape = Polynomial(scaled / (size or 1.0)).trim(_NEGLIGIBLE)
    # A double root may be computed as a complex pair; evaluating at the real parts of all roots is safe.
    turning = np.clip(shape.deriv().roots().real, 0.0, 1.0)
    values = Polynomial(scaled)(np.concatenate([[0.0, 1.0], turning]))
    return float(values.min()), float(values.max())


def _check_range(element: str, lowest: float, highest: float, limits: tuple[float, float]) -> None:
    mend = "lower the velocities or accelerations of its ends, or give more points"
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        raise InputError(_SOURCE, element, "overflows between its points", mend)
    lower, upper = limits
    if lowest < lower - _ROUNDING or highest > upper + _ROUNDING:
        furthest = highest if highest > upper + _ROUNDING else lowest
        problem = f"swings out to {furthest:g}, outside its limits {lower:g} to {upper:g}"
        raise InputError(_SOURCE, element, problem, mend)


def check_between_knots(trajectory: Trajectory, limits: PositionLimits) -> None:
    """Check the parts of a trajectory that do not depend on the state at its start.

    Raises:
        InputError: Between two of its knots a joint leaves its limits, or the polynomial is not finite.
    """
    for i, (start, end) in enumerate(pairwise(trajectory.knots)):
        where = f"between points[{i}] and points[{i + 1}]"
        checked_segment(trajectory.joints, start, end, limits, where)


class Motion:
    """A running trajectory from a given state through its knots, then at rest in the last one.

    Args:
        trajectory: Trajectory, checked between its knots.
        start_time: Simulated time of the trajectory's time zero, s.
        now: Simulated time, s; knots before it are skipped.
        state: Present state of the joints.
        limits: Limits of its joints.

    Raises:
        InputError: On the way from ``state`` to the first knot a joint leaves its limits.
    """

    def __init__(
        self, trajectory: Trajectory, start_time: float, now: float, state: Knot, limits: PositionLimits
    ) -> None:
        self.joints = trajectory.joints
        self._zero = start_time
        self._lower, self._upper = np.array([limits[name] for name in self.joints]).T
        # A joint at its limit may be pressed slightly beyond it.
        positions = np.clip(state.positions, self._lower, self._upper)
        first = Knot(now - start_time, positions, state.velocities, state.accelerations)
        knots = [first, *(knot for knot in trajectory.knots if knot.time > first.time)]
        if len(knots) == 1:
            knots = [trajectory.knots[-1]]
        self._times = [knot.time for knot in knots]
        self._pieces = [segment_coefficients(a, b) for a, b in pairwise(knots[1:])]
        if len(knots) > 1:
            where = "on the way to its first point"
            self._pieces.insert(0, checked_segment(self.joints, first, knots[1], limits, where))
        self._goal = knots[-1].positions
        self._piece = 0

    @property
    def end_time(self) -> float:
        """Simulated time at which the last knot is reached, s."""
        return self._zero + self._times[-1]

    def hand_over(self, plan: Plan, rows: Sequence[int], columns: Sequence[int]) -> float:
        """Have the compiled loop follow the coming pieces; return the simulated time until which it can, s.

        Args:
            plan: The plan.
            rows: Rows of the joints in it.
            columns: Columns of the joints in this motion.
        """
        if self._piece >= len(self._pieces):
            return self._zero + self._times[-1]
        pieces = self._pieces[self._piece : self._piece + MOST_PIECES]
        knots = self._times[self._piece : self._piece + MOST_PIECES + 1]
        plan.kind[rows], plan.zero[rows], plan.piece[rows] = PIECES, self._zero, 0
        plan.knots[rows, : len(knots)] = knots
        plan.pieces[rows, : len(pieces)] = np.array(pieces).transpose(2, 0, 1)[columns]
        return self._zero + knots[-1]

    def sample(self, time: float) -> tuple[Knot, bool]:
        """Desired state at simulated ``time`` (s), which must not decrease, and whether the end is reached."""
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
        # They are inside up to rounding, which the World's check does not tolerate.
        positions = np.clip(positions, self._lower, self._upper)
        return Knot(since, positions, velocities, accelerations), False
