"""Timing statistics: distributions of durations in constant memory, and reports of a runner's pace."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.shared_memory.layout import (
    BIN_WIDTH,
    NUM_BINS,
    SHORTEST,
    Histogram,
    HistogramWords,
    Status,
)

_PER_UNIT = 1.0 / math.log1p(BIN_WIDTH)
_SUM, _SQUARES, _MAX = map(int, (HistogramWords.SUM, HistogramWords.SQUARES, HistogramWords.MAX))
_COUNT, _BINS = int(HistogramWords.COUNT), int(HistogramWords.BINS)
_BILLION = 1_000_000_000


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

    One thread adds at a time; any thread may read.

    Args:
        words: ``HistogramWords`` and bins, where the compiled loop adds as well; its own by default.
    """

    def __init__(self, words: NDArray[np.int64] | None = None) -> None:
        self._words = np.zeros(_BINS + NUM_BINS, dtype=np.int64) if words is None else words
        # Views of memory, because their items are read and written faster than an array's.
        self._bins: memoryview[int] = memoryview(self._words.data)[_BINS:]  # type: ignore[arg-type]
        self._reals: memoryview[float] = memoryview(self._words.view(np.float64).data).cast("B").cast("d")

    def add(self, duration: float) -> None:
        """Count a duration, s; one below the shortest counts as zero."""
        index, reals = 0, self._reals
        if duration > SHORTEST:
            index = min(1 + int(math.log(duration / SHORTEST) * _PER_UNIT), NUM_BINS - 1)
        self._bins[index] += 1
        self._words[_COUNT] += 1
        reals[_SUM] += duration
        reals[_SQUARES] += duration * duration
        if duration > reals[_MAX]:
            reals[_MAX] = duration

    def copy(self) -> Durations:
        """Copy of the counts so far; from any thread."""
        return Durations(self._words.copy())

    def since(self, earlier: Durations) -> Durations:
        """Counts since ``earlier`` was copied; the maximum is that of all counts."""
        later = self.copy()
        later._words[_BINS:] -= earlier._words[_BINS:]
        later._words[_COUNT] -= earlier._words[_COUNT]
        for which in (_SUM, _SQUARES):
            later._reals[which] -= earlier._reals[which]
        return later

    def histogram(self) -> list[tuple[float, int]]:
        """(Middle of the bin in s, count) of every bin that is not empty, shortest first."""
        bins = self._words[_BINS:].copy()
        return [(self._middle(i), int(bins[i])) for i in np.flatnonzero(bins).tolist()]

    def distribution(self) -> Distribution:
        """Mean, spread and percentiles so far."""
        histogram = self.histogram()
        count = sum(number for _, number in histogram)
        if not count:
            return Distribution()
        mean, longest = self._reals[_SUM] / count, self._reals[_MAX]
        p50, p99, p999 = (_percentile(histogram, count, share) for share in (0.5, 0.99, 0.999))
        return Distribution(
            count=count,
            mean=mean,
            std=math.sqrt(max(0.0, self._reals[_SQUARES] / count - mean * mean)),
            p50=min(p50, longest),
            p99=min(p99, longest),
            p999=min(p999, longest),
            max=longest,
        )

    @staticmethod
    def _middle(index: int) -> float:
        return SHORTEST * math.exp((index - 0.5) / _PER_UNIT) if index else 0.0


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


