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
def factorise_wide(H, begin, end, envelope, reach):
    """As ``factorise`` in place, to the same bits; faster for large systems, of which it takes the upper triangle too.

    That gets the transposed factor, so that what a row takes off all later entries lies side by side: the loops over
    ``k`` become vector instructions, where sums along a row may not be reordered. Two rows that begin in one column,
    and two columns that reach to one row, are taken at once. The order of operations on each entry is that of
    ``factorise``.

    Args:
        H: Symmetric positive definite; its lower triangle is read, and becomes the factor.
        begin: First row.
        end: One past the last row.
        envelope: As for ``factorise``.
        reach: (nv,) scratch: last column of each row of the transposed factor.
    """
    i = begin
    while i < end:
        if i + 1 < end and envelope[i + 1] == envelope[i]:
            if not _complete_two(H, i, envelope[i], reach):
                return False
            i += 2
        else:
            if not _complete_one(H, i, envelope[i], reach):
                return False
            i += 1
    return True


@kernel
def _complete_one(H, i, first, reach):
    """Compute row ``i`` of a factor; arguments and result as for ``factorise_wide``."""
    x = H[i]
    pivot = x[i]
    for j in range(first, i):
        u = H[j]
        d = x[j] / u[j]
        x[j] = d
        pivot -= d * d
        for k in range(j + 1, min(reach[j] + 1, i)):
            x[k] -= d * u[k]
    if not (pivot > 0.0 and pivot < math.inf):
        return False
    x[i] = math.sqrt(pivot)
    for k in range(first, i):
        _clear(H[k], reach[k] + 1, i)
        H[k, i] = x[k]
        reach[k] = i
    reach[i] = i
    return True


@kernel
def _complete_two(H, i, first, reach):
    """Compute rows ``i`` and ``i + 1`` of a factor; arguments and result as for ``factorise_wide``."""
    x, y = H[i], H[i + 1]
    pivot, mixed, other = x[i], y[i], y[i + 1]
    j = first
    while j < i:
        u, last = H[j], min(reach[j] + 1, i)
        d, e = x[j] / u[j], y[j] / u[j]
        x[j], y[j] = d, e
        pivot, mixed, other = pivot - d * d, mixed - e * d, other - e * e
        if j + 1 < last and reach[j + 1] == reach[j]:
            w = H[j + 1]
            d1, e1 = (x[j + 1] - d * u[j + 1]) / w[j + 1], (y[j + 1] - e * u[j + 1]) / w[j + 1]
            x[j + 1], y[j + 1] = d1, e1
            pivot, mixed, other = pivot - d1 * d1, mixed - e1 * d1, other - e1 * e1
            for k in range(j + 2, last):
                x[k] = (x[k] - d * u[k]) - d1 * w[k]
                y[k] = (y[k] - e * u[k]) - e1 * w[k]
            j += 2
        else:
            for k in range(j + 1, last):
                x[k] -= d * u[k]
                y[k] -= e * u[k]
            j += 1
    if not (pivot > 0.0 and pivot < math.inf):
        return False
    x[i] = math.sqrt(pivot)
    y[i] = mixed / x[i]
    other -= y[i] * y[i]
    if not (other > 0.0 and other < math.inf):
        return False
    y[i + 1] = math.sqrt(other)
    for k in range(first, i):
        _clear(H[k], reach[k] + 1, i)
        H[k, i], H[k, i + 1] = x[k], y[k]
        reach[k] = i + 1
    H[i, i + 1] = y[i]
    reach[i] = reach[i + 1] = i + 1
    return True


@kernel(inline=True)
def _clear(row, begin, end):
    """Zeros for columns of a transposed factor that begin below this row."""
    for k in range(begin, end):
        row[k] = 0.0


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
