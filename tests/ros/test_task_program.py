"""Program ``task_controller`` without a simulation: settings, signals, messages and its result."""

import json
import math
from dataclasses import replace
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
from sensor_msgs.msg import Image

from hydro_sim.task_control import __main__ as program
from hydro_sim.task_control.controller import joint_commands
from hydro_sim.task_control.instants import depth_of
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import JointCommand
from hydro_sim_core.tasks import TASKS
from hydro_sim_core.tasks.attempt import Ending
from hydro_sim_core.tasks.task import Outcome
from support.ros_domains import take_domain

TASK = TASKS["pancake_flip"]


def test_a_setting_that_is_none_is_told(monkeypatch, capfd):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(take_domain()))
    words = ["-p", "task:=slip_control", "-p", "settings:=pich=0.1"]
    assert program.run(["task_controller", "--ros-args", *words], Event()) == 1
    assert "controller.pich: is no setting of its controller; did you mean" in capfd.readouterr().err


def test_a_second_signal_ends_a_controller_that_does_not_go_on(monkeypatch, capfd):
    """Not one that comes with the first, as from a terminal and a launch at once: that waits for the report."""
    now, left = SimpleNamespace(s=100.0), []
    monkeypatch.setattr(program, "time", SimpleNamespace(monotonic=lambda: now.s))
    monkeypatch.setattr(program, "os", SimpleNamespace(_exit=left.append))
    stop = Event()
    end = program.ender(stop)
    for now.s in (100.0, 100.1, 101.9):
        end(2, None)
        assert stop.is_set()
        assert left == []
    now.s = 102.1
    end(2, None)
    assert left == [130]
    assert "task_controller: broken off" in capfd.readouterr().err


def test_images_in_whole_millimetres_are_told():
    with pytest.raises(InputError, match="images of the bubbles: are 16UC1; start the simulation with"):
        depth_of(Image(encoding="16UC1", height=1, width=1, data=[0, 0]))


def test_what_is_not_commanded_is_nan():
    message = joint_commands({"a": JointCommand(effort=1.0), "b": JointCommand(0.5, 0.1)}, (2, 3))
    assert message.name == ["a", "b"]
    np.testing.assert_array_equal(message.position, [np.nan, 0.5])
    np.testing.assert_array_equal(message.velocity, [np.nan, 0.1])
    np.testing.assert_array_equal(message.effort, [1.0, np.nan])
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (2, 3)


def test_what_is_drawn_and_is_no_number_is_null_in_the_result():
    task = replace(TASK, scene="drop_box", variation=lambda draws: draws.drawn.update(far=math.inf))
    told = program.report({**program.PARAMETERS, "seed": 1}, task, Ending(Outcome(True), "end", 0.0))
    assert json.loads(json.dumps(told, allow_nan=False))["drawn"] == {"far": None}


def test_a_result_on_standard_output_is_alone_there(monkeypatch, capfd):
    """Whatever the task's own code prints."""

    def find(name, settings):
        print("from the task")
        return TASK

    monkeypatch.setenv("ROS_DOMAIN_ID", str(take_domain()))
    monkeypatch.setattr(program, "find_task", find)
    words = ["-p", "task:=pancake_flip", "-p", 'json:="-"', "-p", "start_timeout:=0.1"]
    assert program.run(["task_controller", "--ros-args", *words], Event()) == 1
    printed = capfd.readouterr()
    assert json.loads(printed.out)["succeeded"] is False
    assert "from the task\n" in printed.err
