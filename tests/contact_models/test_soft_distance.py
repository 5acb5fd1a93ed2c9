"""Soft signed distances against closed forms, finite differences and another array library."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hydro_sim_core import InputError, geometry
from hydro_sim_core.contact.soft_distance import (
    OrientedCloud,
    SoftContactModel,
    anisotropic_gaussians,
    cloud_of_geometry,
    collision_points,
    contact_wrench,
    general_distance,
    separation,
    soft_distance,
    soft_distance_gradient,
    soft_top_k,
)
from hydro_sim_core.contact.soft_distance import cloud as cloud_module
from support.contact_models.clouds import plane_cloud, sphere_cloud
from support.contact_models.memory import peak_memory
from support.contact_models.rigid_poses import pose, poses

RADIUS = 0.1
DIRECTION = np.array([0.48, -0.6, 0.64])


def test_cloud_of_a_mesh_has_the_centroids_and_outward_normals_of_its_triangles():
    cloud = OrientedCloud.from_geometry(geometry.sphere(RADIUS, resolution=0.02))
    cosine = np.einsum("ij,ij->i", cloud.points, cloud.normals) / np.linalg.norm(cloud.points, axis=1)
    # A normal passes through the circumcentre of its triangle, which is a third of an edge from the centroid.
    assert cosine.min() > np.cos(0.02 / (3.0 * RADIUS))
    compliant = OrientedCloud.from_geometry(geometry.sphere(RADIUS, resolution=0.02, modulus=1e5))
    np.testing.assert_array_equal(cloud.points, compliant.points)


@pytest.mark.parametrize("resolution", [0.05, 0.013])
def test_splitting_covers_a_box_evenly(resolution):
    cloud = OrientedCloud.from_geometry(geometry.box(0.2, 0.1, 0.06), resolution)
    on_face = np.abs(cloud.points) / (0.1, 0.05, 0.03)
    np.testing.assert_allclose(on_face.max(axis=1), 1.0, rtol=1e-12)
    outward = cloud.points[np.arange(len(on_face)), on_face.argmax(axis=1)]
    np.testing.assert_allclose(np.sum(cloud.normals * cloud.points, axis=1), np.abs(outward), rtol=1e-12)
    grid = geometry.box(0.2, 0.1, 0.06).vertices * 0.9
    nearest = np.linalg.norm(cloud.points[:, None] - grid * (1 / 0.9), axis=2).min(axis=0)
    assert nearest[np.abs(grid).max(axis=1) > 0].max() < resolution


@pytest.mark.parametrize("epsilon1", [1e-1, 1e-4, 1e-8])
def test_plane_is_exact_at_any_temperature(epsilon1):
    points = np.array([[0.0, 0.0, 0.3], [0.02, -0.7, -1e-3], [5.0, 5.0, 2.0]])
    soft = soft_distance(plane_cloud(1.0, 21), points, epsilon1)
    np.testing.assert_allclose(soft, points[:, 2], atol=1e-14)


@pytest.mark.parametrize("distance", [0.07, 0.1, 0.15])
@pytest.mark.parametrize("epsilon1", [1e-2, 1e-3, 1e-4])
def test_dense_sphere_is_the_mean_of_a_von_mises_fisher_distribution(distance, epsilon1):
    """On a sphere the weights are exp(kappa cos) with kappa = 2 R r / epsilon1, whose mean cosine is known."""
    kappa = 2.0 * RADIUS * distance / epsilon1
    expected = distance * (1.0 / np.tanh(kappa) - 1.0 / kappa) - RADIUS
    soft = soft_distance(sphere_cloud(RADIUS, 20_000), distance * DIRECTION[None], epsilon1)
    np.testing.assert_allclose(soft, [expected], atol=2e-6)


def test_a_hot_surface_is_an_ellipsoid():
    """To first order in 1/epsilon1, eq. 9 is ``-mean(n.p_i) + 2/epsilon1 p.mean(p_i n_i).p`` (the paper's Fig. 4)."""
    epsilon1 = 1e4
    cloud = OrientedCloud.from_geometry(geometry.box(0.2, 0.1, 0.06), 0.03)
    spread = np.diag(cloud.points.T @ cloud.normals) / len(cloud.points)
    semi_axes = np.sqrt(0.5 * epsilon1 * spread.sum() / spread)
    # Its faces have cells of unlike sizes; where all are alike, the ellipsoid is a sphere.
    assert semi_axes.max() > 1.2 * semi_axes.min()
    even = cloud_of_geometry(geometry.box(0.2, 0.1, 0.06), 400)
    of_axes = np.diag(even.points.T @ even.normals)
    assert of_axes.max() < 1.02 * of_axes.min()
    for direction in sphere_cloud(1.0, 30).points:
        on_ellipsoid = semi_axes * direction
        inside, outside = soft_distance(cloud, np.outer([0.999, 1.001], on_ellipsoid), epsilon1)
        assert inside < 0.0 < outside


def test_error_falls_linearly_with_the_temperature():
    cloud = sphere_cloud(RADIUS, 40_000)
    epsilons = np.array([8e-4, 4e-4, 2e-4, 1e-4])
    errors = [soft_distance(cloud, 0.12 * DIRECTION[None], e)[0] - 0.02 for e in epsilons]
    np.testing.assert_allclose(errors, -epsilons / (2.0 * RADIUS), rtol=2e-2)


def test_error_falls_with_the_square_of_the_mesh_size():
    """With epsilon1 = h^2, halving the edge length h divides the error by four."""
    errors = []
    for h in (0.04, 0.02, 0.01):
        cloud = OrientedCloud.from_geometry(geometry.sphere(RADIUS, resolution=h))
        points = sphere_cloud(0.11, 200).points
        errors.append(np.abs(soft_distance(cloud, points, h * h) - 0.01).max())
    assert errors[-1] < 1e-3
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 4.0, rtol=0.2)