class PaceRecorder:
    """Records the timing of a runner's steps where the compiled loop records it, too; times are those of ``clock``, s.

    Where the wall time is updated or reported, the clock is read under the lock. With a time read earlier, the wall
    time of a report could decrease if a pause begins or ends in between.

    Attributes:
        began: When the last step began, s; None without one, or if the runner has stood still since.

    Args:
        time_step: Simulated time of a step, s.
        clock: The clock.
        status: Words of ``Status`` where counts are kept; its own by default.
        histograms: Words of the histograms, one a row; its own by default.
    """

    def __init__(
        self,
        time_step: float,
        clock: Callable[[], float] = time.monotonic,
        status: NDArray[np.int64] | None = None,
        histograms: NDArray[np.int64] | None = None,
    ) -> None:
        self.clock = clock
        self._lock = Lock()
        self._wall = 0.0
        self._resumed_at: float | None = None
        self._time_step = time_step
        #: What steps, and dropped periods, of other lengths add to their number times the present one, s.
        self._simulated_more = self._given_up_more = 0.0
        self.began: float | None = None
        self._keep_in(
            np.zeros(Status.END, dtype=np.int64) if status is None else status,
            np.zeros((Histogram.END, _BINS + NUM_BINS), dtype=np.int64) if histograms is None else histograms,
        )

    def move_to(self, status: NDArray[np.int64], histograms: NDArray[np.int64], time_step: float) -> None:
        """Go on in other words, with what is counted so far; called in the stepping thread.

        Args:
            status: As for the constructor.
            histograms: As for the constructor.
            time_step: Simulated time of a step from now on, s.
        """
        with self._lock:
            self._tell_wall_time()
            shorter = self._time_step - time_step
            self._simulated_more += int(self._status[Status.STEPS]) * shorter
            self._given_up_more += int(self._status[Status.SKIPPED]) * shorter
            self._time_step = time_step
            for count in _COUNTS:
                status[count] = self._status[count]
            histograms[:] = self._histograms
            self._keep_in(status, histograms)

    def _keep_in(self, status: NDArray[np.int64], histograms: NDArray[np.int64]) -> None:
        self._status, self._histograms = status, histograms
        self.step_time = Durations(histograms[Histogram.STEP_TIME])
        self.period = Durations(histograms[Histogram.PERIOD])
        self.jitter = Durations(histograms[Histogram.JITTER])
        self.lateness = Durations(histograms[Histogram.LATENESS])
        self.latency = Durations(histograms[Histogram.LATENCY])

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(self._status[Status.STEPS])

    @property
    def overruns(self) -> int:
        """Steps that ended after the next deadline."""
        return int(self._status[Status.OVERRUNS])

    def run_on(self) -> None:
        """Let the wall time run, for example at the end of a pause."""
        if self._resumed_at is None:
            with self._lock:
                self._resumed_at = self.clock()

    def stand_still(self) -> None:
        """Stop the wall time during a pause; the time until the next step is not a period."""
        self.began = None
        self._status[Status.OVERRUNS_IN_A_ROW] = 0
        with self._lock:
            self._wall += self._since_resumed()
            self._resumed_at = None
            self._tell_wall_time()

    def tell_wall_time(self) -> None:
        """Tell clients the wall time so far; from any thread."""
        with self._lock:
            self._tell_wall_time()

    def _tell_wall_time(self) -> None:
        self._status[Status.WALL_NS] = int(_BILLION * (self._wall + self._since_resumed()))

    def step_taken(self, began: float, ended: float, nominal: float | None) -> None:
        """Record a step; ``nominal`` is the nominal period, None without one."""
        self._status[Status.STEPS] += 1
        self.step_time.add(ended - began)
        if self.began is not None:
            period = began - self.began
            self.period.add(period)
            if nominal is not None:
                self.jitter.add(abs(period - nominal))
        self.began = began

    def on_time(self) -> None:
        """Record that the step ended before its deadline."""
        self._status[Status.OVERRUNS_IN_A_ROW] = 0

    def overran(self, late: float) -> None:
        """Record that the step ended ``late`` s after its deadline."""
        status = self._status
        status[Status.OVERRUNS] += 1
        status[Status.OVERRUNS_IN_A_ROW] += 1
        status[Status.LONGEST_OVERRUN] = max(status[Status.LONGEST_OVERRUN], status[Status.OVERRUNS_IN_A_ROW])
        status[Status.LATEST_NS] = max(int(status[Status.LATEST_NS]), round(_BILLION * late))

    def gave_up(self, periods: int) -> None:
        """Record that so many periods were dropped."""
        self._status[Status.SKIPPED] += periods
        self._status[Status.TIMES_SKIPPED] += 1

    def _since_resumed(self) -> float:
        return 0.0 if self._resumed_at is None else self.clock() - self._resumed_at

    def report(self) -> RunnerReport:
        """Make a report of everything so far; from any thread."""
        with self._lock:
            wall = self._wall + self._since_resumed()
            status = {count: int(self._status[count]) for count in _COUNTS}
            simulated = self._simulated_more + status[Status.STEPS] * self._time_step
            given_up = self._given_up_more + status[Status.SKIPPED] * self._time_step
        return RunnerReport(
            simulated_time=simulated,
            wall_time=wall,
            real_time_factor=simulated / wall if wall > 0.0 else 0.0,
            steps=status[Status.STEPS],
            overruns=status[Status.OVERRUNS],
            longest_overrun=status[Status.LONGEST_OVERRUN],
            skipped_steps=status[Status.SKIPPED],
            late_max=status[Status.LATEST_NS] / _BILLION,
            step_time=self.step_time.distribution(),
            period=self.period.distribution(),
            jitter=self.jitter.distribution(),
            times_given_up=status[Status.TIMES_SKIPPED],
            given_up=given_up,
        )


_COUNTS = (
    Status.STEPS,
    Status.OVERRUNS,
    Status.OVERRUNS_IN_A_ROW,
    Status.LONGEST_OVERRUN,
    Status.SKIPPED,
    Status.TIMES_SKIPPED,
    Status.LATEST_NS,
    Status.WALL_NS,
)
