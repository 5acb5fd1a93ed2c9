"""Rigid bodies that stand or slide on their edges do not rattle: edges resist a turn along themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

import hydro_sim_core as hs

G, MASS, LENGTH, GAP = 9.81, 1.0, 0.2, 0.1


def sledge(path: Path, half_angle: float) -> Path:
    """Two runners along x of triangular section, a knife edge below, each of two triangles a side."""
    height = 0.02
    width = height * np.tan(np.radians(half_angle))
    section = [(0.0, 0.0), (width, height), (-width, height)]
    runners = []
    for middle in (-0.5 * GAP, 0.5 * GAP):
        corners = [[x, middle + y, z] for x in (-0.5 * LENGTH, 0.5 * LENGTH) for y, z in section]
        runners.append(trimesh.convex.convex_hull(np.array(corners)))
    trimesh.util.concatenate(runners).export(path)
    return path


def on_runners(tmp_path: Path, half_angle: float, off: float, time_step: float, friction: float) -> hs.World:
    """The sledge on rigid ground, its centre of mass ``off`` (m) along its edges."""
    scene = hs.SceneBuilder("sledge", time_step=time_step, contact={"friction": friction})
    scene.add_ground(compliance="rigid")
    body = scene.add_body(
        "sledge", MASS, inertia=(2e-3, 2e-3, 2e-3), center_of_mass=(off, 0.0, 0.03), xyz=(0.0, 0.0, 1e-5)
    )
    body.add_shape("mesh", path=str(sledge(tmp_path / "sledge.obj", half_angle)), compliance="rigid")
    return hs.World(scene.build())


@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
@pytest.mark.parametrize("off", [0.0, 0.03])
@pytest.mark.parametrize("half_angle", [30.0, 45.0])
def test_a_sledge_lies_still_on_its_runners(tmp_path, half_angle, off, time_step):
    """It rocked along them at 5 to 24 mrad/s for ever, each step in pieces: edges pressed at their middles."""
    world = on_runners(tmp_path, half_angle, off, time_step, 0.5)
    world.step(round(0.3 / time_step))
    pieces = world.diagnostics()["fast_steps"]
    fastest = 0.0
    for _ in range(30):
        world.step()
        fastest = max(fastest, float(np.abs(world.v).max()))
    assert fastest < 1e-9
    assert world.diagnostics()["fast_steps"] == pieces


@pytest.mark.parametrize("way", [0, 1], ids=["along", "across"])
@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_a_sledge_slides_on_its_runners_without_a_rattle(tmp_path, friction, way):
    """It nodded at 0.14 rad/s and jumped at 10 mm/s."""
    world = on_runners(tmp_path, 45.0, 0.01, 1e-3, friction)
    world.step(100)
    velocity = np.zeros(6)
    velocity[3 + way] = 0.6
    world.set_state(world.q, velocity)
    nods = []
    for _ in range(150):
        world.step()
        nods.append(float(np.abs(world.v[:3]).max()))
    # Friction below the centre of mass tilts it by a little, once, as it sets in.
    assert np.sqrt(np.mean(np.square(nods))) < 1e-3
    assert world.v[3 + way] == pytest.approx(0.6 - friction * G * 0.15, abs=5e-5)


def test_a_box_that_falls_on_its_edge_keeps_its_energy():
    """Its parts along the edge pressed as one: without dissipation it took 37 mJ from the step, of 613."""
    roll, pitch, size = 0.25 * np.pi, 2e-3, np.array([0.1, 0.06, 0.06])
    scene = hs.SceneBuilder("edge", time_step=1e-3, contact={"friction": 0.5, "dissipation": 0.0})
    scene.add_ground(compliance="rigid")
    reach = 0.5 * np.cos(pitch) * np.sqrt(0.5) * (size[1] + size[2]) + 0.5 * np.sin(pitch) * size[0]
    inertia = MASS / 12.0 * (np.square(size).sum() - np.square(size))
    body = scene.add_body(
        "box", MASS, inertia=tuple(inertia), xyz=(0.0, 0.0, reach + 0.02), rpy=(roll, pitch, 0.0)
    )
    body.add_shape("box", size=tuple(size), compliance="rigid")
    world = hs.World(scene.build())
    least, most = np.inf, 0.0
    for _ in range(400):
        world.step()
        energy = world.energies().total
        least = min(least, energy)
        most = max(most, energy - least)
    assert most < 1e-3
