"""The mug is taken by its handle and set down on the plate, and what goes wrong is told."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hydro_sim_core.description.poses import pose
from hydro_sim_core.errors import InputError
from hydro_sim_core.rotations import roll_pitch_yaw
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, attempt, run_trial, skills
from hydro_sim_core.tasks.mug_pick import BY_THE_HANDLE, LIFT, MUG, PLATE, PLATE_TOP, place_of
from hydro_sim_core.tasks.robot import TaskFailed
from hydro_sim_core.tasks.task import Story
from hydro_sim_core.tasks.trial import draw, measure
from hydro_sim_core.tasks.turner import GRIPPER

TASK = TASKS["mug_pick"]


@pytest.mark.heavy(6)
@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3, 4])
def test_the_mug_gets_onto_the_plate(seed):
    trial = run_trial(TASK, seed)
    assert trial.succeeded, trial
    assert trial.phase == "let go of the mug"
    assert 0.95 * LIFT < trial.measures["highest, m"] < 1.1 * LIFT
    assert trial.measures["off the middle of the plate, m"] < 0.003
    assert trial.measures["handle off the fingers, m"] < 0.003
    assert trial.measures["leans, deg"] < 0.1


@pytest.fixture(scope="module")
def model():
    return World(find_scene(TASK.scene))


@pytest.fixture(scope="module")
def before(model):
    return measure(model)


# --- what goes wrong


def run_short(monkeypatch, **values):
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.02)
    return run_trial(TASK, values=values)


def test_a_mug_out_of_reach_is_told(monkeypatch):
    trial = run_short(monkeypatch, **{"models.mug.pose.xyz": [1.4, -0.18, 0.0]})
    assert not trial.succeeded
    assert trial.phase == "take the mug"
    assert trial.reason.startswith("a pose is out of reach: stays")


def test_a_plate_out_of_reach_is_told_before_anything_moves(model, before, monkeypatch):
    """Of the hand as it will hold the mug over the plate; that kinematics find no way there is tested elsewhere."""
    X_WP = pose([3.0, 0.0, 0.0])

    def beyond(world, frame, X_WF):
        assert frame == GRIPPER.palm
        X_WM = BY_THE_HANDLE.object(X_WF)
        np.testing.assert_allclose(X_WM[:2, 3], X_WP[:2, 3], atol=1e-12)
        assert X_WM[2, 3] == pytest.approx(LIFT + PLATE_TOP)
        raise InputError(
            "inverse_kinematics", f"frame '{frame}'", "stays 1.88 m off the pose", "give another"
        )

    monkeypatch.setattr(skills, "inverse_kinematics", beyond)
    controller = TASK.controller(model, TASK.period)
    script = controller.script(replace(before, poses={**before.poses, PLATE: X_WP}))
    with pytest.raises(TaskFailed, match=r"a pose is out of reach: stays 1\.88 m off"):
        next(script)
    assert controller.robot.phase == "carry the mug"


def test_a_handle_that_slips_out_is_told(monkeypatch):
    trial = run_short(monkeypatch, **{"models.mug.links.mug.mu_dynamic": 0.02})
    assert (trial.succeeded, trial.phase) == (False, "take the mug")
    assert trial.reason == "no secure grasp of mug: 0.0 N of 20 N on the looser finger"


def send_all(script, measurements):
    for measured in measurements:
        script.send(measured)


def test_a_mug_that_no_plate_takes_is_told(model, before):
    """Its weight stays on the fingers all the way down."""
    down = {finger: before.poses[finger][:3, :3].T @ [0.0, 0.0, -1.4] for finger in GRIPPER.links}
    carried = {(MUG, finger): np.append(force, np.zeros(3)) for finger, force in down.items()}
    measured = replace(before, wrenches=carried)
    controller = TASK.controller(model, TASK.period)
    controller.robot.start(measured)
    script = controller._set_down(controller.robot.X_WT)
    next(script)
    with pytest.raises(TaskFailed, match="there is no plate under the mug"):
        send_all(script, 1000 * [measured])


# --- draws


def test_seeds_draw_within_bounds():
    starts, turns, shares = [], [], []
    scene = find_scene(TASK.scene)
    nominal = {one.name: one.pose for one in scene.spec.models}
    for seed in range(20):
        drawn = draw(TASK, seed, scene).values
        for name in (MUG, PLATE):
            starts.append(np.subtract(drawn[f"models.{name}.pose.xyz"], nominal[name].xyz)[:2])
        turns.append(math.degrees(drawn["models.mug.pose.rpy"][2] - nominal[MUG].rpy[2]))
        shares.append(drawn["models.arm.links.left_finger.modulus"] / 3e5 - 1.0)
    for values, bound in ((starts, 0.01), (turns, 5.0), (shares, 0.3)):
        assert 0.5 * bound < np.abs(values).max() <= bound
        assert len(np.unique(values)) == np.size(values)


# --- what is a success


def with_mug(measured, X_WM, time):
    """A measurement with the mug elsewhere, the hand at its handle."""
    poses = {**measured.poses, MUG: X_WM, GRIPPER.palm: BY_THE_HANDLE.hand(X_WM)}
    return replace(measured, time=time, poses=poses)


def story_of(before, *poses):
    """A story of the mug at poses (4, 4), one every half second, the last two of which are the end and later."""
    course = [before, *(with_mug(before, X_WM, 0.5 * k) for k, X_WM in enumerate(poses, 1))]
    told = [{"time, s": one.time, **TASK.follow(one)} for one in course]
    return Story(before, course[-2], course[-1], told)


def lifted(X_WM, height=0.1):
    return pose([0.0, 0.0, height]) @ X_WM


def test_a_mug_on_the_plate_is_a_success(before):
    start, place = before.poses[MUG], place_of(before)
    outcome = TASK.judge(story_of(before, lifted(start), lifted(place), place, place))
    assert outcome.succeeded, outcome
    assert outcome.measures["highest, m"] == pytest.approx(0.1)
    assert outcome.measures["sank at, m/s"] == pytest.approx(0.2)


def test_its_place_is_upright_on_the_plate_with_the_handle_towards_the_arm(before):
    place = place_of(before)
    X_PM = np.linalg.inv(before.poses[PLATE]) @ place
    np.testing.assert_allclose(X_PM[:3, 3], [0.0, 0.0, 0.006], atol=1e-12)
    assert roll_pitch_yaw(place[:3, :3])[:2] == pytest.approx((0.0, 0.0))
    reach = np.hypot(*place[:2, 3])
    assert np.hypot(*(place @ [0.067, 0.0, 0.0, 1.0])[:2]) == pytest.approx(reach - 0.067)


@pytest.mark.parametrize(
    ("shift", "turn", "told"),
    [
        ([0.012, 0.0, 0.0], [0.0, 0.0, 0.0], "it is 0.012 m off the middle of the plate"),
        ([0.0, 0.0, 0.003], [0.0, 0.0, 0.0], "it is 0.000 m off the middle of the plate"),  # over it
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.1], "its handle is 5.7 degrees off its direction"),
        ([0.0, 0.0, 0.0], [0.03, 0.0, 0.0], "it leans by 1.7 degrees"),
    ],
)
def test_other_ends_are_failures(before, shift, turn, told):
    start, place = before.poses[MUG], place_of(before)
    end = place @ pose(shift, turn)
    outcome = TASK.judge(story_of(before, lifted(start), lifted(place), end, end))
    assert (outcome.succeeded, outcome.reason) == (False, told)


def test_a_mug_that_is_still_held_is_not_set_down(before):
    """Neither over the plate, where it would rest as well, nor on it."""
    start, place = before.poses[MUG], place_of(before)
    for height in (0.0, 0.0012):
        end = lifted(place, height)
        story = story_of(before, lifted(start), lifted(place), end, end)
        held = {(MUG, finger): np.array([0.0, 20.0, 0.0, 0.0, 0.0, 0.0]) for finger in GRIPPER.links}
        later = replace(story.later, wrenches={**story.later.wrenches, **held})
        outcome = TASK.judge(replace(story, later=later))
        assert (outcome.succeeded, outcome.reason) == (False, "a finger still presses on it with 20 N")


def test_other_ways_are_failures(before):
    start, place = before.poses[MUG], place_of(before)
    slid = TASK.judge(story_of(before, lifted(start, 0.001), lifted(place, 0.001), place, place))
    assert slid.reason == "it was lifted by 0.001 m"
    fell = TASK.judge(story_of(before, lifted(start, 0.2), place, place))
    assert fell.reason == "it fell at 0.39 m/s"
    moves = TASK.judge(story_of(before, lifted(start), lifted(place), place, place @ pose([0.002, 0.0, 0.0])))
    assert moves.reason == "it moves at 0.004 m/s"
    good = story_of(before, lifted(start), lifted(place), place, place)
    first, second, *others = good.course
    slips = replace(good, course=[first, {**second, "off the fingers, m": 0.011}, *others])
    assert TASK.judge(slips).reason == "its handle was 0.011 m off the fingers in the air"
    pushed = {name: pose([0.011, 0.0, 0.0]) @ good.later.poses[name] for name in (MUG, PLATE)}
    after = {**good.later.poses, **pushed}
    both = replace(good, end=replace(good.end, poses=after), later=replace(good.later, poses=after))
    assert TASK.judge(both).reason == "the plate was pushed by 0.011 m"
