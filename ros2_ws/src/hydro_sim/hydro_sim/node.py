"""The node ``hydro_sim``: a lifecycle node that loads a scene, steps it, and connects it to ROS 2.

Three kinds of threads: the runner steps the World, plain threads publish snapshots of it, and the main thread serves
subscriptions, services and parameters.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.signals import SignalHandlerOptions
from rich.console import Console

from hydro_sim import optional
from hydro_sim.engine_log import engine_log
from hydro_sim.fast_dds import choose_shared_memory
from hydro_sim.hil.report import ReportFile, make_report
from hydro_sim.loading import Interrupted, load_world, parse_scene_values
from hydro_sim.parameter_rules import declare_parameters
from hydro_sim.parameters import REPLACE
from hydro_sim.printable_log import PrintableLogger
from hydro_sim.recording.replay import check_replay
from hydro_sim.simulation import Simulation
from hydro_sim.status import StatusLine, print_report
from hydro_sim_core.console import PrintableConsole
from hydro_sim_core.errors import InputError
from hydro_sim_core.failures import in_one_line
from hydro_sim_core.recording import check_new_recording
from hydro_sim_core.simulation.running.realtime import SWITCH_INTERVAL

_NODE_NAME = "hydro_sim"
_FAREWELL = 0.2  # s, time for the last answers to reach their clients
_SPIN_PERIOD = 0.05  # s, largest delay until a signal or the end of the run is noticed


def run(arguments: list[str], stop: Event) -> int:
    """Run the node until ``stop`` is set or the end of ``duration``; return the exit status."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    console = PrintableConsole(emoji=False)
    status = 0
    try:
        _init(arguments)
        node = SimulationNode(console, stop)
        try:
            with engine_log(node):
                _serve(node, console, stop)
            if node.simulation is not None and node.simulation.building:
                _leave_the_compiler(console)
        except Interrupted:
            node.report()
            _leave_the_compiler(console)
        finally:
            node.destroy_node()
    except Exception as error:
        line = in_one_line(error)
        if line is None:
            raise
        print(f"hydro_sim: error: {line}", file=sys.stderr)
        status = 1
    finally:
        rclpy.try_shutdown()
    return status


def _leave_the_compiler(console: Console) -> None:
    """End the process at once: the compiler cannot be stopped, and would crash during interpreter shutdown."""
    console.print("interrupted while loading")
    sys.stdout.flush()
    os._exit(0)


def _init(args: list[str]) -> None:
    choose_shared_memory(os.environ)
    try:
        # rclpy's signal handlers would invalidate the context while the publishing threads use it.
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:
        problem = " ".join(str(error).partition(", at ")[0].split())
        if "logging" in problem and "directory" in problem:
            mend = "set ROS_LOG_DIR to a folder that can be written, such as /tmp/ros_log"
            raise InputError("ROS", "log files", problem, mend) from None
        mend = "see 'ros2 run --help'"
        if "override rule" in problem and "[" in problem:
            mend = f"quote texts with a colon in a list, as in -p ignore:=\"['gazebo:joint']\"; {mend}"
        raise InputError("arguments", "--ros-args", problem, mend) from None


