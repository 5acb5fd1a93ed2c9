"""The nut is screwed on by its pitch a turn, and what goes wrong is told."""

import math
import runpy
from dataclasses import replace

import numpy as np
import pytest

from hydro_sim_core.assets import folder
from hydro_sim_core.description.poses import pose
from hydro_sim_core.geometry import load_surface, tetrahedral_mesh
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, attempt, run_trial
from hydro_sim_core.tasks.m16_nut import (
    BELIEVED,
    BOLT,
    CATCH,
    FIT,
    MOST_OVERLAP,
    NUT,
    OFF,
    PITCH,
    TILTED,
    Screwing,
)
from hydro_sim_core.tasks.robot import TaskFailed
from hydro_sim_core.tasks.task import Story
from hydro_sim_core.tasks.trial import measure, scene_of

TASK = TASKS["m16_nut"]


@pytest.mark.heavy(2)
@pytest.mark.parametrize("seed", [None, 1])
def test_the_nut_goes_down_by_its_pitch_a_turn(seed):
    trial = run_trial(TASK, seed)
    assert trial.succeeded, trial
    assert trial.measures["advance, mm a turn"] == pytest.approx(1e3 * PITCH, rel=0.01)
    assert trial.measures["turns"] > 2.0
    assert trial.measures["peak force, N"] < 15.0
    assert 0.0 < trial.measures["overlap, um"] < 1e6 * MOST_OVERLAP * PITCH
    assert trial.phase == "let go of the push"


@pytest.fixture(scope="module")
def model():
    return World(find_scene("m16_nut"))


# --- what goes wrong


def test_a_bolt_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.02)
    trial = run_trial(TASK, values={"models.stud.pose.xyz": [0.45, 0.0, 0.04]})
    assert not trial.succeeded
    assert trial.phase == "lower the nut"
    assert trial.reason == "nothing is there: 8.0 mm were free"


def on_bolt(model, turns=0.0, depth=0.0, wrench=(0, 0, -4, 0, 0, -0.01), later=0.0):
    """A measurement with the nut turned by so many turns and so deep on the bolt, m."""
    measured = measure(model)
    X_WN = (
        BELIEVED @ pose([0.0, 0.0, -depth], [math.pi, 0.0, 0.0]) @ pose(rpy=[0.0, 0.0, 2.0 * math.pi * turns])
    )
    return replace(
        measured,
        time=measured.time + later,
        wrenches={(BOLT, NUT): np.array(wrench, dtype=float)},
        poses={**measured.poses, NUT: X_WN, BOLT: BELIEVED},
    )


def turned(model, lead, turns, begin=0.0, deep=0.0):
    """Measurements with the nut turned, and lowered by a lead (m) a turn."""
    return [
        on_bolt(model, begin + k / 50, deep + lead * k / 50, later=0.1 * k)
        for k in range(1, round(50 * turns))
    ]


def follow_all(model, measurements):
    """What the controller's check says of each measurement, and the controller."""
    controller = TASK.controller(model, TASK.period)
    controller.robot.start(on_bolt(model))
    done, said = controller._screwed_on(), []
    for measured in measurements:
        controller.robot.measured = measured
        said.append(done(controller._feel()))
    return said, controller


def test_it_turns_on_until_the_thread_has_led_it_for_long_enough(model):
    said, controller = follow_all(model, turned(model, PITCH, 2.4))
    assert controller.robot.phase == "screw the nut on"
    # Led from half a turn on.
    assert np.argmax(said) / 50 == pytest.approx(0.5 + 1.75, abs=0.05)


def test_a_thread_that_does_not_catch_is_told(model):
    with pytest.raises(TaskFailed, match=rf"the thread does not catch in {CATCH:g} turns \(face\)"):
        follow_all(model, turned(model, 0.0, 3.0))


def test_a_nut_that_does_not_go_on_down_is_told(model):
    begin = turned(model, PITCH, 1.2)
    with pytest.raises(TaskFailed, match=r"does not follow the thread: it goes down by 0\.9\d mm a turn"):
        follow_all(model, [*begin, *turned(model, 0.0, 1.0, 1.2, 1.2 * PITCH)])


@pytest.mark.parametrize(
    ("wrench", "told"),
    [
        ([0, 31, -1, 0, 0, 0], r"pressed with 31 N to begin \(wall\)"),
        ([0, 0, -4, 0, 0, -0.4], r"turned with 0.40 N m to begin \(face\)"),
    ],
)
def test_a_nut_that_is_forced_is_told(model, wrench, told):
    controller = TASK.controller(model, TASK.period)
    controller.robot.measured = on_bolt(model, wrench=wrench)
    with pytest.raises(TaskFailed, match=told):
        controller._feel()


