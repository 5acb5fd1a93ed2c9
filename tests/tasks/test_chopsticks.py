"""Chopsticks bring small soft things into a bowl, and what goes wrong is told."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hydro_sim_core.assets import folder
from hydro_sim_core.description import load_robot
from hydro_sim_core.description.poses import pose
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, attempt, run_trial
from hydro_sim_core.tasks.chopsticks import (
    BOWL,
    GRIP,
    HARDEST,
    JOINT,
    MORSELS,
    RADIUS,
    REACH,
    RIM_HEIGHT,
    RIM_RADIUS,
    STICKS,
    facing,
    middle_of,
    opening_for,
)
from hydro_sim_core.tasks.robot import GraspLost, TaskFailed
from hydro_sim_core.tasks.task import Story
from hydro_sim_core.tasks.trial import measure, scene_of

TASK = TASKS["chopsticks"]


@pytest.mark.parametrize("seed", [0])
def test_all_gets_into_the_bowl(seed):
    trial = run_trial(TASK, seed)
    assert trial.succeeded, trial
    assert trial.measures["in the bowl, pieces"] == 3.0
    # What moves along is carried by friction beside the grip.
    assert GRIP < trial.measures["peak force, N"] < 1.5 * GRIP
    assert trial.phase == "let go of the radish"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 6))
def test_drawn_starts_succeed_too(seed):
    trial = run_trial(TASK, seed)
    assert trial.succeeded, trial


@pytest.mark.long
@pytest.mark.parametrize("values", [{"time_step": 0.001}, {"models.tomato.xacro_args.hint": 0.0025}])
def test_shorter_steps_and_finer_meshes_end_alike(values):
    trial = run_trial(TASK, values=values)
    assert trial.succeeded, trial
    assert trial.measures["peak force, N"] < 1.5 * GRIP


# --- what goes wrong


@pytest.fixture(scope="module")
def model():
    return World(find_scene("chopsticks"))


def test_a_lost_tomato_ends_it(monkeypatch):
    """It starts beside the table."""
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.02)
    trial = run_trial(TASK, values={"models.tomato.pose.xyz": [-0.30, -0.09, -0.2]})
    assert not trial.succeeded
    assert trial.phase == "pick the tomato"
    assert trial.reason == "the tomato has fallen off the table"


@pytest.mark.long
def test_a_slippery_tomato_is_tried_three_times(monkeypatch):
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.02)
    trial = run_trial(TASK, values={"models.tomato.links.tomato.mu_dynamic": 0.06})
    assert not trial.succeeded
    assert trial.reason == "no secure grasp of the tomato: 0.00 N of 0.6 N"


def test_a_bowl_out_of_reach_is_told_before_anything_moves(model):
    measured = measure(model)
    away = replace(measured, poses={**measured.poses, BOWL: pose([5.0, 5.0, 0.0])})
    controller = TASK.controller(model, TASK.period)
    with pytest.raises(TaskFailed, match=r"a pose is out of reach: stays .* m "):
        next(controller.script(away))
    assert controller.robot.phase == "carry the tomato"


def test_what_is_out_of_reach_is_not_tried_again(model):
    """As where a gust has blown it; nor does the hand let go of anything first."""
    controller = TASK.controller(model, TASK.period)
    measured = measure(model)
    controller.robot.start(measured)
    away = replace(measured, poses={**measured.poses, "tofu": pose([5.0, 5.0, 0.0])})
    controller.robot.measured = away
    tried, pick = [], controller._pick

    def counted(morsel):
        tried.append(morsel)
        yield from pick(morsel)

    controller._pick = counted
    script = controller._bring("tofu")
    next(script)
    with pytest.raises(TaskFailed, match=r"a pose is out of reach: stays .* m "):
        send_all(script, 200 * [away])
    assert tried == ["tofu"]


def send_all(script, measurements):
    for measured in measurements:
        script.send(measured)


def test_nothing_between_the_sticks_is_told(model):
    """Measurements in which the sticks close on air."""
    controller = TASK.controller(model, TASK.period)
    measured = measure(model)
    controller.robot.start(measured)
    script = controller._pick("tofu")
    next(script)
    with pytest.raises(TaskFailed, match="there is no tofu between the sticks"):
        send_all(script, 2000 * [measured])


def test_what_falls_is_picked_up_again(model):
    """A pick that fails once is tried again, and one that always fails three times."""
    for failures, ends in ((2, False), (3, True)):
        controller = TASK.controller(model, TASK.period)
        measured = measure(model)
        controller.robot.start(measured)
        tried = []

        def pick(morsel, tried=tried, failures=failures, controller=controller):
            tried.append(morsel)
            controller.robot.squeeze = GRIP
            yield controller.robot.commands()
            if len(tried) <= failures:
                raise GraspLost("it fell")

        controller._pick = pick
        controller._carry = lambda morsel, controller=controller: iter_once(controller)
        controller.robot.grip_on = lambda held: GRIP
        script = controller._bring("radish")
        next(script)
        if ends:
            with pytest.raises(TaskFailed, match="it fell"):
                send_all(script, 5000 * [measured])
        else:
            with pytest.raises(StopIteration):
                send_all(script, 5000 * [measured])
        assert len(tried) == 3


def iter_once(controller):
    yield controller.robot.commands()


def test_sticks_that_have_closed_are_not_led_beyond_their_limit(model):
    robot = TASK.controller(model, TASK.period).robot
    measured = measure(model)
    robot.start(measured)
    robot.squeeze = GRIP
    robot.measured = replace(measured, positions={**measured.positions, JOINT: -0.0201})
    command = robot.commands()[JOINT]
    assert command.position == -0.02
    assert command.effort == pytest.approx(-GRIP * REACH)


# --- draws


def test_seeds_draw_within_bounds():
    scenes = [scene_of(TASK, seed).spec for seed in range(20)]
    assert scenes[3] == scene_of(TASK, 3).spec
    tofus = [next(one for one in scene.models if one.name == "tofu") for scene in scenes]
    places = np.array([one.pose.xyz[:2] for one in tofus]) - [0.02, -0.09]
    yaws = np.degrees([one.pose.rpy[2] for one in tofus])
    for values, bound in ((places, 0.01), (yaws, 5.0)):
        assert 0.5 * bound < np.abs(values).max() <= bound


# --- the hand


@pytest.mark.parametrize("gap", [0.0, 0.010, 0.018, 0.030])
def test_sticks_have_the_gap_that_is_asked_for(model, gap):
    """The distance of the points of their axes, by the engine's kinematics."""
    world = model.copy()
    world.set_joint_positions({JOINT: opening_for(gap)})
    X_WP = world.frame_pose("palm")
    along = np.array([0.0, 0.0, -REACH])
    still, moving = ((np.linalg.inv(X_WP) @ world.frame_pose(stick) @ [*along, 1.0])[:3] for stick in STICKS)
    assert still[1] - moving[1] - 2.0 * RADIUS == pytest.approx(gap, abs=1e-12)
    middle = middle_of(gap)
    assert middle[1] == pytest.approx(0.5 * (still[1] + moving[1]), abs=1e-12)
    assert middle[2] == pytest.approx(still[2], abs=1e-12)


