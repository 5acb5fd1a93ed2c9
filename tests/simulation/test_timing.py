"""Distributions of durations, beside NumPy's on all of them; what a runner tells of its pace."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydro_sim_core.shared_memory.layout import NUM_BINS, Histogram, HistogramWords, Status
from hydro_sim_core.simulation.running.timing import Distribution, Durations, PaceRecorder

DURATIONS = st.lists(st.floats(1e-6, 100.0), min_size=1, max_size=300)


@given(DURATIONS)
def test_distribution_is_that_of_all_durations(durations):
    """Moments and maximum exactly, percentiles within the half per cent that a bin's middle may be off."""
    counted = Durations()
    for duration in durations:
        counted.add(duration)
    found = counted.distribution()
    assert found.count == len(durations)
    assert found.max == max(durations)
    assert found.mean == pytest.approx(np.mean(durations))
    assert found.std == pytest.approx(np.std(durations), rel=1e-6, abs=1e-6 * max(durations))
    for percent, value in ((50, found.p50), (99, found.p99), (99.9, found.p999)):
        exact = np.percentile(durations, percent, method="inverted_cdf")
        assert value == pytest.approx(exact, rel=0.0051)


def test_extreme_durations_are_counted():
    """Nothing measurable, an hour, and less than nothing, as two clocks can give."""
    counted = Durations()
    for duration in (0.0, -1e-9, 3600.0):
        counted.add(duration)
    assert counted.distribution().count == 3
    assert counted.distribution().max == 3600.0
    assert sum(count for _, count in counted.histogram()) == 3


def test_without_durations_everything_is_zero():
    assert Durations().distribution() == Distribution()


def test_periods_are_those_within_a_run():
    """A pause is no period; misses in a row are counted, also when more follow later."""
    now = 0.0
    pace = PaceRecorder(2.0, lambda: now)
    for start in (0.0, 10.0):
        for i in range(4):
            now = start + i
            pace.run_on()
            pace.step_taken(start + i, start + i + 0.25, 1.0)
            if i == 0:
                pace.on_time()
            else:
                pace.overran(0.5)
        now = start + 4.0
        pace.stand_still()
    now = 99.0
    report = pace.report()
    assert (report.steps, report.overruns, report.longest_overrun) == (8, 6, 3)
    assert (report.simulated_time, report.wall_time, report.real_time_factor) == (16.0, 8.0, 2.0)
    assert report.achieved_rate == 1.0
    assert report.period.count == 6
    assert report.period.p50 == pytest.approx(1.0, rel=0.0051)
    assert report.jitter.max == 0.0
    assert report.step_time.mean == 0.25


def test_simulated_time_is_that_of_steps_of_every_length():
    """A scene with ten times the time step came after the first; its step was taken for that of all."""
    now = 0.0
    pace = PaceRecorder(0.001, lambda: now)
    pace.run_on()
    for _ in range(10_000):
        pace.step_taken(0.0, 0.0, None)
    pace.gave_up(100)
    status, histograms = words()
    pace.move_to(status, histograms, 0.01)
    now = 20.0
    report = pace.report()
    assert report.simulated_time == pytest.approx(10.0)
    assert report.given_up == pytest.approx(0.1)
    assert report.real_time_factor == pytest.approx(0.5)
    for _ in range(1000):
        pace.step_taken(0.0, 0.0, None)
    pace.gave_up(10)
    pace.move_to(*words(), 0.002)
    pace.step_taken(0.0, 0.0, None)
    report = pace.report()
    assert report.steps == 11_001
    assert report.simulated_time == pytest.approx(20.002)
    assert report.given_up == pytest.approx(0.2)


def words():
    """Words for another world's counts."""
    return np.zeros(Status.END, dtype=np.int64), np.zeros(
        (Histogram.END, HistogramWords.BINS + NUM_BINS), dtype=np.int64
    )


def test_wall_time_is_told_during_a_run_and_goes_on_in_other_words():
    """Clients read 0 until the first pause, and 0 again with the next scene."""
    now = 0.0
    (status, histograms), (other, _) = words(), words()
    pace = PaceRecorder(0.001, lambda: now, status, histograms)
    pace.run_on()
    now = 3.0
    pace.tell_wall_time()
    assert status[Status.WALL_NS] == 3e9
    pace.move_to(other, histograms.copy(), 0.001)
    assert other[Status.WALL_NS] == 3e9
    now = 5.0
    pace.stand_still()
    assert other[Status.WALL_NS] == 5e9
    now = 9.0
    pace.tell_wall_time()
    assert other[Status.WALL_NS] == 5e9


class InterruptedClock:
    """Goes on by one at every reading; ``meanwhile`` is done right after one, before its reader gets any further."""

    def __init__(self) -> None:
        self.now = 0.0
        self.meanwhile: Callable[[], object] | None = None
        self.threads: list[threading.Thread] = []

    def __call__(self) -> float:
        self.now += 1.0
        reading, meanwhile = self.now, self.meanwhile
        if meanwhile is not None:
            self.meanwhile = None
            self.threads.append(threading.Thread(target=meanwhile))
            self.threads[-1].start()
            self.threads[-1].join(0.3)  # in vain where a lock is held, and then it is done after the reader
        return reading


@pytest.mark.parametrize("interrupted", ["report", "pause", "resume"])
def test_wall_time_does_not_go_back_whoever_is_interrupted(interrupted):
    """A report by a pause and its end, a pause or its end by a report, right after reading the clock."""
    clock = InterruptedClock()
    pace = PaceRecorder(1.0, clock)
    walls = []

    def read():
        walls.append(pace.report().wall_time)

    def pause_and_resume():
        pace.stand_still()
        clock.now += 10.0
        pace.run_on()

    pace.run_on()
    read()
    if interrupted == "resume":
        pace.stand_still()
    meanwhile, action = {
        "report": (pause_and_resume, read),
        "pause": (read, pace.stand_still),
        "resume": (read, pace.run_on),
    }[interrupted]
    clock.meanwhile = meanwhile
    action()
    (thread,) = clock.threads
    thread.join(60.0)
    read()
    assert len(walls) == 3
    assert np.diff(walls).min() >= 0.0
