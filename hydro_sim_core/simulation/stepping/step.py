# mypy: allow-untyped-defs
"""The time step: a single compiled call without the GIL."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import entry, kernel
from hydro_sim_core.dynamics.equations import gravity_forces, mass_matrix
from hydro_sim_core.dynamics.free_bodies import carry_centres
from hydro_sim_core.dynamics.kinematics import forward_kinematics, integrate_positions
from hydro_sim_core.simulation.stepping.collision import find_patches
from hydro_sim_core.simulation.stepping.coriolis import hold_energy, solve_with_coriolis_forces
from hydro_sim_core.simulation.stepping.false_faces import leave_out_false_faces, missed_a_collision
from hydro_sim_core.simulation.stepping.fastest import all_slow_enough, begins_slow_enough
from hydro_sim_core.simulation.stepping.joint_forces import (
    RETURN_SPEED,
    SPRING_SHARE,
    load_drive,
    load_end_stops,
)
from hydro_sim_core.simulation.stepping.look_ahead import pieces_after, pieces_before
from hydro_sim_core.simulation.stepping.model import MachineData
from hydro_sim_core.simulation.stepping.passing_faces import MOST_AGAIN, slide_as_before, slides_otherwise
from hydro_sim_core.simulation.stepping.patch_loading import load_patches
from hydro_sim_core.simulation.stepping.placement import place_geometries
from hydro_sim_core.simulation.stepping.point_contacts import find_points, load_points, look_at_points
from hydro_sim_core.simulation.stepping.point_patches import show_points, write_patches_of_points
from hydro_sim_core.simulation.stepping.pulls import stiffen_by_pulls
from hydro_sim_core.solvers.islands import find_islands
from hydro_sim_core.solvers.joint_terms import JOINT_STICTION, drive_impulse
from hydro_sim_core.solvers.newton import SETTLED_CHANGE
from hydro_sim_core.solvers.options import FRICTION_CHANGE, RESIDUAL
from hydro_sim_core.solvers.solve import SolverEntry, forget_solutions

#: Results of ``advance``: done; a step gave NaN or infinity, or a velocity beyond ``FASTEST``; one did not converge;
#: too many faces for the buffers; bodies move too fast for a step.
DONE, NOT_FINITE, UNCONVERGED, NO_ROOM, TOO_FAST = range(5)


#: What steps call on demand where there are pairs that touch at equivalent points.
OF_POINTS = (look_at_points, write_patches_of_points)


@kernel
def evaluate_dynamics(model, state, scratch):
    """Evaluate poses, motion subspaces, mass matrix and gravity at the coordinates.

    Reads scratch: M, R_WB, S, gravity, p_WB; state: q.
    Writes scratch: M, R_WB, S, gravity, p_WB.
    """
    forward_kinematics(model.tree, state.q, scratch.R_WB, scratch.p_WB, scratch.S)
    mass_matrix(model.tree, scratch.R_WB, scratch.p_WB, scratch.S, scratch.M, scratch.tree)
    gravity_forces(model.tree, scratch.R_WB, scratch.p_WB, scratch.S, scratch.gravity, scratch.tree)


@kernel
def load_inertia(model, state, scratch, dt):
    """Load A = M + dt D + dt^2 K / 2, with joint damping D and springs K, and the velocities at the step's begin.

    Reads scratch: M; state: v; model.options: stiction_speed; model.tree: damping, friction, spring_stiffness;
    scratch.problem: A; scratch.problem.islands: order, tree_begin, tree_end.
    Writes scratch.problem: A, dt, joint_friction, joint_slip, v0.
    """
    problem = scratch.problem
    order, tree_begin, tree_end = problem.islands.order, problem.islands.tree_begin, problem.islands.tree_end
    problem.dt[0], problem.joint_slip[0] = dt, JOINT_STICTION * model.options.stiction_speed
    for k in range(state.v.shape[0]):
        problem.v0[k] = state.v[order[k]]
    for k in range(model.forest.velocities.shape[0]):
        i = order[k]
        for m in range(tree_begin[k], tree_end[k]):
            problem.A[k, m] = scratch.M[i, order[m]]
        problem.A[k, k] += dt * model.tree.damping[i]
        problem.A[k, k] += SPRING_SHARE * dt * dt * model.tree.spring_stiffness[i]
        problem.joint_friction[k] = model.tree.friction[i]


@kernel
def load_joints(model, state, drives, scratch, dt, return_speed):
    """Load joint limits and drives of all unknown velocities; ``return_speed`` as for ``load_end_stops``.

    Reads scratch: gravity; state: q; model.tree: q_of_v; scratch.problem: A; scratch.problem.islands: order.
    """
    problem = scratch.problem
    for k in range(model.forest.velocities.shape[0]):
        i = problem.islands.order[k]
        coordinate = model.tree.q_of_v[i]
        position, inertia = state.q[coordinate] if coordinate >= 0 else 0.0, problem.A[k, k]
        load_end_stops(model, problem, k, i, position, inertia, dt, dt, return_speed)
        load_drive(model, drives, scratch.gravity, problem, k, i, position, inertia, dt, dt)


@kernel
def _guess(model, state, drives, scratch, dt):
    """Guess the last velocities of a tree or their extrapolation, whichever was closer in its last step.

    Prescribed velocities are known.

    Reads drives: v_target; state: dt_previous, extrapolate, v, v_previous; model.forest: first;
    scratch.problem.islands: order, position.
    Writes scratch.solver: v.
    """
    order, first = scratch.problem.islands.order, model.forest.first
    for tree in range(state.extrapolate.shape[0]):
        share = dt / state.dt_previous[0] if state.extrapolate[tree] else 0.0
        begin = scratch.problem.islands.position[tree]
        for k in range(begin, begin + first[tree + 1] - first[tree]):
            i = order[k]
            scratch.solver.v[k] = state.v[i] + share * (state.v[i] - state.v_previous[i])
    for k in range(model.forest.velocities.shape[0], state.v.shape[0]):
        scratch.solver.v[k] = drives.v_target[order[k]]


@kernel
def _take_solution(model, state, scratch, dt):
    """Compute next velocities and coordinates from the solution.

    Reads scratch: R_WB, S, is_lost, q_next, v_next; state: q; scratch.solver: v; scratch.problem.islands: order.
    Writes scratch: q_next, v_next.
    """
    is_lost = False
    for k in range(state.v.shape[0]):
        scratch.v_next[scratch.problem.islands.order[k]] = scratch.solver.v[k]
    integrate_positions(model.tree, state.q, scratch.v_next, dt, scratch.q_next)
    carry_centres(model.tree, model.forest, scratch.R_WB, scratch.S, dt, scratch.v_next, scratch.q_next)
    for tree in range(scratch.is_lost.shape[0]):
        is_lost = is_lost or scratch.is_lost[tree]
    if is_lost:
        hold_energy(model, state, scratch)


@kernel
def _judge_guesses(model, state, scratch, dt):
    """Store which of the two guesses was closer to the solution of each tree, in the norm of A.

    Every tree has its own, so that no body's step depends on what moves elsewhere.

    Reads scratch: v_next; state: dt_previous, v, v_previous; model.forest: first; scratch.problem: A;
    scratch.problem.islands: order, position.
    Writes state: extrapolate.
    """
    order, first, A = scratch.problem.islands.order, model.forest.first, scratch.problem.A
    share = dt / state.dt_previous[0] if state.dt_previous[0] > 0.0 else 0.0
    for tree in range(state.extrapolate.shape[0]):
        begin = scratch.problem.islands.position[tree]
        end = begin + first[tree + 1] - first[tree]
        kept, extrapolated = 0.0, 0.0
        for k in range(begin, end):
            i = order[k]
            step = scratch.v_next[i] - state.v[i]
            turn = step - share * (state.v[i] - state.v_previous[i])
            for m in range(begin, end):
                j = order[m]
                other = scratch.v_next[j] - state.v[j]
                kept += A[k, m] * step * other
                extrapolated += A[k, m] * turn * (other - share * (state.v[j] - state.v_previous[j]))
        state.extrapolate[tree] = 1 if extrapolated < kept else 0


@kernel
def store_wrenches(scratch, dt):
    """Store mean wrenches of the patches over the step, in world axes.

    Reads scratch.patches: R_WG, num; scratch.solver: normal_impulse, patch_impulse.
    Writes scratch.patches: normal_force, wrench.
    """
    patches, solver = scratch.patches, scratch.solver
    for p in range(patches.num[0]):
        R_WG, impulse, along_normals = patches.R_WG[p], solver.patch_impulse[p], solver.normal_impulse[p]
        for i in range(3):
            moment, force, normal = 0.0, 0.0, 0.0
            for j in range(3):
                moment += R_WG[i, j] * impulse[j]
                force += R_WG[i, j] * impulse[j + 3]
                normal += R_WG[i, j] * along_normals[j]
            patches.wrench[p, i] = moment / dt
            patches.wrench[p, i + 3] = force / dt
            patches.normal_force[p, i] = normal / dt


@kernel
def store_efforts(model, scratch, dt):
    """Store mean efforts of the drives over the step.

    Reads scratch.solver: v; scratch.problem.islands: order.
    Writes scratch: effort.
    """
    for k in range(model.forest.velocities.shape[0]):
        impulse, _ = drive_impulse(scratch.problem, k, scratch.solver.v[k])
        scratch.effort[scratch.problem.islands.order[k]] = impulse / dt


@kernel
def is_finite(values):
    finite = True
    for i in range(values.shape[0]):
        finite = finite and math.isfinite(values[i])
    return finite


@kernel
def move_on(state, scratch, dt, converged):
    """Make the end of the step the state, and count unconverged, unsettled, deep and faceless steps.

    Reads scratch: overlaps, push, q_next, v_next; state: deep, faceless, step, unconverged, unsettled, v;
    scratch.patches: num_deep, num_faceless; scratch.solver: report.
    Writes state: deep, dt_previous, faceless, overlaps, push, q, step, unconverged, unsettled, v, v_previous.
    """
    for i in range(state.v.shape[0]):
        state.v_previous[i] = state.v[i]
        state.v[i] = scratch.v_next[i]
    for i in range(state.q.shape[0]):
        state.q[i] = scratch.q_next[i]
    for pair in range(state.push.shape[0]):
        push, overlaps = scratch.push[pair], scratch.overlaps[pair]
        x, y, z = push[0], push[1], push[2]
        state.push[pair, 0], state.push[pair, 1], state.push[pair, 2] = x, y, z
        state.overlaps[pair] = overlaps
    state.dt_previous[0] = dt
    state.step[0] += 1
    state.unconverged[0] += 0 if converged else 1
    state.deep[0] += 1 if scratch.patches.num_deep[0] > 0 else 0
    state.faceless[0] += 1 if scratch.patches.num_faceless[0] > 0 else 0
    state.unsettled[0] += 1 if scratch.solver.report[FRICTION_CHANGE] > SETTLED_CHANGE else 0


@kernel
def _solve(machine, solve, dt, accept):
    """Load the problem of a step with the present patches and solve it; return whether that converged.

    Reads machine.scratch.patches: num.
    """
    model, state, scratch = machine.model, machine.state, machine.scratch
    find_points(model, scratch)
    find_islands(model.forest, scratch.patches.num[0], scratch.problem.islands)
    load_inertia(model, state, scratch, dt)
    stiffen_by_pulls(model, machine.loads, scratch, dt)
    load_joints(model, state, machine.drives, scratch, dt, RETURN_SPEED)
    _guess(model, state, machine.drives, scratch, dt)
    slide_as_before(scratch)
    forget_solutions(scratch.problem, scratch.solver)
    converged = _solve_contacts(machine, solve, dt, accept)
    for again in range(MOST_AGAIN):
        if not (converged and slides_otherwise(model, scratch, dt, again)):
            break
        converged = _solve_contacts(machine, solve, dt, accept)
    return converged


@kernel
def _solve_contacts(machine, solve, dt, accept):
    """Load contacts of a step and solve islands that keep no solution; return whether that converged."""
    model, state, scratch = machine.model, machine.state, machine.scratch
    load_patches(model, state, scratch, dt)
    load_points(model, state, scratch, dt)
    converged = solve_with_coriolis_forces(machine, solve, dt, accept)
    _take_solution(model, state, scratch, dt)
    return converged


@kernel
def _ask(scratch, pieces):
    """What to ask for where look-ahead says that a step needs some pieces; ``DONE`` if it may be taken whole.

    Without room for all faces it has not seen how deep bodies come, and says nothing.

    Reads scratch: faces_needed.
    Writes scratch: pieces.
    """
    scratch.pieces[0] = pieces
    status = TOO_FAST if pieces > 1 else DONE
    return NO_ROOM if scratch.faces_needed[0] > 0 else status


@entry
def advance(
    machine: MachineData, solve: SolverEntry, dt: float, steps: int, same_contacts: bool, accept: bool
) -> int:
    """Advance the state by ``steps`` time steps; one that cannot be completed leaves it at its beginning.

    Args:
        machine: Data of the step; the state is updated in place.
        solve: Solver of the step's problem, see ``solver_entry``.
        dt: Time step, s.
        steps: Number of steps.
        same_contacts: Whether contacts were last found at the state's coordinates, for the first step to reuse.
        accept: Whether to take a step although its momentum residual stays above the tolerance.

    Returns:
        ``DONE``; ``NOT_FINITE`` if a step gave NaN or infinity, or begins or ends with a velocity beyond ``FASTEST``;
        ``UNCONVERGED`` if one that is not accepted did not converge; ``NO_ROOM`` if the memory must hold
        ``scratch.faces_needed`` faces for the next step; ``TOO_FAST`` if the next step is to be taken in
        ``scratch.pieces`` (see ``look_ahead``).

    Reads machine.scratch: q_next, v_next; machine.model.points: most_faces; machine.scratch.patches: num;
    machine.scratch.solver: report.
    Writes machine.scratch: faces_needed; machine.scratch.points: num_faced.
    """
    model, state, drives, scratch = machine.model, machine.state, machine.drives, machine.scratch
    for n in range(steps):
        if not begins_slow_enough(model, state, drives):
            return NOT_FINITE
        evaluate_dynamics(model, state, scratch)
        scratch.faces_needed[0] = 0
        if n > 0 or not same_contacts:
            place_geometries(model, scratch)
            asked = _ask(scratch, pieces_before(model, state, drives, scratch, dt))
            if asked != DONE:
                return asked
            num_faces = find_patches(model, state, scratch)
            num_faces += model.points.most_faces[0]
            if num_faces > scratch.faces.num_vertices.shape[0]:
                scratch.faces_needed[0] = num_faces
                return NO_ROOM
            leave_out_false_faces(model, scratch, dt)
            scratch.points.num_faced[0] = scratch.patches.num[0]
        converged = _solve(machine, solve, dt, accept)
        if missed_a_collision(model, scratch, dt):
            find_patches(model, state, scratch)
            converged = _solve(machine, solve, dt, accept)
        # A NaN residual means an overflow that left the velocities at their guess.
        residual = scratch.solver.report[RESIDUAL]
        if not (math.isfinite(residual) and all_slow_enough(scratch.v_next) and is_finite(scratch.q_next)):
            return NOT_FINITE
        if not (converged or accept):
            return UNCONVERGED
        asked = _ask(scratch, pieces_after(model, scratch, dt))
        if asked != DONE:
            return asked
        _judge_guesses(model, state, scratch, dt)
        store_wrenches(scratch, dt)
        show_points(model, scratch, dt)
        store_efforts(model, scratch, dt)
        move_on(state, scratch, dt, converged)
    return DONE
