"""A running World and everything that connects it to ROS, from configuring to cleaning up."""

from __future__ import annotations

import gc
import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from rclpy.node import Node

from hydro_sim.controllers.manager import Control
from hydro_sim.diagnostics import Diagnostics
from hydro_sim.hil.link import CommandLink
from hydro_sim.hil.lock_step import LockStepWatch
from hydro_sim.hil.priority import Priority
from hydro_sim.hil.receiver import Receiver
from hydro_sim.hil.silence import SilenceWatch
from hydro_sim.parameters import LOCK_STEP, Parameters
from hydro_sim.publishing.publishers import ContactPublisher, StatePublisher
from hydro_sim.publishing.streams import scale_of
from hydro_sim.recording.node_recorder import NodeRecorder
from hydro_sim.recording.replay import Replay
from hydro_sim.rejections import Rejections
from hydro_sim.simulation_control.control import SimulationControl
from hydro_sim.simulation_control.services import ClientServices
from hydro_sim.simulation_control.waiting import Calls, Waiting
from hydro_sim.viewing.controls import NodeControls
from hydro_sim.viewing.node_viewer import NodeViewer
from hydro_sim_core.durations import steps_of_run
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner, World
from hydro_sim_core.simulation.running.realtime import set_aside_what_lives
from hydro_sim_core.viewer.viewer import ServerDied

#: Parameters whose changes are passed to the runner.
_PACE = {"real_time_factor", "overrun", "max_backlog"}


