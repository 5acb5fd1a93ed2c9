"""Run of a world, at a rate or as fast as possible, with progress, recording, viewer and film."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Annotated

import typer
from rich.console import Console

from hydro_sim_core.cli import output
from hydro_sim_core.cli.interrupts import interruptible
from hydro_sim_core.cli.options import (
    FRAME_RATE,
    PICTURE_SIZE,
    CameraOption,
    FrameRateOption,
    FullScaleOption,
    GroundOption,
    IgnoreOption,
    PackageDirOption,
    RepairOption,
    SceneArgument,
    SetOption,
    SizeOption,
    SrdfOption,
    ViewAddressOption,
    ViewPortOption,
    ViewTokenOption,
    XacroArgOption,
    given_scale,
    positive,
    positive_and_finite,
    refuse_without,
    steps_of_duration,
    viewer_options,
)
from hydro_sim_core.cli.outputs import (
    REPLACE,
    REPORT,
    JsonOption,
    OverwriteOption,
    files_to_write,
    optional,
    out_option,
)
from hydro_sim_core.cli.run_report import Pace, RunRecorder, RunReport
from hydro_sim_core.cli.status import StatusLine
from hydro_sim_core.cli.world_film import WorldFilm
from hydro_sim_core.cli.worlds import opened, tell_of_rest
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.drawing.chosen_scale import scale_of_world
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.messages.view import View
from hydro_sim_core.pictures.film import FILM_SUFFIXES, check_film, check_frame_count, open_page_film
from hydro_sim_core.recording import FileLimits, Recorder, check_new_recording
from hydro_sim_core.simulation import FixedRateRunner, Snapshot, World
from hydro_sim_core.simulation.running.realtime import SWITCH_INTERVAL
from hydro_sim_core.simulation.running.timing import Durations
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from hydro_sim_core.viewer.live import LiveView, RunnerControls
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions

#: Period at which the main thread polls a runner, s.
_POLL = 0.02
_WRITTEN = {"recording": (".mcap",), "film": FILM_SUFFIXES, "report": REPORT}

DurationOption = Annotated[
    float | None,
    optional("Simulated seconds to run; without it, until Ctrl-C.", "S", callback=positive_and_finite),
]
RateOption = Annotated[
    float | None,
    optional(
        "Simulated seconds a wall-clock second; inf for as fast as possible "
        "(default: 1; inf with --headless)",
        "X",
        callback=positive,
    ),
]
HeadlessOption = Annotated[
    bool, typer.Option("--headless", help="No live line, and as fast as possible unless --rate is given.")
]
FromStateOption = Annotated[
    Path | None,
    optional("Go on from a state saved of this scene.", "FILE", "--from-state", dir_okay=False),
]
SaveFailedOption = Annotated[
    Path | None,
    optional(
        "Save the state before the first step that does not converge.",
        "FILE",
        "--save-failed",
        dir_okay=False,
    ),
]
MaxSizeOption = Annotated[
    float,
    typer.Option(
        "--record-max-size",
        metavar="MB",
        help="Go on with the recording in another file when one is so large.",
        callback=positive,
        show_default=False,
    ),
]
MaxDurationOption = Annotated[
    float,
    typer.Option(
        "--record-max-duration",
        metavar="S",
        help="The same after so much simulated time.",
        callback=positive,
        show_default=False,
    ),
]
OutOption = Annotated[list[Path] | None, out_option(_WRITTEN)]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print neither progress nor report.")]
ViewOption = Annotated[bool, typer.Option("--view", help="Show the run in a browser, which may command it.")]


def run(
    context: typer.Context,
    scene: SceneArgument,
    duration: DurationOption = None,
    rate: RateOption = None,
    headless: HeadlessOption = False,
    from_state: FromStateOption = None,
    save_failed: SaveFailedOption = None,
    out: OutOption = None,
    overwrite: OverwriteOption = False,
    record_max_size: MaxSizeOption = math.inf,
    record_max_duration: MaxDurationOption = math.inf,
    view: ViewOption = False,
    view_port: ViewPortOption = None,
    view_address: ViewAddressOption = None,
    view_token: ViewTokenOption = None,
    fps: FrameRateOption = FRAME_RATE,
    size: SizeOption = PICTURE_SIZE,  # type: ignore[assignment]  # the option's parser reads it
    camera: CameraOption = "iso",
    full_scale: FullScaleOption = None,
    json: JsonOption = None,
    quiet: QuietOption = False,
    package_dir: PackageDirOption = None,
    xacro_arg: XacroArgOption = None,
    srdf: SrdfOption = None,
    ignore: IgnoreOption = None,
    ground: GroundOption = False,
    repair: RepairOption = "warn",
    setting: SetOption = None,
) -> None:
    """Run a scene and report on it; Ctrl-C ends the run early, with the report."""
    written = files_to_write(out, overwrite, _WRITTEN, json, save_failed)
    record, video, report = map(written.get, _WRITTEN)
    _refuse_what_does_not_fit(context, record, video)
    limits = _limits(record, overwrite, record_max_size, record_max_duration)
    if video is not None:
        check_film(video, fps)
    scale = given_scale(full_scale)
    console = output.make_console(report, quiet)
    world = opened(scene, package_dir, xacro_arg, srdf, setting, console, ground, repair, ignore)
    tell_of_rest(world, scene, console)
    scale = scale or (scale_of_world(world) if view or video or record else PressureScale())
    _check_duration(duration, world.time_step, video, fps)
    rate = rate or (math.inf if headless or video is not None else 1.0)
    recording = _recorder(record, overwrite, rate, limits, scale)
    with ExitStack() as stack:
        page = film = None
        if view:
            page = _started_page(stack, viewer_options(view_port, view_address, view_token), context, record)
        if video is not None:
            add = stack.enter_context(open_page_film(video, fps, scale, size, camera))
            film = WorldFilm(world, scale, fps, add)
        result = run_world(
            world, duration, rate, console, not (headless or quiet), from_state, recording, page, film
        )
    _save_failed_step(world, save_failed, console)
    _tell(result, report, console)


def _tell(result: RunReport, report: Path | None, console: Console) -> None:
    """Print and write what came of a run, and raise if it failed."""
    console.print(result.table())
    if report is not None:
        output.write_json(report, result.as_dict())
    if result.error is not None:
        raise FloatingPointError(result.error)


def _limits(record: Path | None, overwrite: bool, size: float, duration: float) -> FileLimits:
    """Limits of a recording's files, of so many MB and s; refuses a recording that cannot be written."""
    limits = FileLimits(1e6 * size, duration)
    if record is not None:
        check_new_recording(record, 0, overwrite, limits, REPLACE)
    return limits


