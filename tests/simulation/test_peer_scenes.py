"""Exact forces of the scenes in which engines for many worlds are compared."""

import numpy as np
import pytest

from hydro_sim_core.simulation import World
from support.benchmarks import imported


@pytest.fixture(name="scenes", scope="module")
def scenes_module():
    with imported("peer_scenes") as module:
        yield module


def test_forces_are_the_integrals_of_the_fields(scenes):
    depth, radius = 1.1e-3, scenes.RADIUS
    x = (np.arange(20000) + 0.5) / 20000 * np.sqrt(radius**2 - (radius - depth) ** 2)
    within = np.sqrt(radius**2 - x**2) - (radius - depth)
    strip = 2.0 * scenes.PAD_STIFFNESS * scenes.LENGTH * within.mean() * x[-1]
    assert scenes.force_of_grasp(depth) == pytest.approx(strip, rel=1e-3)

    radius = scenes.BALL
    r = (np.arange(20000) + 0.5) / 20000 * np.sqrt(radius**2 - (radius - depth) ** 2)
    pressure = scenes.BALL_STIFFNESS * (radius - np.sqrt(r**2 + (radius - depth) ** 2))
    disk = 2.0 * np.pi * (pressure * r).mean() * r[-1]
    assert scenes.force_of_ball(depth) == pytest.approx(disk, rel=1e-3)


@pytest.mark.parametrize("name", ["punch", "ball", "grasp"])
def test_two_bodies_twice_as_stiff_yield_as_one(scenes, name):
    depth = scenes.exact_depth(name)
    assert scenes.FORCES[name](depth) == pytest.approx(scenes.LOADS[name], rel=1e-12)
    assert scenes.FORCES_OF_BOTH[name](depth) == pytest.approx(scenes.LOADS[name], rel=0.02)


def test_the_cube_rests_at_its_exact_depth(scenes):
    world = World(scenes.our_punch())
    world.step(50)
    depth = 0.5 * scenes.CUBE - world.frame_pose("body")[2, 3]
    assert abs(scenes.error_at_rest("punch", depth)) < 1e-9
