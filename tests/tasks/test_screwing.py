"""A nut is screwed on, and a bolt in, by their pitch a turn, and what goes wrong is told."""

import math
import re
import runpy
from dataclasses import dataclass, replace

import numpy as np
import pytest

from hydro_sim_core.assets import folder
from hydro_sim_core.description.poses import pose
from hydro_sim_core.geometry import load_surface, tetrahedral_mesh
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, attempt, run_trial
from hydro_sim_core.tasks.robot import TaskFailed
from hydro_sim_core.tasks.screwing import (
    BELIEVED,
    BOLT,
    CATCH,
    FIT,
    HARDEST,
    MOST_OVERLAP,
    NUT,
    OFF,
    PITCH,
    TILTED,
    Advance,
    Parts,
)
from hydro_sim_core.tasks.task import Story
from hydro_sim_core.tasks.trial import measure, scene_of

PARTS = {"m16_nut": Parts(NUT, BOLT, "stud", "on"), "bolt_in_nut": Parts(BOLT, NUT, "block", "in")}
#: Where the one is in the other.
WITHIN = {"m16_nut": "on the bolt", "bolt_in_nut": "in the nut"}


@pytest.mark.heavy(2)
@pytest.mark.parametrize(("name", "seed"), [("m16_nut", None), ("m16_nut", 1), ("bolt_in_nut", None)])
def test_it_goes_down_by_its_pitch_a_turn(name, seed):
    trial = run_trial(TASKS[name], seed)
    assert trial.succeeded, trial
    assert trial.measures["advance, mm a turn"] == pytest.approx(1e3 * PITCH, rel=0.01)
    assert trial.measures["turns"] > 2.0
    assert trial.measures["peak force, N"] < 15.0
    assert 0.0 < trial.measures["overlap, um"] < 1e6 * MOST_OVERLAP * PITCH
    assert trial.phase == "let go of the push"


@pytest.fixture(scope="module", params=PARTS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def model(name):
    return World(find_scene(name))


@pytest.fixture
def task(name):
    return TASKS[name]


@pytest.fixture(scope="module")
def screwed(name, model):
    """Tells what is measured with the held part so far in the other."""
    return Screwed(PARTS[name], model)


@dataclass
class Screwed:
    """Measurements with what is held turned, and lowered into or onto what stands."""

    parts: Parts
    model: World

    def by(self, turns=0.0, depth=0.0, wrench=(0, 0, -4, 0, 0, -0.01), later=0.0):
        """One with it turned by so many turns and so deep (m)."""
        measured, parts = measure(self.model), self.parts
        X_WH = BELIEVED @ pose([0.0, 0.0, -depth], [math.pi, 0.0, 0.0])
        X_WH = X_WH @ pose(rpy=[0.0, 0.0, 2.0 * math.pi * turns])
        return replace(
            measured,
            time=measured.time + later,
            wrenches={(parts.fixed, parts.held): np.array(wrench, dtype=float)},
            poses={**measured.poses, parts.held: X_WH, parts.fixed: BELIEVED},
        )

    def on(self, lead, turns, begin=0.0, deep=0.0):
        """Some with it turned on, and lowered by a lead (m) a turn."""
        return [
            self.by(begin + k / 50, deep + lead * k / 50, later=5.0 * begin + 0.1 * k)
            for k in range(1, round(50 * turns))
        ]


def follow_all(task, screwed, measurements):
    """What the controller's check says of each measurement, and the controller."""
    controller = task.controller(screwed.model, task.period)
    controller.robot.start(screwed.by())
    done, said = controller._screwed(), []
    for measured in measurements:
        controller.robot.measured = measured
        said.append(done(controller._feel()))
    return said, controller


# --- what goes wrong


def test_a_bolt_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.02)
    trial = run_trial(TASKS["m16_nut"], values={"models.stud.pose.xyz": [0.45, 0.0, 0.04]})
    assert not trial.succeeded
    assert trial.phase == "lower the nut"
    assert trial.reason == "nothing is there: 8.0 mm were free"


def test_a_nut_in_the_way_ends_it_in_the_period_in_which_it_presses_too_hard(monkeypatch):
    """On the way through the air, where nothing gives way."""
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.02)
    trial = run_trial(TASKS["bolt_in_nut"], values={"models.block.pose.xyz": [0.45, 0.0, 0.062]})
    pressed = [point["time, s"] for point in trial.course if point["force, N"] > HARDEST]
    assert trial.reason == "pressed with 49 N (edge)"
    assert trial.time == pressed[0]


def test_a_table_in_the_way_ends_it_in_the_period_in_which_it_presses_too_hard(name, task, monkeypatch):
    """It would take up what the motion through the air presses with, and no thread tells of that."""
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.02)
    trial = run_trial(task, values={"models.table.pose.xyz": [0.28, 0.0, 0.062]})
    pressed = [point["time, s"] for point in trial.course if point["beside, N"] > HARDEST]
    assert re.match(rf"the {PARTS[name].held} is pressed on table with \d+ N$", trial.reason)
    assert trial.time == pressed[0]


def test_it_turns_on_until_the_thread_has_led_it_for_long_enough(task, screwed):
    said, controller = follow_all(task, screwed, screwed.on(PITCH, 2.4))
    parts = screwed.parts
    assert controller.robot.phase == f"screw the {parts.held} {parts.goes}"
    # Led from half a turn on.
    assert np.argmax(said) / 50 == pytest.approx(0.5 + 1.75, abs=0.05)


def test_a_thread_that_does_not_catch_is_told(task, screwed):
    with pytest.raises(TaskFailed, match=rf"the thread does not catch in {CATCH:g} turns \(face\)"):
        follow_all(task, screwed, screwed.on(0.0, 3.0))


