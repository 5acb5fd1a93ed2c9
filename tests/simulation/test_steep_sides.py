"""Sides that stand steep on what they sank into push through the whole of a long step: how far, and what limits it."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.contact.pressure_field.faces import SURE_RISE
from support.simulation.made_scenes import GROUND, box, free, make_world

EDGE, MASS, MODULUS, DEPTH = 0.01, 0.1, 1e9, 5e-4
#: Enough for two of the four sides to lean outwards, rad.
TILT = 1e-3
G = 9.81


def sunken_box(time_step: float, dissipation: float = 0.0) -> hs.World:
    """A cube at rest that starts ``DEPTH`` deep in rigid ground."""
    cube = box("cube", (EDGE,) * 3, MASS, modulus=MODULUS, dissipation=dissipation, mu=0.0)
    start = free(cube, (0, 0, 0.5 * EDGE - DEPTH), (TILT, 0, 0))
    return make_world(start, environment=[GROUND], time_step=time_step, contact={"margin": 0.0})


def released_energy(world: hs.World, duration: float) -> float:
    """Kinetic energy (J) after ``duration`` (s)."""
    world.step(round(duration / world.time_step))
    return world.energies().kinetic


def stored_energy() -> float:
    """Of the cube in the ground, J: in closed form the field of a true cube, E times depth over half an edge.

    At depth z the pressure of a level cut is the least distance to a face, a pyramid's frustum of height z.
    """

    def force(z: float) -> float:
        frustum = z / 3.0 * (EDGE**2 + (EDGE - 2.0 * z) ** 2 + EDGE * (EDGE - 2.0 * z))
        return MODULUS / (0.5 * EDGE) * frustum

    # Simpson's rule is exact for a cubic.
    return DEPTH / 6.0 * (force(0.0) + 4.0 * force(0.5 * DEPTH) + force(DEPTH))


def test_the_sides_push_no_longer_than_the_body_is_large():
    """Their pressure hardly falls as the cube rises, but is gone when it has risen by its diagonal."""
    world = sunken_box(1e-2)
    world.step()
    (patch,) = world.contacts
    slope = patch.gradients.min(axis=1)
    sides = (slope > 0.0) & (slope < 1e-2 * slope.max())
    # Sides that lean so little press with that share of all of their pressure.
    steepness = np.linalg.norm(patch.faces.field_gradients, axis=1)
    shares = slope[sides] / steepness[sides] / SURE_RISE
    areas = shares * patch.areas[sides]
    whole, push = (float(of @ patch.pressures[sides]) for of in (patch.areas[sides], areas))
    assert 0.02 < whole / float(patch.areas @ patch.pressures) < 0.04
    assert 0.0 < push < 0.02 * whole
    # One side leans outwards, so the cube turns too: as fast as its end of the underside allows.
    spin, speed = world.v[0], world.v[5]
    rising = speed + spin * patch.centroids[sides, 1]
    slope[sides] = np.maximum(slope[sides], patch.pressures[sides] / (np.sqrt(3.0) * EDGE))
    falls = world.time_step * float((areas * slope[sides]) @ rising)
    # Of the underside, gone within a hair, the end holds the turn: its triangles press halfway to their corners.
    held = 0.0
    for f in np.flatnonzero(slope > 0.5 * slope.max()):
        points = 0.5 * (patch.polygons[f] + patch.centroids[f])
        pressures = patch.pressures[f] + (points - patch.centroids[f]) @ patch.faces.field_gradients[f]
        left = pressures - world.time_step * slope[f] * (speed + spin * points[:, 1])
        held += float(patch.areas[f] * np.maximum(left, 0.0).mean())
    assert speed == pytest.approx((push - falls + held - MASS * G) * world.time_step / MASS, rel=0.01)
    # Without an end to the push it leaves with 23 m/s, 27 times what was stored.
    assert world.energies().kinetic < 0.1 * stored_energy()


def test_no_step_gives_more_than_was_stored():
    energies = [released_energy(sunken_box(dt), max(5e-3, dt)) for dt in (1e-2, 1e-3, 1e-4, 2.5e-5, 1e-5)]
    assert energies == sorted(energies)
    assert 0.7 * stored_energy() < energies[-1] < stored_energy()


@pytest.mark.parametrize("dissipation", [5.0, 50.0])
def test_dissipation_lets_nothing_leave_faster_than_its_inverse(dissipation):
    """Hunt and Crossley's factor is 1 - d v."""
    world = sunken_box(1e-2, dissipation)
    world.step()
    assert 0.0 < world.v[5] <= 1.0 / dissipation
