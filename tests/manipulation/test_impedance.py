"""Operational-space impedance: an arm that yields as the closed forms of damped springs say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core import InputError
from hydro_sim_core.manipulation import Impedance, ImpedanceControl
from support.simulation.made_scenes import CONFIG

FRAME = "end_effector_link"
STIFFNESS = np.array([20.0, 25.0, 30.0, 400.0, 500.0, 600.0])


def arm(folder: Path, *, weightless: bool = True, time_step: float = 0.001) -> hs.World:
    """The Gen3 in a bent posture, at rest; its drives bear its weight or not."""
    text = (CONFIG / "gen3_7dof.yaml").read_text()
    for old, new in (
        ("../../urdf", str(CONFIG.parents[1] / "urdf")),
        ("gravity_compensation: true", f"gravity_compensation: {str(weightless).lower()}"),
        ("time_step: 0.001", f"time_step: {time_step}"),
    ):
        assert old in text
        text = text.replace(old, new)
    path = folder / "arm.yaml"
    path.write_text(text)
    world = hs.load_scene(path)
    world.set_joint_positions({f"joint_{i}": q for i, q in enumerate((0.1, 0.4, 0.2, 1.6, 0.1, 0.9, 0.2), 1)})
    return world


def drive(
    world: hs.World, steps: int, X_WF: np.ndarray, impedance: Impedance, push: np.ndarray
) -> np.ndarray:
    """Error of the frame after each step, (steps, 6)."""
    control, errors = ImpedanceControl(world, FRAME, impedance), []
    for _ in range(steps):
        world.set_command(control.efforts(X_WF))
        world.apply_wrench(FRAME, push)
        world.step()
        errors.append(error(world, X_WF))
    return np.array(errors)


def error(world: hs.World, X_WF: np.ndarray) -> np.ndarray:
    X = world.frame_pose(FRAME)
    turn = Rotation.from_matrix(X_WF[:3, :3] @ X[:3, :3].T).as_rotvec()
    return np.concatenate([turn, X_WF[:3, 3] - X[:3, 3]])


@pytest.mark.parametrize("weightless", [True, False])
def test_an_arm_holds_still_without_a_push(tmp_path: Path, weightless: bool) -> None:
    world = arm(tmp_path, weightless=weightless)
    errors = drive(world, 100, world.frame_pose(FRAME), Impedance(STIFFNESS), np.zeros(6))
    assert np.abs(errors).max() < 1e-9


def deviation(world: hs.World) -> float:
    """Largest deviation from damped springs in the first 0.2 s after a small step of the pose, as a share of it.

    Against the matrix exponential of ``Lambda e'' + D e' + K e = 0``, critically damped.
    """
    X_WF = world.frame_pose(FRAME)
    X_WF[:3, 3] += (1e-4, -2e-4, 1.5e-4)
    columns = [world.velocity_names.index(f"joint_{i}") for i in range(1, 8)]
    J, M = world.frame_jacobian(FRAME)[:, columns], world.mass_matrix()[np.ix_(columns, columns)]
    inertia = np.linalg.inv(J @ np.linalg.inv(M) @ J.T)
    root_inertia, root_stiffness = (np.real(scipy.linalg.sqrtm(A)) for A in (inertia, np.diag(STIFFNESS)))
    damping = root_inertia @ root_stiffness + root_stiffness @ root_inertia
    below = [-np.linalg.solve(inertia, np.diag(STIFFNESS)), -np.linalg.solve(inertia, damping)]
    rate = np.block([[np.zeros((6, 6)), np.eye(6)], below])
    start = np.concatenate([error(world, X_WF), np.zeros(6)])
    times = np.linspace(0.02, 0.2, 10)
    steps = np.round(times / world.time_step).astype(int)
    errors = drive(world, steps[-1], X_WF, Impedance(STIFFNESS, posture_stiffness=0.0), np.zeros(6))
    expected = np.array([(scipy.linalg.expm(rate * time) @ start)[:6] for time in times])
    return float(np.abs(errors[steps - 1] - expected).max() / np.abs(start).max())


def test_it_answers_a_step_as_damped_springs_do_the_closer_the_smaller_the_steps(tmp_path: Path) -> None:
    """An effort is that of the begin of its step: it comes late by half of one."""
    coarse, fine = (deviation(arm(tmp_path, time_step=step)) for step in (1e-3, 2.5e-4))
    assert coarse < 0.06
    assert fine < 0.3 * coarse


def test_it_yields_to_a_push_by_force_over_stiffness(tmp_path: Path) -> None:
    world = arm(tmp_path)
    push = np.array([0.0, 0.0, 0.0, 0.4, -0.5, 0.3])
    errors = drive(world, 1000, world.frame_pose(FRAME), Impedance(STIFFNESS), push)
    assert np.abs(errors[-1] - errors[-100]).max() < 1e-6
    np.testing.assert_allclose(errors[-1][3:], -push[3:] / STIFFNESS[3:], rtol=0.02)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"stiffness": (1.0, 2.0)}, r"stiffness: has shape \(2,\); give \(6,\) finite real numbers"),
        ({"stiffness": (1.0, 1.0, 1.0, 1.0, 1.0, -1.0)}, "stiffness: is .*; give finite numbers, 0 or more"),
        ({"stiffness": "soft"}, "stiffness: holds str.*, not real numbers"),
        ({"damping_ratio": float("nan")}, "damping_ratio: is nan"),
        ({"damping_ratio": (1.0, 2.0)}, r"damping_ratio: is \(1.0, 2.0\); give finite numbers, 0 or more"),
        ({"damping_ratio": True}, "damping_ratio: is True"),
        ({"posture_stiffness": "a"}, "posture_stiffness: is 'a'"),
        ({"posture_stiffness": -1.0}, "posture_stiffness: is -1"),
    ],
)
def test_what_cannot_yield_is_one_error(arguments, told: str) -> None:
    with pytest.raises(InputError, match=f"Impedance: {told}"):
        Impedance(**arguments)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"frame": "tool"}, "frame 'tool': is not in the scene"),
        ({"posture": {"joint_9": 0.0}}, r"posture\['joint_9'\]: is no joint that may move"),
        ({"posture": {"joint_1": None}}, r"posture\['joint_1'\]: is None; give rad or m"),
        ({"posture": (0.0, 0.0)}, r"posture: is \(0.0, 0.0\); give rad or m by name of joint"),
    ],
)
def test_what_cannot_be_controlled_is_one_error(tmp_path: Path, arguments, told: str) -> None:
    with pytest.raises(InputError, match=f"ImpedanceControl: {told}"):
        ImpedanceControl(**{"world": arm(tmp_path), "frame": FRAME} | arguments)


def test_an_impedance_of_another_kind_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ImpedanceControl: impedance: is 5; give an Impedance"):
        ImpedanceControl(arm(tmp_path), FRAME, 5)  # type: ignore[arg-type]


def test_a_posture_does_not_wind_up_joints_that_turn_without_end(tmp_path: Path) -> None:
    world = arm(tmp_path)
    X_WF, here, around = world.frame_pose(FRAME), {"joint_3": 0.4}, {"joint_3": 0.4 - 4.0 * np.pi}
    efforts = [ImpedanceControl(world, FRAME, posture=posture).efforts(X_WF) for posture in (here, around)]
    assert efforts[1] == pytest.approx(efforts[0], abs=1e-12)
    assert max(map(abs, efforts[0].values())) > 0.01


def test_joints_that_are_left_out_count_as_held(tmp_path: Path) -> None:
    """The others accelerate the frame as their own inertia says: as those of an arm that ends with them."""
    world, names = arm(tmp_path), [f"joint_{i}" for i in range(1, 7)]
    X_WF = world.frame_pose(FRAME)
    X_WF[:3, 3] += (1e-3, -2e-3, 1e-3)
    told = ImpedanceControl(world, FRAME, Impedance(STIFFNESS), joints=names).efforts(X_WF)
    assert list(told) == names
    columns = [world.velocity_names.index(name) for name in names]
    J, M = world.frame_jacobian(FRAME)[:, columns], world.mass_matrix()[np.ix_(columns, columns)]
    inertia = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    expected = np.linalg.solve(inertia, STIFFNESS * error(world, X_WF))
    np.testing.assert_allclose(J @ np.linalg.solve(M, list(told.values())), expected, rtol=1e-6)
