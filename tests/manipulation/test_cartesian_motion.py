"""Motions between poses: straight, within limits, as fast as a closed form says, and at rest at every pose."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hydro_sim_core import InputError
from hydro_sim_core.manipulation import CartesianMotion, MotionLimits
from hydro_sim_core.manipulation.cartesian_motion import fastest_share
from support.contact_models.rigid_poses import pose


def test_a_long_way_takes_the_time_of_the_seven_phases() -> None:
    """Jerk-limited from rest to rest, with a phase at full speed: T = L/v + v/a + a/j."""
    motion = CartesianMotion(
        [pose(), pose((1.0, 0.0, 0.0))], MotionLimits(speed=0.25, acceleration=1.0, jerk=10.0)
    )
    assert motion.duration == pytest.approx(1.0 / 0.25 + 0.25 / 1.0 + 1.0 / 10.0, rel=1e-12)


def test_a_short_way_takes_the_time_of_four_phases_of_jerk() -> None:
    motion = CartesianMotion([pose(), pose((1e-3, 0.0, 0.0))], MotionLimits(jerk=10.0))
    assert motion.duration == pytest.approx(4.0 * (1e-3 / 2.0 / 10.0) ** (1.0 / 3.0), rel=1e-12)


def test_a_way_at_whose_middle_the_top_speed_is_just_reached() -> None:
    """Limits as they are after a division by 20 mm: Ruckig found no solution."""
    profile = fastest_share(4.999999999999996, 49.99999999999996, 499.9999999999995)
    assert profile.duration == pytest.approx(1.0 / 5.0 + 5.0 / 50.0 + 50.0 / 500.0, rel=1e-6)
    assert profile.at(profile.duration) == pytest.approx((1.0, 0.0, 0.0), abs=1e-9)


@pytest.mark.parametrize(("shift", "turn"), [(0.02, 0.0), (0.0, 0.08)])
def test_ways_that_just_reach_the_top_acceleration_are_found(shift: float, turn: float) -> None:
    """2 a^3 / j^2 of the default limits, in every direction from everywhere: T = 4 a/j."""
    rng = np.random.default_rng(0)
    for i in range(60):
        X_WA = pose(rng.uniform(-1.0, 1.0, 3), rng.uniform(-1.0, 1.0, 3))
        X_WB = X_WA.copy()
        X_WB[i % 3, 3] += shift
        X_WB[:3, :3] = Rotation.from_rotvec(turn * np.eye(3)[i % 3]).as_matrix() @ X_WA[:3, :3]
        assert CartesianMotion([X_WA, X_WB]).duration == pytest.approx(0.4, rel=1e-8)


numbers = st.one_of(
    st.floats(-2.0, 2.0).map(lambda power: 10.0**power),
    st.sampled_from([0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]),
)


@settings(max_examples=150)
@given(numbers, numbers, st.floats(1.0, 10.0), st.sampled_from([0.25, 1.0]), st.booleans())
def test_a_limit_that_is_reached_for_an_instant_is_no_obstacle(
    a: float, j: float, faster: float, braking: float, has_top_speed: bool
) -> None:
    """The top acceleration at d = 2 a^3 / j^2, the top speed at d = v (v/a + a/j)."""
    v = faster * a * a / j
    way = v * (v / a + a / j) if has_top_speed else 2.0 * a**3 / j**2
    profile = fastest_share(v / way, a / way, j / way, braking)
    assert profile.at(profile.duration)[0] == pytest.approx(1.0, abs=1e-9)
    if braking == 1.0:
        duration = 2.0 * (v / a + a / j) if has_top_speed else 4.0 * a / j
        assert profile.duration == pytest.approx(duration, rel=1e-8)


def test_limits_without_a_motion_are_one_error_with_its_pose() -> None:
    limits = MotionLimits(speed=5e-5, acceleration=3e15, jerk=5e22, braking=1e-27)
    poses = [np.eye(4), np.eye(4), pose((1.0, 0.0, 0.0))]
    with pytest.raises(
        InputError, match=r"CartesianMotion: X_WF\[2\]: cannot be reached from X_WF\[1\]: no mo"
    ):
        CartesianMotion(poses, limits)


vectors = st.tuples(*3 * [st.floats(-1.0, 1.0)])


@settings(max_examples=50)
@given(vectors, vectors, vectors)
def test_it_stays_within_its_limits_on_a_straight_line(end, first_turn, turn) -> None:
    limits = MotionLimits()
    X_WA, X_WB = pose((0.1, 0.2, 0.3), first_turn), pose(end, turn)
    motion = CartesianMotion([X_WA, X_WB], limits)
    way = X_WB[:3, 3] - X_WA[:3, 3]
    for time in np.linspace(0.0, motion.duration, 21):
        X, V, A = motion.at(time)
        share = (X[:3, 3] - X_WA[:3, 3]) @ way / max(way @ way, 1e-300)
        np.testing.assert_allclose(X[:3, 3], X_WA[:3, 3] + share * way, atol=1e-12)
        assert np.linalg.norm(V[3:]) <= limits.speed * (1.0 + 1e-9)
        assert np.linalg.norm(V[:3]) <= limits.angular_speed * (1.0 + 1e-9)
        assert np.linalg.norm(A[3:]) <= limits.acceleration * (1.0 + 1e-9)
        assert np.linalg.norm(A[:3]) <= limits.angular_acceleration * (1.0 + 1e-9)
    np.testing.assert_allclose(motion.at(0.0)[0], X_WA, atol=1e-12)
    np.testing.assert_allclose(motion.at(motion.duration)[0], X_WB, atol=1e-9)


def test_twist_and_acceleration_are_the_rates_of_the_pose() -> None:
    motion = CartesianMotion([pose(), pose((0.3, 0.1, -0.2), (0.5, -1.0, 0.3))])
    h = 1e-5
    for time in np.linspace(0.1, motion.duration - 0.1, 7):
        (X_before, V_before, _), (X, V, A), (X_after, V_after, _) = (
            motion.at(t) for t in (time - h, time, time + h)
        )
        turned = Rotation.from_matrix(X_after[:3, :3] @ X_before[:3, :3].T).as_rotvec()
        np.testing.assert_allclose(V[:3], turned / (2.0 * h), atol=1e-7)
        np.testing.assert_allclose(V[3:], (X_after[:3, 3] - X_before[:3, 3]) / (2.0 * h), atol=1e-7)
        np.testing.assert_allclose(A, (V_after - V_before) / (2.0 * h), atol=1e-4)
        np.testing.assert_allclose(X[:3, :3] @ X[:3, :3].T, np.eye(3), atol=1e-14)


def test_it_rests_at_every_pose_and_beyond_its_ends() -> None:
    poses = [pose(), pose((0.1, 0.0, 0.0)), pose((0.1, 0.0, 0.0)), pose((0.1, 0.1, 0.0), (0.0, 0.0, 1.0))]
    motion = CartesianMotion(poses)
    assert motion.times[1] == motion.times[2]
    for time, X_WF in zip(
        [-1.0, *motion.times, motion.duration + 1.0], [poses[0], *poses, poses[-1]], strict=True
    ):
        X, V, _ = motion.at(time)
        np.testing.assert_allclose(X, X_WF, atol=1e-9)
        np.testing.assert_allclose(V, 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("poses", "limits", "told"),
    [
        ([np.eye(4)], {}, r"CartesianMotion: X_WF: holds 1 poses; give two or more"),
        ([np.eye(4), np.zeros((4, 4))], {}, r"X_WF\[1\]"),
        ([np.eye(4), np.eye(4)], {"speed": 0.0}, r"MotionLimits: speed: is 0.0; give a number above 0"),
        ([np.eye(4), np.eye(4)], {"jerk": math.nan}, "jerk: is nan"),
        ([np.eye(4), np.eye(4)], {"jerk": 10**400}, "jerk: is inf"),
        ([np.eye(4), np.eye(4)], {"speed": True}, "speed: is True; give a number above 0"),
        ([np.eye(4), np.eye(4)], {"speed": "0.2"}, "speed: is '0.2'; give a number above 0"),
        ([np.eye(4), np.eye(4)], {"braking": 3.0}, "braking: is 3.0; give a number above 0, from 1e-30 to 1"),
        ([np.eye(4), np.eye(4)], {"speed": 5e-324}, "speed: is 5e-324; give a number above 0, from 1e-30"),
        (
            [np.eye(4), pose((1e308, 0.0, 0.0))],
            {},
            r"X_WF\[1\]: cannot be .*: 1e\+308 m are between; give at m",
        ),
        (None, {}, "CartesianMotion: X_WF: is None; give two or more poses"),
    ],
)
def test_what_cannot_be_is_one_error(poses, limits, told: str) -> None:
    with pytest.raises(InputError, match=told):
        CartesianMotion(poses, MotionLimits(**limits))


def test_braking_gently_takes_longer_at_the_end_alone() -> None:
    """With next to no limit of jerk: T = L/v + v/2a + v/2ba, and the second half of the change is slower."""
    limits = MotionLimits(speed=0.2, acceleration=2.0, jerk=1e6, braking=0.25)
    motion = CartesianMotion([pose(), pose((1.0, 0.0, 0.0))], limits)
    assert motion.duration == pytest.approx(1.0 / 0.2 + 0.2 / 4.0 + 0.2 / 1.0, abs=1e-5)
    accelerations = [motion.at(time)[2][3] for time in np.linspace(0.0, motion.duration, 2000)]
    assert max(accelerations) == pytest.approx(2.0, rel=1e-9)
    assert min(accelerations) == pytest.approx(-0.5, rel=1e-9)


def test_numbers_of_numpy_are_numbers() -> None:
    limits = MotionLimits(speed=np.float32(0.25), acceleration=np.int64(1), jerk=np.array(10.0))
    assert limits == MotionLimits(speed=0.25, acceleration=1.0, jerk=10.0)


@pytest.mark.parametrize("time", [math.nan, "now", None])
def test_a_time_that_is_none_is_one_error(time) -> None:
    motion = CartesianMotion([pose(), pose((0.1, 0.0, 0.0))])
    with pytest.raises(InputError, match=r"CartesianMotion.at: time: is .*; give seconds"):
        motion.at(time)


def test_limits_that_are_none_are_one_error() -> None:
    with pytest.raises(InputError, match="CartesianMotion: limits: is 5; give MotionLimits"):
        CartesianMotion([pose(), pose((0.1, 0.0, 0.0))], 5)