def _recorder(
    record: Path | None, overwrite: bool, rate: float, limits: FileLimits, scale: PressureScale
) -> Recorder | None:
    if record is None:
        return None
    # Without deadlines there is no reason to leave steps out of the recording.
    complete = math.isinf(rate)
    return Recorder(
        record, view=View(scale=scale), overwrite=overwrite, complete=complete, drives=True, limits=limits
    )


def _check_duration(duration: float | None, time_step: float, video: Path | None, fps: float) -> None:
    """Refuse a run with too many steps or frames, or without any."""
    if duration is None:
        return
    steps_of_duration(duration, time_step)
    if video is not None:
        frames = duration * min(fps, 1.0 / time_step)
        check_frame_count(video, frames, "give a lower --fps or a shorter --duration")


def _save_failed_step(world: World, file: Path | None, console: Console) -> None:
    """Write the state before the first failed step, if there is one and it is asked for."""
    if world.failed_step is not None and file is not None:
        world.failed_step.write(file)
        console.print(f"the state before the first step that failed is in {output.shown(file)}")


def _refuse_what_does_not_fit(context: typer.Context, record: Path | None, video: Path | None) -> None:
    """Refuse options that have no effect without another one, or that exclude each other."""
    given = context.params
    if not given["view"]:
        refuse_without("--view", context, "view_port", "view_address", "view_token")
    elif given["quiet"]:
        raise typer.BadParameter("--view prints the address of the page, which --quiet would hide")
    if record is None:
        refuse_without("a recording (--out FILE.mcap)", context, "record_max_size", "record_max_duration")
    if video is None:
        refuse_without("a film (--out FILE.mp4)", context, "fps", "size", "camera")
        if not given["view"]:
            refuse_without("--view or a film", context, "full_scale")
    elif given["duration"] is None or given["rate"] is not None or given["view"]:
        raise typer.BadParameter("a film needs --duration, and is made without --rate and --view")


@dataclass(frozen=True)
class RunPage:
    """Settings of a page that shows a run.

    Attributes:
        viewer: Its server, which is started.
        scale: Colour scale, or what chooses that of a world.
        offers_scenes: Whether another scene may be loaded.
    """

    viewer: Viewer
    scale: PressureScale | Callable[[World], PressureScale]
    offers_scenes: bool = False


def _started_page(
    stack: ExitStack, options: ViewerOptions, context: typer.Context, record: Path | None
) -> RunPage:
    """A page that is served until the stack ends, for a run with these options."""
    given = context.params
    # Another scene may be loaded into a run that has no end and makes no file of one scene.
    offers_scenes = all(value is None for value in (given["duration"], given["save_failed"], record))
    page = RunPage(Viewer(options), given_scale(given["full_scale"]) or scale_of_world, offers_scenes)
    stack.callback(page.viewer.close)
    page.viewer.start()
    return page


