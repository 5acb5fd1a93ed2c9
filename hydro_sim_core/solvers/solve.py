# mypy: allow-untyped-defs
"""Entry points of the solvers: every island solved by a method with a friction law."""

from __future__ import annotations

import threading
from functools import cache
from typing import Annotated, Any

from hydro_sim_core.compilation import Entry, EntryLayout, entry_from_table, kernel
from hydro_sim_core.compilation.teams import (
    HELPER,
    KIND,
    PART,
    PARTS,
    WITHIN,
    end_part,
    meet,
    parts_to_share,
    publish,
    take_part,
)
from hydro_sim_core.description.solver_choices import friction_laws, solver_methods
from hydro_sim_core.errors import InputError
from hydro_sim_core.plugins import referred
from hydro_sim_core.solvers.face_laws import FaceLaw
from hydro_sim_core.solvers.options import (
    CONVERGED,
    ITERATIONS,
    LEAST_BLOCKS,
    NUM_REPORT,
    SOLVES,
    SolverOptions,
    SolverScratch,
)
from hydro_sim_core.solvers.patch_terms import sum_normal_impulses
from hydro_sim_core.solvers.patch_work import SOLVE, blocks_of, do_part_for_patches
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
    reached the tolerance. Islands that are marked as solved keep their solution. Called with the scratch memory of a
    helper it does the part that this one has taken.

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
        if scratch.team.task[HELPER] != 0:
            return _help(problem, options, solve_island, of_faces, scratch)
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
def forget_solutions(problem, scratch):
    """Have all islands solved anew."""
    for island in range(problem.islands.keeps.shape[0]):
        forget_solution(problem, scratch, island)


@kernel
def forget_solution(problem, scratch, island):
    """Have an island solved anew: it keeps no solution, no friction bounds, and no part in the report.

    Writes scratch: reports; problem.islands: has_bounds, keeps.
    """
    problem.islands.keeps[island] = problem.islands.has_bounds[island] = False
    for k in range(scratch.reports.shape[1]):
        scratch.reports[island, k] = 0.0


@kernel
def _solve_islands(problem, options, solve_island, law, scratch):
    """Solve every island that is not solved yet by ``solve_island``; see ``solver_entry``.

    Islands are shared among the team if no one of them makes most of the work.

    Reads scratch: report, reports; problem.islands: num; scratch.team: least, task.
    Writes scratch: report; scratch.team: words.
    """
    report, num = scratch.report, problem.islands.num[0]
    parts = parts_to_share(scratch.team)
    if parts > 1 and not _are_many(problem, scratch.team.least[LEAST_BLOCKS]):
        parts = 1
    if parts == 1:
        _solve_part(problem, options, solve_island, law, 0, 1, scratch)
    else:
        publish(scratch.team, SOLVE, 0, parts)
        scratch.team.words[WITHIN] = 1
        while take_part(scratch.team):
            _solve_part(problem, options, solve_island, law, scratch.team.task[PART], parts, scratch)
            end_part(scratch.team)
        meet(scratch.team, parts)
        scratch.team.words[WITHIN] = 0
    report[:] = 0.0
    report[CONVERGED] = 1.0
    for island in range(num):
        # Every entry of the report is the worst of all islands.
        for i in range(NUM_REPORT):
            # Written so that NaN is kept.
            entry = scratch.reports[island, i]
            worse = entry < report[i] if i == CONVERGED else not entry <= report[i]
            if worse:
                report[i] = entry
    return report[CONVERGED] > 0.0


@kernel
def _help(problem, options, solve_island, law, scratch):
    """Do the part of a job that a helper has taken; the result means nothing.

    Reads scratch.team: task.
    """
    task = scratch.team.task
    if task[KIND] == SOLVE:
        _solve_part(problem, options, solve_island, law, task[PART], task[PARTS], scratch)
    else:
        do_part_for_patches(problem, law, scratch)
    return True


@kernel
def _are_many(problem, least):
    """Whether it pays to share islands: there are ``least`` blocks of faces, and no one of them has most.

    Contacts at equivalent points have memory that islands share.

    Reads problem: num_patches; problem.islands: keeps, num; problem.points: first_patch.
    """
    if problem.num_patches[0] > problem.points.first_patch[0]:
        return False
    total, most = 0, 0
    for island in range(problem.islands.num[0]):
        if not problem.islands.keeps[island]:
            blocks = blocks_of(problem, island)
            total, most = total + blocks, max(most, blocks)
    return total >= least and 2 * most <= total


@kernel
def _solve_part(problem, options, solve_island, law, part, parts, scratch):
    """Solve one of the parts of the islands that are not solved yet, with about as many faces as the others have.

    Reads problem.islands: keeps, num.
    """
    islands, total, before = problem.islands, 0 if parts > 1 else 1, 0
    if parts > 1:
        for island in range(islands.num[0]):
            total += 0 if islands.keeps[island] else 1 + blocks_of(problem, island)
    for island in range(islands.num[0]):
        if islands.keeps[island]:
            continue
        # An island belongs to the part that its begin falls into.
        if before * parts // total == part:
            _solve_island(problem, options, solve_island, law, island, scratch)
        if parts > 1:
            before += 1 + blocks_of(problem, island)


@kernel
def _solve_island(problem, options, solve_island, law, island, scratch):
    """Solve an island, and report on it.

    Contacts at equivalent points need a Newton of their own, whatever the method.

    Reads scratch: island_report, normal_impulse, reports, twists; problem.islands: first_patch, patches.
    Writes scratch: island_report, normal_impulse, reports.
    """
    of_island, islands = scratch.island_report, problem.islands
    of_island[:] = 0.0
    if has_points(problem, island):
        solve_with_points(problem, options, law, island, scratch)
    else:
        solve_island(problem, options, law, island, scratch)
    # A step is solved again where its contacts or Coriolis forces do not repeat themselves.
    of_island[ITERATIONS] += scratch.reports[island, ITERATIONS]
    of_island[SOLVES] += scratch.reports[island, SOLVES]
    for i in range(NUM_REPORT):
        scratch.reports[island, i] = of_island[i]
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        p = islands.patches[n]
        sum_normal_impulses(problem, law, p, scratch.twists[p], scratch.normal_impulse[p])
