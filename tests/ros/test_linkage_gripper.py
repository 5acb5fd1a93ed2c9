"""A gripper whose knuckle drives mimic joints takes goals in radians and newton metres, and lifts what it holds."""

from __future__ import annotations

import pytest

import hydro_sim_core as hs
from hydro_sim.controllers.gripper import GripperController, gripper_interface
from hydro_sim.parameters import Parameters
from hydro_sim_core.errors import InputError
from support.ros.arms import Bench
from support.ros.moves import Goal
from support.simulation.linkage_gripper import effort_for, half_gap, write_scene

FORCE, MASS = 20.0, 0.1
KNUCKLE = "knuckle_joint"
#: Angle of the knuckle at which the pads are 50 mm apart, rad.
AT_BLOCK = 0.34905


class Hand(Bench):
    """The gripper above a block, with its controller."""

    def __init__(self, world: hs.World, **parameters: float) -> None:
        super().__init__(world)
        name = gripper_interface(world, "gripper")
        self.gripper = self.add(
            GripperController("gripper", name, world, self.arbiter, Parameters(**parameters))
        )

    def move(self, position: float, max_effort: float = 0.0) -> Goal:
        goal = Goal()
        self.gripper.move(self.world, *self.gripper.check_move(position, max_effort), goal)
        return goal


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> hs.World:
    return hs.load_scene(write_scene(tmp_path_factory.mktemp("hand"), MASS))


@pytest.fixture
def hand(world: hs.World) -> Hand:
    world.reset()
    return Hand(world, gripper_stall_timeout=0.2)


def pad_forces(world: hs.World) -> list[float]:
    """Force of each pad on the block along their line, N."""
    return [
        abs(float(one.force_on_b[0])) for one in world.contacts if "ground" not in (one.name_a, one.name_b)
    ]


def test_it_closes_on_a_block_with_the_asked_force_and_lifts_it(hand: Hand) -> None:
    """The effort at the knuckle is that of 20 N on each pad; the block is pushed to the middle on the way."""
    assert half_gap(AT_BLOCK) == pytest.approx(0.025, abs=1e-5)
    effort = effort_for(FORCE, AT_BLOCK)
    goal = hand.move(0.8, effort)
    hand.step(1200)
    outcome, state = goal.end
    assert (outcome, state.stalled, state.reached_goal) == ("succeeded", True, False)
    assert state.gap == pytest.approx(AT_BLOCK, abs=5e-3)
    assert state.force == pytest.approx(effort, rel=0.02)
    assert pad_forces(hand.world) == pytest.approx([FORCE] * 2, rel=0.05)

    hand.world.set_command({"lift": 0.0}, "position")
    hand.step(800)
    (height,) = (hand.world.frame_pose("block")[2, 3],)
    assert height == pytest.approx(0.15 + 0.025, abs=2e-3)
    assert pad_forces(hand.world) == pytest.approx([FORCE] * 2, rel=0.05)


def test_it_moves_at_the_speed_limit_of_its_joint(hand: Hand) -> None:
    """A goal and a number on a topic, to where it is asked: 0.3 rad at 0.5 rad/s."""
    goal = hand.move(0.3)
    hand.step(300)
    assert hand.position(KNUCKLE) == pytest.approx(0.15, abs=5e-3)
    assert goal.progress
    hand.step(400)
    outcome, state = goal.end
    assert (outcome, state.reached_goal) == ("succeeded", True)
    assert state.gap == pytest.approx(0.3, abs=2e-3)


def test_its_efforts_are_those_of_its_joint(hand: Hand) -> None:
    """More than the limit of the joint is that limit, though each mimic joint has one of its own."""
    assert hand.gripper.check_move(0.5, 1e3)[1] == 50.0
    with pytest.raises(InputError, match="outside its limits"):
        hand.gripper.check_move(0.9, 1.0)


def test_a_cancelled_move_holds_its_place(hand: Hand) -> None:
    goal = hand.move(0.6)
    hand.step(200)
    hand.gripper.cancel(hand.world, goal)
    outcome, state = goal.end
    assert outcome == "canceled"
    hand.step(300)
    assert hand.position(KNUCKLE) == pytest.approx(state.gap, abs=2e-3)
