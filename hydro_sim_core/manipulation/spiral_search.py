"""Search along a spiral, for a hole that is not quite where it should be."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError

Array = NDArray[np.float64]


class SpiralSearch:
    """An Archimedean spiral that is followed at a constant speed.

    Args:
        pitch: Distance between its turns, m: less than what catches from both sides, such as a chamfer.
        speed: m/s.

    Raises:
        InputError: One is no number above 0.
    """

    def __init__(self, pitch: float, speed: float) -> None:
        for name, value in (("pitch", pitch), ("speed", speed)):
            if not 0.0 < value < math.inf:
                raise InputError("SpiralSearch", name, f"is {value:g}", "give a number above 0")
        self._rise, self._speed, self._angle = pitch / (2.0 * math.pi), speed, 0.0

    @property
    def radius(self) -> float:
        """Distance from where it began, m."""
        return self._rise * self._angle

    def velocity(self, duration: float) -> Array:
        """(2,) mean velocity over the coming time (s), m/s.

        Raises:
            InputError: The time is no number above 0.
        """
        if not 0.0 < duration < math.inf:
            raise InputError("SpiralSearch", "duration", f"is {duration:g}", "give a number above 0, s")
        before = self._place()
        self._angle += self._speed * duration / (self._rise * math.hypot(1.0, self._angle))
        return (self._place() - before) / duration

    def _place(self) -> Array:
        return self.radius * np.array([math.cos(self._angle), math.sin(self._angle)])
