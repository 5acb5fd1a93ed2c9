"""Large islands: what fills up, its Cholesky factor, and the same solution as without all that."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from hydro_sim_core.solvers import islands as islands_module
from hydro_sim_core.solvers import make_solver_scratch, solver_entry
from hydro_sim_core.solvers.elimination import LARGE, factorise_runs, is_large, solve_runs
from hydro_sim_core.solvers.islands import Islands
from hydro_sim_core.solvers.linear import factorise
from support.solvers.made_islands import Case, as_one_tree, case_of, fill, random_case
from support.solvers.made_problems import OPTIONS, forest_of

SEEDS = st.integers(0, 2**32 - 1)
#: Numbers of trees and patches, so that most islands are large.
MANY = (12, 31), (15, 61)


def runs_of(islands: Islands, row: int) -> list[tuple[int, int]]:
    tree = islands.tree_begin[row]
    return [(int(b), int(e)) for b, e in islands.runs[islands.first_run[tree] : islands.last_run[tree]]]


def in_runs(islands: Islands) -> np.ndarray:
    """(nv, nv) whether an entry above the diagonal, or on it, is in the runs of its row."""
    nv = len(islands.order)
    marked = np.zeros((nv, nv), dtype=bool)
    for row in range(nv):
        for begin, end in runs_of(islands, row):
            marked[row, max(row, begin) : end] = True
    return marked


def large_islands(islands: Islands) -> list[tuple[int, int]]:
    """Begin and end of each."""
    return [
        (int(islands.first[i]), int(islands.first[i + 1]))
        for i in range(islands.num[0])
        if is_large(islands, i)
    ]


def touches(case: Case) -> np.ndarray:
    """(nv, nv) whether two velocities are of one tree, or of two that touch."""
    islands, nv = case.problem.islands, len(case.problem.v0)
    coupled = np.equal.outer(islands.tree_begin, islands.tree_begin)
    for columns in islands.columns[: len(case.trees)]:
        (a, b), (c, d) = columns
        coupled[a:b, c:d] = coupled[c:d, a:b] = True
    assert coupled.shape == (nv, nv)
    return coupled


@given(seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_runs_are_what_fills_up_and_nothing_else(seed: int) -> None:
    """As velocities are eliminated one after another, all that one touches is coupled."""
    case = random_case(seed, *MANY)
    islands, filled = case.problem.islands, touches(case)
    for k in range(len(filled)):
        later = np.flatnonzero(filled[k, k + 1 :]) + k + 1
        filled[np.ix_(later, later)] = True
    marked = in_runs(islands) if len(large_islands(islands)) else np.zeros_like(filled)
    for begin, end in large_islands(islands):
        part = slice(begin, end)
        np.testing.assert_array_equal(marked[part, part], np.triu(filled[part, part]))
        for row in range(begin, end):
            runs = runs_of(islands, row)
            assert runs[0][0] == islands.tree_begin[row]
            assert all(a < b for a, b in runs)
            assert all(end < begin for (_, end), (begin, _) in pairwise(runs))


@given(seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_the_factor_has_the_bits_of_the_plain_one_and_solves(seed: int) -> None:
    """Nothing outside the runs is read or written."""
    case, rng = random_case(seed, *MANY), np.random.default_rng(seed)
    islands, coupled = case.problem.islands, touches(case)
    nv = len(coupled)
    H = np.where(coupled, rng.normal(size=(nv, nv)), 0.0)
    H = H + H.T + np.diag(np.abs(H).sum(axis=1) * 3.0)
    for begin, end in large_islands(islands):
        U, outside = H.copy(), ~in_runs(islands)
        U[outside] = np.nan
        assert factorise_runs(U, islands, begin, end)
        assert np.isnan(U[outside]).all()
        L = np.zeros_like(H)
        assert factorise(H, L, begin, end, np.full(nv, begin))
        part = slice(begin, end)
        np.testing.assert_array_equal(np.where(outside, 0.0, U)[part, part], L.T[part, part])
        b = rng.normal(size=nv)
        x = b.copy()
        solve_runs(U, islands, begin, end, x)
        np.testing.assert_allclose(H[part, part] @ x[part], b[part], rtol=0.0, atol=1e-12 * np.abs(b).max())
        np.testing.assert_array_equal(
            np.delete(x, np.arange(begin, end)), np.delete(b, np.arange(begin, end))
        )


@pytest.mark.parametrize("pivot", [0.0, -1.0, np.nan, np.inf])
def test_a_matrix_without_a_factor_is_refused(pivot: float) -> None:
    """Whichever of the rows of a panel it is, or of those that lack some."""
    case = chain(9)
    for row in range(54):
        H = np.eye(54)
        assert factorise_runs(H, case.problem.islands, 0, 54)
        H[row, row] = pivot
        assert not factorise_runs(H, case.problem.islands, 0, 54)


def chain(n: int) -> Case:
    """Free bodies, each of which touches the next."""
    return case_of(bodies(n), np.column_stack((np.arange(n - 1), np.arange(1, n))))


def bodies(n: int):
    return forest_of(6 * np.arange(n + 1), np.arange(6 * n))


def test_a_body_that_all_touch_comes_last() -> None:
    """Nothing fills up then; were it first, everything would."""
    spokes = np.column_stack((np.zeros(19, dtype=int), np.arange(1, 20)))
    islands = case_of(bodies(20), spokes).problem.islands
    # With the last but one it makes no difference.
    assert islands.position[0] >= 6 * 18
    assert in_runs(islands).sum() == 20 * 21 + 19 * 36


def test_a_heap_fills_up_less_than_the_envelope_of_any_narrow_order() -> None:
    """A block of 5 x 5 x 5 bodies that touch their neighbours."""
    n = 5
    index = np.arange(n**3).reshape(n, n, n)
    pairs = [
        np.column_stack((index[:-1].ravel(), index[1:].ravel())),
        np.column_stack((index[:, :-1].ravel(), index[:, 1:].ravel())),
        np.column_stack((index[:, :, :-1].ravel(), index[:, :, 1:].ravel())),
    ]
    trees = np.concatenate(pairs)
    islands = case_of(bodies(n**3), trees).problem.islands
    graph = coo_array((np.ones(len(trees)), (trees[:, 0], trees[:, 1])), shape=(n**3, n**3)).tocsr()
    graph = graph + graph.T
    order = reverse_cuthill_mckee(graph, symmetric_mode=True)
    dense = graph.toarray()[np.ix_(order, order)] != 0.0
    envelope = sum(
        i - np.flatnonzero(row[: i + 1])[0] for i, row in enumerate(dense | np.eye(n**3, dtype=bool))
    )
    blocks = in_runs(islands)[::6, ::6].sum() - n**3
    assert blocks < 0.7 * envelope


@pytest.mark.parametrize(
    ("method", "law"), [("newton", "lagged"), ("newton", "similar"), ("tamsi", "coulomb")]
)
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_large_islands_have_the_solution_of_one_tree(method: str, law: str, seed: int) -> None:
    """Which is factorised as a whole, or not as a large island at all."""
    case = random_case(seed, *MANY)
    problem = fill(case, np.random.default_rng(seed))
    options = OPTIONS._replace(tolerance=1e-10, lags=law == "lagged")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(islands_module, "LARGE", 10_000)
        plain = as_one_tree(problem)
    assert not is_large(plain.islands, 0)
    whole = as_one_tree(problem)
    assert is_large(whole.islands, 0) == (len(problem.v0) >= LARGE)
    solutions = []
    for one in (problem, whole, plain):
        scratch = make_solver_scratch(one)
        scratch.v[:] = one.v0
        assert solver_entry(method, law)(one, options, scratch)
        solutions.append(scratch.v)
    atol = 1e-8 * (1.0 + np.abs(problem.v0).max())
    np.testing.assert_allclose(solutions[0], solutions[1], rtol=0.0, atol=atol)
    np.testing.assert_allclose(solutions[0], solutions[2], rtol=0.0, atol=atol)
