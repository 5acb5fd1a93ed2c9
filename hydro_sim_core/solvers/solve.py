"""The front door of the solvers: every island by the method that the contact law needs."""

from __future__ import annotations

from typing import Annotated

from hydro_sim_core.compilation import Entry, EntryLayout, entry, kernel
from hydro_sim_core.solvers.convex import solve_convex
from hydro_sim_core.solvers.face_laws import LAGGED, SAP, SIMILAR, TAMSI
from hydro_sim_core.solvers.options import CONVERGED, NUM_REPORT, SolverOptions, SolverScratch
from hydro_sim_core.solvers.problem import ContactProblem
from hydro_sim_core.solvers.tamsi import solve_tamsi_island

#: Any of the solvers, as an argument.
SolverEntry = Annotated[Entry, EntryLayout(f"{__name__}.solve_lagged")]


def solve(problem: ContactProblem, options: SolverOptions, scratch: SolverScratch) -> bool:
    """Solve the step's problem.

    Args:
        problem: The problem.
        options: How to solve it.
        scratch: ``v`` holds the initial guess and receives the velocities at the end of the step. Afterwards ``report``
            holds iterations, relative momentum residual, 1 if converged, the number of solves and how far the friction
            bounds were from the solution's, each of the island that did worst; ``twists`` and ``patch_impulse`` are
            those of the solution.

    Returns:
        True if the residual of every island reached the tolerance.
    """
    return bool(SOLVERS[options.law](problem, options, scratch))


@entry
def solve_lagged(problem: ContactProblem, options: SolverOptions, scratch: SolverScratch) -> bool:
    """Solve with the lagged law; see ``solve``."""
    return _solve_convex_islands(problem, options, LAGGED, scratch)


@entry
def solve_similar(problem: ContactProblem, options: SolverOptions, scratch: SolverScratch) -> bool:
    """Solve with the similar law; see ``solve``."""
    return _solve_convex_islands(problem, options, SIMILAR, scratch)


@entry
def solve_sap(problem: ContactProblem, options: SolverOptions, scratch: SolverScratch) -> bool:
    """Solve with the law of SAP; see ``solve``."""
    return _solve_convex_islands(problem, options, SAP, scratch)


@entry
def solve_tamsi(problem: ContactProblem, options: SolverOptions, scratch: SolverScratch) -> bool:
    """Solve by TAMSI; see ``solve``."""
    _begin_report(scratch)
    for island in range(problem.islands.num[0]):
        scratch.island_report[:] = 0.0
        solve_tamsi_island(problem, options, island, scratch)
        _add_to_report(scratch)
    return scratch.report[CONVERGED] > 0.0


#: The solver of each law. Only the one that a scene uses is compiled.
SOLVERS = {LAGGED: solve_lagged, SIMILAR: solve_similar, SAP: solve_sap, TAMSI: solve_tamsi}


@kernel(constants=("law",))
def _solve_convex_islands(problem, options, law, scratch):
    _begin_report(scratch)
    for island in range(problem.islands.num[0]):
        scratch.island_report[:] = 0.0
        solve_convex(problem, options, law, island, scratch)
        _add_to_report(scratch)
    return scratch.report[CONVERGED] > 0.0


@kernel
def _begin_report(scratch):
    scratch.report[:] = 0.0
    scratch.report[CONVERGED] = 1.0


@kernel
def _add_to_report(scratch):
    """Keep the worst of all islands."""
    report, of_island = scratch.report, scratch.island_report
    for i in range(NUM_REPORT):
        # Written so that NaN is kept.
        worse = of_island[i] < report[i] if i == CONVERGED else not of_island[i] <= report[i]
        if worse:
            report[i] = of_island[i]
