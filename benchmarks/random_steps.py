"""What benchmarks of random steps share: their options, their progress, and the table of what they found."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from measure import make_parser
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hydro_sim_core.experiments.reliability import ReliabilityReport


def make_series_parser(description: str, name: str, steps: int) -> argparse.ArgumentParser:
    """Command line of a series of scenes, with its usual number of steps."""
    parser = make_parser(description, name)
    parser.add_argument("--steps", type=int, default=steps, help="least number of steps")
    parser.add_argument("--seed", type=int, default=1, help="of the series of scenes")
    parser.add_argument("--first", type=int, default=0, help="number of the first scene")
    return parser


def follow(reports: Iterable[ReliabilityReport], steps: int) -> ReliabilityReport:
    """Show the progress of a series to some number of steps, then what was found; return the last report."""
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    report = ReliabilityReport()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("steps", total=steps)
        for report in reports:
            failures = f", {len(report.failures)} failures" if report.failures else ""
            progress.update(task, completed=report.steps, description=f"steps{failures}")
    console.print(_summary(report))
    return report


def _summary(report: ReliabilityReport) -> Table:
    """Counts, failures and worst cases."""
    table = Table(title=f"{report.steps} steps of {report.scenes} random scenes", title_justify="left")
    for heading in ("what", "how often or how much", "scene", "step"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for name, count in sorted(report.counts.items()):
        table.add_row(name, str(count), "", "")
    for quality, cases in report.worst.items():
        for case in cases[:1]:
            table.add_row(f"worst {quality}", f"{case.value:.3g}", str(case.number), str(case.step))
    for case in report.failures[:20]:
        table.add_row(f"[red]{case.detail}[/red]", f"{case.value:.3g}", str(case.number), str(case.step))
    return table
