"""How the node starts with bad input and how it ends."""

import dataclasses
import gc
import logging
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rclpy
import yaml

from hydro_sim.__main__ import USAGE
from hydro_sim.parameters import Parameters
from hydro_sim_core import World
from hydro_sim_core.compilation import CompilationFailed
from hydro_sim_core.simulation import FixedRateRunner
from support.ros.ros_client import Client, stamp_of

SCENE = "config/scenes/spatula_slip.yaml"

BAD_STARTS = {
    "no scene": ([], "scene: is not set"),
    "missing scene": (["-p", "scene:=nowhere.yaml"], "nowhere.yaml"),
    "not a scene": (["-p", "scene:=config/node.yaml"], "unknown key"),
    "unknown parameter": (["-p", f"scene:={SCENE}", "-p", "colour:=3"], "colour: no such parameter"),
    "wrong type": (["-p", "scene:=3"], "scene: 3 is of type integer"),
    "out of range": (
        ["-p", f"scene:={SCENE}", "-p", "joint_state_rate:=0.5"],
        "joint_state_rate: 0.5 is out of range",
    ),
    "NaN": (["-p", f"scene:={SCENE}", "-p", "duration:=.nan"], "duration: nan is out of range"),
    "unknown choice": (["-p", f"scene:={SCENE}", "-p", "overrun:=hurry"], "overrun: 'hurry' is unknown"),
    "unknown joint": (["-p", f"scene:={SCENE}", "-p", "command_joints:=[elbow]"], "command_joints: 'elbow'"),
    "factor that stands": (
        ["-p", f"scene:={SCENE}", "-p", "real_time_factor:=1.0e-9"],
        "real_time_factor: 1e-09",
    ),
    "nameless world": (["-p", f"scene:={SCENE}", "-p", "world_frame:=''"], "world_frame: is empty"),
    "unknown scene": (
        ["-p", "scene:=drop_bix"],
        "neither a file nor a shipped scene; did you mean 'drop_box'",
    ),
    "empty list": (["-p", f"scene:={SCENE}", "-p", "command_joints:=[]"], "a parameter is an empty list"),
    "no joints": (
        ["-p", "scene:=drop_box", "-p", "command_joints:=[elbow]"],
        "'elbow' cannot be commanded; leave it out",
    ),
    "unknown model": (
        ["-p", f"scene:={SCENE}", "-p", "external_models:=[amr]"],
        "external_models: the scene has no model 'amr'",
    ),
    "follows its own clock": (
        ["-p", f"scene:={SCENE}", "-p", "use_sim_time:=true"],
        "use_sim_time: true is for those who follow /clock, and this node publishes it; leave it out, or set "
        "publish_clock false",
    ),
    "missing parameter file": (["--params-file", "nowhere.yaml"], "nowhere.yaml"),
}


def _check_bad_start(output, expected):
    (error,) = (line for line in output.splitlines() if line.startswith("hydro_sim: error:"))
    assert expected in error
    assert "Traceback" not in output


@pytest.mark.parametrize(("arguments", "expected"), BAD_STARTS.values(), ids=BAD_STARTS)
def test_bad_start_is_one_line_and_status_one(arguments, expected, run_here):
    """One line that names the mistake, exit status 1, no traceback; nothing is left that a next start would meet."""
    status, output = run_here(*arguments)
    assert status == 1
    assert not rclpy.ok()
    _check_bad_start(output, expected)


def test_warnings_of_the_engine_are_the_nodes(run_here, tmp_path):
    """They come once, in the node's format, and so to /rosout; afterwards the engine's log is Python's again."""
    robot = tmp_path / "ball.urdf"
    robot.write_text(
        '<robot name="ball"><link name="ball" colour="red"><inertial><mass value="0.1"/>'
        '<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
    )
    before = logging.getLogger("hydro_sim_core").handlers[:]
    status, output = run_here("-p", f"scene:={robot}", "-p", "duration:=0.002", "-p", "real_time_factor:=0")
    assert status == 0
    (line,) = (line for line in output.splitlines() if "colour=" in line)
    assert re.match(r"\[WARN\] \[[\d.]+\] \[hydro_sim\]: .*ball.urdf: not understood and ignored", line)
    assert logging.getLogger("hydro_sim_core").handlers == before
    assert logging.getLogger("hydro_sim_core").propagate


