"""The spatula sinks to the set pitch and stays there, by the grip alone, and what goes wrong is told."""

from dataclasses import replace

import numpy as np
import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import attempt as attempt_module
from hydro_sim_core.tasks import find_task, run_trial
from hydro_sim_core.tasks.attempt import attempt
from hydro_sim_core.tasks.slip_control import HANDLE, NEAR, SOON, start_at
from hydro_sim_core.tasks.task import Story
from hydro_sim_core.tasks.trial import measure, scene_of, views_of
from hydro_sim_core.tasks.turner import GRIPPER

SET = -0.5
STARTS = (-0.2, 0.0, 0.2, 0.4, 0.6)
FEEDBACKS = ("wrench", "membrane")


def task_with(feedback, pitch=SET):
    return find_task("slip_control", {"feedback": feedback, "pitch": pitch})


@pytest.fixture(scope="module")
def scene():
    return find_scene("slip_control")


@pytest.fixture(scope="module")
def start(scene):
    """A world in which the fingers have closed."""
    world = World(scene)
    world.step(200)
    return world


@pytest.mark.heavy(5)
@pytest.mark.parametrize(
    ("feedback", "pitch"), [(feedback, pitch) for feedback in FEEDBACKS for pitch in STARTS]
)
def test_it_settles_from_any_start(scene, feedback, pitch):
    trial = run_trial(task_with(feedback), values=start_at(scene, pitch))
    assert trial.succeeded, trial
    assert trial.course[-1]["time, s"] >= SOON + 1.0  # "from then on" is looked at
    assert trial.course[0]["pitch, rad"] == pytest.approx(pitch, abs=1e-6)
    late = [point["pitch, rad"] for point in trial.course if point["time, s"] >= min(SOON, trial.time)]
    assert np.abs(np.subtract(late, SET)).max() <= NEAR
    assert min(point["grip, N"] for point in trial.course[10:]) > 2.0


@pytest.mark.heavy(3)
@pytest.mark.parametrize("noise", [2e-4, 5e-4, 1e-3])
def test_it_settles_from_noisy_images(noise):
    trial = run_trial(find_task("slip_control", {"feedback": "membrane", "depth_noise": noise}), 3)
    assert trial.succeeded, trial


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_drawn_scenes_succeed_too(feedback, seed):
    trial = run_trial(task_with(feedback), seed)
    assert trial.succeeded, trial


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_a_trial_repeats_to_the_last_bit(monkeypatch, feedback):
    """And tells of every period, ten milliseconds apart."""
    task = replace(task_with(feedback), duration=0.6)
    trial = run_short(monkeypatch, task)
    assert trial.phase == "let the spatula slip"
    np.testing.assert_allclose(np.diff([point["time, s"] for point in trial.course]), 0.01, atol=1e-9)
    assert trial.course[-1]["time, s"] == pytest.approx(0.65, abs=0.011)
    assert run_short(monkeypatch, task) == trial


# --- what a controller looks at


def commands_of(task, measurements):
    """Commands of a controller that measures these."""
    controller = task.controller(World(find_scene(task.scene)), task.period)
    attempted = attempt(task, controller, measurements[0])
    told = [next(attempted)]
    told += [attempted.send(measured) for measured in measurements[1:]]
    return told


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_it_looks_at_nothing_else(scene, feedback):
    """The same commands while it lets the spatula slip, where all that it shall not know is missing."""
    task = task_with(feedback)
    world = World(scene)
    views = views_of(task, world)
    seen = [measure(world, views)]
    commanded = commands_of(task, seen)
    controller = task.controller(World(scene), task.period)
    attempted = attempt(task, controller, seen[0])
    commands = next(attempted)
    while len(seen) < 70:
        world.command_joints(commands)
        world.step(10)
        seen.append(measure(world, views))
        commands = attempted.send(seen[-1])
        commanded.append(commands)
    assert abs(commanded[-1]["left_finger_joint"].effort) < 9.0  # it slips by now

    own = {"spatula", HANDLE}
    nothing = {pair: np.full(6, np.nan) for pair in seen[0].wrenches}
    blind = []
    for k, measured in enumerate(seen):
        poses = {name: X for name, X in measured.poses.items() if name not in own}
        # The one look of the feedback from wrenches is after the grip is secure.
        hidden = {name: np.full((4, 4), np.nan) for name in own}
        if feedback == "membrane":
            blind.append(replace(measured, wrenches=nothing, poses={**poses, **hidden}))
        else:
            looks = k == 30
            blind.append(measured if looks else replace(measured, poses={**poses, **hidden}, images={}))
    unjudged = replace(task, follow=lambda measured: {})
    assert commands_of(unjudged, blind) == commanded


# --- what goes wrong


def run_short(monkeypatch, task, **how):
    monkeypatch.setattr(attempt_module, "AFTERWARDS", 0.05)
    return run_trial(task, **how)


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_a_set_pitch_above_the_spatula_is_told(monkeypatch, feedback):
    trial = run_short(monkeypatch, task_with(feedback, 0.5))
    assert not trial.succeeded
    assert (trial.phase, trial.time) == ("hold the spatula", pytest.approx(0.3))
    assert trial.reason == "the set pitch of 0.5 rad is above the spatula's of 0.30: it can only sink"


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_a_spatula_that_is_taken_away_is_told(monkeypatch, feedback):
    """Pulled out of the fingers with several times what friction can hold."""

    def pull(world):
        if world.time > 0.4:
            world.apply_wrench("spatula", [0.0, 0.0, 0.0, 100.0, 0.0, 0.0])

    trial = run_short(monkeypatch, task_with(feedback), watch=pull)
    assert not trial.succeeded
    assert (trial.phase, trial.reason) == ("let the spatula slip", "lost the grasp of the spatula")
    assert 0.4 < trial.time < 0.7