@settings(max_examples=50, deadline=None)
@given(X=poses(), epsilon1=st.sampled_from([1e-2, 1e-3]))
def test_gradient_is_that_of_finite_differences(X, epsilon1):
    cloud = OrientedCloud.from_geometry(geometry.box(0.2, 0.1, 0.06), 0.03)
    points = 0.15 * X[:3, :3]
    step = 1e-5
    ahead, behind = (
        np.column_stack([soft_distance(cloud, points + h * e, epsilon1) for e in np.eye(3)])
        for h in (step, -step)
    )
    gradient = soft_distance_gradient(cloud, points, epsilon1)
    np.testing.assert_allclose(gradient, (ahead - behind) / (2 * step), atol=1e-6)


def test_general_kernel_with_equal_gaussians_is_equation_9():
    cloud = OrientedCloud.from_geometry(geometry.box(0.2, 0.1, 0.06), 0.03)
    points, epsilon1 = sphere_cloud(0.12, 40).points, 1e-3
    equal = anisotropic_gaussians(np.tile(np.eye(3) / epsilon1, (len(cloud.points), 1, 1)))
    expected = soft_distance(cloud, points, epsilon1)
    np.testing.assert_allclose(general_distance(cloud, points, equal), expected, rtol=1e-11)


def test_flat_gaussians_keep_the_far_side_of_a_thin_plate_out():
    """Basis functions that fall faster along the normal; with round ones the other side weighs almost as much."""
    plate = OrientedCloud.from_geometry(geometry.box(0.2, 0.2, 0.004), 0.02)
    across = plate.normals[:, :, None] * plate.normals[:, None, :]
    flat = anisotropic_gaussians(np.eye(3) / 4e-4 + across * (1e6 - 1 / 4e-4))
    above = np.array([[0.01, 0.02, 0.003]])
    np.testing.assert_allclose(general_distance(plate, above, flat), 0.001, atol=1e-5)
    assert soft_distance(plate, above, 4e-4)[0] < 0.0


