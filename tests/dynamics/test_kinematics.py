"""Poses, velocities and Jacobians are each other's derivatives; positions integrate exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hydro_sim_core.description.spec import JointSpec, RobotSpec
from hydro_sim_core.dynamics import Assembly, PlacedRobot, TreeEvaluator, build_tree
from hydro_sim_core.dynamics.kinematics import add_point_jacobian, integrate_positions
from support.dynamics.random_robots import GRAVITY, random_link, random_scene, random_state

Z = np.array([0.0, 0.0, 1.0])


def one_joint(joint_type: str, axis: np.ndarray, X_PJ: np.ndarray) -> Assembly:
    rng = np.random.default_rng(0)
    links = (random_link(rng, "root"), random_link(rng, "tip"))
    joint = JointSpec("joint", joint_type, "root", "tip", X_PJ, axis)
    robot = RobotSpec("robot", links, (joint,), "robot.urdf")
    return build_tree([PlacedRobot(robot, np.eye(4))], GRAVITY)


def tip_pose(assembly: Assembly, q: list[float]) -> np.ndarray:
    tip = assembly.link_names.index("tip")
    evaluator = TreeEvaluator(assembly.tree).update(np.array(q))
    return evaluator.body_pose(assembly.link_body[tip]) @ assembly.X_BL[tip]


def pose(R: np.ndarray, p: object) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X


X_PJ = pose(Rotation.from_euler("x", 90.0, degrees=True).as_matrix(), [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("joint_type", "axis", "q", "X_JB"),
    [
        ("revolute", Z, [0.3], pose(Rotation.from_rotvec([0.0, 0.0, 0.3]).as_matrix(), [0.0, 0.0, 0.0])),
        ("prismatic", -Z, [0.3], pose(np.eye(3), [0.0, 0.0, -0.3])),
        ("planar", Z, [1.0, 2.0, 0.3], pose(Rotation.from_rotvec([0, 0, 0.3]).as_matrix(), [1.0, 2.0, 0.0])),
        (
            "floating",
            Z,
            [np.cos(0.15), 0.0, np.sin(0.15), 0.0, 1.0, 2.0, 3.0],
            pose(Rotation.from_rotvec([0.0, 0.3, 0.0]).as_matrix(), [1.0, 2.0, 3.0]),
        ),
    ],
)
def test_pose_behind_one_joint(joint_type: str, axis: np.ndarray, q: list[float], X_JB: np.ndarray) -> None:
    """Each joint type moves its child as the conventions say."""
    np.testing.assert_allclose(tip_pose(one_joint(joint_type, axis, X_PJ), q), X_PJ @ X_JB, atol=1e-14)


@pytest.mark.parametrize("axis", [Z, -Z, np.array([1.0, 0.0, 0.0]), np.array([0.6, 0.0, 0.8])])
def test_planar_joint_keeps_to_its_plane(axis: np.ndarray) -> None:
    """The child frame starts at the joint frame, stays in the plane and turns about its normal."""
    assembly = one_joint("planar", axis, X_PJ)
    np.testing.assert_allclose(tip_pose(assembly, [0.0, 0.0, 0.0]), X_PJ, atol=1e-14)
    X_JT = np.linalg.inv(X_PJ) @ tip_pose(assembly, [0.4, -0.7, 0.3])
    assert abs(X_JT[:3, 3] @ axis) < 1e-14
    assert np.linalg.norm(X_JT[:3, 3]) == pytest.approx(np.hypot(0.4, 0.7))
    np.testing.assert_allclose(
        X_JT[:3, :3], Rotation.from_rotvec(0.3 * axis / np.linalg.norm(axis)).as_matrix(), atol=1e-14
    )


@pytest.mark.parametrize("seed", range(6))
def test_velocities_are_rates_of_poses(seed: int) -> None:
    """Twists equal central differences of the poses along integrated positions."""
    assembly = build_tree(random_scene(seed), GRAVITY)
    q, v = random_state(np.random.default_rng(seed), assembly)
    evaluator, h = TreeEvaluator(assembly.tree), 1e-5
    R, p = [], []
    for dt in (-h, h):
        moved = np.empty_like(q)
        integrate_positions(assembly.tree, q, v, dt, moved)
        evaluator.update(moved)
        R.append(evaluator.R_WB.copy())
        p.append(evaluator.p_WB.copy())
    V_WB = evaluator.update(q).body_velocities(v)
    w = Rotation.from_matrix(R[1] @ R[0].transpose(0, 2, 1)).as_rotvec() / (2 * h)
    np.testing.assert_allclose(V_WB[:, :3], w, atol=1e-7 * np.abs(V_WB).max())
    v_origin = V_WB[:, 3:] + np.cross(V_WB[:, :3], evaluator.p_WB)
    np.testing.assert_allclose(v_origin, (p[1] - p[0]) / (2 * h), atol=1e-7 * np.abs(V_WB).max())


@pytest.mark.parametrize("seed", range(6))
def test_relative_jacobian(seed: int) -> None:
    """Adding B and subtracting A gives the velocity of B relative to A at the point."""
    assembly = build_tree(random_scene(seed), GRAVITY)
    rng = np.random.default_rng(seed)
    q, v = random_state(rng, assembly)
    evaluator = TreeEvaluator(assembly.tree).update(q)
    V_WB = np.vstack([evaluator.body_velocities(v), np.zeros(6)])
    for a, b in rng.integers(-1, len(assembly.joint_names), (20, 2)):
        point = rng.normal(size=3)
        J = np.zeros((6, len(v)))
        add_point_jacobian(assembly.tree, evaluator.S, b, point, 1.0, J)
        add_point_jacobian(assembly.tree, evaluator.S, a, point, -1.0, J)
        V = V_WB[b] - V_WB[a]
        np.testing.assert_allclose(J @ v, [*V[:3], *(V[3:] + np.cross(V[:3], point))], atol=1e-11)


rates = st.floats(-50.0, 50.0)


@given(
    w=st.tuples(rates, rates, rates), dt=st.sampled_from([1e-9, 1e-5, 1e-3, 0.1]), turn=st.floats(-3.0, 3.0)
)
def test_floating_base_turns_by_the_exponential_map(w: tuple[float, ...], dt: float, turn: float) -> None:
    """Constant velocity integrates without error, for whole turns and for none, in place and not."""
    assembly = one_joint("floating", Z, np.eye(4))
    start = Rotation.from_rotvec([turn, 0.5, 0.1])
    q = np.array([*np.roll(start.as_quat(), 1), 1.0, 2.0, 3.0])
    v = np.array([*w, 4.0, 5.0, 6.0])
    out = np.empty_like(q)
    integrate_positions(assembly.tree, q, v, dt, out)
    end = Rotation.from_rotvec(dt * np.array(w)) * start
    np.testing.assert_allclose(
        Rotation.from_quat(np.roll(out[:4], -1)).as_matrix(), end.as_matrix(), atol=1e-14
    )
    assert np.linalg.norm(out[:4]) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(out[4:], q[4:] + dt * v[3:], rtol=1e-15)
    integrate_positions(assembly.tree, q, v, dt, q)
    np.testing.assert_array_equal(q, out)


def test_quaternion_stays_normalised() -> None:
    """A drifted quaternion is put right, and a long run does not drift."""
    assembly = one_joint("floating", Z, np.eye(4))
    q = np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    v = np.array([1.0, -2.0, 3.0, 0.0, 0.0, 0.0])
    for _ in range(10_000):
        integrate_positions(assembly.tree, q, v, 1e-3, q)
        assert abs(np.linalg.norm(q[:4]) - 1.0) < 1e-15
    end = Rotation.from_rotvec(10.0 * v[:3])
    np.testing.assert_allclose(
        Rotation.from_quat(np.roll(q[:4], -1)).as_matrix(), end.as_matrix(), atol=1e-11
    )