def test_a_spatula_that_does_not_slip_is_told(start):
    """What is measured never changes."""
    task = task_with("wrench")
    measured = measure(start)
    controller = task.controller(start.copy(), task.period)
    attempted = attempt(replace(task, duration=1e9), controller, measured)
    next(attempted)
    try:
        for k in range(1, 500):
            attempted.send(replace(measured, time=measured.time + 0.01 * k))
        raise AssertionError("it does not end")
    except StopIteration as end:
        outcome = end.value.outcome
    assert outcome.reason == "the spatula does not slip: 2 N hold it"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"feedback": "membran"}, "controller.feedback: 'membran' is none; did you mean 'membrane'"),
        ({"feedback": 3}, "controller.feedback: 3 is none"),
        ({"feedback": [1]}, "controller.feedback: [1] is none; use one of 'membrane', 'wrench'"),
        ({"pitch": "low"}, "controller.pitch: 'low' is no pitch to set"),
        ({"pitch": 2.0}, "controller.pitch: 2.0 is no pitch to set"),
        ({"pitch": float("nan")}, "controller.pitch: nan is no pitch to set"),
        ({"pitch": True}, "controller.pitch: True is no pitch to set"),
        (
            {"feedback": "membrane", "depth_noise": -1e-4},
            "controller.depth_noise: -0.0001 is no noise of an image",
        ),
        ({"feedback": "membrane", "depth_noise": 1.0}, "give a number from 0 to 0.002, m"),
        ({"depth_noise": 1e-3}, "there are no images without membranes; add controller.feedback=membrane"),
        ({"pich": 0.0}, "controller.pich: is no setting of its controller; did you mean 'controller.pitch'"),
    ],
)
def test_settings_that_are_none_are_told(settings, told):
    with pytest.raises(InputError) as error:
        find_task("slip_control", settings)
    assert told in str(error.value)


def test_settings_that_are_given_one_after_the_other_stay():
    task = find_task("slip_control", {"pitch": -0.3})
    told = task.told({"feedback": "membrane"}).settings
    assert told == {"pitch": -0.3, "feedback": "membrane", "depth_noise": 0.0}


# --- draws


def test_seeds_draw_within_bounds_and_the_same_every_time(scene):
    task = task_with("wrench")
    drawn = [scene_of(task, seed) for seed in range(10)]
    assert drawn[3].spec == scene_of(task, 3).spec
    pitches, away, values = [], [], []
    nominal = start_at(scene, 0.0)["models.spatula.pose.xyz"]
    for one in drawn:
        pose = one.spec.models[0].pose
        pitches.append(-pose.rpy[1] - np.radians(25.0))
        level = np.array(start_at(one, 0.0)["models.spatula.pose.xyz"])
        away.append(np.linalg.norm(level - nominal))
        links = {link.name: link for robot in one.robots for link in robot.links}
        (handle,) = links[HANDLE].collisions
        fingers = [links[name].collisions[0].proximity for name in GRIPPER.links]
        assert fingers[0].modulus == fingers[1].modulus
        values.append([handle.proximity.mu_dynamic, fingers[0].modulus / 1e5])
    assert -0.2 <= min(pitches) < 0.0
    assert 0.4 < max(pitches) <= 0.6
    assert 5e-3 < max(away) <= 0.01 + 1e-9
    spread = np.abs(np.array(values) - 1.0).max(axis=0)
    assert np.all((0.5 * np.array([0.2, 0.3]) < spread) & (spread <= [0.2, 0.3]))


# --- what is a success


@pytest.fixture
def story(start):
    """One that has settled half a second after the start."""
    before = replace(measure(start), time=0.0)
    course = [{"time, s": 0.01 * k, "pitch, rad": max(0.3 - 0.016 * k, SET)} for k in range(300)]
    at_set = turned(before, SET - 0.3)
    return Story(before, replace(at_set, time=2.0), replace(at_set, time=3.0), course)


def turned(measured, angle):
    """A measurement with the handle turned up by an angle."""
    X_WH = measured.poses[HANDLE].copy()
    c, s = np.cos(angle), np.sin(angle)
    X_WH[:3, :3] = np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]]) @ X_WH[:3, :3]
    return replace(measured, poses={**measured.poses, HANDLE: X_WH})


def test_near_the_set_pitch_soon_and_at_rest_is_a_success(story):
    outcome = task_with("wrench").judge(story)
    assert outcome.succeeded, outcome
    assert outcome.measures["settled after, s"] == pytest.approx(0.48, abs=0.011)


def test_other_ends_are_failures(story):
    judge = task_with("wrench").judge
    off = turned(story.end, 0.03)
    assert "rad off the set pitch" in judge(replace(story, end=off, later=replace(off, time=3.0))).reason
    assert judge(replace(story, end=turned(story.end, 0.015))).reason == "it turns at -0.015 rad/s"
    slow = [{**point, "time, s": 8.0 * point["time, s"]} for point in story.course]
    assert judge(replace(story, course=slow)).reason == "it has settled after 3.84 s"
    fallen = story.later.poses[HANDLE].copy()
    fallen[2, 3] -= 0.1
    later = replace(story.later, poses={**story.later.poses, HANDLE: fallen})
    assert "its handle is 0.100 m off the fingers" in judge(replace(story, later=later)).reason
