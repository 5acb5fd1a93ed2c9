# mypy: allow-untyped-defs
"""Elimination of large islands: the order of their trees, what fills up, and the Cholesky factor of their Hessian.

What a tree touches when it is eliminated is coupled from then on. In a heap the envelope of any order fills up, and
grows with the size of the heap; taking next whichever tree touches the fewest velocities (minimum degree, Tinney and
Walker 1967) leaves most entries zero. Of a heap of a hundred boxes a row of the factor has 30 entries in place of 72,
and takes a quarter of the multiplications; of three thousand a fiftieth.

Entries of a row lie in *runs*, ranges of columns. The matrix is in the upper triangle, where those of a row are side by
side, and so are those of the rows that they change.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel

#: Velocities of an island from which it is large.
LARGE = 48
#: Rows that are eliminated at once: those of a free body.
PANEL = 6


@kernel(inline=True)
def is_large(islands, island):
    """Whether an island is ordered by ``order_by_degree`` and factorised by ``factorise_runs``.

    Reads islands: first.
    """
    return islands.couples.shape[0] > 0 and islands.first[island + 1] - islands.first[island] >= LARGE


@kernel
def order_by_degree(forest, islands, count):
    """Bring the ``count`` trees in ``queue``, one component, into the order in which they are to be eliminated.

    ``couples`` tells afterwards which later trees each one touches when it is eliminated.

    Reads forest: first; islands: couples, degree, near, queue.
    Writes islands: couples, degree, near, queue.
    """
    _find_degrees(forest, islands, count)
    queue, couples, degree, near = islands.queue, islands.couples, islands.degree, islands.near
    for n in range(count):
        best = n
        for m in range(n + 1, count):
            # Of several with as few it is the first in the queue.
            if degree[queue[m]] < degree[queue[best]]:
                best = m
        tree = queue[best]
        for m in range(best, n, -1):
            queue[m] = queue[m - 1]
        queue[n] = tree
        num = 0
        for m in range(n + 1, count):
            if couples[tree, queue[m]]:
                near[num] = queue[m]
                num += 1
        for i in range(num):
            one = near[i]
            degree[one] -= forest.first[tree + 1] - forest.first[tree]
            for j in range(i + 1, num):
                other = near[j]
                if not couples[one, other]:
                    couples[one, other] = couples[other, one] = True
                    degree[one] += forest.first[other + 1] - forest.first[other]
                    degree[other] += forest.first[one + 1] - forest.first[one]


@kernel
def _find_degrees(forest, islands, count):
    """Set which of the trees in ``queue`` touch, and how many velocities each one touches.

    Reads forest: first; islands: couples, degree, neighbour_first, neighbours, queue.
    Writes islands: couples, degree.
    """
    queue, couples, degree = islands.queue, islands.couples, islands.degree
    for n in range(count):
        for m in range(count):
            couples[queue[n], queue[m]] = False
    for n in range(count):
        tree = queue[n]
        degree[tree] = 0
        for k in range(islands.neighbour_first[tree], islands.neighbour_first[tree + 1]):
            other = islands.neighbours[k]
            if not couples[tree, other]:
                couples[tree, other] = True
                degree[tree] += forest.first[other + 1] - forest.first[other]


@kernel
def find_runs(islands, count, total):
    """Set the runs of the rows of the trees in ``queue``, which have their places; return the number of all runs.

    A tree's first run begins with its own columns.

    Args:
        islands: ``Islands``.
        count: Number of trees.
        total: Number of runs of other islands.

    Reads islands: couples, position, queue, tree_end.
    Writes islands: first_run, last_run, runs.
    """
    queue, runs, position = islands.queue, islands.runs, islands.position
    for n in range(count):
        tree = queue[n]
        begin = position[tree]
        end = islands.tree_end[begin]
        islands.first_run[begin] = total
        for m in range(n + 1, count):
            other = position[queue[m]]
            if not islands.couples[tree, queue[m]]:
                continue
            if other > end:
                runs[total, 0], runs[total, 1] = begin, end
                begin, total = other, total + 1
            end = islands.tree_end[other]
        runs[total, 0], runs[total, 1] = begin, end
        total += 1
        islands.last_run[position[tree]] = total
    return total


@kernel
def factorise_runs(U, islands, begin, end):
    """Cholesky factor ``U`` of ``U^T U``, in place, of an island with the rows from ``begin`` to ``end`` - 1.

    Each entry sees the operations of ``linear.factorise`` in their order, and has its bits.

    Args:
        U: Symmetric positive definite; its upper triangle is read in the runs of each row, and becomes the factor.
        islands: ``Islands``.
        begin: First row.
        end: One past the last row.

    Returns:
        Whether a factor exists.

    Reads islands: first_run, last_run, runs, tree_end.
    """
    i = begin
    while i < end:
        first, last, after = islands.first_run[i], islands.last_run[i], islands.tree_end[i]
        while i < after:
            stop = min(i + PANEL, after)
            if not _complete_rows(U, i, stop, islands.runs, first, last):
                return False
            if stop - i == PANEL:
                _subtract_panel(U, i, islands.runs, first, last)
            else:
                for row in range(i, stop):
                    _subtract_row(U, row, stop, islands.runs, first, last)
            i = stop
    return True


@kernel
def _complete_rows(U, i, stop, runs, first, last):
    """Compute the rows of a panel, from which all earlier rows have been subtracted; False if there is no factor."""
    for row in range(i, stop):
        u = U[row]
        if not (u[row] > 0.0 and u[row] < math.inf):
            return False
        pivot = math.sqrt(u[row])
        u[row] = pivot
        for n in range(first, last):
            for k in range(max(runs[n, 0], row + 1), runs[n, 1]):
                u[k] /= pivot
        for later in range(row + 1, stop):
            x, c = U[later], u[later]
            for n in range(first, last):
                for k in range(max(runs[n, 0], later), runs[n, 1]):
                    x[k] -= c * u[k]
    return True


@kernel
def _subtract_row(U, row, stop, runs, first, last):
    """Subtract a row of a panel that ends with row ``stop`` - 1 from all later rows that it couples."""
    u = U[row]
    for n in range(first, last):
        for j in range(max(runs[n, 0], stop), runs[n, 1]):
            x, c = U[j], u[j]
            for m in range(n, last):
                for k in range(max(runs[m, 0], j), runs[m, 1]):
                    x[k] -= c * u[k]


@kernel
def _subtract_panel(U, i, runs, first, last):
    """Subtract the six rows of a panel from all later rows that they couple."""
    u0, u1, u2, u3, u4, u5 = U[i], U[i + 1], U[i + 2], U[i + 3], U[i + 4], U[i + 5]
    for n in range(first, last):
        for j in range(max(runs[n, 0], i + PANEL), runs[n, 1]):
            x = U[j]
            c0, c1, c2, c3, c4, c5 = u0[j], u1[j], u2[j], u3[j], u4[j], u5[j]
            for m in range(n, last):
                for k in range(max(runs[m, 0], j), runs[m, 1]):
                    s = x[k] - c0 * u0[k] - c1 * u1[k] - c2 * u2[k]
                    x[k] = s - c3 * u3[k] - c4 * u4[k] - c5 * u5[k]


@kernel
def solve_runs(U, islands, begin, end, x):
    """Solve ``U^T U x = x`` in place, with the factor of ``factorise_runs``.

    Reads islands: first_run, last_run, runs, tree_begin.
    """
    runs = islands.runs
    for i in range(begin, end):
        tree, u = islands.tree_begin[i], U[i]
        x[i] /= u[i]
        for n in range(islands.first_run[tree], islands.last_run[tree]):
            for k in range(max(runs[n, 0], i + 1), runs[n, 1]):
                x[k] -= u[k] * x[i]
    for i in range(end - 1, begin - 1, -1):
        tree, u, s = islands.tree_begin[i], U[i], x[i]
        for n in range(islands.first_run[tree], islands.last_run[tree]):
            for k in range(max(runs[n, 0], i + 1), runs[n, 1]):
                s -= u[k] * x[k]
        x[i] = s / u[i]
