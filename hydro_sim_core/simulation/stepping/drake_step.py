# mypy: allow-untyped-defs
"""A step as Drake takes it, to the last terms in which the two programs differ otherwise (decision 32).

Faces press at their centroids along their normals. Friction bounds and regularisation speeds come from the elastic
force of the step's beginning, and every face has an inverse mass of its own. Coriolis forces are those of the
velocities before. Nothing is foreseen, cut or solved again.

It is what comparisons with Drake are made with. ``step.py`` is closer to finer steps.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import entry, kernel
from hydro_sim_core.contact.pressure_field.faces import AREA, CENTROID, NORMAL, PRESSURE, SLOPE_A, SLOPE_B
from hydro_sim_core.contact.pressure_field.fans import split_into_fans
from hydro_sim_core.contact.pressure_field.query import find_faces
from hydro_sim_core.dynamics.equations import bias_forces
from hydro_sim_core.dynamics.kinematics import integrate_positions
from hydro_sim_core.simulation.stepping.collision import MIN_AREA, MIN_SLOPE, set_place_of_patch
from hydro_sim_core.simulation.stepping.coriolis import sum_momentum
from hydro_sim_core.simulation.stepping.fastest import all_slow_enough
from hydro_sim_core.simulation.stepping.loads import apply_loads, has_loads
from hydro_sim_core.simulation.stepping.model import MachineData
from hydro_sim_core.simulation.stepping.patch_loading import fill_up, set_patch_jacobian, set_reference_point
from hydro_sim_core.simulation.stepping.placement import bounds_apart, place_geometries
from hydro_sim_core.simulation.stepping.point_contacts import find_points
from hydro_sim_core.simulation.stepping.pulls import apply_pulls, stiffen_by_pulls
from hydro_sim_core.simulation.stepping.round_sides import set_pose_for_faces, straighten_faces
from hydro_sim_core.simulation.stepping.step import (
    DONE,
    NO_ROOM,
    NOT_FINITE,
    UNCONVERGED,
    evaluate_dynamics,
    is_finite,
    load_inertia,
    load_joints,
    move_on,
    store_efforts,
    store_wrenches,
)
from hydro_sim_core.solvers.face_laws import FRICTION_SOFTNESS
from hydro_sim_core.solvers.islands import find_islands
from hydro_sim_core.solvers.options import RESIDUAL
from hydro_sim_core.solvers.patch_work import relative_twist
from hydro_sim_core.solvers.problem import (
    DRIFT_BEFORE,
    ELASTIC,
    FRICTION,
    INVERSE_MASS,
    LANES,
    SLIP,
    STIFFNESS_DT,
    N,
    X,
)
from hydro_sim_core.solvers.solve import SolverEntry, forget_solutions


@entry
def advance_as_drake(machine: MachineData, solve: SolverEntry, dt: float, steps: int, accept: bool) -> int:
    """Advance the state by ``steps`` time steps as Drake takes them.

    Args:
        machine: Data of the step; the state is updated in place.
        solve: Solver of the step's problem, with options that keep the friction bounds of the faces.
        dt: Time step, s.
        steps: Number of steps.
        accept: Whether to take a step although its momentum residual stays above the tolerance.

    Returns:
        ``DONE``, ``NOT_FINITE``, ``UNCONVERGED`` or ``NO_ROOM``, as from ``step.advance``.

    Reads machine.scratch: q_next, v_next; machine.scratch.solver: report.
    Writes machine.scratch: faces_needed.
    """
    model, state, scratch = machine.model, machine.state, machine.scratch
    for _ in range(steps):
        evaluate_dynamics(model, state, scratch)
        place_geometries(model, scratch)
        scratch.faces_needed[0] = 0
        num_faces = _find_patches(model, scratch)
        if num_faces > scratch.faces.num_vertices.shape[0]:
            scratch.faces_needed[0] = num_faces
            return NO_ROOM
        converged = _solve(machine, solve, dt)
        residual = scratch.solver.report[RESIDUAL]
        if not (math.isfinite(residual) and all_slow_enough(scratch.v_next) and is_finite(scratch.q_next)):
            return NOT_FINITE
        if not (converged or accept):
            return UNCONVERGED
        store_wrenches(scratch, dt)
        store_efforts(model, scratch, dt)
        move_on(state, scratch, dt, converged)
    return DONE


@kernel
def _find_patches(model, scratch):
    """Find the faces of all pairs; return their number, which exceeds the buffer's size if that is too small.

    Reads model: pair_rows, pairs, splits_faces; scratch: R_BA, bounds, p_BA; scratch.patches: num; scratch.query:
    nodes.
    Writes scratch: overlaps, push; scratch.patches: dropped_force, first_face, is_recovered, num, num_deep,
    num_faceless, pair; scratch.points: num_faced; scratch.query: ahead, nodes.
    """
    patches, faces, query, count = scratch.patches, scratch.faces, scratch.query, 0
    patches.num[0] = patches.num_deep[0] = patches.num_faceless[0] = patches.first_face[0] = 0
    scratch.push[:] = 0.0
    scratch.overlaps[:] = 0
    query.ahead[:] = 0.0
    for pair in range(model.pairs.shape[0]):
        a, b = model.pairs[pair, 0], model.pairs[pair, 1]
        if bounds_apart(scratch.bounds[a], scratch.bounds[b]):
            continue
        set_pose_for_faces(model, scratch, pair)
        a, b = model.pair_rows[pair, 0], model.pair_rows[pair, 1]
        found = find_faces(model.geometries, a, b, scratch.R_BA, scratch.p_BA, False, query, faces, count)
        if found <= faces.num_vertices.shape[0] and model.splits_faces:
            found = split_into_fans(faces, count, found)
        if found > faces.num_vertices.shape[0]:
            return found
        if found == count:
            continue
        straighten_faces(model, faces, pair, count, found, scratch.R_BA, scratch.p_BA, query.nodes)
        count, p = found, patches.num[0]
        patches.pair[p] = pair
        patches.is_recovered[p], patches.dropped_force[p] = False, 0.0
        set_place_of_patch(model, scratch, p)
        patches.first_face[p + 1] = count
        patches.num[0] += 1
    scratch.points.num_faced[0] = patches.num[0]
    return count


@kernel
def _solve(machine, solve, dt):
    """Load the problem of a step, solve it once, and write the next velocities and coordinates.

    Returns:
        Whether it converged.

    Reads machine.drives: v_target; machine.model: options; machine.scratch: R_WB, S, bias, p_WB, problem, solver,
    v_next; machine.state: q, v; machine.scratch.patches: num; machine.scratch.solver: v;
    machine.scratch.problem.islands: order.
    Writes machine.scratch: bias, q_next, v_next; machine.scratch.solver: v.
    """
    model, state, loads, scratch = machine.model, machine.state, machine.loads, machine.scratch
    problem, order = scratch.problem, scratch.problem.islands.order
    find_points(model, scratch)
    find_islands(model.forest, scratch.patches.num[0], problem.islands)
    load_inertia(model, state, scratch, dt)
    stiffen_by_pulls(model, loads, scratch, dt)
    load_joints(model, state, machine.drives, scratch, dt, math.inf)
    unknowns = model.forest.velocities.shape[0]
    for k in range(state.v.shape[0]):
        scratch.solver.v[k] = state.v[order[k]] if k < unknowns else machine.drives.v_target[order[k]]
    _load_patches(model, scratch, dt)
    is_pushed = has_loads(loads)
    if is_pushed:
        apply_loads(model, loads, scratch)
        apply_pulls(model, loads, scratch, machine.drives.v_target, dt)
    bias_forces(model.tree, scratch.R_WB, scratch.p_WB, scratch.S, state.v, scratch.bias, scratch.tree)
    sum_momentum(model, state, scratch, dt, is_pushed)
    forget_solutions(problem, scratch.solver)
    converged = solve(problem, model.options, scratch.solver)
    for k in range(state.v.shape[0]):
        scratch.v_next[order[k]] = scratch.solver.v[k]
    integrate_positions(model.tree, state.q, scratch.v_next, dt, scratch.q_next)
    return converged


@kernel
def _load_patches(model, scratch, dt):
    """Turn patches into face blocks, pair Jacobians and pair properties of the problem.

    The solver's v must contain the prescribed velocities.

    Reads model: pair_dissipation, pair_friction; scratch.faces: data; scratch.patches: first_face, num, pair;
    scratch.solver: patch_hessians.
    Writes scratch.patches: p_GR; scratch.problem: delassus, dissipation, end_block, first_block, friction, num_patches;
    scratch.solver: patch_hessians.
    """
    patches, problem = scratch.patches, scratch.problem
    problem.num_patches[0] = patches.num[0]
    block = 0
    for p in range(patches.num[0]):
        pair = patches.pair[p]
        problem.friction[p], problem.dissipation[p] = model.pair_friction[pair], model.pair_dissipation[pair]
        first, last = patches.first_face[p], patches.first_face[p + 1]
        set_reference_point(scratch.faces.data, first, last, patches.p_GR[p])
        set_patch_jacobian(model, scratch, p)
        response = scratch.solver.patch_hessians[p]
        _set_response(problem, p, response)
        problem.delassus[p] = _inverse_mass(response, 0.0, 0.0, 0.0)
        problem.first_block[p] = block
        block = _fill_blocks(model, scratch, p, dt, response)
        problem.end_block[p] = block


@kernel
def _set_response(problem, p, response):
    """Write J D^-1 J^T (6, 6) of patch p, where D is the diagonal of A: what Drake takes for J A^-1 J^T.

    Reads problem: A, jacobian; problem.islands: columns.
    """
    J, columns = problem.jacobian[p], problem.islands.columns[p]
    response[:] = 0.0
    for side in range(2):
        for k in range(columns[side, 0], columns[side, 1]):
            for i in range(6):
                for j in range(6):
                    response[i, j] += J[i, k] * J[j, k] / problem.A[k, k]


@kernel
def _inverse_mass(response, x, y, z):
    """Inverse mass w (1/kg) at a point relative to the reference point: a third of the norm of J A^-1 J^T there."""
    total = 0.0
    for i in range(3):
        of_i = _velocity_at(i, x, y, z)
        for j in range(3):
            of_j, s = _velocity_at(j, x, y, z), 0.0
            for r in range(4):
                for c in range(4):
                    s += of_i[r][1] * response[of_i[r][0], of_j[c][0]] * of_j[c][1]
            total += s * s
    return math.sqrt(total) / 3.0


@kernel(inline=True)
def _velocity_at(i, x, y, z):
    """Component ``i`` of the velocity at a point as a sum over entries of the twist: pairs of entry and factor."""
    if i == 0:
        return (0, 0.0), (1, z), (2, -y), (3, 1.0)
    if i == 1:
        return (0, -z), (1, 0.0), (2, x), (4, 1.0)
    return (0, y), (1, -x), (2, 0.0), (5, 1.0)


@kernel
def _fill_blocks(model, scratch, p, dt, response):
    """Write the faces of patch p into blocks, with bounds of friction; return the next free block.

    The bound is mu n0 with n0 = dt f_e0 (1 - d v_n0)_+, the regularisation speed max(v_s, sigma w mu n0).

    Reads model: pair_relaxation; scratch: twist; model.options: stiction_speed; scratch.faces: data; scratch.patches:
    first_face, p_GR, pair; scratch.problem: dissipation, first_block, friction, v0.
    Writes scratch: twist; scratch.problem: blocks.
    """
    data, problem, V, p_GR = scratch.faces.data, scratch.problem, scratch.twist, scratch.patches.p_GR[p]
    relative_twist(problem, p, problem.v0, DRIFT_BEFORE, V)
    relaxation = model.pair_relaxation[scratch.patches.pair[p]]
    block, lane = problem.first_block[p], 0
    for f in range(scratch.patches.first_face[p], scratch.patches.first_face[p + 1]):
        area, pressure, slope_a, slope_b = (
            data[AREA, f],
            data[PRESSURE, f],
            data[SLOPE_A, f],
            data[SLOPE_B, f],
        )
        if area <= MIN_AREA or slope_a <= MIN_SLOPE or slope_b <= MIN_SLOPE:
            continue
        x, y, z = (
            data[CENTROID, f] - p_GR[0],
            data[CENTROID + 1, f] - p_GR[1],
            data[CENTROID + 2, f] - p_GR[2],
        )
        n0, n1, n2 = data[NORMAL, f], data[NORMAL + 1, f], data[NORMAL + 2, f]
        u = (V[3] + V[1] * z - V[2] * y, V[4] + V[2] * x - V[0] * z, V[5] + V[0] * y - V[1] * x)
        damping = max(1.0 - problem.dissipation[p] * (u[0] * n0 + u[1] * n1 + u[2] * n2), 0.0)
        inverse_mass = _inverse_mass(response, x, y, z)
        friction = problem.friction[p] * dt * max(area * pressure, 0.0) * damping
        stiffness = area / (1.0 / slope_a + 1.0 / slope_b)
        out = problem.blocks[block]
        out[X * LANES + lane], out[(X + 1) * LANES + lane], out[(X + 2) * LANES + lane] = x, y, z
        out[N * LANES + lane], out[(N + 1) * LANES + lane], out[(N + 2) * LANES + lane] = n0, n1, n2
        out[ELASTIC * LANES + lane] = area * pressure
        out[STIFFNESS_DT * LANES + lane] = (dt + relaxation) * stiffness
        out[FRICTION * LANES + lane] = friction
        out[SLIP * LANES + lane] = max(
            model.options.stiction_speed, FRICTION_SOFTNESS * inverse_mass * friction
        )
        out[INVERSE_MASS * LANES + lane] = inverse_mass
        lane += 1
        if lane == LANES:
            block, lane = block + 1, 0
    return fill_up(problem.blocks, block, lane)
