"""Moves of a gripper: they end at their goal, or at what is in the way."""

import math
from types import SimpleNamespace

import pytest
from std_msgs.msg import Float64

import hydro_sim_core as hs
from hydro_sim.controllers.gripper import GripperController
from hydro_sim.controllers.hold import HoldController
from hydro_sim.controllers.timeouts import CommandTimeouts
from hydro_sim.parameters import Parameters
from hydro_sim_core.errors import InputError
from support.ros.arms import Bench
from support.ros.moves import SCENE, Goal


class HandBench(Bench):
    """The gripper of the spatula scene."""

    def __init__(self, world, **parameters):
        super().__init__(world)
        self.gripper = self.add(
            GripperController("gripper", "gripper", world, self.arbiter, Parameters(**parameters))
        )

    def move(self, gap, max_force=0.0):
        goal = Goal()
        self.gripper.move(self.world, *self.gripper.check_move(gap, max_force), goal)
        return goal


@pytest.fixture(scope="module")
def world():
    return hs.load_scene(SCENE)


@pytest.fixture
def hand(world):
    world.reset()
    return HandBench(world)


def test_free_gripper_reaches_its_goal(hand):
    """Opening from what it holds; progress is told every twentieth of a second."""
    goal = hand.move(0.06)
    hand.step(600)
    outcome, state = goal.end
    assert outcome == "succeeded"
    assert (state.reached_goal, state.stalled) == (True, False)
    assert state.gap == pytest.approx(0.06, abs=2e-3)
    assert state.force == 0.0
    assert goal.progress


@pytest.mark.parametrize("allowed", [True, False])
def test_gripper_stalls_on_what_it_holds(world, allowed):
    """Short of its goal, and no harder than it was told."""
    world.reset()
    hand = HandBench(world, gripper_stall_timeout=0.2, gripper_allow_stalling=allowed)
    goal = hand.move(0.0, max_force=4.0)
    hand.step(600)
    outcome, state = goal.end
    assert outcome == ("succeeded" if allowed else "aborted")
    assert (state.reached_goal, state.stalled) == (False, True)
    assert state.gap > 5e-3
    assert state.force == pytest.approx(4.0, rel=0.02)


def test_force_limit_ends_with_the_next_command(hand):
    """And none is the gripper's own."""
    hand.move(0.0, max_force=2.0)
    hand.step(300)
    assert hand.world.grip_force() == pytest.approx(2.0, rel=0.02)
    hand.gripper.checker("force")(Float64(data=8.0))(hand.world)
    hand.step(300)
    assert hand.world.grip_force() == pytest.approx(8.0, rel=0.02)
    hand.move(0.0)
    hand.step(300)
    assert hand.world.grip_force() > 8.0


def test_force_beyond_the_grippers_own_is_its_own(hand):
    """A limit that high binds nothing; a client for a stronger gripper runs unchanged."""
    assert hand.gripper.check_move(0.02, 1e3)[1] == hand.gripper.spec.max_force


def test_cancelled_move_holds_the_opening(hand):
    goal = hand.move(0.08)
    hand.step(40)
    hand.gripper.cancel(hand.world, goal)
    outcome, state = goal.end
    assert outcome == "canceled"
    hand.step(500)
    positions = dict(zip(hand.world.joint_names, hand.world.joint_positions(), strict=True))
    assert hand.gripper.spec.gap(positions) == pytest.approx(state.gap, abs=5e-3)


def test_next_command_ends_a_move(hand):
    """Another goal, or a number on a topic."""
    first, second = hand.move(0.08), hand.move(0.07)
    assert first.end[0] == "aborted"
    hand.step(10)
    hand.gripper.checker("position")(Float64(data=0.06))(hand.world)
    assert second.end[0] == "aborted"


@pytest.mark.parametrize(("gap", "force"), [(math.nan, 1.0), (0.05, -1.0), (0.05, math.nan), (5.0, 1.0)])
def test_move_that_is_impossible_is_refused(hand, gap, force):
    with pytest.raises(InputError):
        hand.gripper.check_move(gap, force)


def test_silence_after_a_command_is_ended_by_the_policy(world):
    """The fingers keep their place once nobody has commanded them for long enough; a move under way is no silence."""
    world.reset()
    hand = HandBench(world)
    counted, warnings = [], []
    teller = SimpleNamespace(count_timeout=counted.append, warning=warnings.append)
    hold = hand.add(HoldController(world, hand.arbiter))
    parameters = Parameters(command_timeout_gripper=0.02)
    hand.add(CommandTimeouts(parameters, (hand.gripper,), hand.arbiter, hold, teller, teller))

    goal = hand.move(0.06)
    while not goal.ends:
        assert not counted
        hand.step()
    assert world.time > 0.025, "the move was no silence that would have counted"
    hand.step(15)
    assert not counted
    hand.gripper.checker("force")(Float64(data=3.0))(world)
    hand.step(15)
    assert not counted
    hand.step(10)
    assert counted == ["gripper"]
    assert "no gripper command for more than 0.02 s" in warnings[0]
    hand.step(300)
    there = world.joint_positions()
    hand.step(300)
    assert world.joint_positions()[:2] == pytest.approx(there[:2], abs=1e-4)
    assert counted == ["gripper"]


def test_a_move_closes_with_the_asked_force(hand):
    """Short of its goal, however near: a real gripper closes with its force, where a spring would press with less."""
    goal = hand.move(0.01, max_force=20.0)
    hand.step(600)
    gap = hand.gripper.spec.gap(dict(zip(hand.world.joint_names, hand.world.joint_positions(), strict=True)))
    assert gap > 0.011
    assert hand.world.grip_force() == pytest.approx(20.0, rel=0.02)
    assert not goal.ends
    hand.move(gap - 0.0015, max_force=20.0)
    hand.step(300)
    assert hand.world.grip_force() == pytest.approx(20.0, rel=0.02)
