"""Tasks on the command line: a trial to watch, or many with different seeds."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.interrupts import CTRL_C_STATUS, CtrlC
from hydro_sim_core.cli.options import (
    FRAME_RATE,
    PICTURE_SIZE,
    CameraOption,
    FrameRateOption,
    FullScaleOption,
    SetOption,
    SizeOption,
    refuse_without,
    set_values,
)
from hydro_sim_core.cli.outputs import (
    PICTURE,
    REPORT,
    JsonOption,
    OverwriteOption,
    files_to_write,
    from_here,
    optional,
    out_option,
)
from hydro_sim_core.cli.status import StatusLine
from hydro_sim_core.cli.trial_page import TrialPage, somebody_sits_there
from hydro_sim_core.cli.world_film import WorldFilm
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.drawing.chosen_scale import scale_of_world
from hydro_sim_core.drawing.figures import require_matplotlib
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.pictures.files import write_picture
from hydro_sim_core.pictures.film import FILM_SUFFIXES, check_film, check_frame_count, open_page_film
from hydro_sim_core.pictures.page_camera import CameraName, PictureSize
from hydro_sim_core.pictures.plot_trials import plot_trials
from hydro_sim_core.pictures.world_camera import WorldCamera
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import Trial, run_trial, tasks
from hydro_sim_core.tasks.attempt import AFTERWARDS, INTERRUPTED
from hydro_sim_core.tasks.many_trials import run_trials
from hydro_sim_core.tasks.registry import find_told_task
from hydro_sim_core.tasks.task import Task
from hydro_sim_core.tasks.task_check import check_shows
from hydro_sim_core.tasks.trial import drawn_in, scene_of

_WRITTEN = {"film": FILM_SUFFIXES, "picture": PICTURE, "report": REPORT}
_OF_PICTURES = ("fps", "size", "camera", "full_scale", "solid")
SeedsOption = Annotated[
    int | None,
    optional(
        "Try it with seeds 0 to COUNT - 1 and tell how often it succeeds; --out FILE.png plots where.",
        "COUNT",
        "--seeds",
        min=1,
    ),
]
JobsOption = Annotated[
    int | None, optional("Processes for --seeds; by default one a processor.", "N", "--jobs", min=1)
]
SolidOption = Annotated[
    bool,
    typer.Option("--solid", help="Draw bodies as they look; without it they are glass at their contacts."),
]


@dataclass(frozen=True)
class Pictures:
    """What is filmed and drawn of a trial.

    Attributes:
        film: File of the film; None for none.
        picture: File of a picture of the end; None for none.
        size: Of both, pixels.
        camera: Their view.
        rate: Frames a simulated second of the film.
        full_scale: Pressure of the brightest colour, kPa; None for one chosen from the scene.
        solid: Whether bodies hide their contacts.
    """

    film: Path | None
    picture: Path | None
    size: PictureSize
    camera: CameraName
    rate: float
    full_scale: float | None
    solid: bool

    def check(self, task: Task) -> None:
        """Check what can be checked before the trial.

        Raises:
            InputError: The film cannot be written, or would have too many frames.
        """
        if self.film is not None:
            check_film(self.film, self.rate)
            frames = (task.duration + AFTERWARDS) * min(self.rate, 1.0 / task.period)
            check_frame_count(self.film, frames, "give a lower --fps")

    @property
    def pressure(self) -> float | None:
        """Pressure of the brightest colour, Pa."""
        return None if self.full_scale is None else 1e3 * self.full_scale


def task(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Task to try; without it, list them.",
            autocompletion=lambda incomplete: [name for name in tasks() if name.startswith(incomplete)],
        ),
    ] = None,
    seed: Annotated[
        int | None,
        optional("Draw start, friction and stiffness; without it, the scene as it is.", "N", "--seed", min=0),
    ] = None,
    seeds: SeedsOption = None,
    jobs: JobsOption = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="As fast as possible, without a page to watch it.")
    ] = False,
    out: Annotated[list[Path] | None, out_option(_WRITTEN)] = None,
    fps: FrameRateOption = FRAME_RATE,
    size: SizeOption = PICTURE_SIZE,  # type: ignore[assignment]  # the option's parser reads it
    camera: CameraOption = "iso",
    full_scale: FullScaleOption = None,
    solid: SolidOption = False,
    json: JsonOption = None,
    overwrite: OverwriteOption = False,
    setting: SetOption = None,
) -> None:
    """Let a controller try a task; exit status 0 only if it succeeds, with every seed that is asked for."""
    if name is None:
        if out or json is not None or seed is not None or seeds is not None:
            raise typer.BadParameter("name the task to try")
        list_tasks(output.make_console())
        return
    given = set_values(setting)
    with output.printed_aside(json):  # its package may print as it is loaded
        chosen, values = find_told_task(name, given)
    written = files_to_write(out, overwrite, _WRITTEN, json)
    files = {kind: from_here(path) for kind, path in written.items()}
    film, picture, report = map(files.get, _WRITTEN)
    console = output.make_console(report)
    told = {"task": name, "settings": dict(chosen.settings), "set": given}
    if seeds is not None:
        if seed is not None or film is not None:
            raise typer.BadParameter("--seeds tries many: it takes no --seed, and makes no film")
        refuse_without("a picture or film of one trial", context, *_OF_PICTURES)
        with CtrlC() as ctrl_c:
            is_done = _try_and_tell(told, range(seeds), jobs, (report, picture), console, ctrl_c)
    else:
        if jobs is not None:
            raise typer.BadParameter("--jobs is for --seeds")
        pictures = Pictures(film, picture, size, camera, fps, full_scale, solid)
        _refuse_what_does_not_fit(context, pictures, headless)
        pictures.check(chosen)
        with CtrlC() as ctrl_c:
            is_done = _try_one(chosen, seed, values, headless, pictures, report, told, console, ctrl_c)
    if not is_done:
        raise typer.Exit(1)


def _try_one(
    task: Task,
    seed: int | None,
    values: dict[str, Any],
    headless: bool,
    pictures: Pictures,
    report: Path | None,
    told: dict[str, Any],
    console: Console,
    ctrl_c: CtrlC,
) -> bool:
    """Try a task once, write the report and the picture, and tell whether it has succeeded.

    Raises:
        typer.Exit: Ctrl-C was pressed before its end.
    """
    last: list[World] = []
    try:
        with output.printed_aside(report):
            trial = try_once(task, seed, values, headless, pictures, console, ctrl_c, last)
        was_ended = trial.reason == INTERRUPTED
        output.write_report(report, {**told, "interrupted": was_ended, **trial.as_dict(with_course=True)})
        if was_ended:
            raise typer.Exit(CTRL_C_STATUS)
        if pictures.picture is not None:
            view = pictures.size, pictures.camera, pictures.pressure, task.shows, pictures.solid
            with WorldCamera(last[0], *view) as drawn:
                write_picture(pictures.picture, drawn.png())
    except KeyboardInterrupt:
        console.print("interrupted", highlight=False)
        raise typer.Exit(CTRL_C_STATUS) from None
    return trial.succeeded


def _try_and_tell(
    told: dict[str, Any],
    seeds: range,
    jobs: int | None,
    files: tuple[Path | None, Path | None],
    console: Console,
    ctrl_c: CtrlC,
) -> bool:
    """Try a task once a seed, write the report and the picture of where it fails, and tell whether all have succeeded.

    Raises:
        typer.Exit: Ctrl-C was pressed before the last had ended; both files are of those that had.
        InputError: As ``try_all``, or a picture is asked for and no seed draws anything.
    """
    report, picture = files
    name = told["task"]
    if picture is not None:
        require_matplotlib()
        _check_something_is_drawn(name, seeds, told["set"], picture)
    with output.printed_aside(report):
        trials = try_all(name, seeds, told["set"], jobs or os.cpu_count() or 1, console)
    ctrl_c.is_looked_at = True  # files are written whole
    was_ended = len(trials) < len(seeds)
    rows = [trial.as_dict() for trial in trials]
    output.write_report(report, {**told, "interrupted": was_ended, "trials": rows})
    if picture is not None and any(row["drawn"] for row in rows):
        plot_trials(rows, picture, name)
    if was_ended:
        raise typer.Exit(CTRL_C_STATUS)
    return all(trial.succeeded for trial in trials)


def _check_something_is_drawn(name: str, seeds: range, values: dict[str, Any], picture: Path) -> None:
    """Refuse a picture over what seeds draw where they draw nothing, before any trial."""
    task, of_scene = find_told_task(name, values)
    scene = find_scene(task.scene)
    if not any(drawn_in(task, seed, scene, of_scene) for seed in seeds):
        mend = "leave --out away, or let the task's seeds draw something"
        raise InputError(picture, "", "shows trials over what is drawn, and nothing is", mend)


def _refuse_what_does_not_fit(context: typer.Context, pictures: Pictures, headless: bool) -> None:
    """Refuse options that have no effect without another one."""
    if pictures.film is None:
        refuse_without("a film (--out FILE.mp4)", context, "fps")
        if pictures.picture is None:
            needed = "a picture or film (--out FILE.png or FILE.mp4)"
            refuse_without(needed, context, "size", "camera", "solid")
            if headless:
                refuse_without("a picture or film, or a page", context, "full_scale")


def list_tasks(console: Console) -> None:
    """Print the tasks by name."""
    table = Table("task", "what it is", box=None)
    for name, one in tasks().items():
        table.add_row(name, output.shown(one.summary))
    console.print(table)


def try_once(
    task: Task,
    seed: int | None,
    values: dict[str, Any],
    headless: bool,
    pictures: Pictures,
    console: Console,
    ctrl_c: CtrlC,
    last: list[World],
) -> Trial:
    """Try a task once, on a page unless headless, filmed or drawn, and print the outcome.

    Args:
        task: The task.
        seed: Of the variation; None for the scene as it is.
        values: Other values of the scene by path.
        headless: Whether nobody watches.
        pictures: What is filmed and drawn of it.
        console: Where the outcome is printed.
        ctrl_c: Ends it.
        last: Out: the world at its end.

    Raises:
        InputError: A path or value is wrong, the page cannot be served, or a film cannot be made.
    """
    start = World(scene_of(task, seed, values))
    check_shows(task, start)
    with compile_progress(console):
        start.step()
    start.reset()

    def stopped() -> bool:
        return ctrl_c.pressed

    # From here on it is looked at: what is filmed and measured so far is kept.
    ctrl_c.is_looked_at = True
    with ExitStack() as stack:
        page = None
        if pictures.film is not None:
            show = _filmed(stack, start, task.shows, pictures, console)
        elif headless or pictures.picture is not None:
            show = _nothing
        else:
            waits = somebody_sits_there(console)
            page = stack.enter_context(TrialPage(pictures.pressure, console, waits, stopped))
            show = page.show

        def watch(world: World) -> None:
            last[:] = [world]
            show(world)

        trial = run_trial(task, seed, values, watch, stopped)
        _tell_outcome(trial, console, tells_factor=headless)
        if page is not None:
            page.stay()
    ctrl_c.is_looked_at = False
    return trial


def try_all(name: str, seeds: range, values: dict[str, Any], jobs: int, console: Console) -> list[Trial]:
    """Try a task once a seed, and print how often it succeeds and where it fails, of those that Ctrl-C has let end.

    Raises:
        InputError: As ``try_once``.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    trials: list[Trial] = []

    def done(trial: Trial) -> None:
        trials.append(trial)
        progress.advance(row)

    with suppress(KeyboardInterrupt):
        with compile_progress(console):
            task, of_scene = find_told_task(name, values)
            World(scene_of(task, None, of_scene)).step()
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            row = progress.add_task(name, total=len(seeds))
            trials[:] = run_trials(name, seeds, values, jobs, done)
    trials.sort(key=lambda trial: seeds.index(trial.seed or 0))
    if len(trials) < len(seeds):
        console.print(f"interrupted, {len(trials)} of {len(seeds)} trials done", highlight=False)
    failed = [trial for trial in trials if not trial.succeeded]
    if failed:
        table = Table("seed", "in phase", "after, s", "reason", box=box.SIMPLE_HEAD)
        for trial in failed:
            words = output.shown(trial.phase), f"{trial.time:.2f}", output.shown(trial.reason)
            table.add_row(str(trial.seed), *words)
        console.print(table)
    if not trials:
        return trials
    colour = "red" if failed else "green"
    count = len(trials) - len(failed)
    factors = sorted(trial.factor for trial in trials)
    console.print(
        f"[{colour}]{count} of {len(trials)} succeeded[/{colour}], real-time factor on one core "
        f"{factors[0]:.2g} to {factors[-1]:.2g}",
        highlight=False,
    )
    return trials


