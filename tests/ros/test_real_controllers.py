"""The launch file with the real controller_manager, robot_state_publisher and controllers, which the wheels lack.

Stand-ins record arguments only: what controllers make of the node, and the node of them, is seen here.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time

import pytest
import yaml

pytest.importorskip("launch_ros", reason="launch and launch_ros are not installed; ROS from apt has them")
pytest.importorskip("ros2launch", reason="ros2launch is not installed")
pytest.importorskip("control_msgs", reason="control_msgs is not installed; ROS from apt has it")

from lxml import etree
from rclpy.qos import QoSDurabilityPolicy, QoSProfile

from hydro_sim_core.description.paths import PackageResolver
from hydro_sim_core.description.xacro_source import expand_xacro
from support.ros.launch_process import LaunchProcess
from support.ros.node_process import ROOT
from support.ros.real_controllers import RealControllers, absent, install_checkout
from support.ros.ros_client import stamp_of

pytestmark = pytest.mark.skipif(bool(absent()), reason=f"not installed: {', '.join(absent())}")

LAUNCHED = ("controllers:=ros2_control", "headless:=true")
ARM = "joint_trajectory_controller"
MANAGER = "ros2_control_node"
UNREACHED = -5  # GOAL_TOLERANCE_VIOLATED
#: Longer than a spawner of its own would wait for a switch of controllers, s.
PATIENCE = 8.0


def _environment(prefix):
    return {"AMENT_PREFIX_PATH": f"{install_checkout(prefix)}:{os.environ['AMENT_PREFIX_PATH']}"}


@pytest.fixture
def start(tmp_path):
    """Start the launch file with these arguments; a client of it. Everything must end on Ctrl-C."""
    started = []

    def start_with(*arguments, **variables):
        environment = _environment(tmp_path / f"{len(started)}") | variables
        launch = LaunchProcess(tmp_path / "log.txt", [*LAUNCHED, *arguments], environment)
        client = RealControllers(launch)
        started.append((launch, client))
        return client

    yield start_with
    for launch, client in started:
        client.close()
        assert launch.stop() == 0, launch.output
        assert "escalating" not in launch.output


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """One launch for most of the tests: the Gen3 with the gripper and the spatula."""
    folder = tmp_path_factory.mktemp("real")
    launch = LaunchProcess(folder / "log.txt", LAUNCHED, _environment(folder / "prefix"))
    client = RealControllers(launch)
    client.wait_for_controllers("joint_state_broadcaster", ARM)
    yield client
    client.close()
    assert launch.stop() == 0, launch.output
    assert "escalating" not in launch.output


def test_a_start_that_compiles_has_its_controllers(start, tmp_path):
    """Without a kernel of an earlier start, which takes longer than spawners are patient: they wait for its end."""
    client = start(HYDRO_SIM_CACHE_DIR=str(tmp_path / "cache"))
    client.wait_for_controllers("joint_state_broadcaster", ARM)
    client.wait_for_inactive("gripper_controller")
    said = ("compiling kernels", "kernels ready after", "[spawner-")
    places = [client.launch.output.find(words) for words in said]
    assert 0 <= places[0] < places[1] < places[2], client.launch.output
    before = client.position("joint_7")
    result = client.move_arm(2.0, "joint_7", 0.4)
    assert result.error_code == 0, result.error_string
    assert client.position("joint_7") == pytest.approx(before + 0.4, abs=0.005)
    assert len(re.findall("process started", client.launch.output)) == 6


# Before the launch that others share, which needs half of two processors.
@pytest.mark.parametrize("pace", [1.0, 0.0])
def test_lock_step_keeps_in_step_with_the_manager(start, tmp_path, pace):
    """Every period has its state and its command, at any pace; a goal is reached; a new manager comes in step too."""
    parameters = tmp_path / "node.yaml"
    parameters.write_text(yaml.safe_dump({"/**": {"ros__parameters": {"real_time_factor": pace}}}))
    client = start("lock_step:=true", f"params_file:={parameters}", "arm:=gen3_7dof", "gripper:=none")
    client.wait_for_controllers(ARM)
    client.errors.clear()
    client.states.clear()
    client.commands.clear()
    assert client.move_arm(2.0, "joint_7", 0.4).error_code == 0
    # As fast as possible clock and states race to the manager: what it calls error is of a state some periods old.
    assert max(client.errors) < (0.005 if pace else 0.012)
    stamps = [round(stamp_of(state) / 0.004, 6) for state in client.states]
    assert all(stamp == round(stamp) for stamp in stamps)
    if pace:  # a client of ours is slower than as fast as possible
        assert stamps == [stamps[0] + i for i in range(len(stamps))]
        assert abs(len(client.commands) - len(client.states)) <= 2

    _kill(client, MANAGER)
    manager = _start_manager(client, tmp_path)
    try:
        reached = client.time
        client.wait_until(lambda: client.time > reached + 1.0, "time to pass with the new manager", 120.0)
    finally:
        manager.send_signal(signal.SIGINT)
        assert manager.wait(10) == 0


def test_nothing_is_said_twice_and_nothing_is_dropped(client):
    """One node of each name, no warning of KDL or urdfdom."""
    assert client.node.get_node_names().count("hydro_sim") == 1
    for complaint in ("has an inertia specified", "Unknown geometry", "Could not parse", "commanded nothing"):
        assert complaint not in client.launch.output


def test_every_frame_has_one_parent_and_one_publisher(client):
    """The node and robot_state_publisher share the tree; the link that bears the root's inertia hangs in it."""
    from tf2_msgs.msg import TFMessage

    seen = {}

    def hear(message):
        # Every publisher has its own frames, and publishes them together.
        together = frozenset(transform.child_frame_id for transform in message.transforms)
        for transform in message.transforms:
            seen.setdefault(transform.child_frame_id, set()).add((transform.header.frame_id, together))

    latched = QoSProfile(depth=10, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
    client.node.create_subscription(TFMessage, "/tf", hear, 100)
    client.node.create_subscription(TFMessage, "/tf_static", hear, latched)
    client.wait_until(lambda: {"base_link_inertia", "base_link", "spatula"} <= set(seen), "the frames")
    client.run_for(2.0)
    assert {child: len(by) for child, by in seen.items() if len(by) > 1} == {}
    assert {parent for parent, _ in seen["base_link_inertia"]} == {"base_link"}


@pytest.mark.realtime
def test_goal_is_tracked_within_five_mrad(client):
    """0.4 rad in 2 s, where the machine lets both be in time; lock-step below needs no luck."""
    client.errors.clear()
    before = client.position("joint_7")
    result = client.move_arm(2.0, "joint_7", 0.4)
    assert result.error_code == 0, result.error_string
    assert len(client.errors) > 20
    assert max(client.errors) < 0.005
    assert client.position("joint_7") == pytest.approx(before + 0.4, abs=0.005)


def test_goal_that_is_not_reached_fails(client):
    """3 rad in 0.1 s, and no time to catch up."""
    result = client.move_arm(0.05, "joint_1", 3.0)
    assert result.error_code == UNREACHED
    client.run_for(2.0)
    assert client.move_arm(3.0, "joint_1", -client.position("joint_1")).error_code == 0


def test_fingers_beyond_their_stops_leave_the_arm_its_commands(client):
    """The gripper's controller holds a place past the stop while the arm obeys its own."""
    client.activate("gripper_controller")
    result = client.go("gripper_controller", 0.5, left_finger_joint=0.02, right_finger_joint=0.0)
    assert result.error_code == 0, result.error_string
    before = client.position("joint_7")
    result = client.move_arm(1.0, "joint_7", -0.3)
    assert result.error_code == 0, result.error_string
    assert client.position("joint_7") == pytest.approx(before - 0.3, abs=0.005)
    assert "/joint_commands: rejected" not in client.launch.output
    told = r"joint_commands: joint 'left_finger_joint': \S+ is outside its limits; moved to 0\.01 "
    assert len(re.findall(told, client.launch.output)) == 1


def test_controllers_go_on_after_a_reset(client):
    """Time does not go back, so nobody sleeps until it is reached again."""
    before = client.time
    client.reset()
    count = len(client.commands)
    client.run_for(1.0)
    assert client.time > before
    assert len(client.commands) - count > 100
    assert client.move_arm(1.0, "joint_7", 0.1).error_code == 0


def test_after_a_reset_the_arm_is_led_back_whether_its_controller_is_active_or_not(client):
    """The hardware interface repeats the last command of a controller that is switched off."""
    assert client.move_arm(1.0, "joint_7", 0.3).error_code == 0
    held = client.position("joint_7")
    client.reset()
    client.run_for(2.0)
    assert client.position("joint_7") == pytest.approx(held, abs=5e-3)
    client.deactivate(ARM)
    client.reset()
    client.run_for(2.0)
    assert client.position("joint_7") == pytest.approx(held, abs=5e-3)
    client.activate(ARM)


@pytest.mark.parametrize("lock_step", ["false", "true"])
def test_a_killed_simulation_is_followed_by_another_that_the_controllers_lead(start, lock_step):
    """At once, though the one before had run for long; nothing of what it was told moves the arm."""
    client = start(f"lock_step:={lock_step}", "respawn:=true", "arm:=gen3_7dof", "gripper:=none")
    client.wait_for_controllers(ARM)
    beginning = client.now().position
    assert client.move_arm(1.0, "joint_7", 0.4).error_code == 0
    client.begin(ARM, 60.0, **{f"joint_{i}": 0.5 for i in range(1, 8)})
    client.set_pace(0.0)
    client.wait_until(lambda: client.time > 40.0, "a late time", 90.0)
    _kill(client, "hydro_sim")
    _wait_for_spawners(client, 2)
    assert client.controllers()[ARM] == "active"
    client.run_for(1.0)
    assert client.time < 30.0
    stamps = [stamp_of(state) for state in client.states]
    (first,) = [i for i in range(1, len(stamps)) if stamps[i] < stamps[i - 1]]
    assert stamps[first] < 5.0
    for state in client.states[first:]:
        assert state.position == pytest.approx(beginning, abs=2e-3)

    client.errors.clear()
    result = client.move_arm(2.0, "joint_7", 0.4)
    assert result.error_code == 0, result.error_string
    assert client.position("joint_7") == pytest.approx(beginning[6] + 0.4, abs=0.005)
    assert "the simulation was ended by signal 9; starting another" in client.launch.output
    assert not re.search(r"another node is called|another publisher|at least 2 nodes", client.launch.output)


def test_a_killed_manager_is_followed_by_another(start):
    """Its controllers begin where the arm is held."""
    client = start("respawn:=true", "arm:=gen3_7dof", "gripper:=none")
    client.wait_for_controllers(ARM)
    assert client.move_arm(1.0, "joint_7", 0.4).error_code == 0
    held = client.now()
    _kill(client, MANAGER)
    _wait_for_spawners(client, 2)
    assert client.controllers()[ARM] == "active"
    client.run_for(1.0)
    assert "the controller manager was ended by signal 9; starting another" in client.launch.output
    since = [state for state in client.states if stamp_of(state) >= stamp_of(held)]
    assert len(since) > 250
    for state in since:
        assert state.position == pytest.approx(held.position, abs=2e-3)
    assert client.move_arm(1.0, "joint_7", -0.4).error_code == 0


def _wait_for_spawners(client, number):
    """Wait until so many have done their work."""
    ended = r"\[spawner-\d+\]: process has finished cleanly"
    client.wait_until(lambda: len(re.findall(ended, client.launch.output)) >= number, "spawners")


def _kill(client, program):
    """Kill a program of the launch, and wait for its end."""
    (pid,) = [
        int(process)
        for process in os.listdir("/proc")
        if process.isdigit() and _runs(int(process), program, client.launch.domain)
    ]
    os.kill(pid, signal.SIGKILL)
    time.sleep(1.0)


def _runs(pid, program, domain):
    """Whether a process runs a program, or a Python module, in a domain."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as command, open(f"/proc/{pid}/environ", "rb") as variables:
            words = command.read().decode(errors="replace").split("\0")
            is_one = words[0].rpartition("/")[2] == program or words[1:3] == ["-m", program]
            return is_one and f"ROS_DOMAIN_ID={domain}".encode() in variables.read().split(b"\0")
    except OSError:
        return False


def _start_manager(client, folder):
    """The manager alone, without controllers: its hardware component commands all the same."""
    from ament_index_python.packages import get_package_prefix

    program = f"{get_package_prefix('controller_manager')}/lib/controller_manager/ros2_control_node"
    files = [ROOT / "config" / "controllers_7dof.yaml"]
    arguments = [word for file in files for word in ("--params-file", str(file))]
    environment = {**os.environ, "ROS_DOMAIN_ID": str(client.launch.domain)}
    with (folder / "manager.txt").open("w") as log:
        return subprocess.Popen(
            [program, "--ros-args", *arguments, "-p", "use_sim_time:=true"],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def test_start_paused_waits_and_ends(start, tmp_path):
    """Controllers come when it goes on; Ctrl-C before ends everything in time."""
    parameters = tmp_path / "node.yaml"
    parameters.write_text(yaml.safe_dump({"/**": {"ros__parameters": {"start_paused": True}}}))
    client = start(f"params_file:={parameters}", "arm:=gen3_7dof", "gripper:=none")
    client.wait_until(lambda: client.states, "a state", 400.0)
    client.run_for(PATIENCE)
    assert "process has died" not in client.launch.output
    assert client.time == 0.0


def test_velocity_controller_stands_still_at_zero(start, tmp_path):
    """Under the load of the held spatula, by the real forward_command_controller; and runs as fast as it is told."""
    from std_msgs.msg import Float64MultiArray

    source = ROOT / "urdf" / "gen3_7dof_soft_bubble.urdf.xacro"
    arguments = {"ros2_control": True, "command_interface": "velocity"}
    document = expand_xacro(source, arguments, PackageResolver(source))
    description = tmp_path / "robot.urdf"
    description.write_text(etree.tostring(document.root.lxml, encoding="unicode"))
    arm = [f"joint_{i}" for i in range(1, 8)]
    kind = "forward_command_controller/ForwardCommandController"
    name = "forward_velocity_controller"
    controllers = tmp_path / "controllers.yaml"
    controllers.write_text(
        yaml.safe_dump(
            {
                "controller_manager": {"ros__parameters": {"update_rate": 250, name: {"type": kind}}},
                name: {"ros__parameters": {"joints": arm, "interface_name": "velocity"}},
            }
        )
    )
    client = start(
        "scene:=spatula_slip", f"description_file:={description}", f"controllers_file:={controllers}"
    )
    client.wait_for_inactive(name, 400.0)
    client.activate(name)
    publisher = client.node.create_publisher(Float64MultiArray, f"/{name}/commands", 10)
    client.wait_until(publisher.get_subscription_count, "the controller's subscription")
    publisher.publish(Float64MultiArray(data=[0.0] * 7))
    client.run_for(3.0)
    rest = [client.position(joint) for joint in arm]
    client.run_for(3.0)
    assert [client.position(joint) for joint in arm] == pytest.approx(rest, abs=2e-4)
    publisher.publish(Float64MultiArray(data=[0.0] * 6 + [0.3]))
    client.run_for(1.0)
    before = client.now()
    client.run_for(1.0)
    after = client.now()
    index = list(after.name).index("joint_7")
    speed = (after.position[index] - before.position[index]) / (stamp_of(after) - stamp_of(before))
    assert speed == pytest.approx(0.3, rel=0.01)
