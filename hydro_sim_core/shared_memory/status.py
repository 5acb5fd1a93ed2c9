"""What the loop of a simulation tells of itself: how it keeps its rate, and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hydro_sim_core.shared_memory.layout import (
    BIN_WIDTH,
    NUM_BINS,
    SHORTEST,
    Header,
    Histogram,
    HistogramWords,
    Life,
    Scheduling,
    Status,
)
from hydro_sim_core.shared_memory.memory import Memory

_FAILURE_WORDS = 32


@dataclass(frozen=True)
class Durations:
    """A histogram of durations.

    Attributes:
        sum: Of all durations, s.
        squares: Sum of their squares, s^2.
        max: The longest, s; since the start, also in a difference.
        bins: How many fell into each bin, (NUM_BINS,).
    """

    sum: float
    squares: float
    max: float
    bins: np.ndarray[Any, Any]

    def since(self, earlier: Durations) -> Durations:
        """What has been added since ``earlier`` was read."""
        return Durations(
            self.sum - earlier.sum, self.squares - earlier.squares, self.max, self.bins - earlier.bins
        )

    def histogram(self) -> list[tuple[float, int]]:
        """(Middle of the bin in s, count) of every bin that is not empty, shortest first."""
        return [(_middle(int(i)), int(self.bins[i])) for i in np.flatnonzero(self.bins)]


@dataclass(frozen=True)
class LoopStatus:
    """Status of the loop; counts are since its start.

    Attributes:
        life: What it does.
        steps: Steps taken, in all epochs.
        wall_time: Wall-clock time spent running, s.
        overruns: Steps that ended after the next one was due.
        longest_overrun: Most of them in a row.
        skipped: Periods dropped.
        times_skipped: How often.
        latest: Largest lateness of a step's end, s.
        failures: Failed steps.
        failure: Why the last one failed.
        waits_for: Channel whose permit is awaited, -1 if none.
        torn: Command sets that could not be read whole.
        scheduling: Privileges that it has obtained.
        priority: That of SCHED_FIFO, 0 without.
        cpu: That it is pinned to, -1 if to none or several.
    """

    life: Life
    steps: int
    wall_time: float
    overruns: int
    longest_overrun: int
    skipped: int
    times_skipped: int
    latest: float
    failures: int
    failure: str
    waits_for: int
    torn: int
    scheduling: Scheduling
    priority: int
    cpu: int


def read_status(memory: Memory) -> LoopStatus:
    """Read the status from a segment."""
    at = memory.words[Header.AT_STATUS]

    def word(which: Status) -> int:
        return memory.words[at + which]

    return LoopStatus(
        life=Life(word(Status.LIFE)),
        steps=word(Status.STEPS),
        wall_time=1e-9 * word(Status.WALL_NS),
        overruns=word(Status.OVERRUNS),
        longest_overrun=word(Status.LONGEST_OVERRUN),
        skipped=word(Status.SKIPPED),
        times_skipped=word(Status.TIMES_SKIPPED),
        latest=1e-9 * word(Status.LATEST_NS),
        failures=word(Status.FAILURES),
        failure=memory.text(at + Status.FAILURE_TEXT, _FAILURE_WORDS),
        waits_for=word(Status.WAITS_FOR),
        torn=word(Status.TORN),
        scheduling=Scheduling(word(Status.SCHEDULING)),
        priority=word(Status.PRIORITY),
        cpu=word(Status.CPU),
    )


def read_histogram(memory: Memory, which: Histogram) -> Durations:
    """Read a histogram from a segment; the loop goes on counting while it is read."""
    words = memory.words
    at = words[Header.AT_HISTOGRAMS] + which * words[Header.HISTOGRAM_WORDS]
    begin = at + HistogramWords.BINS
    return Durations(
        sum=memory.reals[at + HistogramWords.SUM],
        squares=memory.reals[at + HistogramWords.SQUARES],
        max=memory.reals[at + HistogramWords.MAX],
        bins=memory.integer_array[begin : begin + NUM_BINS].copy(),
    )


def _middle(index: int) -> float:
    return SHORTEST * (1.0 + BIN_WIDTH) ** (index - 0.5) if index else 0.0
