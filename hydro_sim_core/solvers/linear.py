"""Dense Cholesky for the small systems of a step (nv up to about 40)."""

from __future__ import annotations

import math

from hydro_sim_core.jit import kernel


@kernel
def factorise(H, L, n):
    """Cholesky factor of ``H`` into the lower triangle of ``L``, which may be ``H``; False if none exists."""
    for j in range(n):
        pivot = H[j, j]
        for k in range(j):
            pivot -= L[j, k] * L[j, k]
        if not (pivot > 0.0 and pivot < math.inf):
            return False
        pivot = math.sqrt(pivot)
        L[j, j] = pivot
        for i in range(j + 1, n):
            s = H[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            L[i, j] = s / pivot
    return True


@kernel
def solve_lower(L, n, x):
    """Solve ``L x = x`` in place."""
    for i in range(n):
        s = x[i]
        for k in range(i):
            s -= L[i, k] * x[k]
        x[i] = s / L[i, i]


@kernel
def solve_factorised(L, n, x):
    """Solve ``L L^T x = x`` in place."""
    solve_lower(L, n, x)
    for i in range(n - 1, -1, -1):
        s = x[i]
        for k in range(i + 1, n):
            s -= L[k, i] * x[k]
        x[i] = s / L[i, i]
