# mypy: allow-untyped-defs
"""Coriolis forces at the middle of a step, which depend on the step's own solution (decision 15)."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.description.joint_types import joint_type
from hydro_sim_core.dynamics.equations import bias_forces, kinetic_energy
from hydro_sim_core.dynamics.free_bodies import free_body_forces
from hydro_sim_core.dynamics.kinematics import body_velocities, forward_kinematics
from hydro_sim_core.simulation.stepping.joint_forces import SPRING_SHARE, spring_effort
from hydro_sim_core.simulation.stepping.loads import apply_loads, has_loads
from hydro_sim_core.simulation.stepping.point_conditions import REPEATS
from hydro_sim_core.simulation.stepping.point_contacts import solve_contacts
from hydro_sim_core.simulation.stepping.pulls import apply_pulls
from hydro_sim_core.solvers.options import CONVERGED

#: Coriolis forces have converged when their error changes the step's velocities by less than this share; a step that
#: needs more solves than this has not converged.
CORIOLIS_TOLERANCE = 1e-5
MAX_CORIOLIS_SOLVES = 6
#: The same of steps with contact at equivalent points, whose other errors are as small.
TOLERANCE_AT_POINTS = 1e-7
#: Changes of momentum that are round-off, as a share of that which a tree comes with.
ROUND_OFF = 1e-11
#: Velocities of a body with a floating joint or a prescribed motion.
FLOATING_VELOCITIES = joint_type("floating").num_v


@kernel
def solve_with_coriolis_forces(machine, solve, dt, accept):
    """Solve the loaded problem from the solver's guess, and again until Coriolis forces agree with the solution.

    Islands that are marked to keep their solution do. Only those in which Coriolis forces do not agree yet are solved
    again, or all if there are contacts at equivalent points.

    If they never agree, the iteration has usually diverged. A step that must be accepted anyway is solved without
    Coriolis forces, see ``hold_energy``.

    Reads machine.drives: v_target.
    Writes machine.scratch: is_lost; machine.scratch.points: unrepeated; machine.scratch.solver: report.
    """
    model, state, loads, scratch = machine.model, machine.state, machine.loads, machine.scratch
    if has_loads(loads):
        apply_loads(model, loads, scratch)
        apply_pulls(model, loads, scratch, machine.drives.v_target, dt)
    scratch.is_lost[:] = False
    least = 1 if _is_carried(model, state, scratch) else 0
    for n in range(MAX_CORIOLIS_SOLVES):
        _load_momentum(model, state, loads, scratch, dt, n > 0)
        converged = solve_contacts(machine, solve, dt)
        if not converged or (n >= least and not _find_strays(model, scratch, dt)):
            return converged
        if n >= least:
            _keep_others(scratch)
    if accept:
        _lose_islands(model, state, scratch)
        _load_momentum(model, state, loads, scratch, dt, True)
        solve_contacts(machine, solve, dt)
    scratch.points.unrepeated[:] = REPEATS
    scratch.solver.report[CONVERGED] = 0.0
    return False


@kernel
def _is_acted_on(model, scratch, tree, is_pushed):
    """Whether a contact couples a tree or, if there are loads (``is_pushed``), a load acts on it.

    Reads scratch: applied; model.forest: first, velocities; scratch.problem.islands: first_patch, island.
    """
    islands = scratch.problem.islands
    island = islands.island[tree]
    if islands.first_patch[island] < islands.first_patch[island + 1]:
        return True
    if is_pushed:
        for k in range(model.forest.first[tree], model.forest.first[tree + 1]):
            if scratch.applied[model.forest.velocities[k]] != 0.0:
                return True
    return False


@kernel
def _load_momentum(model, state, loads, scratch, dt, is_solved):
    """Load momentum M v0 - dt bias with Coriolis forces at the mean of v0 and the solver's v (guess or solution).

    The velocity of a step is constant over the step, so v0 and v are symmetric about the posture at its start. Forces
    at v0 alone would add energy in every step.

    Reads scratch: R_WB, S, bias, p_WB, spins_alone, v_middle, v_next; state: v; scratch.solver: v;
    scratch.problem.islands: order.
    Writes scratch: bias, spins_alone, v_middle, v_next.
    """
    order = scratch.problem.islands.order
    for k in range(state.v.shape[0]):
        i = order[k]
        scratch.v_next[i] = scratch.solver.v[k]
        scratch.v_middle[i] = 0.5 * (state.v[i] + scratch.v_next[i])
    is_pushed = has_loads(loads)
    for i in range(scratch.spins_alone.shape[0]):
        scratch.spins_alone[i] = not (is_solved or _is_acted_on(model, scratch, i, is_pushed))
    tree, R_WB, S, bias = model.tree, scratch.R_WB, scratch.S, scratch.bias
    bias_forces(tree, R_WB, scratch.p_WB, S, scratch.v_middle, bias, scratch.tree)
    before = _length_before(state, dt)
    free_body_forces(
        tree, model.forest, R_WB, S, state.v, scratch.v_next, scratch.spins_alone, before, dt, bias
    )
    _forget_coriolis_forces(model.forest, scratch)
    sum_momentum(model, state, scratch, dt, is_pushed)


@kernel
def sum_momentum(model, state, scratch, dt, is_pushed):
    """Set the problem's push and momentum: M v0, less the impulse of the bias, more that of springs and any loads.

    Reads scratch: M, applied, bias; state: q; model.tree: spring_stiffness; scratch.problem: v0; scratch.solver: v;
    scratch.problem.islands: order, tree_begin, tree_end.
    Writes scratch.problem: momentum, push.
    """
    problem, order = scratch.problem, scratch.problem.islands.order
    unknowns = model.forest.velocities.shape[0]
    for k in range(unknowns):
        push, momentum = -dt * scratch.bias[order[k]], 0.0
        # The damping impulse at v0 cancels against dt D v0 of A v0. The springs' share of A acts on v - v0.
        if model.tree.spring_stiffness[order[k]] > 0.0:
            share = SPRING_SHARE * dt * dt * model.tree.spring_stiffness[order[k]]
            push += dt * spring_effort(model.tree, state.q, order[k])
            momentum += share * problem.v0[k]
        for m in range(problem.islands.tree_begin[k], problem.islands.tree_end[k]):
            momentum += scratch.M[order[k], order[m]] * problem.v0[m]
        # A carried body resists the change of a prescribed velocity.
        for m in range(unknowns, order.shape[0]):
            push -= scratch.M[order[k], order[m]] * (scratch.solver.v[m] - problem.v0[m])
        if is_pushed:
            push += dt * scratch.applied[order[k]]
        problem.push[k] = push
        problem.momentum[k] = momentum + push


@kernel
def _length_before(state, dt):
    """Length of the step that the state's velocities are over, s.

    That of this step where none is known, and under error control: extrapolated velocities are over no step.

    Reads state: dt_previous, substep.
    """
    return state.dt_previous[0] if state.dt_previous[0] > 0.0 and state.substep[0] == 0.0 else dt


@kernel
def _forget_coriolis_forces(forest, scratch):
    """Keep only gravity for lost trees.

    Reads forest: first, velocities; scratch: gravity, is_lost.
    Writes scratch: bias.
    """
    for tree in range(scratch.is_lost.shape[0]):
        if scratch.is_lost[tree]:
            for n in range(forest.first[tree], forest.first[tree + 1]):
                i = forest.velocities[n]
                scratch.bias[i] = scratch.gravity[i]


@kernel
def _find_spins(forest, V_WB, spin):
    """Raise ``spin`` (trees,) to the largest angular speed of a body of each tree, rad/s.

    Reads forest: tree_of_body.
    """
    for body in range(forest.tree_of_body.shape[0]):
        w = V_WB[body]
        tree = forest.tree_of_body[body]
        if tree < 0:
            continue
        spin[tree] = max(spin[tree], math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]))


@kernel
def _find_strays(model, scratch, dt):
    """Mark the trees whose velocities Coriolis forces of the solution would change by over the tolerance.

    A change d of velocities changes the effect of Coriolis forces by at most about 2 dt |w| d, with w the tree's
    largest angular speed.

    Returns:
        True if there are any.

    Reads scratch: S, spin, v_middle, v_next; model.forest: first, is_free_tree; scratch.patches: num; scratch.points:
    num_faced; scratch.problem: A, momentum; scratch.solver: v; scratch.tree: V_WB; scratch.problem.islands: order,
    position.
    Writes scratch: spin, strays, v_middle; scratch.tree: V_WB.
    """
    problem, forest, spin = scratch.problem, model.forest, scratch.spin
    has_points = scratch.patches.num[0] > scratch.points.num_faced[0]
    tolerance = TOLERANCE_AT_POINTS if has_points else CORIOLIS_TOLERANCE
    any_stray = False
    spin[:] = 0.0
    _find_spins(forest, scratch.tree.V_WB, spin)
    # A body that an impact sets spinning does not spin in the guess.
    for k in range(scratch.v_middle.shape[0]):
        i = problem.islands.order[k]
        scratch.v_middle[i] += 0.5 * (scratch.solver.v[k] - scratch.v_next[i])
    body_velocities(model.tree, scratch.v_middle, scratch.S, scratch.tree.V_WB)
    _find_spins(forest, scratch.tree.V_WB, spin)
    for tree in range(spin.shape[0]):
        scratch.strays[tree] = False
        if spin[tree] == 0.0:
            continue
        begin = problem.islands.position[tree]
        # Velocities of a free body's centre do not turn it.
        num = 3 if forest.is_free_tree[tree] else forest.first[tree + 1] - forest.first[tree]
        change, size, momentum2 = 0.0, 0.0, 0.0
        for k in range(begin, begin + num):
            momentum2 += problem.momentum[k] * problem.momentum[k] / problem.A[k, k]
            for m in range(begin, begin + num):
                a, b = scratch.solver.v[k], scratch.solver.v[m]
                c = 0.5 * (a - scratch.v_next[problem.islands.order[k]])
                d = 0.5 * (b - scratch.v_next[problem.islands.order[m]])
                change += problem.A[k, m] * c * d
                size += problem.A[k, m] * a * b
        reach = 2.0 * dt * spin[tree]
        # Velocities of a body at rest are round-off, as large as their changes. Written so that a tree with NaN
        # velocities is marked.
        least = ROUND_OFF * ROUND_OFF * momentum2
        if not (change <= least or reach * reach * change <= tolerance * tolerance * size):
            scratch.strays[tree] = any_stray = True
    return any_stray


@kernel
def _keep_others(scratch):
    """Have islands without strays keep their solution.

    Reads scratch: strays; scratch.problem.islands: island.
    Writes scratch.problem.islands: keeps.
    """
    islands = scratch.problem.islands
    islands.keeps[:] = True
    for tree in range(scratch.strays.shape[0]):
        if scratch.strays[tree]:
            islands.keeps[islands.island[tree]] = False


@kernel
def _is_carried(model, state, scratch):
    """Whether a body with prescribed motion carries others by joints.

    Coriolis forces of carried bodies follow the carrier's rotation. Their error with a guess has the same sign in every
    step, up to ``CORIOLIS_TOLERANCE``, so it accumulates, and shorter steps do not help because there are more of them.

    Reads scratch: M; state: v; scratch.solver: v; scratch.problem.islands: order.
    """
    order, unknowns = scratch.problem.islands.order, model.forest.velocities.shape[0]
    for begin in range(unknowns, order.shape[0], FLOATING_VELOCITIES):
        moves, carries = False, False
        for m in range(begin, begin + FLOATING_VELOCITIES):
            moves = moves or scratch.solver.v[m] != 0.0 or state.v[order[m]] != 0.0
            for k in range(unknowns):
                carries = carries or scratch.M[order[k], order[m]] != 0.0
        if moves and carries:
            return True
    return False


@kernel
def _lose_islands(model, state, scratch):
    """Mark all trees of islands with lost trees as lost, and restart them from their initial velocities.

    Reads scratch: is_lost, strays; state: v; model.forest: first; scratch.problem.islands: island, order, position.
    Writes scratch: is_lost; scratch.solver: v; scratch.problem.islands: has_bounds.
    """
    islands, forest = scratch.problem.islands, model.forest
    for tree in range(scratch.strays.shape[0]):
        for other in range(scratch.strays.shape[0]):
            if scratch.strays[other] and islands.island[other] == islands.island[tree]:
                scratch.is_lost[tree] = True
        if scratch.is_lost[tree]:
            islands.has_bounds[islands.island[tree]] = False
            begin = islands.position[tree]
            for k in range(begin, begin + forest.first[tree + 1] - forest.first[tree]):
                scratch.solver.v[k] = state.v[islands.order[k]]


@kernel
def hold_energy(model, state, scratch):
    """Scale velocities of lost trees to the kinetic energy that they would have in the posture at the step's start.

    Without Coriolis forces a tree that folds up, or slides inwards, would keep its joint rates and gain energy.

    Reads scratch: M, R_WB, S, is_lost, p_WB, q_next, v_middle, v_next; state: q; model.forest: first, velocities.
    Writes scratch: R_WB, S, p_WB, v_middle, v_next.
    """
    forest, tree = model.forest, model.tree
    forward_kinematics(tree, scratch.q_next, scratch.R_WB, scratch.p_WB, scratch.S)
    for lost in range(scratch.is_lost.shape[0]):
        if not scratch.is_lost[lost]:
            continue
        scratch.v_middle[:] = 0.0
        before = 0.0
        for n in range(forest.first[lost], forest.first[lost + 1]):
            i = forest.velocities[n]
            scratch.v_middle[i] = scratch.v_next[i]
            for m in range(forest.first[lost], forest.first[lost + 1]):
                j = forest.velocities[m]
                before += 0.5 * scratch.M[i, j] * scratch.v_next[i] * scratch.v_next[j]
        after = kinetic_energy(tree, scratch.R_WB, scratch.p_WB, scratch.S, scratch.v_middle, scratch.tree)
        if after > before:
            for n in range(forest.first[lost], forest.first[lost + 1]):
                scratch.v_next[forest.velocities[n]] *= math.sqrt(before / after)
    forward_kinematics(tree, state.q, scratch.R_WB, scratch.p_WB, scratch.S)
