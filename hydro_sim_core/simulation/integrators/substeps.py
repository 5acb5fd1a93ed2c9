# mypy: allow-untyped-defs
"""Error control of convex steps: sub-steps as long as accuracy allows, until a time step is crossed."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Bool1D, Float1D, Handle, Int1D, entry, kernel
from hydro_sim_core.simulation.integrators.floating_trees import (
    FloatingTrees,
    keep_momenta,
    make_floating_trees,
    no_floating_trees,
    restore_momenta,
)
from hydro_sim_core.simulation.integrators.step_means import (
    StepMeans,
    add_part,
    forget_parts,
    keep_apart_from_impacts,
    keep_part,
    make_step_means,
    put_means,
    step_means_of,
)
from hydro_sim_core.simulation.stepping.machine import Machine
from hydro_sim_core.simulation.stepping.model import MachineData, Model, State, copied, make_state
from hydro_sim_core.simulation.stepping.step import DONE, NO_ROOM, UNCONVERGED, advance
from hydro_sim_core.solvers.options import CONVERGED
from hydro_sim_core.solvers.solve import SolverEntry

#: Sub-steps aim at this share of the allowed error, so that few are rejected; limits of their change in length.
SAFETY = 0.9
LEAST_FACTOR, LARGEST_FACTOR = 0.1, 5.0
#: A sub-step that reaches this share of what is left of a time step takes all of it. More than ``SAFETY``, so that one
#: that was rejected is not tried again.
NEARLY = 0.95
#: Relative difference of the velocity change of a tree below which whole and half sub-steps agree, and that of its
#: changes in both halves below which it is no impact, which falls into one of them.
SMOOTH, EVEN = 0.1, 0.5
#: Where the difference would move a tree in a time step by less than this share of the accuracy, and its velocities
#: change by less than such a share of those that change most (squares, weighted by inertia), it is at rest: there whole
#: and halves may disagree as they like.
QUIET, AT_REST = 0.01, 1e-5
#: Largest number of sub-steps tried in a time step, and of those in a row that have no solution; the remainder is then
#: taken as one step. What has none in a millionth of a sub-step has none in a shorter one.
MOST_SUBSTEPS, MOST_UNSOLVED = 1000, 6
#: Beside what ``advance`` returns: so many were tried.
GAVE_UP = -1
#: Words of ``Substeps.counts``: sub-steps kept and rejected, and the shortest that was kept, s.
TAKEN, REJECTED, SHORTEST = range(3)
#: Parts of a sub-step: all of it, and its halves.
_WHOLE, _FIRST_HALF, _SECOND_HALF = range(3)


class Substeps(NamedTuple):
    """Memory of error control.

    Attributes:
        accuracy: (1,) largest difference of any coordinate allowed between a whole sub-step and its halves, rad or m; 0
            for steps of fixed length, which take none of this.
        counts: (3,) what was done since the start.
        left: (1,) what is left of a time step that is given up, s.
        begin: State at the begin of the time step.
        before: State at the begin of the sub-step.
        whole: State after the sub-step as a whole.
        middle: (nv,) velocities after its first half.
        weight: (nq,) weights of differences of coordinates.
        tree_of_v: (nv,) tree of every velocity.
        tree_of_q: (nq,) tree of every coordinate.
        quaternions: First coordinates of quaternions.
        is_carried: (trees + 1,) whether a tree stands on a body with prescribed motion, whose changes of speed fall
            into one half of a sub-step and are no impact.
        error: (trees + 1,) scratch.
        change: (trees + 1,) scratch.
        uneven: (trees + 1,) scratch.
        means: What is told of the time step.
        floating: Momenta of floating trees.
    """

    accuracy: Float1D
    counts: Float1D
    left: Float1D
    begin: State
    before: State
    whole: State
    middle: Float1D
    weight: Float1D
    tree_of_v: Int1D
    tree_of_q: Int1D
    quaternions: Int1D
    is_carried: Bool1D
    error: Float1D
    change: Float1D
    uneven: Float1D
    means: StepMeans
    floating: FloatingTrees


def make_substeps(machine: Machine, accuracy: float, counts: np.ndarray) -> Substeps:
    """Memory of error control for a machine."""
    num_trees = len(machine.model.forest.first)
    return Substeps(
        accuracy=np.array([accuracy]),
        counts=counts,
        left=np.zeros(1),
        begin=copied(machine.state),
        before=copied(machine.state),
        whole=copied(machine.state),
        middle=np.zeros(machine.state.v.shape),
        weight=machine.coordinate_weights,
        tree_of_v=machine.tree_of_velocity.astype(np.int64),
        tree_of_q=machine.tree_of_coordinate.astype(np.int64),
        quaternions=np.array(machine.quaternion_starts, dtype=np.int64),
        is_carried=_carried_trees(machine.model),
        error=np.zeros(num_trees),
        change=np.zeros(num_trees),
        uneven=np.zeros(num_trees),
        means=step_means_of(machine),
        floating=make_floating_trees(machine.model),
    )


def _carried_trees(model: Model) -> np.ndarray:
    parent, tree_of_body = model.tree.parent, model.forest.tree_of_body
    carried = np.zeros(len(model.forest.first), dtype=bool)
    carried[tree_of_body[(tree_of_body >= 0) & (parent >= 0) & (tree_of_body[parent] < 0)]] = True
    return carried


@cache
def no_substeps() -> Handle:
    """Handle of memory for steps of fixed length."""
    nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
    state = make_state(nothing, 0, 0, 0)
    memory = Substeps(
        accuracy=np.zeros(1),
        counts=np.zeros(3),
        left=np.zeros(1),
        begin=state,
        before=state,
        whole=state,
        middle=nothing,
        weight=nothing,
        tree_of_v=none,
        tree_of_q=none,
        quaternions=none,
        is_carried=np.zeros(0, dtype=bool),
        error=nothing,
        change=nothing,
        uneven=nothing,
        means=make_step_means(0, 0, 0),
        floating=no_floating_trees(),
    )
    return Handle(memory)


@entry
def cross_time_steps(
    machine: MachineData, solve: SolverEntry, substeps: Substeps, dt: float, steps: int
) -> int:
    """Advance the state by ``steps`` time steps of ``dt`` (s) under error control.

    Returns:
        ``DONE``; ``NO_ROOM`` as for ``advance``, at the begin of a time step; ``GAVE_UP`` if ``substeps.left`` of one
        cannot be crossed to the accuracy, at the begin of that rest.
    """
    for _ in range(steps):
        status = cross_time_step(machine, solve, substeps, dt, True)
        if status != DONE:
            return status
    return DONE


@entry
def tell_with_rest(machine: MachineData, substeps: Substeps, left: float, dt: float) -> bool:
    """Tell of a time step of ``dt`` (s), the last ``left`` (s) of which the machine has just taken in another way.

    False without room for all pairs that pressed in it: then this rest is told alone.

    Reads substeps: tree_of_v.
    Writes substeps.means: extrapolated.
    """
    substeps.means.extrapolated[:] = 0.0
    keep_part(machine, substeps.means, _WHOLE)
    add_part(machine.model, substeps.means, _WHOLE, left, 0.0, substeps.tree_of_v)
    return put_means(machine, substeps.means, dt)


@kernel
def cross_time_step(machine, solve, substeps, dt, gives_up):
    """Advance the state by one time step; result as for ``cross_time_steps``.

    Where it does not give up, the state is that of the begin and ``UNCONVERGED`` is returned instead.

    Reads substeps: accuracy, counts; machine.state: substep.
    Writes substeps: counts, left; machine.state: substep.
    """
    state, counts = machine.state, substeps.counts
    copy_state(state, substeps.begin)
    forget_parts(substeps.means)
    wanted, left = state.substep[0], dt
    if wanted == 0.0:
        wanted = dt
    state.substep[0] = wanted
    tried, taken, unsolved, shortest, status = 0, 0, 0, counts[SHORTEST], DONE
    while left > 0.0 and status == DONE:
        # A tiny remainder would cost as much as a whole sub-step.
        length = left if wanted >= NEARLY * left else min(wanted, 0.5 * left)
        error = _take_substep(machine, solve, substeps, length, dt)
        if error < 0.0:
            copy_state(substeps.begin, state)
            return NO_ROOM
        following = min(length * _factor(error, substeps.accuracy[0]), dt)
        tried += 1
        unsolved = 0 if error < math.inf else unsolved + 1
        if error <= substeps.accuracy[0]:
            left = 0.0 if length == left else left - length
            taken += 1
            shortest = min(shortest, length)
            # A sub-step cut short by the end of the time step is no reason for shorter ones.
            wanted = max(wanted, following) if length < wanted else following
        else:
            wanted = following
        if left > 0.0 and (tried == MOST_SUBSTEPS or unsolved == MOST_UNSOLVED):
            status = GAVE_UP
    if status == GAVE_UP and not gives_up:
        copy_state(substeps.begin, state)
        return UNCONVERGED
    if status == DONE and not put_means(machine, substeps.means, dt):
        copy_state(substeps.begin, state)
        return NO_ROOM
    counts[TAKEN] += taken
    counts[REJECTED] += tried - taken
    counts[SHORTEST], substeps.left[0] = shortest, left
    if status == DONE:
        state.substep[0] = wanted
        count_as_one_step(machine, substeps.begin)
    return status


@kernel
def _factor(error, accuracy):
    """Length of the next sub-step over that of one with an error."""
    if not error < math.inf:
        return LEAST_FACTOR
    wanted = SAFETY * math.sqrt(accuracy / error) if error > 0.0 else LARGEST_FACTOR
    return min(max(wanted, LEAST_FACTOR), LARGEST_FACTOR)


@kernel
def _take_substep(machine, solve, substeps, length, dt):
    """Advance by ``length`` (s), of a time step ``dt`` (s), unless whole and halves differ too much.

    Returns their difference, rad or m; infinite where one of them cannot be taken, -1 without room for contact faces.

    Reads substeps: accuracy, tree_of_v, weight; machine.state: q, v; substeps.whole: q.
    Writes substeps: middle.
    """
    state, before, whole, means = machine.state, substeps.before, substeps.whole, substeps.means
    copy_state(state, before)
    status = advance(machine, solve, length, 1, False, False)
    if status == DONE:
        keep_part(machine, means, _WHOLE)
        keep_momenta(machine.scratch, before, substeps.floating)
        copy_state(state, whole)
        copy_state(before, state)
        # Contacts at the beginning were found by the first call.
        status = advance(machine, solve, 0.5 * length, 1, True, False)
    if status == DONE:
        keep_part(machine, means, _FIRST_HALF)
        for i in range(state.v.shape[0]):
            substeps.middle[i] = state.v[i]
        status = advance(machine, solve, 0.5 * length, 1, False, False)
    if status == NO_ROOM:
        return -1.0
    error = math.inf
    if status == DONE:
        keep_part(machine, means, _SECOND_HALF)
        error = 0.0
        for i in range(state.q.shape[0]):
            # Quaternions count double, like rotation vectors.
            error = max(error, abs(substeps.weight[i] * (whole.q[i] - state.q[i])))
    if error <= substeps.accuracy[0]:
        _extrapolate(machine, substeps, dt)
        restore_momenta(machine, substeps.floating, means, length)
        tree_of_v = substeps.tree_of_v
        add_part(machine.model, means, _WHOLE, 0.0, -length, tree_of_v)
        for half in range(_FIRST_HALF, _SECOND_HALF + 1):
            add_part(machine.model, means, half, 0.5 * length, 0.5 * length, tree_of_v)
    else:
        copy_state(before, state)
    return error


@kernel
def _extrapolate(machine, substeps, dt):
    """Subtract the error estimate from the halves in the state, of trees where it and that of all they touch are small.

    Reads substeps: accuracy, change, error, is_carried, middle, quaternions, tree_of_q, tree_of_v, uneven;
    machine.scratch: M; machine.state: q, v; substeps.before: v; substeps.means: extrapolated; substeps.whole: q, v;
    machine.model.forest: prescribed.
    Writes substeps: change, error, uneven; machine.state: q, v; substeps.means: extrapolated.
    """
    state, whole, v0 = machine.state, substeps.whole, substeps.before.v
    error, change, uneven = substeps.error, substeps.change, substeps.uneven
    share = substeps.means.extrapolated
    for tree in range(error.shape[0]):
        error[tree] = change[tree] = uneven[tree] = 0.0
        share[tree] = 1.0
    for i in range(state.v.shape[0]):
        tree, inertia = substeps.tree_of_v[i], machine.scratch.M[i, i]
        off, all_of_it = state.v[i] - whole.v[i], state.v[i] - v0[i]
        more = state.v[i] - 2.0 * substeps.middle[i] + v0[i]
        if abs(off) * dt > QUIET * substeps.accuracy[0]:
            share[tree] = 0.0
        error[tree] += inertia * (off * off)
        change[tree] += inertia * (all_of_it * all_of_it)
        uneven[tree] += inertia * (more * more)
    is_led = False
    for i in machine.model.forest.prescribed:
        is_led = is_led or state.v[i] != v0[i]
    most = 0.0
    for tree in range(error.shape[0]):
        most = max(most, change[tree])
    for tree in range(error.shape[0]):
        is_at_rest = share[tree] != 0.0 and change[tree] <= AT_REST * most
        is_even = (is_led and substeps.is_carried[tree]) or uneven[tree] <= EVEN * EVEN * change[tree]
        is_smooth = is_even and error[tree] <= SMOOTH * SMOOTH * change[tree]
        share[tree] = 1.0 if is_at_rest or is_smooth else 0.0
    keep_apart_from_impacts(machine.model, substeps.means)
    for i in range(state.v.shape[0]):
        state.v[i] += share[substeps.tree_of_v[i]] * (state.v[i] - whole.v[i])
    for i in range(state.q.shape[0]):
        state.q[i] += share[substeps.tree_of_q[i]] * (state.q[i] - whole.q[i])
    for k in range(substeps.quaternions.shape[0]):
        first, squares = substeps.quaternions[k], 0.0
        for i in range(first, first + 4):
            squares += state.q[i] * state.q[i]
        for i in range(first, first + 4):
            state.q[i] /= math.sqrt(squares)


@kernel
def count_as_one_step(machine, before):
    """Count the steps since the state ``before`` as one, which is unconverged if any of them is.

    Reads before: deep, faceless, step, unconverged, unsettled; machine.state: deep, faceless, unconverged, unsettled.
    Writes machine.state: deep, faceless, step, unconverged, unsettled; machine.scratch.solver: report.
    """
    state = machine.state
    state.step[0] = before.step[0] + 1
    if state.unconverged[0] > before.unconverged[0]:
        machine.scratch.solver.report[CONVERGED] = 0.0
    state.unconverged[0] = min(state.unconverged[0], before.unconverged[0] + 1)
    state.unsettled[0] = min(state.unsettled[0], before.unsettled[0] + 1)
    state.deep[0] = min(state.deep[0], before.deep[0] + 1)
    state.faceless[0] = min(state.faceless[0], before.faceless[0] + 1)


@kernel
def copy_state(state, to):
    """Make one state what another is.

    Reads state: deep, dt_previous, extrapolate, faceless, overlaps, push, q, step, substep, unconverged, unsettled, v,
    v_previous.
    Writes to: deep, dt_previous, extrapolate, faceless, overlaps, push, q, step, substep, unconverged, unsettled, v,
    v_previous.
    """
    for i in range(state.q.shape[0]):
        to.q[i] = state.q[i]
    for i in range(state.v.shape[0]):
        to.v[i], to.v_previous[i] = state.v[i], state.v_previous[i]
    for pair in range(state.push.shape[0]):
        to.overlaps[pair] = state.overlaps[pair]
        for i in range(3):
            to.push[pair, i] = state.push[pair, i]
    for tree in range(state.extrapolate.shape[0]):
        to.extrapolate[tree] = state.extrapolate[tree]
    to.dt_previous[0] = state.dt_previous[0]
    to.substep[0], to.step[0] = state.substep[0], state.step[0]
    to.unconverged[0], to.unsettled[0] = state.unconverged[0], state.unsettled[0]
    to.deep[0], to.faceless[0] = state.deep[0], state.faceless[0]
