"""Compliant balls without damping, in the air or above rigid ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hydro_sim_core.contact import compute_patch
from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.simulation import World

Model = Literal["continuous", "lagged", "similar", "sap", "tamsi"]
Point = tuple[float, float, float]

GRAVITY = 9.81
#: Radius and mass of a ball, m and kg.
RADIUS, MASS = 0.1, 0.7
#: Moment of inertia of a ball about its centre of mass, kg m^2.
INERTIA = 0.4 * MASS * RADIUS**2


@dataclass(frozen=True)
class Balls:
    """Properties of balls and settings of their simulation.

    Attributes:
        model: Solver model.
        time_step: Time step, s; for the continuous model, the interval between reported states.
        modulus: Hydroelastic modulus, Pa.
        friction: Coefficient of friction of every pair.
        dissipation: Hunt-Crossley damping, s/m.
        gravity: Gravity, m/s^2, downwards.
        has_ground: Whether there is rigid ground at height 0.
        offset: From the centre of mass to the middle of the sphere, along -x of the ball, m.
        resolution: Edge length asked for in the spheres' meshes, m.
        accuracy: Accuracy of the continuous model.
    """

    model: Model
    time_step: float
    modulus: float
    friction: float = 0.0
    dissipation: float = 0.0
    gravity: float = 0.0
    has_ground: bool = True
    offset: float = 0.0
    resolution: float = 0.01
    accuracy: float = 1e-6

    def world(self, *starts: Point) -> World:
        """Make a world with a ball at rest at each of ``starts`` (centre of mass, m)."""
        scene = SceneBuilder(
            "balls",
            time_step=self.time_step,
            gravity=(0.0, 0.0, -self.gravity),
            solver={
                "model": self.model,
                **({"accuracy": self.accuracy} if self.model == "continuous" else {}),
            },
            contact={
                "modulus": self.modulus,
                "resolution_hint": self.resolution,
                "friction": self.friction,
                "dissipation": self.dissipation,
            },
        )
        for i, start in enumerate(starts):
            ball = scene.add_body(
                f"ball{i}", MASS, center_of_mass=(0, 0, 0), inertia=3 * (INERTIA,), xyz=start
            )
            ball.add_shape("sphere", radius=RADIUS, xyz=(-self.offset, 0.0, 0.0))
        if self.has_ground:
            scene.add_ground()
        return World(scene.build())


def energies(world: World, gravity: float) -> tuple[float, float, float]:
    """Kinetic, potential and elastic energy of one ball above ground, J."""
    kinetic = 0.5 * float(world.v @ world.mass_matrix() @ world.v)
    ball, ground = world.built.colliders
    X_WS = world.frame_pose("ball0") @ ball.X_BG
    stored = compute_patch(ball.geometry, X_WS, ground.geometry, np.eye(4)).energy
    return kinetic, MASS * gravity * float(world.q[6] - RADIUS), stored


def first_velocity(world: World, *velocities: Sequence[float]) -> None:
    """Give each ball an angular (rad/s) and a linear velocity (m/s), six numbers."""
    world.set_state(world.q, np.concatenate(velocities))
