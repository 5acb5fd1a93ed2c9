"""Two boxes carry a spoon to where it shall be, rolled between them, and what goes wrong is told."""

import math
import re
import runpy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydro_sim_core.assets import folder
from hydro_sim_core.description import load_robot
from hydro_sim_core.description.poses import pose
from hydro_sim_core.geometry import load_surface
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, attempt, run_trial
from hydro_sim_core.tasks.robot import TaskFailed
from hydro_sim_core.tasks.task import Story
from hydro_sim_core.tasks.trial import measure, scene_of
from hydro_sim_core.tasks.two_box_spoon import (
    ALIGNED,
    BOXES,
    FURTHEST,
    NEAR,
    ROLL_SPEED,
    SPOON,
    WANTED,
    palm_for,
    roll_left,
)

TASK = TASKS["two_box_spoon"]
#: Of the spoon, m.
HANDLE_RADIUS = 0.005


@pytest.mark.parametrize("seed", [0])
def test_the_spoon_gets_where_it_shall_be(seed):
    trial = run_trial(TASK, seed)
    assert trial.succeeded, trial
    assert trial.measures["rolled between the boxes, deg"] == pytest.approx(80.0, abs=1.0)
    # A round handle between faces that move apart at v each, without slip, turns at v / radius.
    rolled = [(point["time, s"], point["rolled, deg"]) for point in trial.course]
    middle = [(time, angle) for time, angle in rolled if 20.0 < angle < 60.0]
    (begin, first), (end, last) = middle[0], middle[-1]
    rate = math.radians(last - first) / (end - begin)
    assert rate == pytest.approx(ROLL_SPEED / HANDLE_RADIUS, rel=0.02)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 6))
def test_drawn_starts_succeed_too(seed):
    trial = run_trial(TASK, seed)
    assert trial.succeeded, trial


@pytest.mark.long
def test_a_finer_handle_and_shorter_steps_end_alike():
    coarse = run_trial(TASK)
    for values in ({"models.spoon.xacro_args.handle_hint": 0.0007}, {"time_step": 0.001}):
        fine = run_trial(TASK, values=values)
        assert fine.succeeded, fine
        assert fine.measures["off the direction, deg"] == pytest.approx(
            coarse.measures["off the direction, deg"], abs=0.1
        )


# --- what goes wrong


@pytest.fixture(scope="module")
def model():
    return World(find_scene("two_box_spoon"))


def test_a_spoon_out_of_reach_ends_it(monkeypatch):
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.02)
    trial = run_trial(TASK, values={"models.spoon.pose.xyz": [0.6, -0.12, 0.014]})
    assert not trial.succeeded
    assert trial.phase == "take the spoon"
    assert "a pose is out of reach: stays 105 mm" in trial.reason


def test_a_slippery_spoon_is_lost(monkeypatch):
    """12 N on each side with friction of 0.006 hold half its weight."""
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.02)
    trial = run_trial(TASK, values={"models.spoon.links.spoon.mu_dynamic": 0.003})
    assert not trial.succeeded
    assert trial.phase == "lift the spoon"
    assert re.fullmatch(r"lost the grasp of spoon: [0-3]\.\d N on the looser box", trial.reason)


def test_a_spoon_that_does_not_roll_is_told(model):
    controller = TASK.controller(model, TASK.period)
    measured = measure(model)
    controller.robot.start(measured)
    script = controller._roll()
    next(script)
    periods = math.ceil(FURTHEST / (ROLL_SPEED * TASK.period)) + 1
    with pytest.raises(TaskFailed, match=r"does not roll between the boxes: 8\d degrees are left"):
        send_all(script, periods * [measured])


def send_all(script, measurements):
    for measured in measurements:
        script.send(measured)


# --- draws


def test_seeds_draw_within_bounds():
    scenes = [scene_of(TASK, seed).spec for seed in range(20)]
    assert scenes[3] == scene_of(TASK, 3).spec
    spoons = [next(one for one in scene.models if one.name == SPOON) for scene in scenes]
    places = np.array([spoon.pose.xyz[:2] for spoon in spoons]) - [0.06, -0.12]
    yaws = np.degrees([spoon.pose.rpy[2] for spoon in spoons])
    for values, bound in ((places, 0.01), (yaws, 5.0)):
        assert 0.5 * bound < np.abs(values).max() <= bound


# --- where the palm has to be

ANGLE = st.floats(-1.0, 1.0)


