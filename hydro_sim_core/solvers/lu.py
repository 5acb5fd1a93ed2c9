# mypy: allow-untyped-defs
"""LU factors of general matrices, real and complex, with row exchanges, for systems that are solved again and again.

A complex matrix is two real ones, its real and its imaginary part.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel


@kernel
def factorise_lu(A, exchanged):
    """Replace ``A`` (n, n) by its factors, and write the row exchanged with each (n,); False if it is singular."""
    n = A.shape[0]
    for column in range(n):
        best = column
        for row in range(column + 1, n):
            if abs(A[row, column]) > abs(A[best, column]):
                best = row
        if not (abs(A[best, column]) > 0.0 and abs(A[best, column]) < math.inf):
            return False
        exchanged[column] = best
        if best != column:
            for k in range(n):
                A[column, k], A[best, k] = A[best, k], A[column, k]
        for row in range(column + 1, n):
            factor = A[row, column] / A[column, column]
            A[row, column] = factor
            for k in range(column + 1, n):
                A[row, k] -= factor * A[column, k]
    return True


@kernel
def solve_lu(A, exchanged, x):
    """Solve ``A x = x`` in place with the factors of ``A``."""
    n = A.shape[0]
    for row in range(n):
        other = exchanged[row]
        x[row], x[other] = x[other], x[row]
    for row in range(n):
        s = x[row]
        for k in range(row):
            s -= A[row, k] * x[k]
        x[row] = s
    for row in range(n - 1, -1, -1):
        s = x[row]
        for k in range(row + 1, n):
            s -= A[row, k] * x[k]
        x[row] = s / A[row, row]


@kernel
def factorise_complex_lu(A, B, exchanged):
    """As ``factorise_lu``, of ``A + i B``."""
    n = A.shape[0]
    for column in range(n):
        best, size = column, -1.0
        for row in range(column, n):
            here = abs(A[row, column]) + abs(B[row, column])
            if here > size:
                best, size = row, here
        if not (size > 0.0 and size < math.inf):
            return False
        exchanged[column] = best
        if best != column:
            for k in range(n):
                A[column, k], A[best, k] = A[best, k], A[column, k]
                B[column, k], B[best, k] = B[best, k], B[column, k]
        a, b = A[column, column], B[column, column]
        squares = a * a + b * b
        for row in range(column + 1, n):
            c, d = A[row, column], B[row, column]
            c, d = (c * a + d * b) / squares, (d * a - c * b) / squares
            A[row, column], B[row, column] = c, d
            for k in range(column + 1, n):
                A[row, k] -= c * A[column, k] - d * B[column, k]
                B[row, k] -= c * B[column, k] + d * A[column, k]
    return True


@kernel
def solve_complex_lu(A, B, exchanged, x, y):
    """Solve ``(A + i B) (x + i y) = x + i y`` in place with the factors."""
    n = A.shape[0]
    for row in range(n):
        other = exchanged[row]
        x[row], x[other] = x[other], x[row]
        y[row], y[other] = y[other], y[row]
    for row in range(n):
        s, t = x[row], y[row]
        for k in range(row):
            s -= A[row, k] * x[k] - B[row, k] * y[k]
            t -= A[row, k] * y[k] + B[row, k] * x[k]
        x[row], y[row] = s, t
    for row in range(n - 1, -1, -1):
        s, t = x[row], y[row]
        for k in range(row + 1, n):
            s -= A[row, k] * x[k] - B[row, k] * y[k]
            t -= A[row, k] * y[k] + B[row, k] * x[k]
        a, b = A[row, row], B[row, row]
        squares = a * a + b * b
        x[row], y[row] = (s * a + t * b) / squares, (t * a - s * b) / squares
