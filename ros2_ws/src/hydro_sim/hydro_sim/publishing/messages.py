"""Snapshots of the simulation as ROS messages."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped, Vector3, WrenchStamped
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.simulation import Snapshot

Array = NDArray[np.float64]
_WORLD_POSE = np.eye(4)


def split_time(time: float) -> tuple[int, int]:
    """Simulated time in s as (seconds, nanoseconds)."""
    nanoseconds = round(time * 1e9)
    return nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000


def stamp(time: float) -> Time:
    """Simulated time in s as a message."""
    seconds, nanoseconds = split_time(time)
    return Time(sec=seconds, nanosec=nanoseconds)


def topic_token(name: str) -> str:
    """``name`` with everything replaced that a topic name may not hold."""
    token = re.sub(r"\W+", "_", name, flags=re.ASCII)
    return f"_{token}" if token[:1].isdigit() else token


def fill_joint_state(message: JointState, snapshot: Snapshot) -> None:
    """Write time, positions, velocities and efforts; the names are set once by the owner of ``message``."""
    message.header.stamp = stamp(snapshot.time)
    message.position = _doubles(snapshot.joint_positions)
    message.velocity = _doubles(snapshot.joint_velocities)
    message.effort = _doubles(snapshot.joint_efforts)


def _doubles(values: Array) -> array[float]:
    return array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


def pair_wrench(contacts: Sequence[ContactPatch], pair: tuple[str, str], X_WB: Array) -> tuple[Array, Array]:
    """Force and moment that the first body of ``pair`` applies to the second, B, about and along B's frame.

    Args:
        contacts: Every patch of the instant.
        pair: Names of the two bodies.
        X_WB: (4, 4) pose of B.

    Returns:
        Force (3,) N and moment (3,) N m; zero without contact.
    """
    R_WB, p_WB = X_WB[:3, :3], X_WB[:3, 3]
    force, moment = np.zeros(3), np.zeros(3)
    for patch in contacts:
        if (patch.name_a, patch.name_b) == pair:
            force += patch.force_on_b
            moment += patch.moment_on_b(p_WB)
    return R_WB.T @ force, R_WB.T @ moment


def fill_wrench(message: WrenchStamped, time: float, force: Array, moment: Array) -> None:
    """Write time, force and moment; the frame is set once by the owner of ``message``."""
    message.header.stamp = stamp(time)
    _fill_vector(message.wrench.force, force)
    _fill_vector(message.wrench.torque, moment)


def fill_transforms(
    messages: Sequence[TransformStamped],
    links: Sequence[tuple[str, str]],
    poses: Mapping[str, Array],
    time: float,
) -> None:
    """Write the pose of every child in its parent.

    Args:
        messages: One a link, with their frame names set.
        links: (parent, child) of each.
        poses: Pose (4, 4) of each link in the world; a parent that is not among them is the world.
        time: Simulated time, s.
    """
    if not links:
        return
    X_WP = np.array([poses.get(parent, _WORLD_POSE) for parent, _ in links])
    X_WC = np.array([poses[child] for _, child in links])
    R_PW = np.swapaxes(X_WP[:, :3, :3], 1, 2)
    p_PC = np.einsum("nij,nj->ni", R_PW, X_WC[:, :3, 3] - X_WP[:, :3, 3])
    quaternions = Rotation.from_matrix(R_PW @ X_WC[:, :3, :3]).as_quat()
    now = stamp(time)
    for message, position, quaternion in zip(messages, p_PC.tolist(), quaternions.tolist(), strict=True):
        message.header.stamp = now
        _fill_vector(message.transform.translation, position)
        rotation = message.transform.rotation
        rotation.x, rotation.y, rotation.z, rotation.w = quaternion


def _fill_vector(message: Vector3, values: Sequence[float] | Array) -> None:
    message.x, message.y, message.z = float(values[0]), float(values[1]), float(values[2])
