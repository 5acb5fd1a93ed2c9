"""The plug-in of docs/extending.md in a running node: its controller is commanded, its sensor is published."""

from __future__ import annotations

import math

import numpy as np
import pytest
from std_msgs.msg import Float64, Float64MultiArray

import hydro_sim_core as hs
from hydro_sim.controllers import kinds
from hydro_sim.controllers.arbiter import Arbiter
from hydro_sim.controllers.kind import ControllerKind
from support.packaging.plugin_page import FILES, install_page, python_path
from support.ros.ros_client import RELIABLE, Client


def test_the_node_has_its_controller_and_its_sensor(start_node, tmp_path, monkeypatch):
    install_page(tmp_path)
    monkeypatch.setenv("PYTHONPATH", python_path(tmp_path))
    scene = tmp_path / "rocker.yaml"
    node = start_node("-p", f"scene:={scene}", fresh=True)
    node.wait_for_output("scene 'rocker'", timeout=300)  # the first start ever compiles
    client = Client(node.domain, ("/clock", "/joint_states", "/diagnostics"))
    client.listen("/lean/angle", Float64, RELIABLE)
    heard = client.received["/lean/angle"]
    try:
        client.wait_for_node()
        assert client.next("/joint_states").name == ["hinge"]
        client.send("/hydro_sim/swing", Float64MultiArray(data=[0.3, 0.5]))
        client.wait_until(lambda: client.joint("hinge") > 0.25, "the joint's way up")
        client.wait_until(lambda: client.joint("hinge") < -0.25, "its way down")
        client.wait_until(lambda: any(message.data > 0.25 for message in heard), "the sensor")
        assert all(0.0 <= message.data < 0.4 for message in heard)
        # Whoever commands the joint next has it.
        client.send("/hydro_sim/position_commands", Float64MultiArray(data=[0.1]))
        client.wait_until(lambda: abs(client.joint("hinge") - 0.1) < 1e-3, "the other controller")
    finally:
        client.close()


@pytest.fixture
def swing(tmp_path, monkeypatch):
    """The controller of the page, on a board, and the World."""
    (tmp_path / "rocker.urdf").write_text(FILES["rocker.urdf"])
    (tmp_path / "rocker.yaml").write_text(FILES["rocker.yaml"].partition("sensors:")[0])
    world = hs.load_scene(tmp_path / "rocker.yaml")
    module: dict[str, object] = {"__name__": "swing"}
    exec(compile(FILES["swing.py"], "swing.py", "exec"), module)
    return module["SwingController"]("hinge", world, Arbiter()), world


def test_its_controller_swings_as_told(swing):
    """Behind a sine by the lag of a drive with gains: kd / kp of its rate of change."""
    controller, world = swing
    controller.check(Float64MultiArray(data=[0.3, 2.0]))(world)
    for _ in range(700):
        controller.advance(world)
        world.step()
    w, lag = math.pi, 5.0 / 200.0
    assert world.q[0] == pytest.approx(0.3 * math.sin(w * (world.time - lag)), abs=2e-3)


def test_its_controller_refuses_what_cannot_be_done(swing):
    controller, world = swing
    for data in ([0.3], [0.3, 0.0], [2.0, 1.0], [math.nan, 1.0], [0.3, math.nan]):
        with pytest.raises(hs.InputError):
            controller.check(Float64MultiArray(data=data))
    before = world.q
    controller.advance(world)
    np.testing.assert_array_equal(world.q, before)


# --- what does not work


def test_a_controller_that_cannot_be_loaded_is_told_in_one_line(tmp_path, monkeypatch):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[hydro_sim.controllers]\nbroken = nowhere:KIND\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        hs.InputError, match=r"^nowhere:KIND: hydro_sim.controllers: cannot be loaded \(Module"
    ):
        kinds._all_kinds.__wrapped__()


def test_a_controller_that_cannot_be_made_is_told_in_one_line():
    def fail(context):
        raise KeyError("joint_9")

    def refuse(context):
        raise hs.InputError("parameters", "swing_joint", "is not in the scene", "name another")

    with pytest.raises(hs.InputError, match=r"'wave': does not work \(KeyError: 'joint_9'\)"):
        ControllerKind("wave", fail).made(None)
    with pytest.raises(hs.InputError, match="parameters: swing_joint"):
        ControllerKind("wave", refuse).made(None)


def test_names_of_controllers_are_those_of_the_table():
    names = ["forward", "joint_commands", "trajectory", "twist", "impedance", "gripper", "pull"]
    assert list(kinds.controller_kinds()) == names
