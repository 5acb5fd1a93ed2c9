"""Boxes that are loaded off the middle of their contact: they tilt as a linear pressure lets them, and lie still."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs

G = 9.81
MASS, LENGTH, WIDTH, HEIGHT = 1.0, 0.1, 0.06, 0.06
#: Rise of the pressure of a rigid body's skin, Pa/m.
SKIN = 1e13
RIGID = {"compliance": "rigid"}


def over_edge(
    inside: float, time_step: float = 1e-3, representation: str = "polygon", **shape: Any
) -> hs.World:
    """A box whose centre of mass is by ``inside`` (m) on a table that ends at x = 0."""
    scene = hs.SceneBuilder(
        "edge", time_step=time_step, contact={"friction": 0.5}, representation=representation
    )
    scene.add_static("table", "box", size=(0.4, 0.4, 0.1), xyz=(-0.2, 0.0, -0.05), **{**RIGID, **shape})
    body = scene.add_body("box", MASS, xyz=(-inside, 0.0, 0.5 * HEIGHT))
    body.add_shape("box", size=(LENGTH, WIDTH, HEIGHT), **RIGID)
    return hs.World(scene.build())


def tilt_of_linear_pressure(inside: float, slope: float = SKIN) -> float:
    """Tilt of the box over the edge, rad, where the pressure is ``slope`` (Pa/m) times the depth."""
    patch = 0.5 * LENGTH + inside
    off = 0.5 * patch - inside
    if off <= patch / 6.0:
        return MASS * G * off / (slope * WIDTH * patch**3 / 12.0)
    return MASS * G / (0.5 * slope * WIDTH * (3.0 * inside) ** 2)


def highest_energy(world: hs.World, seconds: float, looks: int) -> float:
    """Largest energy at some times, J above that before."""
    before = world.energies().total
    most = 0.0
    for _ in range(looks):
        world.step(max(1, round(seconds / looks / world.time_step)))
        most = max(most, world.energies().total - before)
    return most


@pytest.mark.parametrize("representation", ["polygon", "triangle"])
@pytest.mark.parametrize("time_step", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("inside", [0.03, 0.02, 0.01, 0.005])
def test_a_box_over_an_edge_lies_still(inside: float, time_step: float, representation: str) -> None:
    """With faces that pressed at their centroids it rocked at up to 3e-3 rad/s for ever, every step taken in pieces."""
    world = over_edge(inside, time_step, representation)
    seconds = 1.0 if time_step > 1e-4 else 0.3
    assert highest_energy(world, seconds, 50) == 0.0
    pieces = world.diagnostics()["fast_steps"]
    fastest = 0.0
    for _ in range(20):
        world.step()
        fastest = max(fastest, float(np.abs(world.v).max()))
    assert fastest < 1e-10
    assert world.diagnostics()["fast_steps"] == pieces
    tilt = -world.frame_pose("box")[2, 0]
    # The margin around the table's skin rounds the edge by a part of itself.
    assert tilt == pytest.approx(tilt_of_linear_pressure(inside), rel=5e-3)


def test_a_box_tips_over_an_edge_that_its_centre_of_mass_is_beyond() -> None:
    world = over_edge(-0.005)
    world.step(300)
    assert -world.frame_pose("box")[2, 0] > 0.3


@pytest.mark.parametrize("share", [0.9, 0.99])
def test_a_box_that_is_pushed_high_up_stays(share: float) -> None:
    """By a share of the force that would tip it; friction holds it, and creeps as slowly as the scene asks for."""
    world = hs.World(_pushed().build())
    force = share * MASS * G * 0.5 * LENGTH / HEIGHT
    world.apply_wrench("box", [0.0, 0.5 * HEIGHT * force, 0.0, force, 0.0, 0.0])
    world.step(1000)
    assert np.abs(world.v[:3]).max() < 1e-7
    assert np.abs(world.v[3:]).max() < 1e-8


def _pushed() -> hs.SceneBuilder:
    scene = hs.SceneBuilder(
        "pushed", time_step=1e-3, contact={**RIGID, "friction": 1.5}, solver={"stiction_speed": 1e-8}
    )
    scene.add_static("table", "box", size=(0.6, 0.4, 0.1), xyz=(0.0, 0.0, -0.05))
    scene.add_body("box", MASS, xyz=(0.0, 0.0, 0.5 * HEIGHT)).add_shape("box", size=(LENGTH, WIDTH, HEIGHT))
    return scene


@pytest.mark.parametrize("shape", [{"compliance": "compliant", "modulus": 1e7}, {"point_stiffness": 1e6}])
@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
def test_a_box_on_a_table_that_yields_gains_no_energy(time_step: float, shape: dict[str, object]) -> None:
    """It gained 2 mJ, tipped and fell off."""
    world = over_edge(0.005, time_step, **shape)
    assert highest_energy(world, 1.0, 100) == 0.0
    assert 0.0 < -world.frame_pose("box")[2, 0] < 0.02


def test_a_box_that_spins_on_the_spot_is_braked_by_its_mean_lever() -> None:
    """Each of the few faces rubbed at its centroid: 0.87 of that for a square."""
    scene = hs.SceneBuilder("spin", time_step=1e-3, contact={**RIGID, "friction": 0.5})
    scene.add_ground()
    edge = 0.1
    scene.add_body("box", MASS, xyz=(0.0, 0.0, 0.01)).add_shape("box", size=(edge, edge, 0.02))
    world = hs.World(scene.build())
    world.step(10)
    world.place("box", V_WB=[0.0, 0.0, 20.0, 0.0, 0.0, 0.0])
    world.step(20)
    inertia = MASS * edge**2 / 6.0
    mean_lever = edge * (np.sqrt(2.0) + np.arcsinh(1.0)) / 6.0
    lost = (20.0 - world.v[2]) / 0.02
    assert lost == pytest.approx(0.5 * MASS * G * mean_lever / inertia, rel=0.02)
