"""Random forests with patches between their trees, and problems on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hydro_sim_core.dynamics import Forest
from hydro_sim_core.solvers import ContactProblem, find_islands, make_problem
from support.solvers.made_problems import DT, forest_of, load_faces, random_faces, set_inverse_mass

WORLD = -1
#: Most faces of a patch.
FACES = 40


def random_forest(rng: np.random.Generator, num_trees: tuple[int, int]) -> Forest:
    """Trees of 1 to 7 velocities, whose velocities are scattered over v."""
    sizes = rng.integers(1, 8, int(rng.integers(*num_trees)))
    first = np.concatenate(([0], np.cumsum(sizes)))
    return forest_of(first, rng.permutation(first[-1]))


def random_patch_trees(rng: np.random.Generator, num_trees: int, num_patches: tuple[int, int]) -> np.ndarray:
    """Patches between trees, or a tree and the world, or a tree and itself."""
    trees = rng.integers(-1, num_trees, (int(rng.integers(*num_patches)), 2))
    return trees[trees.max(axis=1, initial=WORLD) >= 0] if len(trees) else trees


@dataclass
class Case:
    """A forest and the patches between its trees."""

    forest: Forest
    trees: np.ndarray
    problem: ContactProblem


def random_case(
    seed: int, num_trees: tuple[int, int] = (1, 9), num_patches: tuple[int, int] = (0, 11)
) -> Case:
    """Trees and patches between them; their numbers are below the second of each two."""
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, num_trees)
    return case_of(forest, random_patch_trees(rng, len(forest.first) - 1, num_patches))


def case_of(forest: Forest, trees: np.ndarray) -> Case:
    """The islands of a forest with patches between these trees."""
    problem = make_problem(
        len(forest.first) - 1, int(forest.first[-1]), len(trees) + 1, FACES * len(trees) + 1
    )
    problem.num_patches[0] = len(trees)
    problem.islands.patch_trees[: len(trees)] = trees
    find_islands(forest, len(trees), problem.islands)
    return Case(forest, trees, problem)


def fill(case: Case, rng: np.random.Generator) -> ContactProblem:
    """Inertia, motion, faces and Jacobians for a case."""
    problem, islands = case.problem, case.problem.islands
    nv = len(problem.v0)
    problem.dt[0] = DT
    for begin, end in {(int(b), int(e)) for b, e in zip(islands.tree_begin, islands.tree_end, strict=True)}:
        root = rng.normal(size=(end - begin, end - begin))
        problem.A[begin:end, begin:end] = root @ root.T + np.eye(end - begin)
    problem.v0[:] = rng.normal(size=nv)
    problem.push[:] = DT * 10.0 * rng.normal(size=nv)
    problem.momentum[:] = problem.A @ problem.v0 + problem.push
    load_faces(problem, [random_faces(rng, int(rng.integers(1, FACES))) for _ in case.trees])
    for p in range(len(case.trees)):
        for begin, end in islands.columns[p]:
            problem.jacobian[p, :, begin:end] = rng.normal(size=(6, end - begin))
        problem.friction[p] = 0.5
        set_inverse_mass(problem, p, 1.0)
    problem.limits[:, 1] = -np.inf
    problem.speed_limit[:] = np.inf
    return problem


def as_one_tree(problem: ContactProblem) -> ContactProblem:
    """The same problem with every velocity in one tree that every patch moves."""
    nv, num_patches = len(problem.v0), len(problem.friction)
    whole = make_problem(1, nv, num_patches, FACES * num_patches + 1)
    whole.islands.patch_trees[:] = (0, WORLD)
    whole.num_patches[0] = problem.num_patches[0]
    find_islands(forest_of(np.array([0, nv]), np.arange(nv)), problem.num_patches[0], whole.islands)
    for name in whole._fields:
        if name not in ("islands", "num_patches", "points", "blocks"):
            getattr(whole, name)[:] = getattr(problem, name)
    used = min(len(whole.blocks), len(problem.blocks))
    whole.blocks[:used] = problem.blocks[:used]
    return whole
