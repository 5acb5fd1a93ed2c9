"""The front door of the solvers: every island by the method that the contact law needs."""

from __future__ import annotations

from hydro_sim_core.jit import kernel
from hydro_sim_core.solvers.convex import solve_convex
from hydro_sim_core.solvers.face_laws import TAMSI
from hydro_sim_core.solvers.options import CONVERGED, NUM_REPORT
from hydro_sim_core.solvers.tamsi import solve_tamsi


@kernel
def solve(problem, options, scratch):
    """Solve the step's problem.

    Args:
        problem: ``ContactProblem``.
        options: ``SolverOptions``.
        scratch: ``SolverScratch``; ``v`` holds the initial guess and receives the velocities at the end of the step.
            Afterwards ``report`` holds iterations, relative momentum residual, 1 if converged, the number of solves and
            how far the friction bounds were from the solution's, each of the island that did worst; ``twists`` and
            ``patch_impulse`` are those of the solution.

    Returns:
        True if the residual of every island reached the tolerance.
    """
    report, of_island = scratch.report, scratch.island_report
    report[:] = 0.0
    report[CONVERGED] = 1.0
    for island in range(problem.islands.num[0]):
        of_island[:] = 0.0
        if options.law == TAMSI:
            solve_tamsi(problem, options, island, scratch)
        else:
            solve_convex(problem, options, options.law, island, scratch)
        for i in range(NUM_REPORT):
            # Written so that NaN is kept.
            worse = of_island[i] < report[i] if i == CONVERGED else not of_island[i] <= report[i]
            if worse:
                report[i] = of_island[i]
    return report[CONVERGED] > 0.0
