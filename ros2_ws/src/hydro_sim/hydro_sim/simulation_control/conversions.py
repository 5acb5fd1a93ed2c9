"""Conversions between ROS messages and the engine's arrays: poses, twists, volumes and filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Pose, Quaternion, Twist, Vector3
from numpy.typing import NDArray

from hydro_sim.simulation_control.refusals import Reason, Refused
from hydro_sim_core.rotations import matrix_of, quaternions_of
from hydro_sim_core.simulation.world.entities import Box, ConvexHull, Sphere, Volume

Array = NDArray[np.float64]
_NEAR_UNIT = 0.01  # tolerance of a quaternion's norm, because clients round
_MOST_POINTS = 1000


def pose_matrix(pose: Pose) -> Array:
    """The (4, 4) pose of a message.

    Raises:
        Refused: Its quaternion is not a rotation, or a number is not finite.
    """
    p, o = pose.position, pose.orientation
    quaternion = np.array([o.x, o.y, o.z, o.w])
    norm = np.linalg.norm(quaternion)
    if not abs(norm - 1.0) <= _NEAR_UNIT:
        raise Refused(Reason.INVALID_POSE, f"the quaternion has norm {norm:g}; give one of norm 1")
    X = np.eye(4)
    X[:3, :3] = matrix_of(quaternion)
    X[:3, 3] = p.x, p.y, p.z
    if not np.all(np.isfinite(X)):
        raise Refused(Reason.INVALID_POSE, "the position is not finite; give three numbers")
    return X


def pose_message(X: Array) -> Pose:
    """A (4, 4) pose as a message."""
    x, y, z, w = quaternions_of(X[:3, :3]).tolist()
    return Pose(position=Point(**_xyz(X[:3, 3])), orientation=Quaternion(x=x, y=y, z=z, w=w))


def twist_vector(twist: Twist) -> Array:
    """The (6,) angular and linear velocity of a message."""
    return np.array([getattr(part, axis) for part in (twist.angular, twist.linear) for axis in "xyz"])


def twist_message(V: Array) -> Twist:
    """A (6,) angular and linear velocity as a message."""
    return Twist(angular=Vector3(**_xyz(V[:3])), linear=Vector3(**_xyz(V[3:])))


def box_corners(lower: Array, upper: Array) -> list[Vector3]:
    """Points of a box in the order of simulation_interfaces: the upper corner comes first."""
    return [Vector3(**_xyz(upper)), Vector3(**_xyz(lower))]


def volume(bounds: Any) -> Volume | None:
    """Volume of a ``Bounds`` message; None if it is unbounded.

    Raises:
        Refused: Its points do not match its type, or the type is unknown.
    """
    points = np.array([[p.x, p.y, p.z] for p in bounds.points]).reshape(-1, 3)
    if bounds.type == bounds.TYPE_EMPTY:
        return None
    if not np.all(np.isfinite(points)):
        raise Refused(Reason.OPERATION_FAILED, "the bounds are not finite")
    count = len(points)
    if bounds.type == bounds.TYPE_BOX and count == 2 and np.all(points[1] <= points[0]):
        return Box(points[1], points[0])
    if bounds.type == bounds.TYPE_SPHERE and count == 2 and points[1, 0] >= 0.0:
        return Sphere(points[0], float(points[1, 0]))
    if bounds.type == bounds.TYPE_CONVEX_HULL and 3 <= count <= _MOST_POINTS:
        return ConvexHull(points)
    if bounds.type > bounds.TYPE_SPHERE:
        raise Refused(Reason.FEATURE_UNSUPPORTED, f"bounds of type {bounds.type} are unknown")
    raise Refused(
        Reason.OPERATION_FAILED,
        f"{count} points do not fit bounds of type {bounds.type}: give a box its upper and lower corner, a sphere its "
        f"centre and radius, a hull 3 to {_MOST_POINTS} points",
    )


def resource_of(message: Any) -> Any:
    """The part of a message with ``uri`` and ``resource_string``, which differs in releases before 2.1."""
    for name in ("entity_resource", "world_resource", "level_resource"):
        if hasattr(message, name):
            return getattr(message, name)
    return message


def has_tags(tags: Sequence[str], wanted: Any) -> bool:
    """Whether tags pass a ``TagsFilter``.

    Raises:
        Refused: Its mode is unknown.
    """
    if wanted.filter_mode not in (wanted.FILTER_MODE_ANY, wanted.FILTER_MODE_ALL):
        raise Refused(Reason.FEATURE_UNSUPPORTED, f"filter mode {wanted.filter_mode} is unknown")
    if not wanted.tags:
        return True
    found = [tag in tags for tag in wanted.tags]
    return all(found) if wanted.filter_mode == wanted.FILTER_MODE_ALL else any(found)


def _xyz(values: Array) -> dict[str, float]:
    return dict(zip("xyz", values.tolist(), strict=True))
