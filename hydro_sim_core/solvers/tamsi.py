# mypy: allow-untyped-defs
"""TAMSI (Castro 2020): Newton with friction bounded by the normal impulse of the same velocities.

These equations are not the gradient of a cost: their matrix is unsymmetric, and steps are limited by the change of
tangential velocities instead of by a line search. Where the sliding direction turns too far, or a step would jump over
stiction, the linearised friction is not valid at the end of the step.
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
from hydro_sim_core.solvers.newton import is_balanced, minimise, update_friction_bounds
from hydro_sim_core.solvers.options import CONVERGED, ITERATIONS, RESIDUAL, SOLVES
from hydro_sim_core.solvers.patch_terms import (
    friction_coupling,
    slip_step_limit,
    update_patch_friction_bounds,
)
from hydro_sim_core.solvers.patch_work import relative_twists
from hydro_sim_core.solvers.problem import DRIFT, DRIFT_BEFORE, NO_DRIFT


@kernel
def solve_tamsi(problem, options, law, island, scratch):
    """Solve the equations of an island from the guess in ``scratch.v``; see ``solver_entry``.

    ``law`` is that of ``LAGGED``, whose bounds are set to those of the velocities wherever it is evaluated.

    Reads options: max_iterations; problem: v0; scratch: direction, island_report, matrix, residual, v; problem.islands:
    first.
    Writes scratch: direction, island_report, matrix, v.
    """
    report = scratch.island_report
    # The convex problem with friction bounds of the last velocities is solved surely and lies close.
    update_friction_bounds(problem, options, law, island, problem.v0, DRIFT_BEFORE, scratch)
    minimise(problem, options, law, island, scratch)
    report[SOLVES] = 1.0
    report[CONVERGED] = 0.0
    begin, end = problem.islands.first[island], problem.islands.first[island + 1]
    previous = math.inf
    for iteration in range(options.max_iterations + 1):
        _bound_friction(problem, options, law, island, scratch)
        residual, share = momentum_residual(problem, law, island, scratch)
        report[RESIDUAL] = residual
        if is_balanced(problem, options, island, scratch, residual, share, previous):
            report[CONVERGED] = 1.0
            return
        previous = share
        if iteration == options.max_iterations:
            break
        assemble_hessian(problem, island, scratch)
        _fill_matrix(problem, island, scratch)
        for i in range(begin, end):
            scratch.direction[i] = -scratch.residual[i]
        if not solve_general(scratch.matrix, begin, end, scratch.direction):
            break
        alpha = _step_limit(problem, options, island, scratch)
        for i in range(begin, end):
            scratch.v[i] += alpha * scratch.direction[i]
        report[ITERATIONS] += 1.0
    _return_to_convex(problem, options, law, island, scratch)


@kernel
def _return_to_convex(problem, options, law, island, scratch):
    """Take the convex problem's solution where Newton finds none, because its last iterate may be arbitrary.

    With high friction the equations need not have a solution. The solution of the convex problem adds no energy; the
    residual stays that of the equations, and the step counts as unconverged.

    Reads problem: v0; scratch: island_report; problem.islands: first.
    Writes scratch: island_report, v.
    """
    report, v0, islands = scratch.island_report, problem.v0, problem.islands
    residual, iterations = report[RESIDUAL], report[ITERATIONS]
    for i in range(islands.first[island], islands.first[island + 1]):
        scratch.v[i] = v0[i]
    update_friction_bounds(problem, options, law, island, v0, DRIFT_BEFORE, scratch)
    minimise(problem, options, law, island, scratch)
    report[RESIDUAL], report[ITERATIONS], report[CONVERGED] = residual, iterations, 0.0


@kernel
def _bound_friction(problem, options, law, island, scratch):
    """Friction bounds of the present velocities.

    Reads options: stiction_speed; scratch: twists, v; problem.islands: first_patch, patches.
    Writes scratch: twists.
    """
    islands = problem.islands
    relative_twists(problem, island, scratch.v, DRIFT, scratch.twists)
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        p = islands.patches[n]
        update_patch_friction_bounds(problem, law, p, scratch.twists[p], options.stiction_speed, 0.0)


@kernel
def _fill_matrix(problem, island, scratch):
    """Fill both triangles of the Hessian, with the coupling of friction to the normal impulse.

    Reads scratch: patch_hessians, twists; problem.islands: first_patch, patches.
    Writes scratch: patch_hessians.
    """
    islands = problem.islands
    mirror_hessian(problem, island, scratch)
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        p = islands.patches[n]
        friction_coupling(problem, p, scratch.twists[p], scratch.patch_hessians[p])
        add_to_matrix(problem, p, scratch.patch_hessians[p], scratch)


@kernel
def _step_limit(problem, options, island, scratch):
    """Largest share of the step, at most 1, within which friction's linearisation holds at every face.

    Reads options: stiction_speed; scratch: direction, direction_twists, twists; problem.islands: first_patch, patches.
    Writes scratch: direction_twists.
    """
    islands = problem.islands
    relative_twists(problem, island, scratch.direction, NO_DRIFT, scratch.direction_twists)
    alpha = 1.0
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        p = islands.patches[n]
        alpha = min(
            alpha,
            slip_step_limit(
                problem, p, scratch.twists[p], scratch.direction_twists[p], options.stiction_speed
            ),
        )
    return alpha
