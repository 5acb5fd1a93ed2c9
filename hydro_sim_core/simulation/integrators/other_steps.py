# mypy: allow-untyped-defs
"""Time steps that are no convex steps, as the compiled loop takes them: of the continuous model, and smooth contact."""

from __future__ import annotations

from functools import cache
from typing import Annotated, NamedTuple

import numpy as np

from hydro_sim_core.compilation import (
    Entry,
    EntryLayout,
    Float1D,
    Handle,
    entry,
    kernel,
)
from hydro_sim_core.dynamics.equations import mass_matrix
from hydro_sim_core.dynamics.kinematics import forward_kinematics, integrate_positions
from hydro_sim_core.simulation.integrators.continuous_forces import hold_prescribed, solve_accelerations
from hydro_sim_core.simulation.integrators.radau import integrate
from hydro_sim_core.simulation.integrators.radau_memory import Radau, make_radau
from hydro_sim_core.simulation.integrators.soft_forces import advance_soft
from hydro_sim_core.simulation.integrators.step_means import make_step_means, step_means_of
from hydro_sim_core.simulation.stepping.fastest import all_slow_enough
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import MachineData
from hydro_sim_core.simulation.stepping.soft_model import (
    SoftPairs,
    SoftScratch,
    make_soft_scratch,
    no_soft_pairs,
)
from hydro_sim_core.simulation.stepping.step import DONE, NOT_FINITE
from hydro_sim_core.solvers.options import CONVERGED, SolverOptions, SolverScratch
from hydro_sim_core.solvers.problem import ContactProblem


class OtherSteps(NamedTuple):
    """Memory of these steps; empty where a stepper does not need it.

    Attributes:
        are_taken: 1 where time steps are these; 0 where they are convex steps.
        radau: Of the continuous model.
        clouds: Of smooth contact.
        soft: Memory of it.
    """

    are_taken: int
    radau: Radau
    clouds: SoftPairs
    soft: SoftScratch


@entry
def cross_otherwise(machine: MachineData, memory: OtherSteps, dt: float) -> int:
    """Take no step: what is named where steps are convex."""
    return DONE


@entry
def solve_nothing(problem: ContactProblem, options: SolverOptions, scratch: SolverScratch) -> bool:
    """Solve no problem: the solver that is named where no step has one. The report stays.

    Reads scratch: report.
    """
    return scratch.report[CONVERGED] > 0.0


#: Any of these steps, as an argument.
OtherStep = Annotated[Entry, EntryLayout(f"{__name__}.cross_otherwise")]


@entry
def cross_continuous(machine: MachineData, memory: OtherSteps, dt: float) -> int:
    """Take a time step of ``dt`` (s) of the continuous model, in as many integration steps as accuracy needs.

    Returns:
        ``DONE``; ``NO_ROOM`` for the contact faces; ``UNCONVERGED`` if the accuracy cannot be reached; ``NOT_FINITE``
        if it begins or ends with a velocity beyond ``FASTEST``, which ``scratch.v_next`` tells. Unless it is done the
        state is that of the begin.

    Reads machine.scratch: v_next; machine.state: q; memory.radau: start, y.
    Writes machine.scratch: v_next; memory.radau: start.
    """
    state, radau = machine.state, memory.radau
    nq = state.q.shape[0]
    for i in range(nq):
        radau.start[i] = state.q[i]
    velocities_after_jumps(machine, radau.start[nq:])
    v_next = machine.scratch.v_next
    for i in range(v_next.shape[0]):
        v_next[i] = radau.start[nq + i]
    if not all_slow_enough(v_next):
        return NOT_FINITE
    status = integrate(machine, radau, dt)
    if status != DONE:
        return status
    for i in range(v_next.shape[0]):
        v_next[i] = radau.start[nq + i] + radau.y[nq + i]
    if not all_slow_enough(v_next):
        return NOT_FINITE
    _take_over(machine, radau)
    return DONE


