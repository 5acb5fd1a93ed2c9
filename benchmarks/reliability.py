"""A million random steps, each checked for its balance of momentum and energy (``experiments/reliability.py``)."""

from __future__ import annotations

import logging
import sys

from measure import make_parser, write
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hydro_sim_core.experiments.random_parts import USUAL, WIDE
from hydro_sim_core.experiments.reliability import ReliabilityReport, run_scenes


def summary(report: ReliabilityReport) -> Table:
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


def main() -> int:
    """Run, print, write; 1 if a step broke a promise."""
    parser = make_parser(__doc__ or "", "reliability")
    parser.add_argument("--steps", type=int, default=1_000_000, help="least number of steps")
    parser.add_argument("--seed", type=int, default=1, help="of the series of scenes")
    parser.add_argument("--first", type=int, default=0, help="number of the first scene")
    parser.add_argument(
        "--wide", action="store_true", help="arms, all solvers and extremes, see random_parts.WIDE"
    )
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # rigid shells that the rigid ground lets through are meant to be
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    report = ReliabilityReport()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("steps", total=arguments.steps)
        ranges = WIDE if arguments.wide else USUAL
        for report in run_scenes(arguments.seed, arguments.steps, arguments.first, ranges):
            failures = f", {len(report.failures)} failures" if report.failures else ""
            progress.update(task, completed=report.steps, description=f"steps{failures}")
    console.print(summary(report))
    write(
        arguments.out,
        {"seed": arguments.seed, "first": arguments.first, "wide": arguments.wide, **report.as_dict()},
    )
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
