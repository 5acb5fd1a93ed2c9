"""Report on how well a simulation keeps its rate, as a table and as a picture: the one that a node writes when it ends
(``report_file``), or one of a look at a running simulation.
"""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from pydantic import BaseModel, ConfigDict, ValidationError
from rich import box
from rich.console import Console
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.cyclictest import CyclictestReport, distribution_of
from hydro_sim_core.cli.outputs import (
    PICTURE,
    REPORT,
    JsonOption,
    OverwriteOption,
    files_to_write,
    optional,
    out_option,
)
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.errors import InputError
from hydro_sim_core.files import read_regular_file
from hydro_sim_core.simulation import CommandReport, RunnerReport
from hydro_sim_core.simulation.running.timing import Distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Pairs (duration in s, count) in increasing order of duration.
Histogram = list[tuple[float, int]]

_SHORTEST_SHOWN = 1e-6  # s
_MOST_BYTES = 16 * 2**20  # of a report; actual ones have 100 kB


class HilReport(BaseModel):
    """Contents of a report file, in SI units; the node's ``hil/report.py`` writes them, or ``hil_watch.py``.

    The last three are told by a look from outside: how late steps began; what cyclictest measured meanwhile, or why
    there is nothing of it; states that were missed.
    """

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
    lateness: Distribution = Distribution()
    cyclictest: CyclictestReport | str | None = None
    states_lost: int = 0

    @property
    def used(self) -> dict[str, CommandReport]:
        """Reports of the interfaces on which commands arrived."""
        return {name: commands for name, commands in self.commands.items() if commands.received}


_WRITTEN = {"report": REPORT, "picture": PICTURE}


def hil_report(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="JSON file that the node wrote to its parameter report_file.",
            show_default=False,
        ),
    ] = None,
    watch: Annotated[
        str | None, optional("Look at the running simulation of this name instead.", "NAME", "--watch")
    ] = None,
    seconds: Annotated[float, typer.Option(help="How long to look at it, s.", min=0.1)] = 10.0,
    cyclictest: Annotated[
        bool,
        typer.Option(help="Run cyclictest (rt-tests) meanwhile, on the processor of the simulation's loop."),
    ] = True,
    out: Annotated[list[Path] | None, out_option(_WRITTEN)] = None,
    json: JsonOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Show how well a simulation kept its rate and what happened to its commands."""
    if (file is None) == (watch is None):
        raise typer.BadParameter("give the file of a report, or --watch NAME of a running simulation")
    written = files_to_write(out, overwrite, _WRITTEN, json)
    console = output.make_console(written.get("report"))
    if watch is not None:
        # Imported here because it imports this module.
        from hydro_sim_core.cli.hil_watch import watch as look_at

        report = look_at(watch, seconds, cyclictest)
    else:
        assert file is not None
        report = read_report(file)
    print_report(report, console)
    if "report" in written:
        output.write_report(written["report"], report.model_dump(mode="json"))
    if "picture" in written:
        plot_report(report, written["picture"])
        console.print(f"drawn to {output.shown(written['picture'])}", highlight=False)


def read_report(path: Path) -> HilReport:
    """Read a report file.

    Raises:
        InputError: The file cannot be read, or is not a report of a run.
    """
    mend = "give the file that the node wrote to its parameter 'report_file'"
    content = read_regular_file(path, _MOST_BYTES, mend=mend)
    try:
        data = json_format.loads(content)
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
    rows += _rows_of_a_look(report)
    for name, commands in report.used.items():
        rows.append((f"{name} commands", str(commands)))
        rows.append((f"{name} age", str(commands.age)))
        rows.append((f"{name} latency", str(commands.latency)))
    rows.append(("commands refused", f"{sum(report.refused.values())}"))
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _rows_of_a_look(report: HilReport) -> list[tuple[str, str]]:
    """What a look from outside tells in addition; nothing for the report of a node."""
    rows = []
    if report.lateness.count:
        rows.append(("begin after the deadline", str(report.lateness)))
    if isinstance(report.cyclictest, str):
        rows.append(("cyclictest", output.shown(report.cyclictest)))
    elif report.cyclictest is not None:
        measured = report.cyclictest
        place = f"on CPU {measured.cpu}" if measured.cpu >= 0 else "on any CPU"
        priority = f"SCHED_FIFO {measured.priority}" if measured.priority else "without priority"
        rows.append((f"cyclictest {place}, {priority}", str(measured.latency)))
        if report.lateness.count and measured.latency.p99 > 0.0:
            ratio = report.lateness.p99 / measured.latency.p99
            rows.append(("begin / cyclictest, p99", f"{ratio:.2f}"))
    for name, histogram in report.latency_histograms.items():
        if name not in report.commands and histogram:
            rows.append((f"{name} latency", str(distribution_of(histogram))))
    if report.states_lost:
        rows.append(("states that were missed", str(report.states_lost)))
    return rows


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
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

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
        # Periods span less than a decade, where the labels of the minor ticks run into each other.
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel="period [ms]", ylabel="steps a bin of one per cent", title="From step to step")
    axes.grid(alpha=0.3, which="both")


def _draw_exceedance(axes: Axes, report: HilReport) -> None:
    curves = {
        "step time": report.histograms.get("step_time", []),
        "jitter": report.histograms.get("jitter", []),
        "begin after the deadline": report.histograms.get("lateness", []),
    }
    if isinstance(report.cyclictest, CyclictestReport):
        curves["cyclictest"] = report.cyclictest.histogram
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
        axes.legend(loc="lower left", fontsize="small")
    axes.set(xlabel="duration [ms]", ylabel="share that takes at least as long", title="How often how late")
    axes.grid(alpha=0.3, which="both")


def _columns(histogram: Histogram) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(histogram, dtype=float).reshape(-1, 2)
    return table[:, 0], table[:, 1]
