# mypy: allow-untyped-defs
"""Projected Gauss-Seidel on the convex problem of SAP: one impulse after the other, the others fixed.

The method of most game and robot simulators (Jourdan 1998), for comparison with Newton on the same problem. A
sweep looks at every face, drive, end stop and joint with friction in turn and takes the impulse that follows from the
velocities that all other impulses leave; for a face that is a projection on Coulomb's cone. Many bodies in touch, and
many faces that share one, take many sweeps. A bound on how fast an impulse moves its face stands for the exact matrix:
each update is the smaller for it, and none overshoots.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.solvers.balance import LEAST_SHARE, inertia_times, momentum_residual
from hydro_sim_core.solvers.face_laws import TINY, projection_on_cone, sap_stiffness
from hydro_sim_core.solvers.face_state import face_state, patch_state, twist_of
from hydro_sim_core.solvers.joint_terms import joint_impulse
from hydro_sim_core.solvers.linear import factorise, solve_factorised
from hydro_sim_core.solvers.options import CONVERGED, ITERATIONS, RESIDUAL, SOLVES
from hydro_sim_core.solvers.patch_work import relative_twists
from hydro_sim_core.solvers.problem import DRIFT, LANES, X

#: Limit on Newton steps for the impulse of one joint, safeguarded by bisection, and their relative tolerance.
JOINT_STEPS = 50
JOINT_TOLERANCE = 1e-14
#: Rows of ``SolverScratch.of_velocities``: velocities before a sweep, and impulses of drives, stops and friction.
BEFORE, JOINT_IMPULSE = range(2)


@kernel
def solve_pgs(problem, options, law, island, scratch):
    """Solve the convex problem of an island; see ``solver_entry``.

    Momentum always balances; the residual is the share of it that the last sweep moved. Slowly converging motion, such
    as the spin of a body on a small patch, may therefore stop early.

    ``scratch.matrix`` holds the Cholesky factor of A, ``scratch.of_faces`` the impulses of faces.

    Reads options: max_iterations, tolerance; problem: A; scratch: island_report, matrix, v; problem.islands: first,
    first_patch, patches, tree_begin.
    Writes scratch: island_report, matrix, of_velocities.
    """
    islands, report = problem.islands, scratch.island_report
    begin, end = islands.first[island], islands.first[island + 1]
    report[SOLVES] = 1.0
    if not factorise(problem.A, scratch.matrix, begin, end, islands.tree_begin):
        return
    report[RESIDUAL], _ = momentum_residual(problem, law, island, scratch)
    if report[RESIDUAL] <= options.tolerance:
        report[CONVERGED] = 1.0
        return
    _start_from_guess(problem, law, island, scratch)
    for sweep in range(options.max_iterations):
        for i in range(begin, end):
            scratch.of_velocities[BEFORE, i] = scratch.v[i]
        for i in range(begin, end):
            _sweep_joint(problem, i, scratch)
        for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
            _sweep_patch(problem, islands.patches[n], scratch)
        report[RESIDUAL], report[ITERATIONS] = _change(problem, begin, end, scratch), sweep + 1.0
        if report[RESIDUAL] <= options.tolerance:
            report[CONVERGED] = 1.0
            break
    _sum_up(problem, island, scratch)


@kernel
def _start_from_guess(problem, law, island, scratch):
    """Start from the impulses of the guess and the velocities that follow from them.

    Reads law: respond; problem: blocks, end_block, first_block, momentum; scratch: impulse, matrix, twists, v;
    problem.islands: first, first_patch, patches, tree_begin.
    Writes scratch: of_faces, of_velocities, v.
    """
    islands = problem.islands
    begin, end = islands.first[island], islands.first[island + 1]
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        p = islands.patches[n]
        patch, twist = patch_state(problem, p), twist_of(scratch.twists[p])
        for b in range(problem.first_block[p], problem.end_block[p]):
            for i in range(LANES):
                given = law.respond(face_state(problem.blocks[b], i, twist), patch)
                scratch.of_faces[b, i] = given.f0
                scratch.of_faces[b, LANES + i] = given.f1
                scratch.of_faces[b, 2 * LANES + i] = given.f2
    for i in range(begin, end):
        scratch.of_velocities[JOINT_IMPULSE, i], _ = joint_impulse(problem, i, scratch.v[i])
    for i in range(begin, end):
        scratch.v[i] = problem.momentum[i] + scratch.impulse[i]
    solve_factorised(scratch.matrix, begin, end, islands.tree_begin, scratch.v)


@kernel
def _change(problem, begin, end, scratch):
    """Momentum moved by a sweep, relative to the momenta that the step exchanges; zero where it is round-off.

    Reads problem: A, momentum, push; scratch: direction, of_velocities, v.
    Writes scratch: direction.
    """
    moved2, before2, after2, exchanged2, impulse2, push2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(begin, end):
        scratch.direction[i] = scratch.v[i] - scratch.of_velocities[BEFORE, i]
    for i in range(begin, end):
        weight = 1.0 / problem.A[i, i]
        moved = inertia_times(problem, i, scratch.direction)
        after = inertia_times(problem, i, scratch.v)
        impulse = after - problem.momentum[i]
        exchanged = impulse + problem.push[i]
        moved2 += weight * moved * moved
        after2 += weight * after * after
        before2 += weight * problem.momentum[i] * problem.momentum[i]
        exchanged2 += weight * exchanged * exchanged
        impulse2 += weight * impulse * impulse
        push2 += weight * problem.push[i] * problem.push[i]
    # Written so that neither a NaN nor what overflows counts as rest.
    if moved2 == 0.0 or moved2 < LEAST_SHARE * LEAST_SHARE * max(before2, after2):
        return 0.0
    return math.sqrt(moved2 / max(exchanged2, max(impulse2, push2)))


@kernel
def _sum_up(problem, island, scratch):
    """Compute twists and impulses of the patches.

    Reads problem: blocks, end_block, first_block; scratch: of_faces, patch_impulse, v; problem.islands: first_patch,
    patches.
    Writes scratch: patch_impulse, twists.
    """
    islands = problem.islands
    relative_twists(problem, island, scratch.v, DRIFT, scratch.twists)
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        p = islands.patches[n]
        total = scratch.patch_impulse[p]
        total[:] = 0.0
        for b in range(problem.first_block[p], problem.end_block[p]):
            block, given = problem.blocks[b], scratch.of_faces[b]
            for i in range(LANES):
                x0, x1, x2 = block[X * LANES + i], block[(X + 1) * LANES + i], block[(X + 2) * LANES + i]
                f0, f1, f2 = given[i], given[LANES + i], given[2 * LANES + i]
                total[0] += x1 * f2 - x2 * f1
                total[1] += x2 * f0 - x0 * f2
                total[2] += x0 * f1 - x1 * f0
                total[3], total[4], total[5] = total[3] + f0, total[4] + f1, total[5] + f2


@kernel
def _sweep_joint(problem, i, scratch):
    """Find the impulse p of drive, limits and friction at the velocity u + w p, and update the velocities.

    Reads scratch: direction, matrix, of_velocities, v; problem.islands: tree_begin, tree_end.
    Writes scratch: direction, of_velocities, v.
    """
    islands, factor, column = problem.islands, scratch.matrix, scratch.direction
    begin, end = islands.tree_begin[i], islands.tree_end[i]
    for k in range(begin, end):
        column[k] = 0.0
    column[i] = 1.0
    solve_factorised(factor, begin, end, islands.tree_begin, column)
    w, before = column[i], scratch.of_velocities[JOINT_IMPULSE, i]
    u = scratch.v[i] - w * before
    p, low, high = before, -math.inf, math.inf
    for _ in range(JOINT_STEPS):
        given, stiffness = joint_impulse(problem, i, u + w * p)
        # Grows with p, because the impulse decreases with the velocity.
        excess = p - given
        if abs(excess) <= JOINT_TOLERANCE * abs(given):
            break
        if excess > 0.0:
            high = p
        else:
            low = p
        p -= excess / (1.0 + w * stiffness)
        if low < p < high:
            continue
        if low == -math.inf or high == math.inf:
            break  # a step below rounding
        p = 0.5 * (low + high)
    scratch.of_velocities[JOINT_IMPULSE, i] = p
    for k in range(begin, end):
        scratch.v[k] += (p - before) * column[k]


@kernel
def _sweep_patch(problem, p, scratch):
    """Find the impulses of a patch's faces, one after the other, and update the velocities.

    Reads problem: drift, end_block, first_block, jacobian; scratch: direction, matrix, of_faces, patch_hessians,
    patch_impulse, twists, v; problem.islands: columns, tree_begin.
    Writes scratch: direction, of_faces, patch_impulse, twists, v.
    """
    islands, V, W, total = (
        problem.islands,
        scratch.twists[p],
        scratch.patch_hessians[p],
        scratch.patch_impulse[p],
    )
    J, columns = problem.jacobian[p], islands.columns[p]
    _find_response(problem, p, scratch)
    for row in range(6):
        V[row], total[row] = problem.drift[DRIFT, p, row], 0.0
        for side in range(2):
            for k in range(columns[side, 0], columns[side, 1]):
                V[row] += J[row, k] * scratch.v[k]
    for b in range(problem.first_block[p], problem.end_block[p]):
        for i in range(LANES):
            _sweep_face(problem, p, b, i, V, W, total, scratch.of_faces)
    # One update of the velocities for the changes of all faces of the patch.
    for side in range(2):
        begin, end = columns[side, 0], columns[side, 1]
        for k in range(begin, end):
            scratch.direction[k] = 0.0
            for row in range(6):
                scratch.direction[k] += J[row, k] * total[row]
        solve_factorised(scratch.matrix, begin, end, islands.tree_begin, scratch.direction)
        for k in range(begin, end):
            scratch.v[k] += scratch.direction[k]


@kernel
def _find_response(problem, p, scratch):
    """Write the twists (6, 6) caused by unit impulses on patch ``p``, J A^-1 J^T, to ``scratch.patch_hessians[p]``.

    Reads problem: jacobian; scratch: direction, matrix, patch_hessians; problem.islands: columns, tree_begin.
    Writes scratch: direction, patch_hessians.
    """
    J, columns, W, column = (
        problem.jacobian[p],
        problem.islands.columns[p],
        scratch.patch_hessians[p],
        scratch.direction,
    )
    for j in range(6):
        for i in range(6):
            W[i, j] = 0.0
        for side in range(2):
            begin, end = columns[side, 0], columns[side, 1]
            for k in range(begin, end):
                column[k] = J[j, k]
            solve_factorised(scratch.matrix, begin, end, problem.islands.tree_begin, column)
            for i in range(6):
                for k in range(begin, end):
                    W[i, j] += J[i, k] * column[k]


@kernel
def _sweep_face(problem, p, b, i, V, W, total, impulses):
    """Project the impulse of the face in lane ``i`` of block ``b``; add its change to ``total`` and to ``V``.

    Reads problem: blocks.
    """
    face, patch = face_state(problem.blocks[b], i, twist_of(V)), patch_state(problem, p)
    if face.stiffness_dt == 0.0:
        return
    x0, x1, x2 = face.x0, face.x1, face.x2
    g0, g1, g2 = impulses[b, i], impulses[b, LANES + i], impulses[b, 2 * LANES + i]
    # An upper bound of the face's response to its own impulse in any direction; less would make sweeps diverge.
    w = _largest_response(W, x0, x1, x2)
    stiff_n, stiff_t, softening = sap_stiffness(face, patch)
    g_n = g0 * face.n0 + g1 * face.n1 + g2 * face.n2
    u_n = face.v_n - w * g_n
    u0 = face.t0 - w * (g0 - g_n * face.n0)
    u1 = face.t1 - w * (g1 - g_n * face.n1)
    u2 = face.t2 - w * (g2 - g_n * face.n2)
    press = softening * patch.dt * (face.elastic - face.stiffness_dt * u_n) / (1.0 + w * stiff_n)
    speed = max(math.sqrt(u0 * u0 + u1 * u1 + u2 * u2), TINY)
    hold = stiff_t / (1.0 + w * stiff_t)
    dilation = patch.mu * stiff_n / (1.0 + w * stiff_n) / hold
    sticks, sliding = projection_on_cone(press, hold * speed, dilation, patch.mu)
    normal = press if sticks else sliding
    along = hold if sticks else patch.mu * sliding / speed
    d0 = normal * face.n0 - along * u0 - g0
    d1 = normal * face.n1 - along * u1 - g1
    d2 = normal * face.n2 - along * u2 - g2
    impulses[b, i], impulses[b, LANES + i], impulses[b, 2 * LANES + i] = g0 + d0, g1 + d1, g2 + d2
    wrench = (x1 * d2 - x2 * d1, x2 * d0 - x0 * d2, x0 * d1 - x1 * d0, d0, d1, d2)
    for row in range(6):
        total[row] += wrench[row]
        for column in range(6):
            V[row] += W[row, column] * wrench[column]


@kernel
def _largest_response(W, x0, x1, x2):
    """A bound on how fast a unit impulse at x makes x move, in any direction: the largest row sum of that matrix."""
    sum0, sum1, sum2 = 0.0, 0.0, 0.0
    for axis in range(3):
        d0, d1, d2 = 1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0
        wrench = (x1 * d2 - x2 * d1, x2 * d0 - x0 * d2, x0 * d1 - x1 * d0, d0, d1, d2)
        w0, w1, w2, u0, u1, u2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(6):
            w0, w1, w2 = w0 + W[0, k] * wrench[k], w1 + W[1, k] * wrench[k], w2 + W[2, k] * wrench[k]
            u0, u1, u2 = u0 + W[3, k] * wrench[k], u1 + W[4, k] * wrench[k], u2 + W[5, k] * wrench[k]
        sum0 += abs(u0 + w1 * x2 - w2 * x1)
        sum1 += abs(u1 + w2 * x0 - w0 * x2)
        sum2 += abs(u2 + w0 * x1 - w1 * x0)
    return max(sum0, max(sum1, sum2))
