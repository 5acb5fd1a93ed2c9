"""Kinematics and dynamics equal Pinocchio's to rounding."""

from __future__ import annotations

import numpy as np
import pytest

from hydro_sim_core.dynamics import Assembly, TreeEvaluator, build_tree
from support.dynamics.pinocchio_oracle import PinocchioScene
from support.dynamics.random_robots import GRAVITY, random_scene, random_state

NUM_STATES, FEWER_STATES = 100, 25


def assert_equal(ours: object, reference: object) -> None:
    np.testing.assert_allclose(ours, reference, rtol=0.0, atol=1e-10 * np.abs(reference).max(initial=1e-6))


@pytest.mark.heavy(2)
@pytest.mark.parametrize("seed", range(10))
def test_random_scenes(seed: int, full_run: bool) -> None:
    """Every quantity agrees on robots with all joint types, branches, mimic joints and welded links."""
    placed = random_scene(seed)
    assembly = build_tree(placed, GRAVITY)
    states = NUM_STATES if full_run else FEWER_STATES
    assert_agrees_with_pinocchio(assembly, PinocchioScene(placed, GRAVITY), seed, states)


def assert_agrees_with_pinocchio(assembly: Assembly, oracle: PinocchioScene, seed: int, states: int) -> None:
    evaluator = TreeEvaluator(assembly.tree)
    rng = np.random.default_rng(seed)
    assert (len(assembly.q0), len(assembly.velocity_names)) == (oracle.nq, oracle.nv)
    for _ in range(states):
        q, v = random_state(rng, assembly)
        a = rng.normal(size=oracle.nv)
        rest = np.zeros(oracle.nv)
        evaluator.update(q)
        assert_equal(evaluator.mass_matrix(), oracle.mass_matrix(q))
        assert_equal(evaluator.bias_forces(v), oracle.inverse_dynamics(q, v, rest))
        assert_equal(evaluator.gravity_forces(), oracle.inverse_dynamics(q, rest, rest))
        assert_equal(evaluator.inverse_dynamics(v, a), oracle.inverse_dynamics(q, v, a))
        assert_equal([evaluator.kinetic_energy(v), evaluator.potential_energy()], oracle.energies(q, v))
        assert_equal(evaluator.momentum(v), oracle.momentum(q, v))
        link = int(rng.integers(len(assembly.link_names)))
        body = int(assembly.link_body[link])
        X_WL = evaluator.body_pose(body) @ assembly.X_BL[link]
        assert_equal(X_WL, oracle.link_pose(q, assembly.link_names[link]))
        assert_equal(
            evaluator.point_jacobian(body, X_WL[:3, 3]),
            oracle.link_jacobian(q, assembly.link_names[link]),
        )
