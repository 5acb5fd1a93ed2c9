"""The solver on random problems: residual, uniqueness, descent, honesty, and the dense algebra below it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hydro_sim_core.solvers import SolverOptions, make_problem, make_solver_scratch, solver_entry
from hydro_sim_core.solvers.joint_terms import joint_impulse
from hydro_sim_core.solvers.linear import factorise, solve_factorised
from hydro_sim_core.solvers.newton import MAX_SOLVES, SETTLED_CHANGE
from hydro_sim_core.solvers.options import FRICTION_CHANGE, ITERATIONS, SOLVES
from hydro_sim_core.solvers.solve import forget_solutions
from support.solvers.made_problems import (
    DT,
    OPTIONS,
    Faces,
    MadeProblem,
    couple_all,
    joint_impulses,
    lagged_patches,
    load_faces,
    patch_cost,
    random_problem,
    residual,
    set_inverse_mass,
)

SEEDS = st.integers(0, 2**32 - 1)


def solution(
    made: MadeProblem, start: np.ndarray, options: SolverOptions = OPTIONS
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Velocities, report and verdict of one solve."""
    scratch = make_solver_scratch(made.problem)
    scratch.v[:] = start
    converged = solver_entry("newton", "lagged")(made.problem, options, scratch)
    return scratch.v, scratch.report, converged


def energy_norm(made: MadeProblem, x: np.ndarray) -> float:
    """Norm of a velocity in A."""
    return float(np.sqrt(x @ made.problem.A @ x))


@given(seed=SEEDS)
@settings(max_examples=150, deadline=None)
def test_momentum_balances(seed: int) -> None:
    """The residual, worked out face by face apart from the solver, is at most 1e-8 of the momenta."""
    made = random_problem(seed)
    v, report, converged = solution(made, made.problem.v0)
    assert converged
    _, relative = residual(made, v)
    assert relative <= 1.001e-8
    assert report[1] == pytest.approx(relative, abs=1e-12)
    assert report[2] == 1.0
    assert report[3] == 1.0