def test_sticks_are_parallel_on_what_is_as_wide_as_they_are_apart(model):
    world = model.copy()
    world.set_joint_positions({JOINT: opening_for(0.018)})
    still, moving = (world.frame_pose(stick)[:3, 2] for stick in STICKS)
    assert math.degrees(math.acos(min(still @ moving, 1.0))) < 0.2


def test_sticks_face_two_sides_of_a_block():
    for turn in np.radians([-40.0, -5.0, 0.0, 44.0]):
        for quarter in range(4):
            X_WM = pose(rpy=[0.0, 0.0, turn + quarter * math.pi / 2.0])
            assert facing(X_WM) == pytest.approx(turn)


# --- what is a success


def with_all_at(measured, xyz):
    X_WB = measured.poses[BOWL]
    return replace(measured, poses={**measured.poses, **{name: X_WB @ pose(xyz) for name in MORSELS}})


@pytest.fixture
def story(model):
    """One in which all got into the bowl."""
    before = measure(model)
    end = with_all_at(replace(before, time=20.0), [0.01, 0.0, 0.014])
    later = replace(end, time=21.0)
    return Story(
        before, end, later, [{"time, s": one.time, **TASK.follow(one)} for one in (before, end, later)]
    )


def test_all_in_the_bowl_is_a_success(story):
    outcome = TASK.judge(story)
    assert outcome.succeeded, outcome
    assert outcome.measures["in the bowl, pieces"] == 3.0


def test_what_is_dropped_is_none(story):
    """From 9 cm all three got into the bowl, too. What falls on the way may be picked up again."""
    course = [dict(point) for point in story.course]
    name = "tofu over the bowl, m"
    course[1:1] = [{**course[0], "time, s": 9.0 + 0.01 * k, name: 0.1 - 0.0075 * k} for k in range(2)]
    outcome = TASK.judge(replace(story, course=course))
    assert not outcome.succeeded
    assert outcome.reason == "one fell at 0.75 m/s"


@pytest.mark.parametrize(
    "xyz", [[RIM_RADIUS + 0.001, 0.0, 0.014], [0.0, 0.0, RIM_HEIGHT + 0.001], [0, 0, -0.01]]
)
def test_what_is_beside_the_bowl_is_not_in_it(story, xyz):
    beside = {"tofu": with_all_at(story.later, xyz).poses["tofu"]}
    end, later = (replace(one, poses={**one.poses, **beside}) for one in (story.end, story.later))
    outcome = TASK.judge(replace(story, end=end, later=later))
    assert outcome.reason == "not in the bowl: tofu"


def test_what_the_sticks_still_hold_is_not_let_go(story):
    """Below the rim, with the force of a grasp."""
    held = {
        pair: np.array([0.0, GRIP, 0.0, 0.0, 0.0, 0.0]) for pair in story.later.wrenches if "tomato" in pair
    }
    later = replace(story.later, wrenches={**story.later.wrenches, **held})
    outcome = TASK.judge(replace(story, end=replace(later, time=20.0), later=later))
    assert outcome.reason == f"a stick still presses on one with {GRIP} N"


def test_other_ends_are_failures(story):
    moving = with_all_at(story.later, [0.02, 0.0, 0.014])
    assert TASK.judge(replace(story, later=moving)).reason == "one moves at 0.01 m/s"
    hard = [*story.course, {**story.course[0], "force, N": HARDEST + 0.5}]
    assert TASK.judge(replace(story, course=hard)).reason == "one was pressed with 2.5 N"


# --- parts


@pytest.mark.parametrize(
    ("shape", "volume", "moment"),
    [("ball", math.pi / 6.0, 0.1), ("block", 1.0, 1.0 / 6.0), ("drum", math.pi / 4.0, 7.0 / 48.0)],
)
def test_morsels_weigh_what_their_shapes_do(shape, volume, moment):
    """Moments about a level axis of bodies as wide as high, in closed form."""
    size = 0.02
    path = folder("urdf") / "morsel.urdf.xacro"
    (link,) = load_robot(path, xacro_args={"shape": shape, "size": size}).links
    mass = 1000.0 * volume * size**3
    assert link.inertial.mass == pytest.approx(mass)
    assert link.inertial.I_LCo[0, 0] == pytest.approx(moment * mass * size**2)
