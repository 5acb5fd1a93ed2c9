"""Newton with exact line search on the convex problem, with the normal impulse behind friction lagged.

Given friction bounds mu n0 the problem is convex and has one minimiser. The bounds come from the normal impulses at
the best available velocity ("lagged", Castro 2023); where an impact makes them wrong the problem is solved again with
bounds from the solution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hydro_sim_core.jit import kernel
from hydro_sim_core.solvers.joint_terms import joint_impulse
from hydro_sim_core.solvers.linear import factorise, solve_factorised
from hydro_sim_core.solvers.patch_terms import NUM_SUMS, evaluate_patch, lag_friction, patch_slope
from hydro_sim_core.solvers.problem import LANES, ContactProblem

#: A full Newton step is taken if it leaves at most this share of the slope it started with.
FULL_STEP_SLOPE = 0.25
#: The line search stops at this share of the initial slope.
LINE_SEARCH_TOLERANCE = 1e-4
LINE_SEARCH_ITERATIONS = 60
#: Friction bounds are settled when those of no patch change by more than this share; solve at most this many times.
SETTLED_CHANGE = 0.05
MAX_SOLVES = 10
#: Below this share of the momenta involved the residual is round-off: no step can improve it.
ROUND_OFF = 1e-11


class SolverOptions(NamedTuple):
    """How to solve.

    Attributes:
        dt: Time step, s.
        tolerance: Momentum residual to reach, relative to the momenta involved.
        max_iterations: Newton iterations allowed a solve.
        stiction_speed: Regularisation speed of contact friction, m/s.
        relag: Solve again when an impact changes the friction bounds.
    """

    dt: float
    tolerance: float
    max_iterations: int
    stiction_speed: float
    relag: bool


class SolverScratch(NamedTuple):
    """Memory of the solver.

    Attributes:
        twists: (patches, 6) relative twists.
        direction_twists: (patches, 6) their change along the search direction.
        patch_impulse: (patches, 6).
        patch_hessian: (6, 6).
        product: (6, nv) patch Hessian times Jacobian.
        hessian: (nv, nv).
        residual: (nv,).
        impulse: (nv,) generalised impulse of contacts and joints.
        joint_fall: (nv,) Hessian diagonal of the joint terms.
        direction: (nv,).
        inertia_direction: (nv,) A times the direction.
        trial: (nv,) scratch.
        sums: (NUM_SUMS * LANES,).
        report: (5,) iterations, relative residual, converged, solves, last change of the friction bounds.
    """

    twists: np.ndarray
    direction_twists: np.ndarray
    patch_impulse: np.ndarray
    patch_hessian: np.ndarray
    product: np.ndarray
    hessian: np.ndarray
    residual: np.ndarray
    impulse: np.ndarray
    joint_fall: np.ndarray
    direction: np.ndarray
    inertia_direction: np.ndarray
    trial: np.ndarray
    sums: np.ndarray
    report: np.ndarray


def make_solver_scratch(problem: ContactProblem) -> SolverScratch:
    """Allocate the solver's memory for a problem."""
    max_patches, _, nv = problem.jacobian.shape
    return SolverScratch(
        twists=np.zeros((max_patches, 6)),
        direction_twists=np.zeros((max_patches, 6)),
        patch_impulse=np.zeros((max_patches, 6)),
        patch_hessian=np.zeros((6, 6)),
        product=np.zeros((6, nv)),
        hessian=np.zeros((nv, nv)),
        residual=np.zeros(nv),
        impulse=np.zeros(nv),
        joint_fall=np.zeros(nv),
        direction=np.zeros(nv),
        inertia_direction=np.zeros(nv),
        trial=np.zeros(nv),
        sums=np.zeros(NUM_SUMS * LANES),
        report=np.zeros(5),
    )


@kernel
def relative_twists(problem, v, twists):
    """Twist of B relative to A of every patch at velocities ``v``."""
    nv = v.shape[0]
    for p in range(problem.num_patches[0]):
        for row in range(6):
            s = 0.0
            for j in range(nv):
                s += problem.jacobian[p, row, j] * v[j]
            twists[p, row] = s


