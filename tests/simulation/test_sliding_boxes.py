"""A soft box slides over a larger soft slab as Coulomb says: its leading edge has no wall before it (decision 45)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.simulation import World
from support.contact.poses import pose

SIZE, MASS = (0.05, 0.05, 0.03), 0.1
GRAVITY, FRICTION = 9.81, 0.2


def sliding(
    speed: float, *, friction: float = FRICTION, heading: float = 0.0, on_top: bool = True, **contact: float
) -> World:
    """A world of a box that has come to rest on a slab, or of a slab on a fixed box, with a velocity since then."""
    scene = hs.SceneBuilder("slides", time_step=1e-3, contact={"friction": friction, **contact})
    x, y, z = SIZE
    inertia = MASS / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
    if on_top:
        scene.add_static("slab", "box", size=(2.0, 2.0, 0.1), xyz=(0, 0, -0.05))
        scene.add_body("moves", mass=MASS, inertia=inertia, xyz=(0, 0, z / 2)).add_shape("box", size=SIZE)
    else:
        scene.add_static("below", "box", size=SIZE, xyz=(0, 0, -z / 2))
        body = scene.add_body("moves", mass=MASS, inertia=np.eye(3), xyz=(0, 0, 0.05))
        body.add_shape("box", size=(2.0, 2.0, 0.1))
    world = hs.World(scene.build())
    world.step(100)
    world.place("moves", None, [0, 0, 0, speed * math.cos(heading), speed * math.sin(heading), 0])
    return world


@pytest.mark.parametrize("speed", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("heading", [0.0, math.pi / 4, 2.0])
@pytest.mark.parametrize(("dissipation", "bound"), [(0.0, 1e-3), (50.0, 6e-3)])
def test_a_box_slides_on_a_slab(speed: float, heading: float, dissipation: float, bound: float) -> None:
    """With dissipation its narrow faces at 45 degrees, which press by what they are, are damped as they approach."""
    world, steps = sliding(speed, heading=heading, dissipation=dissipation), 100
    world.step(steps)
    expected = speed - FRICTION * GRAVITY * steps * 1e-3
    assert np.linalg.norm(world.v[3:5]) == pytest.approx(expected, abs=bound * speed)
    assert world.frame_pose("moves")[2, 2] == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("on_top", [True, False])
@pytest.mark.parametrize("speed", [0.3, 2.0])
def test_nothing_slows_what_slides_without_friction(on_top: bool, speed: float) -> None:
    """Also if the slab slides over the box: then its faces stay where the box is."""
    world = sliding(speed, friction=0.0, on_top=on_top)
    world.step(100)
    assert world.v[3] == pytest.approx(speed, rel=3e-3)
    assert world.diagnostics()["fast_steps"] == 0


@pytest.mark.parametrize(("speed", "fall"), [(3.0, 0.3), (1.0, 0.3), (2.0, 0.1), (3.0, 0.1)])
@pytest.mark.parametrize("gap", [2.2e-3, 2.6e-3, 3.0e-3])
def test_a_box_that_lands_on_the_run_slides_on(speed: float, fall: float, gap: float) -> None:
    """It loses friction times what stops its fall, and does not come in so deep that its leading edge digs in.

    The rest is damping of the narrow faces at that edge; in steps of 20 µs as much is lost.
    """
    world = sliding(speed)
    world.reset()
    world.place("moves", pose((0.0, 0.0, 0.5 * SIZE[2] + gap)), [0, 0, 0, speed, 0, -fall])
    world.step(80)
    expected = speed - FRICTION * (fall + GRAVITY * world.time)
    assert world.v[3] == pytest.approx(expected, abs=1.1e-2 * speed)
    assert world.frame_pose("moves")[2, 2] == pytest.approx(1.0, abs=1e-8)
    assert world.diagnostics()["fast_steps"] <= 2
