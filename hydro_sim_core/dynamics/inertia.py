"""Which velocity moves no inertia, so that nothing bounds its acceleration."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.dynamics.evaluate import TreeEvaluator
from hydro_sim_core.dynamics.tree import Floats, KinematicTree

#: A moment of inertia this small a part of the body's other moments, or of its mass at a distance of a metre,
#: is none: the body is a point or a line.
_NEGLIGIBLE_MOMENT = 1e-13
#: A motion this small a part of the numbers that it is the difference of is rounding.
_ROUNDING = 1e-12


def velocity_without_inertia(tree: KinematicTree, q: Floats) -> int:
    """Last velocity that moves no inertia once the ones behind it are free to follow, or -1.

    The mass matrix is singular if and only if some motion leaves every body with inertia where it is. How much
    inertia a body has does not matter to that, so masses do not enter: a light body beside a heavy one is no
    less able to resist.

    Args:
        tree: The tree.
        q: (nq,) posture to judge at.
    """
    motions = _motions_with_inertia(tree, TreeEvaluator(tree).update(q))
    # Columns from the back: each diagonal entry is what a velocity moves that those behind it cannot undo.
    moved = np.abs(np.diag(np.linalg.qr(motions[:, ::-1], mode="r")))[::-1]
    still = np.flatnonzero(moved <= _ROUNDING * (1.0 + np.linalg.norm(motions, axis=0)))
    return int(still[-1]) if len(still) else -1


def _motions_with_inertia(tree: KinematicTree, evaluator: TreeEvaluator) -> Floats:
    """Rows (r, nv) of everything that moves against inertia: rotors, turns about principal axes, centres of mass."""
    rows = [np.diag(np.sign(tree.rotor_inertia))]
    reach = np.ones(len(tree.parent) + 1)  # the last entry belongs to the world, parent -1
    for body, parent in enumerate(tree.parent):
        p_WCo = evaluator.p_WB[body] + evaluator.R_WB[body] @ tree.p_BCo[body]
        reach[body] = max(
            reach[parent], 1.0 + np.linalg.norm(evaluator.p_WB[body]), 1.0 + np.linalg.norm(p_WCo)
        )
        J = evaluator.point_jacobian(body, p_WCo)
        rows.append(_principal_axes(tree, body).T @ evaluator.R_WB[body].T @ J[:3])
        if tree.mass[body] > 0.0:
            # Far from the origin a lever is the difference of large numbers.
            rows.append(J[3:] / reach[body])
    return np.vstack(rows)


def _principal_axes(tree: KinematicTree, body: int) -> Floats:
    """Principal axes (3, k) in B about which a body has a moment of inertia."""
    moments, axes = np.linalg.eigh(tree.I_BCo[body])
    scale = moments[-1] + tree.mass[body] * (1.0 + tree.p_BCo[body] @ tree.p_BCo[body])
    return axes[:, moments > _NEGLIGIBLE_MOMENT * scale]
