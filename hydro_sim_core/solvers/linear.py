# mypy: allow-untyped-defs
"""Direct solvers for the systems of a step: envelope Cholesky, and LU for unsymmetric matrices.

Systems are ranges of rows and columns [begin, end) of a larger array.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel


@kernel
def factorise(H, L, begin, end, envelope):
    """Cholesky factor of ``H`` into the lower triangle of ``L``, which may be ``H``; False if none exists.

    Args:
        H: Symmetric positive definite; its lower triangle is read.
        L: The factor.
        begin: First row.
        end: One past the last row.
        envelope: First nonzero column of every row, of the matrix and of the factor. Earlier columns are not touched.
    """
    i = begin
    while i < end:
        first, is_paired = envelope[i], i + 1 < end and envelope[i + 1] == envelope[i]
        if is_paired:
            # Two rows beside each other: one alone waits for each of its divisions.
            for j in range(first, i):
                s, t = H[i, j], H[i + 1, j]
                for k in range(max(first, envelope[j]), j):
                    s -= L[i, k] * L[j, k]
                    t -= L[i + 1, k] * L[j, k]
                L[i, j], L[i + 1, j] = s / L[j, j], t / L[j, j]
            if not _complete_row(H, L, i, i, envelope) or not _complete_row(H, L, i + 1, i, envelope):
                return False
            i += 2
        else:
            if not _complete_row(H, L, i, first, envelope):
                return False
            i += 1
    return True


@kernel
def _complete_row(H, L, i, column, envelope):
    """Compute the entries of row ``i`` of a factor from a column on; arguments and result as for ``factorise``."""
    for j in range(column, i):
        s = H[i, j]
        for k in range(max(envelope[i], envelope[j]), j):
            s -= L[i, k] * L[j, k]
        L[i, j] = s / L[j, j]
    pivot = H[i, i]
    for k in range(envelope[i], i):
        pivot -= L[i, k] * L[i, k]
    if not (pivot > 0.0 and pivot < math.inf):
        return False
    L[i, i] = math.sqrt(pivot)
    return True


@kernel
def solve_lower(L, begin, end, envelope, x):
    """Solve ``L x = x`` in place."""
    for i in range(begin, end):
        s = x[i]
        for k in range(envelope[i], i):
            s -= L[i, k] * x[k]
        x[i] = s / L[i, i]


@kernel
def solve_lower_three(L, begin, end, envelope, X):
    """Solve ``L x = x`` in place for the three rows (3, nv) of ``X``, side by side: divisions wait for each other."""
    x, y, z = X[0], X[1], X[2]
    for i in range(begin, end):
        s, t, u = x[i], y[i], z[i]
        for k in range(envelope[i], i):
            s -= L[i, k] * x[k]
            t -= L[i, k] * y[k]
            u -= L[i, k] * z[k]
        x[i], y[i], z[i] = s / L[i, i], t / L[i, i], u / L[i, i]


@kernel
def solve_factorised(L, begin, end, envelope, x):
    """Solve ``L L^T x = x`` in place."""
    solve_lower(L, begin, end, envelope, x)
    for i in range(end - 1, begin - 1, -1):
        x[i] /= L[i, i]
        for k in range(envelope[i], i):
            x[k] -= L[i, k] * x[i]


@kernel
def solve_general(A, begin, end, x):
    """Solve ``A x = x`` in place by elimination with row exchanges; ``A`` is destroyed. False if ``A`` is singular."""
    for column in range(begin, end):
        best = column
        for row in range(column + 1, end):
            if abs(A[row, column]) > abs(A[best, column]):
                best = row
        if not (abs(A[best, column]) > 0.0 and abs(A[best, column]) < math.inf):
            return False
        if best != column:
            for k in range(column, end):
                A[column, k], A[best, k] = A[best, k], A[column, k]
            x[column], x[best] = x[best], x[column]
        for row in range(column + 1, end):
            factor = A[row, column] / A[column, column]
            for k in range(column + 1, end):
                A[row, k] -= factor * A[column, k]
            x[row] -= factor * x[column]
    for row in range(end - 1, begin - 1, -1):
        s = x[row]
        for k in range(row + 1, end):
            s -= A[row, k] * x[k]
        x[row] = s / A[row, row]
    return True
