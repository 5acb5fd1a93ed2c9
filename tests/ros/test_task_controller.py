"""The controller of a task over ROS: the same bits as in one process, and an exit status that tells how it ended."""

import inspect
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from hydro_sim.task_control import __main__ as program
from hydro_sim.task_control import controller as controller_module
from hydro_sim.task_control.controller import TaskController
from hydro_sim_bringup.task_plan import plan_task
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, find_task, run_trial
from hydro_sim_core.tasks import attempt as attempt_module
from hydro_sim_core.tasks import trial as trial_module
from hydro_sim_core.tasks.robot import TaskFailed
from hydro_sim_core.tasks.task import Outcome
from hydro_sim_core.tasks.trial import draw, scene_of
from support.ros.executors import executor_in
from support.ros.node_process import NodeProcess
from support.ros.still import Still
from support.ros_domains import take_domain

TASK, SEED = TASKS["pancake_flip"], 3
COMPILED = 400.0
#: Links of welded models that a draw moves, by task.
STANDS_ELSEWHERE = {
    "peg_in_hole": ("block",),
    "m16_nut": ("bolt",),
    "bolt_in_nut": ("nut",),
    "pencil_turn": ("spatula_stand",),
}


def arguments_of(parameters):
    """What ``launch_ros`` makes of parameters."""
    return [word for name, value in parameters.items() for word in ("-p", f"{name}:={json.dumps(value)}")]


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    """The node as the launch file starts it, with the scene of a seed."""
    log = tmp_path_factory.mktemp("node") / "log.txt"
    given = plan_task("pancake_flip", str(SEED)).node | {"status_line": False, "real_time_factor": 0.0}
    process = NodeProcess(log, *arguments_of(given))
    process.wait_for_output("scene 'pancake_flip'", COMPILED)
    yield process
    process.stop()


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Judged a tenth of a second after the end."""
    monkeypatch.setattr(attempt_module, "AFTERWARDS", 0.1)


@pytest.fixture
def ros(node):
    with executor_in(node.domain) as opened:
        yield opened


def test_it_measures_over_ros_what_it_would_in_one_process_to_the_last_bit(node, ros, monkeypatch):
    """The first half a second of the task, and what comes after it: joints, wrenches, poses and outcome."""
    measured = compare_to_the_last_bit(monkeypatch, ros, TASK)
    assert measured[0].positions != measured[50].positions
    loads = [np.linalg.norm(wrench[:3]) for wrench in measured[50].wrenches.values()]
    assert max(loads) > 0.1  # the pancake's weight on the stove


def test_it_sees_over_ros_what_it_would_in_one_process_to_the_last_bit(start_node, monkeypatch):
    """Images of the membranes by simulated time, noise included, and what follows: the spatula slips by then."""
    task = find_task("slip_control", {"feedback": "membrane", "depth_noise": 5e-4})
    given = plan_task("slip_control", str(SEED), settings="feedback=membrane depth_noise=5e-4").node
    process = start_node(*arguments_of(given | {"status_line": False, "real_time_factor": 0.0}))
    process.wait_for_output("scene 'slip_control'", COMPILED)
    with executor_in(process.domain) as ros:
        measured = compare_to_the_last_bit(monkeypatch, ros, task)
    (before, after) = (measured[k].images["left_finger"] for k in (0, 50))
    assert before.shape == (120, 160)
    assert np.nanmax(np.abs(after - before)) > 5e-4


@pytest.mark.heavy(9)  # the first one in every run
@pytest.mark.parametrize("name", sorted(TASKS, key=lambda name: name not in STANDS_ELSEWHERE))
def test_every_task_has_over_ros_the_measurements_of_one_process(start_node, monkeypatch, name):
    """Drawn models that stand elsewhere than the controller believes included, of which no topic tells."""
    process = start_node_of(start_node, name)
    with executor_in(process.domain) as ros:
        measured = compare_to_the_last_bit(monkeypatch, ros, TASKS[name], 0.04)
    drawn, meant = (World(scene_of(TASKS[name], seed)) for seed in (SEED, None))
    moved = [link for link in drawn.frame_names if np.any(drawn.frame_pose(link) != meant.frame_pose(link))]
    for link in STANDS_ELSEWHERE.get(name, ()):
        assert link in moved
        np.testing.assert_array_equal(measured[-1].poses[link], drawn.frame_pose(link))


@pytest.mark.long
@pytest.mark.parametrize("name", TASKS)
def test_every_task_ends_over_ros_as_in_one_process(start_node, monkeypatch, name):
    """Whole trials, with their courses; both succeed."""
    process = start_node_of(start_node, name)
    trial = run_trial(TASKS[name], SEED)
    with executor_in(process.domain) as ros:
        ending = ending_over(ros, TASKS[name])
    assert ending.outcome == Outcome(True, "", trial.measures)
    assert (trial.succeeded, ending.course) == (True, trial.course)


def start_node_of(start_node, name):
    """The node with the scene of a task and seed, as the launch file starts it."""
    given = plan_task(name, str(SEED)).node | {"status_line": False, "real_time_factor": 0.0}
    process = start_node(*arguments_of(given))
    process.wait_for_output(f"scene '{TASKS[name].scene}'", COMPILED)
    return process


def ending_over(ros, task, watch=lambda measured: None):
    """How a task with the seed ends over ROS."""
    own, executor = ros
    controller = TaskController(own, task, "hydro_sim", watch, scene=scene_of(task, SEED))
    return controller.run(executor, Event(), 60.0, 30.0)


def compare_to_the_last_bit(monkeypatch, ros, task, duration=0.5):
    """Begin of a task over ROS and in one process: equal measurements, which are given back."""
    task = replace(task, duration=duration)
    expected, measured = [], []
    measure = trial_module.measure

    def noted(world, views):
        expected.append(measure(world, views))
        return expected[-1]

    monkeypatch.setattr(trial_module, "measure", noted)
    trial = run_trial(task, SEED)
    ending = ending_over(ros, task, measured.append)
    assert (ending.outcome.reason, ending.phase, ending.time) == (trial.reason, trial.phase, trial.time)
    assert trial.reason == f"not done within {duration:g} s"
    assert ending.course == trial.course
    assert [at.time for at in measured] == [at.time for at in expected]
    assert len(measured) == 1 + math.ceil((duration + 0.1) / task.period - 1e-9)
    for ours, theirs in zip(measured, expected, strict=True):
        assert ours.positions == theirs.positions
        for kind in ("wrenches", "poses", "images"):
            told, known = getattr(ours, kind), getattr(theirs, kind)
            assert told.keys() == known.keys()
            for name in known:
                np.testing.assert_array_equal(told[name], known[name])
    return measured


class GivesUp(Still):
    def script(self, measured):
        yield from super().script(measured)
        raise TaskFailed("it is too dull")


class Raises(Still):
    def script(self, measured):
        yield from super().script(measured)
        raise ValueError("no way")


RAISED = (
    f"the controller raised ValueError: no way ({__file__}, "
    f"line {inspect.getsourcelines(Raises.script)[1] + 2})"
)


@pytest.mark.parametrize(
    ("controller", "status", "line", "reason"),
    [
        (Still, 0, "succeeded after", ""),
        (GivesUp, 1, "to stand still: it is too dull", "it is too dull"),
        (Raises, 1, "to stand still: the controller raised ValueError: no way (", RAISED),
    ],
)
def test_the_exit_status_tells_how_it_ended(
    node, monkeypatch, capfd, tmp_path, controller, status, line, reason
):
    """Against a simulation that waits where another controller has left it."""
    calm = replace(TASK, controller=controller, judge=lambda story: Outcome(True, "", {"s": 1.0}))
    assert run_program(monkeypatch, node.domain, calm, f"json:={tmp_path}/r.json", "seed:=3") == status
    assert line in capfd.readouterr().out
    result = json.loads((tmp_path / "r.json").read_text())
    assert (result["task"], result["seed"], result["reason"]) == ("pancake_flip", 3, reason)
    assert result["succeeded"] == (status == 0)
    assert result["drawn"] == draw(calm, 3, find_scene(calm.scene)).drawn
    assert node.alive


def test_both_programs_end_a_task_that_fails_as_the_launch_file_starts_them(start_node, tmp_path):
    """Processes of their own, with all parameters of the plan; the node lives."""
    result = tmp_path / "result.json"
    given = plan_task("slip_control", "", str(result), "pitch=0.5")
    process = start_node(*arguments_of(given.node | {"status_line": False, "real_time_factor": 0.0}))
    process.wait_for_output("scene 'slip_control'", COMPILED)
    command = [sys.executable, "-m", "hydro_sim.task_control", "--ros-args", *arguments_of(given.controller)]
    environment = {**os.environ, "ROS_DOMAIN_ID": str(process.domain)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
    reason = "the set pitch of 0.5 rad is above the spatula's of 0.30: it can only sink"
    told = [
        line for line in ended.stderr.splitlines() if "waiting:" not in line
    ]  # a busy machine starts slowly
    assert (ended.returncode, told) == (1, [])
    assert ended.stdout == f"failed after 0.30 s, to hold the spatula: {reason}\n"
    report = json.loads(result.read_text())
    assert report["reason"] == reason
    assert report["settings"] == {"pitch": 0.5, "feedback": "wrench", "depth_noise": 0.0}
    assert process.alive


def run_program(monkeypatch, domain, task, *parameters):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setattr(program, "find_task", lambda name, settings: task)
    words = [word for parameter in parameters for word in ("-p", parameter)]
    return program.run(["task_controller", "--ros-args", "-p", "task:=pancake_flip", *words], Event())


def test_a_simulation_that_falls_silent_is_told(node, monkeypatch, capfd):
    """It waits for ever, as it refuses an answer; one that is killed says as little."""
    refused = JointState(name=["no_joint"], position=[1.0])
    monkeypatch.setattr(controller_module, "joint_commands", lambda commands, stamp: refused)
    assert (
        run_program(monkeypatch, node.domain, replace(TASK, controller=Still), "seed:=3", "timeout:=1.0") == 1
    )
    out = capfd.readouterr().out
    assert "to stand still: the simulation has been silent for 1." in out
    assert "it lacks hydro_sim/wrench/" in out
    assert node.alive


def test_no_simulation_is_told(monkeypatch, capfd):
    assert run_program(monkeypatch, take_domain(), TASK, "start_timeout:=0.5") == 1
    assert "the simulation has been silent for 0." in capfd.readouterr().out


def test_a_second_controller_waits_for_the_first_and_says_so(node, monkeypatch, capfd):
    with executor_in(node.domain) as (other, _):
        other.create_publisher(JointState, "joint_commands", 10)
        assert run_program(monkeypatch, node.domain, replace(TASK, controller=Still), "timeout:=1.0") == 1
    assert (
        "joint_commands has 1 other publisher, as of another controller: end that" in capfd.readouterr().out
    )
    assert node.alive


def test_another_scene_is_told(start_node, monkeypatch, capfd):
    process = start_node("-p", "scene:=spatula_slip", "-p", "status_line:=false")
    process.wait_for_output("scene 'spatula_slip'", COMPILED)
    assert run_program(monkeypatch, process.domain, TASK) == 1
    told = capfd.readouterr().err
    assert "floating joint 'pancake_base'" in told or "has no joint" in told
    assert "simulate the scene of the task" in told


@pytest.mark.parametrize("given", [["seed:=2"], ["seed:=3", "scene_values:=[time_step=2e-3]"]])
def test_a_simulation_with_other_values_is_told(node, monkeypatch, capfd, given):
    """What stands elsewhere would be judged where it does not stand."""
    assert run_program(monkeypatch, node.domain, TASK, *given) == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert (
        "the scene that is simulated: has other scene_values than the seed and scene_values of this" in line
    )
    assert "tell both the same" in line
    assert node.alive


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("missing/r.json", "there is no folder"),
        ("old.json", "exists already; give another name, or overwrite:=true to replace it"),
    ],
)
def test_a_result_that_cannot_be_written_is_told_before_the_task(monkeypatch, capfd, tmp_path, name, told):
    """No simulation is there; it would have been waited for."""
    (tmp_path / "old.json").write_text("kept")
    assert run_program(monkeypatch, take_domain(), TASK, f"json:={tmp_path / name}") == 1
    printed = capfd.readouterr()
    (line,) = printed.err.splitlines()
    assert told in line
    assert printed.out == ""
    assert (tmp_path / "old.json").read_text() == "kept"


def test_a_result_that_is_lost_meanwhile_costs_no_outcome(monkeypatch, capfd, tmp_path):
    """An older one is replaced where that is asked for; a folder may go while a task is tried."""
    old, gone = tmp_path / "old.json", tmp_path / "gone"
    old.write_text("kept")
    gone.mkdir()
    given = "start_timeout:=0.1", "overwrite:=true"
    assert run_program(monkeypatch, take_domain(), TASK, f"json:={old}", *given) == 1
    assert json.loads(old.read_text())["succeeded"] is False
    monkeypatch.setattr(program, "report", lambda *_: gone.rmdir() or {})
    assert run_program(monkeypatch, take_domain(), TASK, f"json:={gone}/r.json", *given) == 1
    printed = capfd.readouterr()
    assert printed.out.count("failed after 0.00 s, to begin: the simulation has been silent for") == 2
    assert "gone/r.json: No such file or directory" in printed.err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("scene_values:=[time_step]", "scene_values 'time_step': is no PATH=VALUE"),
        ("sed:=3", "sed: no such parameter"),
        ("seed:=-7", "seed: -7 is no seed; give 0 or more, or -1 for none"),
        ("timeout:=.nan", "timeout: nan s cannot be waited; give a number above 0"),
        ("timeout:=-1.0", "timeout: -1 s cannot be waited"),
        ("timeout:=0.0", "timeout: 0 s cannot be waited"),
        ("start_timeout:=.inf", "start_timeout: inf s cannot be waited"),
    ],
)
def test_a_parameter_that_is_wrong_is_told(monkeypatch, capfd, given, told):
    assert run_program(monkeypatch, take_domain(), TASK, given) == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert told in line


def test_a_task_that_is_interrupted_is_told(node, ros):
    own, executor = ros
    stop = Event()
    stop.set()
    ending = TaskController(own, TASK, "hydro_sim").run(executor, stop, 60.0, 10.0)
    assert ending.outcome.reason == "interrupted"
