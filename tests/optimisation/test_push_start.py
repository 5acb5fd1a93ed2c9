"""First guesses of a push: motions of the plane, the footprint, and who may push what."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import dblquad
from scipy.linalg import expm

from hydro_sim_core.experiments.planar_push.bodies import FRICTION, OUTLINE, RADIUS
from hydro_sim_core.optimisation.push_start import (
    GAP,
    first_guesses,
    mean_radius,
    next_goal,
    placed,
    planar_twist,
    pose_after,
    possible_pushes,
    relative,
)

poses = st.tuples(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3), st.floats(-3.0, 3.0)).map(np.array)


@given(poses)
def test_twists_are_logarithms_of_poses(pose):
    twist = planar_twist(pose)
    np.testing.assert_allclose(pose_after(twist), pose, atol=1e-12)
    x, y, w = twist
    X = expm(np.array([[0.0, -w, x], [w, 0.0, y], [0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(X[:2, 2], pose[:2], atol=1e-12)
    np.testing.assert_allclose(X[:2, 0], [math.cos(pose[2]), math.sin(pose[2])], atol=1e-12)


@given(poses, poses)
def test_a_pose_seen_from_another_leads_to_it(pose, other):
    seen = relative(pose, other)
    np.testing.assert_allclose(placed(pose, seen[:2]), other[:2], atol=1e-12)
    assert math.cos(pose[2] + seen[2] - other[2]) == pytest.approx(1.0, abs=1e-12)


def test_the_mean_radius_is_that_of_the_two_bars():
    (right, top), (inner, low), thick = OUTLINE[1], OUTLINE[6], OUTLINE[0, 1]
    parts = [(-right, right, thick, top), (-inner, inner, low, thick)]
    area = sum((b - a) * (d - c) for a, b, c, d in parts)
    total = sum(dblquad(lambda y, x: math.hypot(x, y), a, b, c, d)[0] for a, b, c, d in parts)
    assert mean_radius() == pytest.approx(total / area, rel=1e-3)


def test_the_finger_finds_room_where_it_may_push():
    """Distance by a fine sampling of the outline."""
    pushes = possible_pushes()
    share = np.linspace(0.0, 1.0, 400)[:, None]
    outline = np.concatenate(
        [a + share * (b - a) for a, b in zip(OUTLINE, np.roll(OUTLINE, -1, axis=0), strict=True)]
    )
    for gap in (0.0, GAP):
        centres = pushes.contacts - (RADIUS + gap) * pushes.inward
        away = np.linalg.norm(centres[:, None] - outline[None], axis=2).min(axis=1)
        assert away.min() > RADIUS - 1e-6
    # The notches between the bars are narrower than they are for a point.
    assert len(pushes.contacts) > 50


def test_a_push_through_the_centre_of_mass_does_not_turn():
    for goal in (np.array([0.0, -0.1, 0.0]), np.array([0.0, 0.1, 0.0])):
        start, touch = first_guesses(goal, 1)[0][:2]
        assert abs(touch[0]) < 0.005
        np.testing.assert_allclose(touch - start, [0.0, math.copysign(GAP, goal[1])], atol=1e-12)
        assert next_goal(goal) is goal


def test_a_diagonal_takes_two_pushes_that_no_side_has_in_one():
    """Sides look along the axes, and friction reaches by its angle from there."""
    goal = np.array([-0.1, -0.1, 0.0])
    assert math.atan(FRICTION) < math.radians(45.0) - math.radians(10.0)
    first = next_goal(goal)
    assert np.linalg.norm(first - goal) > 0.03
    rest = relative(first, goal)
    assert next_goal(rest) is rest


def test_a_guess_goes_with_the_t():
    """The finger stays at its place of the T on the way to the goal."""
    goal = np.array([0.1, 0.05, math.radians(30.0)])
    for path in first_guesses(goal, 2):
        twist = planar_twist(goal)
        for share, point in zip(np.linspace(0.0, 1.0, len(path) - 1), path[1:], strict=True):
            np.testing.assert_allclose(placed(pose_after(share * twist), path[1]), point, atol=1e-12)
