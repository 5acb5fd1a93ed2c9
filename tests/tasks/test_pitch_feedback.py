"""The pitch of a handle from images is that of the handle; from wrenches, that of a pendulum with the same forces."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hydro_sim_core.description.poses import pose
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import find_task
from hydro_sim_core.tasks.pitch_feedback import (
    Held,
    PitchFromMembrane,
    PitchFromWrench,
    angle_in,
    axes_of,
    held_model,
    pushed_in,
    square_sums,
    steady_gains,
)
from hydro_sim_core.tasks.slip_control import HANDLE, start_at
from hydro_sim_core.tasks.trial import measure, views_of
from hydro_sim_core.tasks.turner import GRIPPER, MIDDLE

PERIOD = 0.01


@pytest.fixture(scope="module")
def scene():
    return find_scene("slip_control")


@pytest.mark.parametrize("pitch", [-1.0, -0.5, -0.1, 0.0, 0.25, 0.6])
def test_images_tell_the_pitch(scene, pitch):
    """Within what the facets of the handle and the pixels leave: 2.4 mrad of poses from -1 to 0.6 rad."""
    world = World(scene.with_(start_at(scene, pitch)))
    world.step(100)
    task = find_task("slip_control", {"feedback": "membrane"})
    feedback = task.controller(World(scene), PERIOD)._feedback
    measured = measure(world, views_of(task, world))
    feedback.see(measured)
    is_at = angle_in(axes_of(measured.poses[GRIPPER.palm]), -measured.poses[HANDLE][:3, 2])
    assert is_at == pytest.approx(pitch, abs=0.01)
    assert feedback.pitch == pytest.approx(is_at, abs=3e-3)
    assert feedback.holds


@pytest.mark.parametrize("noise", [1e-4, 1e-3])
def test_noisy_images_tell_the_pitch(scene, noise):
    """Every one of them, within what the controller expects of such noise, and no side of it: five deviations of 40."""
    world = World(scene)
    world.step(100)
    task = find_task("slip_control", {"feedback": "membrane", "depth_noise": noise})
    views = [views_of(task, world, seed) for seed in range(20)]
    model = World(scene)
    offs = []
    for seen in views:
        measured = measure(world, seen)
        feedback = task.controller(model, PERIOD)._feedback
        feedback.see(measured)
        assert feedback.holds
        offs.append(
            feedback.pitch - angle_in(axes_of(measured.poses[GRIPPER.palm]), -measured.poses[HANDLE][:3, 2])
        )
    expected = PitchFromMembrane.SPREAD + PitchFromMembrane.PER_NOISE * noise
    assert np.std(offs) < expected
    assert abs(np.mean(offs)) < 3e-3 + expected / math.sqrt(len(offs))
    assert np.std(offs) > 0.0


def test_a_noisy_image_is_pushed_in_where_the_handle_is_alone(scene):
    """Next to no pixel of noise counts, although each by itself is pushed in by five times as much as counts."""
    rng = np.random.default_rng(5)
    depression = 1e-3 * rng.standard_normal((120, 160))
    depression[:, :20] = np.nan
    depression[40:80, 60:100] += 3e-3
    found = pushed_in(depression, 2e-4, 11, 4e-3)
    assert found[45:75, 65:95].all()
    assert not found[:30].any()
    assert not found[:, :50].any()


@pytest.mark.parametrize("window", [1, 3, 7])
def test_sums_over_squares_are_those_of_the_elements(window):
    values = np.random.default_rng(2).standard_normal((9, 12))
    half = window // 2
    padded = np.pad(values, half)
    expected = [[padded[i : i + window, j : j + window].sum() for j in range(12)] for i in range(9)]
    np.testing.assert_allclose(square_sums(values, window), expected, atol=1e-12)


@pytest.mark.parametrize("index", [1e-3, 0.1, 0.9])
def test_gains_are_those_that_a_kalman_filter_ends_with(index):
    """Of position and rate, with a rate that changes by jumps of the acceleration of a period."""
    F = np.array([[1.0, 1.0], [0.0, 1.0]])
    kick = index * np.array([0.5, 1.0])
    P = np.eye(2)
    for _ in range(20_000):
        P = F @ P @ F.T + np.outer(kick, kick)
        gain = P[:, 0] / (P[0, 0] + 1.0)
        P = P - np.outer(gain, P[0])
    np.testing.assert_allclose(steady_gains(index), gain, rtol=1e-6)


def test_images_without_a_handle_tell_of_none(scene):
    world = World(scene.with_({"models.spatula.pose.xyz": [2.0, 0.0, 0.5]}))
    world.step()
    task = find_task("slip_control", {"feedback": "membrane"})
    feedback = task.controller(World(scene), PERIOD)._feedback
    feedback.see(measure(world, views_of(task, world)))
    assert not feedback.holds


HELD = Held(0.1, np.array([0.01, 0.0, -0.18]), 7e-4, 9.81)


def eased(t):
    """From 0.4 to -0.8 rad as a cosine goes, within a second and a half: pitch, rate and its change."""
    w, t = math.pi / 1.5, min(max(t - 0.3, 0.0), 1.5)
    change = -0.6 * w**2 * math.cos(w * t) if 0.0 < t < 1.5 else 0.0
    return 0.4 - 0.6 * (1.0 - math.cos(w * t)), -0.6 * w * math.sin(w * t), change


def at_once(t):
    """At half a radian a second from just above level on: how it began has no measurement."""
    return LEVEL + 0.02 - 0.5 * t, -0.5, 0.0


#: Pitch at which the centre of mass is as high as the fingers.
LEVEL = -math.atan2(0.01, 0.18)


def pendulum(start, motion, slide=0.0, count=250):
    """What is measured of a body that turns between the fingers: pitches, rates and measurements.

    It slides forward by so much a radian, m, without a force that could be seen. Each finger has half of the load.
    """
    X_WP = start.poses[GRIPPER.palm]
    p_WG = (X_WP @ np.append(MIDDLE[:3, 3], 1.0))[:3]
    axes = axes_of(X_WP)
    for k in range(count):
        pitch, rate, change = motion(PERIOD * k)
        c, s = math.cos(pitch), math.sin(pitch)
        # The handle's z axis points back along it, its x axis down at level.
        along, down = c * axes.forward + s * axes.up, s * axes.forward - c * axes.up
        R_WH = np.column_stack([-down, np.cross(-along, -down), -along])
        arm = R_WH @ HELD.p_HC
        of_centre = change * np.cross(axes.axis, arm) - rate**2 * arm
        force = HELD.mass * (of_centre + HELD.gravity * axes.up)
        slid = slide * (motion(0.0)[0] - pitch) * axes.forward
        moment = HELD.inertia * change * axes.axis + np.cross(arm + slid, force)
        poses, wrenches = dict(start.poses), {}
        X_WH = np.eye(4)
        X_WH[:3, :3], X_WH[:3, 3] = R_WH, p_WG + slid
        poses[HANDLE] = X_WH
        for link, side in zip(GRIPPER.links, GRIPPER.sides, strict=True):
            X_WF, squeeze = poses[link], 10.0 * side * X_WP[:3, 1]
            f = -0.5 * force + squeeze
            # About the middle; moved to the origin of the finger.
            m = -0.5 * moment - np.cross(X_WF[:3, 3] - p_WG, f)
            wrenches[HANDLE, link] = np.concatenate([X_WF[:3, :3].T @ f, X_WF[:3, :3].T @ m])
        yield pitch, rate, replace(start, time=PERIOD * k, poses=poses, wrenches=wrenches)


@pytest.mark.parametrize(
    ("motion", "slide", "on_the_way", "at_the_end"),
    [(eased, 0.0, 1e-3, 2e-4), (eased, 2e-3, 0.02, 0.015), (at_once, 0.0, 0.2, 0.01)],
)
def test_wrenches_of_a_pendulum_tell_its_pitch(scene, motion, slide, on_the_way, at_the_end):
    """Through level, where the moment does not tell, and to the right side of it; the handle is looked at only once."""
    start = measure(World(scene))
    feedback = PitchFromWrench(HELD, HANDLE, GRIPPER, MIDDLE[:3, 3], PERIOD)
    offs = []
    for k, (pitch, rate, measured) in enumerate(pendulum(start, motion, slide)):
        if k:
            measured = replace(measured, poses={**measured.poses, HANDLE: np.full((4, 4), np.nan)})
        feedback.see(measured)
        offs.append([feedback.pitch - pitch, feedback.rate - rate])
        if pitch < -0.8:
            break
    offs = np.abs(offs)
    assert offs[:, 0].max() < on_the_way
    assert offs[-1, 0] < at_the_end
    assert feedback.holds


@pytest.mark.parametrize("share", [0.8, 1.05])
def test_what_it_weighs_is_measured(scene, share):
    """With a belief of 2 % too much the pitch was 0.01 rad off, and still moved when the spatula was held."""
    start = measure(World(scene))
    believed = replace(HELD, mass=share * HELD.mass, inertia=share * HELD.inertia)
    told, known = (PitchFromWrench(held, HANDLE, GRIPPER, MIDDLE[:3, 3], PERIOD) for held in (believed, HELD))
    for _, _, measured in pendulum(start, eased):
        told.see(measured)
        known.see(measured)
        assert told.pitch == pytest.approx(known.pitch, abs=1e-12)


def test_fingers_that_do_not_press_hold_nothing(scene):
    start = measure(World(scene))
    feedback = PitchFromWrench(HELD, HANDLE, GRIPPER, MIDDLE[:3, 3], PERIOD)
    (_, _, first), (_, _, second), *_ = pendulum(start, eased)
    feedback.see(first)
    feedback.see(replace(second, wrenches={pair: np.zeros(6) for pair in second.wrenches}))
    assert not feedback.holds


def test_what_is_held_has_the_inertia_of_the_world(scene):
    """Weight and inertia about the handle's own axis across it, from the mass matrix of the world."""
    world = World(scene)
    held = held_model(world, "spatula", HANDLE)
    columns = [i for i, name in enumerate(world.velocity_names) if name.startswith("spatula_base")]
    M = world.mass_matrix()[np.ix_(columns, columns)]
    J = world.frame_jacobian(HANDLE)[:, columns]
    # Velocities of the base with which the handle turns about its y axis in place, and rises.
    turn = np.concatenate([world.frame_pose(HANDLE)[:3, 1], np.zeros(3)])
    rise = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    v = np.linalg.solve(J, np.column_stack([turn, rise]))
    across = np.hypot(held.p_HC[0], held.p_HC[2])
    assert v[:, 1] @ M @ v[:, 1] == pytest.approx(held.mass, rel=1e-9)
    assert v[:, 0] @ M @ v[:, 0] == pytest.approx(held.inertia + held.mass * across**2, rel=1e-9)


@pytest.mark.parametrize("roll", [0.0, math.pi, 0.3])
def test_axes_of_a_grip(roll):
    """Level and upwards however the hand is turned about the direction of its fingers."""
    X_WP = pose(rpy=[0.0, -math.pi / 2.0, 0.0]) @ pose(rpy=[0.0, 0.0, roll])
    axes = axes_of(X_WP)
    np.testing.assert_allclose(axes.forward, [1.0, 0.0, 0.0], atol=1e-12)
    assert axes.up @ [0.0, 0.0, 1.0] == pytest.approx(math.cos(roll if roll < 3.0 else 0.0))
    np.testing.assert_allclose(np.cross(axes.forward, axes.up), axes.axis)
    assert angle_in(axes, axes.forward + axes.up) == pytest.approx(math.pi / 4.0)
