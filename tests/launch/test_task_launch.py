"""The launch file of tasks in the real launch and launch_ros, with the real node and controller of this checkout."""

import json
import os
import signal

import pytest

pytest.importorskip(
    "launch_ros", reason="launch and launch_ros are not installed; ROS from apt has them, the wheels do not"
)
pytest.importorskip("ros2launch", reason="ros2launch is not installed")

from hydro_sim_core.tasks import find_task, run_trial
from support.ros.launch_process import LAUNCH_FILES, LaunchProcess
from support.ros.real_controllers import install_checkout


@pytest.fixture
def start_task(tmp_path):
    """Start the launch file with these arguments; it is interrupted at the end."""
    started = []
    prefixes = [str(install_checkout(tmp_path / "prefix"))]
    prefixes += filter(None, [os.environ.get("AMENT_PREFIX_PATH")])
    environment = {"AMENT_PREFIX_PATH": ":".join(prefixes)}

    def start(*arguments):
        log = tmp_path / f"log{len(started)}.txt"
        started.append(LaunchProcess(log, arguments, environment, LAUNCH_FILES / "task.launch.py"))
        return started[-1]

    yield start
    for launch in started:
        launch.stop()


@pytest.mark.parametrize("feedback", ["wrench", "membrane"])
def test_a_task_succeeds_as_in_one_process(start_task, tmp_path, feedback):
    """A short way down: the result has the same bits, and everything ends with the controller, with status 0."""
    settings = {"feedback": feedback, "pitch": -0.3}
    result = tmp_path / "result.json"
    told = "settings:=" + " ".join(f"{name}={value}" for name, value in settings.items())
    launch = start_task("task:=slip_control", "seed:=3", told, f"json:={result}")
    assert launch.wait() == 0, launch.output
    assert "Traceback" not in launch.output
    assert launch.output.count("process has finished cleanly") == 2

    trial = run_trial(find_task("slip_control", settings), seed=3)
    report = json.loads(result.read_text())
    assert (report["succeeded"], report["time"]) == (True, trial.time)
    assert report["measures"] == dict(trial.measures)
    assert report["course"] == [dict(point) for point in trial.course]


def test_a_task_that_fails_fails_the_launch(start_task):
    """The controller's reason stays, and neither it nor launch tells a traceback."""
    launch = start_task("task:=slip_control", "settings:=pitch=0.5")
    assert launch.wait() == 1, launch.output
    assert "above the spatula's of 0.30: it can only sink" in launch.output
    assert "the controller ended with status 1; its lines above say why" in launch.output
    assert "Traceback" not in launch.output


def test_interrupt_ends_both_programs_cleanly(start_task):
    """Ctrl-C: no traceback, and nothing is left behind."""
    launch = start_task("task:=pancake_flip")
    launch.wait_for_output("scene 'pancake_flip'")
    launch.process.send_signal(signal.SIGINT)
    launch.wait(20)
    assert "Traceback" not in launch.output
    assert launch.output.count("process has finished cleanly") >= 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["task:=pancake_flop"], "'pancake_flip', 'slip_control'"),
        (["task:=pancake_flip", "seed:=three"], "seed: 'three' is no whole number from 0 on"),
        (["task:=slip_control", "settings:=pich=0.1"], "did you mean 'controller.pitch'"),
    ],
)
def test_a_bad_value_is_one_line_and_nothing_starts(start_task, arguments, told):
    launch = start_task(*arguments)
    assert launch.wait() == 1
    (line,) = [line for line in launch.output.splitlines() if "Caught exception" in line]
    assert told in line
    assert "process started" not in launch.output
    assert "Traceback" not in launch.output