class Simulation:
    """Runs a World and serves it to ROS.

    Attributes:
        parameters: The parameters.
        runner: Runner of the World.
        rejections: Counter of commands that could not be carried out.
        link: Command link.
        priority: Priority of the stepping thread.
        control: Controllers.
        end: End of the run.

    Args:
        node: Owner of all ROS entities.
        parameters: Current values, followed live.
        world: A loaded and compiled World.
        quit: Ends the process.
        recorded: As for ``NodeRecorder``.

    Raises:
        InputError: A parameter does not fit the scene. The node then has no entities left.
    """

    def __init__(
        self,
        node: Node,
        parameters: Parameters,
        world: World,
        quit: Callable[[], None],
        recorded: Counter[str],
    ) -> None:
        self._node = node
        self.parameters = parameters
        self.rejections = Rejections(node.get_logger())
        self._recorder: NodeRecorder | None = None
        self._running = ExitStack()
        self._entities = ExitStack()
        self._services = ExitStack()
        with _destroyed_with(self._services, node):
            self.priority = Priority(node, parameters)
        try:
            self._begin(world, parameters.start_paused)
        except InputError:
            self._services.close()
            raise
        with ExitStack() as undo:
            undo.callback(self._entities.close)
            with _destroyed_with(self._services, node):
                waiting = Waiting(node)
                self.operations = SimulationControl(
                    *(self, waiting, quit, parameters.world_frame),
                    lambda: parameters.reset_time,
                    self._tell_of_jump,
                )
                self._clients = ClientServices(node, self.operations, parameters, waiting)
                self._calls = Calls(node, waiting)
            self._services.callback(self._clients.close)
            undo.callback(self._services.close)
            self._viewer: NodeViewer | None = None
            if parameters.viewer:
                self._viewer = self._serve_page(undo)
            self._show()
            if parameters.record:  # last, as it makes a file
                self._recorder = NodeRecorder(node, self.runner, self.link, parameters, recorded, self._scale)
            undo.pop_all()

    def _serve_page(self, undo: ExitStack) -> NodeViewer | None:
        """Start the viewer; None if its server dies, which does not end the simulation."""
        try:
            viewer = NodeViewer(self._node, self.parameters)
        except ServerDied as death:
            self._node.get_logger().warning(f"{death}; the simulation goes on without the page")
            return None
        undo.callback(viewer.close)
        return viewer

    def _begin(self, world: World, paused: bool) -> None:
        """Make everything that depends on the World."""
        node, parameters = self._node, self.parameters
        last_step = _last_step(parameters.duration, world)
        self._scale = scale_of(parameters, world)  # kept when the World is exchanged for an edited one
        self.runner = FixedRateRunner(
            world,
            parameters.pace,
            parameters.overrun,
            paused,
            lock_step=parameters.mode == LOCK_STEP,
            thread_setup=self.priority.obtain,
            max_backlog=parameters.max_backlog,
            shared_name=parameters.shared_memory,
        )
        self.priority.follow(self.runner)
        self._entities.callback(self.runner.close)
        self.end = EndOfRun(self.runner, last_step)
        with ExitStack() as undo:
            undo.callback(self._entities.close)
            # What comes later is destroyed after the controllers, too, which may still need it for their end.
            self._late = self._entities.enter_context(ExitStack())
            with _destroyed_with(self._late, node):
                self._connect(world)
            self._entities.callback(self._states.close)
            undo.pop_all()
        node.get_logger().info(
            f"scene '{world.name}': {len(world.joint_names)} joints, {len(world.contact_pairs)} contact pairs, "
            f"time step {1e3 * world.time_step:g} ms"
        )

    def _show(self) -> None:
        """Connect the viewer's pages with the runner."""
        if self._viewer is not None:
            parts = self._node, self.runner, self.link, self.operations, self._calls
            controls = NodeControls(*parts, self.parameters.scene, self._viewer.tell_loading)
            self._viewer.show(self.runner, controls, self._scale)
            self._entities.callback(self._viewer.leave)

    # --- another World

    def exchange_world(self, world: World, *, carry_over: bool) -> None:
        """Continue with a World of an edited scene, in the old World's state or at its own start.

        Raises:
            RuntimeError: The stepping thread failed; the old World stays.
        """

        def settle(old: World, new: World) -> None:
            if carry_over:
                new.take_over(old)
            self.control.world_changed(new)

        running = self.runner.running
        if running:
            self._states.thread.stop()  # its messages have the layout of the old World
        try:
            self.runner.exchange(world, settle, anew=not carry_over)
            self._states.world_changed(world)
            self._contacts.world_changed(world)
        finally:
            if running:
                self._states.thread.start()
        with _destroyed_with(self._late, self._node):
            self.control.serve_new_grippers(world)

    def replace_world(self, world: World) -> None:
        """Restart with any World, paused.

        Raises:
            InputError: A parameter does not fit the scene, or a recording is running; the old World remains, paused.
        """
        if self._recorder is not None:
            mend = "end the recording first, or start a node for each scene"
            raise InputError("parameters", "record", "a recording is of one scene", mend)
        running, before = self.runner.running, self.runner.world
        self.stop()
        self._entities.close()
        try:
            self._begin(world, paused=True)
        except InputError:
            self._begin(before, paused=True)
            raise
        finally:
            self._show()
            if running:
                self.start()

    def _connect(self, world: World) -> None:
        node, parameters, runner = self._node, self.parameters, self.runner
        # Sources are called in the order in which they are added: the replay must come before the controllers.
        replay = Replay(node, runner, self.rejections)
        self._receiver = Receiver(node)
        self._entities.callback(self._receiver.close)
        self.link = CommandLink(node, self._receiver, runner, parameters, self.rejections)
        joints = _command_joints(world, parameters)
        self.control = Control(node, world, runner, self.link, parameters, self.rejections, joints)
        self._entities.callback(self.control.close)
        if parameters.mode == LOCK_STEP and parameters.lock_step_interface not in self.link.reports():
            problem = f"'{parameters.lock_step_interface}' is no interface of this scene"
            mend = f"use one of {', '.join(self.link.reports())}"
            raise InputError("parameters", "lock_step_interface", problem, mend)
        if parameters.replay:
            replay.load(parameters, self.link, joints)
        if self.link.lock_step is not None:
            LockStepWatch(node, runner, parameters, self.link.lock_step)
        SilenceWatch(node, runner, self.link, parameters)
        self._states = StatePublisher(node, world, runner, parameters, self._scale)
        Diagnostics(node, runner, parameters, self.rejections, self.link, self._states.unsent, self.priority)
        self._contacts = ContactPublisher(node, runner, parameters, self._scale)
        self._threads = (self._states.thread, self._contacts.thread)

    def _tell_of_jump(self, before: float) -> None:
        """Log what a time that went back means to those who follow it."""
        log = self._node.get_logger()
        # The node's own controllers know of it; those of others are the user's business.
        (log.info if self.parameters.builtin_controllers else log.warning)(
            f"simulated time went back from {before:.3f} s to {self.runner.snapshot().time:.3f} s: whoever sleeps by "
            f"/clock, such as a controller_manager, stands still until it is {before:.3f} s again; restart it, and set "
            "reset_time false for resets that leave the time alone"
        )

    @property
    def stepping_for_a_client(self) -> bool:
        """Whether a request for steps has not been answered yet."""
        return self._clients.stepping

    @property
    def serving(self) -> bool:
        """Whether any request to the simulation has not been answered yet."""
        return self._clients.serving

    @property
    def error(self) -> BaseException | None:
        """Exception that ended one of the threads, or None."""
        return next((part.error for part in (self.runner, *self._threads) if part.error is not None), None)

    @property
    def building(self) -> bool:
        """Whether another World is being made, so that the compiler may run in a thread."""
        return self.operations.building

    def start(self) -> None:
        """Step and publish, from the start or from the state at ``stop``."""
        set_aside_what_lives()
        self._running.callback(gc.unfreeze)
        for part in (self.runner, self._receiver, *self._threads):
            part.start()
            self._running.callback(part.stop)

    def stop(self) -> None:
        """End stepping and publishing; the World keeps its state."""
        self._running.close()
        self.control.abort_goals("the simulation was stopped")

    def close(self) -> None:
        """Destroy all entities on the node, also where a part fails."""
        with ExitStack() as ends:
            if self._viewer is not None:
                ends.callback(self._viewer.close)
            ends.callback(self._entities.close)
            if self._recorder is not None:
                ends.callback(self._recorder.stop)
            ends.callback(self._services.close)
            self.stop()

    def parameters_changed(self, names: set[str]) -> None:
        """Pass changed parameters to the parts that do not read them continuously."""
        self.runner.submit(lambda world: None)  # how long the compiled loop may go on depends on them
        if names & _PACE:
            parameters = self.parameters
            self.runner.set_pace(parameters.pace, parameters.overrun, parameters.max_backlog)


