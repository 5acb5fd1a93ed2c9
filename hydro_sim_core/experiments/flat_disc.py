"""A compliant disc that stands on rigid ground, and the closed form of its tilt: see ``flat_box``.

Its end is a polygon, meshed by a fan of wedges as long as the radius, so that faces are as large as the patch however
many edges it has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hydro_sim_core.description.scene_builder import SceneBuilder
from hydro_sim_core.experiments.flat_box import GRAVITY, MASS
from hydro_sim_core.simulation import World

RADIUS, LENGTH = 0.08, 0.04
#: Edges of the disc.
SIDES = 26
#: Moments of inertia about the centre of mass, kg m^2: about a diameter and the axis.
INERTIA = (MASS * (3.0 * RADIUS**2 + LENGTH**2) / 12.0,) * 2 + (0.5 * MASS * RADIUS**2,)


@dataclass(frozen=True)
class FlatDisc:
    """The disc and where its centre of mass is.

    Attributes:
        modulus: Modulus, Pa.
        off: Distance of the centre of mass from the axis, along y, m; it lies at half of the length.
    """

    modulus: float
    off: float

    @property
    def tilt(self) -> float:
        """Tilt at rest towards the centre of mass, rad; the whole end presses."""
        area = 0.5 * SIDES * RADIUS**2 * math.sin(2.0 * math.pi / SIDES)
        # A regular polygon resists a tilt about every axis alike.
        second_moment = area * RADIUS**2 * (2.0 + math.cos(2.0 * math.pi / SIDES)) / 12.0
        bedding = self.modulus / (0.5 * LENGTH)
        return MASS * GRAVITY * self.off / (bedding * second_moment - MASS * GRAVITY * 0.5 * LENGTH)

    def world(self, time_step: float) -> World:
        """A world with the disc as deep as it rests."""
        contact = {"modulus": self.modulus, "margin": 0.0, "friction": 0.5}
        scene = SceneBuilder("flat disc", time_step=time_step, contact=contact)
        scene.add_ground()
        depth = MASS * GRAVITY * 0.5 * LENGTH / (self.modulus * math.pi * RADIUS**2)
        body = scene.add_body(
            "box",
            mass=MASS,
            inertia=INERTIA,
            center_of_mass=(0.0, self.off, 0.0),
            xyz=(0.0, 0.0, 0.5 * LENGTH - depth),
        )
        # Between the lengths of an edge at which there are as many and one more.
        body.add_shape(
            "cylinder", radius=RADIUS, length=LENGTH, resolution_hint=2.0 * math.pi * RADIUS / (SIDES - 0.5)
        )
        return World(scene.build())
