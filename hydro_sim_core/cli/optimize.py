"""Find a motion by gradients of smooth contact, and verify and polish it in the pressure field."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.options import refuse_without
from hydro_sim_core.cli.outputs import (
    PICTURE,
    REPORT,
    JsonOption,
    OverwriteOption,
    files_to_write,
    optional,
    out_option,
)
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.drawing.figures import require_matplotlib
from hydro_sim_core.optimisation import grasp_report
from hydro_sim_core.optimisation.grasp import GraspResult, find_grasp
from hydro_sim_core.optimisation.grasp_bodies import Lift
from hydro_sim_core.optimisation.jax_library import require_jax
from hydro_sim_core.optimisation.push import GOALS, PushResult, PushSearch, Tolerance, check_goal
from hydro_sim_core.optimisation.push_report import as_dict, plot

commands = typer.Typer(help=__doc__, no_args_is_help=True)

Array = NDArray[np.float64]

_WRITTEN = {"picture": PICTURE, "report": REPORT}
#: Most pushes that the cross-entropy method tries for a goal.
_MOST_DRAWS = 2000
OutOption = Annotated[list[Path] | None, out_option(_WRITTEN)]


@commands.command()
def push(
    context: typer.Context,
    goal: Annotated[
        list[str] | None,
        optional(
            "Where the T is to lie, seen from where it lies: m, m and degrees; may be repeated (default: five goals).",
            "X,Y,DEGREES",
            "--goal",
        ),
    ] = None,
    compare: Annotated[
        Literal["cem", "cem-guess"] | None,
        optional(
            "Search by the cross-entropy method too, in the pressure field alone: from a straight path, or from the "
            "first guesses of the other search.",
            None,
            "--compare",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the draws of that method.", min=0)] = 0,
    out: OutOption = None,
    json: JsonOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Paths of a finger that push a T over a table to goals, within 1 cm and 5 degrees."""
    if compare is None:
        refuse_without("--compare", context, "seed")
    goals = [_goal(text) for text in goal] if goal else list(GOALS)
    for number, one in enumerate(goals, start=1):
        check_goal(one, Tolerance(), f"goal {number}")
    files = files_to_write(out, overwrite, _WRITTEN, json)
    if "picture" in files:
        require_matplotlib()
    require_jax()
    console = output.make_console(files.get("report"))
    with compile_progress(console):
        search = PushSearch()
    count = len(goals) * (1 if compare is None else 2)
    with _told(console, count) as (told, done):
        found = []
        for number, one in enumerate(goals, start=1):
            found.append(search.find(one, told(f"goal {number}")))
            done()
        others = []
        for number, one in enumerate(goals if compare else (), start=1):
            informed = compare == "cem-guess"
            others.append(search.by_cross_entropy(one, seed, _MOST_DRAWS, informed, told(f"goal {number}")))
            done()
    _print(found, others, console)
    report: dict[str, Any] = {"goals": [as_dict(result) for result in found]}
    if others:
        report["cem"] = [as_dict(result) for result in others]
    output.write_report(files.get("report"), report)
    if "picture" in files:
        plot(found, files["picture"])
    if not all(result.is_reached for result in found):
        raise typer.Exit(1)