@contextmanager
def _destroyed_with(stack: ExitStack, node: Node) -> Iterator[None]:
    """Destroy all entities created on ``node`` within this context when ``stack`` closes."""
    kinds: dict[str, Callable[[Any], object]] = {
        "publishers": node.destroy_publisher,
        "subscriptions": node.destroy_subscription,
        "services": node.destroy_service,
        "clients": node.destroy_client,
        "timers": node.destroy_timer,
        "guards": node.destroy_guard_condition,
    }
    before = {kind: set(getattr(node, kind)) for kind in kinds}
    try:
        yield
    finally:
        for kind, destroy in kinds.items():
            for entity in set(getattr(node, kind)) - before[kind]:
                stack.callback(destroy, entity)


def _command_joints(world: World, parameters: Parameters) -> tuple[str, ...]:
    """Joints that command arrays address: those of the parameter, or all that do not move fingers."""
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


def _last_step(duration: float, world: World) -> float:
    """Number of the last step of the requested simulated time, s; infinite for 0.

    Raises:
        InputError: The time is less than a step of the scene.
    """
    return steps_of_run(duration, world.time_step, "parameters", "duration") if duration else math.inf


class EndOfRun:
    """Pauses the runner exactly at the end of the requested simulated time.

    Args:
        runner: The runner.
        last_step: Number of its last step; infinite for no end.
    """

    def __init__(self, runner: FixedRateRunner, last_step: float) -> None:
        self._runner = runner
        self._last_step = last_step
        runner.add_command_source(self._before_step, lambda world: self._last_step - 1 - world.step_count)

    @property
    def reached(self) -> bool:
        """Whether the last step is done."""
        return self._runner.snapshot().step >= self._last_step

    def _before_step(self, world: World) -> None:
        if world.step_count + 1 >= self._last_step:
            self._runner.pause()
