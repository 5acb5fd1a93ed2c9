"""Error of a scene's time step, estimated from runs with smaller steps."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.options import (
    IgnoreOption,
    PackageDirOption,
    SceneArgument,
    SetOption,
    SrdfOption,
    XacroArgOption,
    positive_and_finite,
    step_count,
)
from hydro_sim_core.cli.outputs import (
    PICTURE,
    REPORT,
    JsonOption,
    OverwriteOption,
    files_to_write,
    out_option,
)
from hydro_sim_core.cli.worlds import opened
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.drawing.figures import require_matplotlib
from hydro_sim_core.experiments.step_convergence import (
    Quantity,
    StepConvergence,
    plot,
)
from hydro_sim_core.experiments.step_convergence import (
    converge as run_levels,
)

#: Each level takes twice the time of the one before.
_MOST_LEVELS = 12
_WRITTEN = {"picture": PICTURE, "report": REPORT}


def converge(
    scene: SceneArgument,
    duration: Annotated[
        float,
        typer.Option(metavar="S", help="Simulated seconds to run.", callback=positive_and_finite),
    ] = 2.0,
    levels: Annotated[
        int,
        typer.Option(
            metavar="N", help="Runs, each at half the step of the one before.", min=3, max=_MOST_LEVELS
        ),
    ] = 3,
    out: Annotated[list[Path] | None, out_option(_WRITTEN)] = None,
    json: JsonOption = None,
    overwrite: OverwriteOption = False,
    package_dir: PackageDirOption = None,
    xacro_arg: XacroArgOption = None,
    srdf: SrdfOption = None,
    ignore: IgnoreOption = None,
    setting: SetOption = None,
) -> None:
    """Run a scene at its time step, a half and a quarter of it, and estimate the error of its own step."""
    files = files_to_write(out, overwrite, _WRITTEN, json)
    if "picture" in files:
        require_matplotlib()
    console = output.make_console(files.get("report"))
    world = opened(scene, package_dir, xacro_arg, srdf, setting, console, ignore=ignore)
    with compile_progress(console):
        step_count("--duration", duration, world.time_step / 2 ** (levels - 1))
        world.step()
        world.reset()
    with _progress(console) as progress:
        task = progress.add_task(f"{output.shown(world.name)}, {levels} levels", total=1.0)
        result = run_levels(world, duration, levels, lambda done: progress.update(task, completed=done))
    print_convergence(result, console)
    output.write_report(files.get("report"), result.as_dict())
    if "picture" in files:
        plot(result, files["picture"])


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def print_convergence(result: StepConvergence, console: Console) -> None:
    """Print differences between levels, orders and errors as a table, followed by the verdict."""
    steps = [1e3 * level.time_step for level in result.levels]
    table = Table(
        title=f"{output.shown(result.scene)}, {result.duration:g} s: differences between steps, largest on the way / "
        "at the end",
        title_justify="left",
        caption="error of the scene's own step: ≈ where differences fall without an order, ≥ where they do not fall",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    table.add_column("quantity", overflow="fold")
    table.add_column("unit")
    for longer, shorter in pairwise(steps):
        table.add_column(f"{longer:g} → {shorter:g} ms", justify="right")
    for heading in ("order", "error"):
        table.add_column(heading, justify="right")
    for quantity in result.quantities:
        table.add_row(*_cells(quantity))
    console.print(table)
    for level in result.levels:
        if level.unconverged_steps:
            console.print(
                f"[yellow]{level.unconverged_steps} steps of {1e3 * level.time_step:g} ms did not converge[/yellow]",
                highlight=False,
            )
    colour = "green" if result.good else "yellow"
    head, _, rest = result.verdict.partition(":")
    console.print(
        f"[{colour}]{output.shown(head)}:[/{colour}]{output.shown(rest)}", highlight=False, soft_wrap=True
    )


def _cells(q: Quantity) -> list[str]:
    """Cells of a row, in mm, mrad or N."""
    factor, unit = (1.0, q.unit) if q.unit == "N" else (1e3, f"m{q.unit}")
    pairs = zip(q.on_the_way, q.at_the_end, strict=True)
    differences = [f"{factor * way:.3g} / {factor * end:.3g}" for way, end in pairs]
    order, mark = "", ""
    if q.order is not None:
        order = f"{q.order:.2f}"
    elif not q.is_noise:
        order, mark = ("falls", "≈ ") if q.settles else ("none", "≥ ")
    error = f"{mark}{factor * q.error:.3g} / {factor * q.error_at_the_end:.3g}"
    colour = "red" if q.share > 1.0 else "default"
    return [output.shown(f"{q.name}, {q.kind}"), unit, *differences, order, f"[{colour}]{error}[/{colour}]"]
