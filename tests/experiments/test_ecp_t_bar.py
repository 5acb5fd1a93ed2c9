"""The T-shaped bar goes through its contacts in order, and a wrong bar is noticed."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

from hydro_sim_core.experiments import EXPERIMENTS, ecp_t_bar
from support.experiments.quick_forms import assert_quick_form_agrees


@pytest.fixture(scope="module")
def report():
    return EXPERIMENTS["ecp_t_bar"].run(True)


def test_the_quick_form_agrees(report, tmp_path):
    assert_quick_form_agrees("ecp_t_bar", tmp_path, report)
    assert len(report.comparisons) == 10
    # Surface, left, surface, right, surface.
    assert [mode for mode, _ in groupby(report.series["touches"])] == [0.0, 1.0, 0.0, 2.0, 0.0]
    # The bar is lifted by 42 mm.
    assert max(report.series["highest"]) == pytest.approx(0.042, abs=1e-3)


def test_the_point_of_two_is_on_the_line_between_them_where_the_bar_is_not(report):
    row = 70
    point = np.array([report.series["a_x"][row], report.series["a_y"][row]])
    a, b = ecp_t_bar.CORNERS[list(ecp_t_bar.LEFT)]
    share = (point - a) @ (b - a) / ((b - a) @ (b - a))
    assert 0.3 < share < 0.7
    assert point == pytest.approx(a + share * (b - a), abs=1e-3)


@pytest.mark.heavy(3)
@pytest.mark.parametrize("part", ["MASS", "FRICTION", "GRAVITY"])
def test_another_bar_is_noticed(monkeypatch, part):
    monkeypatch.setattr(ecp_t_bar, part, 1.0001 * getattr(ecp_t_bar, part))
    wrong = {c.quantity for c in ecp_t_bar.run().comparisons if not c.agrees}
    assert {"speed after the push", "spin after the turning"} <= wrong


def test_the_inertia_is_that_of_two_boxes():
    beam, stem = 4.0 / 3.0, 2.0 / 3.0
    assert beam * 0.05 == pytest.approx(stem * 0.1)
    turning = beam * (0.17 / 12.0 + 0.05**2) + stem * (0.05 / 12.0 + 0.1**2)
    assert ecp_t_bar.make_world().mass_matrix()[2, 2] == pytest.approx(turning, rel=1e-14)
