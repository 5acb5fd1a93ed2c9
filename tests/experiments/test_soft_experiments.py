"""Experiments with smooth contact: quick forms agree, and what is wrong is noticed."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path as FilePath

import numpy as np
import pytest

from hydro_sim_core.contact.soft_distance import OrientedCloud
from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments import scm_profile, ssdf_isosurface, verdicts
from hydro_sim_core.experiments.page import read_records
from hydro_sim_core.experiments.planar_push import bodies, experiment
from hydro_sim_core.experiments.planar_push.paths import Path, spline_weights
from support.experiments.quick_forms import assert_quick_form_agrees

DOCUMENTS = FilePath(__file__).parents[2] / "docs"
needs_mujoco = pytest.mark.skipif(find_spec("mujoco") is None, reason="MuJoCo is not installed")


def wrong(comparisons):
    return {c.quantity for c in comparisons if not c.agrees}


@pytest.mark.long
def test_zero_levels_agree(tmp_path):
    assert_quick_form_agrees("ssdf_isosurface", tmp_path)


def test_planes_off_the_sphere_are_noticed(monkeypatch):
    """By a thousandth of its radius."""
    off = ssdf_isosurface.sphere_cloud(300)
    off = OrientedCloud(1.001 * off.points, off.normals)
    monkeypatch.setattr(ssdf_isosurface, "sphere_cloud", lambda _: off)
    rows, _ = ssdf_isosurface._spheres()
    assert len(wrong(rows)) == len(ssdf_isosurface.TEMPERATURES)


@needs_mujoco
@pytest.mark.long
def test_profiles_agree(tmp_path):
    assert_quick_form_agrees("scm_profile", tmp_path)


def test_a_force_that_does_not_reach_beyond_contact_is_noticed(monkeypatch):
    """With a shorter reach than the model is said to have, the fall and the slopes of the force are others."""
    short = replace(scm_profile.MODEL, epsilon3=0.9 * scm_profile.MODEL.epsilon3)
    with monkeypatch.context() as patch:
        patch.setattr(scm_profile, "MODEL", short)
        spheres = scm_profile.Spheres()
    noticed = wrong(scm_profile._laws(spheres, {}))
    assert noticed == {
        "fall of the force between gaps of 10 and 20 mm",
        "slope over force, gap of 10 mm",
        "Hessian over force, gap of 10 mm",
    }


@needs_mujoco
@pytest.mark.long
def test_rollouts_of_few_points_agree(tmp_path):
    assert_quick_form_agrees("planar_push", tmp_path)


def test_columns_of_4k_points_have_as_many_on_both_bodies_as_the_papers():
    for variant in experiment.VARIANTS:
        told = "4k" if 3900 <= 2 * variant.points <= 4100 else str(variant.points)
        assert variant.name.endswith(f", {told} points")
    assert sum(variant.points == 26 for variant in experiment.VARIANTS) == len(experiment.QUICK) == 3
    # As many as a variant says are what its clouds have; the ground has one plane.
    counts = bodies.soft_pushing(60, "euler", 2e-3).world.soft_pairs.counts[:, 0]
    assert sorted(counts.tolist()) == [1, 60, 60]


def test_bounds_of_the_pushes_leave_no_room():
    """What must be no worse than the paper's is; no other bound is far from the deviation, or lets any end pass."""
    (record,) = (one for one in read_records(DOCUMENTS / "validation") if one.experiment == "planar_push")
    rows = record.report.comparisons
    demanded = [row for row in rows if "2 ms, RK4, 4k points" in row.quantity]
    assert [(row.reference, row.kind, row.bound) for row in demanded] == [
        (1.2, "at_most", 0.0),
        (10.8, "at_most", 0.0),
    ]
    for row in rows:
        if row not in demanded:
            assert row.bound <= 3.0 * abs(row.deviation), row.quantity
            assert row.reference == 0.0 or not replace(row, measured=0.0).agrees, row.quantity
            assert row.reference == 0.0 or not replace(row, measured=2.0 * row.reference).agrees, row.quantity


@needs_mujoco
def test_mujoco_brings_the_t_to_the_same_goals_at_a_finer_step():
    """What the other models are measured by is not a matter of its own step."""
    for points in experiment.PUSHES[:2]:
        ends = []
        for time_step in (2e-3, 1e-3):
            simulator = bodies.MuJoCoPushing(time_step)
            simulator.reset(points[0])
            for target in Path(points, experiment.DURATION, experiment.REST).targets(time_step):
                simulator.step(target)
            ends.append(simulator.pose())
        distance, angle = bodies.miss(*ends)
        assert np.hypot(*ends[0][:2]) > 0.06
        assert distance < 5e-3
        assert angle < 0.03


def test_paths_go_through_their_points_and_rest_at_both_ends():
    points = experiment.PUSHES[0]
    targets = Path(points, 2.0, 0.4).targets(1e-3)
    assert targets.shape == (2000, 2)
    at = np.round(1600 * np.arange(1, len(points)) / (len(points) - 1)).astype(int) - 1
    # The times of via points lie between steps.
    np.testing.assert_allclose(targets[at], points[1:], atol=1e-3)
    np.testing.assert_allclose(targets[-400:], np.tile(points[-1], (400, 1)), atol=1e-12)
    share = np.array([0.0, 1e-6, 0.5 - 1e-6, 0.5, 0.5 + 1e-6, 1.0 - 1e-6, 1.0])
    x = spline_weights(5, share) @ np.array([0.0, 1.0, -1.0, 0.5, 2.0])
    slopes = np.diff(x) / np.diff(share)
    assert abs(slopes[0]) < 1e-3
    assert abs(slopes[-1]) < 1e-3
    assert slopes[2] == pytest.approx(slopes[3], abs=1e-3)


def test_the_t_has_the_papers_size_and_its_centre_of_mass_at_the_origin():
    surface = bodies.t_surface()
    assert surface.is_watertight
    assert surface.volume == pytest.approx(bodies.HEIGHT * (0.25 * 0.06 + 0.06 * 0.14))
    np.testing.assert_allclose(surface.extents[:2], [0.25, 0.2])
    np.testing.assert_allclose(surface.center_mass, 0.0, atol=1e-12)


def test_without_mujoco_one_sentence_says_so(monkeypatch):
    monkeypatch.setattr(verdicts, "find_spec", lambda _: None)
    for run, name in ((scm_profile.run, "scm_profile"), (experiment.run, "planar_push")):
        with pytest.raises(InputError, match=f"{name}: MuJoCo: is not installed"):
            run()
