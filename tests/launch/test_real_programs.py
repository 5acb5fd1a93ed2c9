"""The real RViz and robot_state_publisher on the node, where they are installed; ROS from apt has them."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip(
    "tf2_msgs.msg", reason="tf2_msgs is not installed: real programs are, like it, from ROS of apt"
)

import rclpy
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from hydro_sim_bringup.plan import plan_bringup
from hydro_sim_bringup.rviz import rviz_config
from support.ros_domains import take_domain


def _program(package):
    """The program of a package of the same name; skips without it."""
    try:
        return f"{get_package_prefix(package)}/lib/{package}/{package}"
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed; ROS from apt has it, the wheels do not")


@pytest.fixture
def domain(monkeypatch):
    """A domain of one's own, for every process of the test."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(take_domain()))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")


@pytest.fixture
def start(tmp_path, domain):
    """Start a program; its log file. All are interrupted at the end."""
    started = []

    def run(command, **environment):
        log = tmp_path / f"log{len(started)}.txt"
        with log.open("w") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **environment}
            )
        started.append(process)
        return process, log

    yield run
    for process in reversed(started):
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait_for(condition, timeout=240.0):  # the node compiles at its first start
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _node(start, *parameters):
    words = [word for one in parameters for word in ("-p", one)]
    command = [sys.executable, "-m", "hydro_sim", "--ros-args", *words, "-p", "status_line:=false"]
    process, log = start(command)
    _wait_for(lambda: "joints, " in log.read_text() or process.poll() is not None)
    assert process.poll() is None, log.read_text()
    return log


@pytest.fixture
def display(start):
    """A virtual screen."""
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1400x900x24"]
    process = subprocess.Popen(command, pass_fds=(writer,), stderr=subprocess.DEVNULL)
    os.close(writer)
    with os.fdopen(reader) as number:
        yield f":{number.readline().strip()}"
    process.terminate()
    process.wait(20)


@pytest.mark.parametrize("scene", ["spatula_slip_welded", "drop_box"])
def test_rviz_opens_the_written_configuration_and_complains_of_nothing(start, display, tmp_path, scene):
    """The window has a view of most of its size; the log has no warning and no error while the scene runs."""
    rviz2 = _program("rviz2")
    _node(start, f"scene:={scene}")
    config = tmp_path / "scene.rviz"
    config.write_text(rviz_config(scene))
    command = [rviz2, "-d", str(config), "--ros-args", "-p", "use_sim_time:=true"]
    rviz, log = start(command, DISPLAY=display, LIBGL_ALWAYS_SOFTWARE="1", QT_X11_NO_MITSHM="1")
    _wait_for(lambda: "OpenGl version" in log.read_text() or rviz.poll() is not None)
    time.sleep(8.0)
    assert rviz.poll() is None, log.read_text()
    said = log.read_text()
    assert not re.search(r"\[(WARN|ERROR|FATAL)\]|Unknown|Could not", said), said
    if shutil.which("xwininfo"):
        tree = subprocess.run(
            ["xwininfo", "-root", "-tree"],
            env={**os.environ, "DISPLAY": display},
            capture_output=True,
            text=True,
        ).stdout
        sizes = [(int(w), int(h)) for w, h in re.findall(r"(\d+)x(\d+)\+\d+\+\d+ ", tree)]
        assert (1280, 800) in sizes, tree
        assert [size for size in sizes if 800 <= size[0] < 1280 and size[1] >= 600], tree


def test_robot_state_publisher_agrees_with_the_node(start, tmp_path):
    """Poses of the robot's moving links in their parents, at equal stamps, by the node and by the publisher."""
    publisher = _program("robot_state_publisher")
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(plan_bringup().description)
    _node(start, "scene:=spatula_slip", "joint_state_rate:=250.0", "tf_rate:=250.0")
    remaps = [
        "-r",
        "/tf:=/other/tf",
        "-r",
        "/tf_static:=/other/tf_static",
        "-r",
        "robot_description:=/other/robot",
    ]
    parameters = ["-p", "use_sim_time:=true", "-p", "publish_frequency:=250.0"]
    start([publisher, str(urdf), "--ros-args", *parameters, *remaps])

    rclpy.init()
    try:
        listener = rclpy.create_node("listener")
        heard = {"": {}, "/other": {}}

        def keep(found, message):
            for entry in message.transforms:
                stamp = entry.header.stamp.sec * 10**9 + entry.header.stamp.nanosec
                t, r = entry.transform.translation, entry.transform.rotation
                value = np.array([t.x, t.y, t.z, r.x, r.y, r.z, r.w])
                found[entry.header.frame_id, entry.child_frame_id, stamp] = value

        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        for prefix, found in heard.items():
            listener.create_subscription(TFMessage, f"{prefix}/tf", lambda m, f=found: keep(f, m), 100)
            listener.create_subscription(
                TFMessage, f"{prefix}/tf_static", lambda m, f=found: keep(f, m), latched
            )
        deadline = time.monotonic() + 60.0
        common = set()
        while len(common) < 200 and time.monotonic() < deadline:
            rclpy.spin_once(listener, timeout_sec=0.1)
            common = set(heard[""]) & set(heard["/other"])
    finally:
        rclpy.shutdown()
    assert len({child for _, child, _ in common}) >= 9, common
    assert len(common) >= 200
    for key in common:
        ours, theirs = heard[""][key], heard["/other"][key]
        assert ours[:3] == pytest.approx(theirs[:3], abs=1e-12)
        assert abs(ours[3:] @ theirs[3:]) == pytest.approx(1.0, abs=1e-12)
