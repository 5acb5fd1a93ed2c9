"""A rod on two points, one of which does not touch yet: figure 6 of Drake's page on the margin.

The rod is massless and has half the mass at either end, so that a push at one end moves that end alone. A step without
margin does not see an end that does not touch: it falls by dt^2 g, whatever mass, length and stiffness, and the rod
tilts by that much between its ends. On the page it then tilts back and forth for ever, since an end is out of touch
after each push. An implicit step leaves it as deep as it rests, so that the rod comes to rest within ten steps, unless
the end sank as deep as a foot's sides matter (1 mm in 10 ms): the pressure on those hardly falls within a step, and
throws the foot, or rattles it by some 0.2 dt^2 g where there is dissipation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

GRAVITY = 9.81
#: Edge of a foot, m: a cube that hangs on the rod by a hinge, so that it stands flat however the rod is tilted.
FOOT = 0.01
#: Of the rod itself, relative to the whole, which no body may be without.
ROD_SHARE = 1e-6
#: How far the end that does not touch is above the ground, relative to the depth of the other.
GAP = 0.1
ENDS = ("left", "right")


@dataclass(frozen=True)
class Rod:
    """A rod that stands on the ground with its left end only.

    Attributes:
        time_step: s.
        margin: m.
        mass: kg.
        length: m.
        modulus: Of the feet, Pa.
        dissipation: Of Hunt and Crossley, s/m.
    """

    time_step: float
    margin: float = 0.0
    mass: float = 0.2
    length: float = 0.2
    modulus: float = 1e10
    dissipation: float = 0.0

    @property
    def unit(self) -> float:
        """Length that gravity makes within a step, dt^2 g, m."""
        return GRAVITY * self.time_step**2

    @property
    def depth(self) -> float:
        """Of a foot at rest, m: pressure rises by the modulus over half a cube."""
        return 0.5 * self.mass * GRAVITY * (0.5 * FOOT) / (self.modulus * FOOT**2)

    @property
    def rest(self) -> float:
        """Change of the offset between the ends by which the right end comes to rest beside the left one, dt^2 g."""
        return (1.0 + GAP) * self.depth / self.unit


def end_heights(rod: Rod, steps: int) -> Array:
    """Heights (steps + 1, 2) of the left and the right end above the ground from the start on, dt^2 g."""
    world = make_world(rod)
    heights = [_end_heights(world)]
    for _ in range(steps):
        world.step()
        heights.append(_end_heights(world))
    return np.array(heights) / rod.unit


def first_tilt(rod: Rod) -> float:
    """By how much the offset between the ends changes in the first step, dt^2 g."""
    heights = end_heights(rod, 1)
    return float(np.diff(heights[0] - heights[1])[0])


def _end_heights(world: World) -> Array:
    return np.array([world.frame_pose(end)[2, 3] - 0.5 * FOOT for end in ENDS])


def make_world(rod: Rod) -> World:
    """The rod over rigid ground, at rest: its left end as deep as it comes to stand, its right end above the ground."""
    left, right = -rod.depth, GAP * rod.depth
    tilt = math.asin((right - left) / rod.length)
    scene = SceneBuilder(
        "margin_rod",
        time_step=rod.time_step,
        gravity=(0.0, 0.0, -GRAVITY),
        solver="similar",
        contact={
            "modulus": rod.modulus,
            "margin": rod.margin,
            "friction": 0.0,
            "dissipation": rod.dissipation,
        },
    )
    scene.add_ground()
    model = scene.add_model(
        "rod",
        base="floating",
        xyz=(0.0, 0.0, 0.5 * (left + right + FOOT)),
        rpy=(0.0, -tilt, 0.0),
        positions={f"{end}_hinge": tilt for end in ENDS},
    )
    mass = ROD_SHARE * rod.mass
    model.add_link("rod", mass, inertia=3 * (mass * rod.length**2 / 6.0,))
    for end, side in zip(ENDS, (-0.5, 0.5), strict=True):
        foot = model.add_link(end, 0.5 * (1.0 - ROD_SHARE) * rod.mass)
        foot.add_shape("box", size=3 * (FOOT,))
        model.add_joint(
            f"{end}_hinge", "continuous", "rod", end, xyz=(side * rod.length, 0, 0), axis=(0, 1, 0)
        )
    return World(scene.build())
