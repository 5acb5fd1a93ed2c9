"""Joint trajectories along Cartesian motions: exact at every point, without jumps, within velocity limits."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core import InputError
from hydro_sim_core.manipulation import CartesianMotion, MotionLimits, follow
from hydro_sim_core.manipulation.joint_trajectory import _check_speeds, _Point
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


@pytest.mark.parametrize("period", [0.02, 0.1, 0.5, 5.0])
def test_a_joint_that_would_be_too_fast_between_points_is_told(arm: hs.World, period: float) -> None:
    """Of a motion that is over before the second point, too."""
    motion = up(arm, 0.1, speed=3.0, acceleration=50.0, jerk=5000.0)
    assert motion.duration < 0.11
    with pytest.raises(InputError, match=r"joint 'joint_\d': would move at .* its velocity limit is"):
        follow(arm, FRAME, motion, period=period)


def test_coarse_points_are_those_of_fine_ones(arm: hs.World) -> None:
    """They are where fine points are, but for how a redundant arm moves within itself."""
    motion = up(arm, 0.1)
    fine, coarse = (follow(arm, FRAME, motion, period=period) for period in (0.02, 0.2))
    np.testing.assert_array_equal(coarse.times, [*np.arange(0.0, motion.duration, 0.2), motion.duration])
    for time, q in zip(coarse.times[:-1], coarse.positions, strict=False):
        np.testing.assert_allclose(q, fine.positions[round(time / 0.02)], atol=2e-3)


@pytest.mark.parametrize("rounding", [-1e-12, 0.0, 1e-12])
def test_a_period_that_divides_the_duration_leaves_no_sliver(arm: hs.World, rounding: float) -> None:
    motion = up(arm, 0.1)
    found = follow(arm, FRAME, motion, period=motion.duration / 3.0 * (1.0 + rounding))
    np.testing.assert_allclose(found.times, motion.duration * np.arange(4) / 3.0, atol=1e-9)


def test_a_period_that_is_longer_than_the_motion_leaves_both_ends(arm: hs.World) -> None:
    motion = up(arm, 0.05)
    assert follow(arm, FRAME, motion, period=1e300).times.tolist() == [0.0, motion.duration]


def test_a_cubic_that_is_faster_than_the_motion_is_told() -> None:
    """From rest to rest it peaks in the middle with 1.5 of the mean; with the mean at both ends it is a line."""
    arm = SimpleNamespace(names=("a", "b"), speed_limits=np.array([1.0, 1.0]))
    rest, mean = np.zeros(2), np.array([0.0, 0.7])
    for v, is_told in ((rest, True), (mean, False)):
        points = [_Point(0.0, rest, v), _Point(2.0, 2.0 * mean, v)]
        if not is_told:
            _check_speeds(arm, *points)
            continue
        with pytest.raises(
            InputError, match=r"joint 'b': would move at 1\.05 at 1 s, and its velocity limit is 1;"
        ):
            _check_speeds(arm, *points)


def test_a_joint_that_is_hardly_too_fast_is_told_with_digits_that_differ() -> None:
    arm = SimpleNamespace(names=("a",), speed_limits=np.array([1.4]))
    v = np.array([1.4 + 2e-9])
    with pytest.raises(
        InputError, match=r"would move at 1\.400000002 at \S+ s, and its velocity limit is 1\.4;"
    ):
        _check_speeds(arm, _Point(0.0, np.zeros(1), v), _Point(1.0, v, v))


def test_joints_that_stand_elsewhere_are_told(arm: hs.World) -> None:
    X_WF = arm.frame_pose(FRAME)
    X_WF[:3, 3] += (0.0, 0.02, 0.0)
    above = X_WF.copy()
    above[2, 3] += 0.05
    motion = CartesianMotion([X_WF, above])
    with pytest.raises(
        InputError, match=r"follow: joint 'joint_\d': is at \S+, and at \S+ where the motion begins; bring"
    ):
        follow(arm, FRAME, motion)
    near = X_WF.copy()
    near[1, 3] -= 0.0195
    assert follow(arm, FRAME, CartesianMotion([near, near])).positions.shape == (1, 7)


@pytest.mark.parametrize("period", [0.0, -1.0, float("nan"), float("inf"), "a", True, None])
def test_a_period_that_is_none_is_told(arm: hs.World, period: float) -> None:
    with pytest.raises(InputError, match=r"follow: period: is .*; give seconds, above 0"):
        follow(arm, FRAME, up(arm, 0.1), period=period)


def test_a_period_that_makes_too_many_points_is_told(arm: hs.World) -> None:
    with pytest.raises(
        InputError, match=r"follow: period: of 1e-09 s makes more than 100000 points of \S+ s"
    ):
        follow(arm, FRAME, up(arm, 0.1), period=1e-9)


def test_poses_are_no_motion(arm: hs.World) -> None:
    X_WF = arm.frame_pose(FRAME)
    for motion in ([X_WF, X_WF], None):
        with pytest.raises(InputError, match=r"follow: motion: is .*; give a CartesianMotion"):
            follow(arm, FRAME, motion)  # type: ignore[arg-type]
