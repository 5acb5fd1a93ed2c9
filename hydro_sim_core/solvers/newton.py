# mypy: allow-untyped-defs
"""Newton with exact line search on the convex problem of an island.

With a lagged law the problem is convex because friction bounds mu n0 are known before the solve: they come from the
normal impulses at the velocities before the step. Where an impact changes them the problem is solved again with bounds
from the solution. Other laws need no such update.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.solvers.balance import assemble_hessian, inertia_times, momentum_residual
from hydro_sim_core.solvers.elimination import factorise_runs, is_large, solve_runs
from hydro_sim_core.solvers.joint_terms import joint_impulse
from hydro_sim_core.solvers.linear import factorise, solve_factorised
from hydro_sim_core.solvers.options import CONVERGED, FRICTION_CHANGE, ITERATIONS, RESIDUAL, SOLVES
from hydro_sim_core.solvers.patch_work import find_changes, find_slopes, relative_twists, set_bounds
from hydro_sim_core.solvers.problem import DRIFT, DRIFT_BEFORE, NO_DRIFT

#: A full Newton step is taken if it leaves at most this share of the initial slope.
FULL_STEP_SLOPE = 0.25
#: The line search stops at this share of the initial slope.
LINE_SEARCH_TOLERANCE = 1e-4
LINE_SEARCH_ITERATIONS = 60
#: Friction bounds have settled when no patch's bounds change by more than this share; limit on solves.
SETTLED_CHANGE = 0.05
MAX_SOLVES = 10
#: Below this share of the momenta a residual that no longer falls is round-off, which no step can improve.
ROUND_OFF = 1e-11


@kernel
def _slope(problem, law, island, alpha, scratch):
    """Derivative of the cost along the direction at ``v + alpha direction``.

    Reads scratch: direction, inertia_direction, momentum_gap, of_patches, v; problem.islands: first, first_patch,
    patches.
    """
    islands = problem.islands
    slope = 0.0
    for i in range(islands.first[island], islands.first[island + 1]):
        step = scratch.direction[i]
        slope += step * (scratch.momentum_gap[i] + alpha * scratch.inertia_direction[i])
        impulse, _ = joint_impulse(problem, i, scratch.v[i] + alpha * step)
        slope -= step * impulse
    find_slopes(problem, law, island, alpha, scratch)
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        slope -= scratch.of_patches[islands.patches[n], 0]
    return slope


@kernel
def _line_search(problem, law, island, initial, slope_high, scratch):
    """Step length at which the slope along the direction is zero; it exists because the cost is convex.

    Args:
        problem: ``ContactProblem``.
        law: ``FaceLaw``.
        island: Index of the island.
        initial: Slope along the direction at ``scratch.v``, negative.
        slope_high: Slope at the end of the full step.
        scratch: ``SolverScratch``.

    Reads problem: momentum; scratch: direction, v; problem.islands: first.
    Writes scratch: direction_twists, inertia_direction, momentum_gap, twists.
    """
    islands = problem.islands
    for i in range(islands.first[island], islands.first[island + 1]):
        scratch.inertia_direction[i] = inertia_times(problem, i, scratch.direction)
        scratch.momentum_gap[i] = inertia_times(problem, i, scratch.v) - problem.momentum[i]
    relative_twists(problem, island, scratch.v, DRIFT, scratch.twists)
    relative_twists(problem, island, scratch.direction, NO_DRIFT, scratch.direction_twists)
    low, slope_low, high = 0.0, initial, 1.0
    while slope_high < 0.0 and high < 64.0:
        low, slope_low = high, slope_high
        high *= 2.0
        slope_high = _slope(problem, law, island, high, scratch)
    # Illinois variant of false position: superlinear, and stays within the bracket.
    last_side = 0
    alpha = high
    for _ in range(LINE_SEARCH_ITERATIONS):
        alpha = (low * slope_high - high * slope_low) / (slope_high - slope_low)
        if not (low < alpha < high):
            alpha = 0.5 * (low + high)
        slope = _slope(problem, law, island, alpha, scratch)
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
def is_balanced(problem, options, island, scratch, residual, share, previous):
    """Whether a residual is small enough, or has stalled at round-off so that another step adds only noise.

    Args:
        problem: ``ContactProblem``.
        options: ``SolverOptions``.
        island: Index of the island.
        scratch: ``SolverScratch``.
        residual: First result of ``momentum_residual``.
        share: Its second one.
        previous: That of the iteration before.

    Reads options: tolerance.
    """
    if residual <= options.tolerance:
        return True
    if not share > 0.5 * previous:
        return False
    return share < ROUND_OFF or _is_round_off(problem, island, scratch)


@kernel
def _is_round_off(problem, island, scratch):
    """Whether a residual that no longer decreases is round-off of impulses that cancel.

    A drive that presses against a contact at rest leaves no net impulse, and what ``momentum_residual`` returns is then
    relative to rounding errors only.

    Reads problem: A; scratch: impulse, residual, v; problem.islands: first.
    """
    islands = problem.islands
    left, exchanged = 0.0, 0.0
    for i in range(islands.first[island], islands.first[island + 1]):
        weight = 1.0 / problem.A[i, i]
        joint, _ = joint_impulse(problem, i, scratch.v[i])
        contact = scratch.impulse[i] - joint
        left += weight * scratch.residual[i] * scratch.residual[i]
        exchanged += weight * (joint * joint + contact * contact)
    return left <= ROUND_OFF * ROUND_OFF * exchanged


@kernel
def _slope_along(problem, island, scratch):
    """Derivative of the cost along the direction at ``scratch.v``, after ``momentum_residual``.

    Reads scratch: direction, residual; problem.islands: first.
    """
    slope = 0.0
    for i in range(problem.islands.first[island], problem.islands.first[island + 1]):
        slope += scratch.residual[i] * scratch.direction[i]
    return slope


@kernel
def _move(problem, law, island, scratch):
    """Move ``scratch.v`` along the direction, by all of it or as far as the cost falls.

    Returns:
        ``momentum_residual`` there. Nearly all steps are full ones, of which the next iteration needs it anyway.

    Reads scratch: direction, of_velocities, v; problem.islands: first.
    Writes scratch: of_velocities, v.
    """
    begin, end = problem.islands.first[island], problem.islands.first[island + 1]
    start = scratch.of_velocities[0]
    initial = _slope_along(problem, island, scratch)
    for i in range(begin, end):
        start[i] = scratch.v[i]
        scratch.v[i] += scratch.direction[i]
    residual, share = momentum_residual(problem, law, island, scratch)
    slope = _slope_along(problem, island, scratch)
    if abs(slope) <= FULL_STEP_SLOPE * abs(initial):
        return residual, share
    for i in range(begin, end):
        scratch.v[i] = start[i]
    alpha = _line_search(problem, law, island, initial, slope, scratch)
    for i in range(begin, end):
        scratch.v[i] += alpha * scratch.direction[i]
    return momentum_residual(problem, law, island, scratch)


@kernel
def _find_direction(problem, island, scratch):
    """Newton's direction from the residual and the Hessian, which becomes its Cholesky factor; False if none exists.

    Reads scratch: direction, hessian, residual; problem.islands: envelope, first.
    Writes scratch: direction, hessian.
    """
    islands, hessian, direction = problem.islands, scratch.hessian, scratch.direction
    begin, end = islands.first[island], islands.first[island + 1]
    in_runs = is_large(islands, island)
    if in_runs:
        is_done = factorise_runs(hessian, islands, begin, end)
    else:
        is_done = factorise(hessian, hessian, begin, end, islands.envelope)
    if is_done:
        for i in range(begin, end):
            direction[i] = -scratch.residual[i]
        if in_runs:
            solve_runs(hessian, islands, begin, end, direction)
        else:
            solve_factorised(hessian, begin, end, islands.envelope, direction)
    return is_done


@kernel
def update_friction_bounds(problem, options, law, island, v, drift, scratch):
    """Set friction bounds from the normal impulses at ``v`` and prescribed velocities.

    Reads options: lags, stiction_speed.
    Writes scratch: twists.
    """
    relative_twists(problem, island, v, drift, scratch.twists)
    set_bounds(problem, law, options.lags, island, options.stiction_speed, scratch)


@kernel
def _change_of_bounds(problem, options, law, island, scratch):
    """How far friction bounds of ``scratch.v`` are from those set, as a share of them: the largest of any patch.

    Each patch counts by itself, so that a heavy body at rest elsewhere cannot hide an impact. Changes that could alter
    the patch's velocity by less than the stiction speed do not count.

    Reads options: stiction_speed; problem: delassus; scratch: of_patches, v; problem.islands: first_patch, patches.
    Writes scratch: twists.
    """
    islands = problem.islands
    relative_twists(problem, island, scratch.v, DRIFT, scratch.twists)
    find_changes(problem, law, island, scratch)
    largest = 0.0
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        p = islands.patches[n]
        change, total = scratch.of_patches[p, 0], scratch.of_patches[p, 1]
        if change * problem.delassus[p] > options.stiction_speed:
            largest = max(largest, change / total if total > 0.0 else math.inf)
    return largest


@kernel
def minimise(problem, options, law, island, scratch):
    """Newton iterations on ``scratch.v`` in place; iterations, residual and success go to ``island_report``.

    Reads options: max_iterations; scratch: island_report.
    Writes scratch: island_report.
    """
    report = scratch.island_report
    report[CONVERGED] = 0.0
    previous = math.inf
    residual, share = momentum_residual(problem, law, island, scratch)
    for iteration in range(options.max_iterations + 1):
        report[RESIDUAL] = residual
        if is_balanced(problem, options, island, scratch, residual, share, previous):
            report[CONVERGED] = 1.0
            return
        previous = share
        if iteration == options.max_iterations:
            return
        assemble_hessian(problem, island, scratch)
        if not _find_direction(problem, island, scratch):
            return
        residual, share = _move(problem, law, island, scratch)
        report[ITERATIONS] += 1.0


@kernel
def settle_friction(problem, options, law, island, solve, scratch):
    """Call ``solve`` on an island with friction bounds of the velocities before, and again until they are its own.

    They stay those of the last solve: an island that is solved once more in the same step begins with them, and where
    nothing has changed finds the same velocities.

    Reads options: keeps_bounds, lags, relag; problem: v0; scratch: island_report, v; problem.islands: has_bounds.
    Writes scratch: island_report; problem.islands: has_bounds.
    """
    report, islands = scratch.island_report, problem.islands
    if not (options.keeps_bounds or islands.has_bounds[island]):
        update_friction_bounds(problem, options, law, island, problem.v0, DRIFT_BEFORE, scratch)
        islands.has_bounds[island] = True
    for n in range(MAX_SOLVES):
        if n > 0:
            update_friction_bounds(problem, options, law, island, scratch.v, DRIFT, scratch)
        solve(problem, options, law, island, scratch)
        report[SOLVES] += 1.0
        if options.keeps_bounds or not options.lags:
            return
        report[FRICTION_CHANGE] = _change_of_bounds(problem, options, law, island, scratch)
        if not options.relag or report[FRICTION_CHANGE] <= SETTLED_CHANGE:
            return


@kernel
def solve_newton(problem, options, law, island, scratch):
    """Solve the convex problem of an island from the guess in ``scratch.v``; see ``solver_entry``."""
    settle_friction(problem, options, law, island, minimise, scratch)
