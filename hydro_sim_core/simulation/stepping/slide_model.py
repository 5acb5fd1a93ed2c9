"""Memory for how bodies are taken to slide along each other in a step (see ``passing_faces``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Int1D


class Slide(NamedTuple):
    """How bodies are taken to slide along each other in a step.

    Attributes:
        v: (nv,) velocities, in the order of the problem.
        drift: (trees,) row of ``ContactProblem.drift`` that goes with those of each island.
        change: (nv,) by how much those of the last solution differed.
        share: (trees,) share of that by which v of each island was changed then.
        twists: (3, 6) relative twists of the present patch: of the solution, and what slides of those taken and solved.
    """

    v: Float1D
    drift: Int1D
    change: Float1D
    share: Float1D
    twists: Float2D


def make_slide(num_trees: int, nv: int) -> Slide:
    """Allocate ``Slide`` for a number of trees and of velocities."""
    return Slide(
        np.zeros(nv), np.zeros(num_trees, dtype=np.int64), np.zeros(nv), np.zeros(num_trees), np.zeros((3, 6))
    )
