"""The node's web page: what it shows, and that its commands travel the way of all others."""

from __future__ import annotations

import json
import math
import re
import shutil
import struct
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from sensor_msgs.msg import JointState
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from hydro_sim.controllers.pull import pull_message
from support.ros.node_process import SCENE, NodeProcess
from support.ros.ros_client import Client

TIMEOUT = 30.0  # s


class Page:
    """A page without a browser: acknowledges every frame, and sends what a test asks for."""

    def __init__(self, url: str) -> None:
        # Without a limit, closing need not wait for messages that nobody has taken in.
        address = f"ws{url.removeprefix('http').replace('/?', '/ws?')}"
        self._open = ExitStack()
        self._socket = self._open.enter_context(connect(address, max_size=None, max_queue=None))
        self.scene: dict[str, Any] = {}
        self.frame: dict[str, Any] = {}
        self.rejected: list[str] = []
        self.loading: str | None = None
        self.wait_until(lambda: bool(self.scene and self.frame))

    def close(self) -> None:
        self._open.close()

    def send(self, **command: Any) -> None:
        self._socket.send(json.dumps(command))

    def wait_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            assert time.monotonic() < deadline, (self.frame, self.rejected)
            self._receive()

    def stands_at(self) -> int:
        """The step at which it stands: one that is under way as a pause begins is taken."""
        with suppress(TimeoutError):
            while True:
                self._receive(timeout=0.5)
        return self.frame["step"]

    def _receive(self, timeout: float = TIMEOUT) -> None:
        message = self._socket.recv(timeout)
        if isinstance(message, bytes):
            (length,) = struct.unpack_from("<I", message)
            self.frame = json.loads(message[4 : 4 + length])
            self.send(type="shown", seq=self.frame["seq"])
            return
        told = json.loads(message)
        if told["type"] == "scene":
            self.scene = told
        elif told["type"] == "loading":
            self.loading = told["name"]
        elif told["type"] == "rejected":
            self.rejected.append(told["reason"])

    def joint(self, name: str) -> float:
        """Position of a joint."""
        names = [joint["name"] for joint in self.scene["joints"]]
        return self.frame["joints"][names.index(name)]


@pytest.fixture(scope="module")
def shown_node(tmp_path_factory):
    """The node with a page, and the page's address."""
    log = tmp_path_factory.mktemp("shown") / "log.txt"
    process = NodeProcess(log, "-p", f"scene:={SCENE}", "-p", "viewer:=true")
    process.wait_for_output("viewer: http", timeout=300)
    process.wait_for_output("scene 'spatula_slip'", timeout=300)
    yield process
    process.stop()


def address(process: NodeProcess) -> str:
    return re.search(r"viewer: (http\S+)", process.output).group(1)


@pytest.fixture
def page(shown_node):
    """A page of the running node, the simulation at its start."""
    page = Page(address(shown_node))
    page.send(type="pause", paused=False)
    page.send(type="reset")
    page.wait_until(lambda: not page.frame["paused"] and page.frame["time"] < 1.0)
    yield page
    page.close()


@pytest.fixture(scope="module")
def ros(shown_node):
    client = Client(shown_node.domain)
    client.wait_for_node()
    client.next("/joint_states")
    yield client
    client.close()


def test_page_is_shown_the_scene_and_the_contacts(page):
    assert page.scene["name"] == "spatula_slip"
    assert [gripper["name"] for gripper in page.scene["grippers"]] == ["gripper"]
    assert sum(joint["commandable"] for joint in page.scene["joints"]) == 7
    page.wait_until(lambda: page.frame["grip_forces"]["gripper"] > 1.0)
    pairs = {(patch["a"], patch["b"]) for patch in page.frame["patches"]}
    assert pairs == {("left_finger", "spatula"), ("right_finger", "spatula")}
    page.wait_until(lambda: page.frame["pace"] is not None)
    assert page.frame["pace"]["rtf"] > 0.0


def test_sliders_command_joints_and_the_gripper(page, ros):
    """What a slider does is seen on the node's topics."""
    start = page.joint("joint_7")
    page.send(type="joint", name="joint_7", position=start + 0.1)
    page.wait_until(lambda: abs(page.joint("joint_7") - start - 0.1) < 0.01)
    ros.wait_until(lambda: abs(ros.joint("joint_7") - start - 0.1) < 0.01, "the joint to move")
    page.send(type="grip", name="gripper", force=12.0)
    page.wait_until(lambda: abs(page.frame["grip_forces"]["gripper"] - 12.0) < 1.0)


def test_slider_and_topic_share_a_joint_as_two_controllers_do(page, ros):
    """The last command wins, wherever it comes from."""
    start = page.joint("joint_6")
    page.send(type="joint", name="joint_6", position=start + 0.1)
    page.wait_until(lambda: abs(page.joint("joint_6") - start - 0.1) < 0.01)
    ros.send("/joint_commands", JointState(name=["joint_6"], position=[start]))
    page.wait_until(lambda: abs(page.joint("joint_6") - start) < 0.01)


def test_a_page_pulls_a_link_until_it_is_closed(page, shown_node, ros):
    """The pull is a message on the node's topic, seen by all pages, and gone with the page that pulls."""
    other = Page(address(shown_node))
    start = page.joint("joint_1")
    other.send(type="pull", link="spatula", point=[0.0, 0.0, 0.0], target=[0.5, 0.5, 0.6])
    page.wait_until(lambda: [pull["link"] for pull in page.frame["pulls"]] == ["spatula"])
    page.wait_until(lambda: abs(page.joint("joint_1") - start) > 1e-4)
    other.close()
    page.wait_until(lambda: page.frame["pulls"] == [])
    ros.send("/hydro_sim/pull", pull_message("spatula", (0.0, 0.0, 0.0), (0.5, 0.5, 0.6)))
    page.wait_until(lambda: page.frame["pulls"] != [])
    page.send(type="let_go", link="spatula")
    page.wait_until(lambda: page.frame["pulls"] == [])


