"""What ``/diagnostics`` says of late steps and of time given up."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from hydro_sim.diagnostics import punctuality
from hydro_sim_core.simulation import FixedRateRunner
from support.simulation.runners import falling_ball

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


@pytest.fixture(scope="module")
def start():
    return FixedRateRunner(falling_ball()).report()


@pytest.mark.parametrize(
    ("late", "given_up", "factor", "level", "text"),
    [
        (0, 0, 1.0, OK, "on time"),
        (10, 0, 1.0, OK, "on time, 10 of 1000 steps late in the last second"),
        (11, 0, 1.0, WARN, "11 of 1000 steps late in the last second"),
        (624, 0, 1.0, WARN, "624 of 1000 steps late in the last second"),
        (0, 0, 0.9, WARN, "slower than asked for: 0.900 of 1"),
        (1, 3, 0.997, WARN, "gave up 3 steps (0.003 s), 1 of 1000 steps late in the last second"),
        (40, 400, 0.6, ERROR, "gave up 400 steps (0.400 s), slower than asked for: 0.600 of 1, 40 of 1000 steps "
         "late in the last second"),
    ],
)  # fmt: skip
def test_level_goes_by_the_share_of_late_steps(start, late, given_up, factor, level, text):
    now = replace(start, steps=1000, overruns=late, skipped_steps=given_up, given_up=1e-3 * given_up)
    assert punctuality(start, now, factor, 1.0) == (level, text)


def test_only_the_last_second_counts(start):
    before = replace(start, steps=5000, overruns=800, skipped_steps=900, given_up=0.9)
    now = replace(before, steps=6000)
    assert punctuality(before, now, 1.0, 1.0) == (OK, "on time")


def test_without_a_rate_nothing_is_slow(start):
    assert punctuality(start, replace(start, steps=10), 3.0, math.inf) == (OK, "on time")
