"""What is compared with bodies at one equivalent point is right itself, and other bodies are noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import dblquad

from hydro_sim_core.experiments import EXPERIMENTS, ecp_analytic
from hydro_sim_core.experiments.ecp_analytic import COIN, DISC, SQUARE, TALL, integrate, rates
from support.experiments.quick_forms import assert_quick_form_agrees


def test_the_quick_form_agrees(tmp_path):
    report = EXPERIMENTS["ecp_analytic"].run(True)
    assert_quick_form_agrees("ecp_analytic", tmp_path, report)
    # Three points, what tips and an order; four of the square and the coin, less one; three moments.
    assert len(report.comparisons) == 5 + 7 + 3


def test_the_mean_distance_of_a_square_is_its_integral():
    whole, _ = dblquad(lambda y, x: np.hypot(x, y), -0.5, 0.5, -0.5, 0.5, epsabs=1e-10)
    assert pytest.approx(whole, abs=1e-9) == ecp_analytic.MEAN_DISTANCE


@pytest.mark.parametrize(("v", "w"), [((0.5, 0.2), 3.0), ((0.01, 0.0), -20.0), ((1.0, 0.0), 0.0)])
def test_rates_fulfil_the_equations_at_the_point(v, w):
    """The velocity there, forces that dissipate most on the ellipsoid, and no moment that would tip the body."""
    v = np.array(v)
    acceleration, turning, r = rates(SQUARE, v, w)
    v_a = v + w * np.array([-r[1], r[0]])
    S = np.sqrt(v_a @ v_a + (SQUARE.e_r * w) ** 2)
    bound = SQUARE.friction * SQUARE.mass * ecp_analytic.GRAVITY
    assert SQUARE.mass * acceleration == pytest.approx(-bound * v_a / S, rel=1e-12)
    assert SQUARE.inertia[2] * turning == pytest.approx(-bound * SQUARE.e_r**2 * w / S, rel=1e-12)
    tipping = SQUARE.mass * ecp_analytic.GRAVITY * r + SQUARE.height * SQUARE.mass * acceleration
    assert tipping == pytest.approx(np.zeros(2), abs=1e-12)


def test_without_height_both_speeds_fall_together():
    flat = replace(SQUARE, height=0.0)
    *_, (v, across, w) = integrate(flat, (0.8, 12.0), np.linspace(0.0, 0.2, 5)[1:])
    exponent = flat.e_r**2 * flat.mass / flat.inertia[2]
    assert across == 0.0
    assert w / 12.0 == pytest.approx((v / 0.8) ** exponent, rel=1e-8)


SOFT = ecp_analytic.MODULI[1:]


@pytest.mark.heavy(4)
@pytest.mark.parametrize(
    ("right", "part", "compare", "wrong"),
    [
        (
            SQUARE,
            "friction",
            lambda: ecp_analytic.slide_and_turn("square", SQUARE, (0.8, 12.0), 0.24),
            {"v_x of the square at the end", "ω_z of the square at the end"},
        ),
        (
            COIN,
            "e_r",
            lambda: ecp_analytic.slide_and_turn("coin", COIN, (0.3, 20.0), 0.12, ecp_analytic.COIN_EXPONENT),
            {"ω_z of the coin at the end", "exponent of ω over that of v, coin"},
        ),
        (
            TALL,
            "mass",
            lambda: ecp_analytic.tip(SOFT),
            {"the point, pushed by 0.5 of what tips", "force that tips"},
        ),
        (DISC, "friction", lambda: ecp_analytic.spin(SOFT), {"moment that brakes the disc"}),
    ],
)
def test_another_body_is_noticed(monkeypatch, right, part, compare, wrong):
    """One in the simulator that is off by a thousandth."""
    other = replace(right, **{part: 1.001 * getattr(right, part)})
    make = ecp_analytic.Sliding.world

    def changed(self, *arguments):
        return make(other if self is right else self, *arguments)

    monkeypatch.setattr(ecp_analytic.Sliding, "world", changed)
    comparisons, _ = compare()
    assert wrong <= {c.quantity for c in comparisons if not c.agrees}
