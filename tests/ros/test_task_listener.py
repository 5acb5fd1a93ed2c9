"""The controller of a task without a simulation: what it waits for, refuses, and gives up with."""

import math
from dataclasses import replace
from threading import Event
from types import SimpleNamespace

import pytest
from sensor_msgs.msg import JointState

from hydro_sim.task_control import controller as controller_module
from hydro_sim.task_control.controller import TaskController
from hydro_sim.task_control.instants import Instants
from hydro_sim.task_control.scene_check import SceneCheck
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, run_trial
from hydro_sim_core.tasks import trial as trial_module
from support.ros.executors import executor_in
from support.ros.still import Still
from support.ros_domains import take_domain

TASK = TASKS["pancake_flip"]


@pytest.fixture
def clock(monkeypatch):
    """Time of the controller, s, which its looks take."""
    now = SimpleNamespace(s=100.0)
    monkeypatch.setattr(controller_module, "time", SimpleNamespace(monotonic=lambda: now.s))
    return now


class Looks:
    """In place of an executor: each look takes as long as is said, and hears what is said."""

    def __init__(self, clock, takes):
        self._clock, self._takes = clock, iter(takes)

    def spin_once(self, timeout_sec):
        took, hear = next(self._takes)
        self._clock.s += took
        hear()


@pytest.fixture
def listener():
    """A controller of a task with a node of its own, in a domain without a simulation."""
    with executor_in(take_domain()) as (own, _):
        yield own


def nothing():
    """Nobody says anything."""


def states_at(controller, names, seconds):
    message = JointState(name=list(names), position=[0.0] * len(names))
    message.header.stamp.sec = seconds
    return lambda: controller._receive("joint_states", message)


def test_time_in_which_the_controller_was_stopped_is_no_silence(clock, listener):
    """As by SIGSTOP: the node waited for it."""
    controller = TaskController(listener, TASK, "hydro_sim")
    said = []
    looks = [(0.1, nothing)] * 5 + [(14.0, nothing)] + [(0.1, lambda: said.append(clock.s))] * 20
    ending = controller.run(Looks(clock, looks), Event(), start_timeout=2.0, timeout=2.0)
    assert ending.outcome.reason.startswith("the simulation has been silent for 2.")
    assert said[0] == pytest.approx(114.6)  # it went on, and gave up for the silence after that
    assert said[-1] - said[0] > 1.0


def test_the_start_tells_what_it_waits_for(clock, listener):
    told = []
    controller = TaskController(listener, TASK, "hydro_sim", tell=told.append)
    controller.run(Looks(clock, [(0.25, nothing)] * 100), Event(), start_timeout=12.0, timeout=10.0)
    assert [line[:51] for line in told] == [
        "waiting: the simulation has been silent for 5.0 s: ",
        "waiting: the simulation has been silent for 10.0 s:",
    ]
    assert "lacks hydro_sim/wrench/" in told[0]
    assert "joint_states, multi_dof_joint_states" in told[0]


def test_topics_that_do_not_tell_of_the_same_instants_are_told_with_the_rates(clock, listener):
    """Within the shorter of both timeouts, as the simulation lives."""
    controller = TaskController(listener, TASK, "nosuch")
    names = controller._model.joint_names
    looks = [(0.1, states_at(controller, names, second)) for second in range(100)]
    ending = controller.run(Looks(clock, looks), Event(), start_timeout=1.0, timeout=10.0)
    reason = ending.outcome.reason
    assert "silent for 1." in reason
    assert "while others come; check that its node is named as the parameter simulator says" in reason
    assert "joint_state_rate and wrench_rate are 100, or multiples" in reason


def test_a_controller_that_comes_later_is_told_once(clock, listener):
    told = []
    controller = begun(listener)
    controller._tell = told.append
    others = [0, 0, 1]
    controller._node = SimpleNamespace(
        resolve_topic_name=lambda name: name,
        count_publishers=lambda name: 1 + (others.pop(0) if others else 1),
    )
    controller.run(Looks(clock, [(0.25, nothing)] * 200), Event(), start_timeout=1.0, timeout=30.0)
    assert told == [
        "warning: joint_commands has 1 other publisher, as of another controller: end that first, as a simulation "
        "follows one"
    ]


