"""The kernels of the soft-minimum model against its array form, with JAX's derivatives, and central differences."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hydro_sim_core.contact.soft_distance import OrientedCloud, SoftContactModel, contact_wrench, separation
from support.contact_models.clouds import sphere_cloud
from support.contact_models.kernels import pressed
from support.contact_models.rigid_poses import pose

MODEL = SoftContactModel(2e4, 0.5, 0.3, 0.02, 1e-3, 5e-3, 2e-3)
COLD = replace(MODEL, epsilon1=1e-5, epsilon2=2e-4, epsilon3=1e-4)
BALL, EGG = sphere_cloud(0.05, 60), sphere_cloud(0.06, 41)
EGG = OrientedCloud(EGG.points * np.array([1.0, 0.8, 1.3]), EGG.normals)
GROUND = OrientedCloud.half_space()


def cases():
    rng = np.random.default_rng(11)
    for number in range(6):
        direction = rng.standard_normal(3)
        distance = (0.1, 0.105, 0.09, 0.12, 0.02, 0.1)[number]
        X_BA = pose(distance * direction / np.linalg.norm(direction), rng.standard_normal(3))
        yield X_BA, rng.standard_normal(6) * (0.3 if number else 0.0)


@pytest.mark.parametrize("model", [MODEL, COLD, replace(MODEL, damping_blend=0.0, mu=0.0)])
@pytest.mark.parametrize("a", [BALL, GROUND])
def test_wrench_is_that_of_the_array_form(a, model):
    for X_BA, twist in cases():
        if a is GROUND:
            X_BA = pose((0.01, 0.02, -0.07), (0.1, 0.2, 0.3))
        expected = contact_wrench(a, X_BA, np.zeros(6), EGG, np.eye(4), twist, model)
        # At the origin of A the twist of B relative to A is as at the origin of B: A rests.
        wrench, _, least, memory = pressed(a, EGG, X_BA, twist, model)
        scale = max(np.abs(expected).max(), model.stiffness * model.epsilon3 * math.exp(-40))
        np.testing.assert_allclose(wrench, expected, rtol=1e-12, atol=1e-12 * scale)
        assert memory.weight.sum() == pytest.approx(1.0, abs=1e-13)
        forces = memory.force[:3].sum(axis=1) + memory.force[3:].sum(axis=1)
        np.testing.assert_allclose(forces, wrench[3:], atol=1e-12 * scale)
        assert least <= float(separation(a, X_BA, EGG, np.eye(4), model.epsilon1, model.epsilon2)) + 1e-15


def moved(X, k, step):
    """A pose after a small motion of its frame in the fixed axes: rotation about the origin, or translation."""
    e = np.eye(3)[k % 3] * step
    return pose(e) @ X if k >= 3 else pose((0.0, 0.0, 0.0), e) @ X


@pytest.mark.parametrize("model", [MODEL, replace(COLD, epsilon2=1e-3)])
@pytest.mark.parametrize(("a", "b"), [(BALL, EGG), (GROUND, EGG), (EGG, GROUND)])
def test_derivatives_are_those_of_central_differences(a, b, model):
    for X_BA, twist in cases():
        if a is GROUND:
            X_BA = pose((0.01, 0.02, -0.075), (0.1, 0.2, 0.3))
        elif b is GROUND:
            X_BA = pose((0.01, 0.02, 0.075), (0.1, 0.2, 0.3))
        value, jacobian, _, _ = pressed(a, b, X_BA, twist, model, derive=True)
        # Without derivatives the points on a half space are added up in another order, and other planes of no weight
        # are left out.
        alone = pressed(a, b, X_BA, twist, model)[0]
        np.testing.assert_allclose(value, alone, rtol=0.0, atol=1e-13 * np.abs(alone).max())
        expected = np.empty((6, 12))
        for k in range(12):
            h = 2e-6 if k < 6 else 2e-5
            at = []
            for t in (-2, -1, 1, 2):
                X = moved(X_BA, k, t * h) if k < 6 else X_BA
                V = twist + (np.eye(6)[k - 6] * t * h if k >= 6 else 0.0)
                at.append(pressed(a, b, X, V, model)[0])
            expected[:, k] = (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h)
        for columns in (slice(0, 6), slice(6, 12)):
            scale = np.abs(expected[:, columns]).max()
            np.testing.assert_allclose(jacobian[:, columns], expected[:, columns], atol=1e-6 * scale)


@pytest.fixture(scope="module")
def jax():
    library = pytest.importorskip("jax", reason="JAX is not installed: it needs NumPy 2")
    library.config.update("jax_enable_x64", True)
    return library


def slopes_of_the_array_form(jax, a, b, model):
    """Function of ``X_BA`` and a twist: the derivatives (6, 12) of ``contact_wrench`` by ``jax.jacfwd``."""
    jnp = jax.numpy
    a, b = (cloud.as_arrays_of(jnp) for cloud in (a, b))

    def wrench(x, X_BA, twist):
        # A small motion of A to first order, which is all that derivatives at x = 0 see.
        turn = jnp.cross(x[:3], jnp.eye(3)).T
        motion = jnp.eye(4).at[:3, :3].add(turn).at[:3, 3].set(x[3:6])
        return contact_wrench(a, motion @ X_BA, jnp.zeros(6), b, jnp.eye(4), twist + x[6:], model)

    slopes = jax.jit(jax.jacfwd(wrench))
    return lambda X_BA, twist: np.asarray(slopes(jnp.zeros(12), jnp.asarray(X_BA), jnp.asarray(twist)))


@pytest.mark.parametrize(
    ("a", "b", "model"),
    [
        (BALL, EGG, COLD),
        pytest.param(GROUND, EGG, MODEL, marks=pytest.mark.long),
        pytest.param(EGG, GROUND, MODEL, marks=pytest.mark.long),
    ],
)
def test_derivatives_are_those_of_the_array_form(a, b, model, jax):
    slopes = slopes_of_the_array_form(jax, a, b, model)
    for X_BA, twist in cases():
        if a is GROUND:
            X_BA = pose((0.01, 0.02, -0.075), (0.1, 0.2, 0.3))
        elif b is GROUND:
            X_BA = pose((0.01, 0.02, 0.075), (0.1, 0.2, 0.3))
        _, jacobian, _, _ = pressed(a, b, X_BA, twist, model, derive=True)
        expected = slopes(X_BA, twist)
        for columns in (slice(0, 6), slice(6, 12)):
            # Kernels leave out what weighs less than e^-40 of the heaviest.
            scale = max(np.abs(expected[:, columns]).max(), model.stiffness * math.exp(-40))
            np.testing.assert_allclose(
                jacobian[:, columns], expected[:, columns], rtol=0.0, atol=1e-12 * scale
            )
