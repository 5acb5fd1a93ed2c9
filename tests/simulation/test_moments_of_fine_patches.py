"""A step begins with the moment of the pressure in patches of many faces, too: balls gain nothing as they roll."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.contact import compute_patch
from hydro_sim_core.rotations import quaternions_of

G, RADIUS, MASS = 9.81, 0.1, 0.7


def ball(hint: float, modulus: float, time_step: float, gravity: float = G, mass: float = MASS) -> hs.World:
    """A compliant ball without damping on rigid ground."""
    scene = hs.SceneBuilder(
        "ball",
        time_step=time_step,
        gravity=(0.0, 0.0, -gravity),
        contact={"friction": 0.8 if gravity else 0.0, "modulus": modulus, "dissipation": 0.0},
    )
    scene.add_ground()
    inertia = 0.4 * mass * RADIUS**2
    depth = 0.9 * np.sqrt(MASS * G / (np.pi * modulus))
    body = scene.add_body("ball", mass, inertia=(inertia,) * 3, xyz=(0.0, 0.0, RADIUS - depth))
    body.add_shape("sphere", radius=RADIUS, resolution_hint=hint)
    return hs.World(scene.build())


def patch_of(world: hs.World, **options: bool) -> hs.contact.ContactPatch:
    on_ball, ground = world.built.colliders
    return compute_patch(
        ground.geometry, np.eye(4), on_ball.geometry, world.frame_pose("ball") @ on_ball.X_BG, **options
    )


@pytest.mark.parametrize("hint", [0.03, 0.02, 0.015, 0.008])
def test_the_moment_of_a_step_is_that_of_the_pressure(hint):
    """Each face pressed at its centroid where they hold less than 5 % of the second moment: off by up to 2e-3."""
    heavy = 1e6
    world = ball(hint, 1e6, 1e-6, gravity=0.0, mass=heavy)
    rng = np.random.default_rng(7)
    worst, inertia = 0.0, 0.4 * heavy * RADIUS**2
    for _ in range(20):
        R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        R *= np.linalg.det(R)
        world.set_state(
            np.append(np.roll(quaternions_of(R), 1), (0.001, 0.002, RADIUS - rng.uniform(0.004, 0.02))),
            np.zeros(6),
        )
        patch = patch_of(world, every_polygon=False)
        middle = world.q[4:].copy()
        world.step()
        moment = inertia * world.v[:3] / world.time_step
        off = np.linalg.norm(moment - patch.moment_on_b(middle))
        worst = max(worst, off / (np.linalg.norm(patch.force_on_b) * np.sqrt(patch.area)))
    # Points of faces that are nothing beside the patch are halfway at the centroid.
    assert worst < 5e-7


@pytest.mark.heavy(3)
@pytest.mark.parametrize(
    ("hint", "modulus", "time_step"), [(0.012, 1e5, 1e-3), (0.008, 1e6, 1e-3), (0.008, 1e7, 1e-3)]
)
def test_a_ball_of_many_faces_gains_no_energy_as_it_rolls(hint, modulus, time_step):
    """It gained 97, 41 and 92 % of its kinetic energy in three seconds, and was faster at the end."""
    world = ball(hint, modulus, time_step)
    world.step(round(0.5 / time_step))
    world.set_state(world.q, [0.0, 0.02 / RADIUS, 0.0, 0.02, 0.0, 0.0])
    kinetic = 0.7 * MASS * 0.02**2
    least, most = np.inf, 0.0
    for _ in range(round(3.0 / time_step / 20)):
        world.step(20)
        energy = 0.5 * float(world.v @ world.mass_matrix() @ world.v) + MASS * G * float(world.q[6])
        energy += patch_of(world).energy
        least = min(least, energy)
        most = max(most, energy - least)
    assert most < 1e-3 * kinetic
