"""Independent trees of a multibody system: groups of velocities coupled by inertia."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import ConstBool1D, ConstInt1D
from hydro_sim_core.dynamics.joint_dispatch import FLOATING
from hydro_sim_core.dynamics.tree import Ints, KinematicTree, frozen


class Forest(NamedTuple):
    """Trees of bodies without joints or mimic relations between them: read-only arrays.

    A body with prescribed motion is in no tree, like the world: the bodies that it carries are not coupled through it.

    Attributes:
        tree_of_body: (nb,) tree of each body, -1 for bodies with prescribed motion.
        first: (trees + 1,) first entry of each tree in ``velocities``.
        velocities: (unknowns,) indices into v, tree by tree.
        prescribed: (nv - unknowns,) indices into v of prescribed velocities.
        is_free_body: (nb,) whether a body floats in the world and has no child bodies.
        is_free_tree: (trees,) whether a tree consists of such a body.
    """

    tree_of_body: ConstInt1D
    first: ConstInt1D
    velocities: ConstInt1D
    prescribed: ConstInt1D
    is_free_body: ConstBool1D
    is_free_tree: ConstBool1D


def find_forest(tree: KinematicTree) -> Forest:
    """Split a multibody system into independent trees, in the order of their first velocities."""
    first = tree.v_index
    is_prescribed = tree.prescribed[first]
    earliest = _earliest_velocities(tree)
    unknown = np.flatnonzero(~tree.prescribed)
    trees, labels = np.unique(earliest[unknown], return_inverse=True)
    label = np.full(len(earliest), -1)
    label[unknown] = labels
    sizes = np.bincount(labels, minlength=len(trees))
    is_free_body = (tree.joint_type == FLOATING) & (tree.parent < 0) & ~is_prescribed
    is_free_body[tree.parent[tree.parent >= 0]] = False
    is_free_tree = np.zeros(len(trees), dtype=bool)
    is_free_tree[label[first][is_free_body]] = True
    return Forest(
        tree_of_body=frozen(label[first], np.int64),
        first=frozen(np.concatenate(([0], np.cumsum(sizes))), np.int64),
        velocities=frozen(unknown[np.argsort(labels, kind="stable")], np.int64),
        prescribed=frozen(np.flatnonzero(tree.prescribed), np.int64),
        is_free_body=frozen(is_free_body, np.bool_),
        is_free_tree=frozen(is_free_tree, np.bool_),
    )


def _earliest_velocities(tree: KinematicTree) -> Ints:
    """(nv,) index of the first velocity in the tree of each velocity."""
    earliest = list(range(len(tree.damping)))

    def find(velocity: int) -> int:
        while earliest[velocity] != velocity:
            earliest[velocity] = velocity = earliest[earliest[velocity]]
        return velocity

    # A body's velocities are coupled with each other and with its parent's; a mimic joint has its master's velocities.
    first = tree.v_index.tolist()
    coupled = [
        (begin, begin + k) for begin, count in zip(first, tree.num_v, strict=True) for k in range(count)
    ]
    is_prescribed = tree.prescribed[tree.v_index]
    coupled += [
        (first[i], first[parent])
        for i, parent in enumerate(tree.parent)
        if parent >= 0 and not is_prescribed[parent]
    ]
    for a, b in coupled:
        low, high = sorted((find(a), find(b)))
        earliest[high] = low
    return np.array([find(velocity) for velocity in range(len(earliest))], dtype=np.int64)
