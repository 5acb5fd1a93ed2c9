"""The shipped mug and plate have the inertia of their shapes and stand still at 10 ms, thanks to their margin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.description import load_robot
from hydro_sim_core.experiments import mug_on_plate

URDF = Path(__file__).parents[2] / "urdf"
#: kg/m^3
CERAMIC = 2400.0


@pytest.mark.parametrize("drop", [0.0, 0.02])
def test_mug_and_plate_stand_still(drop):
    rest = mug_on_plate.measure(drop=drop)
    assert rest.speed < 1e-8
    assert rest.drift < 1e-8


def test_without_margin_they_rattle_after_one_fall_or_another():
    rest = mug_on_plate.worst(margin=0.0)
    assert rest.speed > 0.1
    assert rest.drift > 1e-4


def test_the_scene_is_one_of_long_steps_and_stiff_flat_contact():
    world = mug_on_plate.make_world()
    assert world.time_step == 0.01
    assert world.scene.source == shipped_scenes()["mug_on_plate"]
    world.step(100)
    areas = {(patch.geometry_a, patch.geometry_b): patch.area for patch in world.contacts}
    # The undersides are polygons: the mug's, 40 mm in radius, of 13 sides, the plate's, 70 mm, of 23.
    assert areas["middle_collision", "base_collision"] == pytest.approx(_polygon(0.04, 13), rel=1e-3)
    assert areas["middle_collision", "ground"] == pytest.approx(_polygon(0.07, 23), rel=1e-3)


def _polygon(radius, sides):
    return 0.5 * sides * radius**2 * np.sin(2.0 * np.pi / sides)


@pytest.mark.parametrize("name", ["mug", "plate"])
def test_the_inertia_is_that_of_the_shapes(name):
    (link,) = load_robot(URDF / f"{name}.urdf.xacro").links
    parts = [_solid(collision) for collision in link.collisions]
    mass = sum(m for m, _, _ in parts)
    centre = sum(m * p for m, p, _ in parts) / mass
    arms = [p - centre for _, p, _ in parts]
    inertia = sum(
        own + m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        for (m, _, own), arm in zip(parts, arms, strict=True)
    )
    assert link.inertial.mass == pytest.approx(mass, rel=1e-4)
    assert link.inertial.p_LCo == pytest.approx(centre, abs=1e-6)
    assert link.inertial.I_LCo == pytest.approx(inertia, abs=1e-7)


def _solid(collision):
    """Mass, centre and inertia of a box or cylinder."""
    if collision.shape.kind == "box":
        x, y, z = collision.shape.size
        mass, squares = CERAMIC * x * y * z, np.square([x, y, z]) / 12.0
        own = squares.sum() - squares
    else:
        radius, length = collision.shape.size
        mass = CERAMIC * np.pi * radius**2 * length
        transverse = radius**2 / 4.0 + length**2 / 12.0
        own = np.array([transverse, transverse, radius**2 / 2.0])
    R = collision.X_LG[:3, :3]
    return mass, collision.X_LG[:3, 3], R @ np.diag(mass * own) @ R.T
