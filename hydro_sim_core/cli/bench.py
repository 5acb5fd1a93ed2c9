"""Speed of the contact geometry, as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.outputs import REPORT, JsonOption, OverwriteOption, ReportOutOption, files_to_write
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.experiments.geometry_bench import (
    QUICK,
    SPEEDS,
    THOROUGH,
    Side,
    Timing,
    all_pairs,
    compile_queries,
    growths,
    measure,
)
from hydro_sim_core.geometry import Geometry

_STAGES = "stages: trees of surface elements/search for closed surfaces/walk over the faces"
_SHARES = (
    "share: our CPU time over Drake's without the overhead, which is what its call costs for bodies far apart; "
    "whole: over all of Drake's time"
)


def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="A few poses each, without the finest meshes.")
    ] = False,
    out: ReportOutOption = None,
    json: JsonOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Time the contact faces of moving pairs, and compare with Drake where it is installed."""
    report = files_to_write(out, overwrite, {"report": REPORT}, json).get("report")
    result = bench_geometry(quick, output.make_console(report))
    output.write_report(report, result)


def bench_geometry(quick: bool, console: Console) -> dict[str, Any]:
    """Time the contact faces of all pairs here and, where it is installed, in Drake, and print the table.

    Args:
        quick: Use few poses and leave out the finest meshes.
        console: Output.

    Returns:
        Plain data for JSON.
    """
    make_drake, missing = _find_drake()
    if missing:
        console.print(
            f"[yellow]Drake is left out:[/yellow] {output.shown(missing)}", highlight=False, soft_wrap=True
        )
    with compile_progress(console):
        compile_queries()
    pairs = all_pairs()
    timings = list(
        track(
            measure(pairs, QUICK if quick else THOROUGH, make_drake),
            description="timing pairs",
            total=len(pairs) * len(SPEEDS),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
    )
    console.print(timing_table(timings))
    grown = growths(timings)
    for growth in grown:
        least, most = growth.faces
        console.print(
            f"{growth.family}: a face costs {growth.factor:.2f} times as much at {most:.0f} faces as at {least:.0f}",
            highlight=False,
            soft_wrap=True,
        )
    return {
        "drake_left_out": missing,
        "timings": [timing.as_dict() for timing in timings],
        "growth": [asdict(growth) for growth in grown],
    }


def _find_drake() -> tuple[Callable[[Geometry, Geometry], Side] | None, str]:
    """Function that makes Drake's side of a comparison, or None and the reason why there is none."""
    try:
        from hydro_sim_core.experiments.geometry_bench.drake import DrakePair
    except ImportError as error:
        return None, f"{error}; install it: pip install 'hydro-sim-core[oracles]'"
    return DrakePair, ""


def timing_table(timings: Sequence[Timing]) -> Table:
    """Table with one row per pair and speed; Drake's columns only where it ran."""
    columns: dict[str, Callable[[Timing], str]] = {
        "pair": lambda t: t.family,
        "m/s": lambda t: f"{t.speed:g}",
        "faces": lambda t: f"{t.faces:.0f}",
        "µs a query": lambda t: f"{1e6 * t.seconds:.0f}",
        "ns a face": lambda t: f"{1e9 * t.seconds_a_face:.0f}",
        "stages, %": _stages,
    }
    beside_drake = any(timing.drake_seconds is not None for timing in timings)
    if beside_drake:
        columns |= {
            "Drake's": lambda t: _number(t.drake_seconds_a_face, "{:.0f}", 1e9),
            "its faces": lambda t: _number(t.drake_faces, "{:.0f}"),
            "overhead, µs": lambda t: _number(t.drake_overhead, "{:.1f}", 1e6),
            "whole": lambda t: _number(t.share, "{:.3f}"),
            "share": lambda t: _number(t.share_without_overhead, "{:.3f}"),
        }
    columns["target"] = _target
    table = Table(
        title="contact faces, one thread, 1 ms between queries",
        title_justify="left",
        caption=f"{_STAGES}; {_SHARES}" if beside_drake else _STAGES,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for heading in columns:
        table.add_column(heading, justify="left" if heading == "pair" else "right")
    for timing in timings:
        table.add_row(*(cell(timing) for cell in columns.values()))
    return table


def _stages(timing: Timing) -> str:
    whole = sum(timing.stages.values())
    return "/".join(f"{100.0 * seconds / whole:.0f}" for seconds in timing.stages.values())


def _number(value: float | None, form: str, factor: float = 1.0) -> str:
    return "" if value is None else form.format(factor * value)


def _target(timing: Timing) -> str:
    """Target time: green where it is met, red where it is not, plain where that is not known."""
    if timing.seconds_allowed is not None:
        text = f"≤ {1e6 * timing.seconds_allowed:.0f} µs"
    elif timing.share_allowed is not None:
        text = f"≤ {timing.share_allowed:.3g}"
    else:
        text = ""
    if timing.reaches_target is None:
        return text
    colour = "green" if timing.reaches_target else "red"
    return f"[{colour}]{text} {'✓' if timing.reaches_target else '✗'}[/{colour}]"
