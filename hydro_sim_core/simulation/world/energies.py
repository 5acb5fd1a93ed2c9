"""Kinetic, potential and elastic energy of a world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.poses import relative_pose
from hydro_sim_core.contact.pressure_field.energy import overlap_energy
from hydro_sim_core.contact.pressure_field.scratch import make_nodes
from hydro_sim_core.dynamics import TreeEvaluator
from hydro_sim_core.dynamics.tree import KinematicTree
from hydro_sim_core.simulation.stepping.model import Model
from hydro_sim_core.simulation.stepping.round_sides import turn_round_sides


class Energies(NamedTuple):
    """Energies of a world, J.

    Attributes:
        kinetic: Kinetic energy of bodies and of the drives' rotors.
        potential: Potential energy in gravity, zero with all mass at the world's origin, and in springs of joints.
        elastic: Elastic energy in the pressure fields of touching bodies (Elandt 2019, section V).
    """

    kinetic: float
    potential: float
    elastic: float

    @property
    def total(self) -> float:
        """Sum of all energies, J."""
        return self.kinetic + self.potential + self.elastic


def spring_energy(tree: KinematicTree, q: NDArray[np.float64]) -> float:
    """Energy stored in the springs of joints at coordinates (nq,), J."""
    sprung = np.flatnonzero(tree.spring_stiffness)
    stretch = q[tree.q_of_v[sprung]] - tree.spring_reference[sprung]
    return 0.5 * float((tree.spring_stiffness[sprung] * stretch**2).sum())


def elastic_energy(model: Model, posture: TreeEvaluator) -> float:
    """Energy stored in the pressure fields of all bodies that touch, J.

    Args:
        model: The model.
        posture: Evaluator of the bodies' poses.
    """
    poses = np.array([_pose(model, posture, geometry) for geometry in range(len(model.geometry_body))])
    poses = poses.reshape(-1, 4, 4)
    low, high = _bounds(poses, model.geometry_box)
    pairs = model.pairs[: model.points.first_pair[0]]
    a, b = pairs.T
    near = np.all((low[a] <= high[b]) & (low[b] <= high[a]), axis=1)
    total, nodes = 0.0, make_nodes()
    for pair in np.flatnonzero(near).tolist():
        (first, second), (row_a, row_b) = pairs[pair].tolist(), model.pair_rows[pair].tolist()
        R_BA, p_BA = relative_pose(poses[first], poses[second])
        turn_round_sides(model, pair, np.eye(3), R_BA, p_BA, nodes)
        total += overlap_energy(model.geometries, row_a, row_b, R_BA, p_BA)
    return total


def _pose(model: Model, posture: TreeEvaluator, geometry: int) -> NDArray[np.float64]:
    """Pose (4, 4) of a geometry in the world."""
    X_BG = np.eye(4)
    X_BG[:3, :3], X_BG[:3, 3] = model.R_BG[geometry], model.p_BG[geometry]
    body = int(model.geometry_body[geometry])
    return X_BG if body < 0 else posture.body_pose(body) @ X_BG


def _bounds(
    poses: NDArray[np.float64], boxes: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest corners (n, 3) of boxes (n, 6) at poses (n, 4, 4), m; infinite for infinite ones."""
    half = np.full((len(boxes), 3), np.inf)
    finite = np.isfinite(boxes[:, 3])
    half[finite] = np.einsum("nij,nj->ni", np.abs(poses[finite, :3, :3]), boxes[finite, 3:])
    centres = np.einsum("nij,nj->ni", poses[:, :3, :3], boxes[:, :3]) + poses[:, :3, 3]
    return centres - half, centres + half
