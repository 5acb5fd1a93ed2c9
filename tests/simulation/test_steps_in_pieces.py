"""What is told of a time step that was taken in pieces is the average over them: impulses are changes of momentum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs

RIGID = {"compliance": "rigid"}
GRAVITY = np.array((0.0, 0.0, -9.81))


def thrown(velocity: Any, time_step: float = 1e-3, spin: Any = (0, 0, 0)) -> hs.World:
    """A rigid cube of 1 kg and 2 cm, 1 cm above a rigid plate, with a velocity (m/s) and a spin (rad/s)."""
    solver = {"tolerance": 1e-13}
    scene = hs.SceneBuilder("thrown", time_step=time_step, contact={"friction": 0.3, **RIGID}, solver=solver)
    scene.add_static("plate", "box", size=(0.5, 0.5, 0.02), xyz=(0, 0, -0.01))
    scene.add_body("cube", 1.0, xyz=(0.01, 0.02, 0.02)).add_shape("box", size=3 * (0.02,))
    world = hs.World(scene.build())
    world.set_state(world.q, [*spin, *velocity])
    return world


def momentum(world: hs.World, inertia: float = 1.0 * 0.02**2 / 6) -> tuple[np.ndarray, np.ndarray]:
    """Momentum and angular momentum about the world's origin of the cube, whose inertia is the same about all axes."""
    pose, v = world.frame_pose("cube"), world.v
    return v[3:], inertia * (pose[:3, :3] @ v[:3]) + np.cross(pose[:3, 3], v[3:])


def impulses(world: hs.World) -> tuple[np.ndarray, np.ndarray]:
    """Impulse and its moment about the world's origin that the step's contacts gave the cube."""
    force, moment = np.zeros((2, 3))
    for patch in world.contacts:
        sign = 1.0 if patch.name_b == "cube" else -1.0
        force += sign * patch.force_on_b
        moment += sign * patch.moment_on_b(np.zeros(3))
    return force * world.time_step, moment * world.time_step


@pytest.mark.parametrize("velocity", [(0.0, 0.0, -20.0), (3.0, 1.0, -15.0)])
def test_impulses_of_contacts_are_the_change_of_momentum(velocity: Any) -> None:
    """To round-off, in every step of an impact that is taken in pieces, and of what follows."""
    world = thrown(velocity)
    touched = 0
    for _ in range(20):
        before, _ = momentum(world)
        world.step()
        force, _ = impulses(world)
        after, _ = momentum(world)
        np.testing.assert_allclose(force + GRAVITY * world.time_step, after - before, rtol=0, atol=1e-11)
        touched += bool(np.any(force))
    assert touched
    assert world.diagnostics()["fast_steps"] > 0


def test_moments_of_contacts_are_the_change_of_angular_momentum() -> None:
    """About the world's origin, of a cube that spins as it lands on a corner: all its axes are principal ones."""
    world = thrown((3.0, 1.0, -15.0), spin=(40.0, 20.0, 30.0))
    for _ in range(20):
        (_, before), height = momentum(world), world.frame_pose("cube")[:3, 3]
        world.step()
        _, moment = impulses(world)
        # Gravity acts at the beginning of each piece; its lever arm changes within the step. That of 15 N s is known to
        # the way in a piece, 0.3 of the margin of 0.1 mm.
        lever = np.cross(0.5 * (height + world.frame_pose("cube")[:3, 3]), GRAVITY) * world.time_step
        np.testing.assert_allclose(moment + lever, momentum(world)[1] - before, rtol=0, atol=4.5e-4)
    assert world.diagnostics()["fast_steps"] > 0


def test_a_bounce_within_one_step_is_told_with_its_faces() -> None:
    """It touches and leaves again before the step's end: a patch with faces and the whole impulse."""
    world = thrown((0.0, 0.0, -20.0), time_step=2e-3)
    world.set_state(world.q, [0, 0, 0, 0, 0, -20.0])
    before = world.v[5]
    world.step()
    (patch,) = world.contacts
    force, _ = impulses(world)
    assert force[2] == pytest.approx(world.v[5] - before + 9.81 * world.time_step, abs=1e-11)
    assert patch.polygons
    assert patch.normal_force_on_b == pytest.approx(patch.force_on_b, rel=1e-9)
    assert world.contact_summary().patches


def test_polygons_are_those_of_the_faces_that_are_told() -> None:
    """They are made when they are asked for, of faces that have been put back in another place."""
    scene = hs.SceneBuilder("crate", time_step=2e-3, contact={"friction": 0.4, "modulus": 1e6})
    # As soft as all the rest: of what lies in something stiffer a part of the area would be left, see ``between``.
    scene.add_static("floor", "box", size=(1.0, 1.0, 0.1), xyz=(0, 0, -0.05))
    for i, (x, y) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
        size = (0.02 + 0.3 * abs(y), 0.02 + 0.3 * abs(x), 0.4)
        scene.add_static(f"wall{i}", "box", size=size, xyz=(0.12 * x, 0.12 * y, 0.2))
    for i in range(8):
        xyz = (0.09 * (i % 2) - 0.045, 0.09 * (i // 2 % 2) - 0.045, 0.045 + 0.06 * (i // 4))
        body = scene.add_body(f"b{i}", mass=0.1, xyz=xyz, rpy=(0.3 * i, 0.5, 0.7))
        body.add_shape("box", size=(0.05, 0.05, 0.05), resolution_hint=0.02)
    world = hs.World(scene.build())
    world.set_state(world.q, 3.0 * np.random.default_rng(4).normal(size=len(world.v)))
    looked = 0
    for _ in range(50):
        fast = world.diagnostics()["fast_steps"]
        world.step()
        if world.diagnostics()["fast_steps"] == fast:
            continue
        for patch in world.contacts:
            for polygon, area in zip(patch.polygons, patch.areas, strict=True):
                corners = np.asarray(polygon)
                edges = corners[1:] - corners[0]
                told = 0.5 * np.linalg.norm(np.cross(edges[:-1], edges[1:]).sum(axis=0))
                assert told == pytest.approx(area, rel=1e-6, abs=1e-15)
                looked += 1
    assert looked > 100
