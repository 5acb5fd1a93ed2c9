"""Hulls of few points in place of many."""

import numpy as np
import pytest
import scipy

from hydro_sim_core.geometry.hull_points import few_hull_points, kept_few_hull_points


def clouds():
    rng = np.random.default_rng(3)
    ball = rng.normal(size=(2000, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    turn = np.linspace(0.0, 2.0 * np.pi, 400, endpoint=False)
    rim = np.column_stack([np.cos(turn), np.sin(turn), np.zeros_like(turn)])
    cube = np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T
    sliver = ball * [1.0, 1e-2, 1e-4]
    return {
        "ball": ball,
        "cylinder": np.vstack([rim, rim + np.array([0.0, 0.0, 3.0])]),
        "cube": cube,
        "sliver": sliver,
    }


@pytest.mark.parametrize("name", clouds())
@pytest.mark.parametrize("share", [0.03, 0.003])
def test_no_point_is_left_further_outside_than_the_tolerance(name, share):
    points = clouds()[name]
    tolerance = share * np.linalg.norm(np.ptp(points, axis=0))
    few = few_hull_points(points, tolerance)
    planes = scipy.spatial.ConvexHull(few).equations
    assert (points @ planes[:, :3].T + planes[:, 3]).max() <= tolerance
    assert {tuple(point) for point in few} <= {tuple(point) for point in points}


def test_few_are_enough():
    """A circle of n chords lies within 1 - cos(pi / n) of them: 0.03 of the diagonal of a ball takes few corners."""
    found = clouds()
    assert len(few_hull_points(found["cube"], 1e-3)) == 8
    assert len(few_hull_points(found["ball"], 0.1)) < 100
    assert len(few_hull_points(found["cylinder"], 0.01)) < 100


def test_the_few_of_hundreds_are_kept_and_the_same_again(tmp_path, monkeypatch):
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path))
    points = clouds()["ball"]
    made = kept_few_hull_points(points, 0.02)
    np.testing.assert_array_equal(made, few_hull_points(points, 0.02))
    (file,) = (tmp_path / "meshes").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr("hydro_sim_core.geometry.hull_points.few_hull_points", None)
        np.testing.assert_array_equal(kept_few_hull_points(points, 0.02), made)
    assert len(kept_few_hull_points(points, 0.1)) < len(made)  # another tolerance is another file
    file.write_bytes(file.read_bytes()[:50])
    np.testing.assert_array_equal(kept_few_hull_points(points, 0.02), made)
