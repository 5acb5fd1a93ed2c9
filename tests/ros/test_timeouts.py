"""What joints do whose controller falls silent."""

import numpy as np
import pytest
from geometry_msgs.msg import Twist, Vector3

from hydro_sim.controllers.arbiter import Controller
from hydro_sim.controllers.hold import HoldController
from hydro_sim.controllers.timeouts import CommandTimeouts
from hydro_sim.controllers.twist import TwistController
from hydro_sim.parameters import Parameters
from support.ros.arm_bench import ArmBench
from support.ros.arms import JOINTS, gen3


class WatchedBench(ArmBench):
    """An arm whose interfaces are watched; keeps what is counted and said."""

    def __init__(self, world, **parameters):
        super().__init__(world)
        self.counted, self.warnings = [], []
        self.parameters = Parameters(**parameters)
        self.hold = self.add(HoldController(world, self.arbiter))
        self.twists = self.add(
            TwistController("end_effector_link", JOINTS, "world", world, self.arbiter, self.hold)
        )
        watched = (self.trajectories, self.twists)
        self.add(CommandTimeouts(self.parameters, watched, self.arbiter, self.hold, self, self))

    def count_timeout(self, interface):
        self.counted.append(interface)

    def warning(self, text):
        self.warnings.append(text)


@pytest.fixture(scope="module")
def world():
    return gen3()


@pytest.fixture
def watched(world):
    def make(**parameters):
        world.reset()
        return WatchedBench(world, **parameters)

    return make


def twist(**linear):
    return Twist(linear=Vector3(**linear))


def test_twist_that_is_not_repeated_stops(watched):
    """After a tenth of a second by default, once and with one line; the arm then holds."""
    arm = watched()
    for _ in range(5):
        arm.twists.check(twist(z=0.1))(arm.world)
        arm.step(50)
    assert not arm.counted
    arm.step(60)
    assert arm.counted == ["twist"]
    assert len(arm.warnings) == 1
    assert "hold for joint_1" in arm.warnings[0]
    arm.step(300)
    there = arm.world.frame_pose("end_effector_link")
    arm.step(700)
    assert arm.world.frame_pose("end_effector_link") == pytest.approx(there, abs=1e-4)
    assert arm.counted == ["twist"]


def test_next_command_takes_over_again(watched):
    """And its silence counts anew."""
    arm = watched()
    for episode in (1, 2):
        arm.twists.check(twist(z=0.1))(arm.world)
        arm.step(150)
        assert arm.counted == ["twist"] * episode
        assert arm.arbiter.joints_of(arm.twists) == ()


@pytest.mark.parametrize("policy", ["hold", "float", "zero_effort"])
def test_policy_says_what_silence_means(watched, policy):
    """Still, without stiffness, or without any effort."""
    arm = watched(timeout_policy=policy)
    arm.twists.check(twist())(arm.world)
    arm.step(110)
    start, push = arm.world.q, arm.world.v.copy()
    push[0] += 0.3
    arm.world.set_state(start, push)
    arm.step(200)
    efforts, weight = arm.world.joint_efforts(), arm.world.gravity_forces()
    moved = arm.world.q - start
    if policy == "hold":
        assert np.abs(moved).max() < 0.02
    elif policy == "float":
        assert moved[0] > 0.04
        assert efforts == pytest.approx(weight, abs=0.1)
    else:
        assert efforts == pytest.approx(0.0)
        assert abs(moved[1]) > 0.05


def test_trajectory_is_not_silent_before_its_end(watched):
    """The time counts from there, and not at all while a goal is waited for."""
    arm = watched(command_timeout_trajectory=0.2)
    goal = arm.aim(0.5, joint_1=0.2)
    arm.step(499)
    assert not arm.counted
    arm.step(1000)
    assert goal.end[0] == "succeeded"
    assert arm.counted == ["trajectory"]


def test_silence_is_allowed_where_the_time_is_zero(watched):
    arm = watched(command_timeout_twist=0.0)
    arm.twists.check(twist(z=0.02))(arm.world)
    arm.step(500)
    assert not arm.counted
    assert len(arm.arbiter.joints_of(arm.twists)) == 7


def test_an_interface_without_a_parameter_has_the_time_of_its_controller(watched):
    """As those of plug-ins have, whose parameters the node does not know."""

    class MadeUp(Controller):
        interface = "made_up"
        timeout = 0.05

    class Patient(MadeUp):
        interface = "patient"
        timeout = 0.0

    arm = watched()
    made_up, patient = MadeUp(), Patient()
    arm.add(CommandTimeouts(arm.parameters, (made_up, patient), arm.arbiter, arm.hold, arm, arm))
    arm.arbiter.take(made_up, JOINTS[:1], arm.world.time)
    arm.arbiter.take(patient, JOINTS[1:2], arm.world.time)
    arm.step(45)
    assert not arm.counted
    arm.step(300)
    assert arm.counted == ["made_up"]
