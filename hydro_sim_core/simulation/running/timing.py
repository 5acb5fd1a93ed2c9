"""Timing statistics: distributions of durations in constant memory, and reports of a runner's pace."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

#: Shortest and longest duration of the bins, s, and the width of a bin as a share of its duration.
_SHORTEST = 1e-7
_LONGEST = 1e3
_BIN_WIDTH = 0.01
_PER_UNIT = 1.0 / math.log1p(_BIN_WIDTH)
_NUM_BINS = 2 + int(math.log(_LONGEST / _SHORTEST) * _PER_UNIT)


@dataclass(frozen=True)
class Distribution:
    """Statistics of durations, s; all zero without samples. Percentiles are exact within half a per cent.

    Attributes:
        count: Number of durations.
        mean: Arithmetic mean.
        std: Standard deviation.
        p50: Median.
        p99: 99th percentile.
        p999: 99.9th percentile.
        max: Maximum.
    """

    count: int = 0
    mean: float = 0.0
    std: float = 0.0
    p50: float = 0.0
    p99: float = 0.0
    p999: float = 0.0
    max: float = 0.0

    def in_milliseconds(self) -> dict[str, float]:
        """Its values in ms by the names shown to users."""
        shown = {"mean": "mean", "std": "std", "p50": "p50", "p99": "p99", "p999": "p99.9", "max": "max"}
        return {label: 1e3 * getattr(self, name) for name, label in shown.items()}

    def __str__(self) -> str:
        if not self.count:
            return "none"
        return ", ".join(f"{label} {value:.3f}" for label, value in self.in_milliseconds().items()) + " ms"


class Durations:
    """Histogram of durations in bins whose width is one per cent of the duration, in constant memory.

    One thread adds; any thread may read.
    """

    def __init__(self) -> None:
        self._bins = [0] * _NUM_BINS  # a list, because its items are incremented faster than an array's
        self._sum = self._squares = self._max = 0.0

    def add(self, duration: float) -> None:
        """Count a duration, s; one below the shortest counts as zero."""
        index = 0
        if duration > _SHORTEST:
            index = min(1 + int(math.log(duration / _SHORTEST) * _PER_UNIT), _NUM_BINS - 1)
        self._bins[index] += 1
        self._sum += duration
        self._squares += duration * duration
        if duration > self._max:
            self._max = duration

    def copy(self) -> Durations:
        """Copy of the counts so far; from any thread."""
        taken = Durations()
        taken._bins = self._bins.copy()
        taken._sum, taken._squares, taken._max = self._sum, self._squares, self._max
        return taken

    def since(self, earlier: Durations) -> Durations:
        """Counts since ``earlier`` was copied; the maximum is that of all counts."""
        later = self.copy()
        later._bins = [now - before for now, before in zip(later._bins, earlier._bins, strict=True)]
        later._sum -= earlier._sum
        later._squares -= earlier._squares
        return later

    def histogram(self) -> list[tuple[float, int]]:
        """(Middle of the bin in s, count) of every bin that is not empty, shortest first."""
        return [(self._middle(i), count) for i, count in enumerate(self._bins.copy()) if count]

    def distribution(self) -> Distribution:
        """Mean, spread and percentiles so far."""
        histogram = self.histogram()
        count = sum(number for _, number in histogram)
        if not count:
            return Distribution()
        mean = self._sum / count
        p50, p99, p999 = (_percentile(histogram, count, share) for share in (0.5, 0.99, 0.999))
        return Distribution(
            count=count,
            mean=mean,
            std=math.sqrt(max(0.0, self._squares / count - mean * mean)),
            p50=min(p50, self._max),
            p99=min(p99, self._max),
            p999=min(p999, self._max),
            max=self._max,
        )

    @staticmethod
    def _middle(index: int) -> float:
        return _SHORTEST * math.exp((index - 0.5) / _PER_UNIT) if index else 0.0


def _percentile(histogram: list[tuple[float, int]], count: int, share: float) -> float:
    """Smallest duration not exceeded by at least this share of all."""
    below = 0
    for middle, number in histogram:
        below += number
        if below >= share * count:
            return middle
    return histogram[-1][0]


@dataclass(frozen=True)
class RunnerReport:
    """Statistics of a runner.

    Attributes:
        simulated_time: Simulated time, s.
        wall_time: Time spent running (not paused), s.
        real_time_factor: Simulated over wall time.
        steps: Steps taken.
        overruns: Missed deadlines: steps that ended after the next one should have begun.
        longest_overrun: Most overruns in a row.
        skipped_steps: Periods dropped because the runner was too late.
        late_max: Largest lateness of a step's end, s.
        step_time: Durations of steps.
        period: Times from the start of a step to the start of the next.
        jitter: Deviations of the period from the nominal one; empty without a nominal one.
        times_given_up: How often periods were dropped.
        given_up: Simulated time of the dropped periods, s.
    """

    simulated_time: float
    wall_time: float
    real_time_factor: float
    steps: int
    overruns: int
    longest_overrun: int
    skipped_steps: int
    late_max: float
    step_time: Distribution
    period: Distribution
    jitter: Distribution
    times_given_up: int = 0
    given_up: float = 0.0

    @property
    def achieved_rate(self) -> float:
        """Steps per second of wall time."""
        return self.steps / self.wall_time if self.wall_time > 0.0 else 0.0


#: Reasons for a lost command: fields of ``CommandReport``.
LOSSES = ("lost", "stale", "out_of_order", "duplicate", "timeouts")


@dataclass(frozen=True)
class CommandReport:
    """Statistics of the commands on one interface.

    Attributes:
        received: Messages that passed the check of their contents.
        applied: Commands that reached the world.
        lost: Lost by injected faults.
        stale: Dropped because they were too old, or belonged to an earlier state in lock-step.
        out_of_order: Dropped because a newer one had arrived before.
        duplicate: Dropped because they arrived twice.
        timeouts: Number of timeouts of the interface while it was in control.
        age: Time from the stamp of a command to the step that applies it, s of the stamp's clock.
        latency: Time from the receipt of a command to the step that applies it, s of wall time.
    """

    received: int
    applied: int
    lost: int
    stale: int
    out_of_order: int
    duplicate: int
    timeouts: int
    age: Distribution
    latency: Distribution

    def __str__(self) -> str:
        counts = {name.replace("_", " "): getattr(self, name) for name in LOSSES}
        lost = [f"{count} {name}" for name, count in counts.items() if count]
        return ", ".join([f"{self.applied} of {self.received} applied", *lost])


@dataclass(eq=False)
class PaceRecorder:
    """Records the timing of a runner's steps, in the stepping thread; times are those of ``clock``, s.

    Where the wall time is updated or reported, the clock is read under the lock. With a time read earlier, the wall
    time of a report could decrease if a pause begins or ends in between.
    """

    clock: Callable[[], float] = time.monotonic
    steps: int = 0
    overruns: int = 0
    longest_overrun: int = 0
    skipped_steps: int = 0
    times_given_up: int = 0
    late_max: float = 0.0
    step_time: Durations = field(default_factory=Durations)
    period: Durations = field(default_factory=Durations)
    jitter: Durations = field(default_factory=Durations)
    _overruns_in_a_row: int = 0
    _began: float | None = None
    _wall: float = 0.0
    _resumed_at: float | None = None
    _lock: Lock = field(default_factory=Lock)

    def run_on(self) -> None:
        """Let the wall time run, for example at the end of a pause."""
        if self._resumed_at is None:
            with self._lock:
                self._resumed_at = self.clock()

    def stand_still(self) -> None:
        """Stop the wall time during a pause; the time until the next step is not a period."""
        self._began = None
        self._overruns_in_a_row = 0
        with self._lock:
            self._wall += self._since_resumed()
            self._resumed_at = None

    def step_taken(self, began: float, ended: float, nominal: float | None) -> None:
        """Record a step; ``nominal`` is the nominal period, None without one."""
        self.steps += 1
        self.step_time.add(ended - began)
        if self._began is not None:
            period = began - self._began
            self.period.add(period)
            if nominal is not None:
                self.jitter.add(abs(period - nominal))
        self._began = began

    def on_time(self) -> None:
        """Record that the step ended before its deadline."""
        self._overruns_in_a_row = 0

    def overran(self, late: float) -> None:
        """Record that the step ended ``late`` s after its deadline."""
        self.overruns += 1
        self._overruns_in_a_row += 1
        self.longest_overrun = max(self.longest_overrun, self._overruns_in_a_row)
        self.late_max = max(self.late_max, late)

    def gave_up(self, periods: int) -> None:
        """Record that so many periods were dropped."""
        self.skipped_steps += periods
        self.times_given_up += 1

    def _since_resumed(self) -> float:
        return 0.0 if self._resumed_at is None else self.clock() - self._resumed_at

    def report(self, time_step: float) -> RunnerReport:
        """Make a report of everything so far; from any thread."""
        with self._lock:
            wall = self._wall + self._since_resumed()
        simulated = self.steps * time_step
        return RunnerReport(
            simulated_time=simulated,
            wall_time=wall,
            real_time_factor=simulated / wall if wall > 0.0 else 0.0,
            steps=self.steps,
            overruns=self.overruns,
            longest_overrun=self.longest_overrun,
            skipped_steps=self.skipped_steps,
            late_max=self.late_max,
            step_time=self.step_time.distribution(),
            period=self.period.distribution(),
            jitter=self.jitter.distribution(),
            times_given_up=self.times_given_up,
            given_up=self.skipped_steps * time_step,
        )