def test_names_that_would_share_a_topic_are_refused(run_here, tmp_path):
    """Two boxes on one ground, whose names differ only in what a topic may not hold."""
    scene = yaml.safe_load(Path("config/scenes/drop_box.yaml").read_text(encoding="utf-8"))
    (box,) = scene["models"]
    urdf = str(Path("urdf/box.urdf.xacro").resolve())
    scene["models"] = [
        {**box, "urdf": urdf, "name": f"box{i}", "prefix": prefix, "pose": {"xyz": [i, 0, 0.2]}}
        for i, prefix in enumerate(["a/", "a-"])
    ]
    path = tmp_path / "boxes.yaml"
    path.write_text(yaml.safe_dump(scene), encoding="utf-8")
    status, output = run_here("-p", f"scene:={path}", "-p", "duration:=0.002", "-p", "wrench_topics:=[all]")
    assert status == 1
    _check_bad_start(
        output, "links 'a/box' and 'a-box': would share the topic ~/wrench/a_box_on_ground; rename one"
    )


def test_a_wrench_topic_of_no_pair_is_refused(run_here):
    status, output = run_here("-p", "scene:=drop_box", "-p", "wrench_topics:=[box_on_grond]")
    assert status == 1
    _check_bad_start(
        output,
        "wrench_topics: 'box_on_grond' is no pair of bodies that can touch; did you mean 'box_on_ground'",
    )


def test_a_kernel_that_cannot_be_compiled_is_one_line(run_here, monkeypatch):
    def fail(*_):
        raise CompilationFailed(
            "solvers.solve: TypingError: Failed in nopython mode pipeline\nno such field\n\nFile"
        )

    monkeypatch.setattr(World, "step", fail)
    status, output = run_here("-p", "scene:=drop_box")
    assert status == 1
    _check_bad_start(output, "solvers.solve: cannot be compiled: no such field; ")


def _start(*arguments, before=""):
    """The program to its end: its status, what it printed, and its errors."""
    code = f"import sys\n{before}\nfrom hydro_sim.__main__ import main\nsys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("argument", ["-h", "--help"])
def test_help_needs_no_ros(argument):
    assert _start(argument, before="sys.modules['rclpy'] = None") == (0, f"{USAGE}\n", "")


def test_help_names_parameters_that_there_are():
    names = set(re.findall(r"-p (\w+):=", USAGE)) - {"PARAMETER"}
    assert names
    assert names <= {spec.name for spec in dataclasses.fields(Parameters)}


@pytest.mark.parametrize(
    ("arguments", "mend"),
    [
        (["drop_box"], "'drop_box' is not understood; write: --ros-args -p scene:=drop_box"),
        (["my scene.yaml"], "--ros-args -p 'scene:=my scene.yaml'"),
        (["scene:=drop_box"], "write: --ros-args -p scene:=drop_box"),
        (["-p", "scene:=drop_box"], "write: --ros-args -p scene:=drop_box"),
        (["--ros-args", "-p", "scene:=drop_box", "--", "drop_box"], "'drop_box' is not understood"),
        (["--view"], "'--view' is not understood; see --help"),
    ],
)
def test_what_is_not_for_ros_is_refused(arguments, mend):
    """ROS would pass it by in silence."""
    status, printed, errors = _start(*arguments)
    (line,) = errors.splitlines()
    assert (status, printed) == (1, "")
    assert line.startswith("hydro_sim: error: arguments: ")
    assert mend in line


def test_a_colon_in_a_list_has_a_mend():
    """ROS reads no list with the words that errors give for ``ignore``, unless they are quoted."""
    status, _, errors = _start("--ros-args", "-p", "scene:=drop_box", "-p", "ignore:=[gazebo:joint]")
    assert status == 1
    mend = re.search(r"-p (ignore:=)\"(.*)\"; see", errors.splitlines()[-1])
    assert mend is not None
    _, _, errors = _start("--ros-args", "-p", "scene:=drop_box", "-p", mend[1] + mend[2])
    assert "for robot files only" in errors


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("sys.modules['rclpy'] = None", ("rclpy is not installed", "[ros]'", "/opt/ros/jazzy/setup.bash")),
        (
            "sys.modules['rclpy._rclpy_pybind11'] = None",
            ("rclpy cannot be imported by Python", "_rclpy_pybind11", "/opt/ros/jazzy/setup.bash"),
        ),
        ("sys.modules['hydro_sim_core'] = None", ("hydro_sim_core is not installed", "pip install .")),
    ],
)
def test_what_is_not_installed_is_named(before, words):
    """ROS that is not sourced, or for another Python; an engine that was never installed."""
    status, printed, errors = _start("--ros-args", "-p", "scene:=drop_box", before=before)
    (line,) = errors.splitlines()
    assert (status, printed) == (1, "")
    assert all(word in line for word in words)


