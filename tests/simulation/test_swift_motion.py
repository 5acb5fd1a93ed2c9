"""Small forces act on swift bodies as on bodies at rest: physics is the same in every frame that moves uniformly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hydro_sim_core as hs

METHODS = ["lagged", "similar", "sap", "tamsi", "pgs"]


@pytest.mark.parametrize("model", METHODS)
@settings(max_examples=20, deadline=None)
@given(
    speed=st.floats(-100.0, 100.0), force=st.floats(1e-4, 10.0), time_step=st.sampled_from([1e-2, 1e-3, 1e-5])
)
@example(speed=10.0, force=1e-4, time_step=1e-3)
@example(speed=10.0, force=1e-2, time_step=1e-5)
def test_a_small_force_across_moves_a_swift_body(
    model: str, speed: float, force: float, time_step: float
) -> None:
    """Newton's second law: v = F t / m."""
    scene = hs.SceneBuilder("swift", time_step=time_step, gravity=(0, 0, 0), solver={"model": model})
    scene.add_body("body", mass=2.0, inertia=0.01 * np.eye(3))
    world = hs.World(scene.build())
    world.place("body", None, [0, 0, 0, speed, 0, 0])
    world.apply_wrench("body", [0, 0, 0, 0, force, 0])
    world.step(20)
    assert world.v[4] == pytest.approx(force * 20 * time_step / 2.0, rel=1e-7)
    assert world.diagnostics()["unconverged_steps"] == 0


def spring_on_a_base(speed: float, time_step: float) -> float:
    """Where 1 g on a spring is after 1 s that was let go 10 mm from its rest, on a floating base of 100 kg, m."""
    scene = hs.SceneBuilder("spring", time_step=time_step, gravity=(0, 0, 0))
    model = scene.add_model("base", base="floating")
    model.add_link("base", mass=100.0, inertia=10.0 * np.eye(3))
    model.add_link("bob", mass=1e-3, inertia=1e-7 * np.eye(3))
    model.add_joint("slide", "prismatic", "base", "bob", axis=(1, 0, 0), lower=-1, upper=1)
    model.add_spring("slide", 9e-3, 0.01)
    world = hs.World(scene.build())
    world.place("base", None, [0, 0, 0, speed, 0, 0])
    world.step(round(1.0 / time_step))
    return float(world.joint_positions()[-1])


@pytest.mark.parametrize("speed", [3.0, 30.0])
def test_a_light_spring_swings_on_a_swift_base(speed: float) -> None:
    assert spring_on_a_base(speed, 1e-3) == pytest.approx(0.01 * (1.0 - np.cos(3.0)), rel=2e-4)
    assert spring_on_a_base(speed, 1e-4) == pytest.approx(0.01 * (1.0 - np.cos(3.0)), rel=2e-5)


def test_a_swift_body_keeps_its_angular_momentum() -> None:
    """Steps of 10 µs, in which gyroscopic moments change little beside the momentum of the flight.

    Velocities are those of half a step before the posture, which turns by 1e-4 rad meanwhile.
    """
    scene = hs.SceneBuilder("tumbles", time_step=1e-5, gravity=(0, 0, 0))
    inertia = np.diag([1e-3, 2e-3, 2.5e-3])
    scene.add_body("body", mass=1.0, inertia=inertia)
    world = hs.World(scene.build())
    world.place("body", None, [1.0, 20.0, 0.5, 10.0, 0, 0])
    before = inertia @ [1.0, 20.0, 0.5]
    world.step(20000)
    R = world.frame_pose("body")[:3, :3]
    after = R @ inertia @ R.T @ world.frame_twists()[list(world.frame_names).index("body")][:3]
    assert np.linalg.norm(after - before) <= 2e-5 * np.linalg.norm(before)
