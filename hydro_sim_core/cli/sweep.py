"""Sweeps on the command line: one scene with many values, over processes or a cluster."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.interrupts import CTRL_C_STATUS, CtrlC
from hydro_sim_core.cli.options import (
    IgnoreOption,
    PackageDirOption,
    SceneArgument,
    SetOption,
    SrdfOption,
    XacroArgOption,
    positive_and_finite,
    refuse_without,
    set_values,
    steps_of_duration,
)
from hydro_sim_core.cli.outputs import PICTURE, OverwriteOption, files_to_write, optional, out_option
from hydro_sim_core.cli.worlds import opened
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.drawing.figures import require_matplotlib
from hydro_sim_core.pictures.plot_sweep import PlotAxis, plot_sweep
from hydro_sim_core.simulation import World
from hydro_sim_core.sweeps.axes import Axis, parse_axes
from hydro_sim_core.sweeps.cluster import check_cluster
from hydro_sim_core.sweeps.measures import measures
from hydro_sim_core.sweeps.plan import Plan, Sampling
from hydro_sim_core.sweeps.samples import ERROR, Sampler, SceneSampler, TaskSampler
from hydro_sim_core.sweeps.sweep import Sweep
from hydro_sim_core.sweeps.table import require_duckdb
from hydro_sim_core.tasks.registry import find_told_task
from hydro_sim_core.tasks.trial import scene_of

_WRITTEN = {"table": (".parquet",), "picture": PICTURE}

VaryOption = Annotated[
    list[str] | None,
    optional(
        # No a:b:n, as which help would show an emoji.
        "What is varied, by the paths of --set: low:high:n, log(low:high:n) or a,b,c for a grid; uniform(a,b), "
        "loguniform(a,b) or normal(mean,deviation) for draws. May be repeated.",
        "PATH=RANGE",
        "--vary",
    ),
]
MeasureOption = Annotated[
    list[str] | None,
    optional(
        "What is measured, such as z:ball or 'rotation:ball<0.1'; may be repeated. --measures lists all.",
        "NAME[:ELEMENT]",
        "--measure",
        autocompletion=lambda incomplete: [name for name in measures() if name.startswith(incomplete)],
    ),
]
SamplesOption = Annotated[
    int | None, optional("Draws at every point of the grid (default: 1).", "N", "--samples", min=1)
]
JobsOption = Annotated[int | None, optional("Processes (default: one a processor).", "N", "--jobs", min=1)]
RayOption = Annotated[
    str | None,
    optional("Ray cluster that does it instead: HOST:PORT, ray://HOST:PORT or auto.", "ADDRESS", "--ray"),
]
DurationOption = Annotated[
    float, typer.Option(metavar="S", help="Simulated seconds of a run.", callback=positive_and_finite)
]


def sweep(
    context: typer.Context,
    scene: SceneArgument = "",
    vary: VaryOption = None,
    measure: MeasureOption = None,
    samples: SamplesOption = None,
    sampling: Annotated[
        Sampling, typer.Option("--sampling", help="latin: draws are spread evenly (Latin hypercube).")
    ] = "random",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the draws.", min=0)] = 0,
    duration: DurationOption = 1.0,
    task: Annotated[
        bool, typer.Option("--task", help="SCENE is a task, whose trials are the samples.")
    ] = False,
    jobs: JobsOption = None,
    ray: RayOption = None,
    out: Annotated[list[Path] | None, out_option(_WRITTEN)] = None,
    overwrite: OverwriteOption = False,
    list_measures: Annotated[bool, typer.Option("--measures", help="List what can be measured.")] = False,
    package_dir: PackageDirOption = None,
    xacro_arg: XacroArgOption = None,
    srdf: SrdfOption = None,
    ignore: IgnoreOption = None,
    setting: SetOption = None,
) -> None:
    """Run a scene with many values and write a table of what is measured; go on with one that was interrupted."""
    console = output.make_console()
    if list_measures:
        _list_measures(console)
        return
    _refuse_what_does_not_fit(context, scene, task, jobs, ray, measure)
    axes = _axes(context, vary or ())
    plan = Plan(axes, samples or 1, sampling, seed)
    files = files_to_write(out, overwrite, _WRITTEN)
    if "table" not in files:
        raise typer.BadParameter("name the table: --out FILE.parquet")
    require_duckdb()
    if "picture" in files:
        require_matplotlib()
    if ray is not None:
        check_cluster(ray)
    if task:
        sampler: Sampler = TaskSampler(scene, set_values(setting))
    else:
        world = opened(scene, package_dir, xacro_arg, srdf, setting, console, ignore=ignore)
        sampler = _of_scene(world, duration, measure or (), console)
    made = Sweep(plan, sampler, files["table"], overwrite)
    if task:
        _compile_task(scene, set_values(setting), console)
    columns = _run(made, plan, scene, jobs or os.cpu_count() or 1, ray, console)
    without = "without measures" if not task else "could not begin, and count as failed"
    _tell(columns, sampler.measures, without, console)
    if "picture" in files:
        title = f"{Path(scene).stem}, {plan.count} samples"
        shown = [PlotAxis(axis.path, axis.values, axis.is_log) for axis in axes]
        plot_sweep(columns, shown, sampler.measures, files["picture"], title)
    enough = any if task else all
    if enough(error is not None for error in columns[ERROR]):
        raise typer.Exit(1)


def _refuse_what_does_not_fit(
    context: typer.Context,
    scene: str,
    task: bool,
    jobs: int | None,
    ray: str | None,
    measure: Sequence[str] | None,
) -> None:
    if not scene:
        raise typer.BadParameter("name the scene")
    if jobs is not None and ray is not None:
        raise typer.BadParameter("--jobs is for processes of this machine: leave it out with --ray")
    if task:
        refuse_without(
            "a scene (leave out --task)", context, "measure", "duration", "package_dir", "xacro_arg"
        )
        refuse_without("a scene (leave out --task)", context, "srdf", "ignore")
    elif not measure:
        raise typer.BadParameter("nothing is measured: give --measure; --measures lists what can be")


def _axes(context: typer.Context, vary: Sequence[str]) -> tuple[Axis, ...]:
    """What is varied; refuses options of draws where nothing is drawn."""
    axes = parse_axes(vary)
    if not any(axis.drawn for axis in axes):
        drawn = "a value that is drawn, such as --vary PATH=uniform(a,b)"
        refuse_without(drawn, context, "samples", "sampling", "seed")
    return axes


def _of_scene(world: World, duration: float, measure: Sequence[str], console: Console) -> Sampler:
    steps = steps_of_duration(duration, world.time_step)
    with compile_progress(console):
        world.step()  # compiled once, before several processes need it
    return SceneSampler(world.scene, steps, list(dict.fromkeys(measure)))


def _compile_task(name: str, values: dict[str, Any], console: Console) -> None:
    """Compile once, before several processes need it."""
    task, of_scene = find_told_task(name, values)
    with compile_progress(console):
        World(scene_of(task, None, of_scene)).step()


def _run(
    made: Sweep, plan: Plan, scene: str, jobs: int, ray: str | None, console: Console
) -> dict[str, list[Any]]:
    """Do what is not done, and write the table; Ctrl-C leaves the rest for another time."""
    kept, path = len(made.journal.rows), output.shown(made.journal.path)
    if kept:
        console.print(
            f"{kept} of {plan.count} samples were done before, in {path}", highlight=False, soft_wrap=True
        )
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    try:
        with (
            CtrlC(),
            Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
        ):
            row = progress.add_task(output.shown(Path(scene).stem), total=plan.count, completed=kept)
            made.run(jobs, ray, lambda index: progress.advance(row))
        return made.finish()
    except KeyboardInterrupt:
        done = f"{len(made.journal.rows)} of {plan.count} samples are in {path}"
        console.print(f"interrupted: {done}; the same command goes on", highlight=False, soft_wrap=True)
        raise typer.Exit(CTRL_C_STATUS) from None
    finally:
        made.journal.close()


def _summary(columns: dict[str, list[Any]], names: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("measure", overflow="fold")
    for heading in ("least", "mean", "most", "samples"):
        table.add_column(heading, justify="right")
    for name in names:
        values = [value for value in columns[name] if value is not None]
        cells = ["", "", ""]
        if values and all(isinstance(value, bool) for value in values):
            cells[1] = f"{100.0 * sum(values) / len(values):.1f} %"
        elif values:
            cells = [f"{number:.4g}" for number in (min(values), sum(values) / len(values), max(values))]
        table.add_row(output.shown(name), *cells, str(len(values)))
    return table


def _tell(columns: dict[str, list[Any]], names: Sequence[str], without: str, console: Console) -> None:
    """Print a summary, and why samples have no measures: each reason once, with how many have it."""
    console.print(_summary(columns, names))
    reasons = Counter(error for error in columns[ERROR] if error is not None)
    for reason, count in reasons.most_common(5):
        console.print(
            f"[yellow]{count} {without}:[/yellow] {output.shown(reason)}",
            highlight=False,
            soft_wrap=True,
        )
    if len(reasons) > 5:
        console.print(f"and {len(reasons) - 5} other reasons, in the column '{ERROR}'", highlight=False)


def _list_measures(console: Console) -> None:
    table = Table("measure", "of", "what it is", box=None)
    for name, row in measures().items():
        table.add_row(name, output.shown(row.element), row.summary)
    console.print(table)
