"""Nearest points on surfaces of small and large triangles: which they are, and how many triangles are tried."""

import numpy as np
import pytest

from hydro_sim_core.geometry import MetricThread, distance, metric_bolt
from hydro_sim_core.geometry.distance import closest_points

#: A bolt whose ends are fans of triangles as long as its radius, thirty times as long as those of its thread.
BOLT = metric_bolt(MetricThread(16e-3, 1e-3), 12e-3)


@pytest.fixture
def points():
    """Places in and around it, on its surface, on edges and at vertices."""
    rng = np.random.default_rng(3)
    around = rng.uniform([-9e-3, -9e-3, -1e-3], [9e-3, 9e-3, 13e-3], (40, 3))
    corners = BOLT.vertices[BOLT.triangles[rng.integers(len(BOLT.triangles), size=40)]]
    return np.vstack([around, corners.mean(axis=1), corners[:, :2].mean(axis=1), corners[:, 0]])


def nearest_of_all(points):
    """The nearest point of every triangle, and of these the nearest one, the first of several."""
    found = []
    for point in points:
        asked = np.repeat(point[None], len(BOLT.triangles), axis=0)
        corners = BOLT.vertices[BOLT.triangles]
        sizes = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
        each = distance._closest_in_triangle(asked, corners, sizes)
        found.append(each[((each - asked) ** 2).sum(axis=1).argmin()])
    return np.array(found)


def test_the_nearest_point_is_that_of_all_triangles(points):
    found, expected = closest_points(points, *BOLT), nearest_of_all(points)
    off = np.linalg.norm(found - points, axis=1) - np.linalg.norm(expected - points, axis=1)
    np.testing.assert_allclose(off, 0.0, atol=1e-15)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_few_large_triangles_do_not_have_all_small_ones_tried(monkeypatch):
    """Of a bolt with a head that took a minute: all of its thread was near to everything."""
    tried, closest = [], distance._closest_in_triangle

    def counted(points, corners, sizes):
        tried.append(len(points))
        return closest(points, corners, sizes)

    monkeypatch.setattr(distance, "_closest_in_triangle", counted)
    on_thread = BOLT.vertices[:-2]
    closest_points(on_thread, *BOLT)
    assert sum(tried) < 100 * len(on_thread)  # of 2500 triangles
