"""Runs a world, at a rate or as fast as possible, and watches it."""

from __future__ import annotations

import math
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from hydro_sim_core.cli import output
from hydro_sim_core.cli.options import (
    JsonOption,
    PackageDirOption,
    SceneArgument,
    XacroArgOption,
    positive,
    positive_and_finite,
)
from hydro_sim_core.cli.run_report import Pace, RunRecorder, RunReport
from hydro_sim_core.cli.status import StatusLine, compile_progress
from hydro_sim_core.experiments.scenes import open_world
from hydro_sim_core.recording import Recorder, check_new_file
from hydro_sim_core.simulation import FixedRateRunner, World
from hydro_sim_core.simulation.snapshot import take_snapshot
from hydro_sim_core.simulation.timing import Durations

#: How often the main thread looks at a runner, s.
_POLL = 0.02
#: How long a thread that records may keep the interpreter from the one that steps, s; Python's default is 5 ms.
_SWITCH_INTERVAL = 5e-4


def run(
    scene: SceneArgument,
    duration: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Simulated seconds to run; without it, until Ctrl-C.",
            callback=positive_and_finite,
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Simulated seconds a wall-clock second; inf for as fast as possible "
            "(default: 1; inf with --headless)",
            callback=positive,
            show_default=False,
        ),
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="No live line, and as fast as possible unless --rate is given.")
    ] = False,
    from_state: Annotated[
        Path | None,
        typer.Option(
            "--from-state",
            metavar="FILE",
            help="Go on from a state saved of this scene.",
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    save_failed: Annotated[
        Path | None,
        typer.Option(
            "--save-failed",
            metavar="FILE",
            help="Save the state before the first step that does not converge.",
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="Record the run as MCAP.", show_default=False),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Let --record replace a file.")] = False,
    json: JsonOption = None,
    package_dir: PackageDirOption = None,
    xacro_arg: XacroArgOption = None,
) -> None:
    """Run a scene and report on it; Ctrl-C ends the run early, with the report."""
    for path in (json, save_failed):
        if path is not None:
            output.check_writable(path)
    if record is not None:
        check_new_file(record, overwrite)
    console = output.make_console()
    world = open_world(scene, package_dir or (), xacro_arg or ())
    if rate is None:
        rate = math.inf if headless else 1.0
    # Without deadlines nothing is gained by leaving steps out.
    recording = (
        Recorder(record, overwrite=overwrite, complete=math.isinf(rate), drives=True) if record else None
    )
    result = run_world(
        world, duration, rate, console, live=not headless, from_state=from_state, recording=recording
    )
    console.print(result.table())
    if world.failed_step is not None and save_failed is not None:
        world.failed_step.write(save_failed)
        console.print(f"the state before the first step that failed is in {save_failed}", markup=False)
    if json is not None:
        output.write_json(json, result.as_dict())
    if result.error is not None:
        raise FloatingPointError(result.error)


def run_world(
    world: World,
    duration: float | None,
    real_time_factor: float,
    console: Console,
    live: bool,
    from_state: Path | None = None,
    recording: Recorder | None = None,
) -> RunReport:
    """Run a world from its start until its time is up, Ctrl-C or a step that is not finite.

    Args:
        world: The world; it is reset first.
        duration: Simulated time, s; None for no end.
        real_time_factor: Simulated seconds a wall-clock second; infinite for as fast as possible.
        console: Where progress goes.
        live: Show a live line.
        from_state: Saved state to start from.
        recording: Records the run.

    Raises:
        InputError: The saved state does not fit the world, or the recording cannot be begun.
    """
    if from_state is not None:
        world.load_state(from_state)  # refused before anything is compiled
    with compile_progress(console):
        _compile(world)
    if from_state is not None:
        world.load_state(from_state)
    steps = math.inf if duration is None else max(1, round(duration / world.time_step))
    recorder = RunRecorder(world)
    line = StatusLine(console) if live else None
    end = "until Ctrl-C" if duration is None else f"for {duration:g} s"
    console.print(f"running {world.name} {end}", markup=False, highlight=False)
    if recording is not None:
        sys.setswitchinterval(_SWITCH_INTERVAL)
        recording.start(take_snapshot(world, epoch=0), world)
    try:
        with _interruptible() as interrupted:
            if math.isinf(real_time_factor):
                pace = _run_freely(world, steps, recorder, line, interrupted, recording)
            else:
                pace = _run_at_rate(world, steps, real_time_factor, recorder, line, interrupted, recording)
    finally:
        recorded = recording.stop() if recording is not None else None
    if line is not None:
        line.close()
    return recorder.report(world, pace, interrupted.is_set(), recorded)


def _compile(world: World) -> None:
    """Call every kernel that the run needs, so that none compiles against the clock."""
    world.step()
    for name in world.gripper_names:
        world.grip_force(name)
    world.reset()


@contextmanager
def _interruptible() -> Iterator[Event]:
    """Turn the first Ctrl-C into an event, so that the run ends between two steps; the second one kills."""
    event = Event()

    def handle(signum: int, frame: FrameType | None) -> None:
        event.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


def _run_freely(
    world: World,
    steps: float,
    recorder: RunRecorder,
    line: StatusLine | None,
    interrupted: Event,
    recording: Recorder | None,
) -> Pace:
    # One call a step, not one a batch: the report covers every step's time, residual and convergence.
    times = Durations()
    error = None
    began = time.perf_counter()
    while recorder.steps < steps and not interrupted.is_set():
        step_began = time.perf_counter()
        try:
            world.step()
        except FloatingPointError as failure:
            error = str(failure)
            break
        times.add(time.perf_counter() - step_began)
        recorder.observe(world)
        if recording is not None:
            recording.record(take_snapshot(world, epoch=0), world)
        if line is not None and line.due:
            forces = {name: world.grip_force(name) for name in world.gripper_names}
            line.update(world.time, int(world.diagnostics()["faces"]), forces)
    wall = time.perf_counter() - began
    return Pace(wall_time=wall, step_time=times.distribution(), error=error)


def _run_at_rate(
    world: World,
    steps: float,
    real_time_factor: float,
    recorder: RunRecorder,
    line: StatusLine | None,
    interrupted: Event,
    recording: Recorder | None,
) -> Pace:
    # A viewer wants the pace kept on the whole, so late steps are made up for.
    runner = FixedRateRunner(world, real_time_factor, overrun="catch_up")
    first = world.step_count

    def before_step(world: World) -> None:
        if world.step_count > first:
            recorder.observe(world)
        if world.step_count - first + 1 >= steps:
            runner.pause()

    runner.add_command_source(before_step)
    if recording is not None:
        runner.add_listener(lambda snapshot: recording.record(snapshot, world))
    runner.start()
    while not (interrupted.wait(_POLL) or runner.paused or not runner.running):
        if line is not None and line.due:
            snapshot = runner.snapshot()
            line.update(snapshot.time, int(snapshot.diagnostics["faces"]), snapshot.grip_forces)
    runner.stop()
    if runner.error is not None:
        raise runner.error
    if world.step_count - first > recorder.steps:
        recorder.observe(world)
    report = runner.report()
    return Pace(
        wall_time=report.wall_time,
        step_time=report.step_time,
        late_steps=report.overruns,
        skipped_steps=report.skipped_steps,
        late_max=report.late_max,
        error=runner.failure,
    )
