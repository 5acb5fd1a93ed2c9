"""Distributions of durations, beside NumPy's on all of them; what a runner tells of its pace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydro_sim_core.simulation.timing import Distribution, Durations, PaceRecorder

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
    pace = PaceRecorder()
    for start in (0.0, 10.0):
        for i in range(4):
            pace.run_on(start + i)
            pace.step_taken(start + i, start + i + 0.25, 1.0)
            if i == 0:
                pace.on_time()
            else:
                pace.overran(0.5)
        pace.stand_still(start + 4.0)
    report = pace.report(time_step=2.0, now=99.0)
    assert (report.steps, report.overruns, report.longest_overrun) == (8, 6, 3)
    assert (report.simulated_time, report.wall_time, report.real_time_factor) == (16.0, 8.0, 2.0)
    assert report.achieved_rate == 1.0
    assert report.period.count == 6
    assert report.period.p50 == pytest.approx(1.0, rel=0.0051)
    assert report.jitter.max == 0.0
    assert report.step_time.mean == 0.25
