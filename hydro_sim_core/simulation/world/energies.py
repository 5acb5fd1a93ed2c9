"""Kinetic, potential and elastic energy of a world."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.poses import relative_pose
from hydro_sim_core.contact.pressure_field.energy import overlap_energy
from hydro_sim_core.dynamics import TreeEvaluator
from hydro_sim_core.simulation.stepping.model import Model


class Energies(NamedTuple):
    """Energies of a world, J.

    Attributes:
        kinetic: Kinetic energy of bodies and of the drives' rotors.
        potential: Potential energy in gravity; zero with all mass at the world's origin.
        elastic: Elastic energy in the pressure fields of touching bodies (Elandt 2019, section V).
    """

    kinetic: float
    potential: float
    elastic: float

    @property
    def total(self) -> float:
        """Sum of all energies, J."""
        return self.kinetic + self.potential + self.elastic


def elastic_energy(model: Model, posture: TreeEvaluator, pairs: Iterable[int]) -> float:
    """Energy stored in the pressure fields of some pairs, J.

    Args:
        model: The model.
        posture: Evaluator of the bodies' poses.
        pairs: Rows of ``Model.pairs``.
    """
    total = 0.0
    for pair in pairs:
        X_WA, X_WB = (_pose(model, posture, geometry) for geometry in model.pairs[pair].tolist())
        row_a, row_b = model.pair_rows[pair].tolist()
        total += overlap_energy(model.geometries, row_a, row_b, *relative_pose(X_WA, X_WB))
    return total


def _pose(model: Model, posture: TreeEvaluator, geometry: int) -> NDArray[np.float64]:
    X_BG = np.eye(4)
    X_BG[:3, :3], X_BG[:3, 3] = model.R_BG[geometry], model.p_BG[geometry]
    return posture.body_pose(int(model.geometry_body[geometry])) @ X_BG