def test_what_does_not_go_on_down_is_told(task, screwed):
    begin = screwed.on(PITCH, 1.2)
    told = rf"the {screwed.parts.held} does not follow the thread: it goes down by 0\.9\d mm a turn"
    with pytest.raises(TaskFailed, match=told):
        follow_all(task, screwed, [*begin, *screwed.on(0.0, 1.0, 1.2, 1.2 * PITCH)])


@pytest.mark.parametrize(
    ("wrench", "told"),
    [
        ([0, 31, -1, 0, 0, 0], r"pressed with 31 N \(wall\)"),
        ([0, 0, -4, 0, 0, -0.4], r"turned with 0.40 N m \(wedged\)"),
    ],
)
def test_what_is_forced_is_told(task, screwed, wrench, told):
    controller = task.controller(screwed.model, task.period)
    controller.robot.measured = screwed.by(wrench=wrench)
    with pytest.raises(TaskFailed, match=told):
        controller._feel()


def test_turns_and_the_way_of_half_a_turn_are_counted(screwed):
    held = screwed.parts.held
    advance = Advance(screwed.by().poses[held])
    ways = [advance.look(one.poses[held]) for one in screwed.on(1e-3, 2.0)]
    assert advance.turns == pytest.approx(99 / 50)
    assert math.isnan(ways[20])
    np.testing.assert_allclose(ways[30:], 0.5e-3, atol=2.1e-5)


# --- draws


def test_seeds_draw_what_stands_as_far_off_as_it_may_be(name, task):
    drawn = []
    for seed in range(3):
        scene = scene_of(task, seed)
        X_WF = next(one.pose for one in scene.spec.models if one.name == PARTS[name].model)
        X = np.linalg.inv(BELIEVED) @ pose(X_WF.xyz, X_WF.rpy)
        assert np.hypot(*X[:2, 3]) == pytest.approx(OFF)
        assert math.acos(X[2, 2]) == pytest.approx(TILTED)
        drawn.append(
            [math.atan2(X[1, 3], X[0, 3]), math.atan2(X[1, 2], X[0, 2]), math.atan2(X[1, 0], X[0, 0])]
        )
    assert np.all(np.ptp(drawn, axis=0) > 0.3 * math.pi)


# --- what is a success


@pytest.fixture
def story(task, screwed):
    """One in which they got together, by 2 mm a turn; flanks touch."""
    touching = FIT.clearance / math.sqrt(3.0)
    measurements = [screwed.by(k / 50, touching + PITCH * k / 50, later=0.1 * k) for k in range(126)]
    end = measurements[-1]
    return Story(
        measurements[0], end, replace(end, time=end.time + 1.0), [task.follow(one) for one in measurements]
    )


def test_one_that_went_down_by_its_pitch_is_a_success(task, story):
    outcome = task.judge(story)
    assert outcome.succeeded, outcome
    assert outcome.measures["advance, mm a turn"] == pytest.approx(2.0)
    assert outcome.measures["turns"] == pytest.approx(2.5)
    assert outcome.measures["overlap, um"] == pytest.approx(0.0, abs=1e-6)


def test_other_ends_are_failures(name, task, story):
    judge = task.judge
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
    assert judge(replace(story, later=story.before)).reason == f"it is 0.1 mm {WITHIN[name]}"


def test_what_screws_the_air_below_the_other_is_not_on_it(name, task, story):
    """Deep enough, by the pitch, without a force, and far from any overlap: below and beside what stands."""
    parts = PARTS[name]

    def beside(measured):
        X_WH = pose([0.03, 0.0, -0.04]) @ measured.poses[parts.held]
        return replace(measured, poses={**measured.poses, parts.held: X_WH})

    before, end, later = map(beside, (story.before, story.end, story.later))
    away = [{**point, "depth, mm": point["depth, mm"] + 40.0} for point in story.course]
    outcome = task.judge(Story(before, end, later, away))
    assert outcome.reason == f"it is 30.0 mm off the axis of the {parts.fixed}"


def test_threads_that_are_a_little_off_overlap_as_the_closed_form_says(task, screwed):
    touching = FIT.clearance / math.sqrt(3.0)
    for turns in (1.0, 1.5, 2.25):
        pressed = screwed.by(turns, touching + PITCH * turns + 1e-5)
        assert task.follow(pressed)["overlap, um"] == pytest.approx(10.0 * math.cos(math.pi / 6.0), rel=1e-6)


# --- parts


def test_files_are_those_of_the_script(tmp_path):
    script = runpy.run_path(str(folder("urdf") / "meshes" / "turned_parts.py"))
    nut, bolt = script["NUT_THREAD"], script["BOLT_THREAD"]
    assert (script["BOLT_LENGTH"], script["NUT_HEIGHT"]) == (FIT.length, FIT.height)
    for thread in (nut, bolt):
        assert (thread.diameter, thread.pitch, thread.chamfer) == (FIT.diameter, FIT.pitch, FIT.chamfer)
    assert (nut.clearance, bolt.clearance) == (0.0, FIT.clearance)
    meshes = folder("urdf") / "meshes"
    made, kept = script["nut_solid"](), tetrahedral_mesh(meshes / "m16_nut.vtu", modulus=script["MODULUS"])
    np.testing.assert_allclose(kept.vertices, made.vertices, atol=1e-12)
    np.testing.assert_array_equal(kept.elements, made.elements)
    np.testing.assert_allclose(kept.pressure, made.pressure, rtol=1e-12)
    for name in ("m16_bolt", "m16_nut"):
        vertices, triangles = load_surface(meshes / f"{name}.obj", 1.0)
        np.testing.assert_allclose(vertices, script["surfaces"]()[name].vertices, atol=1e-9)
        np.testing.assert_array_equal(triangles, script["surfaces"]()[name].triangles)
