"""Live view: connects a running simulation with the viewer and its commands."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner, Snapshot, World
from hydro_sim_core.simulation.running.runner import OverrunPolicy
from hydro_sim_core.viewer import commands
from hydro_sim_core.viewer.choices import Choice, Chooser, chosen_of
from hydro_sim_core.viewer.commands import Place
from hydro_sim_core.viewer.frame import Pace, frame_of_snapshot
from hydro_sim_core.viewer.pace import PaceMeter
from hydro_sim_core.viewer.scene import ViewScene, scene_of_world
from hydro_sim_core.viewer.viewer import Viewer, refuse_commands

logger = logging.getLogger(__name__)

#: Frame rate in wall-clock time, Hz.
FRAME_RATE = 30.0
#: Longest time that a frame waits for a step to end, s; there are no steps while paused.
_STEP_TIMEOUT = 0.01
#: Wall-clock time between two evaluations of contact quality, s, and the largest share of time that they may take: an
#: evaluation costs as much as twenty frames, and its result changes slowly.
_QUALITY_PERIOD = 1.0
_QUALITY_SHARE = 0.01


class Controls(Protocol):
    """Protocol of the commands that pages may give; each raises ``InputError`` if it is impossible."""

    def set_joint(self, name: str, position: float) -> None:
        """Drive a joint to a position, rad or m."""

    def set_grip(self, name: str, force: float) -> None:
        """Close a gripper with a force a finger, N."""

    def pull(self, link: str, point: Place, target: Place) -> None:
        """Pull a point of a link, in its frame, towards a target in the world, m."""

    def let_go(self, link: str) -> None:
        """End the pull of a link; nothing if it is not pulled."""

    def pause(self, paused: bool) -> None:
        """Pause or resume stepping."""

    def step(self, steps: int) -> None:
        """Take steps while paused."""

    def reset(self) -> None:
        """Go back to the start."""

    def set_speed(self, factor: float | None) -> None:
        """Simulated seconds a wall-clock second; None for as fast as possible."""

    @property
    def choices(self) -> Sequence[Choice]:
        """What pages may load; none if they may not."""

    @property
    def last_choice(self) -> str | None:
        """Name of what a page chose last; None if none did."""

    def choose(self, name: str) -> None:
        """Begin to load one of the choices in place of what runs."""


class RunnerControls:
    """Controls of a runner that has no other source of commands.

    Args:
        runner: The runner.
        overrun: Policy of the runner when a step is late.
        chooser: Loads other scenes; None where the scene stays.
    """

    def __init__(
        self, runner: FixedRateRunner, overrun: OverrunPolicy = "skip", chooser: Chooser | None = None
    ) -> None:
        self._runner = runner
        self._chooser = chooser
        self._overrun: OverrunPolicy = overrun

    def set_joint(self, name: str, position: float) -> None:
        """See ``Controls``."""
        self._runner.world.check_command({name: position}, "position")
        self._submit(lambda world: world.set_command({name: position}, "position"))

    def set_grip(self, name: str, force: float) -> None:
        """See ``Controls``."""
        self._runner.world.check_gripper(name, force=force)
        self._submit(lambda world: world.set_gripper(name, force=force))

    def pull(self, link: str, point: Place, target: Place) -> None:
        """See ``Controls``."""
        self._runner.world.check_pull(link, point, target)
        self._submit(lambda world: world.pull(link, point, target))

    def let_go(self, link: str) -> None:
        """See ``Controls``."""
        self._submit(lambda world: world.let_go(link))

    def _submit(self, act: Callable[[World], None]) -> None:
        """Have a checked command carried out, unless another world has come since, which it does not fit."""

        def act_if_possible(world: World) -> None:
            with suppress(InputError):
                act(world)

        self._runner.submit(act_if_possible)

    def pause(self, paused: bool) -> None:
        """See ``Controls``."""
        if paused:
            self._runner.pause()
        else:
            self._runner.resume()

    def step(self, steps: int) -> None:
        """See ``Controls``."""
        self._runner.begin_steps(steps)

    def reset(self) -> None:
        """See ``Controls``."""
        try:
            self._runner.reset()
        except RuntimeError as error:
            raise InputError("viewer", "reset", str(error), "start the simulation again") from None

    def set_speed(self, factor: float | None) -> None:
        """See ``Controls``."""
        self._runner.set_pace(math.inf if factor is None else factor, self._overrun)

    @property
    def choices(self) -> Sequence[Choice]:
        """See ``Controls``."""
        return () if self._chooser is None else self._chooser.choices

    @property
    def last_choice(self) -> str | None:
        """See ``Controls``."""
        return None if self._chooser is None else self._chooser.last

    def choose(self, name: str) -> None:
        """See ``Controls``."""
        if self._chooser is None:
            raise InputError("viewer", "choose", "this run keeps its scene", "start a run of the other scene")
        self._chooser.choose(name)


class LiveView:
    """Shows the newest state of a runner at display rate, in a thread of its own.

    No frame is built while no page is connected or nothing changes.

    Args:
        runner: The runner.
        viewer: Started and closed by its owner.
        scale: Colours of pressure, or what chooses those of a world.
        controls: Commands that pages may give; None for none.
    """

    def __init__(
        self,
        runner: FixedRateRunner,
        viewer: Viewer,
        scale: PressureScale | Callable[[World], PressureScale],
        controls: Controls | None = None,
    ) -> None:
        self._runner = runner
        self._viewer = viewer
        self._scale = scale
        self._controls = controls
        self._pace = PaceMeter(runner)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live view", daemon=True)
        self._problems: dict[str, str] = {}
        self._look_again = -math.inf

    def start(self) -> None:
        """Show the scene, accept commands and start the thread."""
        self._follow(self._runner.world)
        if self._controls is not None:
            controls = self._controls
            self._viewer.on_command = lambda command: obey(command, controls)
        self._thread.start()

    def stop(self) -> None:
        """Stop showing and accepting commands; the runner may be stopped before or after."""
        self._viewer.let_go()
        self._viewer.on_command = refuse_commands
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        shown: tuple[object, ...] | None = None
        while self._viewer.alive and not self._stopping.wait(max(0.0, due - time.monotonic())):
            due = max(due + 1.0 / FRAME_RATE, time.monotonic())
            if not self._viewer.watching:
                shown = None
                continue
            # Right after a step, the stepping thread sleeps and does not need the interpreter lock.
            self._runner.wait_for_step(self._runner.snapshot(), timeout=_STEP_TIMEOUT)
            world, snapshot = self._runner.world, self._runner.snapshot()
            if not snapshot.is_of(world):
                continue  # the runner is exchanging worlds
            if world is not self._world:
                self._follow(world)
            state = (
                snapshot,
                self._runner.paused,
                self._runner.real_time_factor,
                self._pace.now(),
            )
            if state != shown:
                shown = state
                self._show(*state)

    def _follow(self, world: World) -> None:
        """Show the scene of a world."""
        self._world = world
        scale = self._scale if isinstance(self._scale, PressureScale) else self._scale(world)
        self._scene: ViewScene = scene_of_world(world, scale, takes_commands=self._controls is not None)
        if self._controls is not None:
            choices = tuple((choice.group, choice.name) for choice in self._controls.choices)
            chosen = chosen_of(self._controls.choices, world, self._controls.last_choice)
            self._scene = replace(self._scene, choices=choices, chosen=chosen)
        self._viewer.show_scene(self._scene)

    def _show(self, snapshot: Snapshot, paused: bool, factor: float, pace: Pace | None) -> None:
        speed = factor if math.isfinite(factor) else None
        problems = self._quality(snapshot)
        self._viewer.show(
            frame_of_snapshot(snapshot, self._scene, paused=paused, speed=speed, pace=pace, problems=problems)
        )

    def _quality(self, snapshot: Snapshot) -> Mapping[str, str]:
        """The most serious reason not to trust each contact, by ``a on b``."""
        began = time.monotonic()
        if began >= self._look_again:
            self._problems = {}
            for warning in snapshot.contact_summary.warnings:
                self._problems.setdefault(warning.bodies, warning.problem)
            took = time.monotonic() - began
            self._look_again = began + max(_QUALITY_PERIOD, took / _QUALITY_SHARE)
        return self._problems


def obey(command: commands.Command, controls: Controls) -> None:
    """Carry out a command of a page.

    Raises:
        InputError: The command is impossible.
    """
    match command:
        case commands.SetJoint():
            controls.set_joint(command.name, command.position)
        case commands.SetGrip():
            controls.set_grip(command.name, command.force)
        case commands.Pull():
            controls.pull(command.link, command.point, command.target)
        case commands.LetGo():
            controls.let_go(command.link)
        case commands.Pause():
            controls.pause(command.paused)
        case commands.Step():
            controls.step(command.steps)
        case commands.Reset():
            controls.reset()
        case commands.SetSpeed():
            controls.set_speed(command.factor)
        case commands.Choose():
            controls.choose(command.name)
        case commands.Seek():
            raise InputError("viewer", "seek", "a running simulation has no time line", "replay a recording")
