"""The pancake is turned over, and what goes wrong is told."""

from dataclasses import replace

import numpy as np
import pytest

from hydro_sim_core.description.poses import pose
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, run_trial
from hydro_sim_core.tasks.robot import TaskFailed
from hydro_sim_core.tasks.task import Story
from hydro_sim_core.tasks.trial import draw, measure, scene_of

TASK = TASKS["pancake_flip"]


def test_the_pancake_is_turned_over_and_again_to_the_last_bit():
    trial = run_trial(TASK)
    assert trial.succeeded, trial
    assert trial.measures["turned, deg"] > 179.0  # it lies flat on its other face
    assert trial.measures["off the middle of the stove, m"] < 0.1
    assert run_trial(TASK) == trial


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_drawn_starts_succeed_too(seed):
    trial = run_trial(TASK, seed)
    assert trial.succeeded, trial


def test_a_spatula_out_of_reach_ends_it():
    trial = run_trial(TASK, values={"models.spatula.pose.xyz": [0.48, 1.55, 0.15]})
    assert not trial.succeeded
    assert trial.phase == "take the spatula"
    assert "a pose is out of reach: stays" in trial.reason


def test_seeds_draw_within_bounds_and_the_same_every_time():
    scenes = [scene_of(TASK, seed).spec for seed in range(20)]
    assert scenes[3] == scene_of(TASK, 3).spec
    models = [{model.name: model for model in scene.models} for scene in scenes]
    starts = np.array([model["pancake"].pose.xyz[:2] for model in models]) - [0.88, 0.0]
    yaws = np.degrees([model["spatula"].pose.rpy[2] - 0.85 for model in models])
    friction = np.array([model["stove"].proximity.mu_dynamic for model in models])
    for seed, place in enumerate(starts):
        told = draw(TASK, seed, find_scene(TASK.scene)).drawn
        noted = [told["pancake along x, mm"], told["pancake along y, mm"], told["spatula about z, deg"]]
        np.testing.assert_allclose(noted, [*(1e3 * place), yaws[seed]], atol=1e-9)
        np.testing.assert_allclose(1.0 + 0.01 * told["friction of stove, %"], friction[seed])
    for values, bound in ((starts, 0.01), (yaws, 5.0), (friction - 1.0, 0.2)):
        assert 0.5 * bound < np.abs(values).max() <= bound
        assert len(np.unique(values)) == np.size(values)


@pytest.fixture(scope="module")
def on_its_back():
    """What is measured of a pancake that lies on the other face."""
    measured = measure(World(scene_of(TASK, None)))
    turned = {**measured.poses, "pancake": measured.poses["pancake"] @ pose(rpy=[np.pi, 0.0, 0.0])}
    return measured, replace(measured, time=30.0, poses=turned)


def moved(measured, X_WW, seconds=1.0):
    poses = {**measured.poses, "pancake": X_WW @ measured.poses["pancake"]}
    return replace(measured, time=measured.time + seconds, poses=poses)


def test_the_other_face_up_on_the_stove_is_a_success(on_its_back):
    before, end = on_its_back
    assert TASK.judge(Story(before, end, moved(end, np.eye(4)))).succeeded


@pytest.mark.parametrize(
    ("shift", "turn", "told"),
    [
        ([0.002, 0.0, 0.0], 0.0, "it moves at 0.002 m/s"),
        ([0.0, 0.3, 0.0], 0.0, "it is 0.301 m off the middle of the stove; it moves"),
        ([0.0, 0.0, -0.2], 0.0, "its middle is -193.0 mm above the stove"),
        ([0.0, 0.0, 0.0012], 0.0, "its middle is 8.2 mm above the stove, where it lies lower"),
        ([0.0, 0.0, 2.9], 0.0, "its middle is 2907.0 mm above the stove, where it lies lower"),
        ([0.0, 0.0, 0.0], 0.3, "it is turned by 163 degrees"),
    ],
)
def test_other_ends_are_failures(on_its_back, shift, turn, told):
    before, end = on_its_back
    X_WP = end.poses["pancake"]
    turned = X_WP @ pose(rpy=[turn, 0.0, 0.0]) @ np.linalg.inv(X_WP)
    outcome = TASK.judge(Story(before, end, moved(end, pose(shift) @ turned)))
    assert not outcome.succeeded
    assert told in outcome.reason


def test_a_pancake_as_it_was_is_a_failure(on_its_back):
    before, _ = on_its_back
    outcome = TASK.judge(Story(before, before, moved(before, np.eye(4))))
    assert outcome.reason == "it is turned by 0 degrees"


def send_often(script, measured):
    for _ in range(2000):
        script.send(measured)


def test_a_stove_that_the_blade_does_not_touch_is_told():
    """All the way down the fingers feel the same; the scoop does not begin."""
    measured = measure(World(scene_of(TASK, None)))
    controller = TASK.controller(World(find_scene(TASK.scene)), TASK.period)
    controller.robot.start(measured)
    script = controller._touch_the_stove()
    next(script)
    with pytest.raises(TaskFailed, match="the blade touches nothing where the stove should be"):
        send_often(script, measured)
