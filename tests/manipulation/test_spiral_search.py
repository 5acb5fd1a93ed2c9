"""A search along a spiral leaves nothing out, at its speed."""

import math
import re

import numpy as np
import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.manipulation import SpiralSearch

PERIOD = 0.004


def test_a_spiral_goes_at_its_speed_and_leaves_no_gap():
    spiral, place, places = SpiralSearch(0.6e-3, 6e-3), np.zeros(2), [np.zeros(2)]
    while spiral.radius < 2e-3:
        velocity = spiral.velocity(PERIOD)
        assert np.linalg.norm(velocity) <= 6e-3 * (1.0 + 1e-9)
        place = place + PERIOD * velocity
        places.append(place)
        if spiral.radius > 0.3e-3:
            assert np.linalg.norm(velocity) == pytest.approx(6e-3, rel=0.02)
    places = np.array(places)
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * math.pi, 200), 1.6e-3 * np.sqrt(rng.uniform(0, 1, 200))
    goals = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    nearest = np.linalg.norm(goals[:, None] - places[None], axis=2).min(axis=1)
    assert 0.25e-3 < nearest.max() <= 0.31e-3


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_its_length_is_its_speed_times_time(count):
    """By a fine polygon, whatever the periods."""
    spiral = SpiralSearch(0.6e-3, 6e-3)
    for _ in range(count):
        spiral.velocity(1.0 / count)
    angle = np.linspace(0.0, 2.0 * math.pi * spiral.radius / 0.6e-3, 200_001)
    points = 0.6e-3 * angle / (2.0 * math.pi) * np.exp(1j * angle)
    assert np.abs(np.diff(points)).sum() == pytest.approx(6e-3, rel=1e-8)


@pytest.mark.parametrize("value", [0.0, -6e-4, math.nan, math.inf, 5e-324, 1e-300, 0.99e-9])
def test_a_pitch_that_makes_no_spiral_is_told(value):
    told = re.escape(f"SpiralSearch: pitch: is {value}; give a number of at least 1e-09")
    with pytest.raises(InputError, match=told):
        SpiralSearch(value, 6e-3)


@pytest.mark.parametrize("value", [0.0, -6e-4, math.nan, math.inf])
def test_a_speed_that_makes_no_spiral_is_told(value):
    with pytest.raises(InputError, match=f"SpiralSearch: speed: is {value}; give a number above 0"):
        SpiralSearch(6e-4, value)


@pytest.mark.parametrize("speed", [5e-324, 1e-3, 1.0])
def test_the_least_pitch_is_followed(speed):
    """The longest way has 1e5 turns: of so fine a spiral the area tells its length, pi r^2 over its pitch."""
    spiral = SpiralSearch(1e-9, speed)
    for _ in range(5):
        velocity = spiral.velocity(1e-2)
        assert np.linalg.norm(velocity) <= speed * (1.0 + 1e-9)
    turns = spiral.radius / 1e-9
    assert turns < 10 or math.pi * spiral.radius**2 / 1e-9 == pytest.approx(5e-2 * speed, rel=1e-4)


def test_a_time_that_is_none_is_told():
    with pytest.raises(InputError, match="SpiralSearch: duration: is 0"):
        SpiralSearch(6e-4, 6e-3).velocity(0.0)
