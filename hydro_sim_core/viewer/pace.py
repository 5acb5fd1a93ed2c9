"""Measurement of how well a runner keeps its rate."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.simulation.running.timing import Durations
from hydro_sim_core.viewer.frame import Pace

#: Wall-clock time that a reading covers, and time between two readings, s.
_WINDOW = 2.0
_PERIOD = 0.5


@dataclass(frozen=True, eq=False)
class _Reading:
    at: float
    steps: int
    jitter: Durations
    step_time: Durations


class PaceMeter:
    """Measures a runner's pace twice a second; for one thread.

    Args:
        runner: The runner.
    """

    def __init__(self, runner: FixedRateRunner) -> None:
        self._runner = runner
        self._readings: deque[_Reading] = deque(maxlen=1 + round(_WINDOW / _PERIOD))
        self._pace: Pace | None = None

    def now(self) -> Pace | None:
        """Pace over the last seconds; None before it is known and while paused."""
        if self._runner.paused:
            self._readings.clear()
            self._pace = None
            return None
        at = time.monotonic()
        if not self._readings or at - self._readings[-1].at >= _PERIOD:
            self._read(at)
        return self._pace

    def _read(self, at: float) -> None:
        recorded = self._runner.pace
        reading = _Reading(at, recorded.steps, recorded.jitter.copy(), recorded.step_time.copy())
        if self._readings and at - self._readings[-1].at > _WINDOW:
            self._readings.clear()  # readings are too old: no page was connected
        self._readings.append(reading)
        first = self._readings[0]
        if first is reading:
            return
        simulated = (reading.steps - first.steps) * self._runner.world.time_step
        self._pace = Pace(
            rtf=simulated / (at - first.at),
            jitter_p99=reading.jitter.since(first.jitter).distribution().p99,
            step_p99=reading.step_time.since(first.step_time).distribution().p99,
            late_steps=recorded.overruns,
        )