@commands.command()
def grasp(
    mass: Annotated[float, typer.Option(metavar="KG", help="Of the box.")] = 0.3,
    friction: Annotated[float, typer.Option(metavar="MU", help="Between the box and the pads.")] = 0.5,
    height: Annotated[float, typer.Option(metavar="M", help="How far it is lifted, in 0.6 s.")] = 0.3,
    out: OutOption = None,
    json: JsonOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Grip force over time that lifts a box with the least effort, without a slip."""
    lift = Lift(mass, friction, height)
    files = files_to_write(out, overwrite, _WRITTEN, json)
    if "picture" in files:
        require_matplotlib()
    require_jax()
    console = output.make_console(files.get("report"))
    with _told(console, 1) as (told, _):
        found = find_grasp(lift, told("grasp"))
    _print_grasp(found, console)
    output.write_report(files.get("report"), grasp_report.as_dict(found))
    if "picture" in files:
        grasp_report.plot(found, files["picture"])


def _print_grasp(found: GraspResult, console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("time [s]", "force of each finger [N]", "least by Coulomb's law [N]"):
        table.add_column(heading, justify="right")
    for time, force, least in zip(
        found.times, found.forces, found.lift.least_force(found.times), strict=True
    ):
        table.add_row(f"{time:.2f}", f"{force:.2f}", f"{least:.2f}")
    console.print(table)
    search = found.search
    excess = 100.0 * (found.effort / found.least_effort - 1.0)
    saved = 100.0 * (1.0 - found.effort / found.constant_effort)
    console.print(
        f"slips {1e3 * found.slip:.2f} mm in the pressure field; mean square of the force {excess:.1f} % above the "
        f"least, {saved:.0f} % below that of a constant force; {search.smooth_rollouts} + {search.rollouts} rollouts, "
        f"{search.steps} steps, {search.seconds:.1f} s",
        highlight=False,
        soft_wrap=True,
    )


def _goal(text: str) -> Array:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3:
        raise typer.BadParameter(f"'{text}' is not three numbers such as 0.1,0.05,30", param_hint="--goal")
    return np.array([numbers[0], numbers[1], math.radians(numbers[2])])


@contextmanager
def _told(
    console: Console, count: int
) -> Iterator[tuple[Callable[[str], Callable[[str], None]], Callable[[], None]]]:
    """A bar of ``count`` parts: a function that makes what says what is done for a part, and one that ends a part."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=count)
        yield (
            lambda part: lambda text: progress.update(task, description=f"{part}, {text}"),
            lambda: progress.advance(task),
        )


def _print(found: Sequence[PushResult], others: Sequence[PushResult], console: Console) -> None:
    table = Table(
        box=box.SIMPLE_HEAD, title="Pushes, as they end in the pressure field", title_justify="left"
    )
    headings = ["goal [cm, cm, °]", "pushes", "distance [cm]", "angle [°]", "rollouts", "steps", "time [s]"]
    headings += ["by cross-entropy: distance [cm]", "angle [°]", "steps", "ratio"] if others else []
    for heading in headings:
        table.add_column(heading, justify="right")
    for number, result in enumerate(found):
        goal = f"{100 * result.goal[0]:.1f}, {100 * result.goal[1]:.1f}, {math.degrees(result.goal[2]):.0f}"
        effort = result.effort
        row = [
            goal,
            str(len(result.paths)),
            *_miss(result),
            f"{effort.smooth_rollouts} + {effort.rollouts}",
            str(effort.steps),
            f"{effort.seconds:.1f}",
        ]
        if others:
            other = others[number]
            # Of what ended at its most draws it is only known that more would have been needed.
            more = "" if other.is_reached else "> "
            row += [*_miss(other), f"{more}{other.effort.steps}"]
            row.append(f"{more}{other.effort.steps / effort.steps:.1f}")
        table.add_row(*row)
    console.print(table)
    reached = sum(result.is_reached for result in found)
    steps, seconds = (sum(getattr(r.effort, name) for r in found) for name in ("steps", "seconds"))
    colour = "green" if reached == len(found) else "red"
    text = (
        f"[{colour}]{reached} of {len(found)} goals reached[/{colour}] in {steps} steps and {seconds:.1f} s"
    )
    if others:
        text += f"; {_others_told(others, steps)}"
    console.print(text, highlight=False, soft_wrap=True)


def _others_told(others: Sequence[PushResult], steps: int) -> str:
    """What the cross-entropy method reached and took, beside the steps of the other search."""
    told, seconds = sum(other.effort.steps for other in others), sum(r.effort.seconds for r in others)
    missed = [str(number) for number, other in enumerate(others, start=1) if not other.is_reached]
    more = "more than " if missed else ""
    text = (
        f"by cross-entropy {len(others) - len(missed)} in {more}{told} steps, {told / steps:.1f} times as many, "
        f"and {seconds:.1f} s"
    )
    if missed:
        goals = ("goal " if len(missed) == 1 else "goals ") + ", ".join(missed)
        text += f"; {goals} not within its {_MOST_DRAWS} pushes"
    return text


def _miss(result: PushResult) -> tuple[str, str]:
    colour = "green" if result.is_reached else "red"
    return (
        f"[{colour}]{100 * result.distance:.2f}[/{colour}]",
        f"[{colour}]{math.degrees(result.angle):.2f}[/{colour}]",
    )
