# mypy: allow-untyped-defs
"""Newton for islands with contacts at equivalent points, where friction follows the normal impulse.

Their friction acts at the equivalent contact point and up to the bound of the same velocities. These equations are not
the gradient of a cost. They are solved by Newton steps with their full derivative from a solution of the convex problem
without friction, or from one in which all that presses sticks; where that leads nowhere, for a share of the friction
that grows from none to all. Last, the convex problem is solved with the bounds of its own solution until these hardly
change.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.solvers.balance import (
    add_to_matrix,
    assemble_hessian,
    mirror_hessian,
    momentum_residual,
)
from hydro_sim_core.solvers.linear import solve_general
from hydro_sim_core.solvers.newton import minimise, settle_friction
from hydro_sim_core.solvers.options import CONVERGED, ITERATIONS, RESIDUAL
from hydro_sim_core.solvers.patch_terms import is_point
from hydro_sim_core.solvers.patch_work import relative_twists
from hydro_sim_core.solvers.point_law import bound_friction
from hydro_sim_core.solvers.problem import DRIFT

#: Momentum residual to reach, and share of the momenta below which one that no longer falls is round-off of stiff
#: conditions.
TOLERANCE, ROUND_OFF = 1e-11, 5e-10
#: Newton steps from one start.
MOST_STEPS = 24
#: Convex problems to start from one after another; those in which all sticks; those whose bounds are to repeat.
MOST_STARTS, MOST_STICKING, MOST_REPEATS = 4, 2, 16
#: Momentum that friction of bounds which repeat may lack or exceed, as a share of the momenta. With an impulse that is
#: tiny beside these, the place at which it acts, and so friction, follows no better from velocities.
NEARLY = 1e-7
#: First and least step along the share of friction.
FIRST_SHARE, LEAST_SHARE = 0.25, 1e-4


@kernel
def has_points(problem, island):
    """Whether a contact at an equivalent point acts on an island.

    Reads problem.islands: first_patch, patches.
    """
    islands = problem.islands
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        if is_point(problem, islands.patches[n]):
            return True
    return False


@kernel
def solve_with_points(problem, options, law, island, scratch):
    """Solve an island with contacts at equivalent points from the guess in ``scratch.v``; see ``solver_entry``."""
    settle_friction(problem, options, law, island, _solve, scratch)


@kernel
def _solve(problem, options, law, island, scratch):
    """Solve with the faces' friction bounds as they are.

    Reads problem.points: is_new.
    Writes scratch: island_report.
    """
    points, report = problem.points, scratch.island_report
    if points.is_new[0] == 0 and _newton(problem, law, island, scratch):
        return
    _solve_without_friction(problem, options, law, island, scratch)
    if _newton(problem, law, island, scratch):
        return
    for _ in range(MOST_STARTS):
        if _newton_from_convex(problem, options, law, island, scratch):
            return
    # A body that jams may have no other solution: friction makes it press on until it sticks.
    for _ in range(MOST_STICKING):
        _solve_convex(problem, options, law, island, True, scratch)
        if _newton(problem, law, island, scratch):
            return
    if _follow(problem, options, law, island, scratch):
        return
    if _repeat_bounds(problem, options, law, island, scratch):
        return
    # The convex problem's solution is the safe one; the step does not count as solved.
    _solve_without_friction(problem, options, law, island, scratch)
    _solve_convex(problem, options, law, island, False, scratch)
    report[CONVERGED] = 0.0


@kernel
def _solve_without_friction(problem, options, law, island, scratch):
    """Solve with contacts at points that do not rub: a convex problem.

    Reads problem.islands: first_patch, patches; problem.points: first_patch.
    Writes problem.points: bound, is_coupled.
    """
    islands, points = problem.islands, problem.points
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        if is_point(problem, islands.patches[n]):
            points.bound[islands.patches[n] - points.first_patch[0]] = 0.0
    points.is_coupled[0] = 0
    minimise(problem, options, law, island, scratch)
    points.is_coupled[0] = 1


@kernel
def _follow(problem, options, law, island, scratch):
    """Follow the solution from none to all of the friction, in steps as long as Newton's method can take.

    Returns:
        Whether it got there. If not the velocities are anything.

    Reads problem.points: share.
    Writes problem.points: share.
    """
    points, step, done = problem.points, FIRST_SHARE, 0.0
    _solve_without_friction(problem, options, law, island, scratch)
    while done < 1.0 and step >= LEAST_SHARE:
        points.share[0] = min(done + step, 1.0)
        if _newton(problem, law, island, scratch) or _newton_from_convex(
            problem, options, law, island, scratch
        ):
            done = points.share[0]
            step *= 2.0
        else:
            step *= 0.25
    points.share[0] = 1.0
    return done == 1.0


@kernel
def _newton_from_convex(problem, options, law, island, scratch):
    """Newton steps from the solution of the convex problem, which knows what sticks; whether they converge."""
    _solve_convex(problem, options, law, island, False, scratch)
    return _newton(problem, law, island, scratch)


@kernel
def _repeat_bounds(problem, options, law, island, scratch):
    """Solve the convex problem with the bounds of its last solution until friction is nearly that of its own.

    Impulses and momenta balance as in any solution.

    Returns:
        Whether it got there.

    Writes scratch: island_report; problem.points: is_coupled.
    """
    points, report = problem.points, scratch.island_report
    _solve_without_friction(problem, options, law, island, scratch)
    for _ in range(MOST_REPEATS):
        _solve_convex(problem, options, law, island, False, scratch)
        _, lacks = momentum_residual(problem, law, island, scratch)
        points.is_coupled[0] = 0
        residual, share = momentum_residual(problem, law, island, scratch)
        points.is_coupled[0] = 1
        if lacks <= NEARLY and share <= ROUND_OFF:
            report[RESIDUAL], report[CONVERGED] = residual, 1.0
            return True
    return False


@kernel
def _solve_convex(problem, options, law, island, sticks, scratch):
    """Solve the convex problem with the bounds and points of friction of the present velocities.

    If it ``sticks``, whatever presses has no bound.

    Writes problem.points: is_coupled.
    """
    _fix_friction(problem, island, sticks, scratch)
    problem.points.is_coupled[0] = 0
    minimise(problem, options, law, island, scratch)
    problem.points.is_coupled[0] = 1


@kernel
def _fix_friction(problem, island, sticks, scratch):
    """Fix bounds and points of friction to those of the present velocities; see ``_solve_convex``.

    Reads problem: friction; scratch: twists, v; problem.islands: first_patch, patches; problem.points: bound,
    first_patch, share.
    Writes scratch: twists; problem.points: bound.
    """
    islands, points = problem.islands, problem.points
    relative_twists(problem, island, scratch.v, DRIFT, scratch.twists)
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        p = islands.patches[n]
        if is_point(problem, p):
            mu = problem.friction[p] * points.share[0]
            j = p - points.first_patch[0]
            bound_friction(points, mu, j, scratch.twists[p])
            if sticks and points.bound[j] > 0.0:
                points.bound[j] = math.inf


@kernel
def _newton(problem, law, island, scratch):
    """Newton steps on the coupled equations; whether they converge. If not the velocities are as before.

    Reads scratch: direction, island_report, matrix, of_velocities, patch_hessians, residual, v; problem.islands: first,
    first_patch, patches.
    Writes scratch: direction, island_report, matrix, of_velocities, v.
    """
    begin, end = problem.islands.first[island], problem.islands.first[island + 1]
    report, start, islands = scratch.island_report, scratch.of_velocities[1], problem.islands
    for i in range(begin, end):
        start[i] = scratch.v[i]
    previous = math.inf
    for _ in range(MOST_STEPS):
        residual, share = momentum_residual(problem, law, island, scratch)
        if residual <= TOLERANCE or (share <= ROUND_OFF and share > 0.5 * previous):
            report[RESIDUAL], report[CONVERGED] = residual, 1.0
            return True
        previous = share
        assemble_hessian(problem, island, scratch)
        mirror_hessian(problem, island, scratch)
        for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
            p = islands.patches[n]
            if is_point(problem, p):
                add_to_matrix(problem, p, scratch.patch_hessians[p], scratch)
        for i in range(begin, end):
            scratch.direction[i] = -scratch.residual[i]
        if not solve_general(scratch.matrix, begin, end, scratch.direction):
            break
        for i in range(begin, end):
            scratch.v[i] += scratch.direction[i]
        report[ITERATIONS] += 1.0
    for i in range(begin, end):
        scratch.v[i] = start[i]
    return False
