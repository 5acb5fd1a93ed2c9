"""A rod on two points, one of which is not yet in contact: figure 6 of Drake's page on the margin.

The rod is massless and has half the mass at either end, so that a push at one end moves that end alone. A step without
margin ignores an end that is not in contact: it falls by dt^2 g for any mass, length and stiffness, and the rod tilts
by that much between its ends. On the page it then tilts back and forth for ever, because an end loses contact after
each push. An implicit step leaves an end at its depth of rest, so that the rod comes to rest within ten steps, unless
the end sank so deep that a foot's sides matter (1 mm in 10 ms): the pressure on the sides hardly decreases within a
step, and throws the foot, or makes it rattle by some 0.2 dt^2 g with dissipation.
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
#: Mass of the rod itself relative to the whole, because a body must have a mass.
ROD_SHARE = 1e-6
#: Height of the free end above the ground, relative to the depth of the other end.
GAP = 0.1
ENDS = ("left", "right")


@dataclass(frozen=True)
class Rod:
    """A rod with only its left end on the ground.

    Attributes:
        time_step: Time step, s.
        margin: Margin, m.
        mass: Total mass, kg.
        length: Length, m.
        modulus: Modulus of the feet, Pa.
        dissipation: Hunt-Crossley dissipation, s/m.
    """

    time_step: float
    margin: float = 0.0
    mass: float = 0.2
    length: float = 0.2
    modulus: float = 1e10
    dissipation: float = 0.0

    @property
    def unit(self) -> float:
        """Length unit dt^2 g, m."""
        return GRAVITY * self.time_step**2

    @property
    def depth(self) -> float:
        """Depth of a foot at rest, m: pressure rises by the modulus over half a cube."""
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
    """Change of the offset between the ends in the first step, dt^2 g."""
    heights = end_heights(rod, 1)
    return float(np.diff(heights[0] - heights[1])[0])


def _end_heights(world: World) -> Array:
    return np.array([world.frame_pose(end)[2, 3] - 0.5 * FOOT for end in ENDS])


def make_world(rod: Rod) -> World:
    """Make a world with the rod at rest on rigid ground: left end at its depth of rest, right end above the ground."""
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
