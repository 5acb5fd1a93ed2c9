"""Margins where none are given: from the time step, and the size and the modulus of the body."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hydro_sim_core.geometry.geometry import FloatArray

#: Speed of approach that a margin foresees, m/s. Faster bodies overlap before the next step pushes them apart.
APPROACH_SPEED = 0.1
#: Largest margin, as a share of the smallest extent of a body: it also reaches around edges and into gaps.
LARGEST_SHARE = 0.05
#: Density of a body with which its own stiffness is compared, kg/m^3; most are heavier for what is welded to them.
DENSITY = 1000.0
#: Share of half the smallest extent that a pressure wave may cross in a step where no margin is needed. Two boxes
#: rattle above a share of pi (``experiments/margin_boxes.py``).
RESOLVED_SHARE = 0.3


@dataclass(frozen=True)
class StepMargin:
    """Margin that contact needs to be foreseen one step ahead; calling it gives that of a body, m.

    Without a margin a body at rest on a stiff one falls between two contacts and is thrown back: it rattles. A soft
    body, whose contact lasts many steps, needs none, and its patches have fewer faces without.

    Attributes:
        time_step: Time step, s.
    """

    time_step: float

    def __call__(self, vertices: FloatArray, modulus: float) -> float:
        """The margin of a body with these vertices (N, 3), m, none for a half space, and this modulus, Pa."""
        extent = float(np.ptp(vertices, axis=0).min()) if len(vertices) else math.inf
        if self.time_step * math.sqrt(modulus / DENSITY) <= RESOLVED_SHARE * 0.5 * extent < math.inf:
            return 0.0
        return min(APPROACH_SPEED * self.time_step, LARGEST_SHARE * extent)
