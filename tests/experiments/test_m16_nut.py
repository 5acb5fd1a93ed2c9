"""The moment of a screw is right where closed forms are known, and a nut without friction has it."""

import math

import pytest

from hydro_sim_core.experiments import m16_nut

PITCH = m16_nut.PITCH


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
