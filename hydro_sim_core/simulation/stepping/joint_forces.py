# mypy: allow-untyped-defs
"""Springs, joint limits and drives as parts of the solver's problem, for steps and for accelerations at an instant.

A step is implicit: it looks ahead by ``horizon``, its own length, and uses impulses over this time. At an instant the
horizon is 0 and the unit of time is 1 s, so that impulse and force are equal in number.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.solvers.problem import LIMIT_INVERSE_R, LIMIT_SIGN, LIMIT_TARGET

#: Near-rigid regularisation of joint limits (Castro 2022): R = beta^2 w / 4 pi^2 makes them settle in about a step.
LIMIT_BETA = 1.0
#: Largest speed with which a limit that has no stiffness of its own brings a joint back from beyond it, m/s or rad/s: a
#: state that was set there would else be shot back within a step.
RETURN_SPEED = 0.2
#: Width of the band above the speed limit in which a drive's effort drops to zero, as a share of the speed that it
#: would add in a step.
SPEED_LIMIT_STIFFNESS = 1e3

#: Share of a spring's stiffness over a step squared that resists changes of velocity. From a quarter on, a swing
#: neither grows nor decays at any stiffness. A quarter is the trapezoidal rule, which begins a swing at rest with up to
#: w dt / 2 times what it was stretched by; a half begins it with sqrt(2) times that at most.
SPRING_SHARE = 0.5


@kernel
def spring_effort(tree, q, i):
    """Effort of the spring on the coordinate of velocity ``i`` at coordinates ``q`` (nq,), N m or N.

    Reads tree: q_of_v, spring_reference, spring_stiffness.
    """
    if tree.spring_stiffness[i] == 0.0:
        return 0.0
    return tree.spring_stiffness[i] * (tree.spring_reference[i] - q[tree.q_of_v[i]])


@kernel
def stop_effort(tree, q, i):
    """Effort at an instant of the stops of velocity ``i`` that have a stiffness, N m or N: they are springs alone.

    Reads tree: limit_stiffness, q_lower, q_of_v, q_upper.
    """
    if tree.q_of_v[i] < 0 or not tree.limit_stiffness[i] < math.inf:
        return 0.0
    position = q[tree.q_of_v[i]]
    beyond = max(position - tree.q_upper[i], 0.0) - max(tree.q_lower[i] - position, 0.0)
    return -tree.limit_stiffness[i] * beyond


@kernel
def drop_end_stops(problem, k):
    """Leave both limits of the velocity with index ``k`` in the solver's order out of the problem.

    Writes problem: limits.
    """
    for side in range(2):
        row = problem.limits[k + side * problem.v0.shape[0]]
        row[LIMIT_TARGET] = -math.inf
        row[LIMIT_SIGN] = 1.0 - 2.0 * side


@kernel
def load_end_stops(model, problem, k, i, position, inertia, dt, horizon, return_speed):
    """Write both limits of velocity ``i`` to their rows of the problem.

    Args:
        model: The ``Model``.
        problem: The ``ContactProblem``.
        k: Index of the velocity in the solver's order.
        i: Index of the velocity in v.
        position: Coordinate of the velocity, rad or m; a velocity without one has no limits.
        inertia: Inertia felt by the velocity, kg m^2 or kg.
        dt: Time step of the scene, s, which sets the stiffness of limits that have none of their own.
        horizon: See the module, s.
        return_speed: With which a limit without a stiffness brings back what is beyond it, at most, m/s or rad/s.

    Reads problem: limits; model.tree: limit_stiffness, q_lower, q_of_v, q_upper.
    Writes problem: limits.
    """
    relaxation = LIMIT_BETA * dt / math.pi
    rigid = LIMIT_BETA * LIMIT_BETA / (inertia * 4.0 * math.pi * math.pi)
    stiffness = model.tree.limit_stiffness[i]
    soft = 1.0 / (dt * stiffness * (dt + relaxation)) if stiffness < math.inf else 0.0
    fastest = return_speed if rigid > soft else math.inf
    inverse_r = 1.0 / max(rigid, soft)
    if horizon == 0.0:
        # The same spring and damper as a force, without look-ahead.
        inverse_r *= relaxation / (dt * (dt + relaxation))
    for side in range(2):
        row = problem.limits[k + side * problem.v0.shape[0]]
        row[LIMIT_SIGN] = 1.0 - 2.0 * side
        row[LIMIT_INVERSE_R] = inverse_r
        row[LIMIT_TARGET] = -math.inf
        if model.tree.q_of_v[i] >= 0:
            bound = model.tree.q_upper[i] if side else model.tree.q_lower[i]
            wanted = -row[LIMIT_SIGN] * (position - bound) / (horizon + relaxation)
            row[LIMIT_TARGET] = min(wanted, fastest)
            # The force on a joint that stands still is that of the whole speed: under a load it comes to rest as deep.
            row[LIMIT_INVERSE_R] = inverse_r * max(wanted / fastest, 1.0)


@kernel
def load_drive(model, drives, gravity, problem, k, i, position, inertia, dt, horizon):
    """Write the drive of velocity ``i`` to index ``k``; ``gravity`` (nv,) are the forces that it may compensate.

    Other arguments as for ``load_end_stops``.

    Reads drives: effort, kd, kp, limit, q_target, v_target; model: compensated; model.tree: velocity_limit.
    Writes problem: drive_bias, drive_gain, drive_limit, speed_gain, speed_limit.
    """
    effort = (
        drives.effort[i] + drives.kp[i] * (drives.q_target[i] - position) + drives.kd[i] * drives.v_target[i]
    )
    if model.compensated[i]:
        effort += gravity[i]
    problem.drive_bias[k] = effort
    # Implicit in the velocity at the end of the step, so stiff gains stay stable.
    problem.drive_gain[k] = drives.kd[i] + horizon * drives.kp[i]
    problem.drive_limit[k] = drives.limit[i]
    problem.speed_limit[k] = model.tree.velocity_limit[i]
    problem.speed_gain[k] = SPEED_LIMIT_STIFFNESS * inertia / dt
