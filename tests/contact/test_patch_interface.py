"""What a patch holds, and what moving, swapping and splitting must not change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

import hydro_sim_core as hs
from support.contact.patches import moment_of_pressure
from support.contact.poses import pose, random_direction, random_rotation

PROPERTY = settings(max_examples=25, deadline=None)
SEED = st.integers(0, 10**6)
SOFT = {
    "sphere": hs.geometry.sphere(0.1, resolution=0.06, modulus=1e5, margin=1e-3),
    "box": hs.geometry.box(0.16, 0.2, 0.18, modulus=3e5),
    "capsule": hs.geometry.capsule(0.09, 0.1, resolution=0.08, modulus=2e5),
}
PARTNERS = {
    **SOFT,
    "rigid box": hs.geometry.box(0.16, 0.2, 0.18),
    "rigid half space": hs.geometry.half_space(),
    "compliant half space": hs.geometry.half_space(1e5, slab_thickness=0.1),
}
PAIRS = [(a, b) for a in SOFT for b in PARTNERS]


def touching_poses(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses of two bodies whose centres are 0.07 m apart; a half space B is cut by A, its normal towards A."""
    rng = np.random.default_rng(seed)
    X_WB = pose(rng.uniform(-0.5, 0.5, 3), random_rotation(rng))
    direction = random_direction(rng)
    direction[2] = 0.3 + abs(direction[2])
    X_BA = pose(0.07 * direction / np.linalg.norm(direction), random_rotation(rng))
    return X_WB @ X_BA, X_WB


def patch_of(a, X_WA, b, X_WB, representation="polygon", **options) -> hs.contact.ContactPatch:
    """The patch, which must not be empty."""
    patch = hs.contact.compute_patch(a, X_WA, b, X_WB, representation=representation, **options)
    assert patch.num_faces > 0
    assert np.linalg.norm(patch.force_on_b) > 1e-3
    return patch


@pytest.mark.parametrize("representation", ["polygon", "triangle"])
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_what_a_patch_holds(a, b, representation):
    X_WA, X_WB = touching_poses(7)
    patch = patch_of(SOFT[a], X_WA, PARTNERS[b], X_WB, representation)
    count = patch.num_faces
    for values, shape in [
        (patch.force_on_b, (3,)),
        (patch.moment_on_b((0.1, 0.2, 0.3)), (3,)),
        (patch.centroids, (count, 3)),
        (patch.normals, (count, 3)),
        (patch.areas, (count,)),
        (patch.pressures, (count,)),
        (patch.gradients, (count, 2)),
    ]:
        assert values.shape == shape
        assert values.dtype == np.float64
    assert np.isfinite(np.column_stack([patch.centroids, patch.normals, patch.areas, patch.pressures])).all()
    assert type(patch.area) is float
    assert type(patch.energy) is float
    assert patch.energy > 0.0

    np.testing.assert_allclose(np.linalg.norm(patch.normals, axis=1), 1.0, rtol=1e-12)
    # Round-off doubles some corners of polygons; between two such a fan has a triangle without area.
    assert (patch.areas >= 0.0).all() if representation == "triangle" else (patch.areas > 0.0).all()
    rigid = [False, PARTNERS[b].is_rigid]
    np.testing.assert_array_equal(np.isinf(patch.gradients), np.tile(rigid, (count, 1)))

    push = patch.areas * np.maximum(patch.pressures, 0.0)
    np.testing.assert_allclose(patch.force_on_b, push @ patch.normals, rtol=1e-12)
    point = (0.1, 0.2, 0.3)
    np.testing.assert_allclose(
        patch.moment_on_b(point), moment_of_pressure(patch, point), atol=1e-12 * push.sum()
    )
    assert patch.area == pytest.approx(patch.areas[patch.pressures >= 0.0].sum(), rel=1e-12)


@pytest.mark.heavy(4)
@pytest.mark.parametrize("representation", ["polygon", "triangle"])
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_polygons_are_the_faces(a, b, representation):
    """Area, centroid, plane and pressures of each polygon are those of its row."""
    X_WA, X_WB = touching_poses(8)
    patch = patch_of(SOFT[a], X_WA, PARTNERS[b], X_WB, representation)
    assert len(patch.polygons) == len(patch.vertex_pressures) == patch.num_faces
    for i, vertices in enumerate(patch.polygons):
        assert vertices.shape[1] == 3
        assert len(vertices) == 3 if representation == "triangle" else 3 <= len(vertices) <= 8
        arms = vertices - vertices[0]
        parts = 0.5 * np.cross(arms[1:-1], arms[2:])
        area = np.linalg.norm(parts.sum(axis=0))
        size = np.abs(arms).max()
        assert patch.areas[i] == pytest.approx(area, rel=1e-9, abs=1e-12 * size**2)
        assert np.abs((vertices - patch.centroids[i]) @ patch.normals[i]).max() <= 1e-12
        inside = vertices.min(axis=0) - 1e-12, vertices.max(axis=0) + 1e-12
        assert ((inside[0] <= patch.centroids[i]) & (patch.centroids[i] <= inside[1])).all()
        if len(vertices) == 3:
            assert patch.pressures[i] == pytest.approx(patch.vertex_pressures[i].mean(), rel=1e-9, abs=1e-6)