def test_turns_and_the_way_of_half_a_turn_are_counted(model):
    nut = Screwing(on_bolt(model).poses[NUT])
    ways = [nut.look(one.poses[NUT]) for one in turned(model, 1e-3, 2.0)]
    assert nut.turns == pytest.approx(99 / 50)
    assert math.isnan(ways[20])
    np.testing.assert_allclose(ways[30:], 0.5e-3, atol=2.1e-5)


# --- draws


def test_seeds_draw_a_bolt_as_far_off_as_it_may_be():
    drawn = []
    for seed in range(3):
        scene = scene_of(TASK, seed)
        X_WB = next(one.pose for one in scene.spec.models if one.name == "stud")
        X = np.linalg.inv(BELIEVED) @ pose(X_WB.xyz, X_WB.rpy)
        assert np.hypot(*X[:2, 3]) == pytest.approx(OFF)
        assert math.acos(X[2, 2]) == pytest.approx(TILTED)
        drawn.append(
            [math.atan2(X[1, 3], X[0, 3]), math.atan2(X[1, 2], X[0, 2]), math.atan2(X[1, 0], X[0, 0])]
        )
    assert np.all(np.ptp(drawn, axis=0) > 0.3 * math.pi)


# --- what is a success


@pytest.fixture
def story(model):
    """One in which the nut got on, by 2 mm a turn; flanks touch."""
    touching = FIT.clearance / math.sqrt(3.0)
    measurements = [on_bolt(model, k / 50, touching + PITCH * k / 50, later=0.1 * k) for k in range(126)]
    end = measurements[-1]
    return Story(
        measurements[0], end, replace(end, time=end.time + 1.0), [TASK.follow(one) for one in measurements]
    )


def test_a_nut_that_went_down_by_its_pitch_is_a_success(story):
    outcome = TASK.judge(story)
    assert outcome.succeeded, outcome
    assert outcome.measures["advance, mm a turn"] == pytest.approx(2.0)
    assert outcome.measures["turns"] == pytest.approx(2.5)
    assert outcome.measures["overlap, um"] == pytest.approx(0.0, abs=1e-6)


def test_other_ends_are_failures(story):
    judge = TASK.judge
    last = story.course[-1]
    hard = [*story.course, {**last, "force, N": 31.0}]
    assert judge(replace(story, course=hard)).reason == "it was pressed with 31.0 N"
    tough = [*story.course, {**last, "moment, N m": 0.31}]
    assert judge(replace(story, course=tough)).reason == "it was turned with 0.31 N m"
    deep = [*story.course, {**last, "overlap, um": 41.0}]
    assert judge(replace(story, course=deep)).reason == "the threads went 41 µm into each other"
    slow = [{**one, "depth, mm": 0.98 * one["depth, mm"]} for one in story.course]
    assert judge(replace(story, course=slow)).reason == "it went down by 1.960 mm in its last turn"
    short = story.course[:40]
    assert "it went down by 0.000 mm in its last turn" in judge(replace(story, course=short)).reason
    assert judge(replace(story, later=story.before)).reason == "it is 0.1 mm on the bolt"


def test_threads_that_are_a_little_off_overlap_as_the_closed_form_says(model):
    touching = FIT.clearance / math.sqrt(3.0)
    for turns in (1.0, 1.5, 2.25):
        nut = on_bolt(model, turns, touching + PITCH * turns + 1e-5)
        assert TASK.follow(nut)["overlap, um"] == pytest.approx(10.0 * math.cos(math.pi / 6.0), rel=1e-6)


# --- parts


def test_files_are_those_of_the_script(tmp_path):
    script = runpy.run_path(str(folder("urdf") / "meshes" / "turned_parts.py"))
    assert (script["PITCH"], script["BOLT_LENGTH"], script["NUT_HEIGHT"]) == (
        FIT.pitch,
        FIT.length,
        FIT.height,
    )
    assert (script["DIAMETER"], script["CLEARANCE"], script["THREAD_CHAMFER"]) == (
        FIT.diameter,
        FIT.clearance,
        FIT.chamfer,
    )
    meshes = folder("urdf") / "meshes"
    made, kept = script["nut_solid"](), tetrahedral_mesh(meshes / "m16_nut.vtu", modulus=script["MODULUS"])
    np.testing.assert_allclose(kept.vertices, made.vertices, atol=1e-12)
    np.testing.assert_array_equal(kept.elements, made.elements)
    np.testing.assert_allclose(kept.pressure, made.pressure, rtol=1e-12)
    for name in ("m16_bolt", "m16_nut"):
        vertices, triangles = load_surface(meshes / f"{name}.obj", 1.0)
        np.testing.assert_allclose(vertices, script["surfaces"]()[name].vertices, atol=1e-9)
        np.testing.assert_array_equal(triangles, script["surfaces"]()[name].triangles)
