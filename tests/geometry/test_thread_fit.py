"""Overlaps of threads are those of closed forms, and of the bodies that the generators make."""

import math

import numpy as np
import pytest

from hydro_sim_core.description.poses import pose
from hydro_sim_core.geometry import MetricThread, metric_bolt, metric_nut, thread_fit
from hydro_sim_core.geometry.distance import distance_to_surface, winding_numbers
from hydro_sim_core.geometry.thread_fit import ThreadFit
from hydro_sim_core.geometry.turned_surfaces import nut_walls

GAP, PITCH = 1e-4, 2e-3
FIT = ThreadFit(16e-3, PITCH, 30e-3, 13e-3, GAP, 1.2e-3)


def nut_pose(drop=0.0, turned=0.0, aside=0.0):
    """In mesh with the bolt, then screwed down by an angle, dropped and moved aside."""
    X_WN = np.eye(4)
    X_WN[:2, :2] = [[math.cos(turned), math.sin(turned)], [-math.sin(turned), math.cos(turned)]]
    X_WN[:3, 3] = (aside, 0.0, 6.0 * PITCH - drop - PITCH * turned / (2.0 * math.pi))
    return X_WN


@pytest.mark.parametrize("turned", [0.0, 0.7, 5.0])
def test_threads_in_mesh_have_half_the_gap_between_their_flanks(turned):
    assert FIT.overlap(nut_pose(turned=turned)) == pytest.approx(-0.5 * GAP, abs=1e-12)
    touching = GAP / math.sqrt(3.0)
    assert FIT.overlap(nut_pose(touching, turned)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("deep", [1e-6, 4e-5])
def test_a_nut_that_is_too_low_or_aside_overlaps_across_its_sides(deep):
    low = nut_pose(GAP / math.sqrt(3.0) + deep)
    assert FIT.overlap(low) == pytest.approx(math.cos(math.pi / 6.0) * deep, rel=1e-6)
    # Crests are in roots by all of it, flanks in flanks by less.
    assert FIT.overlap(nut_pose(aside=GAP + deep)) == pytest.approx(deep, abs=2e-8)


def test_overlaps_between_half_planes_are_found(monkeypatch):
    """Of tilted nuts on the end of their bolts: half planes of the bolt alone would miss up to 10 micrometres."""
    rng, fit = np.random.default_rng(3), ThreadFit(16e-3, PITCH, 30e-3, 8e-3, 5e-5, 1e-3)
    poses = [
        pose(
            [*rng.uniform(-6e-5, 6e-5, 2), 30e-3 - z],
            [*rng.uniform(-5e-3, 5e-3, 2), -2.0 * math.pi * z / PITCH],
        )
        for z in rng.uniform(1e-3, 4e-3, 60)
    ]
    found = np.array([fit.overlap(X_BN) for X_BN in poses])
    monkeypatch.setattr(thread_fit, "AROUND", 48 * 24)
    everywhere = ThreadFit(16e-3, PITCH, 30e-3, 8e-3, 5e-5, 1e-3)
    true = np.array([everywhere.overlap(X_BN) for X_BN in poses])
    overlaps = true > 0.0
    assert np.count_nonzero(overlaps) > 20
    assert np.abs(found - true)[overlaps].max() < 3e-7


def test_a_point_just_behind_the_end_of_the_nut_is_not_deep_in_it():
    """Across the sides it may be, but through the end it is out at once."""
    r, theta = np.full(2, 8.5e-3), np.full(2, 0.3)
    shallow, deep = FIT._depth(r, theta, np.array([2e-6, 1e-3]))
    assert shallow == 2e-6 < deep


def test_nothing_is_known_of_a_nut_that_is_not_on_its_bolt():
    assert FIT.overlap(pose([0.0, 0.0, 0.0305])) == -math.inf


def test_sides_of_the_nut_are_those_of_its_mesh():
    """The middles of edges in half planes through the axis, chamfers and ends with them, are neither in nor out."""
    wall, _ = nut_walls("nut", MetricThread(16e-3, PITCH, chamfer=1.2e-3), 13e-3, 24e-3)
    columns, corners = wall.columns[wall.triangles], wall.vertices[wall.triangles]
    middles = np.vstack(
        [
            0.5 * (corners[:, i] + corners[:, j])[columns[:, i] == columns[:, j]]
            for i, j in ((0, 1), (1, 2), (2, 0))
        ]
    )
    x, y, z = middles[(middles[:, 2] > 0.0) & (middles[:, 2] < 13e-3)].T
    assert len(z) > 1000
    assert np.abs(FIT._depth(np.hypot(x, y), np.arctan2(y, x), z)).max() < 1e-12


def test_points_of_the_bolt_are_on_its_mesh():
    bolt = metric_bolt(MetricThread(16e-3, PITCH, GAP, chamfer=1.2e-3), 30e-3)
    assert distance_to_surface(FIT._on_bolt[::25], *bolt).max() < 1e-12


def test_depths_are_distances_to_a_fine_mesh():
    """Of points up to 60 micrometres in it or out of it, where a bolt can be: below the roots of the nut."""
    rng = np.random.default_rng(0)
    nut = metric_nut(MetricThread(16e-3, PITCH, chamfer=1.2e-3, segments=192), 6e-3, 24e-3)
    fit = ThreadFit(16e-3, PITCH, 30e-3, 6e-3, GAP, 1.2e-3)
    x, y, z = rng.uniform([-8e-3, -8e-3, 0.0], [8e-3, 8e-3, 6e-3], (4000, 3)).T
    depth = fit._depth(np.hypot(x, y), np.arctan2(y, x), z)
    near = (np.abs(depth) < 6e-5) & (np.hypot(x, y) < 8e-3)
    points, depth = np.column_stack([x, y, z])[near], depth[near]
    assert len(points) > 100
    inside = winding_numbers(points, *nut) > 0.5
    off = np.where(inside, 1.0, -1.0) * distance_to_surface(points, *nut) - depth
    # Flanks lean along the helix, and chords are 1 micrometre off, those of chamfers more.
    assert np.abs(off).max() < 2e-6
