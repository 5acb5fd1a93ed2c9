"""Impulses between bounds against their conditions."""

from __future__ import annotations

import numpy as np
import pytest

from hydro_sim_core.compilation import entry
from hydro_sim_core.solvers.bounded import BoundedImpulses, make_bounded_impulses, solve_bounded


@entry
def solve(bounded: BoundedImpulses) -> None:
    """Solve the problem."""
    solve_bounded(bounded)


@pytest.mark.parametrize("spread", [0.0, 3.0])
@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_impulses_hold_or_are_at_their_bounds(size: int, spread: float) -> None:
    """Stops push one way, friction is bounded both ways; a velocity that is not held is on the right side."""
    rng = np.random.default_rng(size)
    for _ in range(30):
        bounded = make_bounded_impulses(size)
        J = rng.standard_normal((size, size + 1)) * 10.0 ** (spread * rng.uniform(-0.5, 0.5, (size, 1)))
        bounded.W[:] = J @ J.T
        scale = np.sqrt(np.diag(bounded.W))
        bounded.excess[:] = scale * rng.standard_normal(size)
        kind = rng.integers(5, size=size)
        bounded.least[:] = np.choose(kind, [0.0, -np.inf, -0.3, 0.2, -np.inf]) / scale
        bounded.most[:] = np.choose(kind, [np.inf, 0.0, 0.3, 0.2, 0.1]) / scale
        solve(bounded)
        impulse, rest = bounded.impulse * scale, (bounded.excess - bounded.W @ bounded.impulse) / scale
        least, most = bounded.least * scale, bounded.most * scale
        assert np.all((impulse >= least) & (impulse <= most))
        above = (impulse < most - 1e-9) & (rest > 1e-8)
        below = (impulse > least + 1e-9) & (rest < -1e-8)
        assert not above.any()
        assert not below.any()
