"""Soft top-K selection against sorting, and contact points against the corners that weigh most."""

import itertools

import array_api_strict
import numpy as np
import pytest

from hydro_sim_core import InputError, geometry
from hydro_sim_core.contact.soft_distance import OrientedCloud, collision_points, soft_top_k
from support.contact_models.clouds import sphere_cloud
from support.contact_models.rigid_poses import pose


@pytest.mark.parametrize("seed", range(3))
def test_cold_selection_is_sorting(seed):
    values = np.random.default_rng(seed).permutation(np.linspace(0.0, 1.0, 12))
    selection = soft_top_k(values, 3, 2e-3)
    np.testing.assert_allclose(selection.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_array_equal(selection.argmax(axis=1), np.argsort(-values)[:3])
    assert selection.max(axis=1).min() > 0.99


def test_hot_selection_is_even_and_no_value_is_selected_twice():
    values = np.array([0.1, 0.9, 0.4, 0.3, 0.2])
    np.testing.assert_allclose(soft_top_k(values, 2, 1e4), 0.2, atol=1e-3)
    for epsilon in (1e-2, 1e-1, 1.0):
        selection = soft_top_k(values, 2, epsilon, iterations=2000)
        np.testing.assert_allclose(selection.sum(axis=1), 1.0, atol=1e-9)
        assert selection.sum(axis=0).max() <= 1.0 + 1e-9


def test_selection_is_smooth():
    values = np.array([0.1, 0.9, 0.4, 0.3, 0.2])
    step, direction = 1e-5, np.array([0.0, 0.0, 1.0, -0.5, 0.2])
    at = [soft_top_k(values + t * step * direction, 2, 0.05) for t in (-2, -1, 0, 1, 2)]
    slope, far_slope = (at[3] - at[1]) / (2 * step), (at[4] - at[0]) / (4 * step)
    assert np.abs(slope).max() > 0.1
    np.testing.assert_allclose(slope, far_slope, atol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_equal_values_share_their_places(k):
    """The optimal plan is as symmetric as its costs: each of m equal values has an mth of each of their places."""
    values = np.array([0.5, 1.0, 0.8, 1.0, 0.5, 0.0, 0.5])
    by_place = np.array([[1, 3], [1, 3], [2], [0, 4, 6], [0, 4, 6]], dtype=object)
    expected = np.zeros((k, 7))
    for row, same in zip(expected, by_place, strict=False):
        row[same] = 1.0 / len(same)
    np.testing.assert_allclose(soft_top_k(values, k, 1e-3), expected, atol=1e-9)


@pytest.mark.parametrize(
    "same", [[1, 3, 2, 7], np.array([1, 3, 2, 7]), array_api_strict.asarray([1, 3, 2, 7])]
)
def test_integers_and_lists_are_numbers(same):
    expected = soft_top_k(np.array([1.0, 3.0, 2.0, 7.0]), 2, 0.01)
    np.testing.assert_array_equal(np.asarray(soft_top_k(same, 2, 0.01)), expected)
    assert expected[0, 3] > 0.99


FLOOR = OrientedCloud.from_geometry(geometry.box(0.4, 0.4, 0.1), 0.05)
SMALL = OrientedCloud.from_geometry(geometry.box(0.08, 0.08, 0.08), 0.03)
EPSILONS = (1e-5, 1e-4, 1e-4)


def corners_by_weight(a, b, X_WB):
    """Corners (V, 3) of the cells of both clouds with their weights (V,), eqs. 9, 11 and 12 in plain sums."""
    clouds, poses = (b, a), (X_WB, np.eye(4))
    heights = []
    for own, other in ((0, 1), (1, 0)):
        X = np.linalg.inv(poses[other]) @ poses[own]
        for p in clouds[own].points @ X[:3, :3].T + X[:3, 3]:
            apart = p - clouds[other].points
            squares = (apart**2).sum(axis=1)
            near = np.exp(-(squares - squares.min()) / EPSILONS[0])
            heights.append(near / near.sum() @ (apart * clouds[other].normals).sum(axis=1))
    weights = np.exp(-(np.array(heights) - min(heights)) / EPSILONS[1])
    of_cells = np.split(weights / weights.sum(), [len(b.points)])
    sums = [np.zeros(len(cloud.vertices)) for cloud in clouds]
    for total, cloud, of_cell in zip(sums, clouds, of_cells, strict=True):
        for face, weight in zip(cloud.faces, of_cell, strict=True):
            total[face] += weight
    places = [cloud.vertices @ X[:3, :3].T + X[:3, 3] for cloud, X in zip(clouds, poses, strict=True)]
    return np.concatenate(places), np.concatenate(sums)


@pytest.mark.parametrize(("tilt", "k"), [((0.0, 0.0, 0.0), 6), ((0.01, 0.02, 0.3), 4)])
def test_points_are_the_corners_of_most_weight_and_the_middle_of_those_of_equal_weight(tilt, k):
    X_WB = pose((0.01, 0.02, 0.05 + 0.04 - 0.002), tilt)
    places, weights = corners_by_weight(FLOOR, SMALL, X_WB)
    ranked = np.sort(weights)[::-1][:k]
    expected = [places[np.isclose(weights, weight, rtol=1e-6)].mean(axis=0) for weight in ranked]
    points = collision_points(FLOOR, np.eye(4), SMALL, X_WB, k, EPSILONS)
    np.testing.assert_allclose(points, expected, atol=1e-6)
    seen = (points - X_WB[:3, 3]) @ X_WB[:3, :3]
    if k == 6:
        # The middle of the contact and four corners about it weigh the same: all four places are the middle.
        np.testing.assert_allclose(seen[2:], np.tile([0.0, 0.0, -0.04], (4, 1)), atol=1e-6)
    else:
        # One of the inner corners, where more cells meet than at the deepest one, comes before that.
        np.testing.assert_allclose(np.abs(seen[:2]), [[0.02, 0.02, 0.04], [0.04, 0.04, 0.04]], atol=1e-6)


def box_of_six_cells(size):
    corners = 0.5 * np.array(size) * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    normals = np.concatenate([np.eye(3), -np.eye(3)])
    faces = np.array([np.flatnonzero(corners @ normal > 0.0) for normal in normals])
    return OrientedCloud(corners[faces].mean(axis=1), normals, None, corners, faces)


def test_corners_of_parallel_faces_are_no_points_but_their_middle_is():
    """The paper's eight points of two boxes: the eight corners of the faces that touch weigh the same."""
    floor, small = box_of_six_cells((0.4, 0.4, 0.1)), box_of_six_cells((0.08, 0.08, 0.08))
    X_WB = pose((0.01, 0.02, 0.05 + 0.04 - 0.002))
    points = collision_points(floor, np.eye(4), small, X_WB, 8, (1e-5, 1e-4, 1e-3))
    np.testing.assert_allclose(points, np.tile([0.005, 0.01, 0.049], (8, 1)), atol=1e-9)


def test_weights_go_over_to_corners_as_equation_12_says():
    cloud = OrientedCloud.from_geometry(geometry.box(0.4, 0.4, 0.1), 0.2)
    from hydro_sim_core.contact.soft_distance.top_k import _to_corners

    weights = np.random.default_rng(5).random(len(cloud.points))
    belongs = (cloud.faces[:, :, None] == np.arange(len(cloud.vertices))).any(axis=1)
    np.testing.assert_allclose(_to_corners(cloud, weights), weights @ belongs, rtol=1e-12)


def test_any_array_library_will_do():
    xp = array_api_strict
    a, b = sphere_cloud(0.1, 80), sphere_cloud(0.06, 50)
    X_WB = pose((0.1, 0.1, 0.05))
    epsilons = (1e-3, 1e-3, 1e-1)
    expected = collision_points(a, np.eye(4), b, X_WB, 3, epsilons)
    strict = (cloud.as_arrays_of(xp) for cloud in (a, b))
    points = collision_points(
        next(strict), xp.asarray(np.eye(4)), next(strict), xp.asarray(X_WB), 3, epsilons
    )
    np.testing.assert_allclose(np.asarray(points), expected, rtol=1e-11)


@pytest.mark.parametrize(
    ("call", "element"),
    [
        (lambda: soft_top_k(np.arange(3.0), 3, 0.1), "values"),
        (lambda: soft_top_k(np.arange(3.0), 0, 0.1), "k"),
        (lambda: soft_top_k(np.arange(3.0), 2, 0.0), "epsilon"),
        (lambda: soft_top_k(np.arange(3.0), 2, 1e-320), "epsilon"),
        (lambda: soft_top_k(np.arange(3.0), 2, [0.1]), "epsilon"),
        (lambda: soft_top_k(np.arange(3.0), 2, 0.1, 0), "iterations"),
        (lambda: soft_top_k(np.arange(3.0), 2, 0.1, 7.5), "iterations"),
        (lambda: soft_top_k(np.array([1.0, np.nan, 3.0]), 1, 0.1), "values"),
        (lambda: soft_top_k(np.array([1.0, np.inf, 3.0]), 1, 0.1), "values"),
        (lambda: soft_top_k(np.arange(3, dtype=np.float16), 1, 0.1), "values"),
        (lambda: soft_top_k(["a", "b", "c"], 1, 0.1), "values"),
        (lambda: soft_top_k([[1.0, 2.0], [3.0]], 1, 0.1), "values"),
        (
            lambda: collision_points(
                OrientedCloud.half_space(), np.eye(4), sphere_cloud(0.1, 9), np.eye(4), 2, (1, 1, 1)
            ),
            "cloud",
        ),
        (
            lambda: collision_points(FLOOR, np.eye(4), SMALL, np.eye(4), 2, (1e-4, 5e-324, 1e-2)),
            "epsilons[1]",
        ),
        (lambda: collision_points(FLOOR, np.eye(4), SMALL, np.eye(4), 2, (1e-4, 1e-2)), "epsilons"),
        (lambda: collision_points(FLOOR, np.eye(3), SMALL, np.eye(4), 2, EPSILONS), "X_WA"),
    ],
)
def test_bad_input_is_named(call, element):
    with pytest.raises(InputError) as error:
        call()
    assert error.value.element == element
