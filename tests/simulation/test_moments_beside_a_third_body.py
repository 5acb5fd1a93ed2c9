"""Faces of which a third body takes a part keep the moments of the rest."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs

LENGTH, WIDTH, HEIGHT, MODULUS = 0.2, 0.1, 0.05, 1e6
MASS, OFF, G = 0.4, 0.01, 9.81


def on_soft_ground(tile: float, at: float, **settings: float) -> hs.World:
    """A soft box on soft ground, into which a rigid tile of this width is let flush ``at`` (m) along x."""
    scene = hs.SceneBuilder("tile", **settings)
    scene.add_ground(compliance="compliant", modulus=MODULUS, slab_thickness=0.05)
    scene.add_static("tile", "box", xyz=(at, 0.0, -0.01), size=(tile, tile, 0.02), compliance="rigid")
    body = scene.add_body(
        "body", MASS, inertia=(4e-4, 1.4e-3, 1.7e-3), center_of_mass=(OFF, 0.0, 0.0), xyz=(0, 0, 0.5 * HEIGHT)
    )
    body.add_shape("box", size=(LENGTH, WIDTH, HEIGHT), compliance="compliant", modulus=MODULUS)
    return hs.World(scene.build())


def tilt_at_rest(tile: float, at: float) -> float:
    world = on_soft_ground(tile, at, time_step=1e-3, contact={"friction": 0.5, "dissipation": 50.0})
    world.step(1500)
    assert np.abs(world.v).max() < 1e-8
    return -float(world.frame_pose("body")[2, 0])


def test_a_pin_under_a_box_does_not_change_its_tilt():
    """The pin covers 0.02 % of the patch; with faces beside it at their centroids it tilted half as far again."""
    alone = tilt_at_rest(0.002, 1.0)
    assert tilt_at_rest(0.002, 0.0) == pytest.approx(alone, rel=1e-5)
    assert tilt_at_rest(0.006, 0.0) == pytest.approx(alone, rel=1e-5)


def test_moments_do_not_jump_as_a_box_moves_over_a_pin():
    """They fell by a quarter within nothing, and came back."""
    world = on_soft_ground(0.002, 0.0, time_step=1e-6, gravity=(0.0, 0.0, 0.0), contact={"friction": 0.0})
    moments = []
    for x in np.linspace(-0.015, 0.015, 61):
        world.place("body", pose(x, 2.5e-4), np.zeros(6))
        world.step()
        moments.append(1.4e-3 * float(world.v[1]) / 1e-6)
    assert abs(moments[0]) > 0.05
    assert np.abs(np.diff(moments)).max() < 1e-3 * abs(moments[0])


def pose(x: float, half: float) -> np.ndarray:
    """The box turned about y by twice an angle (rad), its middle 0.1 mm in the ground."""
    c, s = np.cos(2.0 * half), np.sin(-2.0 * half)
    X = np.eye(4)
    X[:3, :3] = [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]
    X[:3, 3] = X[:3, :3] @ [0.0, 0.0, 0.5 * HEIGHT] + [x, 0.0, -1e-4]
    return X