@entry
def cross_soft(machine: MachineData, memory: OtherSteps, dt: float) -> int:
    """Take a time step of ``dt`` (s) under smooth contact; result as for ``advance_soft``.

    Reads memory.soft: change.
    Writes machine.state: v; memory.soft: change.
    """
    state = machine.state
    if machine.model.forest.prescribed.shape[0] > 0:
        jumped = memory.soft.change[state.q.shape[0] :]
        velocities_after_jumps(machine, jumped)
        for i in range(state.v.shape[0]):
            state.v[i] = jumped[i]
    return advance_soft(machine, memory.clouds, memory.soft, dt, 1)


@entry
def velocities_after_jumps(machine: MachineData, v: Float1D) -> None:
    """Write velocities (nv,) at the begin of a time step: the state's after jumps of prescribed velocities.

    Bodies on a prescribed one keep their generalised momentum in the jump.

    Reads machine.drives: v_target; machine.scratch: M, R_WB, S, p_WB; machine.state: q, v; machine.model.forest:
    prescribed.
    Writes machine.scratch: M, R_WB, S, p_WB.
    """
    model, state, scratch, told = (
        machine.model,
        machine.state,
        machine.scratch,
        machine.model.forest.prescribed,
    )
    is_jump = False
    for k in range(told.shape[0]):
        is_jump = is_jump or machine.drives.v_target[told[k]] != state.v[told[k]]
    v[:] = 0.0
    if is_jump:
        forward_kinematics(model.tree, state.q, scratch.R_WB, scratch.p_WB, scratch.S)
        mass_matrix(model.tree, scratch.R_WB, scratch.p_WB, scratch.S, scratch.M, scratch.tree)
        for i in range(v.shape[0]):
            for k in range(told.shape[0]):
                v[i] -= scratch.M[i, told[k]] * (machine.drives.v_target[told[k]] - state.v[told[k]])
        hold_prescribed(told, scratch.M)
        solve_accelerations(model, scratch, v)
        for k in range(told.shape[0]):
            v[told[k]] = machine.drives.v_target[told[k]] - state.v[told[k]]
    for i in range(v.shape[0]):
        v[i] += state.v[i]


@kernel
def _take_over(machine, radau):
    """Take over the state at the end of a time step, at which the memory was evaluated last.

    Reads radau: at, start, y; machine.scratch: push; machine.state: deep, faceless, step, v; machine.scratch.patches:
    num_deep, num_faceless.
    Writes radau: at; machine.state: deep, faceless, push, q, step, v, v_previous.
    """
    model, state, scratch = machine.model, machine.state, machine.scratch
    nq = state.q.shape[0]
    for i in range(nq):
        radau.at[i] = radau.start[i] + radau.y[i]
    for i in range(state.v.shape[0]):
        state.v_previous[i] = state.v[i]
        state.v[i] = radau.start[nq + i] + radau.y[nq + i]
    # Integration over zero time normalises the quaternions.
    integrate_positions(model.tree, radau.at[:nq], state.v, 0.0, state.q)
    for pair in range(state.push.shape[0]):
        for i in range(3):
            state.push[pair, i] = scratch.push[pair, i]
    state.step[0] += 1
    state.deep[0] += 1 if scratch.patches.num_deep[0] > 0 else 0
    state.faceless[0] += 1 if scratch.patches.num_faceless[0] > 0 else 0


def continuous_memory(machine: Machine, accuracy: float, counts: np.ndarray) -> Handle:
    """Memory of the continuous model for a machine; other arguments as for ``make_radau``."""
    size, clouds = len(machine.state.q) + len(machine.state.v), no_soft_pairs()
    patches, means = len(machine.scratch.patches.pair), step_means_of(machine)
    radau = make_radau(size, patches, accuracy, counts, means, machine.tree_of_velocity)
    return Handle(OtherSteps(1, radau, clouds, make_soft_scratch(clouds, 0, 0)))


def soft_memory(clouds: SoftPairs, soft: SoftScratch) -> Handle:
    """Memory of smooth contact."""
    return Handle(OtherSteps(1, _no_radau(), clouds, soft))


@cache
def no_other_steps() -> Handle:
    """Handle of the memory where steps are convex."""
    clouds = no_soft_pairs()
    return Handle(OtherSteps(0, _no_radau(), clouds, make_soft_scratch(clouds, 0, 0)))


def _no_radau() -> Radau:
    return make_radau(0, 0, 0.0, np.zeros(3), make_step_means(0, 0, 0), np.zeros(0))
