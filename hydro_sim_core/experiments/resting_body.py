"""A body at rest on rigid ground, to be spun or rolled: what its contact patch transmits shows in how it slows down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description import LoadedScene, SceneSpec
from hydro_sim_core.description.scene import ContactDefaults, ContactSettings, ModelSpec, PoseSpec
from hydro_sim_core.description.spec import (
    CollisionSpec,
    InertialSpec,
    LinkSpec,
    ProximitySpec,
    RobotSpec,
    ShapeSpec,
)
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

GRAVITY = 9.81
SETTLING_TIME = 0.5


@dataclass(frozen=True)
class RestingBody:
    """A compliant body of any shape, symmetric about the vertical.

    Attributes:
        shape: Shape centred in the body's frame.
        height: Of its centre above what it stands on, undeformed, m.
        mass: kg.
        moment_of_inertia: About any axis through the centre, kg m^2.
        modulus: Pa.
        friction: Of the pair.
        dissipation: Of the pair, s/m.
        resolution: Wanted edges of its mesh, m.
        time_step: s.
    """

    shape: ShapeSpec
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
        link = LinkSpec(
            name="body",
            inertial=InertialSpec(self.mass, np.zeros(3), self.moment_of_inertia * np.eye(3)),
            collisions=(CollisionSpec("body", self.shape, np.eye(4)),),
        )
        ground = CollisionSpec(
            "ground", ShapeSpec("half_space"), np.eye(4), ProximitySpec(compliance="rigid", dissipation=0.0)
        )
        start = PoseSpec(xyz=(0.0, 0.0, self.height))
        spec = SceneSpec(
            name="resting body",
            time_step=self.time_step,
            gravity=(0.0, 0.0, -GRAVITY),
            models=(ModelSpec(name="body", urdf="none", base="floating", pose=start),),
            contact=ContactSettings(
                defaults=ContactDefaults(
                    modulus=self.modulus,
                    mu_dynamic=self.friction,
                    dissipation=self.dissipation,
                    resolution_hint=self.resolution,
                )
            ),
        )
        robot = RobotSpec(name="body", links=(link,), joints=(), source="resting body")
        world = World(LoadedScene(spec, (robot,), ({},), (ground,), source=Path("resting body")))
        world.step(round(SETTLING_TIME / self.time_step))
        return world
