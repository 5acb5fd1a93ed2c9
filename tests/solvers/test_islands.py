"""Islands: the components of the graph of contacts, an order with a narrow envelope, and the same solution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import solve_triangular
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hydro_sim_core.solvers import (
    find_islands,
    make_problem,
    make_solver_scratch,
    solver_entry,
)
from hydro_sim_core.solvers.linear import factorise, solve_factorised, solve_general
from hydro_sim_core.solvers.problem import LANES, NUM_FACE_ROWS
from support.solvers.made_islands import WORLD, Case, as_one_tree, fill, random_case
from support.solvers.made_problems import DT, OPTIONS, forest_of

SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS)
@settings(max_examples=200, deadline=None)
def test_islands_are_the_components_of_the_contact_graph(seed: int) -> None:
    """Against SciPy's; every velocity and every patch is in exactly one island, trees in one piece."""
    case = random_case(seed)
    forest, islands = case.forest, case.problem.islands
    num_trees, nv = len(forest.first) - 1, int(forest.first[-1])
    links = case.trees[(case.trees >= 0).all(axis=1)] if len(case.trees) else np.zeros((0, 2), dtype=int)
    graph = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(num_trees, num_trees))
    count, label = connected_components(graph, directed=False)
    assert islands.num[0] == count
    assert sorted(islands.order) == list(range(nv))
    for i in range(count):
        begin, end = islands.first[i], islands.first[i + 1]
        members = {int(t) for t in range(num_trees) if begin <= islands.position[t] < end}
        assert len({int(label[t]) for t in members}) == 1
        patches = islands.patches[islands.first_patch[i] : islands.first_patch[i + 1]]
        assert all(int(case.trees[p].max()) in members for p in patches)
    assert islands.first[count] == nv
    assert sorted(islands.patches[: len(case.trees)]) == list(range(len(case.trees)))
    for tree in range(num_trees):
        begin = islands.position[tree]
        end = begin + forest.first[tree + 1] - forest.first[tree]
        own = forest.velocities[forest.first[tree] : forest.first[tree + 1]]
        assert list(islands.order[begin:end]) == list(own)
        assert set(islands.tree_begin[begin:end]) == {begin}
        assert set(islands.tree_end[begin:end]) == {end}


@given(seed=SEEDS)
@settings(max_examples=100, deadline=None)
def test_columns_and_envelope_hold_everything_that_patches_couple(seed: int) -> None:
    """A patch's columns are its trees' positions, and no coupling lies before a row's envelope."""
    case = random_case(seed)
    islands = case.problem.islands
    for p, pair in enumerate(case.trees):
        columns = {int(k) for side in islands.columns[p] for k in range(side[0], side[1])}
        moving = {int(t) for t in pair if t >= 0}
        expected = {
            int(islands.position[t]) + k
            for t in moving
            for k in range(case.forest.first[t + 1] - case.forest.first[t])
        }
        assert columns == expected
        assert all(islands.envelope[max(i, j)] <= min(i, j) for i in columns for j in columns)


def test_a_chain_of_bodies_has_a_narrow_envelope() -> None:
    """Fifty free bodies in a row, each touching the next, listed at random: no row reaches past its neighbour."""
    rng = np.random.default_rng(0)
    bodies = rng.permutation(50)
    first = 6 * np.arange(51)
    forest = forest_of(first, np.arange(300))
    problem = make_problem(50, 300, 49, 16)
    problem.islands.patch_trees[:] = np.column_stack((bodies[:-1], bodies[1:]))
    find_islands(forest, 49, problem.islands)
    assert problem.islands.num[0] == 1
    assert np.max(np.arange(300) - problem.islands.envelope) < 12


@pytest.mark.parametrize("law", ["lagged", "similar", "sap"])
@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_islands_solved_apart_give_the_solution_of_the_whole(law: str, seed: int) -> None:
    case = random_case(seed)
    problem = fill(case, np.random.default_rng(seed))
    options = OPTIONS._replace(tolerance=1e-10, lags=law == "lagged")
    solutions = []
    for one in (problem, as_one_tree(problem)):
        scratch = make_solver_scratch(one)
        scratch.v[:] = one.v0
        assert solver_entry("newton", law)(one, options, scratch)
        solutions.append(scratch.v)
    np.testing.assert_allclose(*solutions, rtol=0.0, atol=1e-8 * (1.0 + np.abs(problem.v0).max()))


