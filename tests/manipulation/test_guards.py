"""Guards tell of forces that stay, not of spikes, and do not take a broken sensor for no force."""

from __future__ import annotations

import math

import pytest

from hydro_sim_core import InputError
from hydro_sim_core.manipulation import ForceGuard


def test_a_force_beyond_the_threshold_is_told_at_once() -> None:
    guard = ForceGuard(5.0)
    assert not guard.update(0.0, (3.0, 0.0, 4.0))
    assert guard.update(0.1, (3.0, 0.1, 4.0))


def test_a_spike_is_none_and_a_force_that_stays_is_one() -> None:
    guard = ForceGuard(5.0, hold=5 / 64)
    told = [guard.update(i / 64, (0.0, 0.0, 9.0 if i in (2, 3) or i >= 10 else 1.0)) for i in range(17)]
    assert told.index(True) == 15
    guard.reset()
    assert not guard.update(17 / 64, (0.0, 0.0, 9.0))


def test_only_the_given_direction_counts_with_its_sign() -> None:
    guard = ForceGuard(5.0, along=(0.0, 0.0, -2.0))
    assert not guard.update(0.0, (9.0, 0.0, 9.0))
    assert guard.update(0.1, (0.0, 0.0, -6.0))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"threshold": -1.0}, "threshold: is -1.0; give a number, 0 or more"),
        ({"threshold": 1.0, "hold": math.inf}, "hold: is inf"),
        ({"threshold": 1.0, "along": (0, 0, 0)}, "along: is .*; give three numbers, not all 0"),
        ({"threshold": 1.0, "along": (1, 0)}, "along"),
        ({"threshold": "a"}, "threshold: is 'a'; give a number, 0 or more"),
        ({"threshold": True}, "threshold: is True"),
        ({"threshold": 1.0, "along": "z"}, "along: is 'z'; give three numbers, not all 0"),
        ({"threshold": 1.0, "along": ((1, 0, 0), 1)}, "along"),
    ],
)
def test_what_makes_no_guard_is_told(arguments, told: str) -> None:
    with pytest.raises(InputError, match=f"ForceGuard: {told}"):
        ForceGuard(**arguments)


@pytest.mark.parametrize("force", [(math.nan, 0.0, 0.0), (1.0, 2.0), (math.inf, 0.0, 0.0), "abc", None])
def test_a_force_that_is_none_is_an_error(force) -> None:
    with pytest.raises(InputError, match=r"ForceGuard: force: .*; give three finite numbers, N"):
        ForceGuard(1.0).update(0.0, force)


@pytest.mark.parametrize("time", [math.nan, math.inf, "now", None])
def test_a_time_that_is_none_is_an_error(time) -> None:
    guard = ForceGuard(5.0, hold=0.1)
    with pytest.raises(InputError, match=r"ForceGuard: time: is .*; give seconds"):
        guard.update(time, (9.0, 0.0, 0.0))
    assert [guard.update(t, (9.0, 0.0, 0.0)) for t in (0.0, 0.25)] == [False, True]


def test_time_goes_back_after_a_reset_alone() -> None:
    guard = ForceGuard(5.0, hold=0.5)
    assert not guard.update(1.0, (9.0, 0.0, 0.0))
    assert not guard.update(1.0, (9.0, 0.0, 0.0))
    with pytest.raises(InputError, match=r"ForceGuard: time: is 0.5 s, after 1 s; call reset\(\)"):
        guard.update(0.5, (9.0, 0.0, 0.0))
    guard.reset()
    assert [guard.update(t, (9.0, 0.0, 0.0)) for t in (0.0, 0.5)] == [False, True]