@pytest.mark.heavy(3)
@pytest.mark.parametrize(("a", "b"), PAIRS)
@PROPERTY
@given(seed=SEED)
def test_moving_both_bodies_moves_the_patch(a, b, seed):
    X_WA, X_WB = touching_poses(seed)
    rng = np.random.default_rng(seed + 1)
    X_VW = pose(rng.uniform(-3.0, 3.0, 3), random_rotation(rng))
    here = hs.contact.compute_patch(SOFT[a], X_WA, PARTNERS[b], X_WB)
    there = hs.contact.compute_patch(SOFT[a], X_VW @ X_WA, PARTNERS[b], X_VW @ X_WB)
    size = np.linalg.norm(here.force_on_b)
    point = X_WB[:3, 3]
    moved = X_VW[:3, :3] @ point + X_VW[:3, 3]
    np.testing.assert_allclose(there.force_on_b, X_VW[:3, :3] @ here.force_on_b, atol=1e-10 * size)
    np.testing.assert_allclose(
        there.moment_on_b(moved), X_VW[:3, :3] @ here.moment_on_b(point), atol=1e-10 * size
    )
    assert there.area == pytest.approx(here.area, rel=1e-9)
    assert there.energy == pytest.approx(here.energy, rel=1e-9)
    if (
        there.num_faces == here.num_faces
    ):  # slivers come and go with round-off, and so does the order of faces
        distances, same = cKDTree(here.centroids @ X_VW[:3, :3].T + X_VW[:3, 3]).query(there.centroids)
        assert distances.max(initial=0.0) <= 1e-6
        large = there.areas > 1e-9 * there.area
        np.testing.assert_allclose(
            there.normals[large], here.normals[same[large]] @ X_VW[:3, :3].T, atol=1e-9
        )


@pytest.mark.heavy(3)
@pytest.mark.parametrize(("a", "b"), PAIRS)
@PROPERTY
@given(seed=SEED)
def test_swapping_the_bodies_turns_the_wrench_around(a, b, seed):
    X_WA, X_WB = touching_poses(seed)
    forward = hs.contact.compute_patch(SOFT[a], X_WA, PARTNERS[b], X_WB)
    backward = hs.contact.compute_patch(PARTNERS[b], X_WB, SOFT[a], X_WA)
    size = np.linalg.norm(forward.force_on_b)
    point = [0.1, -0.2, 0.3]
    np.testing.assert_allclose(backward.force_on_b, -forward.force_on_b, atol=1e-11 * size)
    np.testing.assert_allclose(backward.moment_on_b(point), -forward.moment_on_b(point), atol=1e-11 * size)
    assert backward.area == pytest.approx(forward.area, rel=1e-10)
    assert backward.energy == pytest.approx(forward.energy, rel=1e-10)
    mean = forward.areas @ forward.normals
    np.testing.assert_allclose(backward.areas @ backward.normals, -mean, atol=1e-11)
    slopes = (np.sort(forward.gradients, axis=0), np.sort(backward.gradients[:, ::-1], axis=0))
    if len(slopes[0]) == len(slopes[1]):
        np.testing.assert_allclose(*slopes, rtol=1e-9)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_triangles_are_the_fans_of_the_polygons(a, b):
    """A pressure that is linear on a polygon has the same force in triangles where all of them are pressed."""
    X_WA, X_WB = touching_poses(9)
    # Without those that lie across the margin, upright: they stay whole.
    whole = patch_of(SOFT[a], X_WA, PARTNERS[b], X_WB, every_polygon=False)
    split = patch_of(SOFT[a], X_WA, PARTNERS[b], X_WB, "triangle", every_polygon=False)
    owner = np.repeat(np.arange(whole.num_faces), [len(p) for p in whole.polygons])
    assert split.num_faces == len(owner)
    areas = np.bincount(owner, split.areas)
    np.testing.assert_allclose(areas, whole.areas, rtol=1e-9, atol=1e-18)
    forces = np.bincount(owner, split.areas * split.pressures)
    np.testing.assert_allclose(forces, whole.areas * whole.pressures, atol=1e-9 * np.abs(forces).max())
    np.testing.assert_array_equal(split.normals, whole.normals[owner])
    np.testing.assert_array_equal(split.gradients, whole.gradients[owner])
    for center, vertices in zip(whole.centroids[owner], split.polygons, strict=True):
        np.testing.assert_array_equal(vertices[0], center)


def test_normals_point_from_a_into_b():
    patch = patch_of(SOFT["sphere"], np.eye(4), SOFT["box"], pose([0.0, 0.0, 0.15]))
    assert (patch.normals[:, 2] > 0.5).all()
    assert patch.force_on_b[2] > 0.0


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_bodies_that_do_not_touch(a, b):
    patch = hs.contact.compute_patch(SOFT[a], pose([0.0, 0.0, 2.0]), PARTNERS[b], np.eye(4))
    assert patch.num_faces == 0
    assert patch.polygons == []
    assert patch.area == 0.0
    assert patch.energy == 0.0
    assert patch.peak_pressure == 0.0
    assert np.array_equal(patch.force_on_b, np.zeros(3))
    assert np.array_equal(patch.moment_on_b((1.0, 2.0, 3.0)), np.zeros(3))


def test_more_faces_than_first_expected():
    """The buffer grows when a pair has more faces than it holds: here, those of a disc between two balls."""
    a = hs.geometry.sphere(0.1, resolution=0.02, modulus=1e5)
    b = hs.geometry.sphere(0.1, resolution=0.02, modulus=1.001e5)
    patch = hs.contact.compute_patch(
        a, np.eye(4), b, pose([0.05, 0.06, np.sqrt(0.16**2 - 0.05**2 - 0.06**2)])
    )
    assert patch.num_faces > 256
    disc = np.pi * 0.06**2
    assert 0.95 * disc < patch.area < disc  # the facets lie inside the balls
