"""How often the pancake is turned over, by mesh, representation of contact and time step.

Masterjohn 2022 (V-B) repeats the task on ever finer meshes, from 230 to 1500 contact faces on average, and shows one
success on each. Here every cell of the table is a number of seeds, which draw start, friction and stiffness. Trials are
written as they end and only missing ones are run, so that it can be stopped and go on: ``--seeds``, ``--meshes`` and so
on tell which are wanted, ``--anew`` forgets those of other commits.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from measure import make_parser, write
from pancake_meshes import MESHES, REPRESENTATIONS, TIME_STEPS, values_of
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from hydro_sim_core.simulation import World
from hydro_sim_core.tasks import TASKS, run_trial
from hydro_sim_core.tasks.trial import scene_of

TASK = "pancake_flip"


class Wanted(NamedTuple):
    """A trial: cell of the table, and seed."""

    mesh: str
    representation: str
    time_step: float
    seed: int

    @property
    def values(self) -> dict[str, Any]:
        """Of the scene, by path."""
        return values_of(self.mesh, self.representation, self.time_step)


def main() -> None:
    """Run the trials that are missing, print the table, write the results."""
    arguments = _arguments()
    console = Console(width=110)
    commit = _commit()
    known = _known(arguments.out, commit if arguments.anew else None)
    seeds = range(arguments.seeds)
    cells = itertools.product(arguments.meshes, arguments.representations, arguments.time_steps, seeds)
    missing = [wanted for wanted in itertools.starmap(Wanted, cells) if wanted not in known]
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("trials", total=len(missing))
        for wanted, found in _run(missing, arguments.jobs):
            known[wanted] = {**found, "commit": commit}
            progress.advance(bar)
            _save(arguments.out, known)
    console.print(_table(known))
    _save(arguments.out, known, quiet=False)


def _arguments() -> argparse.Namespace:
    parser = make_parser(__doc__.splitlines()[0], "pancake_success")
    parser.add_argument("--seeds", type=int, default=20, help="seeds a cell, from 0 on")
    parser.add_argument("--meshes", nargs="+", choices=MESHES, default=list(MESHES))
    parser.add_argument("--representations", nargs="+", choices=REPRESENTATIONS, default=REPRESENTATIONS)
    parser.add_argument("--time-steps", nargs="+", type=float, default=TIME_STEPS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--anew", action="store_true", help="forget trials of other commits")
    return parser.parse_args()


def _run(missing: list[Wanted], jobs: int) -> Iterator[tuple[Wanted, dict[str, Any]]]:
    if missing:
        World(scene_of(TASKS[TASK], None)).step()  # compiles once, not in every process
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(_trial, wanted): wanted for wanted in missing}
        try:
            for done in as_completed(running):
                yield running[done], done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _trial(wanted: Wanted) -> dict[str, Any]:
    return run_trial(TASKS[TASK], wanted.seed, wanted.values).as_dict()


def _commit() -> str:
    words = ("git", "describe", "--always", "--dirty")
    return subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True).stdout.strip()


def _known(path: Path, commit: str | None) -> dict[Wanted, dict[str, Any]]:
    """Trials of the file, by what was wanted; of one commit, or of any."""
    if not path.exists():
        return {}
    rows = json.loads(path.read_text())["trials"]
    return {
        Wanted(*row["wanted"]): row["found"]
        for row in rows
        if commit is None or row["found"]["commit"] == commit
    }


def _save(path: Path, known: dict[Wanted, dict[str, Any]], quiet: bool = True) -> None:
    rows = [{"wanted": list(wanted), "found": known[wanted]} for wanted in sorted(known)]
    write(path, {"trials": rows}, quiet=quiet)


def _table(known: dict[Wanted, dict[str, Any]]) -> Table:
    table = Table(title="Pancakes turned over, and what a trial takes")
    for heading in (
        "mesh",
        "contact",
        "time step, ms",
        "succeeded",
        "faces",
        "factor",
        "failed in phase (seed)",
    ):
        table.add_column(heading)
    for cell, group in itertools.groupby(sorted(known), lambda wanted: wanted[:3]):
        trials = [known[wanted] for wanted in group]
        failed = [f"{trial['phase']} ({trial['seed']})" for trial in trials if not trial["succeeded"]]
        simulated = sum(trial["steps"] for trial in trials) * cell[2]
        table.add_row(
            cell[0],
            cell[1],
            f"{1e3 * cell[2]:g}",
            f"{len(trials) - len(failed)} of {len(trials)}",
            f"{sum(trial['mean_faces'] for trial in trials) / len(trials):.0f}",
            f"{simulated / sum(trial['processor_time'] for trial in trials):.2f}",
            ", ".join(failed),
        )
    return table


if __name__ == "__main__":
    main()
