"""The lift of a box between two pads, in the pressure field, beside Coulomb's law."""

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson

from hydro_sim_core.errors import InputError
from hydro_sim_core.optimisation.grasp_bodies import BEGIN, DURATION, END, GRAVITY, TIME_STEP, Lift, RealGrasp


def test_the_lift_is_from_rest_to_rest_by_its_height():
    lift = Lift(0.3, 0.5, 0.25)
    times = np.linspace(BEGIN, END, num=2001)
    velocity = cumulative_simpson(lift.acceleration(times), x=times, initial=0.0)
    np.testing.assert_allclose(velocity, lift.velocity(times), atol=1e-9)
    assert velocity[-1] == pytest.approx(0.0, abs=1e-9)
    assert cumulative_simpson(velocity, x=times)[-1] == pytest.approx(0.25, rel=1e-9)
    assert lift.velocity(np.array([0.0, DURATION])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("lift", [Lift(), Lift(1.0, 0.3, 0.2)])
def test_the_box_slips_just_where_coulombs_law_says(lift):
    real = RealGrasp(lift)
    least = lift.least_force(TIME_STEP * np.arange(real.steps))
    assert np.abs(real.slips(1.02 * least)).max() < 2e-4
    assert real.slips(0.98 * least).max() > 2e-3
    constant = np.full(real.steps, least.max())
    assert np.abs(real.slips(1.02 * constant)).max() < 2e-4


@pytest.mark.parametrize(
    ("values", "element"),
    [
        ({"mass": 0.0}, "mass"),
        ({"mass": float("nan")}, "mass"),
        ({"friction": -0.1}, "friction"),
        ({"friction": 3.0}, "friction"),
        ({"height": 0.9}, "height"),
    ],
)
def test_bad_values_are_named(values, element):
    with pytest.raises(InputError, match=element):
        Lift(**values)


def test_a_lift_that_is_not_refused_keeps_the_box_in_the_hand():
    """Weight in the hand stays above 0."""
    times = np.linspace(0.0, DURATION, 5000)
    lift = Lift(height=0.545)
    assert 0.05 < 1.0 + lift.acceleration(times).min() / GRAVITY < 0.15
