"""The experiment with rigid bodies: its quick form agrees, and what is wrong is noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import trimesh

from hydro_sim_core.experiments.rigid_pairs import bodies, cases, experiment, simulators
from support.experiments.quick_forms import assert_quick_form_agrees


@pytest.mark.long
def test_the_quick_form_agrees(tmp_path):
    assert_quick_form_agrees("rigid_pairs", tmp_path)


def test_simulators_that_are_not_installed_are_told_and_not_passed(monkeypatch):
    monkeypatch.setattr(simulators, "find_spec", lambda _: None)
    monkeypatch.setattr(experiment, "rest_cases", lambda: [cases.box_on_table()])
    report = experiment.run(1)
    assert "not installed here, so not compared: Drake and MuJoCo" in report.source
    assert report.peers == []
    assert not [column for column in report.series if "Drake" in column or "MuJoCo" in column]


def test_a_hull_in_place_of_the_ring_is_noticed():
    """The peg stands on it, 20 mm above its place."""
    case = cases.peg_in_hole()
    closed = [
        replace(body, shapes=[bodies.mesh(shape.surface.convex_hull) for shape in body.shapes])
        if body.name == "ring"
        else body
        for body in case.scene.bodies
    ]
    case = replace(case, scene=replace(case.scene, bodies=closed))
    rest = cases.measure(case, simulators.OurBodies)
    assert rest.off_place == pytest.approx(0.02, abs=1e-4)
    wrong = {c.quantity for c in experiment._compare_rest(case, rest, {}) if not c.agrees}
    assert wrong == {"peg in its hole: off its place", "peg in its hole: force"}


@pytest.mark.parametrize("sunk", [1e-9, 1e-4])
def test_the_depth_is_that_of_the_surfaces(sunk):
    case = cases.box_on_table()
    poses = {body.name: body.X_WB.copy() for body in case.scene.bodies}
    poses["box"][2, 3] = 0.05 - sunk
    assert bodies.depth(case.scene, poses) == pytest.approx(sunk, rel=1e-6)


def test_the_depth_of_edges_that_cross_is_seen():
    """Two bars, one across the other, without a corner of either in the other."""
    bar = trimesh.creation.box((0.2, 0.01, 0.01))
    lower = bodies.Body("lower", [bodies.mesh(bar)])
    upper = bodies.Body("upper", [bodies.mesh(bar)], 1.0)
    poses = {"lower": np.eye(4), "upper": bodies.pose((0.0, 0.0, 0.0099), (0.0, 0.0, np.pi / 2.0))}
    assert bodies.depth(bodies.BodyScene("bars", [lower, upper]), poses) == pytest.approx(1e-4, rel=1e-6)


def test_a_tube_and_a_mug_are_closed_and_balanced():
    parts, _ = cases.mug()
    assert all(part.is_watertight and part.volume > 0.0 for part in [*parts, cases.hook(0.004, 0.02)])
    moment = sum(part.volume * part.center_mass for part in parts)
    np.testing.assert_allclose(moment, 0.0, rtol=0, atol=1e-12)
