"""The node as a managed one: what each state offers, and that a bad scene leaves it ready for a good one."""

import json

import pytest
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from support.ros.ros_client import Client

TOPICS = ["/clock", "/joint_states"]


@pytest.fixture
def manager(start_node, tmp_path):
    """A client that manages a node which nobody configured."""
    node = start_node("-p", "autostart:=false", "-p", f"report_file:={tmp_path / 'report.json'}")
    client = Client(node.domain, TOPICS)
    yield Manager(client, node, tmp_path / "report.json")
    client.close()


class Manager:
    """Asks for transitions and reads states."""

    def __init__(self, client, node, report):
        self.client, self.node, self._report = client, node, report

    def change(self, transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        # The first configuring ever compiles.
        return self.client.call(ChangeState, "/hydro_sim/change_state", request, timeout=400.0).success

    @property
    def state(self):
        return self.client.call(GetState, "/hydro_sim/get_state", GetState.Request()).current_state.id

    def set(self, name, value):
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        return self.client.call(SetParameters, "/hydro_sim/set_parameters", request).results[0]

    def hold(self):
        answer = self.client.call(Trigger, "/hydro_sim/hold", Trigger.Request())
        return answer.success, answer.message

    @property
    def times(self):
        return [
            message.clock.sec + 1e-9 * message.clock.nanosec for message in self.client.received["/clock"]
        ]

    @property
    def report(self):
        return json.loads(self._report.read_text())


def test_life_from_configuring_to_another_scene(manager, tmp_path):
    """Inactive it has topics but no time; deactivating keeps the state; another scene needs cleaning up.

    Each is recorded in a file of its own.
    """
    client = manager.client
    assert manager.state == State.PRIMARY_STATE_UNCONFIGURED
    assert manager.set("scene", "spatula_slip").successful
    assert manager.set("record", str(tmp_path / "run.mcap")).successful
    assert manager.change(Transition.TRANSITION_CONFIGURE)
    assert manager.state == State.PRIMARY_STATE_INACTIVE
    assert manager.times == []

    assert manager.change(Transition.TRANSITION_ACTIVATE)
    client.wait_until(lambda: manager.times and manager.times[-1] > 0.3, "time to run")
    assert manager.change(Transition.TRANSITION_DEACTIVATE)
    stood_at = manager.times[-1]
    assert manager.hold() == (False, "the node is not active: activate it first")

    refused = manager.set("scene", "drop_box")
    assert not refused.successful
    assert "scene: is read when the node is configured; deactivate and clean up" in refused.reason
    assert manager.set("link_delay", 0.1).successful
    assert manager.set("link_delay", 0.0).successful

    assert manager.change(Transition.TRANSITION_ACTIVATE)
    client.wait_until(lambda: manager.times[-1] > stood_at + 0.2, "time to go on")
    assert min(manager.times[-50:]) > 0.1, "time began anew"

    assert manager.change(Transition.TRANSITION_DEACTIVATE)
    assert manager.change(Transition.TRANSITION_CLEANUP)
    assert manager.report["scene"] == "spatula_slip"
    assert manager.report["pace"]["steps"] > 300
    assert manager.set("scene", "drop_box").successful
    assert manager.change(Transition.TRANSITION_CONFIGURE)
    client.received["/joint_states"].clear()
    assert manager.change(Transition.TRANSITION_ACTIVATE)
    assert "joint_1" not in client.next("/joint_states").name
    assert manager.hold() == (False, "no joint to hold: none of command_joints is in the scene")
    assert manager.node.stop() == 0
    assert manager.report["scene"] == "drop_box"
    files = {name: b"spatula_slip" in (tmp_path / name).read_bytes() for name in ("run.mcap", "run_1.mcap")}
    assert files == {"run.mcap": True, "run_1.mcap": False}
    assert "Traceback" not in manager.node.output


def test_bad_scene_leaves_it_unconfigured_and_alive(manager):
    """One line says why; the next configuring may succeed."""
    for scene, problem in (("", "scene: is not set"), ("nowhere.yaml", "nowhere.yaml")):
        assert manager.set("scene", scene).successful
        assert not manager.change(Transition.TRANSITION_CONFIGURE)
        assert manager.state == State.PRIMARY_STATE_UNCONFIGURED
        errors = [line for line in manager.node.output.splitlines() if "[ERROR]" in line]
        assert problem in errors[-1]
    assert manager.set("scene", "drop_box").successful
    assert manager.set("command_joints", ["elbow"]).successful
    assert not manager.change(Transition.TRANSITION_CONFIGURE)
    assert manager.set("command_joints", [""]).successful
    assert manager.change(Transition.TRANSITION_CONFIGURE)
    assert manager.change(Transition.TRANSITION_ACTIVATE)
    manager.client.wait_until(lambda: manager.times and manager.times[-1] > 0.1, "time to run")
    assert "Traceback" not in manager.node.output


def test_transition_that_the_state_does_not_have_is_refused(manager):
    """The client is answered, and nothing else happens."""
    assert not manager.change(Transition.TRANSITION_ACTIVATE)
    assert manager.set("scene", "drop_box").successful
    assert manager.change(Transition.TRANSITION_CONFIGURE)
    assert manager.change(Transition.TRANSITION_ACTIVATE)
    assert not manager.change(Transition.TRANSITION_CONFIGURE)
    assert manager.state == State.PRIMARY_STATE_ACTIVE
    manager.client.wait_until(lambda: manager.times and manager.times[-1] > 0.1, "time to run")


def test_shutdown_ends_the_process(manager):
    """From any state."""
    assert manager.change(Transition.TRANSITION_UNCONFIGURED_SHUTDOWN)
    assert manager.node.wait(20) == 0
