"""Surfaces that run over their bodies: a belt carries like ground that moves, and stays where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from support.simulation.made_scenes import GROUND, G, box, fixed, free, make_scene, make_world, sphere

MU, M = 0.5, 2.0
SIZE = (0.2, 0.2, 0.1)
SOFT = {"compliance": "compliant", "modulus": 1e5, "slab_thickness": 0.05, "dissipation": 20.0}


def belt(velocity: Any, **more: Any) -> dict[str, Any]:
    """Ground whose surface runs, rigid unless it is said otherwise."""
    return {**GROUND, "surface_velocity": velocity, **more}


def brick(yaw: float = 0.0) -> dict[str, Any]:
    solid = box("brick", SIZE, M, mu=MU, dissipation=20.0)
    return free(solid, (0, 0, 0.5 * SIZE[2]), (0, 0, yaw), name="brick")


def force_on_brick(world: hs.World) -> np.ndarray:
    (patch,) = world.contacts
    return patch.force_on_b * (1.0 if patch.name_b == "brick" else -1.0)


@pytest.mark.parametrize("law", ["lagged", "similar", "sap", "tamsi"])
def test_a_brick_is_taken_along(law: str) -> None:
    """By mu m g until it has the belt's speed, then by no force."""
    speed = 0.5
    world = make_world(brick(), environment=[belt([speed, 0.0, 0.0])], solver={"model": law})
    world.step(60)
    if law in ("lagged", "tamsi"):  # the others lift what slides
        assert force_on_brick(world)[0] == pytest.approx(MU * M * G, rel=2e-3)
    world.step(540)
    np.testing.assert_allclose(world.v[3:], [speed, 0.0, 0.0], rtol=0, atol=1e-5)
    assert np.abs(force_on_brick(world)[:2]).max() < 3e-3


@pytest.mark.parametrize(
    ("law", "error"),
    [("lagged", 1.5e-9), ("similar", 2e-8), ("sap", 4e-6), ("tamsi", 1.5e-9), ("continuous", 2.5e-9)],
)
@pytest.mark.parametrize("shape", ["brick", "ball"])
def test_a_belt_is_ground_seen_by_one_who_moves(law: str, error: float, shape: str) -> None:
    """Galilei: to be set down on a soft belt at rest is to be set down on soft ground at minus the belt's velocity."""
    u, steps = np.array([0.4, -0.3, 0.0]), 8 if law == "continuous" else 300
    text = sphere("ball", 0.1, M, mu=MU, hint=0.05) if shape == "ball" else box("brick", SIZE, M, mu=MU)
    model = free(text, (0, 0, 0.095 if shape == "ball" else 0.05), (0.0, 0.0, 0.3))
    moved = []
    for velocity, v in ((u, np.zeros(3)), (np.zeros(3), -u)):
        ground = belt(velocity, **SOFT)
        world = make_world(model, environment=[ground], solver={"model": law})
        world.set_state(world.q, [0.0, 0.0, 0.0, *v])
        world.step(steps)
        X = world.frame_pose(shape)
        X[:3, 3] -= v * world.time
        moved.append(X)
    np.testing.assert_allclose(moved[0], moved[1], rtol=0, atol=error)
    assert np.linalg.norm(moved[0][:2, 3]) > 3e-5  # it was taken along


def test_its_axes_are_those_of_the_shape() -> None:
    """A belt that is laid askew and uphill carries along itself."""
    rpy = [0.0, -0.2, 0.7]
    R = Rotation.from_euler("xyz", rpy).as_matrix()
    start = free(box("brick", SIZE, M, mu=MU, dissipation=20.0), 0.05 * R[:, 2], rpy)
    world = make_world(start, environment=[belt([0.3, 0.0, 0.0], rpy=rpy)])
    world.step(1000)
    np.testing.assert_allclose(world.v[3:], 0.3 * R[:, 0], rtol=0, atol=2e-5)


def test_tracks_drive_what_carries_them() -> None:
    """A brick on tracks that run backwards drives forwards, whichever way it looks."""
    for yaw in (0.0, 2.0):
        scene = make_scene(brick(yaw), environment=[GROUND])
        world = hs.World(scene.with_({"models.brick.surface_velocity": [-0.2, 0.0, 0.0]}))
        world.step(600)
        expected = 0.2 * np.array([np.cos(yaw), np.sin(yaw), 0.0])
        np.testing.assert_allclose(world.v[3:], expected, rtol=0, atol=2e-5)


def test_a_belt_on_a_carriage_adds_to_its_speed() -> None:
    """And a belt against the carriage's motion sets things down at rest."""
    for own, carriage in ((0.2, 0.3), (-0.3, 0.3)):
        top = box("plate", (4.0, 1.0, 0.1), 1.0, modulus=None, mu=MU, surface_velocity=(own, 0.0, 0.0))
        plate = fixed(top, base="kinematic", xyz=(0.0, 0.0, -0.05))
        world = make_world(plate, brick())
        world.move("plate_0", V_WB=[0, 0, 0, carriage, 0, 0])
        world.step(600)
        brick_velocity = world.v[world.velocity_names.index("brick_base/3") :][:3]
        np.testing.assert_allclose(brick_velocity, [own + carriage, 0.0, 0.0], rtol=0, atol=2e-5)


def test_work_of_a_belt_goes_half_into_heat() -> None:
    speed, work = 0.5, 0.0
    world = make_world(brick(), environment=[belt([speed, 0.0, 0.0])])
    for _ in range(600):
        world.step()
        work += force_on_brick(world)[0] * speed * world.time_step if world.contacts else 0.0
    assert work == pytest.approx(M * speed**2, rel=1e-5)
    assert world.energies().kinetic == pytest.approx(0.5 * M * speed**2, rel=1e-4)


def test_a_scene_can_be_given_another_speed() -> None:
    world = make_world(brick(), environment=[belt([0.5, 0.0, 0.0])])
    slower = hs.World(world.scene.with_({"environment.ground.surface_velocity": [0.1, 0.0, 0.0]}), like=world)
    slower.step(600)
    assert slower.v[3] == pytest.approx(0.1, abs=1e-5)


@pytest.mark.parametrize("velocity", [[0.1, 0.2], [0.1, 0.2, "x"], [0.1, 0.2, float("nan")], 0.5])
def test_a_velocity_is_three_numbers(velocity: Any) -> None:
    with pytest.raises(InputError) as caught:
        make_world(brick(), environment=[belt(velocity)])
    assert caught.value.element.startswith("'ground', proximity.surface_velocity")
