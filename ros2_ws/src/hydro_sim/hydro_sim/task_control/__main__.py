"""Entry point of ``task_controller``: its parameters, what it prints and its exit status."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from hydro_sim.loading import parse_scene_values
from hydro_sim.parameter_rules import is_of_ros
from hydro_sim.task_control.controller import TaskController
from hydro_sim_core.cli.output import printed_aside, write_report
from hydro_sim_core.cli.outputs import STANDARD_OUTPUT, check_writable, from_here
from hydro_sim_core.errors import InputError
from hydro_sim_core.failures import in_one_line
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import find_task
from hydro_sim_core.tasks.attempt import INTERRUPTED, Ending
from hydro_sim_core.tasks.registry import parse_settings
from hydro_sim_core.tasks.task import Task
from hydro_sim_core.tasks.trial import drawn_in, for_json, scene_of

#: Defaults of the parameters, which have their types.
PARAMETERS: dict[str, Any] = {
    "task": "",
    "settings": "",
    "scene_values": [],
    "simulator": "hydro_sim",
    "json": "",
    "overwrite": False,
    "seed": -1,
    "start_timeout": 600.0,
    "timeout": 10.0,
}
#: Time that a trial has to end in good order after a signal, s.
_PATIENCE = 2.0


def main() -> int:
    """Try a task until a signal; return 0 only if it succeeds."""
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ender(stop))
    return run(sys.argv, stop)


def ender(stop: Event) -> Callable[[int, Any], None]:
    """Handler of a signal that sets ``stop``; another one later ends the program, as of a controller that loops."""
    since = math.inf

    def end(number: int, frame: Any) -> None:
        nonlocal since
        now = time.monotonic()
        if not stop.is_set():
            stop.set()
            since = now
        elif now - since > _PATIENCE:
            print("task_controller: broken off: the controller does not go on", file=sys.stderr, flush=True)
            os._exit(128 + number)

    return end


def run(arguments: list[str], stop: Event) -> int:
    """Try the task of these arguments until ``stop`` is set; return the exit status."""
    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        return _try(stop)
    except Exception as error:
        line = in_one_line(error)
        if line is None:
            raise
        print(f"task_controller: error: {line}", file=sys.stderr)
        return 1
    finally:
        rclpy.try_shutdown()


def _try(stop: Event) -> int:
    node = rclpy.create_node("task_controller", automatically_declare_parameters_from_overrides=True)
    try:
        parameters = read_parameters(node)
        written = _file_of(parameters)
        with printed_aside(written):
            task, ending = _ending(node, parameters, stop)
    finally:
        node.destroy_node()
    outcome = ending.outcome
    line = f"failed after {ending.time:.2f} s, to {ending.phase}: {outcome.reason}"
    if outcome.succeeded:
        line = f"succeeded after {ending.time:.2f} s"
    print(line, file=sys.stderr if written == STANDARD_OUTPUT else sys.stdout, flush=True)
    write_report(written, report(parameters, task, ending))
    return 0 if outcome.succeeded else 1


def _ending(node: Node, parameters: dict[str, Any], stop: Event) -> tuple[Task, Ending]:
    """The task of the parameters, and how it ended."""
    task = find_task(parameters["task"], parse_settings(parameters["settings"]))
    scene = scene_of(task, _seed(parameters), parse_scene_values(parameters["scene_values"]))
    controller = TaskController(node, task, parameters["simulator"], tell=_tell, scene=scene)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    return task, controller.run(executor, stop, parameters["start_timeout"], parameters["timeout"])


def _file_of(parameters: dict[str, Any]) -> Path | None:
    """File of the result, which can be written; None for none."""
    if not parameters["json"]:
        return None
    path = Path(parameters["json"])
    if path != STANDARD_OUTPUT:
        check_writable(path, parameters["overwrite"], "give another name, or overwrite:=true to replace it")
    return from_here(path)


def _seed(parameters: dict[str, Any]) -> int | None:
    return parameters["seed"] if parameters["seed"] >= 0 else None


def _tell(line: str) -> None:
    print(f"task_controller: {line}", file=sys.stderr, flush=True)


def read_parameters(node: Node) -> dict[str, Any]:
    """Values of the parameters.

    Raises:
        InputError: One is unknown, of another type, or out of its range.
    """
    values = dict(PARAMETERS)
    given: dict[str, Any] = dict(node.get_parameters_by_prefix(""))
    for name, parameter in given.items():
        if is_of_ros(name):
            continue
        if name not in PARAMETERS:
            raise InputError("parameters", name, "no such parameter", f"use one of {', '.join(PARAMETERS)}")
        kind, value = type(PARAMETERS[name]), parameter.value
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            problem = f"{value!r} is of type {type(value).__name__}"
            raise InputError("parameters", name, problem, f"give a value of type {kind.__name__}")
        if kind is float and not 0.0 < value < math.inf:
            raise InputError("parameters", name, f"{value:g} s cannot be waited", "give a number above 0")
        if name == "seed" and value < -1:
            raise InputError("parameters", name, f"{value} is no seed", "give 0 or more, or -1 for none")
        values[name] = value
    return values


def report(parameters: dict[str, Any], task: Task, ending: Ending) -> dict[str, Any]:
    """The result for JSON, as ``hydro-sim task --json`` has it where both know it."""
    seed, values = _seed(parameters), parse_scene_values(parameters["scene_values"])
    return {
        "task": parameters["task"],
        "settings": dict(task.settings),
        "set": values,
        "seed": seed,
        "drawn": for_json(drawn_in(task, seed, find_scene(task.scene), values)),
        "interrupted": ending.outcome.reason == INTERRUPTED,
        "succeeded": ending.outcome.succeeded,
        "reason": ending.outcome.reason,
        "phase": ending.phase,
        "time": ending.time,
        "measures": for_json(ending.outcome.measures),
        "course": [for_json(point) for point in ending.course],
    }


if __name__ == "__main__":
    sys.exit(main())
