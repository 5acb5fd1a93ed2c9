"""Hulls as half spaces, and closest points against the conditions that define them."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from hydro_sim_core import InputError, geometry
from hydro_sim_core.contact.equivalent_point import SupportHull, closest_points
from support.contact_models.rigid_poses import pose, poses

#: An L with arms of 1 m, 0.1 m wide.
L_SHAPE = np.array([[0, 0], [1, 0], [1, 0.1], [0.1, 0.1], [0.1, 1], [0, 1]])
UP = np.array([0.0, 0.0, 1.0])


def flat(outline, z=0.0):
    return np.column_stack([outline, np.full(len(outline), z)])


L_PATCH = SupportHull.from_patch(flat(L_SHAPE), -UP)


def test_a_box_has_six_faces_and_eight_vertices():
    hull = SupportHull.from_geometry(geometry.box(0.3, 0.2, 0.1), (0.05, 0.0, 0.0))
    assert hull.normals.shape == (6, 3)
    assert len(hull.vertices) == 8
    np.testing.assert_allclose(np.sort(hull.offsets), [0.05, 0.05, 0.1, 0.1, 0.1, 0.2], rtol=1e-12)


def test_an_extruded_l_has_the_face_that_spans_its_notch():
    hull = SupportHull.from_vertices(np.vstack([flat(L_SHAPE), flat(L_SHAPE, 0.2)]))
    assert len(hull.vertices) == 10
    assert len(hull.normals) == 7
    across = np.flatnonzero((hull.normals[:, :2] > 0.1).all(axis=1))
    np.testing.assert_allclose(hull.normals[across], [[0.5**0.5, 0.5**0.5, 0.0]], atol=1e-12)


def test_a_patch_is_its_outline_open_on_top():
    hull = SupportHull.from_patch(flat(L_SHAPE, -0.3), (0, 0, -2.0))
    inside = np.array([[0.5, 0.5, 7.0], [0.5, 0.5, -0.29]])
    outside = np.array([[0.5, 0.5, -0.31], [0.6, 0.6, 0.0], [-0.01, 0.5, 0.0]])
    assert (inside @ hull.normals.T <= hull.offsets).all()
    assert (outside @ hull.normals.T > hull.offsets).any(axis=1).all()


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(4, 12), X=poses())
def test_closest_points_satisfy_their_conditions(seed, count, X):
    """Eqs. 7 to 11 with G = {z <= 0}, for any face k that is active."""
    points = np.random.default_rng(seed).uniform(-1, 1, (count, 3))
    assume(ConvexHull(points).volume > 1e-3)
    hull = SupportHull.from_vertices(points)
    nearest = closest_points(hull, X)
    gap = (points @ X[2, :3] + X[2, 3]).min()

    normals = hull.normals @ X[:3, :3].T
    f = normals @ (nearest.a1 - X[:3, 3]) - hull.offsets
    np.testing.assert_allclose(nearest.a1[2], gap, atol=1e-8)
    assert f.max() <= 1e-8
    assert nearest.face_multipliers.min() >= 0.0
    np.testing.assert_allclose(nearest.face_multipliers * f, 0.0, atol=1e-8)
    assert nearest.a2[2] <= 0.0
    for k in np.flatnonzero(nearest.face_multipliers > 1e-3):
        l_j = 1.0 / nearest.face_multipliers[k]
        gradient = normals[k] + sum(
            l_j * nearest.face_multipliers[i] * normals[i] for i in range(len(normals)) if i != k
        )
        np.testing.assert_allclose(gradient, -l_j * UP, atol=1e-9 * l_j)
        l_k = max(gap, 0.0) / l_j
        np.testing.assert_allclose(nearest.a1 - nearest.a2, -l_k * gradient, atol=1e-8)


def test_a_flat_face_is_closest_at_its_middle():
    nearest = closest_points(SupportHull.from_geometry(geometry.box(0.3, 0.2, 0.1)), pose((1.0, 2.0, 0.25)))
    np.testing.assert_allclose(nearest.a1, [1.0, 2.0, 0.2], atol=1e-12)
    np.testing.assert_allclose(nearest.a2, [1.0, 2.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ("call", "element"),
    [
        (lambda: SupportHull.from_vertices(np.zeros((4, 2))), "vertices"),
        (lambda: SupportHull.from_vertices(np.full((4, 3), np.nan)), "vertices"),
        (lambda: SupportHull.from_vertices(flat(L_SHAPE)), "vertices"),
        (lambda: SupportHull.from_patch(flat(L_SHAPE), (0, 0, 0)), "normal"),
        (lambda: SupportHull.from_patch(flat(L_SHAPE), (0, 1, 1)), "vertices"),
        (lambda: SupportHull.from_patch(flat(L_SHAPE[:2]), (0, 0, 1)), "vertices"),
        (lambda: SupportHull.from_patch(flat([[0, 0], [1, 1], [2, 2]]), (0, 0, 1)), "vertices"),
        (lambda: SupportHull.from_geometry(geometry.half_space()), "geometry"),
        (lambda: SupportHull.from_geometry(geometry.box(1, 1, 1), (0, 0)), "p_GBo"),
        (lambda: SupportHull.from_geometry(geometry.sphere(0.1, modulus=1e5)), "geometry"),
        (lambda: closest_points(L_PATCH, pose((0, 0, 0), (3.0, 0, 0))), "X_GB"),
        (lambda: closest_points(L_PATCH, np.eye(3)), "X_GB"),
    ],
)
def test_bad_input_is_named(call, element):
    with pytest.raises(InputError) as error:
        call()
    assert error.value.element == element
