"""A rigid ball, a cylinder or a capsule, for tests of what rolls."""

from __future__ import annotations

import math

import hydro_sim_core as hs

RADIUS, LENGTH, MASS = 0.05, 0.08, 0.5
SHAPES = {
    "sphere": {"radius": RADIUS},
    "cylinder": {"radius": RADIUS, "length": LENGTH},
    "capsule": {"radius": RADIUS, "length": LENGTH},
}
#: Moment of inertia about the axis of rolling over m R^2; a capsule's here is that of a cylinder.
SHARES = {"sphere": 0.4, "cylinder": 0.5, "capsule": 0.5}
LYING = (math.pi / 2, 0.0, 0.0)


def add_round_body(built: hs.SceneBuilder, shape: str, height: float) -> None:
    """Add a round body at a height (m) above the origin, such that it rolls along x."""
    inertia = MASS * RADIUS**2 * SHARES[shape]
    body = built.add_body("body", mass=MASS, inertia=(inertia, inertia, inertia), xyz=(0.0, 0.0, height))
    body.add_shape(shape, **SHAPES[shape], rpy=(0.0, 0.0, 0.0) if shape == "sphere" else LYING)
