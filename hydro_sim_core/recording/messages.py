"""Snapshots as serialised ROS 2 messages, without ROS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hydro_sim_core.recording.message_types import message_types
from hydro_sim_core.simulation import Snapshot

Array = NDArray[np.float64]
_WORLD_POSE = np.eye(4)


#: Types of the messages that are made here.
STRING = "std_msgs/msg/String"
CLOCK = "rosgraph_msgs/msg/Clock"
JOINT_STATE = "sensor_msgs/msg/JointState"
WRENCH = "geometry_msgs/msg/WrenchStamped"
TRANSFORMS = "tf2_msgs/msg/TFMessage"


def _make(type_name: str, *fields: object) -> Any:
    return message_types().message(type_name, *fields)


def _encode(type_name: str, *fields: object) -> bytes:
    return message_types().serialize(_make(type_name, *fields))


def _stamp(time: float) -> Any:
    seconds, nanoseconds = divmod(round(time * 1e9), 1_000_000_000)
    return _make("builtin_interfaces/msg/Time", seconds, nanoseconds)


def _header(time: float, frame_id: str = "") -> Any:
    return _make("std_msgs/msg/Header", _stamp(time), frame_id)


def _vector(values: Sequence[float] | Array) -> Any:
    return _make("geometry_msgs/msg/Vector3", *map(float, values))


def _wrench(force: Array, moment: Array) -> Any:
    return _make("geometry_msgs/msg/Wrench", _vector(force), _vector(moment))


def text(value: str) -> bytes:
    """``std_msgs/String``."""
    return _encode(STRING, value)


def clock(snapshot: Snapshot) -> bytes:
    """``rosgraph_msgs/Clock``."""
    return _encode(CLOCK, _stamp(snapshot.time))


def joint_state(snapshot: Snapshot, names: Sequence[str]) -> bytes:
    """``sensor_msgs/JointState`` of all joints with one coordinate."""
    values = (snapshot.joint_positions, snapshot.joint_velocities, snapshot.joint_efforts)
    return _encode(JOINT_STATE, _header(snapshot.time), names, *values)


def joint_targets(time: float, names: Sequence[str], targets: Array) -> bytes:
    """``sensor_msgs/JointState`` of what drives are told.

    Args:
        time: Simulated time, s.
        names: The joints.
        targets: (3, n) position, velocity and effort of each, NaN where its drive does not follow one.
    """
    return _encode(JOINT_STATE, _header(time), names, *targets)


def wrench(snapshot: Snapshot, pair: tuple[str, str], X_WB: Array, frame_id: str) -> bytes:
    """``geometry_msgs/WrenchStamped``: what the first body of ``pair`` does to the second, B.

    Args:
        snapshot: The instant.
        pair: Names of the two bodies.
        X_WB: (4, 4) pose of B; force and moment are along its axes, the moment about its origin.
        frame_id: Name of B's frame.
    """
    R_WB, p_WB = X_WB[:3, :3], X_WB[:3, 3]
    force, moment = np.zeros(3), np.zeros(3)
    for patch in snapshot.contacts:
        if (patch.name_a, patch.name_b) == pair:
            force += patch.force_on_b
            moment += patch.moment_on_b(p_WB)
    header = _header(snapshot.time, frame_id)
    return _encode(WRENCH, header, _wrench(R_WB.T @ force, R_WB.T @ moment))


def transforms(snapshot: Snapshot, links: Sequence[tuple[str, str]], world_frame: str) -> bytes:
    """``tf2_msgs/TFMessage`` with the pose of every child in its parent.

    Args:
        snapshot: The instant.
        links: (parent, child) of each; a parent that is no link is the world.
        world_frame: Name of the world.
    """
    poses = snapshot.frames
    X_WP = np.array([poses.get(parent, _WORLD_POSE) for parent, _ in links]).reshape(-1, 4, 4)
    X_WC = np.array([poses[child] for _, child in links]).reshape(-1, 4, 4)
    R_PW = np.swapaxes(X_WP[:, :3, :3], 1, 2)
    p_PC = np.einsum("nij,nj->ni", R_PW, X_WC[:, :3, 3] - X_WP[:, :3, 3])
    quaternions = Rotation.from_matrix(R_PW @ X_WC[:, :3, :3]).as_quat() if links else np.zeros((0, 4))
    named = zip(links, p_PC.tolist(), quaternions.tolist(), strict=True)
    return _encode(
        TRANSFORMS,
        [
            _make(
                "geometry_msgs/msg/TransformStamped",
                _header(snapshot.time, parent if parent in poses else world_frame),
                child,
                _make(
                    "geometry_msgs/msg/Transform", _vector(p), _make("geometry_msgs/msg/Quaternion", *xyzw)
                ),
            )
            for (parent, child), p, xyzw in named
        ],
    )
