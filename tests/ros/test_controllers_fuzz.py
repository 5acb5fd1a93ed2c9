"""Any message on any command topic is an action or refused, and no number that is not finite gets through."""

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, Twist, TwistStamped, Vector3
from hypothesis import given, settings
from hypothesis import strategies as st
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hydro_sim.controllers.forward import ForwardController
from hydro_sim.controllers.hold import HoldController
from hydro_sim.controllers.impedance import ImpedanceController
from hydro_sim.controllers.twist import TwistController
from hydro_sim.parameters import Parameters
from hydro_sim_core.errors import InputError
from support.ros.arm_bench import ArmBench
from support.ros.arms import JOINTS, gen3

numbers = st.one_of(st.floats(-3.0, 3.0), st.floats())
names = st.lists(st.sampled_from([*JOINTS[:3], "", "elbow"]), max_size=3)
durations = st.builds(Duration, sec=st.integers(-2, 3), nanosec=st.integers(0, 2**32 - 1))
stamps = st.builds(Time, sec=st.integers(-(2**31), 2**31 - 1), nanosec=st.integers(0, 2**32 - 1))
vectors = st.builds(Vector3, x=numbers, y=numbers, z=numbers)
columns = st.lists(numbers, max_size=3)
points = st.builds(
    JointTrajectoryPoint,
    positions=columns,
    velocities=columns,
    accelerations=columns,
    effort=st.just([]) | columns,
    time_from_start=durations,
)
twists = st.builds(Twist, linear=vectors, angular=vectors)


@st.composite
def trajectories(draw):
    message = JointTrajectory(joint_names=draw(names), points=draw(st.lists(points, max_size=3)))
    message.header.stamp = draw(st.just(Time()) | stamps)
    return message


@st.composite
def plausible_trajectories(draw):
    """Well formed, so that most get past the first checks."""
    joints = draw(st.lists(st.sampled_from(JOINTS), min_size=1, max_size=3, unique=True))
    sizes = {"min_size": len(joints), "max_size": len(joints)}
    message = JointTrajectory(joint_names=joints)
    for i in range(draw(st.integers(1, 3))):
        point = JointTrajectoryPoint(time_from_start=Duration(sec=0, nanosec=10_000_000 * (i + 1)))
        point.positions = draw(st.lists(st.floats(-2.0, 2.0), **sizes))
        point.velocities = draw(st.just([]) | st.lists(st.floats(-1e3, 1e3), **sizes))
        message.points.append(point)
    return message


@st.composite
def stamped_twists(draw):
    message = TwistStamped(twist=draw(twists))
    message.header.frame_id = draw(st.sampled_from(["", "world", "base_link", "end_effector_link", "moon"]))
    return message


@st.composite
def target_poses(draw):
    x, y, z, w = draw(
        st.tuples(*4 * [numbers]) | st.sampled_from([(0.0, 0.0, 0.0, 1.0), (0.6, 0.0, -0.8, 0.0)])
    )
    pose = Pose(position=draw(st.builds(Point, x=numbers, y=numbers, z=numbers)))
    pose.orientation = Quaternion(x=x, y=y, z=z, w=w)
    message = PoseStamped(pose=pose)
    message.header.frame_id = draw(st.sampled_from(["", "world", "base_link", "end_effector_link", "moon"]))
    return message


arrays = st.builds(Float64MultiArray, data=st.lists(numbers, max_size=8))


@pytest.fixture(scope="module")
def world():
    return gen3(gravity_compensation=True)


@settings(max_examples=300)
@given(st.data())
def test_nothing_but_actions_and_refusals(world, data):
    world.reset()
    arm = ArmBench(world)
    hold = arm.add(HoldController(world, arm.arbiter))
    twist = arm.add(TwistController("end_effector_link", JOINTS, "world", world, arm.arbiter, hold))
    parts = "world", world, arm.arbiter, hold, Parameters()
    impedance = arm.add(ImpedanceController("end_effector_link", JOINTS, *parts))
    checks = {
        "target pose": (impedance.check, target_poses()),
        "trajectory": (arm.trajectories.check, trajectories() | plausible_trajectories()),
        "twist": (twist.check, twists),
        "stamped twist": (twist.check_stamped, stamped_twists()),
    }
    for mode in ("position", "velocity", "effort"):
        checks[mode] = (ForwardController(mode, JOINTS, world, arm.arbiter).check, arrays)
    for _ in range(2):
        check, messages = checks[data.draw(st.sampled_from(sorted(checks)))]
        try:
            action = check(data.draw(messages))
        except InputError:
            continue
        action(world)
        arm.step(2)
    told = world.save_state().drives
    assert all(np.isfinite(values).all() for values in told if values is not told.limit)
    assert np.isfinite([*world.q, *world.v]).all()
