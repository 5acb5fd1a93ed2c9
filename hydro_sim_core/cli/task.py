"""Tasks on the command line: a trial to watch, or many with different seeds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.options import SetOption, set_values
from hydro_sim_core.cli.outputs import PICTURE, REPORT, JsonOption, OverwriteOption, files_to_write, optional
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks import TASKS, Trial, find_task, run_trial
from hydro_sim_core.tasks.many_trials import run_trials
from hydro_sim_core.tasks.task import Task
from hydro_sim_core.tasks.trial import scene_of

_WRITTEN = {"picture": PICTURE, "report": REPORT}


def task(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Task to try; without it, list them.",
            autocompletion=lambda incomplete: [name for name in TASKS if name.startswith(incomplete)],
        ),
    ] = None,
    seed: Annotated[
        int | None,
        optional("Draw start, friction and stiffness; without it, the scene as it is.", "N", "--seed", min=0),
    ] = None,
    seeds: Annotated[
        int | None,
        optional("Try it with seeds 0 to COUNT - 1 and tell how often it succeeds.", "COUNT", min=1),
    ] = None,
    jobs: Annotated[
        int | None, optional("Processes for --seeds; by default one a processor.", "N", "--jobs", min=1)
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="As fast as possible, without a page to watch it.")
    ] = False,
    out: Annotated[
        list[Path] | None,
        optional(
            "Write .png for a picture of the end or .json for the report; may be repeated.", "FILE", "--out"
        ),
    ] = None,
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
    chosen, values = find_task(name), set_values(setting)
    files = files_to_write(out, overwrite, _WRITTEN, json)
    console = output.make_console(files.get("report"))
    if seeds is not None:
        if seed is not None or "picture" in files:
            raise typer.BadParameter("--seeds tries many: it takes no --seed, and makes no picture")
        trials = try_all(name, range(seeds), values, jobs or os.cpu_count() or 1, console)
        report: dict[str, Any] = {"task": name, "trials": [trial.as_dict() for trial in trials]}
        output.write_report(files.get("report"), report)
        if not all(trial.succeeded for trial in trials):
            raise typer.Exit(1)
        return
    if jobs is not None:
        raise typer.BadParameter("--jobs is for --seeds")
    trial = try_once(chosen, seed, values, headless, files.get("picture"), console)
    output.write_report(files.get("report"), {"task": name, **trial.as_dict()})
    if not trial.succeeded:
        raise typer.Exit(1)


def list_tasks(console: Console) -> None:
    """Print the tasks by name."""
    table = Table("task", "what it is", box=None)
    for name, one in TASKS.items():
        table.add_row(name, one.summary)
    console.print(table)


def try_once(
    task: Task,
    seed: int | None,
    values: dict[str, Any],
    headless: bool,
    picture: Path | None,
    console: Console,
) -> Trial:
    """Try a task once, on a page unless headless, and print the outcome.

    Raises:
        InputError: A path or value is wrong, the page cannot be served, or the picture cannot be written.
    """
    with compile_progress(console):
        World(scene_of(task, seed, values)).step()
    last: list[World] = []
    with ExitStack() as stack:
        show = _nothing if headless else _shown(stack, console)

        def watch(world: World) -> None:
            last[:] = [world]
            show(world)

        trial = run_trial(task, seed, values, watch)
    if trial.succeeded:
        console.print(f"[green]succeeded[/green] after {trial.time:.2f} s", highlight=False)
    else:
        reason = f"after {trial.time:.2f} s, to {trial.phase}: {output.shown(trial.reason)}"
        console.print(f"[red]failed[/red] {reason}", highlight=False)
    if picture is not None:
        last[0].render(picture)
    return trial


def try_all(name: str, seeds: range, values: dict[str, Any], jobs: int, console: Console) -> list[Trial]:
    """Try a task once a seed, and print how often it succeeds and where it fails.

    Raises:
        InputError: As ``try_once``.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with compile_progress(console):
        World(scene_of(find_task(name), None, values)).step()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        row = progress.add_task(name, total=len(seeds))
        trials = run_trials(name, seeds, values, jobs, lambda trial: progress.advance(row))
    failed = [trial for trial in trials if not trial.succeeded]
    if failed:
        table = Table("seed", "failed to", "after, s", "reason", box=box.SIMPLE_HEAD)
        for trial in failed:
            table.add_row(str(trial.seed), trial.phase, f"{trial.time:.2f}", output.shown(trial.reason))
        console.print(table)
    colour = "red" if failed else "green"
    count = len(trials) - len(failed)
    console.print(f"[{colour}]{count} of {len(trials)} succeeded[/{colour}]", highlight=False)
    return trials


def _nothing(world: World) -> None:
    """Nobody watches."""


def _shown(stack: ExitStack, console: Console) -> Callable[[World], None]:
    """Shows a world on a page, at the pace of the wall clock as far as the machine keeps it."""
    views: list[Any] = []
    begin = time.monotonic()

    def show(world: World) -> None:
        nonlocal begin
        if not views:
            views.append(stack.enter_context(world.view()))
            console.print(f"watch it at {views[0].url}", highlight=False, soft_wrap=True)
            begin = time.monotonic() - world.time
        ahead = world.time - (time.monotonic() - begin)
        if ahead > 0.0:
            time.sleep(ahead)
        else:
            begin -= ahead  # what was late is not caught up with
        views[0].sync()

    return show
