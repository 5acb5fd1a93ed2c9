"""Bodies pushed past their medial surface or through thin ones: flagged, and pushed back the way they came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from support.simulation.made_scenes import GROUND, free, make_world, sphere

RADIUS = 0.05
#: Enough to push the ball's centre past the obstacle at this speed, but not the whole ball.
MASS, SPEED = 1.0, 3.0


def ball_on(obstacle: dict[str, Any], speed: float) -> hs.World:
    """A soft ball that touches the top of an obstacle, at z = 0, and moves down."""
    ball = sphere("ball", RADIUS, MASS, modulus=1e5, dissipation=0.0)
    world = make_world(free(ball, (0, 0, RADIUS)), environment=[obstacle])
    v = np.zeros(len(world.v))
    v[5] = -speed
    world.set_state(world.q, v)
    return world


def plate(thickness: float) -> dict[str, Any]:
    """A fixed box with its top at z = 0."""
    return {
        "name": "plate",
        "kind": "box",
        "size": (1.0, 1.0, thickness),
        "xyz": (0.0, 0.0, -0.5 * thickness),
        "compliance": "rigid",
        "friction": 0.5,
    }


def heights(world: hs.World, steps: int) -> np.ndarray:
    """Height of the ball after each of some steps, m."""
    z = []
    for _ in range(steps):
        world.step()
        z.append(world.q[6])
    return np.array(z)


OBSTACLES = {"ground": GROUND, "plate": plate(0.01), "block": plate(0.5)}


@pytest.mark.parametrize("name", OBSTACLES)
def test_ball_past_its_centre_comes_back(name):
    """The pressure falls with the depth there: without recovery nothing or, in the plate, the far side pushes it."""
    world = ball_on(OBSTACLES[name], 4.0)
    z = heights(world, 100)
    assert z.min() < -0.002
    assert z[-1] > RADIUS
    assert world.v[5] > 1.0
    assert world.diagnostics()["deep_steps"] > 0
    assert world.diagnostics()["faceless_steps"] == 0


def test_recovery_does_not_throw_light_bodies():
    """In a step of 18 ms a 3 g ball past its centre moves about as far as it is deep, not at full force throughout."""
    ball = sphere("ball", RADIUS, 0.003, modulus=3e7, dissipation=0.0)
    contact = {"margin": 0.0}  # of a step so long it would stop the fall that is to be seen
    world = make_world(
        free(ball, (0, 0, 0.98 * RADIUS)), environment=[GROUND], time_step=0.018, contact=contact
    )
    world.step()
    world._machine.state.q[6] = -0.1 * RADIUS  # deep, with the memory of how it was pushed
    world.step()
    assert world.diagnostics()["deep_steps"] == 1
    assert 0.0 < world.v[5] < 2.0 * RADIUS / world.time_step


@pytest.mark.parametrize("name", ["ground", "block"])
def test_swallowed_ball_is_reported(name):
    """Wholly inside there is no surface to push on."""
    world = ball_on(OBSTACLES[name], 8.0)
    heights(world, 30)
    assert world.q[6] < -RADIUS
    assert world.diagnostics()["faceless_overlaps"] == 1
    assert world.contact_summary().faceless_overlaps


def test_recovery_is_forgotten_when_the_state_is_set():
    """A ball put into the ground below its centre has come from nowhere."""
    world = ball_on(GROUND, 4.0)
    while world.q[6] > -0.002:
        world.step()
    q = world.q
    world.step()
    assert world.contacts[0].force_on_b[2] != 0.0
    world.set_state(q, np.zeros(len(world.v)))
    world.step()
    assert abs(world.contacts[0].force_on_b[2]) < 1.0
    assert world.contacts[0].quality.is_deep


def test_recovery_repeats_after_reset():
    world = ball_on(GROUND, 4.0)
    q, v = world.q, world.v
    first = heights(world, 60)
    world.reset()
    world.set_state(q, v)
    np.testing.assert_array_equal(heights(world, 60), first)
