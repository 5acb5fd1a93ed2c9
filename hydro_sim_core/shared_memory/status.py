"""What the loop of a simulation tells of itself: how it keeps its rate, and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hydro_sim_core.shared_memory.layout import (
    NUM_BINS,
    Header,
    Histogram,
    HistogramWords,
    Life,
    Scheduling,
    Status,
)
from hydro_sim_core.shared_memory.memory import Memory

Array = np.ndarray[Any, Any]

_FAILURE_WORDS = 32


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


def read_histogram(memory: Memory, which: Histogram) -> Array:
    """Words of a histogram: ``HistogramWords``, then the bins; the loop goes on counting while they are copied."""
    words = memory.words
    at = words[Header.AT_HISTOGRAMS] + which * words[Header.HISTOGRAM_WORDS]
    return memory.integer_array[at : at + HistogramWords.BINS + NUM_BINS].copy()
