"""Energies of a world against closed forms, and their sum against what nothing takes away."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from support.simulation.made_scenes import GROUND, G, free, make_world, sphere

RADIUS, MASS, MODULUS = 0.05, 0.3, 1e6


def ball(height: float, **settings: object) -> hs.World:
    text = sphere("ball", RADIUS, MASS, modulus=MODULUS, dissipation=0.0, mu=0.0, hint=0.02)
    ground = {**GROUND, "friction": 0.0}
    return make_world(free(text, (0, 0, height)), environment=[ground], **settings)


def test_a_body_in_the_air_has_those_of_mechanics() -> None:
    world = ball(2.0)
    world.place("ball_0", V_WB=[0.0, 0.0, 3.0, 0.5, 0.0, -1.0])
    inertia = 0.5 * world.mass_matrix()[2, 2] * 3.0**2
    found = world.energies()
    assert found.kinetic == pytest.approx(0.5 * MASS * (0.5**2 + 1.0**2) + inertia, rel=1e-12)
    assert found.potential == pytest.approx(MASS * G * 2.0, rel=1e-12)
    assert found.elastic == 0.0
    assert found.total == found.kinetic + found.potential


def test_elastic_energy_is_that_of_the_patch() -> None:
    world = ball(RADIUS - 0.002)
    world.step()
    (one, other) = sorted(world.built.colliders, key=lambda collider: collider.link)
    patch = hs.contact.compute_patch(one.geometry, world.frame_pose("ball"), other.geometry, np.eye(4))
    assert patch.energy > 0.0
    assert world.energies().elastic == pytest.approx(patch.energy, rel=1e-9)


def test_elastic_energy_is_that_of_the_state() -> None:
    """Before the first step, where a state was set, and in a thread of its own for another state."""
    world = ball(RADIUS - 0.002)
    start = world.energies()
    assert start.elastic > 0.0
    world.step(3)
    moved = world.energies()
    assert moved.elastic != start.elastic
    q, v = world.q, world.v
    world.set_state(ball(RADIUS - 0.002).q, np.zeros(6))
    assert world.energies() == start
    assert world.energies_of(q, v) == moved


def test_a_bounce_without_losses_keeps_nearly_all() -> None:
    """Steps of first order lose a little in the contact, half of it where they are half as long."""
    losses = []
    for time_step in (2e-4, 1e-4, 5e-5):
        world = ball(RADIUS + 0.02, time_step=time_step)
        start = world.energies().total
        stored = 0.0
        for _ in range(round(0.16 / time_step)):
            world.step()
            stored = max(stored, world.energies().elastic) if world.contacts else stored
        end = world.energies()
        fall = MASS * G * 0.02
        assert stored > fall  # all of it was in the ball for a moment, and what it sank by too
        losses.append((start - end.total) / fall)
    assert losses[0] / losses[1] == pytest.approx(2.0, abs=0.1)
    assert losses[1] / losses[2] == pytest.approx(2.0, abs=0.1)
    assert losses[2] < 0.05
