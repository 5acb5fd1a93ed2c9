"""A body at rest on rigid ground, to measure the moments of its contact patch when it spins or rolls."""

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
        lengths: Lengths of the shape, m.
        height: Height of its centre above its lowest point, undeformed, m.
        mass: Mass, kg.
        moment_of_inertia: Moment of inertia about any axis through the centre, kg m^2.
        modulus: Hydroelastic modulus, Pa.
        friction: Coefficient of friction of the pair.
        dissipation: Hunt-Crossley dissipation of the pair, s/m.
        resolution: Edge length of its mesh, m.
        time_step: Time step, s.
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
        """Weight, N."""
        return self.mass * GRAVITY

    def settled_world(self) -> World:
        """Make a world with the body settled on rigid ground."""
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
