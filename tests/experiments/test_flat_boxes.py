"""Boxes that lie, rock and land flat: quick forms agree with closed forms, and wrong moments are noticed."""

from __future__ import annotations

import pytest

from hydro_sim_core.experiments import off_centre_box, rocking
from hydro_sim_core.experiments.flat_box import FlatBox
from support.experiments.quick_forms import assert_quick_form_agrees


@pytest.mark.heavy(2)
@pytest.mark.parametrize("name", ["off_centre_box", "rocking", "flat_landing"])
def test_the_quick_form_agrees(name, tmp_path):
    assert_quick_form_agrees(name, tmp_path)


def test_faces_at_their_centroids_are_noticed(monkeypatch):
    """A third of the moment that resists a tilt is lost; with an edge lifted the tilt is wrong, too."""
    rest = off_centre_box._rest
    monkeypatch.setattr(
        off_centre_box, "_rest", lambda box, margin=0.0, **solver: rest(box, margin, parity="drake")
    )
    report = off_centre_box.run((1e6,))
    tilts = [c for c in report.comparisons if "tilt, " in c.quantity and "mm off" in c.quantity]
    assert len(tilts) == 7
    assert all(c.measured > 1.4 * c.reference for c in tilts)
    assert not any(c.agrees for c in tilts)


def test_another_period_is_noticed(monkeypatch):
    monkeypatch.setattr(rocking, "PERIODS", 4)
    monkeypatch.setattr(rocking, "MASS", 1.001 * rocking.MASS)
    report = rocking.run((1e7,))
    assert [c.quantity for c in report.comparisons if not c.agrees] == [
        "reproduced: period of bouncing, 1e+07 Pa"
    ]


def test_boxes_without_a_named_margin_have_that_of_the_rule():
    """Half of it above the ground they are seen, and without one they are not; in a step they fall by 10 um."""
    margin = FlatBox(1e6).default_margin(1e-3)
    assert margin == pytest.approx(1e-4, rel=1e-12)
    for height, named, is_seen in (
        (0.5 * margin, None, True),
        (1.5 * margin, None, False),
        (0.5 * margin, 0.0, False),
    ):
        world = FlatBox(1e6).world({}, 1e-3, height=height, margin=named)
        world.step()
        assert any(patch.num_faces for patch in world.contacts) == is_seen


def test_the_closed_form_by_hand():
    """1 GPa over 40 mm on 0.2 x 0.15 m: 25 GN/m^3, second moment 5.625e-5 m^4, weight 23.544 N."""
    box = FlatBox(1e9, 0.01)
    assert box.depth == pytest.approx(23.544 / (2.5e10 * 0.03), rel=1e-12)
    assert box.resistance == pytest.approx(2.5e10 * 5.625e-5 - 23.544 * 0.04, rel=1e-12)
    assert box.tilt == pytest.approx(0.23544 / box.resistance, rel=1e-12)
    # 40 mm off, 35 mm from the edge: 105 mm press, over which the depth falls from its most to nothing.
    lifted = FlatBox(1e12, 0.04).tilt * 0.105
    assert 0.5 * 2.5e13 * lifted * 0.105 * 0.2 == pytest.approx(23.544, rel=1e-6)
