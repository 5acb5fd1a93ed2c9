"""Poses that the tool goes to and yields at: where it gets, how far it yields, and who else may have the joints."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion

from hydro_sim.controllers.hold import HoldController
from hydro_sim.controllers.impedance import ImpedanceController
from hydro_sim.parameters import Parameters
from hydro_sim.simulation_control.conversions import pose_message
from hydro_sim_core.errors import InputError
from hydro_sim_core.rotations import twist_between
from support.ros.arms import JOINTS, Bench, gen3

TOOL = "end_effector_link"


class YieldingBench(Bench):
    """An arm whose tool is on springs."""

    def __init__(self, world):
        super().__init__(world)
        self.parameters = Parameters()
        self.hold = self.add(HoldController(world, self.arbiter))
        parts = world, self.arbiter, self.hold, self.parameters
        self.springs = self.add(ImpedanceController(TOOL, JOINTS, "world", *parts))

    def send(self, X, frame=""):
        message = PoseStamped(pose=pose_message(X))
        message.header.frame_id = frame
        self.springs.check(message)(self.world)

    @property
    def pose(self):
        return self.world.frame_pose(TOOL)


@pytest.fixture(scope="module")
def world():
    """Its drives do not bear its weight: the controller does."""
    return gen3(gravity_compensation=False)


@pytest.fixture
def arm(world):
    world.reset()
    return YieldingBench(world)


def off(X_WA, X_WB):
    return np.abs(twist_between(X_WA, X_WB, 1.0)).max()


def moved(X, *shift):
    X = X.copy()
    X[:3, 3] += shift
    return X


def test_weight_is_borne_once():
    arm = YieldingBench(gen3(gravity_compensation=True))
    here = arm.pose
    arm.send(here)
    arm.step(100)
    assert off(arm.pose, here) < 1e-9


@pytest.mark.parametrize("frame", ["world", TOOL])
def test_the_tool_goes_to_a_pose_in_the_axes_of_its_frame(arm, frame):
    goal = moved(arm.pose, 0.02, -0.03, 0.02)
    begin = np.eye(4) if frame in ("", "world") else arm.world.frame_pose(frame)
    arm.send(np.linalg.inv(begin) @ goal, frame)
    speeds = []
    for _ in range(80):
        arm.step(10)
        speeds.append(np.linalg.norm((arm.world.frame_jacobian(TOOL) @ arm.world.v)[3:]))
    assert off(arm.pose, goal) < 1e-3
    assert 0.1 < max(speeds) < 0.26


def test_it_yields_by_force_over_stiffness_and_the_stiffness_may_change(arm):
    here, push = arm.pose, np.array([0.0, 0.0, 0.0, 0.6, -0.8, 0.5])
    arm.send(here)
    arm.world.apply_wrench(TOOL, push)
    for stiffness in (500.0, 1000.0):
        arm.parameters.impedance_stiffness = stiffness
        arm.step(700)
        assert arm.pose[:3, 3] - here[:3, 3] == pytest.approx(push[3:] / stiffness, rel=0.02, abs=2e-5)
    arm.world.apply_wrench(TOOL, None)


def test_targets_that_stream_move_it_on(arm):
    """As a leader's hand would: one every 10 ms, each a little further."""
    here = arm.pose
    for k in range(50):
        arm.send(moved(here, 0.0, 0.0, 1e-3 * k))
        arm.step(10)
    # Behind by the lag of the springs' middle, 0.1 s at 0.1 m/s.
    assert arm.pose[2, 3] - here[2, 3] == pytest.approx(0.05 - 0.01, abs=2e-3)


def test_an_arm_that_loses_a_joint_holds(arm):
    arm.send(moved(arm.pose, 0.0, 0.0, 0.1))
    arm.step(100)
    arm.hold.assume(arm.world, ["joint_7"], "hold")
    arm.step(200)
    assert np.abs(arm.world.v).max() < 1e-2
    assert set(arm.arbiter.joints_of(arm.hold)) == set(JOINTS)
    assert arm.springs.hand_over(arm.world, None) == math.inf


def test_the_compiled_loop_waits_only_while_it_commands(arm):
    assert arm.springs.hand_over(arm.world, None) == math.inf
    arm.send(arm.pose)
    assert arm.springs.hand_over(arm.world, None) == 0.0
    arm.springs.forget()
    assert arm.springs.hand_over(arm.world, None) == math.inf


@pytest.mark.parametrize(
    ("pose", "frame", "told"),
    [
        (
            Pose(orientation=Quaternion(w=0.5)),
            "",
            r"impedance: pose: the quaternion has norm 0.5; give one of",
        ),
        (Pose(position=Point(y=-1e300)), "", r"impedance: pose: is 1e\+300 m away; send one within 1000 m"),
        (Pose(position=Point(x=math.nan)), "", r"impedance: pose: the position is not finite"),
        (Pose(), "end_effector", r"header.frame_id: 'end_effector' is not in the scene; did you mean"),
    ],
)
def test_what_is_no_pose_is_told(arm, pose, frame, told):
    message = PoseStamped(pose=pose)
    message.header.frame_id = frame
    with pytest.raises(InputError, match=told):
        arm.springs.check(message)