@kernel
def _add_patch_hessian(problem, p, scratch):
    """hessian += J^T H J, lower triangle."""
    nv = problem.v0.shape[0]
    J, product, patch_hessian = problem.jacobian[p], scratch.product, scratch.patch_hessian
    for row in range(6):
        for j in range(nv):
            s = 0.0
            for k in range(6):
                s += patch_hessian[row, k] * J[k, j]
            product[row, j] = s
    for i in range(nv):
        for j in range(i + 1):
            s = 0.0
            for k in range(6):
                s += J[k, i] * product[k, j]
            scratch.hessian[i, j] += s


@kernel
def _linearise(problem, v, dt, scratch):
    """Residual, Hessian and scale of the momentum balance at ``v``.

    Returns:
        Norm of the residual relative to the momenta involved, both scaled by diag(A)^-1/2 so that rotations and
        translations compare.
    """
    nv = v.shape[0]
    relative_twists(problem, v, scratch.twists)
    for i in range(nv):
        impulse, fall = joint_impulse(problem, i, v[i], dt)
        scratch.impulse[i] = impulse
        for j in range(i + 1):
            scratch.hessian[i, j] = problem.A[i, j]
        scratch.hessian[i, i] += fall
    for p in range(problem.num_patches[0]):
        evaluate_patch(
            problem, p, scratch.twists[p], dt, scratch.sums, scratch.patch_impulse[p], scratch.patch_hessian
        )
        for i in range(nv):
            s = 0.0
            for k in range(6):
                s += problem.jacobian[p, k, i] * scratch.patch_impulse[p, k]
            scratch.impulse[i] += s
        _add_patch_hessian(problem, p, scratch)
    residual2, momentum2, impulse2, start2 = 0.0, 0.0, 0.0, 0.0
    for i in range(nv):
        momentum = 0.0
        for j in range(nv):
            momentum += problem.A[i, j] * v[j]
        r = momentum - problem.momentum[i] - scratch.impulse[i]
        scratch.residual[i] = r
        weight = 1.0 / problem.A[i, i]
        residual2 += weight * r * r
        momentum2 += weight * momentum * momentum
        impulse2 += weight * scratch.impulse[i] * scratch.impulse[i]
        start2 += weight * problem.momentum[i] * problem.momentum[i]
    scale2 = max(momentum2, max(impulse2, start2))
    # NaN must not pass for a perfect balance.
    return 0.0 if scale2 == 0.0 else math.sqrt(residual2 / scale2)


@kernel
def _slope(problem, v, alpha, dt, scratch):
    """Derivative of the cost along the direction at ``v + alpha direction``."""
    nv = v.shape[0]
    slope = 0.0
    for i in range(nv):
        step = scratch.direction[i]
        # trial holds A v - momentum.
        slope += step * (scratch.trial[i] + alpha * scratch.inertia_direction[i])
        impulse, _ = joint_impulse(problem, i, v[i] + alpha * step, dt)
        slope -= step * impulse
    V = scratch.patch_hessian[0]
    for p in range(problem.num_patches[0]):
        dV = scratch.direction_twists[p]
        for k in range(6):
            V[k] = scratch.twists[p, k] + alpha * dV[k]
        slope -= patch_slope(problem, p, V, dV, dt, scratch.sums)
    return slope