def run_world(
    world: World,
    duration: float | None,
    real_time_factor: float,
    console: Console,
    live: bool,
    from_state: Path | None = None,
    recording: Recorder | None = None,
    page: RunPage | None = None,
    film: WorldFilm | None = None,
) -> RunReport:
    """Run a world from its start until the end of the duration, Ctrl-C or a step that is not finite.

    A run without a duration goes on after such a step if there is a page on which it can be reset.

    Args:
        world: The world; it is reset first.
        duration: Simulated time, s; None for no end.
        real_time_factor: Simulated seconds a wall-clock second; infinite for as fast as possible.
        console: Output for progress.
        live: Show a status line that is updated in place.
        from_state: Saved state to start from.
        recording: Records the run.
        page: Shows the run, and may command it.
        film: Makes a film of the run, which must be as fast as possible.

    Raises:
        InputError: The saved state does not fit the world, or the recording cannot be begun.
    """
    if from_state is not None:
        world.load_state(from_state)  # fails before anything is compiled
    with compile_progress(console):
        _compile(world)
    if from_state is not None:
        world.load_state(from_state)
    steps = math.inf if duration is None else steps_of_duration(duration, world.time_step)
    recorder = RunRecorder(world)
    line = StatusLine(console, world.grip_units) if live else None
    end = "until Ctrl-C" if duration is None else f"for {duration:g} s"
    console.print(f"running {output.shown(world.name)} {end}", highlight=False)
    if page is not None:
        console.print(f"watch it at {page.viewer.url}", markup=False, highlight=False, soft_wrap=True)
    if recording is not None or page is not None:
        sys.setswitchinterval(SWITCH_INTERVAL)
    if recording is not None:
        recording.start(take_snapshot(world, epoch=0), world)
    try:
        with interruptible() as interrupted:
            if math.isinf(real_time_factor) and page is None:
                pace = _run_freely(world, steps, recorder, line, interrupted, recording, film)
            else:
                # A viewer needs the right average pace, so late steps are caught up with.
                runner = FixedRateRunner(world, real_time_factor, overrun="catch_up")
                pace = _run_at_rate(runner, steps, recorder, line, interrupted, recording, page)
                world = runner.world  # a page may have loaded another one
    finally:
        recorded = recording.stop() if recording is not None else None
    if line is not None:
        line.close()
    return recorder.report(world, pace, interrupted.is_set(), recorded)


def _compile(world: World) -> None:
    """Call every kernel that the run needs, so that none is compiled during timed steps."""
    world.step()
    for name in world.gripper_names:
        world.grip_force(name)
    world.reset()


def _run_freely(
    world: World,
    steps: float,
    recorder: RunRecorder,
    line: StatusLine | None,
    interrupted: Event,
    recording: Recorder | None,
    film: WorldFilm | None,
) -> Pace:
    # One call a step, not one a batch: the report covers every step's time, residual and convergence.
    times = Durations()
    error = None
    began = time.perf_counter()
    if film is not None:
        film.observe(world)
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
        if film is not None:
            film.observe(world)
        if line is not None and line.due:
            forces = {name: world.grip_force(name) for name in world.gripper_names}
            line.update(world.time, int(world.diagnostics()["faces"]), forces)
    wall = time.perf_counter() - began
    return Pace(wall_time=wall, step_time=times.distribution(), error=error)


def _run_at_rate(
    runner: FixedRateRunner,
    steps: float,
    recorder: RunRecorder,
    line: StatusLine | None,
    interrupted: Event,
    recording: Recorder | None,
    page: RunPage | None,
) -> Pace:
    last = runner.snapshot()
    before, times_before = runner.report(), runner.pace.step_time.copy()

    def begin(world: World) -> None:
        """Begin anew with another scene: its steps are to be told beside its own wall time."""
        nonlocal before, times_before
        recorder.begin(world)
        before, times_before = runner.report(), runner.pace.step_time.copy()

    def after_step(snapshot: Snapshot) -> None:
        nonlocal last
        # A reset from the page is not a step.
        if (snapshot.epoch, snapshot.step) == (last.epoch, last.step + 1):
            recorder.observe(runner.world)
        last = snapshot
        if recorder.steps >= steps:
            runner.pause()
        if recording is not None:
            recording.record(snapshot, runner.world)

    runner.add_listener(after_step)
    stays_when_failed = page is not None and math.isinf(steps)
    with _shown(runner, page, begin):
        runner.start()
        while runner.running and recorder.steps < steps and not interrupted.wait(_POLL):
            if runner.failure is not None and not stays_when_failed:
                break
            if line is not None and line.due:
                snapshot = runner.snapshot()
                line.update(snapshot.time, int(snapshot.diagnostics["faces"]), snapshot.grip_forces)
        runner.stop()
    if runner.error is not None:
        raise runner.error
    report = runner.report()
    return Pace(
        wall_time=report.wall_time - before.wall_time,
        step_time=runner.pace.step_time.since(times_before).distribution(),
        late_steps=report.overruns - before.overruns,
        skipped_steps=report.skipped_steps - before.skipped_steps,
        times_given_up=report.times_given_up - before.times_given_up,
        late_max=report.late_max,
        error=runner.failure,
    )


@contextmanager
def _shown(runner: FixedRateRunner, page: RunPage | None, begin: Callable[[World], None]) -> Iterator[None]:
    """Show a runner on the page, if one is given; ``begin`` is told of another scene that the page loads."""
    if page is None:
        yield
        return
    from hydro_sim_core.cli.choosing import make_chooser  # runs without a page do not need the tasks

    chooser = make_chooser(runner, page.viewer, _compile, begin) if page.offers_scenes else None
    controls = RunnerControls(runner, overrun="catch_up", chooser=chooser)
    live = LiveView(runner, page.viewer, page.scale, controls)
    live.start()
    try:
        yield
    finally:
        live.stop()