def test_general_kernel_divides_work_into_blocks(monkeypatch):
    cloud, points = sphere_cloud(RADIUS, 60), sphere_cloud(0.13, 31).points
    basis = anisotropic_gaussians(np.tile(np.diag([900.0, 1200.0, 800.0]), (60, 1, 1)))
    whole = general_distance(cloud, points, basis)
    needed = peak_memory(lambda: general_distance(cloud, points, basis))
    monkeypatch.setattr(cloud_module, "_PAIRS_A_BLOCK", 400)
    np.testing.assert_allclose(general_distance(cloud, points, basis), whole, rtol=1e-13)
    assert peak_memory(lambda: general_distance(cloud, points, basis)) < 0.2 * needed


def test_gradient_of_a_dense_sphere_is_the_normal():
    gradient = soft_distance_gradient(sphere_cloud(RADIUS, 20_000), 0.12 * DIRECTION[None], 1e-3)
    np.testing.assert_allclose(gradient[0], DIRECTION, atol=1e-4)


@pytest.mark.parametrize("gap", [-0.004, 0.0, 0.02])
def test_separation_of_spheres_tends_to_their_gap(gap):
    a, b = sphere_cloud(0.1, 2000), sphere_cloud(0.06, 1000)
    X_WB = pose((0.16 + gap) * DIRECTION)
    errors = [float(separation(a, pose(), b, X_WB, eps * 1e-2, eps)) - gap for eps in (4e-3, 2e-3, 1e-3)]
    assert abs(errors[-1]) < 1.5e-3
    np.testing.assert_array_less(np.abs(errors[1:]), np.abs(errors[:-1]))


@settings(max_examples=40, deadline=None)
@given(X=poses(3.0), X_AB=poses(0.2))
def test_separation_depends_on_the_relative_pose_only_and_is_symmetric(X, X_AB):
    a = OrientedCloud.from_geometry(geometry.box(0.2, 0.1, 0.06), 0.06)
    b = sphere_cloud(0.05, 100)
    expected = separation(a, np.eye(4), b, X_AB, 1e-3, 1e-2)
    np.testing.assert_allclose(separation(a, X, b, X @ X_AB, 1e-3, 1e-2), expected, atol=1e-12)
    np.testing.assert_allclose(separation(b, X @ X_AB, a, X, 1e-3, 1e-2), expected, atol=1e-12)


def test_neither_far_away_origins_nor_tiny_temperatures_overflow():
    cloud = sphere_cloud(RADIUS, 500)
    shift = np.array([1e3, -2e3, 5e2])
    far = OrientedCloud(cloud.points + shift, cloud.normals)
    for epsilon1 in (1e-12, 1e-3):
        near = soft_distance(cloud, 0.12 * DIRECTION[None], epsilon1)
        shifted = soft_distance(far, 0.12 * DIRECTION[None] + shift, epsilon1)
        np.testing.assert_allclose(shifted, near, atol=1e-9)
        assert np.all(np.isfinite(soft_distance(cloud, 1e4 * DIRECTION[None], epsilon1)))


def test_blocks_change_nothing_but_the_memory_that_is_needed(monkeypatch):
    cloud, points = sphere_cloud(RADIUS, 300), sphere_cloud(0.13, 71).points
    functions = (soft_distance, soft_distance_gradient)
    whole = [function(cloud, points, 1e-3) for function in functions]
    needed = [peak_memory(lambda f=function: f(cloud, points, 1e-3)) for function in functions]
    monkeypatch.setattr(cloud_module, "_PAIRS_A_BLOCK", 1000)
    for function, expected, most in zip(functions, whole, needed, strict=True):
        np.testing.assert_allclose(function(cloud, points, 1e-3), expected, rtol=1e-12)
        assert peak_memory(lambda f=function: f(cloud, points, 1e-3)) < 0.2 * most
    assert soft_distance(cloud, np.empty((0, 3)), 1e-3).shape == (0,)


