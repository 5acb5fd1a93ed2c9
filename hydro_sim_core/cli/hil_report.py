"""Display of the report that a node writes when it ends (``report_file``), as a table and as a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from pydantic import BaseModel, ConfigDict, ValidationError
from rich import box
from rich.console import Console
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.outputs import PICTURE, OverwriteOption, files_to_write, out_option
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.errors import InputError
from hydro_sim_core.files import read_regular_file
from hydro_sim_core.simulation import CommandReport, RunnerReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Pairs (duration in s, count) in increasing order of duration.
Histogram = list[tuple[float, int]]

_SHORTEST_SHOWN = 1e-6  # s
_MOST_BYTES = 16 * 2**20  # of a report; actual ones have 100 kB


class HilReport(BaseModel):
    """Contents of a report file, in SI units; the node's ``hil/report.py`` writes them."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    scene: str
    time_step: float
    mode: str
    real_time_factor: float
    pace: RunnerReport
    histograms: dict[str, Histogram]
    commands: dict[str, CommandReport]
    latency_histograms: dict[str, Histogram]
    refused: dict[str, int]

    @property
    def used(self) -> dict[str, CommandReport]:
        """Reports of the interfaces on which commands arrived."""
        return {name: commands for name, commands in self.commands.items() if commands.received}


def hil_report(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="JSON file that the node wrote to its parameter report_file."),
    ],
    out: Annotated[list[Path] | None, out_option({"picture": PICTURE})] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Show how well a node kept its rate and what happened to its commands."""
    picture = files_to_write(out, overwrite, {"picture": PICTURE}).get("picture")
    report = read_report(file)
    console = output.make_console()
    print_report(report, console)
    if picture is not None:
        plot_report(report, picture)
        console.print(f"drawn to {output.shown(picture)}", highlight=False)


def read_report(path: Path) -> HilReport:
    """Read a report file.

    Raises:
        InputError: The file cannot be read, or is not a report of a run.
    """
    mend = "give the file that the node wrote to its parameter 'report_file'"
    content = read_regular_file(path, _MOST_BYTES, mend=mend)
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError(path, "", "is not JSON", mend) from None
    if isinstance(data, dict) and data.get("scene", "") is None:
        raise InputError(path, "scene", "is none: the node was stopped before it ran", "let it run longer")
    try:
        return HilReport.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        element = ".".join(str(part) for part in first["loc"]) or "report"
        raise InputError(path, element, first["msg"], mend) from None


def print_report(report: HilReport, console: Console) -> None:
    """Print the figures of a report."""
    pace = report.pace
    wanted = f"of {report.real_time_factor:g}" if report.real_time_factor else "as fast as possible"
    table = Table(
        title=output.shown(f"{report.scene}, {report.mode.replace('_', ' ')}"),
        box=box.SIMPLE,
        show_header=False,
    )
    rows = [
        ("simulated / wall time", f"{pace.simulated_time:.3f} / {pace.wall_time:.3f} s"),
        ("real-time factor", f"{pace.real_time_factor:.4f} {wanted}"),
        ("achieved rate", f"{pace.achieved_rate:.1f} Hz"),
        (
            "deadline misses",
            f"{pace.overruns} of {pace.steps} steps, at most {pace.longest_overrun} in a row",
        ),
        (
            "skipped steps",
            f"{pace.skipped_steps}, {pace.given_up:.3f} s given up in {pace.times_given_up} times",
        ),
        ("latest step", f"{1e3 * pace.late_max:.3f} ms"),
        ("step time", str(pace.step_time)),
        ("period", str(pace.period)),
        ("jitter of the period", str(pace.jitter)),
    ]
    for name, commands in report.used.items():
        rows.append((f"{name} commands", str(commands)))
        rows.append((f"{name} age", str(commands.age)))
        rows.append((f"{name} latency", str(commands.latency)))
    rows.append(("commands refused", f"{sum(report.refused.values())}"))
    for row in rows:
        table.add_row(*row)
    console.print(table)


def plot_report(report: HilReport, path: Path) -> None:
    """Draw the distributions of a report as PNG.

    Raises:
        InputError: matplotlib is not installed or the file cannot be written.
    """
    with figure(path, 11.0, 4.6) as canvas:
        canvas.suptitle(
            f"{report.scene}, {report.mode.replace('_', ' ')}: {report.pace.steps} steps of "
            f"{1e3 * report.time_step:g} ms, {report.pace.overruns} deadline misses"
        )
        left, right = canvas.subplots(1, 2)
        _draw_periods(left, report)
        _draw_exceedance(right, report)


def _draw_periods(axes: Axes, report: HilReport) -> None:
    durations, counts = _columns(report.histograms.get("period", []))
    axes.step(1e3 * durations, counts, where="mid", color="#3b5b92", linewidth=1.2)
    axes.fill_between(1e3 * durations, counts, step="mid", color="#3b5b92", alpha=0.25)
    if report.real_time_factor and report.mode == "free_running":
        nominal = 1e3 * report.time_step / report.real_time_factor
        axes.axvline(nominal, color="#b5452c", linestyle="--", linewidth=1.0, label=f"nominal {nominal:g} ms")
        axes.legend()
    if len(durations):
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set(xlabel="period [ms]", ylabel="steps a bin of one per cent", title="From step to step")
    axes.grid(alpha=0.3, which="both")


def _draw_exceedance(axes: Axes, report: HilReport) -> None:
    curves = {
        "step time": report.histograms.get("step_time", []),
        "jitter": report.histograms.get("jitter", []),
    }
    curves |= {f"{name} latency": values for name, values in report.latency_histograms.items()}
    for name, histogram in curves.items():
        durations, counts = _columns(histogram)
        if not len(durations):
            continue
        longer = counts[::-1].cumsum()[::-1] / counts.sum()
        axes.step(1e3 * np.maximum(durations, _SHORTEST_SHOWN), longer, where="post", label=name)
    if axes.lines:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.legend()
    axes.set(xlabel="duration [ms]", ylabel="share that takes at least as long", title="How often how late")
    axes.grid(alpha=0.3, which="both")


def _columns(histogram: Histogram) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(histogram, dtype=float).reshape(-1, 2)
    return table[:, 0], table[:, 1]
