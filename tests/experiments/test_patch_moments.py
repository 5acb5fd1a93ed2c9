"""Wrenches of patches are slopes of the energy, and what is missing is noticed and is what was dropped."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from hydro_sim_core.contact import patch
from hydro_sim_core.experiments import patch_moments
from support.experiments.quick_forms import assert_quick_form_agrees

#: Poses of a ball in a cylinder.
BALLS = 8


@pytest.fixture(scope="module")
def report():
    return patch_moments.run(*patch_moments.QUICK)


def test_the_quick_form_agrees(report, tmp_path):
    assert_quick_form_agrees("patch_moments", tmp_path, report)


def test_what_a_wrench_lacks_is_what_was_dropped(report):
    found = np.zeros(2)
    for name in patch_moments.QUICK[0]:
        columns = "force", "all polygons", "force in a step", "polygons dropped"
        force, of_all, in_step, dropped = (np.array(report.series[f"{what}, {name}"]) for what in columns)
        assert np.all(of_all < 1e-9)
        assert np.all(force[dropped == 0] < 1e-9)
        found += np.count_nonzero(force > 1e-3), np.count_nonzero(in_step > 2.0 * force + 1e-3)
    assert np.all(found)


def test_a_ball_in_a_cylinder_has_all_of_its_moment():
    """Of a pair that is none of the twelve. Drake's faces lack up to 0.4 % of the force at an arm of 0.1 m here."""
    ball, _ = patch_moments.geometries()["sphere on box"]
    cylinder, _ = patch_moments.geometries()["cylinder on box"]
    found = [*islice(patch_moments._deviations(ball, cylinder), BALLS)]
    assert max(deviation.of_all for deviation in found) < 1e-9
    assert max(deviation.moment for deviation in found) > 1e-3
    assert all(deviation.dropped > 0 for deviation in found if deviation.moment > 1e-3)


def test_faces_at_their_centroids_are_noticed(monkeypatch):
    monkeypatch.setattr(patch, "moments_within", lambda faces: np.zeros((len(faces.areas), 3)))
    wrong = patch_moments.run(("capsule on soft half space",), 2)
    quantities = [c.quantity for c in wrong.comparisons if not c.agrees]
    assert "reproduced: capsule on soft half space: moment" in quantities
    assert "reproduced: capsule on soft half space: force" not in quantities


def test_a_face_that_is_left_out_is_noticed(monkeypatch):
    """With every polygon, but without the last one that presses."""
    compute = patch_moments.compute_patch

    def without_one(a, X_WA, b, X_WB, **options):
        found = compute(a, X_WA, b, X_WB, **options)
        last = np.flatnonzero(found.pressures > 0.0)[-1]
        found.force_on_b[:] -= found.face_forces[last] * found.normals[last]
        return found

    monkeypatch.setattr(patch_moments, "compute_patch", without_one)
    wrong = patch_moments.run(("capsule on soft half space",), 2)
    assert "reproduced: capsule on soft half space: force" in [
        c.quantity for c in wrong.comparisons if not c.agrees
    ]
