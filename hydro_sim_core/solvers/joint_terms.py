# mypy: allow-untyped-defs
"""End stops, drives and joint friction: convex costs of single velocities."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.solvers.problem import LIMIT_INVERSE_R, LIMIT_SIGN, LIMIT_TARGET

#: Speed below which Coulomb friction in a joint is regularised, rad/s or m/s.
JOINT_STICTION_SPEED = 1e-4


@kernel
def limit_impulse(problem, row, v):
    """Impulse of an end stop and its fall a unit of velocity: ``((target - s v) / R)_+`` along sign s."""
    sign = problem.limits[row, LIMIT_SIGN]
    inverse_r = problem.limits[row, LIMIT_INVERSE_R]
    push = problem.limits[row, LIMIT_TARGET] - sign * v
    if push <= 0.0:
        return 0.0, 0.0
    return sign * inverse_r * push, inverse_r


@kernel
def drive_impulse(problem, i, v):
    """Impulse of a saturating drive and its fall a unit of velocity.

    The effort falls linearly with the velocity (implicit PD) and saturates at the effort limit. Beyond the speed limit
    a drive does not push on; it brakes only as far as its gains and command ask for, so that a free joint stays free.
    """
    dt = problem.dt[0]
    effort, fall = problem.drive_bias[i] - problem.drive_gain[i] * v, problem.drive_gain[i]
    limit = problem.drive_limit[i]
    if abs(effort) >= limit:
        effort, fall = math.copysign(limit, effort), 0.0
    excess = abs(v) - problem.speed_limit[i]
    if excess > 0.0 and effort * v > 0.0:
        push = abs(effort) - problem.speed_gain[i] * excess
        if push <= 0.0:
            return 0.0, 0.0
        effort, fall = math.copysign(push, effort), fall + problem.speed_gain[i]
    return dt * effort, dt * fall


@kernel
def friction_impulse(problem, i, v):
    """Impulse of regularised Coulomb friction and its fall a unit of velocity."""
    effort = problem.dt[0] * problem.joint_friction[i]
    if effort == 0.0:
        return 0.0, 0.0
    soft2 = v * v + JOINT_STICTION_SPEED * JOINT_STICTION_SPEED
    soft = math.sqrt(soft2)
    return -effort * v / soft, effort * JOINT_STICTION_SPEED * JOINT_STICTION_SPEED / (soft * soft2)


@kernel
def joint_impulse(problem, i, v):
    """Impulse of everything that acts on the velocity at position ``i`` alone, and its fall a unit of velocity."""
    nv = problem.v0.shape[0]
    lower, lower_fall = limit_impulse(problem, i, v)
    upper, upper_fall = limit_impulse(problem, i + nv, v)
    drive, drive_fall = drive_impulse(problem, i, v)
    friction, friction_fall = friction_impulse(problem, i, v)
    return lower + upper + drive + friction, lower_fall + upper_fall + drive_fall + friction_fall
