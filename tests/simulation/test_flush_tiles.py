"""Rigid boxes slide over seams of flush bodies as over one floor, and real steps stop them."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs

G = 9.81
TILE = 0.1


def slide(
    time_step: float,
    *,
    speed: float = 1.0,
    yaw: float = 0.0,
    friction: float = 0.0,
    start: float = 0.0,
    higher: float = 0.0,
    mass: float = 1.0,
    seconds: float = 0.25,
) -> tuple[hs.World, float]:
    """Slide a box over flush tiles, the fourth of which is ``higher`` (m); also tell how far it left its height, m."""
    scene = hs.SceneBuilder(
        "tiles", time_step=time_step, contact={"compliance": "rigid", "friction": friction}
    )
    for i in range(14):
        top = higher if i == 4 else 0.0
        scene.add_static(f"tile{i}", "box", size=(TILE, 1.0, 0.1), xyz=(TILE * (i - 1 + 0.5), 0, top - 0.05))
    scene.add_body("box", mass, xyz=(start, 0, 0.025), rpy=(0, 0, yaw)).add_shape(
        "box", size=(0.1, 0.1, 0.05)
    )
    world = hs.World(scene.build())
    world.step(round(0.02 / time_step))
    world.place("box", world.frame_pose("box"), [0, 0, 0, speed, 0, 0])
    off = 0.0
    for _ in range(round(seconds / time_step)):
        world.step()
        off = max(off, abs(float(world.frame_pose("box")[2, 3]) - 0.025))
    return world, off


@pytest.mark.heavy(4)
@pytest.mark.parametrize("start", [0.0, 0.0137])
@pytest.mark.parametrize("speed", [0.05, 1.0, 3.0])
@pytest.mark.parametrize("yaw", [0.0, 0.3])
@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
def test_a_box_slides_over_seams_without_friction(
    time_step: float, yaw: float, speed: float, start: float
) -> None:
    """Sides that lie flush with a seam at a step, too: it kept 0.4 to 0.8 of 1 m/s at 10 ms and turned by 3 rad/s."""
    world, off = slide(time_step, speed=speed, yaw=yaw, start=start)
    np.testing.assert_allclose(world.v, [0, 0, 0, speed, 0, 0], rtol=0, atol=1e-6)
    assert off < 1e-8


@pytest.mark.parametrize("speed", [1.0, 3.0])
@pytest.mark.parametrize("yaw", [0.0, 0.3])
@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
def test_seams_do_not_add_to_friction(time_step: float, yaw: float, speed: float) -> None:
    """In a step of 10 ms a box of 0.1 m moves onto a tile that does not carry it yet: 0.3 % of friction, and a turn."""
    world, off = slide(time_step, speed=speed, yaw=yaw, friction=0.3, start=0.0137)
    share = 0.3 * time_step
    assert world.v[3] == pytest.approx(speed - 0.25 * 0.3 * G, abs=share)
    np.testing.assert_allclose(world.v[:3], 0, rtol=0, atol=5 * share)
    assert off < 1e-8


@pytest.mark.parametrize("mass", [1e-3, 1e3])
def test_light_and_heavy_boxes_slide_over_seams(mass: float) -> None:
    world, off = slide(1e-2, yaw=0.3, mass=mass)
    np.testing.assert_allclose(world.v, [0, 0, 0, 1, 0, 0], rtol=0, atol=1e-6)
    assert off < 1e-6


@pytest.mark.heavy(4)
@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
@pytest.mark.parametrize(
    ("yaw", "higher"), [(0.0, 1e-3), (0.3, 1e-3), (0.0, 1e-4), (0.1, 1e-4), (0.3, 1e-4), (0.6, 2e-4)]
)
def test_a_higher_tile_stops_a_box(higher: float, yaw: float, time_step: float) -> None:
    """It hits it with its front or a corner: it stops, tips or turns, and what is left is slower.

    A corner climbed steps of 0.1 mm while upright faces pressed with their neighbours. At yaw 0.6 and 10 ms it still
    climbs one of 0.1 mm, for it is pressed in by most of that.
    """
    world, _ = slide(time_step, yaw=yaw, higher=higher, start=0.1, seconds=0.2)
    assert world.v[3] < 0.6
    assert world.energies().kinetic < 0.3
    assert world.energies().total < 0.5 + G * 0.025 + 1e-3


@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
@pytest.mark.parametrize("speed", [0.05, 1.0])
def test_a_tile_stops_a_box_beside_it(time_step: float, speed: float) -> None:
    """Flush with its top, a box in the air meets the side of a tile: no other body explains their overlap."""
    scene = hs.SceneBuilder(
        "side", time_step=time_step, contact={"compliance": "rigid", "friction": 0.0}, gravity=(0, 0, 0)
    )
    scene.add_static("tile", "box", size=(0.1, 0.1, 0.1), xyz=(0.11, 0, 0))
    scene.add_body("box", 1.0).add_shape("box", size=(0.1, 0.1, 0.1))
    world = hs.World(scene.build())
    world.place("box", world.frame_pose("box"), [0, 0, 0, speed, 0, 0])
    world.step(round(0.5 / time_step))
    assert abs(world.v[3]) < 1e-2 * speed
    assert world.frame_pose("box")[0, 3] == pytest.approx(0.01, abs=2e-3)


def test_a_box_pushed_over_seams_moves_with_the_force() -> None:
    """From rest with a side flush with a seam, where there is no speed to tell a wall by."""
    scene = hs.SceneBuilder("pushed", time_step=1e-2, contact={"compliance": "rigid", "friction": 0.0})
    for i in range(10):
        scene.add_static(f"tile{i}", "box", size=(TILE, 1.0, 0.1), xyz=(TILE * (i - 0.5), 0, -0.05))
    scene.add_body("box", 1.0, xyz=(0.05, 0, 0.025)).add_shape("box", size=(0.1, 0.1, 0.05))
    world = hs.World(scene.build())
    world.apply_wrench("box", [0, 0, 0, 2, 0, 0])
    world.step(50)
    assert world.v[3] == pytest.approx(1.0, abs=0.025)
    assert abs(world.v[1]) < 1e-6
