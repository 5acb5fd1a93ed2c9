"""Joint positions over time that take a frame along a Cartesian motion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.manipulation.arm import Arm, is_reached, off_by
from hydro_sim_core.manipulation.cartesian_motion import CartesianMotion
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]


@dataclass(frozen=True)
class JointTrajectory:
    """Points of a trajectory, as ``follow_joint_trajectory`` takes them.

    Attributes:
        names: (J,) joints.
        times: (N,) s, from 0.
        positions: (N, J) rad or m.
        velocities: (N, J) rad/s or m/s.
    """

    names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array


def follow(
    world: World,
    frame: str,
    motion: CartesianMotion,
    *,
    period: float = 0.02,
    joints: Sequence[str] | None = None,
) -> JointTrajectory:
    """Find the joint positions that take a link's frame along a motion without a jump.

    From each point the next is the nearest: of a redundant arm the joints move as little as they can. The world is not
    changed.

    Args:
        world: World with the robot, whose joints stand where the motion begins, or close enough to find the way there.
        frame: Name of the link.
        motion: Motion of its frame.
        period: Time between two points, s; the last comes at the end of the motion.
        joints: Joints that may move; all that move the frame by default.

    Returns:
        The trajectory.

    Raises:
        InputError: There is no such frame or joint, the period is not above 0, a pose of the motion is out of reach of
            the present way around, or a joint would exceed its velocity limit; it says when.
    """
    if not 0.0 < period < math.inf:
        raise InputError("follow", "period", f"is {period}", "give seconds, above 0")
    arm = Arm("follow", world, frame, joints)
    times = np.append(np.arange(0.0, motion.duration, period), motion.duration)
    positions, velocities = np.zeros((2, len(times), len(arm.names)))
    q = arm.present
    for i, time in enumerate(times):
        X_WF, V_WF, _ = motion.at(float(time))
        if i > 0:
            # Where the last velocities lead, and what of a redundant arm's posture the pose leaves free stays there.
            q = q + (times[i] - times[i - 1]) * velocities[i - 1]
            q = arm.nearest(q, X_WF, dict(enumerate(q.tolist())))
        q = arm.nearest(q, X_WF)
        error = arm.error(q, X_WF)
        if not is_reached(error):
            raise InputError(
                "follow",
                f"frame '{shortened(frame)}'",
                f"stays {off_by(error)} off the motion at {time:.3g} s",
                "give poses in reach of the present way around, or start from other joint positions",
            )
        positions[i], velocities[i] = q, arm.velocities(q, V_WF)
        _check_speeds(arm, velocities[i], float(time))
    return JointTrajectory(arm.names, times, positions, velocities)


def _check_speeds(arm: Arm, v: Array, time: float) -> None:
    for name, speed, limit in zip(arm.names, np.abs(v), arm.speed_limits, strict=True):
        if speed > limit:
            raise InputError(
                "follow",
                f"joint '{name}'",
                f"would move at {speed:.3g} at {time:.3g} s, and its velocity limit is {limit:.3g}",
                "give the motion lower limits, or another way around",
            )
