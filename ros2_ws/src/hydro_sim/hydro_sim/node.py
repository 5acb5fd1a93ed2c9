"""The node ``hydro_sim``: loads a scene, steps it at a fixed rate, and connects it to ROS 2.

Three threads: the runner steps the World, plain threads publish snapshots of it, and the main thread serves
subscriptions, services and parameters.
"""

from __future__ import annotations

import math
import signal
import sys
from contextlib import ExitStack
from threading import Event

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rich.console import Console

from hydro_sim import optional
from hydro_sim.control.commands import GripperCommands, JointCommands
from hydro_sim.diagnostics import Diagnostics
from hydro_sim.parameters import Parameters, declare_parameters
from hydro_sim.publishing.publishers import ContactPublisher, StatePublisher
from hydro_sim.rejections import Rejections
from hydro_sim.simulation_control.services import SimulationServices
from hydro_sim.status import StatusLine, compile_progress, print_report
from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments.scenes import open_world
from hydro_sim_core.simulation import FixedRateRunner, World

_NODE_NAME = "hydro_sim"
_SPIN_PERIOD = 0.05  # s, how late a signal or the end of the run is noticed at most
_SWITCH_INTERVAL = 5e-4  # s


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal or the end of ``duration``; the exit status."""
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    # The stepping thread needs the interpreter for a moment in every step; Python's default lets another
    # thread keep it for 5 ms.
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        node = _make_node(sys.argv if args is None else args)
        try:
            _simulate(node, declare_parameters(node), Console(), stop)
        finally:
            node.destroy_node()
    except (InputError, FloatingPointError) as error:
        print(f"hydro_sim: error: {error}", file=sys.stderr)
        return 1
    finally:
        rclpy.try_shutdown()
    return 0


def _make_node(args: list[str]) -> Node:
    try:
        # rclpy's own signal handlers would invalidate the context under the publishing threads.
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        return Node(_NODE_NAME, automatically_declare_parameters_from_overrides=True)
    except ValueError as error:
        if "PARAMETER_NOT_SET" not in str(error):
            raise
        # To ROS an empty list has no type; rclpy does not say which parameter it is.
        mend = "leave the parameter out to have its default"
        raise InputError("arguments", "--ros-args", "a parameter is an empty list", mend) from None
    except RuntimeError as error:
        problem = " ".join(str(error).partition(", at ")[0].split())
        raise InputError("arguments", "--ros-args", problem, "see 'ros2 run --help'") from None


def _simulate(node: Node, parameters: Parameters, console: Console, stop: Event) -> None:
    logger = node.get_logger()
    logger.info(optional.summary())
    with compile_progress(console):
        world = open_world(parameters.scene)
        world.step()
        world.reset()
    factor = parameters.real_time_factor or math.inf
    runner = FixedRateRunner(world, factor, parameters.overrun, parameters.start_paused)
    rejections = Rejections(logger)
    end = EndOfRun(runner, world, parameters.duration)
    services = _connect_inputs(node, world, runner, parameters, rejections)
    Diagnostics(node, runner, factor, rejections)
    publishers = (StatePublisher(node, world, runner, parameters), ContactPublisher(node, runner, parameters))
    logger.info(
        f"scene '{world.name}': {len(world.joint_names)} joints, {len(world.contact_pairs)} contact pairs, "
        f"time step {1e3 * world.time_step:g} ms"
    )

    status = StatusLine(console) if parameters.status_line else None
    with ExitStack() as running:
        for part in (runner, *publishers):
            part.start()
            running.callback(part.stop)
        _spin(node, runner, services, end, status, stop)
    if status is not None:
        status.close()
        print_report(console, runner.report(), rejections.total)


def _connect_inputs(
    node: Node, world: World, runner: FixedRateRunner, parameters: Parameters, rejections: Rejections
) -> SimulationServices:
    joints = _command_joints(world, parameters)
    commands = JointCommands(node, world, runner, joints, rejections, parameters.builtin_controllers)
    for name in world.gripper_names:
        prefix = "gripper" if len(world.gripper_names) == 1 else name
        GripperCommands(node, world, runner, name, prefix, rejections)
    return SimulationServices(node, runner, parameters, before_reset=commands.stop_trajectory)


def _command_joints(world: World, parameters: Parameters) -> tuple[str, ...]:
    """Joints that command arrays address: those asked for, or all but those that move fingers."""
    arm = tuple(name for name in world.actuated_joint_names if name not in world.gripper_joint_names)
    asked = tuple(name for name in parameters.command_joints if name)
    for name in asked:
        if name not in world.actuated_joint_names:
            names = world.actuated_joint_names
            mend = (
                f"use some of {', '.join(names)}" if names else "leave it out; the scene has no such joints"
            )
            raise InputError("parameters", "command_joints", f"'{name}' cannot be commanded", mend)
    if len(set(asked)) != len(asked):
        raise InputError("parameters", "command_joints", "names a joint twice", "name each joint once")
    return asked or arm


class EndOfRun:
    """Pauses the runner exactly when the simulated time asked for is over.

    Args:
        runner: The runner.
        world: Asked for its time step.
        duration: Simulated time to run, s; 0 for no end.
    """

    def __init__(self, runner: FixedRateRunner, world: World, duration: float) -> None:
        self._runner = runner
        self._last_step = max(1, round(duration / world.time_step)) if duration else math.inf
        runner.add_command_source(self._before_step)

    @property
    def reached(self) -> bool:
        """Whether the last step is done."""
        return self._runner.snapshot().step >= self._last_step

    def _before_step(self, world: World) -> None:
        if world.step_count + 1 >= self._last_step:
            self._runner.pause()


def _spin(
    node: Node,
    runner: FixedRateRunner,
    services: SimulationServices,
    end: EndOfRun,
    status: StatusLine | None,
    stop: Event,
) -> None:
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    failure = None
    try:
        while not (stop.is_set() or end.reached):
            executor.spin_once(timeout_sec=_SPIN_PERIOD)
            if runner.error is not None:
                raise runner.error
            if runner.failure != failure:
                failure = runner.failure
                if failure is not None:
                    node.get_logger().error(f"paused: {failure}")
            if status is not None:
                status.update(runner.snapshot(), runner.paused and not end.reached)
        runner.pause()
        while services.stepping:
            executor.spin_once(timeout_sec=_SPIN_PERIOD)
    finally:
        executor.shutdown()


if __name__ == "__main__":
    sys.exit(main())
