"""Faces are counted and split into triangles as they should be; times are taken, but what they are is not tested."""

from __future__ import annotations

import numpy as np
import pytest

from hydro_sim_core.experiments import EXPERIMENTS, face_scaling
from hydro_sim_core.experiments.cylinder_grasp import MESHES
from support.experiments.quick_forms import assert_quick_form_agrees


def test_the_quick_form_counts_faces_and_triangles(tmp_path):
    report = EXPERIMENTS["face_scaling"].run(True)
    assert_quick_form_agrees("face_scaling", tmp_path, report)
    assert len(report.comparisons) == 4


def test_a_mesh_with_other_faces_is_noticed(monkeypatch):
    monkeypatch.setitem(face_scaling.MESHES, 200, MESHES[440])
    monkeypatch.setattr(face_scaling, "SAMPLES", 1)
    report = face_scaling.run((200,), timed=False)
    assert [c.agrees for c in report.comparisons] == [False, True]


@pytest.mark.parametrize("exponent", [0.7, 1.3])
def test_an_exponent_is_fitted(exponent):
    faces = np.array([200.0, 440.0, 2000.0])
    assert face_scaling.fitted_exponent(faces, 3e-6 * faces**exponent) == pytest.approx(exponent)


@pytest.mark.long
def test_times_are_taken_of_both_tessellations(monkeypatch, tmp_path):
    for name, value in {"SAMPLES": 1, "REPEATS": 3, "TRIALS": 2}.items():
        monkeypatch.setattr(face_scaling, name, value)
    report = face_scaling.run((200, 440), timed=True)
    assert np.all(np.array(list(report.series.values())) > 0.0)
    assert sum(c.kind == "at_most" for c in report.comparisons) == 2
    face_scaling.plot(report, tmp_path / "faces.png")