def test_a_driver_without_parameters_is_believed(clock, listener):
    check = SceneCheck(listener, "driver", *2 * [find_scene("peg_in_hole")])
    assert check.passed()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ({"nope": JointCommand(0.1)}, "nope"),
        ({"joint_1": JointCommand(math.nan)}, "joint_1"),
        ({"joint_2": JointCommand(99.0)}, "joint_2"),
        ({"joint_1": JointCommand("0.1")}, "joint_1"),
        ({"joint_1": JointCommand()}, "joint_1"),
    ],
)
def test_commands_that_one_process_refuses_are_refused_with_its_words(listener, monkeypatch, command, told):
    """None is sent: the node would leave out an unknown joint, take NaN for no command, and move what is too far."""

    class Wrong(Still):
        def script(self, measured):
            yield command

    nothing_else = {"follow": lambda measured: {}, "shows": ()}
    task = replace(TASK, scene="gen3_7dof", controller=Wrong, **nothing_else)
    controller = TaskController(listener, task, "hydro_sim")
    monkeypatch.setattr(controller._commands, "publish", lambda message: pytest.fail("sent"))
    controller._answer(trial_module.measure(controller._model), (0, 0))
    reason = controller.ending.outcome.reason
    assert reason == run_trial(task).reason
    assert reason.startswith("a command of the controller is refused: ")
    assert told in reason


def begun(listener, seconds=(300.0, 300.25)):
    """A controller that has answered at some times, of a node whose clock has run before."""
    followed = {"follow": lambda measured: {"height, m": measured.time}, "shows": ()}
    task = replace(TASK, scene="gen3_7dof", controller=Still, **followed)
    controller = TaskController(listener, task, "hydro_sim")
    at = trial_module.measure(controller._model)
    for time in seconds:
        controller._answer(replace(at, time=time), (int(time), 0))
        controller._measured = 1e9 * time
    return controller


def fallen_silent(clock, controller):
    return controller.run(Looks(clock, [(0.25, nothing)] * 20), Event(), start_timeout=1.0, timeout=1.0)


def interrupted(clock, controller):
    stop = Event()
    stop.set()
    return controller.run(Looks(clock, [(0.25, nothing)]), stop, start_timeout=1.0, timeout=1.0)


def gone_back(clock, controller):
    names = controller._model.joint_names
    looks = [(0.1, states_at(controller, names, 299))]
    return controller.run(Looks(clock, looks), Event(), start_timeout=1.0, timeout=1.0)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (fallen_silent, "the simulation has been silent for"),
        (interrupted, "interrupted"),
        (gone_back, "simulated time went back"),
    ],
)
def test_what_is_given_up_has_its_time_and_course(clock, listener, end, reason):
    ending = end(clock, begun(listener))
    assert ending.outcome.reason.startswith(reason)
    assert (ending.phase, ending.time) == ("stand still", pytest.approx(0.25))
    assert ending.course == [{"time, s": time, "height, m": time} for time in (300.0, 300.25)]


def test_it_hears_of_every_pair_that_is_measured_in_one_process():
    """Of a wall of the environment too, which has no frame of its own."""
    wall = {"name": "wall", "shape": {"box": {"size": [0.1, 0.1, 0.02]}}, "pose": {"xyz": [0.6, 0.0, 0.05]}}
    values = {"environment": [wall], "report.wrenches": [["block", "peg"], ["peg", "wall"]]}
    world = World(find_scene("peg_in_hole").with_(values))
    heard = Instants(world, "/hydro_sim").wrenches
    assert set(heard) == set(trial_module.measure(world).wrenches)
    assert heard["peg", "wall"] == "/hydro_sim/wrench/peg_on_wall"