def test_what_happens_on_one_island_does_not_reach_another() -> None:
    """Bit by bit: the second body does not notice how hard the first is hit."""
    results = []
    for speed in (-0.1, -30.0):
        rng = np.random.default_rng(5)
        forest = forest_of(np.array([0, 6, 12]), np.arange(12))
        case = Case(forest, np.array([[WORLD, 0], [WORLD, 1]]), make_problem(2, 12, 10, 16 * 40))
        case.problem.num_patches[0] = 2
        case.problem.islands.patch_trees[:2] = case.trees
        find_islands(forest, 2, case.problem.islands)
        problem = fill(case, rng)
        problem.push[:6] += problem.A[:6, :6] @ (np.ones(6) * speed)
        problem.momentum[:6] += problem.A[:6, :6] @ (np.ones(6) * speed)
        scratch = make_solver_scratch(problem)
        scratch.v[:] = problem.v0
        assert solver_entry("newton", "lagged")(problem, OPTIONS, scratch)
        results.append(scratch.v.copy())
    assert not np.array_equal(results[0][:6], results[1][:6])
    assert np.array_equal(results[0][6:], results[1][6:])


@given(seed=SEEDS, n=st.integers(1, 30))
@settings(max_examples=40, deadline=None)
def test_cholesky_within_an_envelope_fills_nothing_else(seed: int, n: int) -> None:
    """Solution as NumPy's; whatever lies before the envelope is neither read nor written."""
    rng = np.random.default_rng(seed)
    envelope = np.array([int(rng.integers(0, i + 1)) for i in range(n)])
    L = np.tril(rng.normal(size=(n, n)))
    for i in range(n):
        L[i, : envelope[i]] = 0.0
        L[i, i] = 1.0 + abs(L[i, i])
    H, b = L @ L.T, rng.normal(size=n)
    outside = np.arange(n)[None, :] < envelope[:, None]
    factor, x = np.where(outside, np.nan, H), b.copy()
    assert factorise(factor, factor, 0, n, envelope)
    solve_factorised(factor, 0, n, envelope, x)
    assert np.isnan(factor[outside]).all()
    np.testing.assert_allclose(np.where(outside, 0.0, np.tril(factor)), L, rtol=1e-7, atol=1e-9)
    reference = solve_triangular(L.T, solve_triangular(L, b, lower=True))
    np.testing.assert_allclose(x, reference, rtol=1e-7, atol=1e-9 * np.abs(reference).max())


@given(seed=SEEDS, n=st.integers(1, 25))
@settings(max_examples=40, deadline=None)
def test_elimination_solves_as_numpy_does(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    x = b.copy()
    assert solve_general(A.copy(), 0, n, x)
    np.testing.assert_allclose(A @ x, b, rtol=0.0, atol=1e-11 * np.abs(A).max() * (np.abs(x).max() + 1.0) * n)


@pytest.mark.parametrize(
    "matrix", [np.zeros((2, 2)), np.array([[1.0, 2.0], [0.5, 1.0]]), np.full((2, 2), np.nan)]
)
def test_elimination_refuses_what_has_no_solution(matrix: np.ndarray) -> None:
    assert not solve_general(matrix.copy(), 0, 2, np.ones(2))


@given(seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_tamsi_bounds_friction_by_the_normal_impulse_of_its_solution(seed: int) -> None:
    """Face by face in NumPy: impulses of the solution, friction from its own normal impulses, balance momentum."""
    rng = np.random.default_rng(seed)
    case = random_case(seed)
    problem = fill(case, rng)
    problem.friction[:] = 0.3
    scratch = make_solver_scratch(problem)
    scratch.v[:] = problem.v0
    assert solver_entry("tamsi", "coulomb")(problem, OPTIONS, scratch)
    v, impulse = scratch.v, np.zeros_like(scratch.v)
    blocks = problem.blocks.reshape(-1, NUM_FACE_ROWS, LANES)
    for p in range(len(case.trees)):
        J = np.zeros((6, len(v)))
        for begin, end in problem.islands.columns[p]:
            J[:, begin:end] = problem.jacobian[p, :, begin:end]
        V = J @ v
        for block in blocks[problem.first_block[p] : problem.end_block[p]]:
            for x, n, elastic, k_dt in zip(block[:3].T, block[3:6].T, block[6], block[7], strict=True):
                u = V[3:] + np.cross(V[:3], x)
                u_n = n @ u
                u_t = u - u_n * n
                gamma = DT * max(elastic - k_dt * u_n, 0.0)
                f = gamma * n - 0.3 * gamma * u_t / np.sqrt(u_t @ u_t + 1e-8)
                impulse += J.T @ np.concatenate((np.cross(x, f), f))
    residual = problem.A @ v - problem.momentum - impulse
    scale = np.linalg.norm(problem.momentum) + np.linalg.norm(impulse)
    assert np.linalg.norm(residual) <= 1e-7 * scale
