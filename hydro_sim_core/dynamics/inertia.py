"""Detection of velocities that move no inertia, for which the mass matrix is singular."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hydro_sim_core.dynamics.evaluate import TreeEvaluator
from hydro_sim_core.dynamics.tree import Floats, Ints, KinematicTree

#: Ratio of a moment of inertia to the body's other moments, or to its mass times 1 m^2, below which it counts as zero:
#: the body is a point or a line.
_NEGLIGIBLE_MOMENT = 1e-13
#: Ratio of a motion to the terms of which it is the difference, below which it is round-off.
_ROUNDING = 1e-12
_WORLD = -1


def velocity_without_inertia(tree: KinematicTree, q: Floats) -> int:
    """Last velocity that moves no inertia when the later ones may move freely, or -1.

    The mass matrix is singular if and only if some motion leaves every body with inertia at rest. That does not depend
    on the amount of inertia, so that masses do not enter, and a light body beside a heavy one is not mistaken for one
    without inertia.

    The motion of a body with inertia is a function of its twist, and that of its parent's twist and its joint's
    velocities. Velocities are therefore eliminated from the leaves to the root, and the remaining rows are passed to
    the parent: time and memory are linear in the number of bodies.

    Args:
        tree: The tree.
        q: (nq,) posture of the test.
    """
    evaluator = TreeEvaluator(tree).update(q)
    homes = _homes(tree)
    still: list[int] = []
    left: dict[int, list[_Motions]] = {}
    own = _motions_with_inertia(tree, evaluator)
    for body in reversed(range(len(own))):
        motions = _joined([own[body], *left.pop(body, ())])
        # Prescribed velocities need no inertia, as no force accelerates them.
        for k in range(0 if tree.prescribed[tree.v_index[body]] else tree.num_v[body]):
            motions.follow(int(tree.v_index[body]) + k, evaluator.S[body, k])
        still += motions.eliminate([v for v in motions.velocities if homes[v] == body], tree.rotor_inertia)
        left.setdefault(int(tree.parent[body]), []).append(motions)
    if any(motions.velocities for motions in left.get(_WORLD, ())):
        motions = _joined(left[_WORLD])
        still += motions.eliminate(list(motions.velocities), tree.rotor_inertia)
    return max(still, default=-1)


def _homes(tree: KinematicTree) -> Ints:
    """(nv,) lowest common ancestor of the bodies that a velocity moves by its joint or by mimic joints."""
    homes = np.full(len(tree.damping), len(tree.parent))
    for body, (first, count) in enumerate(zip(tree.v_index, tree.num_v, strict=True)):
        other = int(homes[first])
        mine = body
        while other < len(tree.parent) and mine != other:
            # Parents come first.
            mine, other = (int(tree.parent[mine]), other) if mine > other else (mine, int(tree.parent[other]))
        homes[first : first + count] = mine
    return homes


class _Motions:
    """Motions of inertia as rows of a matrix, linear in some velocities and in the twist (6,) of one body.

    Attributes:
        velocities: Velocities of the first columns; the last six are those of the twist.
        rows: (r, n + 6) motions that remain after eliminations.
        squares: (n + 6, n + 6) scalar products of the columns without eliminations.
    """

    def __init__(self, velocities: Sequence[int], rows: Floats, squares: Floats) -> None:
        self.velocities = tuple(velocities)
        self.rows = rows
        self.squares = squares

    def follow(self, velocity: int, subspace: Floats) -> None:
        """Replace the body's twist by its parent's twist plus the joint velocity times ``subspace`` (6,)."""
        if velocity not in self.velocities:
            self.velocities = (velocity, *self.velocities)
            self.rows = np.pad(self.rows, ((0, 0), (1, 0)))
            self.squares = np.pad(self.squares, ((1, 0), (1, 0)))
        change = np.eye(self.rows.shape[1])
        change[-6:, self.velocities.index(velocity)] = subspace
        self.rows = self.rows @ change
        self.squares = change.T @ self.squares @ change

    def eliminate(self, velocities: Sequence[int], rotor_inertia: Floats) -> list[int]:
        """Eliminate velocities, the last one first; returns those that move no inertia."""
        order = sorted(velocities, reverse=True)
        rest = [v for v in self.velocities if v not in order]
        count = len(self.velocities)
        columns = [self.velocities.index(v) for v in (*order, *rest)] + list(range(count, count + 6))
        rotors = np.zeros((len(order), len(columns)))
        rotors[:, : len(order)] = np.diag(np.sign(rotor_inertia[order]))
        rows = np.vstack([rotors, self.rows[:, columns]])
        missing = max(0, len(columns) - len(rows))
        factor = np.asarray(np.linalg.qr(np.pad(rows, ((0, missing), (0, 0))), mode="r"))
        moved = np.abs(np.diag(factor))[: len(order)]
        sizes = np.sqrt(np.abs(np.diag(self.squares)[columns[: len(order)]]) + np.abs(rotors.sum(axis=1)))
        self.velocities = tuple(rest)
        self.rows = factor[len(order) :, len(order) :]
        kept = columns[len(order) :]
        self.squares = self.squares[np.ix_(kept, kept)]
        return [v for v, m, size in zip(order, moved, sizes, strict=True) if m <= _ROUNDING * (1.0 + size)]


def _joined(parts: Sequence[_Motions]) -> _Motions:
    """Stack the rows of motions that depend on the same twist."""
    velocities = sorted({v for part in parts for v in part.velocities})
    column = {v: i for i, v in enumerate(velocities)}
    width = len(velocities) + 6
    squares, blocks = np.zeros((width, width)), []
    for part in parts:
        columns = [column[v] for v in part.velocities] + list(range(len(velocities), width))
        block = np.zeros((len(part.rows), width))
        block[:, columns] = part.rows
        blocks.append(block)
        squares[np.ix_(columns, columns)] += part.squares
    return _Motions(velocities, np.vstack(blocks), squares)


def _motions_with_inertia(tree: KinematicTree, evaluator: TreeEvaluator) -> list[_Motions]:
    """Motions of each body that have inertia, as functions of its twist: principal rotations, centre of mass."""
    motions = []
    reach = np.ones(len(tree.parent) + 1)  # the last entry belongs to the world, parent -1
    for body, parent in enumerate(tree.parent):
        p_WCo = evaluator.p_WB[body] + evaluator.R_WB[body] @ tree.p_BCo[body]
        reach[body] = max(
            reach[parent], 1.0 + np.linalg.norm(evaluator.p_WB[body]), 1.0 + np.linalg.norm(p_WCo)
        )
        rows = [np.pad(_principal_axes(tree, body).T @ evaluator.R_WB[body].T, ((0, 0), (0, 3)))]
        if tree.mass[body] > 0.0:
            x, y, z = p_WCo
            shift = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
            # Far from the origin a lever arm is the difference of large numbers.
            rows.append(np.hstack([shift, np.eye(3)]) / reach[body])
        stacked = np.vstack(rows)
        motions.append(_Motions((), stacked, stacked.T @ stacked))
    return motions


def _principal_axes(tree: KinematicTree, body: int) -> Floats:
    """Principal axes (3, k) in B with a nonzero moment of inertia."""
    moments, axes = np.linalg.eigh(tree.I_BCo[body])
    scale = moments[-1] + tree.mass[body] * (1.0 + tree.p_BCo[body] @ tree.p_BCo[body])
    return axes[:, moments > _NEGLIGIBLE_MOMENT * scale]
