"""Bodies that are apart are told without a look at every point and plane, and press with exactly nothing."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh

from hydro_sim_core import geometry
from hydro_sim_core.contact.soft_distance import (
    OrientedCloud,
    SoftContactModel,
    cloud_of_geometry,
    cloud_of_mesh,
    contact_wrench,
    separation,
)
from hydro_sim_core.contact.soft_distance.distance import weights_and_heights
from support.contact_models.kernels import pressed
from support.contact_models.rigid_poses import pose

COLD = SoftContactModel(1e4, 0.5, 0.2, 0.01, 1e-5, 1e-3, 1e-3)
#: What a spring as deep as bodies are apart carries of the least weight that counts, N.
NOTHING = COLD.stiffness * 1.0 * np.exp(-40.0)


def hook(count):
    """A U of three boxes, whose inside is behind none of its planes."""
    parts = [trimesh.creation.box((0.2, 0.2, 0.05))]
    for x in (-0.075, 0.075):
        leg = trimesh.creation.box((0.05, 0.2, 0.15))
        leg.apply_translation((x, 0.0, 0.102))
        parts.append(leg)
    whole = trimesh.util.concatenate(parts)
    return cloud_of_mesh(whole.vertices, whole.faces, count)


SHAPES = {
    "box of 26": cloud_of_geometry(geometry.box(0.2, 0.15, 0.08), 26),
    "box of 96": cloud_of_geometry(geometry.box(0.2, 0.15, 0.08), 96),
    "ball of 60": cloud_of_geometry(geometry.sphere(0.05, resolution=0.01), 60),
}
GROUND = OrientedCloud.half_space()


@pytest.mark.parametrize("epsilon1", [1e-5, 4e-4])
@pytest.mark.parametrize("a", SHAPES)
@pytest.mark.parametrize("b", SHAPES)
def test_what_is_left_out_is_nothing(a, b, epsilon1):
    a, b, model = SHAPES[a], SHAPES[b], replace(COLD, epsilon1=epsilon1)
    rng, told = np.random.default_rng(5), 0
    for _ in range(60):
        X_BA = pose(rng.uniform(-0.4, 0.4, 3), rng.standard_normal(3))
        twist = rng.standard_normal(6)
        wrench, _, gap, memory = pressed(a, b, X_BA, twist, model)
        expected = contact_wrench(a, X_BA, np.zeros(6), b, np.eye(4), twist, model)
        np.testing.assert_allclose(
            wrench, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max() + NOTHING
        )
        if memory.weight.any():
            continue
        told += 1
        assert not wrench.any()
        assert 40 * model.epsilon3 < gap <= float(separation(a, X_BA, b, np.eye(4), epsilon1, 1e-3)) + 1e-12
        # No plane that counts at a point is nearer than the bound.
        for points, planes, X in ((b, a, np.linalg.inv(X_BA)), (a, b, X_BA)):
            there = points.points @ X[:3, :3].T + X[:3, 3]
            weights, heights = weights_and_heights(planes.points, planes.normals, there, epsilon1)
            counts = weights > np.exp(-39.9) * weights.max(axis=1, keepdims=True)
            assert heights[counts].min() > gap - 1e-12
    # Hot, planes all around count.
    assert told > (10 if epsilon1 < 1e-4 else 0)


def test_boxes_on_a_stack_are_apart_from_all_but_their_neighbours():
    for count, height in ((26, 0.2), (96, 0.161), (256, 0.161)):
        box = cloud_of_geometry(geometry.box(0.2, 0.15, 0.08), count)
        assert pressed(box, box, pose((0.0, 0.0, -0.08)), np.zeros(6), COLD)[3].weight.any()
        assert not pressed(box, box, pose((0.0, 0.0, -height)), np.zeros(6), COLD)[3].weight.any()
        assert not pressed(GROUND, box, pose((0.0, 0.0, -0.12)), np.zeros(6), COLD)[3].weight.any()


def test_a_ball_inside_a_hook_is_not_apart_from_it():
    """It is outside of the body, and in the middle of the box about it."""
    ball, u = SHAPES["ball of 60"], hook(400)
    assert pressed(u, ball, pose((0.001, 0.0, -0.074)), np.zeros(6), COLD)[0][5] > 1.0
    assert not pressed(u, ball, pose((0.0, 0.0, -0.6)), np.zeros(6), COLD)[3].weight.any()


def test_derivatives_of_what_is_left_out_are_zero():
    a, b = SHAPES["box of 96"], SHAPES["ball of 60"]
    wrench, jacobian, _, memory = pressed(a, b, pose((0.3, 0.1, 0.0)), np.ones(6), COLD, derive=True)
    assert not memory.weight.any()
    assert not wrench.any()
    assert not jacobian.any()
