"""Soft bodies that begin to slide within a step do not run into the sides of the dents in which they lie.

The faces of a step were loaded for how bodies slide before it. Whoever was struck, or lay on what started, was braked,
dragged, lifted and tipped by the sides of its own dent, without friction as well.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import hydro_sim_core as hs

GRAVITY = 9.81


def box_on_tray(time_step: float, friction: float, base: str = "kinematic") -> hs.World:
    """A soft box of 1 kg at rest on a soft tray, both with the default modulus."""
    scene = hs.SceneBuilder("tray", time_step=time_step, contact={"friction": friction})
    tray = scene.add_model("tray", base=base)
    tray.add_link("plate").add_shape("box", size=(4, 1, 0.1), xyz=(0, 0, -0.05))
    scene.add_body("box", mass=1.0, xyz=(0, 0, 0.05)).add_shape("box", size=3 * (0.1,))
    world = hs.World(scene.build())
    world.step(round(0.3 / time_step))
    return world


@pytest.mark.parametrize("time_step", [1e-3, 5e-3, 1e-2])
def test_a_box_that_is_struck_takes_all_of_the_impulse(time_step: float) -> None:
    """It took 0.985 of it in 1 ms, 0.707 in 5 ms and 0.589 in 10 ms, and left the table with 0.007 to 0.31 m/s."""
    world = box_on_tray(time_step, friction=0.0, base="fixed")
    world.apply_wrench("box", [0, 0, 0, 1.0 / time_step, 0, 0])
    world.step()
    twist = world.frame_twist("box")
    assert twist[3] == pytest.approx(1.0, abs=5e-4)
    assert np.abs(twist[[0, 1, 2, 4, 5]]).max() < 1e-4


@pytest.mark.parametrize("time_step", [1e-3, 2e-3, 1e-2])
def test_a_tray_that_starts_drags_a_box_by_friction_alone(time_step: float) -> None:
    """At 2 ms the box had 0.92 m/s after 0.1 s, and turned over."""
    friction, duration = 0.5, 0.1
    world = box_on_tray(time_step, friction)
    for _ in range(round(duration / time_step)):
        world.move("tray", V_WB=[0, 0, 0, 1.0, 0, 0])
        world.step()
    twist = world.frame_twist("box")
    assert twist[3] == pytest.approx(friction * GRAVITY * duration, rel=0.015)
    assert np.abs(twist[[0, 1, 2, 4, 5]]).max() < 2e-3


@pytest.mark.parametrize("time_step", [1e-3, 5e-3])
def test_a_smooth_shaken_tray_leaves_a_box_where_it_is(time_step: float) -> None:
    """It moved the box at up to 0.15 m/s, and lifted it by 0.8 mm."""
    world = box_on_tray(time_step, friction=0.0)
    height, fastest, highest = world.frame_pose("box")[2, 3], 0.0, 0.0
    for n in range(1, round(0.5 / time_step)):
        way = [0.01 * math.sin(20.0 * math.pi * k * time_step) for k in (n - 1, n)]
        world.move("tray", V_WB=[0, 0, 0, (way[1] - way[0]) / time_step, 0, 0])
        world.step()
        fastest = max(fastest, abs(world.frame_twist("box")[3]))
        highest = max(highest, world.frame_pose("box")[2, 3] - height)
    assert fastest < 2e-3
    assert highest < 5e-7


def test_what_slides_otherwise_changes_no_digit_elsewhere() -> None:
    """Steps are solved again for bodies that slide otherwise than foreseen, and for no others."""

    def states(strikes: bool) -> list[bytes]:
        scene = hs.SceneBuilder("two tables", time_step=2e-3, contact={"friction": 0.3})
        for name, x in (("here", 0.0), ("there", 5.0)):
            scene.add_static(name, "box", size=(2, 1, 0.1), xyz=(x, 0, -0.05))
        scene.add_body("struck", mass=1.0, xyz=(5, 0, 0.05)).add_shape("box", size=3 * (0.1,))
        scene.add_body("lies", mass=1.0, xyz=(0, 0, 0.05)).add_shape("box", size=3 * (0.1,))
        tumbling = scene.add_body("tumbles", mass=1.0, xyz=(0.5, 0, 0.15), rpy=(0.4, 0.3, 0))
        tumbling.add_shape("box", size=(0.1, 0.07, 0.1))
        world, found = hs.World(scene.build()), []
        for k in range(150):
            world.apply_wrench("struck", [0, 0, 0, 500.0, 0, 0] if strikes and k % 20 == 10 else None)
            world.step()
            found.append(world.frame_pose("lies").tobytes() + world.frame_pose("tumbles").tobytes())
        return found

    assert states(strikes=True) == states(strikes=False)
