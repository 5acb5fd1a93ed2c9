"""Contact state of a round tool: what touches it where, from the force and moment on it.

A tool's frame is at the middle of its tip, z out of it. Forces and moments are those of what it touches on the tool,
about that point along its axes, as a sensor in the wrist tells them once it is told where the tip is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.poses import as_array
from hydro_sim_core.manipulation.checks import LARGEST, number_within

Array = NDArray[np.float64]
Kind = Literal["free", "edge", "face", "wall", "wedged"]

#: Force below which nothing is touched, N.
FREE = 0.5
#: Share of the tip's radius beyond which the middle of the pressure is at its edge.
AT_EDGE = 0.7


@dataclass(frozen=True)
class ContactState:
    """What a round tool feels.

    Attributes:
        kind: ``free``; ``edge`` or ``face``, of the tip, where that is pressed; ``wall`` along the side; ``wedged``
            where no single contact along the side has this moment: two of them hold the tool from both sides.
        force: (3,) N.
        moment: (3,) N m.
        point: (2,) middle of the pressure on the tip, m; where there is none, 0.
        depth: How far the tip is below a face, m.
    """

    kind: Kind
    force: Array
    moment: Array
    point: Array
    depth: float

    @property
    def push(self) -> float:
        """Force along the axis against the tip, N."""
        return float(-self.force[2])


def contact_state(force: ArrayLike, moment: ArrayLike, radius: float, depth: float) -> ContactState:
    """Tell from force and moment what touches a round tool where.

    Args:
        force: (3,) on the tool, along its axes, N.
        moment: (3,) on it about the middle of its tip, along its axes, N m.
        radius: Of the tool, m.
        depth: How far its tip is below the face around a hole, m; below 0 where it is above.

    Raises:
        InputError: An argument has another shape or is not finite, or the radius is none: a broken sensor must not pass
            for a touch.
    """
    mend = "give a number above 0, m"
    radius = number_within("contact_state", "radius", radius, 0.0, LARGEST, mend, above=True)
    depth = number_within("contact_state", "depth", depth, -LARGEST, LARGEST, "give a number, m")
    force, moment = (
        as_array(value, (3,), "contact_state", name) for name, value in (("force", force), ("moment", moment))
    )
    push, across = -float(force[2]), float(np.hypot(force[0], force[1]))
    nowhere = np.zeros(2)
    size = math.hypot(push, across)
    if size < FREE and float(np.linalg.norm(moment)) < FREE * radius:
        return ContactState("free", force, moment, nowhere, depth)
    # A force at the radius has no larger moment about the axis; without a force there is no contact alone.
    if abs(float(moment[2])) > radius * size:
        return ContactState("wedged", force, moment, nowhere, depth)
    if push >= across and np.hypot(moment[0], moment[1]) <= radius * push:
        point = np.array([moment[1], -moment[0]]) / push
        at_edge = float(np.hypot(*point)) > AT_EDGE * radius
        return ContactState("edge" if at_edge else "face", force, moment, point, depth)
    if across < FREE * radius / max(depth, radius):
        return ContactState("wedged", force, moment, nowhere, depth)
    # A force across the axis at a height z has the moment z times it; z falls into the tool.
    height = float(moment[1] * force[0] - moment[0] * force[1]) / across**2
    single = -max(depth, 0.0) - radius <= height <= radius
    return ContactState("wall" if single else "wedged", force, moment, nowhere, depth)
