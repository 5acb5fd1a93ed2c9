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
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description import LoadedScene, SceneSpec
from hydro_sim_core.description.scene import (
    ContactDefaults,
    ContactSettings,
    ModelSpec,
    PoseSpec,
    SolverSettings,
)
from hydro_sim_core.description.spec import (
    CollisionSpec,
    InertialSpec,
    JointSpec,
    LinkSpec,
    ProximitySpec,
    RobotSpec,
    ShapeSpec,
)
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
    hinges = {f"{end}_hinge": tilt for end in ENDS}
    body = RobotSpec(
        "rod", (_link("rod", rod), *(_link(end, rod) for end in ENDS)), _hinges(rod), "margin_rod"
    )
    ground = CollisionSpec("ground", ShapeSpec("half_space"), np.eye(4), ProximitySpec(compliance="rigid"))
    start = PoseSpec(xyz=(0.0, 0.0, 0.5 * (left + right + FOOT)), rpy=(0.0, -tilt, 0.0))
    contact = ContactDefaults(
        modulus=rod.modulus, margin=rod.margin, mu_dynamic=0.0, dissipation=rod.dissipation
    )
    spec = SceneSpec(
        name="margin_rod",
        time_step=rod.time_step,
        gravity=(0.0, 0.0, -GRAVITY),
        models=(
            ModelSpec(
                name="rod",
                urdf="none",
                base="floating",
                pose=start,
            ),
        ),
        contact=ContactSettings(defaults=contact),
        solver=SolverSettings(model="similar"),
    )
    return World(LoadedScene(spec, (body,), (hinges,), (ground,), source=Path("margin_rod")))


def _link(name: str, rod: Rod) -> LinkSpec:
    """The rod itself, or a foot, whose inertia is that of its cube."""
    if name == "rod":
        mass, edge = ROD_SHARE * rod.mass, rod.length
        shapes: tuple[CollisionSpec, ...] = ()
    else:
        mass, edge = 0.5 * (1.0 - ROD_SHARE) * rod.mass, FOOT
        shapes = (CollisionSpec(name, ShapeSpec("box", (FOOT,) * 3), np.eye(4)),)
    return LinkSpec(name, InertialSpec(mass, np.zeros(3), mass * edge**2 / 6.0 * np.eye(3)), shapes)


def _hinges(rod: Rod) -> tuple[JointSpec, ...]:
    hinges = []
    for end, side in zip(ENDS, (-0.5, 0.5), strict=True):
        X_PJ = np.eye(4)
        X_PJ[0, 3] = side * rod.length
        hinges.append(JointSpec(f"{end}_hinge", "continuous", "rod", end, X_PJ, np.array([0.0, 1.0, 0.0])))
    return tuple(hinges)
