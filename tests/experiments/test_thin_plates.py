"""The experiment on thin plates notices what would make it wrong: lost force, other friction, a skewed measurement."""

from __future__ import annotations

import numpy as np
import pytest

from hydro_sim_core.experiments import thin_plates
from hydro_sim_core.geometry import Geometry

PLATE, STRIP = thin_plates.QUICK


def wrong(*cases: thin_plates.Held) -> set[str]:
    return {c.quantity for c in thin_plates.run(cases).comparisons if not c.agrees}


def test_fingers_that_press_each_other_through_the_plate_are_noticed(monkeypatch):
    """As they did before contact knew what lies between: a plate of 0.5 mm gets less than two thirds of the force."""
    monkeypatch.setattr(Geometry, "has_inside", False)
    report = thin_plates.run([PLATE])
    force, *pulls, _ = report.comparisons
    assert force.measured < 0.7 * thin_plates.FORCE
    assert not any(c.agrees for c in (force, *pulls))


def test_one_percent_more_friction_is_noticed(monkeypatch):
    monkeypatch.setattr(thin_plates, "PLATE_FRICTION", 1.02 * thin_plates.PLATE_FRICTION)
    noticed = wrong(STRIP)
    assert {"strip of 1 mm, downwards: friction", "strip of 1 mm, outwards: friction"} <= noticed


@pytest.mark.long
def test_an_object_that_is_heavier_than_told_is_noticed(monkeypatch):
    """Friction is measured by the motion of the mass that it is said to have."""
    make_world = thin_plates.make_world

    def heavier(case):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(thin_plates, "MASS", 1.05 * thin_plates.MASS)
            return make_world(case)

    monkeypatch.setattr(thin_plates, "make_world", heavier)
    assert "plate of 0.5 mm, outwards: friction" in wrong(PLATE)


def test_friction_by_motion_is_that_of_the_patches():
    world = thin_plates.make_world(PLATE)
    world.step(round(thin_plates.SETTLING_TIME / world.time_step))
    _, friction, _ = thin_plates.pull(world, "downwards", 10.0)
    told = sum(patch.force_on_b * (1 if patch.name_b == "held" else -1) for patch in world.contacts)
    assert friction[-1] == pytest.approx(np.linalg.norm(told), rel=1e-6)


@pytest.mark.long
def test_an_object_that_does_not_slip_has_no_onset(monkeypatch):
    """The pull ends at twice the expected force, and the report says that it did not agree."""
    monkeypatch.setattr(thin_plates, "FRICTION", 0.3)
    (onset,) = (
        c
        for c in thin_plates.run([PLATE]).comparisons
        if c.quantity.endswith("downwards: load at slip onset")
    )
    assert np.isnan(onset.measured)
