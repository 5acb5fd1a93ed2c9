"""The judge of the nut on its bolt is right where closed forms are known, and notices what would make it wrong."""

import math

import numpy as np
import pytest

from hydro_sim_core.experiments import m16_nut

GAP, PITCH = m16_nut.CLEARANCE, m16_nut.PITCH


def nut_pose(drop=0.0, turned=0.0, aside=0.0):
    """In mesh with the bolt, then screwed down by an angle, dropped and moved aside."""
    X_WN = np.eye(4)
    X_WN[:2, :2] = [[math.cos(turned), math.sin(turned)], [-math.sin(turned), math.cos(turned)]]
    X_WN[:3, 3] = (aside, 0.0, 6.0 * PITCH - drop - PITCH * turned / (2.0 * math.pi))
    return X_WN


@pytest.mark.parametrize("turned", [0.0, 0.7, 5.0])
def test_threads_in_mesh_have_half_the_gap_between_their_flanks(turned):
    assert m16_nut.overlap(nut_pose(turned=turned)) == pytest.approx(-0.5 * GAP, abs=1e-12)
    touching = GAP / math.sqrt(3.0)
    assert m16_nut.overlap(nut_pose(touching, turned)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("deep", [1e-6, 4e-5])
def test_a_nut_that_is_too_low_or_aside_overlaps_across_its_flanks(deep):
    low = nut_pose(GAP / math.sqrt(3.0) + deep)
    assert m16_nut.overlap(low) == pytest.approx(math.cos(math.pi / 6.0) * deep, rel=1e-6)
    # Aside of the axis a flank is also met at another angle, where it is higher.
    across = math.hypot(1.0, math.sqrt(3.0) * PITCH / (2.0 * math.pi * m16_nut.MINOR))
    expected = 0.5 * (across * (GAP + deep) - GAP)
    assert m16_nut.overlap(nut_pose(aside=GAP + deep)) == pytest.approx(expected, abs=2e-8)


def test_a_screw_without_friction_is_turned_by_its_load(monkeypatch):
    """And the moment is that of the work: the load times the pitch over a turn."""
    monkeypatch.setattr(m16_nut, "FRICTION", 0.0)
    assert m16_nut.screw_moment(10.0) == pytest.approx(-10.0 * PITCH / (2.0 * math.pi), rel=1e-12)


def test_a_nut_without_friction_is_held_back(monkeypatch):
    """By the moment of its load, less what it loses where it drops from chord to chord."""
    monkeypatch.setattr(m16_nut, "FRICTION", 0.0)
    table = m16_nut.screw(m16_nut.make_world(), 0)
    held = m16_nut.screw_moment(table["load"][0])
    assert held < table["moment"][-10:].mean() < 0.5 * held < 0.0
