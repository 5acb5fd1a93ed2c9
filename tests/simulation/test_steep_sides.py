"""Sides that stand steep on what they sank into push through the whole of a long step: how far, and what limits it."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.contact.pressure_field.faces import UPRIGHT
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


def test_upright_sides_do_not_push():
    """Their pressure hardly falls as the cube rises, until the step ends."""
    world = sunken_box(1e-2)
    world.step()
    (patch,) = world.contacts
    slope = patch.gradients.min(axis=1)
    sides = (slope > 0.0) & (slope < 1e-2 * slope.max())
    # They lean so little that they do not press at all.
    steepness = np.linalg.norm(patch.faces.field_gradients, axis=1)
    assert (slope[sides] < UPRIGHT * steepness[sides]).all()
    whole = float(patch.areas[sides] @ patch.pressures[sides])
    assert 0.02 < whole / float(patch.areas @ patch.pressures) < 0.04
    spin, speed = world.v[0], world.v[5]
    # Of the underside, gone within a hair, the end holds the turn: its triangles press halfway to their corners.
    held = 0.0
    for f in np.flatnonzero(slope > 0.5 * slope.max()):
        points = 0.5 * (patch.polygons[f] + patch.centroids[f])
        pressures = patch.pressures[f] + (points - patch.centroids[f]) @ patch.faces.field_gradients[f]
        left = pressures - world.time_step * slope[f] * (speed + spin * points[:, 1])
        held += float(patch.areas[f] * np.maximum(left, 0.0).mean())
    assert speed == pytest.approx((held - MASS * G) * world.time_step / MASS, rel=0.01)
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