@given(st.tuples(ANGLE, ANGLE, ANGLE), st.floats(-0.3, 0.3), st.floats(-0.3, 0.3), ANGLE)
def test_a_palm_without_roll_takes_the_spoon_there_but_for_its_roll(wanted, pitch, yaw, roll):
    X_WS = pose([0.1, 0.2, 0.3], list(wanted))
    X_PS = pose([0.02, -0.01, -0.1], [roll, pitch, yaw])
    X_WP = palm_for(X_WS, X_PS)
    left = roll_left(X_WS, X_PS)
    np.testing.assert_allclose(X_WP @ X_PS @ pose(rpy=[left, 0.0, 0.0]), X_WS, atol=1e-9)
    assert abs(X_WP[2, 1]) < 1e-12  # its y axis stays level


# --- what is a success


@pytest.fixture
def story(model):
    """One in which the spoon got there."""
    before = measure(model)
    end = at(replace(before, time=8.0), WANTED)
    return Story(before, end, replace(end, time=9.0))


def at(measured, X_WS):
    return replace(measured, poses={**measured.poses, SPOON: X_WS})


def test_a_spoon_where_it_shall_be_is_a_success(story):
    assert TASK.judge(story).succeeded


@pytest.mark.parametrize(
    ("shift", "turn", "told"),
    [
        ([1.2 * NEAR, 0.0, 0.0], 0.0, "it is 6.0 mm off its place"),
        ([0.0, 0.0, 0.0], 1.2 * ALIGNED, "it is turned 3.6 degrees off"),
    ],
)
def test_other_ends_are_failures(story, shift, turn, told):
    X_WS = pose(shift) @ WANTED @ pose(rpy=[turn, 0.0, 0.0])
    outcome = TASK.judge(replace(story, end=at(story.end, X_WS), later=at(story.later, X_WS)))
    assert outcome.reason == told


def test_a_spoon_that_slides_is_a_failure(story):
    outcome = TASK.judge(replace(story, later=at(story.later, pose([0.0, 0.0, -0.002]) @ WANTED)))
    assert outcome.reason == "it moves at 0.002 m/s"


# --- parts


def test_files_are_those_of_the_script():
    script = runpy.run_path(str(folder("urdf") / "meshes" / "tableware.py"))
    for name, surface in script["surfaces"]().items():
        vertices, triangles = load_surface(folder("urdf") / "meshes" / f"{name}.obj", 1.0)
        np.testing.assert_allclose(vertices, surface.vertices, atol=1e-9)
        np.testing.assert_array_equal(triangles, surface.triangles)


def test_the_spoon_weighs_what_its_shapes_do():
    """Bowl by the divergence theorem, handle in closed form, both of melamine."""
    density, radius, length, begin = 1500.0, HANDLE_RADIUS, 0.152, -0.026
    vertices, triangles = load_surface(folder("urdf") / "meshes" / "spoon_bowl.obj", 1.0)
    corners = vertices[triangles]
    volumes = np.linalg.det(corners) / 6.0
    points = np.concatenate([corners.sum(axis=1)[:, None], corners], axis=1)
    second = np.einsum("n,nki,nkj->ij", volumes / 20.0, points, points)
    bowl = density * volumes.sum()
    moment = density * (volumes[:, None] * corners.sum(axis=1) / 4.0).sum(axis=0)
    handle = density * math.pi * radius**2 * length
    middle = np.array([begin - length / 2.0, 0.0, 0.0])
    second = density * second + handle * (
        np.outer(middle, middle) + np.diag([length**2 / 12.0, radius**2 / 4.0, radius**2 / 4.0])
    )
    mass = bowl + handle
    com = (moment + handle * middle) / mass
    second -= mass * np.outer(com, com)
    (link,) = load_robot(folder("urdf") / "spoon.urdf.xacro").links
    assert link.inertial.mass == pytest.approx(mass, rel=1e-4)
    np.testing.assert_allclose(link.inertial.p_LCo, com, atol=1e-6)
    np.testing.assert_allclose(link.inertial.I_LCo, np.trace(second) * np.eye(3) - second, atol=1e-9)


def test_the_controller_knows_the_parts():
    robot = load_robot(folder("urdf") / "two_boxes.urdf.xacro")
    limits = {joint.name: joint.limits for joint in robot.joints}
    assert all(limits[name].upper >= FURTHEST for name in ("left_lift", "right_lift"))
    assert {link.name for link in robot.links} >= {BOXES.palm, *BOXES.links}
