"""A base on a planar joint is commanded by its three coordinates, like joints of an arm."""

import json
import math

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Twist, TwistStamped, Vector3
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import hydro_sim_core as hs
from hydro_sim.controllers.forward import ForwardController
from hydro_sim.controllers.hold import HoldController
from hydro_sim.controllers.joint_commands import JointCommandsController
from hydro_sim.controllers.joint_trajectory import JointTrajectoryController
from hydro_sim.controllers.twist import TwistController, find_tool
from support.ros.arms import Bench
from support.ros.ros_client import Client

BASE = ("base/x", "base/y", "base/yaw")
MASS = (
    '<inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
URDF = f"""<robot name="cart"><link name="floor"/><link name="plate">{MASS}</link><link name="hand">{MASS}</link>
<joint name="base" type="planar"><parent link="floor"/><child link="plate"/><axis xyz="0 0 1"/></joint>
<joint name="lift" type="prismatic"><origin xyz="0.3 0 0"/><parent link="plate"/><child link="hand"/>
<axis xyz="0 0 1"/><limit lower="0" upper="1" effort="1e3" velocity="1"/></joint></robot>"""


@pytest.fixture
def scene(tmp_path):
    (tmp_path / "cart.urdf").write_text(URDF)
    drives = [{"joints": [*BASE, "lift"], "mode": "position", "kp": 2e4, "kd": 600}]
    model = {"name": "cart", "urdf": "cart.urdf", "gravity_compensation": True}
    path = tmp_path / "cart.json"
    path.write_text(json.dumps({"name": "cart", "models": [model], "actuators": drives}))
    return path


@pytest.fixture
def bench(scene):
    return Bench(hs.load_scene(scene))


def test_arrays_and_named_commands_move_it(bench):
    world = bench.world
    assert world.joint_names == (*BASE, "lift")
    array = ForwardController("position", world.actuated_joint_names, world, bench.arbiter)
    array.check(Float64MultiArray(data=[0.2, -0.1, 0.4, 0.05]))(world)
    bench.step(1500)
    np.testing.assert_allclose(world.joint_positions(), [0.2, -0.1, 0.4, 0.05], atol=1e-6)
    named = bench.add(JointCommandsController(world, bench.arbiter))
    named.check(JointState(name=["base/yaw"], velocity=[0.5]))(world)
    bench.step(1000)
    assert world.joint_velocities()[2] == pytest.approx(0.5, rel=1e-6)
    assert bench.position("base/x") == pytest.approx(0.2, abs=2e-3)  # held against the centrifugal force


def test_a_trajectory_is_followed(bench):
    """In the middle of a quintic it is where the polynomial is, but for the lag of the drive."""
    world, refused = bench.world, []
    controller = bench.add(
        JointTrajectoryController(world, bench.arbiter, lambda: world.time, refused.append)
    )
    goal, zero = [0.3, 0.2, math.pi / 2], [0.0] * 3
    point = JointTrajectoryPoint(
        positions=goal, velocities=zero, accelerations=zero, time_from_start=Duration(sec=1)
    )
    controller.check(JointTrajectory(joint_names=list(BASE), points=[point]))(world)
    bench.step(500)
    np.testing.assert_allclose(world.joint_positions()[:3], np.array(goal) / 2.0, rtol=0.02)
    bench.step(1000)
    np.testing.assert_allclose(world.joint_positions()[:3], goal, atol=1e-4)
    assert not refused


def test_a_twist_of_the_hand_moves_base_and_hand(bench):
    """Along the plane and about its normal by the base, across by the lift."""
    world = bench.world
    joints = world.actuated_joint_names
    assert find_tool(world, "", BASE) == "plate"
    assert find_tool(world, "hand", joints) == "hand"
    hold = bench.add(HoldController(world, bench.arbiter))
    twists = bench.add(TwistController("hand", joints, "world", world, bench.arbiter, hold))
    wanted = Twist(linear=Vector3(x=0.1, y=0.05, z=0.02), angular=Vector3(z=0.3))
    message = TwistStamped(twist=wanted)
    message.header.frame_id = "world"
    twists.check_stamped(message)(world)
    bench.step(1000)
    achieved = world.frame_jacobian("hand") @ world.v
    # Damping takes 1 % where a chain has fewer coordinates than a twist: 0.03^2 of 0.3^2.
    np.testing.assert_allclose(achieved, [0.0, 0.0, 0.3, 0.1, 0.05, 0.02], rtol=0.012, atol=1e-9)


def test_the_node_tells_and_takes_its_coordinates(scene, start_node):
    """A trajectory to /joint_states and back, as any program would send it."""
    node = start_node("-p", f"scene:={scene}")
    node.wait_for_output("scene 'cart'", timeout=300)  # the first start ever compiles
    client = Client(node.domain, ("/clock", "/joint_states", "/diagnostics"))
    try:
        client.wait_for_node()
        assert tuple(client.next("/joint_states").name) == (*BASE, "lift")
        goal = {"base/x": 0.1, "base/y": -0.2, "base/yaw": 0.3}
        client.send_trajectory(list(goal), [(0.5, list(goal.values()))])
        # All three at once: on the way past its goal, one of them is there before the others are.
        client.wait_until(
            lambda: all(abs(client.joint(name) - end) < 1e-4 for name, end in goal.items()),
            "the end of the trajectory",
        )
    finally:
        client.close()