@pytest.mark.parametrize(
    "variables", [{"HOME": "FILE"}, {"HOME": None}, {"ROS_LOG_DIR": "FILE/log"}], ids=str
)
def test_logs_that_cannot_be_written_are_told_with_the_mend(start_node, monkeypatch, tmp_path, variables):
    """HOME is not there in many containers; HYDRO_SIM_CACHE_DIR alone does not help ROS."""
    (tmp_path / "file").touch()
    monkeypatch.delenv("ROS_LOG_DIR", raising=False)
    for name, value in variables.items():
        if value is None:
            monkeypatch.delenv(name)
        else:
            monkeypatch.setenv(name, value.replace("FILE", str(tmp_path / "file")))
    node = start_node("-p", "scene:=drop_box")
    assert node.wait(120) == 1
    _check_bad_start(node.output, "set ROS_LOG_DIR to a folder that can be written")


@pytest.mark.heavy(2)
@pytest.mark.parametrize("mistake", ["missing parameter file", "unknown joint"])
def test_bad_start_ends_the_process(start_node, mistake):
    """With status 1, before there is a node and once there is a scene."""
    arguments, expected = BAD_STARTS[mistake]
    node = start_node(*arguments, fresh=True)
    assert node.wait(120) == 1
    _check_bad_start(node.output, expected)


def _check_report(output, steps):
    rows = (line.strip().split("  ", 1) for line in output.splitlines())
    report = {row[0]: row[1] for row in rows if len(row) == 2}
    assert report["simulated time [s]"].strip() == f"{1e-3 * steps:.3f}"
    assert report["steps"].strip() == str(steps)
    assert report["commands refused"].strip() == "0"
    return report


def test_runs_for_the_duration_and_reports(start_node):
    """It ends by itself after exactly the simulated time asked for."""
    node = start_node("-p", f"scene:={SCENE}", "-p", "duration:=1.5")
    assert node.wait(120) == 0
    report = _check_report(node.output, 1500)
    assert "contact faces" in node.output
    assert float(report["real-time factor"]) <= 1.01


def test_runs_for_the_duration_as_fast_as_possible(run_here):
    status, output = run_here("-p", f"scene:={SCENE}", "-p", "duration:=2.5", "-p", "real_time_factor:=0.0")
    assert status == 0, output
    _check_report(output, 2500)


def test_interrupt_ends_it_cleanly(start_node):
    """Ctrl-C: status 0, the report, no traceback."""
    node = start_node("-p", "scene:=drop_box", fresh=True)
    node.wait_for_output("contact faces", timeout=300)
    assert node.stop() == 0
    assert "simulated time [s]" in node.output
    assert "Traceback" not in node.output


def test_interrupt_breaks_off_a_long_run_of_steps(start_node):
    """Ctrl-C at the slowest rate while a client waits for a million steps: it is told how far they came."""
    node = start_node(
        *("-p", "scene:=drop_box", "-p", "start_paused:=true", "-p", "step_count:=1000000"),
        *("-p", "real_time_factor:=0.001"),
    )
    node.wait_for_output("scene '", timeout=300)
    client = Client(node.domain)
    try:
        client.wait_for_node()
        answer = client.begin_step()
        client.wait_until(lambda: stamp_of(client.received["/clock"][-1]) > 0.1, "the first steps")
        assert node.stop() == 0
        client.wait_until(answer.done, "the answer of step")
        assert "of 1000000 steps" in answer.result().message
        assert "Traceback" not in node.output
    finally:
        client.close()


def test_namespace_holds_what_belongs_to_one_robot(start_node):
    """Time, transforms and diagnostics are shared by all; everything else stands below the namespace."""
    node = start_node("-r", "__ns:=/robot1", "-p", "scene:=drop_box", "-p", "start_paused:=true")
    context = rclpy.Context()
    context.init(domain_id=node.domain)
    observer = rclpy.create_node("observer", context=context)
    try:
        expected = {"/clock", "/diagnostics", "/robot1/joint_states", "/robot1/robot_description"}
        deadline = time.monotonic() + 300.0
        topics = set()
        while not expected <= topics and time.monotonic() < deadline:
            time.sleep(0.2)
            topics = {name for name, _ in observer.get_topic_names_and_types()}
    finally:
        observer.destroy_node()
        context.shutdown()
    assert expected <= topics
    assert not {"/joint_states", "/robot_description"} & topics


def test_what_is_loaded_is_set_aside_from_the_collector_while_the_node_runs(run_here, monkeypatch):
    """It would stop the stepping thread for 60 ms at a time, and robots that are spawned have it come."""
    frozen = []
    start = FixedRateRunner.start

    def seen(runner: FixedRateRunner) -> None:
        frozen.append(gc.get_freeze_count())
        start(runner)

    monkeypatch.setattr(FixedRateRunner, "start", seen)
    status, output = run_here("-p", f"scene:={SCENE}", "-p", "duration:=0.05")
    assert status == 0, output
    (count,) = frozen
    assert count > 10_000
    assert gc.get_freeze_count() == 0
