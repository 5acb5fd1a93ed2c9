# mypy: allow-untyped-defs
"""Islands: groups of kinematic trees that contact couples, each solved apart from the others.

Trees are nodes and patches between two moving trees are edges of a graph; its components are the islands. Within an
island trees are listed breadth first from a peripheral one (Cuthill-McKee ordering), which keeps the entries of the
Hessian near its diagonal: a row of its Cholesky factor begins at the first tree that the row's tree touches
(``envelope``). Those of a large island come in another order, which leaves more of the factor zero (``elimination``).
Bodies with prescribed motion couple nothing, like the world.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Bool1D, Bool2D, Int1D, Int2D, Int3D, kernel
from hydro_sim_core.solvers.elimination import LARGE, find_runs, is_large, order_by_degree

#: Tree index of the world and of bodies with prescribed motion.
WORLD = -1


class Islands(NamedTuple):
    """Islands of a problem, and the solver's order of its velocities.

    Attributes:
        num: (1,) number of islands.
        first: (trees + 1,) first index of each island in the solver's order.
        first_patch: (trees + 1,) first entry of each island in ``patches``.
        patches: (patches,) patches, island by island.
        order: (nv,) index into the world's v of each velocity in the solver's order; prescribed ones come last.
        tree_begin: (nv,) first index of the tree that a velocity belongs to.
        tree_end: (nv,) one past the last index of that tree.
        envelope: (nv,) first column that a row of the Hessian couples to.
        columns: (patches, 2, 2) begin and end of the velocities that move a patch: those of its two trees, the earlier
            tree first; an empty range where there is no second tree.
        patch_trees: (patches, 2) trees of geometries A and B; ``WORLD`` for one that no force moves.
        position: (trees,) first index of each tree in the solver's order.
        island: (trees,) island of each tree.
        neighbour_first: (trees + 1,) first entry of each tree in ``neighbours``.
        neighbours: (2 patches,) adjacency lists: trees that touch.
        queue: (trees,) trees in the order of the breadth-first search.
        keeps: (trees,) whether an island keeps the solution that it has.
        has_bounds: (trees,) whether the friction bounds of an island are those of the step's last solve.
        couples: (trees, trees) which trees of large islands touch, when the earlier one is eliminated; empty where no
            island can be large, as are the others of them.
        degree: (trees,) velocities that a tree touches.
        near: (trees,) later trees that it touches.
        runs: (runs, 2) begin and end of the columns that a row of a large island's factor has entries in.
        first_run: (nv,) first entry in ``runs`` of the rows of the tree that begins with a velocity.
        last_run: (nv,) one past the last one.
    """

    num: Int1D
    first: Int1D
    first_patch: Int1D
    patches: Int1D
    order: Int1D
    tree_begin: Int1D
    tree_end: Int1D
    envelope: Int1D
    columns: Int3D
    patch_trees: Int2D
    position: Int1D
    island: Int1D
    neighbour_first: Int1D
    neighbours: Int1D
    queue: Int1D
    keeps: Bool1D
    has_bounds: Bool1D
    couples: Bool2D
    degree: Int1D
    near: Int1D
    runs: Int2D
    first_run: Int1D
    last_run: Int1D


def make_islands(num_trees: int, nv: int, max_patches: int) -> Islands:
    """Allocate islands for ``num_trees`` trees with ``nv`` velocities and ``max_patches`` patches."""

    def integers(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=np.int64)

    large_trees, large_nv = (num_trees, nv) if nv >= LARGE else (0, 0)
    return Islands(
        num=integers(1),
        first=integers(num_trees + 1),
        first_patch=integers(num_trees + 1),
        patches=integers(max_patches),
        order=integers(nv),
        tree_begin=integers(nv),
        tree_end=integers(nv),
        envelope=integers(nv),
        columns=integers(max_patches, 2, 2),
        patch_trees=integers(max_patches, 2),
        position=integers(num_trees),
        island=integers(num_trees),
        neighbour_first=integers(num_trees + 1),
        neighbours=integers(2 * max_patches),
        queue=integers(num_trees),
        keeps=np.zeros(num_trees, dtype=np.bool_),
        has_bounds=np.zeros(num_trees, dtype=np.bool_),
        couples=np.zeros((large_trees, large_trees), dtype=np.bool_),
        degree=integers(large_trees),
        near=integers(large_trees),
        # Of a tree's later trees every other one can begin a run.
        runs=integers(large_trees * large_trees // 4 + 2 * large_trees, 2),
        first_run=integers(large_nv),
        last_run=integers(large_nv),
    )


@kernel
def find_islands(forest, num_patches, islands):
    """Group the trees that ``islands.patch_trees`` couples and order their velocities.

    Args:
        forest: ``Forest`` of the multibody system.
        num_patches: Number of patches in use.
        islands: ``Islands``; ``patch_trees`` is input, everything but ``keeps`` and ``has_bounds`` output.

    Reads forest: first, prescribed; islands: island, queue.
    Writes islands: first, island, num, order.
    """
    num_trees, unknowns = forest.first.shape[0] - 1, forest.velocities.shape[0]
    for k in range(forest.prescribed.shape[0]):
        islands.order[unknowns + k] = forest.prescribed[k]
    _find_neighbours(islands, num_patches, num_trees)
    islands.island[:] = -1
    islands.first[0] = 0
    num, position, runs = 0, 0, 0
    for seed in range(num_trees):
        if islands.island[seed] >= 0:
            continue
        count = _visit(islands, seed, num)
        for i in range(count):
            islands.island[islands.queue[i]] = -1
        _visit(islands, islands.queue[count - 1], num)
        end = position
        for i in range(count):
            end += forest.first[islands.queue[i] + 1] - forest.first[islands.queue[i]]
        islands.first[num + 1] = end
        if is_large(islands, num):
            order_by_degree(forest, islands, count)
        for i in range(count):
            position = _place_tree(forest, islands, islands.queue[i], position)
        if is_large(islands, num):
            runs = find_runs(islands, count, runs)
        num += 1
    islands.num[0] = num
    _place_patches(forest, islands, num_patches)


@kernel
def _find_neighbours(islands, num_patches, num_trees):
    """Adjacency lists of the trees.

    Reads islands: neighbour_first, patch_trees.
    Writes islands: neighbour_first, neighbours.
    """
    first, trees = islands.neighbour_first, islands.patch_trees
    first[:] = 0
    for p in range(num_patches):
        if trees[p, 0] >= 0 and trees[p, 1] >= 0 and trees[p, 0] != trees[p, 1]:
            first[trees[p, 0]] += 1
            first[trees[p, 1]] += 1
    total = 0
    for tree in range(num_trees):
        total += first[tree]
        first[tree] = total
    first[num_trees] = total
    # Lists are filled from their ends: ``first`` of a tree ends up at the begin of its list.
    for p in range(num_patches):
        if trees[p, 0] >= 0 and trees[p, 1] >= 0 and trees[p, 0] != trees[p, 1]:
            for side in range(2):
                tree = trees[p, side]
                first[tree] -= 1
                islands.neighbours[first[tree]] = trees[p, 1 - side]


@kernel
def _visit(islands, seed, island):
    """Queue all trees of the seed's component breadth first and mark them; return their number.

    Reads islands: island, neighbour_first, neighbours, queue.
    Writes islands: island, queue.
    """
    queue = islands.queue
    queue[0] = seed
    islands.island[seed] = island
    count, i = 1, 0
    while i < count:
        tree = queue[i]
        for n in range(islands.neighbour_first[tree], islands.neighbour_first[tree + 1]):
            neighbour = islands.neighbours[n]
            if islands.island[neighbour] < 0:
                islands.island[neighbour] = island
                queue[count] = neighbour
                count += 1
        i += 1
    return count


@kernel
def _place_tree(forest, islands, tree, position):
    """Give a tree's velocities the indices from ``position`` on; return the next free index.

    Reads forest: first, velocities.
    Writes islands: envelope, order, position, tree_begin, tree_end.
    """
    begin = position
    end = begin + forest.first[tree + 1] - forest.first[tree]
    islands.position[tree] = begin
    for k in range(begin, end):
        islands.order[k] = forest.velocities[forest.first[tree] + k - begin]
        islands.tree_begin[k] = begin
        islands.tree_end[k] = end
        islands.envelope[k] = begin
    return end


@kernel
def _place_patches(forest, islands, num_patches):
    """Set the columns of every patch, the envelope of the Hessian, and the patches sorted by island.

    Reads forest: first; islands: columns, envelope, first_patch, island, num, patch_trees, position.
    Writes islands: columns, envelope, first_patch, patches.
    """
    first_patch = islands.first_patch
    first_patch[:] = 0
    for p in range(num_patches):
        a, b = islands.patch_trees[p, 0], islands.patch_trees[p, 1]
        if a < 0 or (b >= 0 and islands.position[b] < islands.position[a]):
            a, b = b, a
        columns = islands.columns[p]
        columns[0, 0] = islands.position[a]
        columns[0, 1] = columns[0, 0] + forest.first[a + 1] - forest.first[a]
        columns[1, 0] = columns[1, 1] = columns[0, 1]
        if b >= 0 and b != a:
            columns[1, 0] = islands.position[b]
            columns[1, 1] = columns[1, 0] + forest.first[b + 1] - forest.first[b]
            for k in range(columns[1, 0], columns[1, 1]):
                islands.envelope[k] = min(islands.envelope[k], columns[0, 0])
        first_patch[islands.island[a]] += 1
    total = 0
    for island in range(islands.num[0]):
        total += first_patch[island]
        first_patch[island] = total
    first_patch[islands.num[0]] = total
    for p in range(num_patches - 1, -1, -1):
        tree = max(islands.patch_trees[p, 0], islands.patch_trees[p, 1])
        island = islands.island[tree]
        first_patch[island] -= 1
        islands.patches[first_patch[island]] = p
