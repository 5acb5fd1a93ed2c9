"""A hundred thousand random steps at equivalent contact points (``experiments/point_reliability.py``)."""

from __future__ import annotations

import sys
import time

from measure import make_parser, write
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hydro_sim_core.experiments.point_reliability import PointReport, run_scenes


def summary(report: PointReport) -> Table:
    """Counts, worst steps and failures."""
    table = Table(title=f"{report.steps} steps of {report.scenes} random scenes", title_justify="left")
    for heading in ("what", "how often or how much", "scene", "step"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for name, count in sorted(report.counts.items()):
        table.add_row(name, str(count), "", "")
    for quantity, case in report.worst.items():
        table.add_row(f"largest {quantity}", f"{case.value:.3g}", str(case.number), str(case.step))
    for case in report.failures[:20]:
        table.add_row(f"[red]{case.detail}[/red]", f"{case.value:.3g}", str(case.number), str(case.step))
    return table


def main() -> int:
    """Run, print, write; 1 if a step broke a promise."""
    parser = make_parser(__doc__ or "", "point_reliability")
    parser.add_argument("--steps", type=int, default=100_000, help="least number of steps")
    parser.add_argument("--seed", type=int, default=1, help="of the series of scenes")
    parser.add_argument("--first", type=int, default=0, help="number of the first scene")
    arguments = parser.parse_args()
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    report, begin = PointReport(), time.perf_counter()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("steps", total=arguments.steps)
        for report in run_scenes(arguments.seed, arguments.steps, arguments.first):
            failures = f", {len(report.failures)} failures" if report.failures else ""
            progress.update(task, completed=report.steps, description=f"steps{failures}")
    console.print(summary(report))
    seconds = round(time.perf_counter() - begin, 1)
    options = {"seed": arguments.seed, "first": arguments.first, "seconds": seconds}
    write(arguments.out, {**options, **report.as_dict()})
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
