# mypy: allow-untyped-defs
"""Entry points of the solvers: every island solved by a method with a friction law."""

from __future__ import annotations

import threading
from functools import cache
from typing import Annotated, Any

from hydro_sim_core.compilation import Entry, EntryLayout, entry_from_table, kernel
from hydro_sim_core.description.solver_choices import friction_laws, solver_methods
from hydro_sim_core.errors import InputError
from hydro_sim_core.plugins import referred
from hydro_sim_core.solvers.face_laws import FaceLaw
from hydro_sim_core.solvers.options import (
    CONVERGED,
    ITERATIONS,
    NUM_REPORT,
    SOLVES,
    SolverOptions,
    SolverScratch,
)
from hydro_sim_core.solvers.patch_terms import sum_normal_impulses
from hydro_sim_core.solvers.point_newton import has_points, solve_with_points
from hydro_sim_core.solvers.problem import ContactProblem

#: Any of the solvers, as an argument.
SolverEntry = Annotated[Entry, EntryLayout(f"{__name__}.newton-lagged")]

#: Between the names of a method and a law.
_BESIDE = "-"
#: Of two threads that ask for the same entry point at once, the second gets what the first makes.
_making = threading.RLock()


def solver_entry(method: str, law: str) -> Any:
    """The entry point that solves a step's problem by a method, with a friction law.

    It takes the problem, the options and the scratch memory, whose ``v`` holds the initial guess and receives the
    velocities at the end of the step. Afterwards ``report`` holds iterations, relative momentum residual, 1 if
    converged, number of solves and largest change of the friction bounds, each the worst of all islands; ``twists``,
    ``patch_impulse`` and ``normal_impulse`` are those of the solution. It returns whether the residual of every island
    reached the tolerance. Islands that are marked as solved keep their solution.

    Args:
        method: Name of a method.
        law: Name of a friction law that it solves with.

    Raises:
        InputError: The function that the row of the method or the law names cannot be loaded.
    """
    with _making:
        return _made_entry(method, law)


@cache
def _made_entry(method: str, law: str) -> Any:
    reference, where = friction_laws()[law].law, f"friction law '{law}'"
    of_faces = referred(reference, where)
    if not isinstance(of_faces, FaceLaw):
        raise InputError(reference, where, "is no FaceLaw", "make one, with isotropic for instance")
    solve_island = referred(solver_methods()[method].solve, f"solver method '{method}'")

    def solve(problem: ContactProblem, options: SolverOptions, scratch: SolverScratch) -> bool:
        return _solve_islands(problem, options, solve_island, of_faces, scratch)

    # No name of a row has this sign, so that no two pairs have one name.
    return entry_from_table(solve, __name__, f"{method}{_BESIDE}{law}")


def solver_entries() -> list[Any]:
    """The entry points of every method with every law that it solves with."""
    return [
        solver_entry(method.name, law.name)
        for method in solver_methods().values()
        for law in friction_laws().values()
        if method.solves(law)
    ]


def make_entry(name: str) -> None:
    """Make the entry point of a name that another process has made from the same tables."""
    method, _, law = name.partition(_BESIDE)
    if method in solver_methods() and law in friction_laws():
        solver_entry(method, law)


@kernel
def _solve_islands(problem, options, solve_island, law, scratch):
    """Solve every island that is not solved yet by ``solve_island``; see ``solver_entry``.

    Contacts at equivalent points need a Newton of their own, whatever the method.

    Reads scratch: island_report, normal_impulse, report, reports, twists; problem.islands: first_patch, keeps, num,
    patches; problem.points: is_new.
    Writes scratch: island_report, normal_impulse, report, reports.
    """
    report, of_island, islands = scratch.report, scratch.island_report, problem.islands
    report[:] = 0.0
    report[CONVERGED] = 1.0
    for island in range(islands.num[0]):
        if not islands.keeps[island]:
            of_island[:] = 0.0
            if has_points(problem, island):
                if problem.points.is_new[0] == 0:
                    # Of a step that is solved until its contacts repeat themselves.
                    of_island[ITERATIONS] = scratch.reports[island, ITERATIONS]
                    of_island[SOLVES] = scratch.reports[island, SOLVES]
                solve_with_points(problem, options, law, island, scratch)
            else:
                solve_island(problem, options, law, island, scratch)
            for i in range(NUM_REPORT):
                scratch.reports[island, i] = of_island[i]
            for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
                p = islands.patches[n]
                sum_normal_impulses(problem, law, p, scratch.twists[p], scratch.normal_impulse[p])
        # Every entry of the report is the worst of all islands.
        for i in range(NUM_REPORT):
            # Written so that NaN is kept.
            entry = scratch.reports[island, i]
            worse = entry < report[i] if i == CONVERGED else not entry <= report[i]
            if worse:
                report[i] = entry
    return report[CONVERGED] > 0.0
