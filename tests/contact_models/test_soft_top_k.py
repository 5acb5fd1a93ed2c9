"""Soft top-K selection against sorting, and contact points against where boxes touch."""

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


def test_corners_of_a_small_box_on_a_large_one_are_its_contact_points():
    floor = OrientedCloud.from_geometry(geometry.box(0.4, 0.4, 0.1), 0.05)
    small = OrientedCloud.from_geometry(geometry.box(0.08, 0.08, 0.08), 0.03)
    X_WS = pose((0.01, 0.02, 0.05 + 0.04 - 0.002))
    points = collision_points(floor, np.eye(4), small, X_WS, 8, (1e-5, 1e-4, 1e-3))
    assert points.shape == (8, 3)
    # All the eight are where the two touch, but for the size of a cell of the floor's.
    assert np.abs(points[:, :2] - X_WS[:2, 3]).max() < 0.04 + 0.025
    np.testing.assert_allclose(points[:, 2], 0.049, atol=2e-3)


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
        (
            lambda: collision_points(
                OrientedCloud.half_space(), np.eye(4), sphere_cloud(0.1, 9), np.eye(4), 2, (1, 1, 1)
            ),
            "cloud",
        ),
    ],
)
def test_bad_input_is_named(call, element):
    with pytest.raises(InputError) as error:
        call()
    assert error.value.element == element
