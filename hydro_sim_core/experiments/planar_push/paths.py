"""Paths of the finger through via points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Path:
    """A path through via points at equal times, at rest at both ends: a natural cubic spline but for these ends.

    Attributes:
        points: (K, 2) where it starts and the via points, m.
        duration: s, of which the finger rests at the last point for the last ``rest``.
        rest: s.
    """

    points: Array
    duration: float
    rest: float

    def targets(self, time_step: float) -> Array:
        """Targets (N, 2) of the steps, m: where the path is at the end of each."""
        steps = round(self.duration / time_step)
        moving = self.duration - self.rest
        share = np.minimum(time_step * np.arange(1, steps + 1) / moving, 1.0)
        return spline_weights(len(self.points), share) @ self.points


def spline_weights(count: int, share: Array) -> Array:
    """Weights (N, K) of K points in a clamped cubic spline at shares (N,) of its length."""
    # Slopes m of a spline: m_{i-1} + 4 m_i + m_{i+1} = 3 (p_{i+1} - p_{i-1}), and 0 at the ends.
    inner = count - 2
    rows = 4.0 * np.eye(inner) + np.eye(inner, k=1) + np.eye(inner, k=-1)
    slopes = np.zeros((count, count))
    slopes[1:-1] = np.linalg.solve(rows, 3.0 * (np.eye(count)[2:] - np.eye(count)[:-2]))
    at = share * (count - 1)
    left = np.minimum(at.astype(int), count - 2)
    t = (at - left)[:, None]
    ends = np.eye(count)
    return np.asarray(
        (1 + 2 * t) * (1 - t) ** 2 * ends[left]
        + t * t * (3 - 2 * t) * ends[left + 1]
        + t * (1 - t) ** 2 * slopes[left]
        - t * t * (1 - t) * slopes[left + 1]
    )
