"""Which velocity moves no inertia, so that nothing bounds its acceleration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hydro_sim_core.dynamics.evaluate import TreeEvaluator
from hydro_sim_core.dynamics.tree import Floats, Ints, KinematicTree

#: A moment of inertia this small a part of the body's other moments, or of its mass at a distance of a metre,
#: is none: the body is a point or a line.
_NEGLIGIBLE_MOMENT = 1e-13
#: A motion this small a part of the numbers that it is the difference of is rounding.
_ROUNDING = 1e-12
_WORLD = -1


def velocity_without_inertia(tree: KinematicTree, q: Floats) -> int:
    """Last velocity that moves no inertia once the ones behind it are free to follow, or -1.

    The mass matrix is singular if and only if some motion leaves every body with inertia where it is. How much
    inertia a body has does not matter to that, so masses do not enter: a light body beside a heavy one is no
    less able to resist.

    The motions of a body with inertia follow from its twist, that from its parent's twist and its joint's velocity. So
    velocities are eliminated from the leaves on, each before those that carry it, and what is left goes to the parent:
    time and memory grow with the number of bodies.

    Args:
        tree: The tree.
        q: (nq,) posture to judge at.
    """
    evaluator = TreeEvaluator(tree).update(q)
    homes = _homes(tree)
    still: list[int] = []
    left: dict[int, list[_Motions]] = {}
    own = _motions_with_inertia(tree, evaluator)
    for body in reversed(range(len(own))):
        motions = _joined([own[body], *left.pop(body, ())])
        # What is prescribed needs no inertia: nothing accelerates it.
        for k in range(0 if tree.prescribed[tree.v_index[body]] else tree.num_v[body]):
            motions.follow(int(tree.v_index[body]) + k, evaluator.S[body, k])
        still += motions.eliminate([v for v in motions.velocities if homes[v] == body], tree.rotor_inertia)
        left.setdefault(int(tree.parent[body]), []).append(motions)
    if any(motions.velocities for motions in left.get(_WORLD, ())):
        motions = _joined(left[_WORLD])
        still += motions.eliminate(list(motions.velocities), tree.rotor_inertia)
    return max(still, default=-1)


def _homes(tree: KinematicTree) -> Ints:
    """(nv,) body that carries, or is, every body that a velocity moves by itself: mimic joints share their master's."""
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
    """Motions against inertia as rows, linear in some velocities and in the twist (6,) of one body.

    Attributes:
        velocities: Those whose columns come first; the twist's six are the last.
        rows: (r, n + 6) what is left of the motions after eliminations.
        squares: (n + 6, n + 6) scalar products of the columns that eliminations did not touch.
    """

    def __init__(self, velocities: Sequence[int], rows: Floats, squares: Floats) -> None:
        self.velocities = tuple(velocities)
        self.rows = rows
        self.squares = squares

    def follow(self, velocity: int, subspace: Floats) -> None:
        """Make the twist that of the body's parent: the body's is that and the joint's, along ``subspace`` (6,)."""
        if velocity not in self.velocities:
            self.velocities = (velocity, *self.velocities)
            self.rows = np.pad(self.rows, ((0, 0), (1, 0)))
            self.squares = np.pad(self.squares, ((1, 0), (1, 0)))
        change = np.eye(self.rows.shape[1])
        change[-6:, self.velocities.index(velocity)] = subspace
        self.rows = self.rows @ change
        self.squares = change.T @ self.squares @ change

    def eliminate(self, velocities: Sequence[int], rotor_inertia: Floats) -> list[int]:
        """Let velocities take what motion they can, the last one first; returns those that move nothing more."""
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
    """Motions that follow from the same twist, one below the other."""
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
    """Of every body what moves against its inertia, by its twist: turns about principal axes, the centre of mass."""
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
            # Far from the origin a lever is the difference of large numbers.
            rows.append(np.hstack([shift, np.eye(3)]) / reach[body])
        stacked = np.vstack(rows)
        motions.append(_Motions((), stacked, stacked.T @ stacked))
    return motions


def _principal_axes(tree: KinematicTree, body: int) -> Floats:
    """Principal axes (3, k) in B about which a body has a moment of inertia."""
    moments, axes = np.linalg.eigh(tree.I_BCo[body])
    scale = moments[-1] + tree.mass[body] * (1.0 + tree.p_BCo[body] @ tree.p_BCo[body])
    return axes[:, moments > _NEGLIGIBLE_MOMENT * scale]
