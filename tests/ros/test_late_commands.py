"""Commands that were right when they were sent, and whose joints or gripper have left the scene since."""

from types import SimpleNamespace

import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Twist, TwistStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray, Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import hydro_sim_core as hs
from hydro_sim.controllers.forward import ForwardController
from hydro_sim.controllers.gripper import GripperController
from hydro_sim.controllers.hold import HoldController
from hydro_sim.controllers.joint_commands import JointCommandsController
from hydro_sim.controllers.joint_trajectory import INVALID_JOINTS, JointTrajectoryController
from hydro_sim.controllers.twist import TwistController
from hydro_sim.parameters import Parameters
from hydro_sim_core.errors import InputError
from support.ros.arms import JOINTS, Bench, gen3
from support.ros.moves import SCENE, Goal


@pytest.fixture(scope="module")
def world():
    return hs.load_scene(SCENE)


@pytest.fixture(scope="module")
def empty():
    """A scene without any joint."""
    return hs.World(hs.SceneBuilder("empty").build())


class CrowdedBench(Bench):
    """One controller of each kind, on a World that may be exchanged."""

    def __init__(self, world):
        super().__init__(world)
        self.refused = []
        self.hold = self.add(HoldController(world, self.arbiter))
        self.positions = self.add(ForwardController("position", JOINTS, world, self.arbiter))
        self.joints = self.add(JointCommandsController(world, self.arbiter))
        self.trajectories = self.add(
            JointTrajectoryController(world, self.arbiter, lambda: world.time, self.refused.append)
        )
        twists = TwistController("end_effector_link", JOINTS, "world", world, self.arbiter, self.hold)
        self.twists = self.add(twists)

    def exchange(self, world):
        self.world = world
        self.arbiter.keep_only(world.actuated_joint_names)
        for controller in self.controllers:
            controller.world_changed(world)


def _trajectory():
    point = JointTrajectoryPoint(positions=[0.1], time_from_start=Duration(sec=1))
    return JointTrajectory(joint_names=["joint_1"], points=[point])


COMMANDS = {
    "array": lambda arm: arm.positions.check(Float64MultiArray(data=arm.world.joint_positions().tolist())),
    "joint_commands": lambda arm: arm.joints.check(JointState(name=["joint_1"], position=[0.1])),
    "trajectory": lambda arm: arm.trajectories.check(_trajectory()),
    "twist": lambda arm: arm.twists.check(Twist()),
    "stamped twist": lambda arm: arm.twists.check_stamped(
        TwistStamped(header=Header(frame_id="bracelet_link"))
    ),
}


@pytest.mark.parametrize("kind", COMMANDS)
def test_late_command_is_refused_and_takes_no_joint(kind, empty):
    """By an ``InputError``, which the link counts; the next step has nothing to trip over."""
    arm = CrowdedBench(gen3())
    apply = COMMANDS[kind](arm)
    arm.exchange(empty)
    with pytest.raises(InputError):
        apply(arm.world)
    assert all(arm.arbiter.joints_of(controller) == () for controller in arm.controllers)
    arm.step()


def test_late_goal_is_told_that_its_joint_has_gone(empty):
    arm = CrowdedBench(gen3())
    ends = []
    goal = SimpleNamespace(tell=None, finish=lambda *end: ends.append(end))
    trajectory = arm.trajectories.checked(_trajectory())
    arm.exchange(empty)
    with pytest.raises(InputError):
        arm.trajectories.follow(trajectory, goal)
    ((outcome, code, reason),) = ends
    assert (outcome, code) == ("aborted", INVALID_JOINTS)
    assert "joint_1" in reason


class GoneGripper(Bench):
    """The spatula scene's gripper, whose model goes and comes back."""

    def __init__(self, world, empty):
        world.reset()
        super().__init__(world)
        self._full, self._empty = world, empty
        self.gripper = self.add(GripperController("gripper", "gripper", world, self.arbiter, Parameters()))

    def delete(self):
        self.arbiter.keep_only(self._empty.actuated_joint_names)
        self.world = self._empty
        self.gripper.world_changed(self._empty)

    def come_back(self):
        self.world = self._full
        self.gripper.world_changed(self._full)

    def move(self, gap):
        goal = Goal()
        self.gripper.move(self.world, *self.gripper.check_move(gap, 0.0), goal)
        return goal


def test_gripper_that_has_gone_is_not_asked(world, empty):
    """A reset while it is away, of time alone or of all, and what comes late; back again it works as before."""
    hand = GoneGripper(world, empty)
    under_way, late = hand.move(0.07), hand.gripper.checker("position")(Float64(data=0.06))
    hand.delete()
    assert under_way.end[0] == "aborted"
    hand.gripper.forget()
    hand.step()
    with pytest.raises(InputError):
        late(hand.world)
    goal = Goal()
    hand.gripper.cancel(hand.world, goal)
    assert goal.end[0] == "canceled"
    hand.gripper.lost(frozenset(), None)
    hand.come_back()
    hand.gripper.forget()
    again = hand.move(0.06)
    hand.step(600)
    assert again.end[0] == "succeeded"
