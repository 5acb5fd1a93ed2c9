"""Threads that help the one that steps a machine: pairs, patches and islands are shared where that pays."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from typing import Any

import numpy as np

from hydro_sim_core.compilation import Handle, entry
from hydro_sim_core.compilation.instructions import store, wake_all
from hydro_sim_core.compilation.teams import (
    CALLS,
    KIND,
    LEAVE,
    end_part,
    join,
    must_deliver,
    take_part,
    wait_for_call,
)
from hydro_sim_core.contact.pressure_field.faces import make_face_buffer
from hydro_sim_core.contact.pressure_field.kept_pairs import OWN as OWN_LISTS
from hydro_sim_core.contact.pressure_field.kept_pairs import POOLS, make_kept_pairs
from hydro_sim_core.contact.pressure_field.query import make_query_scratch
from hydro_sim_core.simulation.stepping.collision import FIND, LOAD, LOOK, deliver, help_to_find
from hydro_sim_core.simulation.stepping.look_ahead import look_at_part
from hydro_sim_core.simulation.stepping.model import MachineData, Scratch
from hydro_sim_core.simulation.stepping.patch_loading import load_part
from hydro_sim_core.simulation.stepping.patch_table import make_patch_table
from hydro_sim_core.solvers.options import OWN
from hydro_sim_core.solvers.solve import SolverEntry

#: A call is helped if it will take longer than this, by what the last one took, s: helpers take 0.1 ms to come.
LEAST_TIME = 1e-3
#: Memory of the patch that a thread loads.
OF_A_PATCH = ("p_WR", "twist", "bend", "response", "jacobian", "mean_push", "push_along", "face_points")


@entry
def help_along(machine: MachineData, finder: Scratch, solve: SolverEntry) -> None:
    """Do parts of the jobs of a step until the team is to leave.

    Args:
        machine: Data of the step, with memory of the helper's own for what is one patch's or one island's.
        finder: The same memory, with buffers of the helper's own for the faces that it finds.
        solve: Solver of the step's problem.

    Reads machine.model: options; machine.scratch: problem, solver; machine.scratch.solver.team: task.
    """
    model, state, scratch = machine.model, machine.state, machine.scratch
    team = scratch.solver.team
    join(team)
    while wait_for_call(team):
        if must_deliver(team):
            deliver(finder, scratch, team)
        while take_part(team):
            if team.task[KIND] == FIND:
                help_to_find(model, state, finder, team)
            elif team.task[KIND] == LOAD:
                load_part(model, state, scratch, team)
            elif team.task[KIND] == LOOK:
                look_at_part(model, scratch, finder, team)
            else:
                solve(scratch.problem, model.options, scratch.solver)
            end_part(team)


class Helpers:
    """The helpers of a machine, with what each has for itself.

    They stay between calls, and leave when none has come for some hundredths of a second.

    Args:
        data: The machine's data.
        solve: Solver of the step's problem.
        count: Number of helpers.
    """

    def __init__(self, data: MachineData, solve: Any, count: int) -> None:
        self._solve = solve
        self._words = data.scratch.solver.team.words
        self._views = [_view(data, number) for number in range(1, count + 1)]
        self._helping: list[Future[None] | None] = [None] * count
        self._process = os.getpid()

    def come(self) -> None:
        """Let those who are not there come; each takes a moment, and steps do not wait for it."""
        if self._process != os.getpid():
            self._lose()
        for number, (view, helping) in enumerate(zip(self._views, self._helping, strict=True)):
            if helping is None or helping.done():
                pool = _pool(os.getpid(), len(self._views))
                self._helping[number] = pool.submit(partial(help_along, *view, self._solve))

    def leave(self) -> None:
        """Let all leave, before the memory that they look at is replaced, and wait for it."""
        if self._process != os.getpid():
            self._lose()
        store(self._words, LEAVE, 1)
        wake_all(self._words, CALLS)
        for helping in self._helping:
            if helping is not None and not helping.cancel():
                helping.result()
        store(self._words, LEAVE, 0)

    def _lose(self) -> None:
        """This is a process that has been forked, without its threads."""
        self._process, self._helping = os.getpid(), [None] * len(self._helping)
        self._words[:] = 0


def with_lists(scratch: Scratch, threads: int) -> Scratch:
    """The memory of a step with room for the lists of pairs that so many threads keep."""
    query, room = scratch.query, len(scratch.faces.num_vertices)
    kept = make_kept_pairs(len(scratch.overlaps), room, threads)
    return scratch._replace(query=query._replace(kept=kept))


def _view(data: MachineData, number: int) -> tuple[Handle, Handle]:
    """The machine's data and memory as one helper has them."""
    scratch, solver = data.scratch, data.scratch.solver
    own = {name: np.zeros_like(getattr(solver, name)) for name in OWN}
    team = solver.team._replace(task=np.zeros_like(solver.team.task))
    loading = {name: np.zeros_like(getattr(scratch, name)) for name in OF_A_PATCH}
    points = scratch.problem.points._replace(work=np.zeros_like(scratch.problem.points.work))
    problem = scratch.problem._replace(points=points)
    scratch = scratch._replace(solver=solver._replace(team=team, **own), problem=problem, **loading)
    room, pairs = len(scratch.faces.num_vertices), len(scratch.overlaps)
    kept = scratch.query.kept._replace(
        **{name: np.zeros_like(getattr(scratch.query.kept, name)) for name in OWN_LISTS}
    )
    kept.now[POOLS] = 2 * number
    finder = scratch._replace(
        query=make_query_scratch(data.model.geometries, room)._replace(kept=kept),
        faces=make_face_buffer(room),
        patches=make_patch_table(len(scratch.patches.pair), pairs),
        **{
            name: np.zeros_like(getattr(scratch, name))
            for name in ("R_BA", "R_WM", "p_BA", "edge_box", "X_moved")
        },
    )
    return Handle(data._replace(scratch=scratch)), Handle(finder)


@cache
def _pool(process: int, count: int) -> ThreadPoolExecutor:
    """Threads of a process; one that was forked starts without. Machines that are stepped at once share them."""
    return ThreadPoolExecutor(count, thread_name_prefix="helper", initializer=_without_priority)


def _without_priority() -> None:
    """A thread has that of the one that starts it: with a real-time priority helpers would keep others waiting."""
    if hasattr(os, "sched_setscheduler"):
        with suppress(OSError):  # a container may forbid even this
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
