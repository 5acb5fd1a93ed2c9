"""A hand that is where a grasp tells holds the object there, by another's kinematics too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description.poses import pose
from hydro_sim_core.dynamics import PlacedRobot
from hydro_sim_core.errors import InputError
from hydro_sim_core.manipulation import Grasp, inverse_kinematics
from hydro_sim_core.rotations import twist_between

URDF = Path(__file__).parents[2] / "urdf"
X_OG = pose([-0.2, 0.01, 0.08], [0.1, 0.4, -0.3])
X_GH = pose([0.0, 0.0, 0.17], [0.0, -1.2, 0.2])
X_WO = pose([0.5, -0.1, 0.3], [0.2, -0.3, 0.9])


def grasp(**other: Any) -> Grasp:
    return Grasp("handle", **{"X_OG": X_OG, "X_GH": X_GH, "approach": np.array([0.0, 0.0, -2.0]), **other})


def test_hand_and_object_belong_to_each_other() -> None:
    X_WH = grasp().hand(X_WO)
    np.testing.assert_allclose(X_WH, X_WO @ X_OG @ X_GH, atol=1e-15)
    np.testing.assert_allclose(grasp().object(X_WH), X_WO, atol=1e-15)


def test_a_hand_comes_along_the_approach() -> None:
    """Two centimetres before the grasp it has that way to go in its own direction, and the same attitude."""
    X_WH, before = grasp().hand(X_WO), grasp().hand(X_WO, before=0.02)
    np.testing.assert_array_equal(before[:3, :3], X_WH[:3, :3])
    np.testing.assert_allclose((np.linalg.inv(before) @ X_WH)[:3, 3], [0.0, 0.0, -0.02], atol=1e-15)


def test_pinocchio_finds_the_grasp_frame_on_the_object() -> None:
    """Of an arm that grasps, by its kinematics: the grasp frame in its hand is where the object has it."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: it needs NumPy 2")
    from support.dynamics.pinocchio_oracle import PinocchioScene

    world = hs.load_urdf(URDF / "kinova_gen3_7dof.urdf.xacro")
    hand = "end_effector_link"
    q = inverse_kinematics(world, hand, grasp().hand(X_WO, before=0.05))
    scene = PinocchioScene([PlacedRobot(world.scene.robots[0], np.eye(4))], np.zeros(3))
    index, X = scene.links[hand]
    pin.forwardKinematics(scene.model, scene.data, np.array([q[joint] for joint in world.joint_names]))
    X_WH = np.asarray((scene.data.oMi[index] * X).homogeneous)
    # On by the rest of the approach, along the hand's own axis.
    X_WG = X_WH @ pose([0.0, 0.0, -0.05]) @ np.linalg.inv(X_GH)
    assert np.abs(twist_between(X_WO @ X_OG, X_WG, 1.0)).max() < 2e-7


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"X_OG": np.ones((4, 4))}, "Grasp: 'handle', X_OG"),
        ({"X_GH": np.eye(3)}, "Grasp: 'handle', X_GH: has shape (3, 3)"),
        ({"approach": np.zeros(3)}, "Grasp: 'handle', approach: is no direction"),
        ({"approach": np.array([1.0, 0.0])}, "Grasp: 'handle', approach: is no direction"),
        ({"approach": np.array([np.nan, 0.0, 1.0])}, "Grasp: 'handle', approach: is no direction"),
        ({"approach": "along"}, "Grasp: 'handle', approach: is no direction"),
        ({"approach": None}, "Grasp: 'handle', approach: is no direction"),
        (
            {"approach": [[1.0], [2.0, 3.0], 1.0]},
            "approach: is no direction: it has rows of different lengths",
        ),
        ({"approach": [1j, 0.0, 0.0]}, "Grasp: 'handle', approach: is no direction"),
    ],
)
def test_what_is_no_grasp_is_told(other: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as error:
        grasp(**other)
    assert told in str(error.value)


@pytest.mark.parametrize("X", [np.nan * np.eye(4), np.eye(3), "there", None, np.diag([-1.0, 1.0, 1.0, 1.0])])
def test_a_pose_that_is_none_is_told(X: Any) -> None:
    with pytest.raises(InputError, match="Grasp: 'handle', X_WO: "):
        grasp().hand(X)
    with pytest.raises(InputError, match="Grasp: 'handle', X_WH: "):
        grasp().object(X)


@pytest.mark.parametrize("before", ["near", np.nan, np.inf, None])
def test_a_distance_that_is_none_is_told(before: Any) -> None:
    with pytest.raises(InputError, match=r"Grasp: 'handle', before: is .*; give a finite number, m"):
        grasp().hand(np.eye(4, dtype=int), before=before)
