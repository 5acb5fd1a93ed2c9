"""Search along a spiral, for a hole that is not quite where it should be."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.manipulation.checks import LARGEST, number_within

Array = NDArray[np.float64]

#: Least distance between turns, m: what a machine places is far coarser.
LEAST_PITCH = 1e-9
#: How well the way along the spiral is kept, as a share of it, and the most steps that this takes.
_CLOSE, _MOST_STEPS = 1e-12, 50


class SpiralSearch:
    """An Archimedean spiral that is followed at a constant speed.

    Args:
        pitch: Distance between its turns, m, at least 1e-9: less than what catches from both sides, such as a chamfer.
        speed: Along the spiral, m/s; what ``velocity`` gives is never above it.

    Raises:
        InputError: The pitch is no number of at least 1e-9, or the speed none above 0.
    """

    def __init__(self, pitch: float, speed: float) -> None:
        mend = f"give a number of at least {LEAST_PITCH:g}"
        pitch = number_within("SpiralSearch", "pitch", pitch, LEAST_PITCH, LARGEST, mend)
        self._speed = _above_0("speed", speed)
        self._rise, self._angle = pitch / (2.0 * math.pi), 0.0
        self._way = 0.0  # from where it began, over the rise

    @property
    def radius(self) -> float:
        """Distance from where it began, m."""
        return self._rise * self._angle

    def velocity(self, duration: float) -> Array:
        """(2,) mean velocity over the coming time (s), m/s.

        Raises:
            InputError: The time is no number above 0.
        """
        duration, before = _above_0("duration", duration), self._place()
        self._way += self._speed * duration / self._rise
        self._angle = _angle_after(self._way, self._angle)
        return (self._place() - before) / duration

    def _place(self) -> Array:
        return self.radius * np.array([math.cos(self._angle), math.sin(self._angle)])


def _angle_after(way: float, angle: float) -> float:
    """Angle (rad) to which a spiral that rises by 1 a radian is this long, from a smaller one, by Newton's method."""
    for _ in range(_MOST_STEPS):
        off = way - 0.5 * (angle * math.hypot(1.0, angle) + math.asinh(angle))
        if abs(off) <= _CLOSE * way:
            break
        angle += off / math.hypot(1.0, angle)
    return angle


def _above_0(name: str, value: float) -> float:
    return number_within("SpiralSearch", name, value, 0.0, LARGEST, "give a number above 0", above=True)
