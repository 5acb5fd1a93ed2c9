"""LU factors with row exchanges, real and complex, against NumPy's."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.solvers.lu import factorise_complex_lu, factorise_lu, solve_complex_lu, solve_lu

_NOTHING = (0.0, np.nan, np.inf)


def test_systems_are_solved() -> None:
    """Also where the first pivot is zero, as rows are exchanged; a singular matrix has no factors."""
    for n in (1, 2, 7, 20):
        rng = np.random.default_rng(n)
        A, x = rng.standard_normal((n, n)), rng.standard_normal((3, n))
        A[0, 0] = A[0, 0] if n == 1 else 0.0
        factors, exchanged = A.copy(), np.zeros(n, dtype=np.int64)
        assert factorise_lu(factors, exchanged)
        for right in x:
            found = right.copy()
            solve_lu(factors, exchanged, found)
            np.testing.assert_allclose(found, np.linalg.solve(A, right), rtol=1e-10, atol=1e-10)
    for bad in _NOTHING:
        assert not factorise_lu(np.full((3, 3), bad), np.zeros(3, dtype=np.int64))


def test_complex_systems_are_solved() -> None:
    """Likewise."""
    for n in (1, 2, 7, 20):
        rng = np.random.default_rng(n)
        A, B, x, y = (rng.standard_normal(shape) for shape in ((n, n), (n, n), n, n))
        if n > 1:
            A[0, 0] = B[0, 0] = 0.0
        wanted = np.linalg.solve(A + 1j * B, x + 1j * y)
        exchanged = np.zeros(n, dtype=np.int64)
        assert factorise_complex_lu(A, B, exchanged)
        solve_complex_lu(A, B, exchanged, x, y)
        np.testing.assert_allclose(x + 1j * y, wanted, rtol=1e-10, atol=1e-10)
    for bad in _NOTHING:
        both = np.full((2, 3, 3), bad)
        assert not factorise_complex_lu(*both, np.zeros(3, dtype=np.int64))
