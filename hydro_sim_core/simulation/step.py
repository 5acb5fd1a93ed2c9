"""One time step: a single compiled call without the GIL."""

from __future__ import annotations

import math

from hydro_sim_core.dynamics.equations import bias_forces, gravity_forces, mass_matrix
from hydro_sim_core.dynamics.kinematics import forward_kinematics, integrate_positions
from hydro_sim_core.jit import kernel
from hydro_sim_core.simulation.collision import find_patches, load_patches, place_geometries
from hydro_sim_core.solvers.joint_terms import drive_impulse
from hydro_sim_core.solvers.newton import SETTLED_CHANGE, solve
from hydro_sim_core.solvers.patch_terms import normal_impulse
from hydro_sim_core.solvers.problem import LIMIT_INVERSE_R, LIMIT_SIGN, LIMIT_TARGET

#: What ``advance`` may return besides the number of faces a larger buffer needs.
DONE = 0
NOT_FINITE = -1

#: Near-rigid regularisation of end stops (Castro 2022): R = beta^2 w / 4 pi^2 makes them settle in about a step.
LIMIT_BETA = 1.0
#: Beyond its speed limit a drive's push is gone within this part of the speed that it would add in a step.
SPEED_LIMIT_STIFFNESS = 1e3


# The stages of a step are inlined before Numba types them: compiling a function that takes the model, the state and the
# scratch memory apart into their arrays takes 2 to 3 s.


@kernel(inline="always")
def _evaluate_dynamics(model, state, scratch):
    forward_kinematics(model.tree, state.q, scratch.R_WB, scratch.p_WB, scratch.S)
    mass_matrix(model.tree, scratch.R_WB, scratch.p_WB, scratch.S, scratch.M, scratch.tree)
    bias_forces(model.tree, scratch.R_WB, scratch.p_WB, scratch.S, state.v, scratch.bias, scratch.tree)
    gravity_forces(model.tree, scratch.R_WB, scratch.p_WB, scratch.S, scratch.gravity, scratch.tree)


@kernel(inline="always")
def _load_smooth_terms(model, state, scratch):
    """A = M + dt D and the momentum A v0 + dt (-bias - D v0)."""
    problem, dt = scratch.problem, model.options.dt
    nv = state.v.shape[0]
    for i in range(nv):
        damping = model.tree.damping[i]
        problem.v0[i] = state.v[i]
        s = -dt * scratch.bias[i]
        for j in range(nv):
            problem.A[i, j] = scratch.M[i, j]
            # The damping impulse at v0 cancels against dt D v0 of A v0.
            s += scratch.M[i, j] * state.v[j]
        problem.A[i, i] += dt * damping
        problem.momentum[i] = s
        problem.joint_friction[i] = model.tree.friction[i]


@kernel(inline="always")
def _load_limits(model, state, scratch):
    problem, dt = scratch.problem, model.options.dt
    nv = state.v.shape[0]
    for i in range(nv):
        coordinate = model.tree.q_of_v[i]
        inverse_mass = 1.0 / problem.A[i, i]
        rigid = LIMIT_BETA * LIMIT_BETA * inverse_mass / (4.0 * math.pi * math.pi)
        stiffness = model.tree.limit_stiffness[i]
        relaxation = LIMIT_BETA * dt / math.pi
        soft = 1.0 / (dt * stiffness * (dt + relaxation)) if stiffness < math.inf else 0.0
        for side in range(2):
            row = problem.limits[i + side * nv]
            row[LIMIT_SIGN] = 1.0 - 2.0 * side
            row[LIMIT_INVERSE_R] = 1.0 / max(rigid, soft)
            row[LIMIT_TARGET] = -math.inf
            if coordinate >= 0:
                bound = model.tree.q_upper[i] if side else model.tree.q_lower[i]
                gap = row[LIMIT_SIGN] * (state.q[coordinate] - bound)
                row[LIMIT_TARGET] = -gap / (dt + relaxation)


@kernel(inline="always")
def _load_drives(model, state, drives, scratch):
    problem, dt = scratch.problem, model.options.dt
    for i in range(state.v.shape[0]):
        coordinate = model.tree.q_of_v[i]
        q = state.q[coordinate] if coordinate >= 0 else 0.0
        bias = drives.effort[i] + drives.kp[i] * (drives.q_target[i] - q) + drives.kd[i] * drives.v_target[i]
        if model.compensated[i]:
            bias += scratch.gravity[i]
        problem.drive_bias[i] = bias
        # Implicit in the velocity at the end of the step, so stiff gains stay stable.
        problem.drive_gain[i] = drives.kd[i] + dt * drives.kp[i]
        problem.drive_limit[i] = drives.limit[i]
        problem.speed_limit[i] = model.tree.velocity_limit[i]
        problem.speed_gain[i] = SPEED_LIMIT_STIFFNESS * problem.A[i, i] / dt


