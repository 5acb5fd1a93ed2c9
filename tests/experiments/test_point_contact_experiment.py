"""Held bodies swing as hinges let them, patches transmit the moments of closed forms, and changes would be noticed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.special import ellipk

from hydro_sim_core.experiments import pad_grip, point_contact
from hydro_sim_core.experiments.point_grip import GripPoint, HeldBody, pendulum, step

GRAVITY = np.array([0.0, 0.0, -9.81])
BELOW = np.array([0.0, 0.0, -0.1])
#: Observed time of the bar between pads, s; right pads keep all bounds in it (the quick form of the experiment).
SHORT = point_contact.SHORT_SWINGING_TIME


def held_body(angle: float = 0.0, spin: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> HeldBody:
    """A body whose centre of mass hangs 0.1 m below the y axis, turned about it by ``angle``."""
    c, s = math.cos(angle), math.sin(angle)
    R_WB = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    return HeldBody(0.2, np.diag([3e-4, 5e-4, 4e-4]), R_WB, R_WB @ BELOW, np.array([*spin, 0.0, 0.0, 0.0]))


def fingers(force: float) -> list[GripPoint]:
    return [
        GripPoint(np.array([0.0, side * 0.02, 0.0]), np.array([0.0, -side, 0.0]), force) for side in (-1, 1)
    ]


def test_a_pendulum_has_the_period_of_the_elliptic_integral():
    start = 1.0
    body = held_body(start)
    slow = math.sqrt((5e-4 + 0.2 * 0.1**2) / (0.2 * 9.81 * 0.1))
    quarter = slow * ellipk(math.sin(start / 2.0) ** 2)
    angle = pendulum(body, fingers(1.0), GRAVITY, np.array([0.0, quarter, 2.0 * quarter]))
    # The axis from the first finger to the second is y: it comes back to the middle and goes on to the other side.
    np.testing.assert_allclose(angle, [0.0, -start, -2.0 * start], atol=1e-8)


def test_a_body_between_two_points_swings_as_from_a_hinge():
    body = held_body(0.5)
    times = np.linspace(0.0, 0.2, 5)
    hinged = pendulum(body, fingers(20.0), GRAVITY, times)
    turned = [0.0]
    for _ in times[1:]:
        for _ in range(200):
            step(body, fingers(20.0), GRAVITY, 0.8, 1e-4, 2.5e-4)
        turned.append(math.atan2(body.R_WB[0, 2], body.R_WB[0, 0]) - 0.5)
    np.testing.assert_allclose(turned, hinged, atol=2e-3)
    assert np.linalg.norm(body.p_WBo) == pytest.approx(0.1, abs=1e-4)


def test_points_too_weak_for_the_weight_let_it_slide_as_coulomb_says():
    body = held_body()
    for _ in range(100):
        step(body, fingers(1.0), GRAVITY, 0.5, 1e-4, 1e-3)
    # Two fingers with 0.5 N of friction each against 1.96 N.
    expected = 0.1 * (9.81 - 2.0 * 0.5 * 1.0 / 0.2)
    assert -body.V_WB[5] == pytest.approx(expected, rel=1e-3)


@settings(max_examples=20)
@given(st.tuples(*[st.floats(-3.0, 3.0)] * 3), st.floats(0.0, 50.0), st.floats(0.0, 2.0))
def test_a_step_loses_energy_to_friction_and_never_gains(spin, force, friction):
    body = held_body(0.3, spin)

    def energy() -> float:
        w, v = body.V_WB[:3], body.V_WB[3:]
        return 0.5 * (w @ body.I_W @ w + body.mass * v @ v) - body.mass * GRAVITY @ body.p_WBo

    before = energy()
    step(body, fingers(force), GRAVITY, friction, 1e-4, 1e-4)
    # Equal and opposite forces on one line do no work on a body that turns, but for the second order of the step.
    assert energy() <= before + 1e-6


def test_the_ideal_ball_has_the_moments_of_a_paraboloid_when_it_is_shallow():
    stiff = replace(point_contact.BALL, modulus=1e10)
    ideal = point_contact.ideal_ball(stiff)
    depth = math.sqrt(stiff.weight / (math.pi * 1e10))
    radius = math.sqrt(2.0 * depth * point_contact.RADIUS)
    assert ideal.torsion == pytest.approx(8.0 / 15.0 * stiff.friction * stiff.weight * radius, rel=1e-3)
    resistance = stiff.dissipation * stiff.weight * radius**2 / 6.0
    inertia = 1.4 * stiff.mass * point_contact.RADIUS**2
    assert ideal.rolling_decay == pytest.approx(resistance / inertia, rel=1e-3)


def test_a_hundredth_more_friction_is_noticed(monkeypatch):
    slippery = replace(point_contact.DISC, friction=1.01 * point_contact.FRICTION)
    monkeypatch.setattr(point_contact, "DISC", slippery)
    ((comparison,), _) = point_contact._spin_disc()
    assert not comparison.agrees


def test_a_pad_slips_as_a_disc_of_uniform_pressure_where_it_hardly_sinks_in(monkeypatch):
    monkeypatch.setattr(pad_grip, "DEPTH", 1e-6)
    uniform = 4.0 / 3.0 * pad_grip.FRICTION * pad_grip.FORCE * 1e-3
    assert pad_grip.slipping_moment(1e-3) == pytest.approx(uniform, rel=1e-6)


def test_the_pressure_of_a_sunken_pad_falls_off_at_its_rim(monkeypatch):
    """Integrated numerically for a pad that sank in by a quarter of its radius."""
    monkeypatch.setattr(pad_grip, "DEPTH", 0.5)
    radius, sunk = 1e-3, 0.25e-3
    ways = np.linspace(0.0, radius, 200_001)
    pressure = np.minimum(1.0, (radius - ways) / sunk)
    mean_arm = trapezoid(pressure * ways**2, ways) / trapezoid(pressure * ways, ways)
    expected = 2.0 * pad_grip.FRICTION * pad_grip.FORCE * mean_arm
    assert pad_grip.slipping_moment(radius) == pytest.approx(expected, rel=1e-8)


def test_the_moment_of_friction_is_found_from_the_turn():
    free = pad_grip.swing_on_points([0.0, 0.2])[-1]
    assert pad_grip.moment_of_turn(free, 0.2) == pytest.approx(0.0, abs=1e-8)


@pytest.mark.heavy(2)
@pytest.mark.parametrize(
    ("part", "value"),
    [("FRICTION", 1.01 * pad_grip.FRICTION), ("FORCE", 1.01 * pad_grip.FORCE)],
)
def test_another_grip_on_the_pads_is_noticed(monkeypatch, part, value):
    worlds = pad_grip.make_world

    def other(radius):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pad_grip, part, value)
            return worlds(radius)

    monkeypatch.setattr(pad_grip, "make_world", other)
    monkeypatch.setattr(point_contact, "PAD_RADII", point_contact.PAD_RADII[:2])
    comparisons, _ = point_contact._pads(SHORT)
    assert not any(c.agrees for c in comparisons[:2])


@pytest.mark.long
def test_pads_that_do_not_shrink_do_not_come_to_points(monkeypatch):
    worlds = pad_grip.make_world
    monkeypatch.setattr(pad_grip, "make_world", lambda radius: worlds(radius + 5e-5))
    wrong = {c.quantity for c in point_contact._pads(SHORT)[0] if not c.agrees}
    assert {
        "order in the radius, turn on pads to that on points",
        "turn on pads of no size, extrapolated",
    } <= wrong
