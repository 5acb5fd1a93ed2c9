"""The pairs that are timed: closed shapes that stay in contact, move at the stated speed and are Drake's own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from hydro_sim_core.experiments.geometry_bench import Effort, Growth, Timing, all_pairs, growths, measure
from hydro_sim_core.experiments.geometry_bench.drake import DrakePair
from hydro_sim_core.experiments.geometry_bench.ours import OurPair
from hydro_sim_core.experiments.geometry_bench.pairs import TIME_STEP
from hydro_sim_core.experiments.geometry_bench.shapes import bowl, lobed_solid
from hydro_sim_core.geometry.simplices import enclosed_volume, is_closed

COARSEST = [pair for pair in all_pairs() if pair.level == 0]


@pytest.mark.heavy(5)
@pytest.mark.parametrize("pair", COARSEST, ids=lambda pair: pair.family)
def test_a_pair_stays_in_contact_and_has_the_faces_of_drake(pair):
    a, b = pair.make()
    drake = DrakePair(a, b)
    for speed in (0.1, 1.0):
        poses = pair.poses(speed, 40)
        np.testing.assert_array_equal(poses[0], pair.X_BA)
        ours = [OurPair(a, b, pair.X_BA).count_faces(X[None]) for X in poses[::8]]
        assert ours == [drake.count_faces(X[None]) for X in poses[::8]]
        assert min(ours) > 0.5 * max(ours) > 0


@pytest.mark.parametrize("pair", COARSEST, ids=lambda pair: pair.family)
def test_a_pair_moves_at_the_stated_speed(pair):
    poses = pair.poses(0.1, 50)
    motion = pair.motion
    if motion.turns:
        sideways = np.cross(motion.axis, [1.0, 0.0, 0.0])
        point_B = motion.center + motion.radius * sideways / np.linalg.norm(sideways)
    else:
        point_B = pair.X_BA[:3, 3]
    point = np.linalg.inv(pair.X_BA) @ [*point_B, 1.0]
    path = (poses @ point)[:, :3]
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    np.testing.assert_allclose(steps, 0.1 * TIME_STEP, rtol=1e-3)


@pytest.mark.parametrize(("level", "layers"), [(1, 1), (2, 2), (2, 4)])
def test_a_lobed_solid_is_filled_layer_by_layer(level, layers):
    solid = lobed_solid(0.05, level, layers, 1e5)
    assert len(solid.elements) == 8 * 4**level * (3 * layers - 2)
    surface = solid.surface_triangles()
    assert len(surface) == 8 * 4**level
    assert is_closed(surface)
    assert solid.volume() == pytest.approx(enclosed_volume(solid.vertices, surface), rel=1e-12)
    assert solid.pressure[np.unique(surface)].max() == 0.0
    inside = np.setdiff1d(np.arange(len(solid.vertices)), surface)
    assert solid.pressure[inside].min() > 0.0
    assert solid.pressure.max() == pytest.approx(1e5)


def test_a_lobed_solid_is_not_convex():
    solid = lobed_solid(0.05, 3, 2, 1e5)
    assert solid.volume() < 0.9 * ConvexHull(solid.vertices).volume


def test_a_bowl_is_a_closed_shell():
    shell = bowl(0.12, 0.01, np.pi / 2.0, 24)
    assert len(shell.elements) == 4 * 24**2 + 8 * 24
    assert is_closed(shell.elements)
    half_of_shell = 2.0 / 3.0 * np.pi * (0.13**3 - 0.12**3)
    assert shell.volume() == pytest.approx(half_of_shell, rel=0.01)


def test_without_drake_only_our_times_are_there():
    (timing,) = measure(COARSEST[:1], Effort(turns=2, faces=500, poses=(4, 20)), None, speeds=[0.1])
    assert timing.poses == 8
    assert timing.seconds > 0.0
    assert timing.drake_seconds is timing.share is timing.reaches_target is None


def timed(family: str, speed: float, faces: float, seconds: float) -> Timing:
    return Timing(family, 0, (1, 1), speed, 1, faces, seconds)


def test_growth_compares_the_finest_with_the_coarsest_that_counts():
    timings = [
        timed("a", 0.1, 100.0, 1.0),
        timed("a", 0.1, 1000.0, 2.0),
        timed("a", 1.0, 1000.0, 7.0),
        timed("a", 0.1, 4000.0, 12.0),
        timed("b", 0.1, 1000.0, 2.0),
    ]
    (growth,) = growths(timings)
    assert growth == Growth("a", (1000.0, 4000.0), pytest.approx(1.5))


def test_a_query_is_taken_apart_into_its_stages():
    pair = COARSEST[0]
    stages = OurPair(*pair.make(), pair.X_BA).stages(pair.poses(0.1, 200))
    assert list(stages) == ["trees", "peaks", "walk"]
    assert 0.0 < stages["peaks"] < stages["trees"] < stages["walk"]


def test_shares_are_held_against_the_target_without_the_overhead():
    timing = Timing(
        family="",
        level=0,
        elements=(1, 1),
        speed=0.1,
        poses=1,
        faces=10.0,
        seconds=1e-6,
        drake_faces=10.0,
        drake_seconds=6e-6,
        drake_overhead=1e-6,
        share_allowed=0.19,
    )
    assert timing.share == pytest.approx(1.0 / 6.0)
    assert timing.share_without_overhead == pytest.approx(0.2)
    assert timing.seconds_a_face == pytest.approx(1e-7)
    assert timing.drake_seconds_a_face == pytest.approx(5e-7)
    assert timing.reaches_target is False
