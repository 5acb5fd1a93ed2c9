"""Boxes tilt as on an elastic foundation however finely what carries them is meshed, and slide over it unhindered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh

import hydro_sim_core as hs
from hydro_sim_core.rotations import quaternions_of

G = 9.81
SIZE, MASS, MODULUS = np.array([0.2, 0.15, 0.08]), 2.4, 1e9
INERTIA = MASS / 12.0 * (np.square(SIZE).sum() - np.square(SIZE))
#: Of the centre of mass, along x, m.
OFF = 0.01
#: Where the box stands in the cells of a floor: over some, and all in one.
PLACES = [(0.23, 0.19), (0.125, 0.12)]


def floor(path: Path, count: int, cell: float) -> Path:
    """A flat sheet of squares, each two triangles."""
    x = (np.arange(count + 1) - 0.5 * count) * cell
    vertices = np.array([[a, b, 0.0] for a in x for b in x])
    corner = np.array([[i * (count + 1) + j for j in range(count)] for i in range(count)]).ravel()[:, None]
    first, second = (corner + np.array(three) for three in ([0, count + 1, count + 2], [0, count + 2, 1]))
    trimesh.Trimesh(vertices, np.vstack([first, second]), process=False).export(path)
    return path


@pytest.mark.parametrize("margin", [0.0, 1e-5, None], ids=["no margin", "narrow margin", "default margin"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("count", [4, 20])
def test_a_box_on_a_floor_of_cells_tilts_as_on_an_elastic_foundation(tmp_path, count, place, margin):
    """In cells larger than itself; of more than 64 triangles by 1.35 times as far.

    A narrow margin makes narrow faces along the edges, of little area, but long: 4e-5 of the tilt was theirs.
    """
    scene = hs.SceneBuilder("floor", time_step=1e-3, contact={"friction": 0.5, "margin": margin})
    scene.add_static(
        "floor", "mesh", path=str(floor(tmp_path / "floor.obj", count, 0.25)), compliance="rigid"
    )
    foundation = MODULUS / (0.5 * SIZE[2])
    depth = MASS * G / (foundation * SIZE[0] * SIZE[1])
    body = scene.add_body(
        "box",
        MASS,
        inertia=tuple(INERTIA),
        center_of_mass=(OFF, 0.0, 0.0),
        xyz=(*place, 0.5 * SIZE[2] - depth),
    )
    body.add_shape("box", size=tuple(SIZE), modulus=MODULUS)
    world = hs.World(scene.build())
    world.step(500)
    tilt = -world.frame_pose("box")[2, 0]
    assert tilt == pytest.approx(MASS * G * OFF / (foundation * SIZE[1] * SIZE[0] ** 3 / 12.0), rel=1e-5)
    assert np.abs(world.v).max() < 1e-10


CORNERS = 0.5 * SIZE * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def largest_changes(world: hs.World, steps: int) -> np.ndarray:
    """Tilt a heavy box, at rest before every step, from flat to 20 mrad, with its lowest corner 2 mm deep.

    Returns:
        Largest changes (6,) from step to step of its moment over 0.1 m and force, as shares of the largest force.
    """
    wrenches = []
    for angle in np.linspace(0.0, 0.02, steps):
        c, s, b, a = np.cos(angle), np.sin(angle), np.cos(0.003), np.sin(0.003)
        R = np.array([[b, 0, a], [0, 1, 0], [-a, 0, b]]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        place = (0.001, 0.002, -2e-3 - (CORNERS @ R.T)[:, 2].min())
        world.set_state(np.append(np.roll(quaternions_of(R), 1), place), np.zeros(6))
        world.step()
        wrenches.append(world.v * [10.0, 10.0, 10.0, 1.0, 1.0, 1.0])
    return np.abs(np.diff(wrenches, axis=0)).max(axis=0) / np.abs(np.array(wrenches)[:, 5]).max()


def test_moments_do_not_jump_as_a_patch_grows(tmp_path):
    """A patch of many cells presses at their centroids, a strip of them at all their points."""
    scene = hs.SceneBuilder(
        "grows", time_step=1e-6, gravity=(0, 0, 0), contact={"friction": 0.0, "margin": 0.0}
    )
    path = str(floor(tmp_path / "floor.obj", 13, 0.03))
    scene.add_static("floor", "mesh", path=path, compliance="rigid")
    body = scene.add_body("box", mass=1e6, inertia=(1e6, 1e6, 1e6), xyz=(0, 0, 1))
    body.add_shape("box", size=tuple(SIZE), modulus=1e6)
    world = hs.World(scene.build())
    coarse, fine = (largest_changes(world, steps) for steps in (51, 501))
    assert coarse.max() < 0.02
    assert np.all(fine < 0.12 * coarse + 1e-12)


def slides(speed: float, **contact: Any) -> float:
    """Share of its speed that a box loses in 0.2 s on a slab as soft as it is, without friction."""
    scene = hs.SceneBuilder("slide", time_step=1e-3, contact={"friction": 0.0, **contact})
    scene.add_static("slab", "box", size=(2.0, 1.0, 0.1), xyz=(0.0, 0.0, -0.05), modulus=1e7)
    body = scene.add_body("box", MASS, inertia=tuple(INERTIA), xyz=(0.0, 0.0, 0.5 * SIZE[2] - 1e-7))
    body.add_shape("box", size=tuple(SIZE), modulus=1e7)
    world = hs.World(scene.build())
    world.step(100)
    world.set_state(world.q, np.array([0.0, 0.0, 0.0, speed, 0.0, 0.0]))
    world.step(200)
    return 1.0 - float(world.v[3]) / speed


@pytest.mark.parametrize("speed", [0.1, 1.0])
def test_the_margin_does_not_brake_what_slides(speed):
    """Its faces before the leading edge promised a wall: 8 and 66 % were lost, of which 1.5 and 9.6 % stay.

    What stays is of the narrow faces at the edges that press, which are there without a margin too.
    """
    with_margin, without = slides(speed), slides(speed, margin=0.0)
    assert with_margin == pytest.approx(without, rel=0.01)
    assert slides(speed, dissipation=0.0) < 0.005
