"""Conservation laws and symmetries that hold whatever the robot."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hydro_sim_core.dynamics import Assembly, KinematicTree, PlacedRobot, TreeEvaluator, build_tree
from hydro_sim_core.dynamics.joint_dispatch import joint_number
from hydro_sim_core.dynamics.kinematics import integrate_positions
from support.dynamics.random_robots import GRAVITY, random_pose, random_robot, random_scene, random_state

SEEDS = range(6)


def coordinate_rates(tree: KinematicTree) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Time derivative of q (nq,) by q and v, written out independently of ``integrate_positions``."""
    simple = np.flatnonzero(tree.q_of_v >= 0)
    planar, floating = (
        [(int(tree.q_index[i]), int(tree.v_index[i])) for i in np.flatnonzero(tree.joint_type == kind)]
        for kind in map(joint_number, ("planar", "floating"))
    )

    def rates_at(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        rates = np.zeros_like(q)
        rates[tree.q_of_v[simple]] = v[simple]
        for m, n in planar:
            rates[m : m + 3] = v[n : n + 3]
        for m, n in floating:
            s, (x, y, z), (a, b, c) = q[m], q[m + 1 : m + 4], v[n : n + 3]
            rates[m] = -0.5 * (a * x + b * y + c * z)
            rates[m + 1 : m + 4] = (
                0.5 * (s * a + b * z - c * y),
                0.5 * (s * b + c * x - a * z),
                0.5 * (s * c + a * y - b * x),
            )
            rates[m + 4 : m + 7] = v[n + 3 : n + 6]
        return rates

    return rates_at


def swing(assembly: Assembly, q: np.ndarray, v: np.ndarray, dt: float, steps: int) -> tuple:
    """Passive motion by the classical Runge-Kutta method."""
    evaluator, rates = TreeEvaluator(assembly.tree), coordinate_rates(assembly.tree)

    def derivative(y: np.ndarray) -> np.ndarray:
        q, v = y[: len(assembly.q0)], y[len(assembly.q0) :]
        evaluator.update(q)
        a = np.linalg.solve(evaluator.mass_matrix(), -evaluator.bias_forces(v))
        return np.concatenate([rates(q, v), a])

    y = np.concatenate([q, v])
    for _ in range(steps):
        k1 = derivative(y)
        k2 = derivative(y + dt / 2 * k1)
        k3 = derivative(y + dt / 2 * k2)
        k4 = derivative(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[: len(q)], y[len(q) :]


@pytest.mark.heavy(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_passive_swing_keeps_its_energy(seed: int) -> None:
    """A robot swinging freely under gravity trades kinetic for potential energy and loses none."""
    assembly = build_tree(random_scene(seed), GRAVITY)
    q, v = random_state(np.random.default_rng(seed), assembly)
    evaluator = TreeEvaluator(assembly.tree).update(q)
    kinetic, potential = evaluator.kinetic_energy(v), evaluator.potential_energy()
    q_end, v_end = swing(assembly, q, v, dt=5e-4, steps=600)
    evaluator.update(q_end)
    kinetic_end, potential_end = evaluator.kinetic_energy(v_end), evaluator.potential_energy()
    assert abs(kinetic_end - kinetic) > 1e-3 * kinetic
    assert kinetic_end + potential_end == pytest.approx(kinetic + potential, abs=1e-9 * kinetic)


@pytest.mark.heavy(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_free_flight_keeps_its_momentum(seed: int) -> None:
    """Without gravity a floating robot keeps linear and angular momentum however its joints move."""
    robot = random_robot(np.random.default_rng(seed), "r_", 6)
    assembly = build_tree([PlacedRobot(robot, np.eye(4), True, None, "free")], np.zeros(3))
    q, v = random_state(np.random.default_rng(seed), assembly)
    evaluator = TreeEvaluator(assembly.tree)
    L = evaluator.update(q).momentum(v)
    q_end, v_end = swing(assembly, q, v, dt=5e-4, steps=600)
    assert np.abs(v_end - v).max() > 1e-2
    np.testing.assert_allclose(evaluator.update(q_end).momentum(v_end), L, atol=1e-9 * np.abs(L).max())


def test_free_fall_is_a_parabola() -> None:
    """The centre of mass of a tumbling robot falls as a point does."""
    robot = random_robot(np.random.default_rng(1), "r_", 6)
    assembly = build_tree([PlacedRobot(robot, np.eye(4), True, None, "free")], GRAVITY)
    q, v = random_state(np.random.default_rng(1), assembly)
    evaluator = TreeEvaluator(assembly.tree)
    tree, mass = assembly.tree, assembly.tree.mass.sum()

    def centre(q: np.ndarray) -> np.ndarray:
        evaluator.update(q)
        p_WCo = evaluator.p_WB + np.einsum("bij,bj->bi", evaluator.R_WB, tree.p_BCo)
        return tree.mass @ p_WCo / mass

    start, v_start = centre(q), evaluator.momentum(v)[3:] / mass
    t = 0.3
    end = centre(swing(assembly, q, v, dt=5e-4, steps=600)[0])
    np.testing.assert_allclose(end, start + v_start * t + GRAVITY * t**2 / 2, atol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_dynamics_do_not_depend_on_the_world_frame(seed: int) -> None:
    """Moving the robot and turning gravity with it changes neither mass matrix nor bias."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, "r_", 7)
    X = random_pose(rng, reach=5.0)
    near = build_tree([PlacedRobot(robot, np.eye(4))], GRAVITY)
    far = build_tree([PlacedRobot(robot, X)], X[:3, :3] @ GRAVITY)
    q, v = random_state(rng, near)
    here, there = TreeEvaluator(near.tree).update(q), TreeEvaluator(far.tree).update(q)
    M, b = here.mass_matrix(), here.bias_forces(v)
    np.testing.assert_allclose(there.mass_matrix(), M, atol=1e-11 * np.abs(M).max())
    np.testing.assert_allclose(there.bias_forces(v), b, atol=1e-11 * np.abs(b).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_is_symmetric_and_positive(seed: int) -> None:
    """M is symmetric, positive definite, and the matrix of the kinetic energy."""
    assembly = build_tree(random_scene(seed), GRAVITY)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        q, v = random_state(rng, assembly)
        evaluator = TreeEvaluator(assembly.tree).update(q)
        M = evaluator.mass_matrix()
        np.testing.assert_allclose(M, M.T, atol=1e-14 * np.abs(M).max())
        assert np.linalg.eigvalsh(M).min() > 0.0
        assert 0.5 * v @ M @ v == pytest.approx(evaluator.kinetic_energy(v), rel=1e-11)


def mass_matrix_rate(assembly: Assembly, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Central difference of M along v."""
    evaluator, h = TreeEvaluator(assembly.tree), 1e-5
    ends = []
    for dt in (-h, h):
        moved = np.empty_like(q)
        integrate_positions(assembly.tree, q, v, dt, moved)
        ends.append(evaluator.update(moved).mass_matrix())
    return (ends[1] - ends[0]) / (2 * h)


@pytest.mark.parametrize("seed", SEEDS)
def test_coriolis_forces_do_the_work_that_changes_the_inertia(seed: int) -> None:
    """v . (b - g) = v . Mdot v / 2 for every joint type."""
    assembly = build_tree(random_scene(seed), GRAVITY)
    q, v = random_state(np.random.default_rng(seed), assembly)
    evaluator = TreeEvaluator(assembly.tree).update(q)
    power = v @ (evaluator.bias_forces(v) - evaluator.gravity_forces())
    Mdot = mass_matrix_rate(assembly, q, v)
    assert power == pytest.approx(0.5 * v @ Mdot @ v, abs=1e-8 * np.abs(v @ np.abs(Mdot) @ np.abs(v)))


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_rate_minus_twice_coriolis_is_skew(seed: int) -> None:
    """With C from Christoffel symbols, for joints whose velocities are rates of coordinates."""
    types = ("revolute", "prismatic", "planar")
    robot = random_robot(np.random.default_rng(seed), "r_", 5, types)
    assembly = build_tree([PlacedRobot(robot, np.eye(4))], np.zeros(3))
    q, v = random_state(np.random.default_rng(seed), assembly)
    evaluator = TreeEvaluator(assembly.tree).update(q)
    b = evaluator.bias_forces
    # b is a quadratic form of v whose symmetric bilinear form holds the Christoffel symbols.
    C = np.column_stack([(b(v + e) - b(v) - b(e)) / 2 for e in np.eye(len(v))])
    N = mass_matrix_rate(assembly, q, v) - 2 * C
    np.testing.assert_allclose(N, -N.T, atol=1e-7 * np.abs(C).max())


def test_holding_torque_of_a_pendulum() -> None:
    """One link on a hinge needs the moment of its weight about the axis."""
    rng = np.random.default_rng(0)
    robot = random_robot(rng, "r_", 1, ("revolute",))
    joint, tip = robot.joints[0], robot.links[1]
    assembly = build_tree([PlacedRobot(robot, np.eye(4))], GRAVITY)
    q = np.array([0.7])
    R = joint.X_PJ[:3, :3] @ Rotation.from_rotvec(0.7 * joint.axis).as_matrix()
    lever = R @ tip.inertial.p_LCo
    torque = -tip.inertial.mass * np.cross(lever, GRAVITY) @ (joint.X_PJ[:3, :3] @ joint.axis)
    assert TreeEvaluator(assembly.tree).update(q).gravity_forces()[0] == pytest.approx(torque, rel=1e-12)
