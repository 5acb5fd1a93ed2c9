"""Joint trajectories along Cartesian motions: exact at every point, without jumps, within velocity limits."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core import InputError
from hydro_sim_core.manipulation import CartesianMotion, MotionLimits, follow
from support.simulation.made_scenes import CONFIG

FRAME = "end_effector_link"


@pytest.fixture(scope="module")
def arm() -> hs.World:
    world = hs.load_scene(CONFIG / "gen3_7dof.yaml")
    world.set_joint_positions({f"joint_{i}": q for i, q in enumerate((0.1, 0.4, 0.0, 1.6, 0.0, 0.9, 0.2), 1)})
    return world


def up(arm: hs.World, height: float, **limits: float) -> CartesianMotion:
    X_WF = arm.frame_pose(FRAME)
    above = X_WF.copy()
    above[2, 3] += height
    return CartesianMotion([X_WF, above], MotionLimits(**limits))


def test_every_point_is_on_the_motion_with_its_velocity(arm: hs.World) -> None:
    motion = up(arm, 0.1)
    found = follow(arm, FRAME, motion)
    moved = arm.copy()
    columns = [arm.velocity_names.index(name) for name in found.names]
    assert found.times[0] == 0.0
    assert found.times[-1] == motion.duration
    for time, q, v in zip(found.times, found.positions, found.velocities, strict=True):
        moved.set_joint_positions(dict(zip(found.names, q, strict=True)))
        X_WF, V_WF, _ = motion.at(time)
        np.testing.assert_allclose(moved.frame_pose(FRAME), X_WF, atol=2e-7)
        np.testing.assert_allclose(moved.frame_jacobian(FRAME)[:, columns] @ v, V_WF, atol=1e-9)
    # Velocities are those of the positions, but for how a redundant arm moves within itself.
    steps = np.diff(found.positions, axis=0) / np.diff(found.times)[:, None]
    means = 0.5 * (found.velocities[1:] + found.velocities[:-1])
    assert np.abs(steps - means).max() < 0.02 * np.abs(means).max()


def test_a_motion_out_of_reach_is_told_with_its_time(arm: hs.World) -> None:
    with pytest.raises(
        InputError, match=r"follow: frame 'end_effector_link': stays .* mm .* off the motion at .* s"
    ):
        follow(arm, FRAME, up(arm, 2.0, speed=0.02), period=1.0)


def test_a_joint_that_would_be_too_fast_is_told(arm: hs.World) -> None:
    motion = up(arm, 0.1, speed=5.0, acceleration=100.0, jerk=5000.0)
    with pytest.raises(InputError, match=r"joint 'joint_\d': would move at .* its velocity limit is"):
        follow(arm, FRAME, motion)


@pytest.mark.parametrize("period", [0.0, -1.0, float("nan"), float("inf")])
def test_a_period_that_is_none_is_told(arm: hs.World, period: float) -> None:
    with pytest.raises(InputError, match=r"follow: period: is .*; give seconds, above 0"):
        follow(arm, FRAME, up(arm, 0.1), period=period)
