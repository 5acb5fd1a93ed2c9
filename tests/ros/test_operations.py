"""Operations that speak: why a transition failed, files that are never replaced unasked, time that is given up."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter

from hydro_sim_core.recording import recording_files
from support.ros.node_process import SCENE
from support.ros.ros_client import Client

BOX = ("-p", "scene:=drop_box", "-p", "status_line:=false")


class Operator:
    """Configures a node anew."""

    def __init__(self, node):
        self.node, self.client = node, Client(node.domain, ["/clock", "/diagnostics"])

    def change(self, transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        return self.client.call(ChangeState, "/hydro_sim/change_state", request, timeout=400.0).success

    def set(self, name, value):
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        return self.client.call(SetParameters, "/hydro_sim/set_parameters", request).results[0]

    @property
    def state(self):
        return self.client.call(GetState, "/hydro_sim/get_state", GetState.Request()).current_state.id

    @property
    def errors(self):
        return [line for line in self.node.output.splitlines() if "[ERROR]" in line]


@pytest.fixture
def operator(start_node):
    """Of a node that has started by itself, as most do."""
    node = start_node(*BOX)
    node.wait_for_output("scene 'drop_box'", timeout=300)
    operator = Operator(node)
    operator.client.next("/clock")
    yield operator
    operator.client.close()


def test_configuring_again_says_why_it_failed_and_can_be_mended(operator, tmp_path):
    """The answer has no room for it, so the log tells; nothing is left behind that would be in the way."""
    (tmp_path / "old.mcap").write_text("precious")
    assert operator.change(Transition.TRANSITION_DEACTIVATE)
    assert operator.change(Transition.TRANSITION_CLEANUP)
    wrong = (
        ("record", str(tmp_path / "old.mcap"), "old.mcap: exists already; give another name"),
        ("report_file", str(tmp_path / "no" / "r.json"), "there is no folder"),
        ("viewer_address", "203.0.113.7", "203.0.113.7 port 8008: cannot be served"),
        ("command_joints", ["elbow"], "command_joints: 'elbow' cannot be commanded"),
    )
    assert operator.set("viewer", True).successful
    usual = {"record": "", "report_file": "", "viewer_address": "127.0.0.1", "command_joints": [""]}
    for number, (name, value, problem) in enumerate(wrong, start=1):
        assert operator.set(name, value).successful
        assert not operator.change(Transition.TRANSITION_CONFIGURE)
        assert operator.state == State.PRIMARY_STATE_UNCONFIGURED
        assert len(operator.errors) == number
        assert "not configured: " in operator.errors[-1]
        assert problem in operator.errors[-1]
        assert operator.set(name, usual[name]).successful
    assert (tmp_path / "old.mcap").read_text() == "precious"
    assert operator.set("record", str(tmp_path / "new.mcap")).successful
    assert operator.change(Transition.TRANSITION_CONFIGURE)
    assert operator.change(Transition.TRANSITION_ACTIVATE)
    operator.client.received["/clock"].clear()
    operator.client.next("/clock")
    assert operator.node.stop() == 0
    assert (tmp_path / "new.mcap").stat().st_size > 1000
    assert "Traceback" not in operator.node.output


def test_a_recording_is_begun_only_where_all_else_is_ready(operator, tmp_path):
    """A page that cannot be served does not leave a file that is in the way of the next try."""
    record = tmp_path / "run.mcap"
    assert operator.change(Transition.TRANSITION_DEACTIVATE)
    assert operator.change(Transition.TRANSITION_CLEANUP)
    for name, value in (("viewer", True), ("viewer_address", "203.0.113.7"), ("record", str(record))):
        assert operator.set(name, value).successful
    assert not operator.change(Transition.TRANSITION_CONFIGURE)
    assert not record.exists()
    assert operator.set("viewer", False).successful
    assert operator.change(Transition.TRANSITION_CONFIGURE)
    assert record.exists()


def test_no_file_is_replaced_unasked(operator, tmp_path):
    """Nor can it be allowed over the network, so the mend is one for the start."""
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    (tmp_path / "link.json").symlink_to(victim)
    assert operator.change(Transition.TRANSITION_DEACTIVATE)
    assert operator.change(Transition.TRANSITION_CLEANUP)
    for name in ("victim.txt", "link.json"):
        assert operator.set("report_file", str(tmp_path / name)).successful
        assert not operator.change(Transition.TRANSITION_CONFIGURE)
        assert (
            f"{name}: exists already; give another name, or start the node with overwrite:=true"
            in operator.errors[-1]
        )
    refusal = operator.set("overwrite", True)
    assert not refusal.successful
    assert "read-only" in refusal.reason
    # Set while it is not yet there, and there at the end.
    late = tmp_path / "late.json"
    assert operator.set("report_file", str(late)).successful
    assert operator.change(Transition.TRANSITION_CONFIGURE)
    late.write_text("precious")
    assert operator.change(Transition.TRANSITION_CLEANUP)
    assert "late.json: File exists; the report is lost" in operator.errors[-1]
    # What the process has written itself it writes anew.
    own = tmp_path / "own.json"
    assert operator.set("report_file", str(own)).successful
    for _ in range(2):
        assert operator.change(Transition.TRANSITION_CONFIGURE)
        assert operator.change(Transition.TRANSITION_CLEANUP)
    assert json.loads(own.read_text())["scene"] == "drop_box"
    assert operator.node.stop() == 0
    assert victim.read_text() == late.read_text() == "precious"


def test_files_are_replaced_where_the_node_is_started_so(run_here, tmp_path):
    report, record = tmp_path / "report.json", tmp_path / "run.mcap"
    report.write_text("old")
    record.write_text("old")
    files = ("-p", f"report_file:={report}", "-p", f"record:={record}", "-p", "duration:=0.05")
    status, output = run_here(*BOX, *files)
    assert status == 1
    assert "run.mcap: exists already; give another name, or start the node with overwrite:=true" in output
    assert "--overwrite" not in output
    status, output = run_here(*BOX, *files, "-p", "overwrite:=true")
    assert status == 0, output
    assert json.loads(report.read_text())["scene"] == "drop_box"
    assert record.stat().st_size > 1000


@pytest.mark.long
def test_a_recording_is_parted_at_its_limit_and_replayed_from_its_first_file(run_here, tmp_path):
    record = tmp_path / "run.mcap"
    status, output = run_here(
        "-p", f"scene:={SCENE}", "-p", "status_line:=false", "-p", "duration:=0.35", "-p", "real_time_factor:=0.0",
        "-p", f"record:={record}", "-p", "record_max_duration:=0.1",
    )  # fmt: skip
    assert status == 0, output
    names = [path.name for path in recording_files(record)]
    assert names == ["run.mcap", "run_1.mcap", "run_2.mcap", "run_3.mcap"]
    joints = ("-p", "replay_joint_states:=true", "-p", "record_max_size:=1.0")
    status, output = run_here(
        "-p", f"scene:={SCENE}", "-p", "status_line:=false", "-p", "duration:=0.3", "-p", "real_time_factor:=0.0",
        "-p", f"replay:={record}", *joints,
    )  # fmt: skip
    assert status == 0, output
    (told,) = [line for line in output.splitlines() if "replaying" in line]
    number = int(told.partition("replaying ")[2].split()[0])
    assert number > 0.34 * 250
    status, output = run_here(*BOX, "-p", "record_max_duration:=0.01")
    assert status == 1
    assert "record_max_duration: 0.01 s are too short for a file; give 0.1 s or more" in output


def test_a_duration_below_one_step_is_refused(run_here):
    """It ran for one step, where the command line refuses it."""
    status, output = run_here(*BOX, "-p", "duration:=0.0004")
    assert status == 1
    assert "duration: 0.0004 s are less than one step; give at least 0.001" in output


def steps_run(message):
    """Whether the simulation runs at the time of a message: the state before the first step is told, too."""
    return message.clock.sec + message.clock.nanosec * 1e-9 > 0.1


def test_time_given_up_is_told(operator):
    """The machine sleeps for more than a second: one line with the amount, and an error in /diagnostics.

    A busy machine may have cost the node some time of its own before: less than a second would then be told later. What
    passes before the first step is not late.
    """
    operator.client.wait_until(lambda: any(steps_run(m) for m in operator.client.received["/clock"]), "steps")
    before = operator.node.output.count("given up")
    os.kill(operator.node.pid, signal.SIGSTOP)
    time.sleep(1.5)
    os.kill(operator.node.pid, signal.SIGCONT)

    def lines():
        return [line for line in operator.node.output.splitlines() if "given up" in line][before:]

    operator.client.wait_until(lines, "a line that tells it")
    line = lines()[0]
    assert "[WARN]" in line
    assert "more than the largest backlog of 0.1 s" in line

    def told():
        statuses = [s for message in operator.client.received["/diagnostics"] for s in message.status]
        timing = [s for s in statuses if s.name == "hydro_sim: timing" and s.message.startswith("gave up")]
        amounts = [float({p.key: p.value for p in s.values}["time given up [s]"]) for s in timing]
        return [s for s, amount in zip(timing, amounts, strict=True) if amount > 0.5]

    operator.client.wait_until(told, "diagnostics to tell it")
    assert told()[0].level == b"\x02"
    assert operator.set("max_backlog", 5.0).successful
