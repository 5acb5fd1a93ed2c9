"""A body at rest on rigid ground, to be spun or rolled: what its contact patch transmits shows in how it slows down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

GRAVITY = 9.81
SETTLING_TIME = 0.5


@dataclass(frozen=True)
class RestingBody:
    """A compliant body of any shape, symmetric about the vertical.

    Attributes:
        shape: Kind of its shape, which is centred in the body's frame.
        lengths: Of that shape, m.
        height: Of its centre above what it stands on, undeformed, m.
        mass: kg.
        moment_of_inertia: About any axis through the centre, kg m^2.
        modulus: Pa.
        friction: Of the pair.
        dissipation: Of the pair, s/m.
        resolution: Wanted edges of its mesh, m.
        time_step: s.
    """

    shape: str
    lengths: dict[str, Any]
    height: float
    mass: float
    moment_of_inertia: float
    modulus: float
    friction: float
    dissipation: float
    resolution: float
    time_step: float

    @property
    def weight(self) -> float:
        """N."""
        return self.mass * GRAVITY

    def settled_world(self) -> World:
        """The body on rigid ground, settled."""
        scene = SceneBuilder(
            "resting body",
            time_step=self.time_step,
            gravity=(0.0, 0.0, -GRAVITY),
            contact={
                "modulus": self.modulus,
                "friction": self.friction,
                "dissipation": self.dissipation,
                "resolution_hint": self.resolution,
            },
        )
        scene.add_ground(dissipation=0.0)
        body = scene.add_body(
            "body", self.mass, inertia=3 * (self.moment_of_inertia,), xyz=(0, 0, self.height)
        )
        body.add_shape(self.shape, **self.lengths)
        world = World(scene.build())
        world.step(round(SETTLING_TIME / self.time_step))
        return world
