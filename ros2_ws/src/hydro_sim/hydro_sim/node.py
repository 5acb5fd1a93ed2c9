"""The node ``hydro_sim``: loads a scene, steps it at a fixed rate, and connects it to ROS 2.

Three threads: the runner steps the World, plain threads publish snapshots of it, and the main thread serves
subscriptions, services and parameters.
"""

from __future__ import annotations

import math
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rich.console import Console

import hydro_sim_core as hs
from hydro_sim import optional
from hydro_sim.commands import GripperCommands, JointCommands
from hydro_sim.diagnostics import Diagnostics
from hydro_sim.parameters import Parameters, declare_parameters
from hydro_sim.publishers import ContactPublisher, StatePublisher
from hydro_sim.rejections import Rejections
from hydro_sim.services import SimulationServices
from hydro_sim.status import StatusLine, compile_progress, print_report
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner

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
    except RuntimeError as error:
        problem = " ".join(str(error).partition(", at ")[0].split())
        raise InputError("arguments", "--ros-args", problem, "see 'ros2 run --help'") from None


def _simulate(node: Node, parameters: Parameters, console: Console, stop: Event) -> None:
    logger = node.get_logger()
    logger.info(optional.summary())
    with compile_progress(console):
        world = _load(parameters.scene)
        world.step()
        world.reset()
    factor = parameters.real_time_factor or math.inf
    runner = FixedRateRunner(world, factor, parameters.overrun, parameters.start_paused)
    rejections = Rejections(logger)
    _connect_inputs(node, world, runner, parameters, rejections)
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
        _spin(node, runner, parameters, status, stop)
    if status is not None:
        status.close()
        print_report(console, runner.report(), rejections.total)


def _load(scene: str) -> hs.World:
    if Path(scene).suffix in (".urdf", ".xacro"):
        return hs.load_urdf(scene)
    return hs.load_scene(scene)


def _connect_inputs(
    node: Node, world: hs.World, runner: FixedRateRunner, parameters: Parameters, rejections: Rejections
) -> None:
    commands = JointCommands(node, world, runner, _command_joints(world, parameters), rejections)
    for name in world.gripper_names:
        prefix = "gripper" if len(world.gripper_names) == 1 else name
        GripperCommands(node, world, runner, name, prefix, rejections)
    SimulationServices(node, runner, parameters, before_reset=commands.stop_trajectory)


def _command_joints(world: hs.World, parameters: Parameters) -> tuple[str, ...]:
    """Joints that command arrays address: those asked for, or all but the fingers."""
    fingers = {joint for gripper in world.scene.spec.grippers for joint in gripper.joints}
    arm = tuple(name for name in world.actuated_joint_names if name not in fingers)
    asked = tuple(name for name in parameters.command_joints if name)
    for name in asked:
        if name not in world.actuated_joint_names:
            mend = f"use some of {', '.join(world.actuated_joint_names)}"
            raise InputError("parameters", "command_joints", f"'{name}' cannot be commanded", mend)
    if len(set(asked)) != len(asked):
        raise InputError("parameters", "command_joints", "names a joint twice", "name each joint once")
    return asked or arm


def _spin(
    node: Node, runner: FixedRateRunner, parameters: Parameters, status: StatusLine | None, stop: Event
) -> None:
    end = parameters.duration or math.inf
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    failure = None
    try:
        while not stop.is_set():
            executor.spin_once(timeout_sec=_SPIN_PERIOD)
            snapshot = runner.snapshot()
            if status is not None:
                status.update(snapshot, runner.paused)
            if runner.error is not None:
                raise runner.error
            if runner.failure != failure:
                failure = runner.failure
                if failure is not None:
                    node.get_logger().error(f"paused: {failure}")
            if snapshot.time >= end:
                return
    finally:
        executor.shutdown()


if __name__ == "__main__":
    sys.exit(main())