@given(seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_minimiser_does_not_depend_on_the_start(seed: int) -> None:
    """The cost is at least as convex as |v|_A^2 / 2, so two solutions are no further apart than their residuals."""
    made = random_problem(seed)
    rng = np.random.default_rng(seed)
    starts = (made.problem.v0, 10.0 * rng.normal(size=len(made.problem.v0)))
    (v1, _, ok1), (v2, _, ok2) = (solution(made, start) for start in starts)
    assert ok1
    assert ok2
    gap = residual(made, v1)[0] - residual(made, v2)[0]
    bound = np.sqrt(gap @ np.linalg.solve(made.problem.A, gap))
    assert energy_norm(made, v1 - v2) <= bound * (1.0 + 1e-6) + 1e-13 * energy_norm(made, v1)


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_every_iteration_lowers_the_cost(seed: int) -> None:
    """The cost in the work of its own impulses: from iterate to iterate the line integral of the slope is negative."""
    made = random_problem(seed)
    start = np.random.default_rng(seed).normal(size=len(made.problem.v0))
    iterates = [start]
    for allowed in range(1, 8):
        v, _, converged = solution(made, start, OPTIONS._replace(max_iterations=allowed))
        iterates.append(v)
        if converged:
            break
    costs = [_cost(made, v) for v in iterates]
    scale = max(abs(cost) for cost in costs)
    assert all(after <= before + 1e-10 * scale for before, after in itertools.pairwise(costs))


def _cost(made: MadeProblem, v: np.ndarray) -> float:
    """Cost of the whole problem; the joints' part by quadrature from zero velocity."""
    problem = made.problem
    cost = 0.5 * v @ problem.A @ v - problem.momentum @ v
    for p, faces in enumerate(lagged_patches(made)):
        cost += patch_cost(faces, problem.jacobian[p] @ v, problem.dissipation[p])
    return float(cost - sum(_joint_work(made, i, end) for i, end in enumerate(v)))


def _joint_work(made: MadeProblem, i: int, end: float) -> float:
    """Integral of a joint's impulse from zero velocity, by Gauss's rule on every piece between two kinks.

    Friction has none, but bends at the stiction speed, and less and less beyond: there pieces grow threefold.
    """
    bends = made.problem.joint_slip[0] * 3.0 ** np.arange(-1, 14)
    kinks = np.array([0.0, end, *_corners(made, i), *bends, *-bends])
    kinks = np.unique(np.clip(kinks, min(0.0, end), max(0.0, end)))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    middles, halves = 0.5 * (kinks[1:] + kinks[:-1]), 0.5 * np.diff(kinks)
    v = np.zeros((len(halves), len(nodes), len(made.problem.v0)))
    v[..., i] = middles[:, None] + halves[:, None] * nodes
    work = halves @ (joint_impulses(made.problem, v)[..., i] @ weights)
    return float(np.copysign(1.0, end) * work)


def _corners(made: MadeProblem, i: int) -> list[float]:
    """Velocities at which a joint's impulse has a kink."""
    p, nv = made.problem, len(made.problem.v0)
    corners = [p.limits[i, 1], -p.limits[i + nv, 1], p.speed_limit[i], -p.speed_limit[i], 1e-3, -1e-3]
    bias, gain, limit, steep = p.drive_bias[i], p.drive_gain[i], p.drive_limit[i], p.speed_gain[i]
    if gain > 0.0:
        corners += [(bias - effort) / gain for effort in (-limit, 0.0, limit)]
    for side in (-1.0, 1.0):
        speed = side * p.speed_limit[i]
        # Where a push beyond the speed limit stops falling: at its end, and where it was saturated before.
        corners += [speed + side * limit / steep, (bias + steep * speed) / (gain + steep)]
    return [float(c) for c in corners if np.isfinite(c)]


def _joint_impulse(made: MadeProblem, i: int, v: float) -> float:
    full = np.zeros(len(made.problem.v0))
    full[i] = v
    return float(joint_impulses(made.problem, full)[i])


@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_joint_terms_are_monotone_and_their_fall_is_their_derivative(seed: int) -> None:
    """End stops, saturating drives and friction equal their formulas and resist ever more as velocity grows."""
    made = random_problem(seed)
    problem = made.problem
    rng = np.random.default_rng(seed)
    step = 1e-7
    for i in range(len(problem.v0)):
        for v in rng.normal(size=4) * 10.0 ** rng.uniform(-3.0, 1.0, 4):
            impulse, fall = joint_impulse(problem, i, v)
            assert impulse == pytest.approx(_joint_impulse(made, i, v), rel=1e-12, abs=1e-15)
            assert fall >= 0.0
            if min(abs(v - c) for c in _corners(made, i)) < 10.0 * step:
                continue
            low, high = (joint_impulse(problem, i, v + s * step)[0] for s in (-1, 1))
            noise = 1e-15 * (abs(low) + DT * abs(problem.drive_bias[i]) + problem.A[i, i]) / step
            assert (low - high) / (2.0 * step) == pytest.approx(fall, rel=1e-4, abs=10.0 * noise)


@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_too_few_iterations_are_reported(seed: int) -> None:
    """A solve is called converged if and only if its residual is within the tolerance."""
    made = random_problem(seed)
    v, report, converged = solution(made, made.problem.v0 + 1.0, OPTIONS._replace(max_iterations=1))
    _, relative = residual(made, v)
    assert report[1] == pytest.approx(relative, rel=1e-6, abs=1e-12)
    assert converged == bool(report[2]) == (report[1] <= OPTIONS.tolerance)
    assert report[0] <= 1.0


def test_one_iteration_is_not_enough_for_an_impact() -> None:
    """The report says so, and more iterations converge."""
    verdicts = []
    for seed in range(20):
        made = random_problem(seed)
        starved = solution(made, made.problem.v0, OPTIONS._replace(max_iterations=1))[2]
        verdicts.append((starved, solution(made, made.problem.v0)[2]))
    assert all(enough for _, enough in verdicts)
    assert not all(starved for starved, _ in verdicts)


def test_relagging_brings_friction_back_to_coulombs_bound() -> None:
    """A body that slides into the ground at an angle: bounds from before the impact overstate friction."""
    made = _sliding_impact()
    ratios = []
    for relag in (False, True):
        scratch = make_solver_scratch(made.problem)
        scratch.v[:] = made.problem.v0
        assert solver_entry("newton", "lagged")(made.problem, OPTIONS._replace(relag=relag), scratch)
        force = scratch.patch_impulse[0, 3:]
        ratios.append(np.hypot(force[0], force[1]) / force[2])
    mu = made.problem.friction[0]
    assert ratios[0] > 1.3 * mu
    assert ratios[1] == pytest.approx(mu, rel=0.05)


def test_bounds_have_settled_after_impacts() -> None:
    """No patch's bounds are off by more than the share that is allowed, or all solves were spent on them."""
    for seed in range(200):
        made = random_problem(seed)
        _, report, converged = solution(made, made.problem.v0, OPTIONS._replace(relag=True))
        assert converged
        assert report[FRICTION_CHANGE] <= SETTLED_CHANGE or report[SOLVES] >= MAX_SOLVES


def test_what_is_solved_again_stays_as_it_is() -> None:
    """A step's second solve, for Coriolis forces, begins where the first ended; one that is to forget it does not."""
    options, solve = OPTIONS._replace(relag=True), solver_entry("newton", "lagged")
    for seed in range(60):
        made = random_problem(seed)
        scratch = make_solver_scratch(made.problem)
        scratch.v[:] = made.problem.v0
        assert solve(made.problem, options, scratch)
        first, iterations = scratch.v.copy(), scratch.report[ITERATIONS]
        assert solve(made.problem, options, scratch)
        assert scratch.v == pytest.approx(first, rel=1e-9, abs=1e-12)
        forget_solutions(made.problem, scratch)
        scratch.v[:] = made.problem.v0
        assert solve(made.problem, options, scratch)
        assert np.array_equal(scratch.v, first)
        assert scratch.report[ITERATIONS] == iterations


def _sliding_impact() -> MadeProblem:
    """A point mass of 1 kg, 1 mm deep in a stiff plane, moving down at 1 m/s and sideways at 5 m/s."""
    problem = make_problem(1, 3, 1, 16)
    k = 1e6
    up = np.array([[0.0, 0.0, 1.0]])
    one = np.ones(1)
    faces = Faces(np.zeros((1, 3)), up, k * 1e-4 * one, DT * k * one, 0.0 * one, one)
    load_faces(problem, [faces])
    couple_all(problem)
    problem.A[:] = np.eye(3)
    problem.v0[:] = [5.0, 0.0, -1.0]
    problem.momentum[:] = problem.v0
    problem.jacobian[0, 3:] = np.eye(3)
    problem.friction[0] = 0.5
    set_inverse_mass(problem, 0, 1.0 / np.sqrt(3.0))
    problem.limits[:, 1] = -np.inf
    problem.speed_limit[:] = np.inf
    return MadeProblem(problem, [faces])


@given(seed=SEEDS, n=st.integers(1, 30))
@settings(max_examples=40, deadline=None)
def test_cholesky_solves_as_numpy_does(seed: int, n: int) -> None:
    """Factor and solution against LAPACK's."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    H, b = root @ root.T + 0.1 * np.eye(n), rng.normal(size=n)
    L, x = np.zeros((n, n)), b.copy()
    envelope = np.zeros(n, dtype=np.int64)
    assert factorise(H, L, 0, n, envelope)
    solve_factorised(L, 0, n, envelope, x)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(H), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(x, np.linalg.solve(H, b), rtol=1e-8, atol=1e-10 * np.abs(x).max())


@pytest.mark.parametrize("pivots", [(1.0, -1.0), (1.0, 0.0), (np.nan, 1.0), (1.0, np.inf)])
def test_cholesky_refuses_what_is_not_positive(pivots: tuple[float, float]) -> None:
    """A factor of NaN would poison the state."""
    assert not factorise(np.diag(pivots), np.zeros((2, 2)), 0, 2, np.zeros(2, dtype=np.int64))
