"""The pencil is turned within the grasp and keeps its angle, and what goes wrong is told."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hydro_sim_core.description.poses import pose
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, attempt, find_task, run_trial
from hydro_sim_core.tasks.pencil_turn import HELD, NEAR, PENCIL, pitch_in_hand, start_at
from hydro_sim_core.tasks.task import Story
from hydro_sim_core.tasks.trial import draw, measure, scene_of
from hydro_sim_core.tasks.turner import GRIPPER

TASK = TASKS["pencil_turn"]
TURN = 0.6
#: Of the pencil, as urdf/pencil.urdf.xacro makes it of cedar: mass, kg, and its middle, m.
MASS, MIDDLE_OF_MASS = 650.0 * math.pi * 0.0045**2 * 0.155, -0.010


@pytest.mark.heavy(6)
@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3, 4])
def test_it_turns_and_scrubbing_torque_bears_its_weight_from_then_on(seed):
    ahead = []  # how far its middle of mass is ahead of the axis through both fingers

    def watch(world):
        X_PW = np.linalg.inv(world.frame_pose(GRIPPER.palm))
        ahead.append((X_PW @ world.frame_pose(PENCIL) @ [MIDDLE_OF_MASS, 0.0, 0.0, 1.0])[0])

    trial = run_trial(TASK, seed, watch=watch)
    assert trial.succeeded, trial
    assert trial.phase == "raise the pencil"
    assert abs(trial.measures["off the set turn, rad"]) < 0.01
    borne = -trial.course[-1]["scrubbing torque, N m"]
    assert borne == pytest.approx(MASS * 9.81 * ahead[-1], rel=2e-3)
    # What it takes to turn it is many times that.
    assert 0.03 < trial.measures["largest scrubbing torque, N m"] < 0.09


@pytest.mark.parametrize("turn", [0.15, 0.7])
def test_other_turns_can_be_set(turn):
    trial = run_trial(find_task("pencil_turn", {"turn": turn}))
    assert trial.succeeded, trial
    assert trial.measures["turned, rad"] == pytest.approx(turn, abs=0.01)


@pytest.mark.long
def test_the_torque_does_not_depend_on_the_mesh():
    coarse, fine = (
        run_trial(TASK, values={"models.arm.xacro_args.bubble_hint": hint}).measures for hint in (0.01, 0.005)
    )
    torque = "largest scrubbing torque, N m"
    assert coarse[torque] == pytest.approx(fine[torque], rel=0.02)


# --- what goes wrong


def test_a_pencil_with_nothing_to_turn_it_is_told(monkeypatch):
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.02)
    trial = run_trial(TASK, values={"models.stand.pose.xyz": [0.75, 0.0, 0.075]})
    assert not trial.succeeded
    assert trial.phase == "turn the pencil"
    assert trial.reason == "the pencil does not turn: there is no stand under it"


@pytest.mark.parametrize("turn", [0.05, 0.71, "far", True])
def test_turns_that_cannot_be_set_are_one_error(turn):
    with pytest.raises(
        InputError, match=r"controller.turn: .* is no turn to set; give a number from 0.1 to 0.7"
    ):
        find_task("pencil_turn", {"turn": turn})


# --- draws


def test_seeds_draw_within_bounds():
    pitches, places, stands = [], [], []
    scene = find_scene(TASK.scene)
    for seed in range(20):
        values = draw(TASK, seed, scene).values
        X_WO = pose(values["models.pencil.pose.xyz"], values["models.pencil.pose.rpy"])
        pitches.append(math.degrees(math.atan2(X_WO[2, 0], X_WO[0, 0])))
        # Where the axis of the pencil is between the fingers, which stay where they are.
        held = np.linalg.inv(X_WO) @ [0.45, 0.0, 0.175, 1.0]
        np.testing.assert_allclose(held[1:3], 0.0, atol=1e-12)
        places.append(held[0] - HELD[0, 3])
        stands.append(values["models.stand.pose.xyz"][0] - 0.56)
    for drawn, bound in ((pitches, 5.0), (places, 0.01), (stands, 0.01)):
        assert 0.5 * bound < np.abs(drawn).max() <= bound
        assert len(np.unique(drawn)) == len(drawn)


# --- what is a success


@pytest.fixture(scope="module")
def before():
    return measure(World(scene_of(TASK, None)))


def turned(measured, angle, slid=0.0, height=0.05, time=5.0):
    """A measurement with the pencil turned in the hand, slid along it, and both higher up."""
    X_WO = measured.poses[PENCIL]
    values = start_at(X_WO, angle, slid)
    up = pose([0.0, 0.0, height])
    X_WO = up @ pose(values["models.pencil.pose.xyz"], values["models.pencil.pose.rpy"])
    palm, fingers = GRIPPER.palm, GRIPPER.links
    poses = {**measured.poses, **{one: up @ measured.poses[one] for one in (palm, *fingers)}, PENCIL: X_WO}
    return replace(measured, time=time, poses=poses)


def test_a_tilt_of_the_closing_fingers_is_no_part_of_the_turn(before):
    """Its goal is where it was at the start and the set turn, as the judge has it."""
    wrenches = {
        (PENCIL, link): np.array([0.0, 5.0 * side, 0.0, 0.0, 0.0, 0.0])
        for link, side in zip(GRIPPER.links, GRIPPER.sides, strict=True)
    }
    held = replace(before, wrenches=wrenches)
    controller = TASK.controller(World(find_scene(TASK.scene)), TASK.period)
    script = controller.script(held)
    next(script)

    def send(angle):
        script.send(turned(held, angle, height=0.0))
        return controller.robot.phase

    assert {send(-0.03) for _ in range(40)} == {"hold the pencil", "turn the pencil"}
    assert send(0.58) == "turn the pencil"
    assert send(0.601) == "raise the pencil"


def judged(before, end, later=None):
    later = later or replace(end, time=end.time + 1.0)
    course = [{"time, s": one.time, **TASK.follow(one)} for one in (before, end, later)]
    return TASK.judge(Story(before, end, later, course))


def test_a_turned_pencil_is_a_success(before):
    end = turned(before, TURN)
    assert pitch_in_hand(end) == pytest.approx(TURN)
    outcome = judged(before, end)
    assert outcome.succeeded, outcome
    assert outcome.measures["turned, rad"] == pytest.approx(TURN)
    assert outcome.measures["slid, m"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"angle": TURN + 1.1 * NEAR}, "it is turned by 0.638 rad"),
        ({"angle": TURN - 1.1 * NEAR}, "it is turned by 0.562 rad"),
        ({"angle": TURN, "slid": 0.006}, "it slid by 6.0 mm between the fingers"),
        ({"angle": TURN, "height": -0.041}, "it is 9 mm over the stand"),
    ],
)
def test_other_ends_are_failures(before, how, told):
    outcome = judged(before, turned(before, **how))
    assert not outcome.succeeded
    assert told in outcome.reason


def test_a_pencil_that_goes_on_turning_is_a_failure(before):
    outcome = judged(before, turned(before, TURN), turned(before, TURN - 0.004, time=6.0))
    assert outcome.reason == "it turns at -0.004 rad/s"


def test_torque_is_that_of_the_fingers_about_the_axis_through_both(before):
    """Forces up on one finger's patch 10 mm ahead of the axis, and down 10 mm behind it on the other's."""
    X_WP = before.poses[GRIPPER.palm]
    wrenches = {}
    for link, ahead in zip(GRIPPER.links, (0.01, -0.01), strict=True):
        X_FW = np.linalg.inv(before.poses[link])
        force = X_FW[:3, :3] @ [0.0, 0.0, math.copysign(2.0, ahead)]
        p_FC = (X_FW @ X_WP @ [ahead, 0.0, -0.182, 1.0])[:3]
        wrenches[PENCIL, link] = np.concatenate([force, np.cross(p_FC, force)])
    told = TASK.follow(replace(before, wrenches=wrenches))
    assert told["scrubbing torque, N m"] == pytest.approx(2 * 2.0 * 0.01)
