"""How well a rate is kept: distributions of durations in constant memory, and what a runner reports of its pace."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

#: Shortest and longest duration told apart, s, and the width of a bin as a share of its duration.
_SHORTEST = 1e-7
_LONGEST = 1e3
_BIN_WIDTH = 0.01
_PER_UNIT = 1.0 / math.log1p(_BIN_WIDTH)
_NUM_BINS = 2 + int(math.log(_LONGEST / _SHORTEST) * _PER_UNIT)


@dataclass(frozen=True)
class Distribution:
    """Durations in s; all zero without any. Percentiles are exact within half a per cent.

    Attributes:
        count: How many.
        mean: Arithmetic mean.
        std: Standard deviation.
        p50: Median.
        p99: 99th percentile.
        p999: 99.9th percentile.
        max: Longest.
    """

    count: int = 0
    mean: float = 0.0
    std: float = 0.0
    p50: float = 0.0
    p99: float = 0.0
    p999: float = 0.0
    max: float = 0.0

    def in_milliseconds(self) -> dict[str, float]:
        """Its figures by the names that people are shown."""
        shown = {"mean": "mean", "std": "std", "p50": "p50", "p99": "p99", "p999": "p99.9", "max": "max"}
        return {label: 1e3 * getattr(self, name) for name, label in shown.items()}

    def __str__(self) -> str:
        if not self.count:
            return "none"
        return ", ".join(f"{label} {value:.3f}" for label, value in self.in_milliseconds().items()) + " ms"


class Durations:
    """Counts durations in bins whose width is one per cent of the duration, however many there are.

    One thread adds; any thread may read.
    """

    def __init__(self) -> None:
        self._bins = [0] * _NUM_BINS  # a list: its items are incremented faster than those of an array
        self._sum = self._squares = self._max = 0.0

    def add(self, duration: float) -> None:
        """Count a duration, s; below the shortest it counts as zero."""
        index = 0
        if duration > _SHORTEST:
            index = min(1 + int(math.log(duration / _SHORTEST) * _PER_UNIT), _NUM_BINS - 1)
        self._bins[index] += 1
        self._sum += duration
        self._squares += duration * duration
        if duration > self._max:
            self._max = duration

    def copy(self) -> Durations:
        """What was counted so far; from any thread."""
        taken = Durations()
        taken._bins = self._bins.copy()
        taken._sum, taken._squares, taken._max = self._sum, self._squares, self._max
        return taken

    def since(self, earlier: Durations) -> Durations:
        """What was counted after ``earlier`` was copied; its maximum is that of all."""
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
    """Smallest duration that at least this share of all does not exceed."""
    below = 0
    for middle, number in histogram:
        below += number
        if below >= share * count:
            return middle
    return histogram[-1][0]


@dataclass(frozen=True)
class RunnerReport:
    """How well the rate was kept.

    Attributes:
        simulated_time: s.
        wall_time: Time spent running (not paused), s.
        real_time_factor: Simulated over wall time.
        steps: Steps taken.
        overruns: Deadline misses: steps that ended after the next one should have begun.
        longest_overrun: Most overruns in a row.
        skipped_steps: Periods given up because the runner was too late.
        late_max: Largest lateness of a step's end, s.
        step_time: From the start to the end of a step.
        period: From the start of a step to that of the next.
        jitter: Distance of the period from the nominal one; empty where there is none.
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

    @property
    def achieved_rate(self) -> float:
        """Steps a second of wall time."""
        return self.steps / self.wall_time if self.wall_time > 0.0 else 0.0


#: Ways for a command to get lost: fields of ``CommandReport``.
LOSSES = ("lost", "stale", "out_of_order", "duplicate", "timeouts")


@dataclass(frozen=True)
class CommandReport:
    """What became of the commands on one interface.

    Attributes:
        received: Messages that passed the check of their contents.
        applied: Commands that reached the world.
        lost: Lost by the faults that were asked for.
        stale: Dropped because they were too old, or answered an earlier state in lock-step.
        out_of_order: Dropped because a newer one had come before.
        duplicate: Dropped because they came twice.
        timeouts: How often the interface fell silent while it was in command.
        age: From the stamp of a command to the step that obeys it, s of the stamp's clock.
        latency: From receiving a command to the step that obeys it, s of wall time.
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
    """What a runner notes of its steps, in the stepping thread; times are those of ``clock``, s.

    Where the wall time changes or is told, the clock is read under the lock. A time that was read before would be that
    of another moment: the wall time of a report goes back if a pause begins, or ends, between the two.
    """

    clock: Callable[[], float] = time.monotonic
    steps: int = 0
    overruns: int = 0
    longest_overrun: int = 0
    skipped_steps: int = 0
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
        """The clock runs: it did already, or a pause is over."""
        if self._resumed_at is None:
            with self._lock:
                self._resumed_at = self.clock()

    def stand_still(self) -> None:
        """A pause begins, or goes on; the time until the next step is nobody's period."""
        self._began = None
        self._overruns_in_a_row = 0
        with self._lock:
            self._wall += self._since_resumed()
            self._resumed_at = None

    def step_taken(self, began: float, ended: float, nominal: float | None) -> None:
        """A step was taken; ``nominal`` is the period wanted, None where there is none."""
        self.steps += 1
        self.step_time.add(ended - began)
        if self._began is not None:
            period = began - self._began
            self.period.add(period)
            if nominal is not None:
                self.jitter.add(abs(period - nominal))
        self._began = began

    def on_time(self) -> None:
        """The step ended before its deadline."""
        self._overruns_in_a_row = 0

    def overran(self, late: float) -> None:
        """The step ended ``late`` s after its deadline."""
        self.overruns += 1
        self._overruns_in_a_row += 1
        self.longest_overrun = max(self.longest_overrun, self._overruns_in_a_row)
        self.late_max = max(self.late_max, late)

    def _since_resumed(self) -> float:
        return 0.0 if self._resumed_at is None else self.clock() - self._resumed_at

    def report(self, time_step: float) -> RunnerReport:
        """Everything so far, from any thread."""
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
        )