@kernel
def _line_search(problem, v, dt, scratch):
    """Step length at which the slope along the direction vanishes; the cost is convex, so there is one."""
    nv = v.shape[0]
    initial = 0.0
    for i in range(nv):
        s = 0.0
        a = 0.0
        for j in range(nv):
            a += problem.A[i, j] * scratch.direction[j]
            s += problem.A[i, j] * v[j]
        scratch.inertia_direction[i] = a
        scratch.trial[i] = s - problem.momentum[i]
        initial += scratch.residual[i] * scratch.direction[i]
    relative_twists(problem, scratch.direction, scratch.direction_twists)
    low, slope_low = 0.0, initial
    high, slope_high = 1.0, _slope(problem, v, 1.0, dt, scratch)
    if abs(slope_high) <= FULL_STEP_SLOPE * abs(initial):
        return 1.0
    while slope_high < 0.0 and high < 64.0:
        low, slope_low = high, slope_high
        high *= 2.0
        slope_high = _slope(problem, v, high, dt, scratch)
    # Illinois variant of false position: superlinear, never leaves the bracket.
    last_side = 0
    alpha = high
    for _ in range(LINE_SEARCH_ITERATIONS):
        alpha = (low * slope_high - high * slope_low) / (slope_high - slope_low)
        if not (low < alpha < high):
            alpha = 0.5 * (low + high)
        slope = _slope(problem, v, alpha, dt, scratch)
        if abs(slope) <= LINE_SEARCH_TOLERANCE * abs(initial):
            break
        if slope < 0.0:
            low, slope_low = alpha, slope
            if last_side == -1:
                slope_high *= 0.5
            last_side = -1
        else:
            high, slope_high = alpha, slope
            if last_side == 1:
                slope_low *= 0.5
            last_side = 1
        if high - low <= 1e-14 * high:
            break
    return alpha


@kernel
def _minimise(problem, options, v, scratch):
    """Newton iterations from ``v``, in place; writes iterations, residual and success into ``scratch.report``."""
    nv = v.shape[0]
    dt = options.dt
    previous = math.inf
    for iteration in range(options.max_iterations + 1):
        residual = _linearise(problem, v, dt, scratch)
        scratch.report[1] = residual
        # Stalled at round-off: the next step could only add noise.
        stalled = residual < ROUND_OFF and residual > 0.5 * previous
        if residual <= options.tolerance or stalled:
            scratch.report[2] = 1.0
            return
        previous = residual
        if iteration == options.max_iterations or not factorise(scratch.hessian, scratch.hessian, nv):
            break
        for i in range(nv):
            scratch.direction[i] = -scratch.residual[i]
        solve_factorised(scratch.hessian, nv, scratch.direction)
        alpha = _line_search(problem, v, dt, scratch)
        for i in range(nv):
            v[i] += alpha * scratch.direction[i]
        scratch.report[0] += 1.0
    scratch.report[2] = 0.0


@kernel
def _lag(problem, options, v, scratch):
    """Set friction bounds from the normal impulses at ``v``; returns the largest relative change of a patch's.

    Each patch is judged by itself: a heavy body at rest elsewhere must not hide an impact. Changes that could alter
    the patch's velocity by less than the stiction speed do not count.
    """
    relative_twists(problem, v, scratch.twists)
    largest = 0.0
    for p in range(problem.num_patches[0]):
        change, total = lag_friction(
            problem, p, scratch.twists[p], options.stiction_speed, options.dt, scratch.sums
        )
        if change * problem.delassus[p] > options.stiction_speed:
            largest = max(largest, change / total if total > 0.0 else math.inf)
    return largest


@kernel
def solve(problem, options, v, scratch):
    """Solve the step's problem.

    Args:
        problem: ``ContactProblem``.
        options: ``SolverOptions``.
        v: (nv,) initial guess; receives the velocities at the end of the step.
        scratch: ``SolverScratch``; afterwards ``report`` holds iterations, relative momentum residual, 1 if converged,
            the number of solves and how far the friction bounds were from the solution's; ``twists`` and
            ``patch_impulse`` are those of the solution.

    Returns:
        True if the residual reached the tolerance.
    """
    scratch.report[:] = 0.0
    _lag(problem, options, problem.v0, scratch)
    for _ in range(MAX_SOLVES if options.relag else 1):
        _minimise(problem, options, v, scratch)
        scratch.report[3] += 1.0
        # The new bounds serve only another solve; the solution just found keeps the impulses it was found with.
        scratch.report[4] = _lag(problem, options, v, scratch)
        if scratch.report[4] <= SETTLED_CHANGE:
            break
    return scratch.report[2] > 0.0
