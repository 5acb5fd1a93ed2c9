"""The desk slides as the quadratic model says, whose equations are those of the paper, and a wrong desk is noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hydro_sim_core.experiments import EXPERIMENTS, ecp_desk
from hydro_sim_core.experiments.planar_sliding import SlidingBody, slide
from support.experiments.quick_forms import assert_quick_form_agrees

H = 0.01
BODY = SlidingBody(mass=15.0, inertia=0.9, height=0.45, friction=0.22, e_r=0.1, gravity=9.8)
LOAD = np.array([1.5, -2.0, 0.7, 20.0, 5.0, -30.0])


@pytest.fixture(scope="module")
def report():
    return EXPERIMENTS["ecp_desk"].run(True)


def test_the_quick_form_agrees_with_the_paper(report, tmp_path):
    assert_quick_form_agrees("ecp_desk", tmp_path, report)
    # Four differences, two moments, two counts, a_z.
    assert len(report.comparisons) == 9
    assert len(report.series["time"]) == 400


def test_a_point_a_foot_resists_turning_more(report):
    one, feet = (np.array(report.series[f"ω_z, {name}"]) for name in ecp_desk.MODELS[1:])
    assert np.abs(feet - one).max() == pytest.approx(0.4036, abs=2e-3)
    (moment,) = (c.measured for c in report.comparisons if c.quantity.endswith("a point a foot"))
    # Its points are in the feet, at 0.27 to 0.35 m from the middle.
    least, most = (0.22 * 15.0 * 9.8 * np.hypot(0.1, np.sqrt(2.0) * reach) for reach in (0.19, 0.25))
    assert least < moment < most


@pytest.mark.parametrize("velocity", [(0.3, 0.2, 0.5), (0.0, 0.0, 2.0), (1.0, 0.0, 0.0)])
def test_a_quadratic_step_solves_the_equations_of_the_paper(velocity):
    """Newton and Euler about the centre of mass with W of eq. 2, and eqs. 14 and 15 at the point; all to round-off."""
    end = slide(BODY, np.array(velocity), LOAD, H)
    p_n = H * (15.0 * 9.8 + 30.0)
    p, r = np.array([*end.impulse[:2], p_n]), np.array([*end.point, -BODY.height])
    turned = H * LOAD[:3] + np.cross(r, p) + [0.0, 0.0, end.impulse[2]]
    assert turned[:2] == pytest.approx([0.0, 0.0], abs=1e-15)
    assert end.velocity[2] - velocity[2] == pytest.approx(turned[2] / BODY.inertia, abs=1e-14)
    assert end.velocity[:2] - velocity[:2] == pytest.approx((H * LOAD[3:5] + p[:2]) / 15.0, abs=1e-14)
    at_point = end.velocity[:2] + end.velocity[2] * np.array([-r[1], r[0]])
    slip = np.array([*at_point, BODY.e_r**2 * end.velocity[2]])
    assert 0.22 * p_n * slip + end.impulse * end.slip == pytest.approx(np.zeros(3), abs=1e-14)
    assert np.linalg.norm(end.impulse / [1.0, 1.0, 0.1]) == pytest.approx(0.22 * p_n, rel=1e-14)
    assert end.slip > 0.0


def test_a_quadratic_step_may_end_at_rest():
    velocity, load = np.array([0.01, 0.0, 0.02]), np.array([0.0, 0.0, 0.1, 2.0, 1.0, 0.0])
    end = slide(BODY, velocity, load, H)
    assert end.velocity.tolist() == [0.0, 0.0, 0.0]
    assert end.slip == 0.0
    assert np.linalg.norm(end.impulse / [1.0, 1.0, 0.1]) < 0.22 * H * 15.0 * 9.8
    assert end.impulse[:2] == pytest.approx([-0.15 - 0.02, -0.01], abs=1e-15)


@pytest.mark.heavy(3)
@pytest.mark.parametrize(("part", "factor"), [("height", 1.0001), ("e_r", 1.0001), ("inertia", 0.9999)])
def test_another_desk_is_noticed(monkeypatch, part, factor):
    body = ecp_desk.sliding_body

    def other(world):
        right = body(world)
        return replace(right, **{part: factor * getattr(right, part)})

    monkeypatch.setattr(ecp_desk, "sliding_body", other)
    wrong = {c.quantity for c in ecp_desk.run().comparisons if not c.agrees}
    assert {"v_x, one point less quadratic", "ω_z, one point less quadratic"} <= wrong


def test_the_desk_is_that_of_the_paper():
    world = ecp_desk.make_world()
    assert world.time_step == 0.01
    assert world.mass_matrix()[3, 3] == pytest.approx(15.0, rel=1e-15)
    # Of the blocks that it is made of; the URDF gives the same about its frame, which is in the centre of mass.
    top, leg = 100.0 / 9.0, (15.0 - 100.0 / 9.0) / 4.0
    assert 4.0 * leg * -0.2 + top * 0.07 == pytest.approx(0.0, abs=1e-14)
    turning = top * 0.5**2 / 6.0 + 4.0 * leg * (0.06**2 / 6.0 + 2.0 * 0.22**2)
    assert world.mass_matrix()[2, 2] == pytest.approx(turning, rel=1e-14)
    world.step()
    (patch,) = world.contacts
    assert patch.area == pytest.approx(0.25, rel=1e-12)
