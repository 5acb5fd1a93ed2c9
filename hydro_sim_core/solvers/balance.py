# mypy: allow-untyped-defs
"""The momentum balance of an island: its residual at given velocities, and its Hessian."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.solvers.elimination import is_large
from hydro_sim_core.solvers.joint_terms import joint_impulse
from hydro_sim_core.solvers.patch_terms import is_point
from hydro_sim_core.solvers.patch_work import evaluate_patches

#: Share of the momenta below which a residual is round-off of their sums.
LEAST_SHARE = 1e-14


@kernel
def inertia_times(problem, k, x):
    """Entry ``k`` of A x.

    Reads problem: A; problem.islands: tree_begin, tree_end.
    """
    s = 0.0
    for m in range(problem.islands.tree_begin[k], problem.islands.tree_end[k]):
        s += problem.A[k, m] * x[m]
    return s


@kernel
def multiply_jacobian(problem, p, matrix, product):
    """Product (6, nv) of a (6, 6) matrix and a patch's Jacobian, in the patch's columns.

    Reads problem: jacobian; problem.islands: columns.
    """
    J, columns = problem.jacobian[p], problem.islands.columns[p]
    for side in range(2):
        for row in range(6):
            # Sums of six in one expression: the loop over columns, which lie side by side, is then vectorised.
            m0, m1, m2 = matrix[row, 0], matrix[row, 1], matrix[row, 2]
            m3, m4, m5 = matrix[row, 3], matrix[row, 4], matrix[row, 5]
            for k in range(columns[side, 0], columns[side, 1]):
                product[row, k] = (
                    m0 * J[0, k] + m1 * J[1, k] + m2 * J[2, k] + m3 * J[3, k] + m4 * J[4, k] + m5 * J[5, k]
                )


@kernel
def _add_patch_hessian(problem, p, upper, scratch):
    """hessian += J^T H J, its lower or its upper triangle.

    Reads problem: jacobian; scratch: hessian, patch_hessians, product; problem.islands: columns.
    Writes scratch: hessian, product.
    """
    J, columns, product, hessian = (
        problem.jacobian[p],
        problem.islands.columns[p],
        scratch.product,
        scratch.hessian,
    )
    multiply_jacobian(problem, p, scratch.patch_hessians[p], product)
    for row_side in range(2):
        for side in range(row_side if upper else 0, 2 if upper else row_side + 1):
            for i in range(columns[row_side, 0], columns[row_side, 1]):
                j0, j1, j2, j3, j4, j5 = J[0, i], J[1, i], J[2, i], J[3, i], J[4, i], J[5, i]
                begin, end = columns[side, 0], columns[side, 1]
                for j in range(max(begin, i) if upper else begin, end if upper else min(end, i + 1)):
                    hessian[i, j] += (
                        j0 * product[0, j]
                        + j1 * product[1, j]
                        + j2 * product[2, j]
                        + j3 * product[3, j]
                        + j4 * product[4, j]
                        + j5 * product[5, j]
                    )


@kernel
def assemble_hessian(problem, island, scratch):
    """Write the Hessian of an island, after ``momentum_residual``.

    It is the lower triangle within the envelope, or of a large island the upper one in its runs.

    Reads problem: A; scratch: hessian, v; problem.islands: envelope, first, first_patch, first_run, last_run, patches,
    runs, tree_begin, tree_end; problem.points: is_coupled.
    Writes scratch: hessian.
    """
    islands, hessian, in_runs = problem.islands, scratch.hessian, is_large(problem.islands, island)
    for i in range(islands.first[island], islands.first[island + 1]):
        tree, end = islands.tree_begin[i], islands.tree_end[i]
        if in_runs:
            for n in range(islands.first_run[tree], islands.last_run[tree]):
                for j in range(max(islands.runs[n, 0], end), islands.runs[n, 1]):
                    hessian[i, j] = 0.0
            for j in range(i, end):
                hessian[i, j] = problem.A[i, j]
        else:
            for j in range(islands.envelope[i], tree):
                hessian[i, j] = 0.0
            for j in range(tree, i + 1):
                hessian[i, j] = problem.A[i, j]
        _, stiffness = joint_impulse(problem, i, scratch.v[i])
        hessian[i, i] += stiffness
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        p = islands.patches[n]
        if not (is_point(problem, p) and problem.points.is_coupled[0] != 0):
            _add_patch_hessian(problem, p, in_runs, scratch)


@kernel
def mirror_hessian(problem, island, scratch):
    """Fill both triangles of the matrix of an island from its Hessian.

    Reads scratch: hessian; problem.islands: envelope, first, first_run, last_run, runs, tree_begin.
    Writes scratch: matrix.
    """
    islands, matrix, in_runs = problem.islands, scratch.matrix, is_large(problem.islands, island)
    begin, end = islands.first[island], islands.first[island + 1]
    for i in range(begin, end):
        for j in range(begin, end if in_runs else islands.envelope[i]):
            matrix[i, j] = matrix[j, i] = 0.0
    for i in range(begin, end):
        if in_runs:
            tree = islands.tree_begin[i]
            for n in range(islands.first_run[tree], islands.last_run[tree]):
                for j in range(max(islands.runs[n, 0], i), islands.runs[n, 1]):
                    matrix[i, j] = matrix[j, i] = scratch.hessian[i, j]
        else:
            for j in range(islands.envelope[i], i + 1):
                matrix[i, j] = matrix[j, i] = scratch.hessian[i, j]


@kernel
def add_to_matrix(problem, p, of_patch, scratch):
    """matrix += J^T H J, for a matrix H (6, 6) of patch ``p`` that need not be symmetric.

    Reads problem: jacobian; scratch: matrix, product; problem.islands: columns.
    Writes scratch: matrix, product.
    """
    J, columns, product, matrix = (
        problem.jacobian[p],
        problem.islands.columns[p],
        scratch.product,
        scratch.matrix,
    )
    multiply_jacobian(problem, p, of_patch, product)
    for row_side in range(2):
        for side in range(2):
            for i in range(columns[row_side, 0], columns[row_side, 1]):
                for j in range(columns[side, 0], columns[side, 1]):
                    s = 0.0
                    for k in range(6):
                        s += J[k, i] * product[k, j]
                    matrix[i, j] += s


@kernel
def momentum_residual(problem, law, island, scratch):
    """Residual of an island at ``scratch.v``; norms are scaled by diag(A)^-1/2, so that turns and shifts compare.

    Args:
        problem: ``ContactProblem``.
        law: ``FaceLaw``.
        island: Index of the island.
        scratch: ``SolverScratch``; writes ``residual``, ``impulse``, ``patch_impulse`` and ``patch_hessians``.

    Returns:
        Norm of the residual relative to the momenta that the step exchanges, so that a body in swift motion obeys small
        forces as one at rest does; zero where it is round-off. The same relative to the momenta themselves.

    Reads problem: A, jacobian, momentum, push; scratch: impulse, patch_impulse, v; problem.islands: columns, first,
    first_patch, patches.
    Writes scratch: impulse, residual.
    """
    islands, v, impulse = problem.islands, scratch.v, scratch.impulse
    begin, end = islands.first[island], islands.first[island + 1]
    evaluate_patches(problem, law, island, scratch)
    for i in range(begin, end):
        impulse[i], _ = joint_impulse(problem, i, v[i])
    for n in range(islands.first_patch[island], islands.first_patch[island + 1]):
        p = islands.patches[n]
        of_patch, J, columns = scratch.patch_impulse[p], problem.jacobian[p], islands.columns[p]
        f0, f1, f2, f3, f4, f5 = of_patch[0], of_patch[1], of_patch[2], of_patch[3], of_patch[4], of_patch[5]
        for side in range(2):
            for i in range(columns[side, 0], columns[side, 1]):
                of_moment = impulse[i] + J[0, i] * f0 + J[1, i] * f1 + J[2, i] * f2
                impulse[i] = of_moment + J[3, i] * f3 + J[4, i] * f4 + J[5, i] * f5
    residual2, momenta2, start2, exchanged2, impulse2, push2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(begin, end):
        momentum = inertia_times(problem, i, v)
        r = momentum - problem.momentum[i] - impulse[i]
        scratch.residual[i] = r
        weight, exchanged = 1.0 / problem.A[i, i], r + problem.push[i] + impulse[i]
        residual2 += weight * r * r
        momenta2 += weight * momentum * momentum
        start2 += weight * problem.momentum[i] * problem.momentum[i]
        exchanged2 += weight * exchanged * exchanged
        impulse2 += weight * impulse[i] * impulse[i]
        push2 += weight * problem.push[i] * problem.push[i]
    momenta2 = max(momenta2, max(impulse2, start2))
    # Written so that neither a NaN nor what overflows counts as balance.
    if residual2 == 0.0 or residual2 < LEAST_SHARE * LEAST_SHARE * momenta2:
        return 0.0, 0.0
    return math.sqrt(residual2 / max(exchanged2, max(impulse2, push2))), math.sqrt(residual2 / momenta2)