class SimulationNode(LifecycleNode):
    """Lifecycle node: configuring loads and compiles the scene, activating runs it, cleaning up removes it.

    Attributes:
        parameters: Current values.
        simulation: The simulation while configured, else None.
        active: Whether the simulation runs.
        error: Reason why the last configuring failed, or None.

    Args:
        console: Console for progress.
        stop: Set when the process should end.
    """

    def __init__(self, console: Console, stop: Event) -> None:
        try:
            super().__init__(_NODE_NAME, automatically_declare_parameters_from_overrides=True)
        except ValueError as error:
            if "PARAMETER_NOT_SET" not in str(error):
                raise
            # An empty list has no type in ROS, and rclpy does not name the parameter.
            mend = "leave the parameter out to have its default"
            raise InputError("arguments", "--ros-args", "a parameter is an empty list", mend) from None
        self._console = console
        self._stop = stop
        self._refuse_impossible_transitions()
        self.error: Exception | None = None
        self.simulation: Simulation | None = None
        self.active = False
        self._recorded: Counter[str] = Counter()
        self._starting = False
        self.parameters = declare_parameters(
            self, lambda: self.simulation is not None, self._parameters_changed
        )
        self._report_file = ReportFile(self.parameters.overwrite)

    def get_logger(self) -> PrintableLogger:
        """The node's logger, which escapes control characters in what it logs."""
        return PrintableLogger(super().get_logger().name)

    def _parameters_changed(self, names: set[str]) -> None:
        if self.simulation is not None:
            self.simulation.parameters_changed(names)

    def start(self) -> None:
        """Configure and activate without a lifecycle manager.

        Raises:
            InputError: The scene or a parameter cannot be used.
            FloatingPointError: The first step of the scene has no finite result.
            Interrupted: The process should end.
        """
        self._starting = True
        for transition in (self.trigger_configure, self.trigger_activate):
            transition()
            if self.error is not None:
                raise self.error
        self._starting = False

    # --- transitions, called by rclpy

    def _refuse_impossible_transitions(self) -> None:
        """Reject invalid transitions with an answer; rclpy would raise and leave the client waiting."""
        service = self._service_change_state
        change_state = service.callback

        def answer(request: Any, response: Any) -> Any:
            try:
                return change_state(request, response)
            except RuntimeError as error:
                self.get_logger().warning(f"change_state: refused: {str(error).partition(',')[0]}")
                response.success = False
                return response

        service.callback = answer

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the scene; a bad one leaves the node unconfigured."""
        return self._attempt("not configured", self._configure)

    def _configure(self) -> None:
        self.get_logger().info(optional.summary())
        self.parameters.require_scene()
        check_replay(self.parameters)
        parameters = self.parameters
        if parameters.record:
            number = self._recorded[parameters.record]
            path = Path(parameters.record)
            check_new_recording(path, number, parameters.overwrite, parameters.file_limits, REPLACE)
        if parameters.report_file:
            if (
                parameters.record
                and Path(parameters.report_file).resolve() == Path(parameters.record).resolve()
            ):
                problem = "is the recording's file too, which it would replace"
                raise InputError("parameters", "report_file", problem, "give another name")
            self._report_file.check(parameters.report_file)
        values = parse_scene_values(parameters.scene_values)
        robot = parameters.robot_options
        world = load_world(parameters.scene, self._console, self._stop, values, robot)
        self.simulation = Simulation(self, self.parameters, world, self._stop.set, self._recorded)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start stepping and publishing."""
        return self._attempt("not activated", self._activate)

    def _activate(self) -> None:
        assert self.simulation is not None
        try:
            self.simulation.start()
        except BaseException:
            self.simulation.stop()
            raise
        self.active = True

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop stepping and publishing, in the present state."""
        assert self.simulation is not None
        self.active = False
        return self._attempt("not deactivated", self.simulation.stop)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Remove the scene."""
        if self.simulation is not None and self.simulation.serving:
            self.get_logger().warning("not cleaned up: a client still waits for an answer; try again")
            return TransitionCallbackReturn.FAILURE
        self.active = False
        # What goes wrong is told, but leaves nothing behind that would be in the way of the next configuring.
        self._attempt("cleaned up, but", self._clean_up)
        return TransitionCallbackReturn.SUCCESS

    def _clean_up(self) -> None:
        simulation, self.simulation = self.simulation, None
        if simulation is not None:
            try:
                self._write_report(simulation)
            finally:
                simulation.close()

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End the process."""
        self._stop.set()
        return TransitionCallbackReturn.SUCCESS

    def _attempt(self, failed: str, step: Callable[[], None]) -> TransitionCallbackReturn:
        """Run a step of a transition and log its error: neither rclpy nor the answer to the client would tell it.

        Args:
            failed: What the node is then, for the log.
            step: The step.
        """
        self.error = None
        try:
            step()
        except Exception as error:
            self.error = error
            # The error of a node that starts by itself ends the process, which prints it.
            if not isinstance(error, Interrupted) and not self._starting:
                line = in_one_line(error) or f"{type(error).__name__}: {error}"
                self.get_logger().error(f"{failed}: {line}")
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def report(self) -> None:
        """Write the report on timing and commands, if requested."""
        self._write_report(self.simulation)

    def _write_report(self, simulation: Simulation | None) -> None:
        if self.parameters.report_file:
            self._report_file.write(make_report(simulation), self.parameters.report_file, self.get_logger())


def _serve(node: SimulationNode, console: Console, stop: Event) -> None:
    """Serve callbacks until a signal or the end of the run."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    failure = None
    status: StatusLine | None = None
    try:
        if node.parameters.autostart:
            node.start()
        if node.parameters.status_line:
            status = StatusLine(console)
        while not stop.is_set():
            _spin_once(executor, node)
            simulation = node.simulation
            if simulation is None or not node.active:
                continue
            runner = simulation.runner
            if simulation.error is not None:
                raise simulation.error
            if runner.failure != failure:
                failure = runner.failure
                if failure is not None:
                    node.get_logger().error(f"paused: {failure}")
            if simulation.end.reached:
                break
            if status is not None:
                status.update(runner.snapshot(), runner.paused)
        if isinstance(node.error, Interrupted):
            raise node.error
        if node.simulation is not None:
            node.simulation.runner.pause()
            while node.simulation.stepping_for_a_client:
                _spin_once(executor, node)
    finally:
        if status is not None:
            status.close()
        if node.simulation is not None:
            node.simulation.stop()
            _tell_clients_of_goals(executor, node)
            node.report()
            if status is not None:
                runner, link = node.simulation.runner, node.simulation.link
                print_report(console, runner.report(), link.reports(), node.simulation.rejections.total)
            node.simulation.close()
        executor.shutdown()


def _tell_clients_of_goals(executor: SingleThreadedExecutor, node: SimulationNode) -> None:
    """Send the results of aborted goals to their clients."""
    assert node.simulation is not None
    if node.simulation.control.open_goals:
        while node.simulation.control.open_goals:
            _spin_once(executor, node)
        # Results follow the ends of goals, and are lost if the middleware shuts down before they are acknowledged.
        farewell = time.monotonic() + _FAREWELL
        while time.monotonic() < farewell:
            _spin_once(executor, node)


def _spin_once(executor: SingleThreadedExecutor, node: SimulationNode) -> None:
    try:
        executor.spin_once(timeout_sec=_SPIN_PERIOD)
    except Exception as error:
        # A bug in one callback must not end the simulation for all its clients.
        node.get_logger().error(f"a request failed: {type(error).__name__}: {error}")
