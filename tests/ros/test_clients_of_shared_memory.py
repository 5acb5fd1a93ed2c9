"""Joints that a client of the shared memory takes from the node's controllers, and gives back."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from hydro_sim.controllers.clients import ClientJoints
from hydro_sim.controllers.joint_trajectory import INVALID_GOAL
from hydro_sim.controllers.tolerances import JointTolerance
from hydro_sim_core.shared_memory.client import Client, connect
from hydro_sim_core.shared_memory.layout import JointStatus
from hydro_sim_core.simulation import World
from support.ros.arm_bench import ArmBench, Goal
from support.ros.arms import JOINTS, gen3
from support.ros.planned import Planned
from support.simulation.runners import wait_until

NAME = f"test_arbiter_{os.getpid()}"
WIDE = dict.fromkeys(JOINTS, JointTolerance(0.1, 0.1))


class Shared(ArmBench):
    """An arm whose joints clients may take."""

    def __init__(self) -> None:
        super().__init__(gen3(gravity_compensation=True))
        self.planned = Planned(self, shared_name=NAME, real_time_factor=1.0)
        self.controllers.insert(0, ClientJoints(self.planned.runner, self.arbiter))
        self.planned.start(with_plans=True)

    def ask(self, seconds: float, **positions: float) -> Goal:
        """Send a goal by way of the stepping thread, as the node does."""
        goals: list[Goal] = []
        self.planned.runner.submit(lambda world: goals.append(self.aim(seconds, goal=WIDE, **positions)))
        wait_until(lambda: bool(goals))
        return goals[0]


@pytest.fixture
def arm() -> Iterator[Shared]:
    shared = Shared()
    yield shared
    shared.planned.runner.close()


@pytest.fixture
def client(arm: Shared) -> Iterator[Client]:
    with connect(NAME) as client:
        yield client


def test_a_goal_ends_when_a_client_takes_one_of_its_joints(arm: Shared, client: Client) -> None:
    """With the reason; the other joints stop. Then the client is gone, and the joint takes goals again."""
    goal = arm.ask(30.0, joint_1=0.5, joint_7=0.5)
    wait_until(lambda: bool(goal.progress))
    with client.controller("other") as other:
        other.commands.give("joint_7", position=-0.1)
        other.send()
        wait_until(lambda: bool(goal.ends))
        assert goal.end == ("aborted", INVALID_GOAL, "joint_7: preempted by shared memory commands")
        state = client.wait(client.newest().serial + 600)
        assert state.positions[6] == pytest.approx(-0.1, abs=2e-3)
        assert abs(state.velocities[0]) < 1e-3
    again = arm.ask(0.1, joint_7=0.05)
    wait_until(lambda: bool(again.ends))
    assert again.end[0] == "succeeded"


def test_a_command_of_the_node_takes_a_joint_from_a_client_until_that_commands_anew(
    arm: Shared, client: Client
) -> None:
    """Whoever has commanded last has it."""
    with client.controller("other") as other:
        other.commands.give("joint_7", position=-0.1)
        other.send()
        client.wait(client.newest().serial + 50)
        assert client.newest().joint_status[6] & JointStatus.COMMANDED
        goal = arm.ask(0.1, joint_7=0.1)
        wait_until(lambda: bool(goal.ends))
        assert goal.end[0] == "succeeded"
        state = client.newest()
        assert not state.joint_status[6] & JointStatus.COMMANDED
        assert state.positions[6] == pytest.approx(0.1, abs=2e-2)
        goal = arm.ask(30.0, joint_7=0.3)
        wait_until(lambda: bool(goal.progress))
        other.send()
        wait_until(lambda: bool(goal.ends))
        assert goal.end[2] == "joint_7: preempted by shared memory commands"


def test_a_command_that_goes_on_in_the_next_scene_is_a_clients_until_the_node_commands(
    arm: Shared, client: Client
) -> None:
    """The goal of the node keeps the joint: nobody has commanded it since."""

    def settle(old: World, new: World) -> None:
        new.take_over(old)
        arm.world = new
        for controller in arm.controllers:
            controller.world_changed(new)

    with client.controller("other") as other:
        other.commands.give("joint_7", position=-0.1)
        other.send()
        wait_until(lambda: arm.arbiter.joints_of(arm.controllers[0]) == ("joint_7",))
        arm.planned.runner.exchange(gen3(gravity_compensation=True), settle, anew=False)
    assert arm.arbiter.joints_of(arm.controllers[0]) == ("joint_7",)
    goal = arm.ask(0.1, joint_7=0.1)
    wait_until(lambda: bool(goal.ends))
    assert goal.end[0] == "succeeded"
    assert arm.planned.runner.led_joints == ()
