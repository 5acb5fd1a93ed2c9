"""Bodies pushed past their medial surface or through thin ones: flagged, and pushed back the way they came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_scenes import GROUND, box, free, make_world, sphere

import hydro_sim_core as hs

RADIUS = 0.05
#: Enough to push the ball's centre past the obstacle at this speed, but not the whole ball.
MASS, SPEED = 1.0, 3.0
STEP = {"solver": {"time_step": 1e-3}}


def ball_on(folder: Path, obstacle: dict[str, Any], speed: float) -> hs.World:
    """A soft ball that touches the top of an obstacle, at z = 0, and moves down."""
    ball = sphere("ball", RADIUS, MASS, modulus=1e5, dissipation=0.0)
    world = make_world(folder, free(ball, (0, 0, RADIUS)), environment=[obstacle])
    v = np.zeros(len(world.v))
    v[5] = -speed
    world.set_state(world.q, v)
    return world


def plate(thickness: float, **proximity: Any) -> dict[str, Any]:
    """A fixed box with its top at z = 0."""
    return {
        "name": "plate",
        "shape": {"box": {"size": [1.0, 1.0, thickness]}},
        "pose": {"xyz": [0.0, 0.0, -0.5 * thickness]},
        "proximity": {"compliance": "rigid", "mu_dynamic": 0.5, **proximity},
    }


def heights(world: hs.World, steps: int) -> np.ndarray:
    """Height of the ball after each of some steps, m."""
    z = []
    for _ in range(steps):
        world.step()
        z.append(world.q[2])
    return np.array(z)


def test_names(tmp_path):
    world = ball_on(tmp_path, GROUND, 1.0)
    print(world.velocity_names, world.q, world.v)
    for s in (1.0, 2.0, 3.0, 4.0, 5.0):
        for name, o in (("ground", GROUND), ("plate", plate(0.01)), ("soft", plate(0.5, compliance="compliant", hydroelastic_modulus=1e7)), ("thick", plate(0.5))):
            world = ball_on(tmp_path, o, s)
            z = heights(world, 200)
            print(s, name, z.min(), z[-1], world.diagnostics())
    assert 0
