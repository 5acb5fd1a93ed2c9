"""A compliant box that lies flat on rigid ground: what the experiments with it share, and its closed forms.

The pressure of the box's field rises linearly from its underside to its middle plane, so that the box stands on springs
of the stiffness E / (height / 2) an area (Winkler's foundation). Its sides press, too, but only as deep as it sinks in:
at a modulus of 10 GPa over a strip of nanometres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hydro_sim_core.description.scene_builder import SceneBuilder
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.assembly.step_margin import StepMargin

GRAVITY = 9.81
SIZE = (0.2, 0.15, 0.08)
MASS = 2.4
#: Moments of inertia about the centre of mass, kg m^2: those of a homogeneous box.
INERTIA = tuple(MASS / 12.0 * (sum(b * b for b in SIZE) - a * a) for a in SIZE)


@dataclass(frozen=True)
class FlatBox:
    """The box and where its centre of mass is.

    Attributes:
        modulus: Modulus, Pa.
        off: Distance of the centre of mass from the middle along the short side, m; it lies at half of the height.
    """

    modulus: float
    off: float = 0.0

    @property
    def bedding(self) -> float:
        """Stiffness of the foundation, N/m^3."""
        return self.modulus / (0.5 * SIZE[2])

    @property
    def depth(self) -> float:
        """Depth to which it sinks in at rest, m."""
        return MASS * GRAVITY / (self.bedding * SIZE[0] * SIZE[1])

    @property
    def resistance(self) -> float:
        """Moment that resists a tilt about the long axis, N m/rad: that of the foundation less that of the weight."""
        second_moment = SIZE[0] * SIZE[1] ** 3 / 12.0
        return self.bedding * second_moment - MASS * GRAVITY * 0.5 * SIZE[2]

    def default_margin(self, time_step: float) -> float:
        """Margin of the box in a scene that names none, m."""
        return StepMargin(time_step)(0.5 * np.array([SIZE, SIZE]) * [[-1.0], [1.0]], self.modulus)

    @property
    def tilt(self) -> float:
        """Tilt at rest towards the side with the centre of mass, rad.

        Beyond the middle third the other edge is lifted. What is left under pressure is three times as wide as the line
        of the weight is away from the edge, and the pressure there is twice the mean.
        """
        if self.off <= SIZE[1] / 6.0:
            return MASS * GRAVITY * self.off / self.resistance
        tilt = 0.0
        # The tilt moves the line of the weight by a share of it that is far below one.
        for _ in range(50):
            width = 3.0 * (0.5 * SIZE[1] - self.off - 0.5 * SIZE[2] * tilt)
            tilt = 2.0 * MASS * GRAVITY / (self.bedding * SIZE[0] * width**2)
        return tilt

    def world(
        self,
        solver: dict[str, Any],
        time_step: float,
        *,
        height: float | None = None,
        tilt: float = 0.0,
        **contact: Any,
    ) -> World:
        """A world with the box, at rest.

        Args:
            solver: Section ``solver`` of the scene.
            time_step: Time step, s.
            height: Of the underside above the ground, m; by default as deep as it rests.
            tilt: About the long axis, rad.
            contact: More of the section ``contact``; with ``margin=None`` the box has the margin of a scene that names
                none.
        """
        defaults = {"modulus": self.modulus, "margin": 0.0, "friction": 0.0, **contact}
        scene = SceneBuilder("flat box", time_step=time_step, contact=defaults, solver=solver)
        scene.add_ground()
        z = 0.5 * SIZE[2] + (-self.depth if height is None else height)
        body = scene.add_body(
            "box",
            mass=MASS,
            inertia=INERTIA,
            center_of_mass=(0.0, self.off, 0.0),
            xyz=(0.0, 0.0, z),
            rpy=(tilt, 0.0, 0.0),
        )
        body.add_shape("box", size=SIZE)
        return World(scene.build())


def tilt_of(world: World) -> float:
    """Tilt of the box about the world's x axis, rad."""
    X_WB = world.frame_pose("box")
    return float(np.arctan2(X_WB[2, 1], X_WB[2, 2]))
