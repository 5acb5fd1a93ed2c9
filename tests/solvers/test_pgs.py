"""Projected Gauss-Seidel finds what Newton finds, by another way: each is the other's oracle."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hydro_sim_core.solvers import make_solver_scratch, solver_entry
from hydro_sim_core.solvers.joint_terms import joint_impulse
from support.solvers.made_problems import OPTIONS, random_problem

NEWTON = OPTIONS._replace(tolerance=1e-10, lags=False)
SWEEPS = NEWTON._replace(tolerance=1e-11, max_iterations=20_000)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_sweeps_end_at_the_minimum(seed: int) -> None:
    """Velocities agree in the norm of A, and the impulses of faces and joints balance the momentum."""
    problem = random_problem(seed).problem
    num = problem.num_patches[0]
    newton, pgs = make_solver_scratch(problem), make_solver_scratch(problem, numbers_per_face=3)
    for scratch, method, options in (
        (newton, "newton", NEWTON),
        (pgs, "pgs", SWEEPS),
    ):
        scratch.v[:] = problem.v0
        assert solver_entry(method, "sap")(problem, options, scratch)
    scale = max(problem.v0 @ problem.A @ problem.v0, newton.v @ problem.A @ newton.v)
    apart = newton.v - pgs.v
    assert np.sqrt(apart @ problem.A @ apart / scale) <= 1e-7
    impulse = np.array([joint_impulse(problem, i, v)[0] for i, v in enumerate(pgs.v)])
    for p in range(num):
        impulse += problem.jacobian[p].T @ pgs.patch_impulse[p]
    left = problem.A @ pgs.v - problem.momentum - impulse
    weight = 1.0 / np.diag(problem.A)
    # Joints answer to a velocity that is off by what a sweep still moves, some of them stiffly.
    assert np.sqrt(weight @ left**2) <= 1e-8 * np.sqrt(weight @ (problem.A @ problem.v0) ** 2 + scale)


def test_sweeps_that_run_out_are_told_of() -> None:
    problem = random_problem(9).problem
    scratch = make_solver_scratch(problem, numbers_per_face=3)
    scratch.v[:] = problem.v0
    assert not solver_entry("pgs", "sap")(problem, SWEEPS._replace(max_iterations=20), scratch)
    assert scratch.report[0] == 20
    assert scratch.report[1] > SWEEPS.tolerance
