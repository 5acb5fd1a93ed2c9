"""Solvers for mixed complementarity problems: damped semismooth Newton, and a trust-region method as fallback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: Residual function of (n,) arrays, or of the rows of (k, n); must be analytic for complex numbers (no ``abs``, ``max``
#: or ``conj``).
Residual = Callable[[NDArray[Any]], NDArray[Any]]

_MAX_ITERATIONS = 60
_MAX_HALVINGS = 12
_COMPLEX_STEP = 1e-30
_MACHINE = 1e-15


class Solution(NamedTuple):
    """Result of a solver.

    Attributes:
        z: (n,) unknowns.
        residual: Largest absolute residual at ``z``.
        iterations: Number of iterations.
    """

    z: Array
    residual: float
    iterations: int


def fischer_burmeister(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Complementarity function: zero if and only if ``0 <= a``, ``0 <= b`` and ``a b = 0``."""
    return np.sqrt(a * a + b * b) - a - b


def smaller(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Complementarity function with the zeros of ``fischer_burmeister`` and a one-sided derivative at ``a = b = 0``."""
    return np.where(a.real < b.real, a, b)


def semismooth_newton(residual: Residual, guess: Array, tolerance: float) -> Solution:
    """Iterate from ``guess`` until the residual is within ``tolerance``, then once more, down to round-off.

    Steps are minimum-norm least-squares solutions, since multipliers need not be unique, and are halved until the
    residual's norm decreases. Overflow ends the iteration with an infinite residual.
    """
    z = guess.copy()
    value = residual(z)
    for iteration in range(_MAX_ITERATIONS):
        jacobian = _jacobian(residual, z)
        if not (np.isfinite(value).all() and np.isfinite(jacobian).all()):
            return Solution(z, np.inf, iteration)
        # Rows are scaled: with rows of very different size, as for weak friction, the small ones are lost in round-off.
        weight = 1.0 / np.maximum(np.linalg.norm(jacobian, axis=1), 1.0)
        step = np.linalg.lstsq(weight[:, None] * jacobian, -weight * value, rcond=1e-13)[0]
        converged = np.abs(value).max() <= tolerance
        for halvings in range(_MAX_HALVINGS):
            scale = 0.5**halvings
            trial = residual(z + scale * step)
            if np.linalg.norm(trial) < (1.0 - 1e-4 * scale) * np.linalg.norm(value):
                break
        else:
            return Solution(z, float(np.abs(value).max()), iteration)
        z, value = z + scale * step, trial
        if converged:
            break
    return Solution(z, float(np.abs(value).max()), iteration + 1)


def trust_region(residual: Residual, guess: Array, tolerance: float) -> Solution:
    """Minimise the residual's norm; slower, but passes kinks where the Newton step is not a descent direction."""
    if not np.isfinite(residual(guess)).all():
        return Solution(guess, np.inf, 0)
    solution = scipy.optimize.least_squares(
        lambda z: residual(z).real,
        guess,
        jac=lambda z: _jacobian(residual, z),
        ftol=_MACHINE,
        xtol=_MACHINE,
        gtol=_MACHINE,
        max_nfev=500,
    )
    polished = semismooth_newton(residual, solution.x, tolerance)
    return polished._replace(iterations=solution.nfev + polished.iterations)


def _jacobian(residual: Residual, z: Array) -> Array:
    """Jacobian by complex-step differentiation, which is exact to round-off as it has no cancellation."""
    columns = residual(z + 1j * _COMPLEX_STEP * np.eye(len(z))).imag
    return np.ascontiguousarray(columns.T) / _COMPLEX_STEP
