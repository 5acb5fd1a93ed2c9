"""What diverges is told at once, with its name, and never followed for ever."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.simulation.stepping.fastest import FASTEST
from hydro_sim_core.simulation.world import saved_state

INTEGRATORS = {
    "fixed": {},
    "error-controlled": {"accuracy": 1e-5},
    "continuous": {"integrator": "continuous"},
    "soft": {"model": "soft"},
    "as Drake": {"parity": "drake"},
}


def two_boxes(**solver: Any) -> hs.LoadedScene:
    """Two boxes on a ground: look-ahead asks where they would meet."""
    scene = hs.SceneBuilder("two_boxes", solver=solver)
    scene.add_ground()
    for name, x in (("left", 0.0), ("right", 0.4)):
        scene.add_body(name, mass=2.0, xyz=(x, 0, 0.05)).add_shape("box", size=3 * (0.1,))
    return scene.build()


@pytest.mark.parametrize("solver", INTEGRATORS.values(), ids=INTEGRATORS)
@pytest.mark.parametrize("speed", [1e7, 1e12, 1e200])
def test_a_body_beyond_all_speeds_is_named(solver: dict[str, Any], speed: float) -> None:
    """The state stays, and after a reset the world goes on."""
    world = hs.World(two_boxes(**solver))
    world.place("left", V_WB=[0, 0, 0, 0, 0, speed])
    q, v = world.q, world.v
    at = re.escape(f"overflows: 'left_base/5' is at {speed:.3g} rad/s or m/s, where 1e+06 is the most; ")
    with pytest.raises(FloatingPointError, match=at):
        world.step(3)
    np.testing.assert_array_equal(world.q, q)
    np.testing.assert_array_equal(world.v, v)
    assert world.step_count == 0
    world.reset()
    world.step(3)


@pytest.mark.parametrize("solver", INTEGRATORS.values(), ids=INTEGRATORS)
def test_a_force_that_would_lead_there_is_told_with_the_speed(solver: dict[str, Any]) -> None:
    world = hs.World(two_boxes(**solver))
    world.apply_wrench("right", [0, 0, 0, 0, 0, 1e12])
    with pytest.raises(FloatingPointError, match=r"step 1 overflows: 'right_base/5' is at .*e\+0[78] "):
        world.step(3)
    assert not world.v.any()


def test_what_is_led_too_fast_is_told_as_well() -> None:
    """Its own speed is no unknown, but what it meets would be looked for all along its way."""
    scene = hs.SceneBuilder("led")
    scene.add_body("ball", mass=1.0, xyz=(0, 0, 1)).add_shape("sphere", radius=0.05)
    lift = scene.add_model("lift", base="kinematic")
    lift.add_link("plate").add_shape("box", size=(1, 1, 0.01), compliance="rigid")
    world = hs.World(scene.build())
    world.move("lift", V_WB=[0, 0, 0, 0, 0, 1e12])
    with pytest.raises(FloatingPointError, match="overflows: 'lift_base/5' is at 1e"):
        world.step()


def test_a_controller_that_drives_a_body_away_ends_in_an_error() -> None:
    """Damping with the wrong sign: each step is a tenth faster than the one before it, for ever."""
    world = hs.World(two_boxes())

    def drive() -> None:
        for _ in range(400):
            world.apply_wrench("left", [0, 0, 0, 0, 0, 100.0 + 500.0 * world.v[5]])
            world.step()

    with pytest.raises(FloatingPointError, match="'left_base/5' is at"):
        drive()
    assert 1e5 < world.v[5] <= FASTEST


def test_a_world_of_a_batch_that_runs_away_is_told_and_the_others_go_on() -> None:
    batch, alone = hs.BatchWorld(two_boxes(), 4, backend="cpu"), hs.World(two_boxes())
    batch.step(5)
    batch.v[2, 5] = 1e12
    batch.step(5)
    assert list(batch.failures) == [2]
    assert "'left_base/5' is at 1e+12" in batch.failures[2]
    alone.step(10)
    np.testing.assert_array_equal(batch.q[[0, 1, 3]], [alone.q] * 3)
    assert batch.step_counts.tolist() == [10, 10, 5, 10]


def test_saved_states_may_be_as_fast_as_steps() -> None:
    """One limit, in one place."""
    assert saved_state._LARGEST["state.v"] is FASTEST
