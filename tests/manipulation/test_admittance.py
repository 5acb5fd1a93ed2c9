"""An admittance goes as fast as the force on it says."""

import math

import numpy as np
import pytest

from hydro_sim_core.description.poses import pose
from hydro_sim_core.errors import InputError
from hydro_sim_core.manipulation import Admittance, AdmittanceControl, SpiralSearch
from hydro_sim_core.rotations import twist_between

PERIOD = 0.01
HOW = Admittance(push=10.0, along=500.0, across=1000.0, turning=2.0, fastest=0.02, quickest=0.05)
START = pose([0.4, 0.1, 0.3], [math.pi, 0.0, 0.3])


def velocity(how, force, moment, across=None):
    """Steady twist (6,) along the tool's axes, as of two poses long after the start."""
    control = AdmittanceControl(START, how, PERIOD)
    for _ in range(50):
        before = control.X_WT
        after = control.update(force, moment, across)
    return twist_between(np.eye(4), np.linalg.inv(before) @ after, PERIOD)


@pytest.mark.parametrize(
    ("force", "moment", "across", "twist"),
    [
        ([0, 0, -4], [0, 0, 0], None, [0, 0, 0, 0, 0, 6 / 500]),  # towards its push
        ([0, 0, -15], [0, 0, 0], None, [0, 0, 0, 0, 0, -5 / 500]),  # and back from more
        ([3, -2, -10], [0, 0, 0], None, [0, 0, 0, 3e-3, -2e-3, 0]),
        ([3, -2, -10], [0, 0, 0], [1e-3, 4e-3], [0, 0, 0, 1e-3, 4e-3, 0]),  # a path in place of that
        ([0, 0, -10], [0.02, -0.05, 0.3], None, [0.01, -0.025, 0, 0, 0, 0]),  # about its axis it does not
        # no faster than it may, in all directions together
        ([900, 0, 440], [-7, 0, 0], None, [-0.05, 0, 0, 0.02 / math.sqrt(2), 0, 0.02 / math.sqrt(2)]),
        ([40, 30, -10], [0.6, 0.8, 0], None, [0.03, 0.04, 0, 0.016, 0.012, 0]),
        ([1e308, 0, -10], [0, 0, 0], None, [0, 0, 0, 0.02, 0, 0]),
        # a path, and a push of as much
        ([0, 0, 0], [0, 0, 0], [0.012, -0.016], np.array([0, 0, 0, 0.6, -0.8, 1]) * 0.02 / math.sqrt(2)),
    ],
)
def test_it_gives_way_at_a_speed_per_force(force, moment, across, twist):
    np.testing.assert_allclose(velocity(HOW, force, moment, across), twist, rtol=1e-12, atol=1e-12)


def test_it_spins_and_stays_stiff_where_it_is_told_to():
    stiff = Admittance(push=0.0, spin=0.5)
    np.testing.assert_allclose(
        velocity(stiff, [5, 5, 0], [1, 1, 1]), [0, 0, 0.5, 0, 0, 0], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("spin", [1.1, -25.0])
def test_a_slow_controller_spins_at_the_same_rate(spin):
    """Of ten periods a second, in each of which it turns far, the end is a turn by that rate."""
    control = AdmittanceControl(START, Admittance(push=0.0, spin=spin), 0.1)
    for _ in range(40):
        X_WT = control.update(np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(X_WT, START @ pose(rpy=[0.0, 0.0, 4.0 * spin]), atol=1e-13)


def test_what_it_gives_is_the_callers():
    control = AdmittanceControl(START, HOW, PERIOD)
    given = control.update(np.zeros(3), np.zeros(3))
    commanded = given.copy()
    given[:3, 3] += 1.0
    np.testing.assert_array_equal(control.X_WT, commanded)


def test_it_stays_a_rotation():
    control = AdmittanceControl(START, Admittance(push=0.0, spin=3.0, turning=1.0), PERIOD)
    for _ in range(2000):
        R = control.update(np.zeros(3), [0.1, 0.0, 0.0])[:3, :3]
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("push", math.nan, "push: is nan; give a finite number"),
        ("along", 0.0, "along: is 0.0; give a number above 0"),
        ("across", -1.0, "across: is -1.0; give a number above 0"),
        ("spin", True, "spin: is True; give a finite number"),
        ("turning", math.nan, "turning: is nan; give a number above 0"),
    ],
)
def test_an_admittance_that_is_none_is_told(name, value, told):
    with pytest.raises(InputError, match=f"Admittance: {told}"):
        Admittance(**{"push": 1.0, name: value})


def test_what_is_not_measured_is_told():
    control = AdmittanceControl(START, HOW, PERIOD)
    with pytest.raises(InputError, match="AdmittanceControl: force: holds NaN"):
        control.update([math.nan, 0, 0], np.zeros(3))
    with pytest.raises(InputError, match="AdmittanceControl: how: is None; give an Admittance"):
        AdmittanceControl(START, None, PERIOD)
    with pytest.raises(InputError, match="AdmittanceControl: period: is 0"):
        AdmittanceControl(START, HOW, 0.0)


def test_a_search_that_is_faster_than_the_tool_is_refused():
    """It would be another path; one as fast as the tool is followed."""
    control = AdmittanceControl(START, HOW, PERIOD)
    for _ in range(100):
        control.update(np.zeros(3), np.zeros(3), SpiralSearch(1e-3, HOW.fastest).velocity(PERIOD))
    told = "AdmittanceControl: across: of 0.021 m/s is above fastest, 0.02 m/s; give a larger fastest, or a"
    with pytest.raises(InputError, match=told):
        control.update(np.zeros(3), np.zeros(3), [0.021, 0.0])
