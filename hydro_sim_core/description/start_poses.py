"""Poses of all links at the start of a scene, without a compiled model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.scene_loader import LoadedScene
from hydro_sim_core.description.spec import JointSpec
from hydro_sim_core.rotations import matrix_of

Array = NDArray[np.float64]


def start_poses(scene: LoadedScene) -> dict[str, Array]:
    """Pose (4, 4) of every link in the world when the scene starts; that of the world too, as ``world``.

    Joints of several coordinates, which URDFs seldom have, are taken at zero.
    """
    poses = {"world": np.eye(4)}
    for model, robot, start in zip(scene.spec.models, scene.robots, scene.start_positions, strict=True):
        poses.setdefault(robot.root, poses[model.attach_to or "world"] @ model.pose.X)
        joints = {joint.name: joint for joint in robot.joints}
        for joint in robot.joints:  # parents come first
            poses[joint.child] = (
                poses[joint.parent] @ joint.X_PJ @ _motion(joint, _position(joint, joints, start))
            )
    return poses


def _position(joint: JointSpec, joints: Mapping[str, JointSpec], start: Mapping[str, float]) -> float:
    if joint.mimic is None:
        return start.get(joint.name, 0.0)
    return joint.mimic.multiplier * _position(joints[joint.mimic.joint], joints, start) + joint.mimic.offset


def _motion(joint: JointSpec, position: float) -> Array:
    """Pose (4, 4) of the child in the frame of the joint."""
    X = np.eye(4)
    if joint.traits.is_slide:
        X[:3, 3] = position * joint.axis
    elif joint.traits.is_scalar:
        half = 0.5 * position
        X[:3, :3] = matrix_of(np.append(np.sin(half) * joint.axis, np.cos(half)))
    return X