def _tell_outcome(trial: Trial, console: Console, tells_factor: bool) -> None:
    factor = f", real-time factor {trial.factor:.2g} on one core" if tells_factor else ""
    phase = output.shown(trial.phase)
    if trial.reason == INTERRUPTED:
        console.print(f"interrupted after {trial.time:.2f} s, to {phase}", highlight=False)
    elif trial.succeeded:
        console.print(f"[green]succeeded[/green] after {trial.time:.2f} s{factor}", highlight=False)
    else:
        reason = f"after {trial.time:.2f} s, to {phase}: {output.shown(trial.reason)}"
        console.print(f"[red]failed[/red] {reason}", highlight=False)


def _nothing(world: World) -> None:
    """Nobody watches."""


def _filmed(
    stack: ExitStack, start: World, links: Sequence[str], pictures: Pictures, console: Console
) -> Callable[[World], None]:
    """Films a world that begins as ``start`` is, and tells on a terminal how far it is; the stack ends the film."""
    assert pictures.film is not None
    pressure = pictures.pressure
    scale = scale_of_world(start) if pressure is None else PressureScale(pressure)
    line = StatusLine(console, start.grip_units)
    stack.callback(line.close)
    add = stack.enter_context(
        open_page_film(
            pictures.film, pictures.rate, scale, pictures.size, pictures.camera, links, pictures.solid
        )
    )
    film = WorldFilm(start, scale, pictures.rate, add)
    film.observe(start)

    def show(world: World) -> None:
        film.observe(world)
        if line.due:
            forces = {name: world.grip_force(name) for name in world.gripper_names}
            line.update(world.time, int(world.diagnostics()["faces"]), forces)

    return show