def test_any_array_library_will_do():
    """array_api_strict refuses whatever the standard does not promise."""
    xp = array_api_strict
    a, b = sphere_cloud(0.1, 80), sphere_cloud(0.06, 50)
    strict_a, strict_b = (OrientedCloud(xp.asarray(c.points), xp.asarray(c.normals)) for c in (a, b))
    X_WA, X_WB = pose((0.1, 0.2, 0.3), (0.3, 0.1, -2.0)), pose((0.2, 0.2, 0.3), (1.0, 0.1, 0.0))
    soft = separation(strict_a, xp.asarray(X_WA), strict_b, xp.asarray(X_WB), 1e-3, 1e-2)
    assert soft.__array_namespace__() is xp
    np.testing.assert_allclose(float(soft), float(separation(a, X_WA, b, X_WB, 1e-3, 1e-2)), rtol=1e-13)
    gradient = np.asarray(soft_distance_gradient(strict_a, strict_b.points, 1e-3))
    np.testing.assert_allclose(gradient, soft_distance_gradient(a, b.points, 1e-3), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("call", "element"),
    [
        (lambda c: OrientedCloud(c.points[:, :2], c.normals), "points"),
        (lambda c: OrientedCloud(c.points[:0], c.normals[:0]), "points"),
        (lambda c: OrientedCloud([0.0, 0.0, 1.0], c.normals), "points"),
        (lambda c: OrientedCloud(c.points * np.nan, c.normals), "points"),
        (lambda c: OrientedCloud(c.points, c.normals[:-1]), "normals"),
        (lambda c: OrientedCloud(c.points, 2.0 * c.normals), "normals"),
        (lambda c: OrientedCloud("abc", c.normals), "points"),
        (lambda c: OrientedCloud([[1.0, 2.0], [3.0]], c.normals), "points"),
        (lambda c: OrientedCloud(c.points, None), "normals"),
        (lambda c: OrientedCloud(c.points.astype(object), c.normals), "points"),
        (lambda c: OrientedCloud(c.points, c.normals, 1.0), "areas"),
        (lambda c: OrientedCloud(c.points, c.normals, np.ones((10, 2))), "areas"),
        (lambda c: OrientedCloud(c.points, c.normals, -np.ones(10)), "areas"),
        (lambda c: OrientedCloud(c.points, c.normals, None, None, np.zeros((10, 3), int)), "faces"),
        (lambda c: OrientedCloud(c.points, c.normals, None, c.points, [[0, 1, 10]] * 10), "faces"),
        (lambda c: OrientedCloud(c.points, c.normals, None, c.points, [[0, 1, -1]] * 10), "faces"),
        (lambda c: OrientedCloud(c.points, c.normals, None, c.points, [[0, 1, 0.5]] * 10), "faces"),
        (lambda c: OrientedCloud(c.points, c.normals, None, c.points, [0] * 10), "faces"),
        (lambda c: OrientedCloud.from_geometry(geometry.half_space()), "geometry"),
        (lambda c: OrientedCloud.from_geometry(geometry.box(1, 1, 1), "fine"), "resolution"),
        (lambda c: OrientedCloud.from_geometry(geometry.sphere(0.1, modulus=1e5, margin=1e-3)), "geometry"),
        (lambda c: OrientedCloud.from_geometry(geometry.box(1, 1, 1), 0.0), "resolution"),
        (lambda c: OrientedCloud.from_geometry(geometry.box(1, 1, 1), 1e-5), "resolution"),
        (lambda c: soft_distance(c, np.zeros(3), 1e-3), "points"),
        (lambda c: soft_distance_gradient(c, [0.0, 0.0, 0.0], 1e-3), "points"),
        (lambda c: soft_distance(c, np.full((1, 3), np.nan), 1e-3), "points"),
        (lambda c: soft_distance(c, np.zeros((1, 3), complex), 1e-3), "points"),
        (lambda c: soft_distance(c, np.zeros((1, 3)), -1.0), "epsilon1"),
        (lambda c: soft_distance(c, np.zeros((1, 3)), None), "epsilon1"),
        (lambda c: soft_distance_gradient(c, np.zeros((1, 3)), [1e-3]), "epsilon1"),
        (lambda c: general_distance(c, np.zeros((1, 3)), lambda d: d), "log_basis"),
        (lambda c: general_distance(c, c.points, anisotropic_gaussians(np.zeros((5, 3, 3)))), "precisions"),
        (lambda c: separation(c, np.eye(3), c, np.eye(4), 1e-3, 1e-2), "X_WA"),
        (lambda c: separation(c, np.eye(4), c, 2 * np.eye(4), 1e-3, 1e-2), "X_WB"),
        (lambda c: separation(c, np.eye(4), c, np.eye(4), 1e-3, np.nan), "epsilon2"),
    ],
)
def test_bad_input_is_named(call, element):
    with pytest.raises(InputError) as error:
        call(sphere_cloud(RADIUS, 10))
    assert error.value.element == element


