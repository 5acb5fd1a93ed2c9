"""Tolerances of a motion: deviations from its trajectory allowed on the way and at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim.parameters import Parameters
from hydro_sim_core.errors import InputError

Array = NDArray[np.float64]
_SOURCE = "goal"
#: Value in a message that removes the tolerance of a parameter.
_ERASE = -1.0


@dataclass(frozen=True)
class JointTolerance:
    """Largest deviations of one joint, rad or m and rad/s or m/s; 0 for no limit."""

    position: float = 0.0
    velocity: float = 0.0


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of a trajectory.

    Attributes:
        path: Tolerances during the motion, by joint.
        goal: Tolerances at its end, by joint.
        goal_time: Time after the end within which the joints must meet the goal tolerances, s; 0 for no limit.
    """

    path: Mapping[str, JointTolerance]
    goal: Mapping[str, JointTolerance]
    goal_time: float


def check_tolerances(parameters: Parameters, joints: Sequence[str]) -> None:
    """Check that the lists fit the joints.

    Raises:
        InputError: A list has neither a single value nor one per joint.
    """
    for name in ("trajectory_path_tolerances", "trajectory_goal_tolerances"):
        values = getattr(parameters, name)
        if len(values) not in (1, len(joints)):
            problem = f"has {len(values)} values for {len(joints)} command joints"
            raise InputError("parameters", name, problem, "give one a joint, or one for all")


def default_tolerances(parameters: Parameters, joints: Sequence[str]) -> Tolerances:
    """Tolerances of the parameters ``trajectory_*``; lists of one value are for all ``joints``."""
    p = parameters
    path = _for_each(p.trajectory_path_tolerances, joints)
    goal = _for_each(p.trajectory_goal_tolerances, joints)
    stopped = p.trajectory_stopped_velocity_tolerance
    return Tolerances(
        {joint: JointTolerance(path[joint]) for joint in joints},
        {joint: JointTolerance(goal[joint], stopped) for joint in joints},
        p.trajectory_goal_time,
    )


def _for_each(values: Sequence[float], joints: Sequence[str]) -> dict[str, float]:
    listed = list(values) * len(joints) if len(values) == 1 else values
    return dict(zip(joints, listed, strict=True))


def goal_tolerances(default: Tolerances, goal: Any, joints: Sequence[str]) -> Tolerances:
    """Tolerances of a FollowJointTrajectory goal, by default those of the parameters.

    Raises:
        InputError: A tolerance is negative but not -1, of a joint that is not in the trajectory, or not supported.
    """
    for field in ("component_path_tolerance", "component_goal_tolerance"):
        if getattr(goal, field):
            raise InputError(_SOURCE, field, "is for joints with several axes", "leave it empty")
    time = goal.goal_time_tolerance.sec + 1e-9 * goal.goal_time_tolerance.nanosec
    return replace(
        default,
        path=_merged(default.path, goal.path_tolerance, joints, "path_tolerance"),
        goal=_merged(default.goal, goal.goal_tolerance, joints, "goal_tolerance"),
        goal_time=_resolve(time, default.goal_time, "goal_time_tolerance"),
    )


def _merged(
    default: Mapping[str, JointTolerance], given: Sequence[Any], joints: Sequence[str], field: str
) -> dict[str, JointTolerance]:
    merged = {joint: default.get(joint, JointTolerance()) for joint in joints}
    for item in given:
        where = f"{field} of joint '{item.name}'"
        if item.name not in merged:
            raise InputError(_SOURCE, where, "is for no joint of the trajectory", "name one of its joints")
        if item.acceleration > 0.0:
            problem = "limits an acceleration, which is not measured"
            raise InputError(_SOURCE, where, problem, "give position and velocity only")
        before = merged[item.name]
        merged[item.name] = JointTolerance(
            _resolve(item.position, before.position, where), _resolve(item.velocity, before.velocity, where)
        )
    return merged


def _resolve(value: float, default: float, where: str) -> float:
    if value == 0.0:
        return default
    if value == _ERASE:
        return 0.0
    if not value > 0.0:
        raise InputError(_SOURCE, where, f"{value:g} is no tolerance", "give 0 or more, or -1 for none")
    return value


def violation(
    tolerances: Mapping[str, JointTolerance],
    joints: Sequence[str],
    position_errors: Array,
    velocity_errors: Array,
) -> str | None:
    """Description of the first violated tolerance; None if there is none.

    Args:
        tolerances: Tolerances by joint; other joints have no limit.
        joints: Names of the joints in the arrays.
        position_errors: (J,) desired minus actual, rad or m.
        velocity_errors: (J,) desired minus actual, rad/s or m/s.
    """
    for joint, position, velocity in zip(joints, position_errors, velocity_errors, strict=True):
        allowed = tolerances.get(joint, JointTolerance())
        if 0.0 < allowed.position < abs(position):
            return f"{joint} is off by {abs(position):g}, more than {allowed.position:g}"
        if 0.0 < allowed.velocity < abs(velocity):
            return f"the speed of {joint} is off by {abs(velocity):g}, more than {allowed.velocity:g}"
    return None