@kernel(inline="always")
def _guess(state, scratch):
    """Start from the last velocities or from their extrapolation, whichever would have been closer last time."""
    for i in range(state.v.shape[0]):
        v = state.v[i]
        scratch.v_next[i] = 2.0 * v - state.v_previous[i] if state.extrapolate[0] else v


@kernel(inline="always")
def _judge_guesses(state, scratch):
    """Remember which of the two guesses was closer to the solution, in the norm of A's diagonal."""
    kept, extrapolated = 0.0, 0.0
    for i in range(state.v.shape[0]):
        weight = scratch.problem.A[i, i]
        step = scratch.v_next[i] - state.v[i]
        turn = step - (state.v[i] - state.v_previous[i])
        kept += weight * step * step
        extrapolated += weight * turn * turn
    state.extrapolate[0] = 1 if extrapolated < kept else 0


@kernel(inline="always")
def _store_wrenches(model, scratch):
    """Wrenches of the patches over the step, in world axes."""
    dt, patches, solver = model.options.dt, scratch.patches, scratch.solver
    local = scratch.query.work.centroid
    for p in range(patches.num[0]):
        R_WG, impulse = patches.R_WG[p], solver.patch_impulse[p]
        normal_impulse(scratch.problem, p, solver.twists[p], dt, local)
        for i in range(3):
            moment, force, normal = 0.0, 0.0, 0.0
            for j in range(3):
                moment += R_WG[i, j] * impulse[j]
                force += R_WG[i, j] * impulse[j + 3]
                normal += R_WG[i, j] * local[j]
            patches.wrench[p, i] = moment / dt
            patches.wrench[p, i + 3] = force / dt
            patches.normal_force[p, i] = normal / dt


@kernel(inline="always")
def _store_efforts(model, scratch):
    dt = model.options.dt
    for i in range(scratch.v_next.shape[0]):
        impulse, _ = drive_impulse(scratch.problem, i, scratch.v_next[i], dt)
        scratch.effort[i] = impulse / dt


@kernel
def _is_finite(values):
    finite = True
    for i in range(values.shape[0]):
        finite = finite and math.isfinite(values[i])
    return finite


@kernel
def advance(model, state, drives, scratch, steps):
    """Advance the state by ``steps`` time steps.

    A step that cannot be completed leaves the state at its beginning.

    Args:
        model: ``Model``.
        state: ``State``, updated in place.
        drives: ``Drives``.
        scratch: ``Scratch``.
        steps: Number of steps.

    Returns:
        ``DONE``; ``NOT_FINITE`` if a step gave NaN or infinity; or the number of faces that the buffers must hold for
        the next step.
    """
    for _ in range(steps):
        _evaluate_dynamics(model, state, scratch)
        place_geometries(model, scratch)
        num_faces = find_patches(model, state, scratch)
        if num_faces > scratch.faces.num_vertices.shape[0]:
            return num_faces
        _load_smooth_terms(model, state, scratch)
        _load_limits(model, state, scratch)
        _load_drives(model, state, drives, scratch)
        load_patches(model, scratch)
        _guess(state, scratch)
        converged = solve(scratch.problem, model.options, scratch.v_next, scratch.solver)
        integrate_positions(model.tree, state.q, scratch.v_next, model.options.dt, scratch.q_next)
        # A residual that is no number tells of an overflow that left the velocities at their guess.
        residual = scratch.solver.report[1]
        if not (math.isfinite(residual) and _is_finite(scratch.v_next) and _is_finite(scratch.q_next)):
            return NOT_FINITE
        _judge_guesses(state, scratch)
        _store_wrenches(model, scratch)
        _store_efforts(model, scratch)
        for i in range(state.v.shape[0]):
            state.v_previous[i] = state.v[i]
            state.v[i] = scratch.v_next[i]
        for i in range(state.q.shape[0]):
            state.q[i] = scratch.q_next[i]
        state.step[0] += 1
        state.unconverged[0] += 0 if converged else 1
        for pair in range(state.push.shape[0]):
            for i in range(3):
                state.push[pair, i] = scratch.push[pair, i]
        state.deep[0] += 1 if scratch.patches.num_deep[0] > 0 else 0
        state.faceless[0] += 1 if scratch.patches.num_faceless[0] > 0 else 0
        state.unsettled[0] += 1 if scratch.solver.report[4] > SETTLED_CHANGE else 0
    return DONE