def test_pause_step_reset_and_speed(page):
    page.send(type="pause", paused=True)
    page.wait_until(lambda: page.frame["paused"])
    stopped = page.stands_at()
    page.send(type="step", steps=3)
    page.wait_until(lambda: page.frame["step"] == stopped + 3)
    assert page.frame["paused"]
    page.send(type="speed", factor=0.25)
    page.wait_until(lambda: page.frame["speed"] == 0.25)
    page.send(type="speed", factor=None)
    page.wait_until(lambda: page.frame["speed"] is None)
    page.send(type="speed", factor=1.0)
    page.wait_until(lambda: page.frame["speed"] == 1.0)
    page.send(type="reset")
    page.wait_until(lambda: page.frame["step"] == 0)


def test_a_page_loads_another_scene_and_the_first_again(page):
    """By its name in the list; the simulation goes on with it, and no file can be named."""
    assert page.scene["chosen"] == "spatula_slip"
    page.send(type="choose", name="/etc/passwd")
    page.wait_until(lambda: any("is not in the list" in reason for reason in page.rejected))
    for name in ("drop_box", "spatula_slip"):
        page.send(type="choose", name=name)
        page.wait_until(lambda name=name: page.scene["name"] == name)
        page.wait_until(lambda: page.frame["step"] < 100)
        page.wait_until(lambda: not page.frame["paused"] and page.frame["step"] > 10)
        page.wait_until(lambda: page.loading is None)


def test_commands_that_cannot_be_carried_out_are_refused_on_the_page(page, shown_node):
    commands = [
        ({"type": "joint", "name": "joint_9", "position": 0.0}, "joint_9"),
        ({"type": "joint", "name": "joint_4", "position": 100.0}, "joint_4"),
        ({"type": "joint", "name": "joint_4", "position": math.nan}, "finite"),
        ({"type": "grip", "name": "gripper", "force": -1.0}, "force"),
        ({"type": "pull", "link": "spoon", "point": [0, 0, 0], "target": [0, 0, 0]}, "link 'spoon'"),
        ({"type": "speed", "factor": -1.0}, "factor"),
        ({"type": "step", "steps": 1}, "paused"),
    ]
    for command, named in commands:
        page.send(**command)
        told = len(page.rejected)
        page.wait_until(lambda told=told: len(page.rejected) > told)
        assert named in page.rejected[-1]
    before = page.frame["time"]
    page.wait_until(lambda: page.frame["time"] > before + 0.1)
    assert "Traceback" not in shown_node.output


def test_warnings_of_the_viewer_are_the_nodes(page, shown_node):
    def warned() -> bool:
        page.send(type="nonsense")  # again, for what follows another warning closely is only counted
        return "viewer: page" in shown_node.output

    page.wait_until(warned)
    warnings = [line for line in shown_node.output.splitlines() if "viewer: page" in line]
    assert all(re.match(r"\[WARN\] \[[\d.]+\] \[hydro_sim\]: viewer: page \d+: ", line) for line in warnings)


def test_page_lives_from_configuring_to_cleaning_up_and_again(shown_node, tmp_path):
    """While the node is not active a page sees the scene and may move nothing; of two nodes each has its page."""
    process = NodeProcess(
        tmp_path / "log.txt", "-p", f"scene:={SCENE}", "-p", "viewer:=true", "-p", "autostart:=false"
    )
    client = Client(process.domain, ())

    def change(transition: int) -> None:
        request = ChangeState.Request(transition=Transition(id=transition))
        assert client.call(ChangeState, "/hydro_sim/change_state", request, timeout=300.0).success

    try:
        change(Transition.TRANSITION_CONFIGURE)
        url = address(process)
        assert url != address(shown_node)
        page = Page(url)
        page.send(type="joint", name="joint_7", position=0.1)
        page.wait_until(lambda: bool(page.rejected))
        assert "is not active" in page.rejected[0]
        change(Transition.TRANSITION_ACTIVATE)
        page.send(type="joint", name="joint_7", position=0.1)
        page.wait_until(lambda: abs(page.joint("joint_7") - 0.1) < 0.01)
        change(Transition.TRANSITION_DEACTIVATE)
        change(Transition.TRANSITION_CLEANUP)
        with pytest.raises(ConnectionClosed):
            page.wait_until(lambda: False)
        change(Transition.TRANSITION_CONFIGURE)
        page = Page(url)
        assert page.frame["step"] == 0
        page.close()
    finally:
        client.close()
        process.stop()


@pytest.mark.heavy(3)
@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("viewer_address:=203.0.113.7", "203.0.113.7 port 8008: cannot be served"),
        ("viewer_port:=0", "viewer_port: 0 is out of range"),
        ("viewer_token:=short", "token: is not 8 to 128 letters"),
    ],
)
def test_an_address_that_cannot_be_served_ends_the_node_in_one_line(run_here, parameter, expected):
    status, output = run_here("-p", f"scene:={SCENE}", "-p", "viewer:=true", "-p", parameter)
    assert status == 1
    assert expected in output
    assert "Traceback" not in output


def test_a_server_that_dies_at_once_ends_the_page_and_not_the_node(run_here, monkeypatch):
    """It was killed, for want of memory say: through no fault of the parameters."""
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    status, output = run_here("-p", f"scene:={SCENE}", "-p", "viewer:=true", "-p", "duration:=0.05")
    assert status == 0, output
    assert "its server does not start, or was killed" in output
    assert "the simulation goes on without the page" in output
    assert "Traceback" not in output
