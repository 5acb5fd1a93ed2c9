# mypy: allow-untyped-defs
"""Joint limits, drives and joint friction: convex costs of single velocities."""

from __future__ import annotations

import math
from typing import NamedTuple

from hydro_sim_core.compilation import kernel
from hydro_sim_core.solvers.problem import LIMIT_INVERSE_R, LIMIT_SIGN, LIMIT_TARGET

#: Speed below which Coulomb friction in a joint is regularised, as a multiple of the ``stiction_speed`` of contact.
JOINT_STICTION = 10.0


class JointResponse(NamedTuple):
    """Impulse on a velocity (N s or N m s), and its stiffness: minus its derivative by the velocity."""

    impulse: float
    stiffness: float


@kernel
def limit_impulse(problem, row, v):
    """``JointResponse`` of an end stop: ``((target - s v) / R)_+`` along sign s.

    Reads problem: limits.
    """
    sign = problem.limits[row, LIMIT_SIGN]
    inverse_r = problem.limits[row, LIMIT_INVERSE_R]
    push = problem.limits[row, LIMIT_TARGET] - sign * v
    if push <= 0.0:
        return JointResponse(0.0, 0.0)
    return JointResponse(sign * inverse_r * push, inverse_r)


@kernel
def drive_impulse(problem, i, v):
    """``JointResponse`` of a saturating drive.

    The effort decreases linearly with the velocity (implicit PD) and saturates at the effort limit. Beyond the speed
    limit a drive does not push on; it brakes only as far as its gains and command ask for, so a free joint stays free.

    Reads problem: drive_bias, drive_gain, drive_limit, dt, speed_gain, speed_limit.
    """
    dt = problem.dt[0]
    effort, stiffness = problem.drive_bias[i] - problem.drive_gain[i] * v, problem.drive_gain[i]
    limit = problem.drive_limit[i]
    if abs(effort) >= limit:
        effort, stiffness = math.copysign(limit, effort), 0.0
    excess = abs(v) - problem.speed_limit[i]
    if excess > 0.0 and effort * v > 0.0:
        push = abs(effort) - problem.speed_gain[i] * excess
        if push <= 0.0:
            return JointResponse(0.0, 0.0)
        effort, stiffness = math.copysign(push, effort), stiffness + problem.speed_gain[i]
    return JointResponse(dt * effort, dt * stiffness)


@kernel
def friction_impulse(problem, i, v):
    """``JointResponse`` of regularised Coulomb friction.

    Reads problem: dt, joint_friction, joint_slip.
    """
    effort = problem.dt[0] * problem.joint_friction[i]
    if effort == 0.0:
        return JointResponse(0.0, 0.0)
    slip = problem.joint_slip[0]
    soft2 = v * v + slip * slip
    soft = math.sqrt(soft2)
    stiffness = effort * slip * slip / (soft * soft2)
    return JointResponse(-effort * v / soft, stiffness)


@kernel
def joint_impulse(problem, i, v):
    """``JointResponse`` of drive, limits and friction of velocity ``i`` in the solver's order."""
    nv = problem.v0.shape[0]
    lower, upper = limit_impulse(problem, i, v), limit_impulse(problem, i + nv, v)
    drive, friction = drive_impulse(problem, i, v), friction_impulse(problem, i, v)
    return JointResponse(
        lower.impulse + upper.impulse + drive.impulse + friction.impulse,
        lower.stiffness + upper.stiffness + drive.stiffness + friction.stiffness,
    )