def test_faces_may_be_lists():
    cloud = sphere_cloud(RADIUS, 10)
    rows = [[k, (k + 1) % 10, (k + 2) % 10] for k in range(10)]
    faces = OrientedCloud(cloud.points, cloud.normals, None, cloud.points, rows).faces
    np.testing.assert_array_equal(faces, np.array(rows))


STRICT = array_api_strict.asarray
REST = STRICT(np.zeros(6))
PUSH = SoftContactModel(1e3, 0.3, 0.4, 0.05, 4e-4, 2e-3, 2e-3)


@pytest.mark.parametrize(
    ("call", "element"),
    [
        (lambda c, s: soft_distance(c, s.points, 1e-3), "points"),
        (lambda c, s: soft_distance_gradient(s, c.points, 1e-3), "points"),
        (lambda c, s: general_distance(s, c.points, anisotropic_gaussians(np.eye(3))), "points"),
        (lambda c, s: separation(c, np.eye(4), s, np.eye(4), 1e-3, 1e-3), "b"),
        (lambda c, s: separation(s, np.eye(4), s, STRICT(np.eye(4)), 1e-3, 1e-3), "X_WA"),
        (lambda c, s: contact_wrench(c, np.eye(4), np.zeros(6), c, np.eye(4), REST, PUSH), "V_WB"),
        (lambda c, s: collision_points(c, np.eye(4), s, np.eye(4), 2, (1e-3, 1e-3, 0.1)), "b"),
        (lambda c, s: OrientedCloud(c.points, s.normals), "normals"),
    ],
)
def test_arrays_of_two_libraries_are_refused(call, element):
    cloud = sphere_cloud(RADIUS, 10)
    with pytest.raises(InputError, match="as_arrays_of") as error:
        call(cloud, cloud.as_arrays_of(array_api_strict))
    assert error.value.element == element


def test_temperatures_may_be_traced():
    jax = pytest.importorskip("jax", reason="JAX is not installed: it needs NumPy 2")
    jax.config.update("jax_enable_x64", True)
    cloud, point = sphere_cloud(RADIUS, 20), 0.11 * DIRECTION[None]
    twin, at = cloud.as_arrays_of(jax.numpy), jax.numpy.asarray(point)
    distance, slope = jax.jit(jax.value_and_grad(lambda e: soft_distance(twin, at, e)[0]))(1e-3)
    np.testing.assert_allclose(distance, soft_distance(cloud, point, 1e-3)[0], rtol=1e-12)
    ahead, behind = (soft_distance(cloud, point, 1e-3 + h)[0] for h in (1e-8, -1e-8))
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-8, rtol=1e-6)
    assert jax.eval_shape(lambda e: soft_top_k(at[0], 1, e, 3), 0.1).shape == (1, 3)
