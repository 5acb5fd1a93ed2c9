"""Experiments on the command line: one of them, or all with a page of results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hydro_sim_core.assets import folder as shipped_folder
from hydro_sim_core.cli import output
from hydro_sim_core.cli.outputs import (
    PICTURE,
    REPORT,
    JsonOption,
    OverwriteOption,
    check_writable,
    files_to_write,
    optional,
)
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments import EXPERIMENTS, find_experiment
from hydro_sim_core.experiments.page import Record, page, read_record, read_records

_WRITTEN = {"picture": PICTURE, "report": REPORT}
_SUFFIXES = (*PICTURE, *REPORT)


def validate(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Experiment to run; without it, list them.",
            autocompletion=lambda incomplete: [name for name in EXPERIMENTS if name.startswith(incomplete)],
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run every experiment; needs --out DIR.")] = False,
    out: Annotated[
        list[Path] | None,
        optional(
            "Write .png for the picture or .json for the report; may be repeated. With --all a folder: each "
            "experiment's numbers and picture go to DIR, and a page of them to DIR.md.",
            "FILE",
            "--out",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A short form that takes seconds and compares less.")
    ] = False,
    json: JsonOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Run an experiment and compare with known results; exit status 0 only if all comparisons agree."""
    if every:
        if name is not None or json is not None or out is None or len(out) != 1:
            raise typer.BadParameter(
                "--all runs every experiment: it needs one --out DIR, and no NAME or --json"
            )
        agrees = validate_all(quick, out[0], overwrite, output.make_console())
    elif name is not None:
        files = files_to_write(out, overwrite, _WRITTEN, json)
        agrees = validate_one(name, quick, files, output.make_console(files.get("report")))
    elif out or json is not None:
        raise typer.BadParameter("name the experiment to run, or give --all")
    else:
        list_experiments(output.make_console())
        return
    if not agrees:
        raise typer.Exit(1)


def list_experiments(console: Console) -> None:
    """Print the experiments by name, with the run time of each from its record."""
    table = Table("experiment", "took", "what it shows", box=None)
    for name, experiment in EXPERIMENTS.items():
        table.add_row(name, _took(name), experiment.summary)
    console.print(table)


def _took(name: str) -> str:
    """Recorded run time as text; empty for a new experiment, whose record the package does not hold yet."""
    try:
        return read_record(shipped_folder("validation"), name).about
    except (InputError, FileNotFoundError):
        return ""


def validate_one(name: str, quick: bool, files: Mapping[str, Path], console: Console) -> bool:
    """Run an experiment, print the result and write the requested files by their kinds.

    Returns:
        Whether all of it agrees.

    Raises:
        InputError: There is no such experiment, or a file cannot be written.
    """
    experiment = find_experiment(name)
    with compile_progress(console):
        report = experiment.run(quick)
    console.print(output.comparison_table(report))
    output.write_report(files.get("report"), report.as_dict())
    if "picture" in files:
        experiment.plot(report, files["picture"])
    return report.agrees


def validate_all(quick: bool, folder: Path, overwrite: bool, console: Console) -> bool:
    """Run every experiment; write results and pictures to ``folder``, and the page beside it.

    Returns:
        Whether all of it agrees.

    Raises:
        InputError: The folder cannot be made or written, a file would be replaced, or an experiment lacks a package or
            file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(folder, "", error.strerror or "cannot be made", "give another folder") from None
    document = folder.with_name(f"{folder.name}.md")
    for path in (document, *(folder / f"{name}{suffix}" for name in EXPERIMENTS for suffix in _SUFFIXES)):
        check_writable(path, overwrite)
    with _progress(console) as progress:
        task = progress.add_task("", total=len(EXPERIMENTS))
        for name in EXPERIMENTS:
            progress.update(task, description=name)
            progress.console.print(_line(_record(name, quick, folder)))
            progress.advance(task)
    records = read_records(folder)
    document.write_text(page(records, folder.name))
    console.print(f"written: {output.shown(document)}")
    return all(record.report.agrees for record in records)


def _record(name: str, quick: bool, folder: Path) -> Record:
    """Run one experiment, write its results and draw its picture from the written data."""
    experiment = EXPERIMENTS[name]
    began = time.monotonic()
    report = experiment.run(quick)
    seconds = time.monotonic() - began
    record = Record(
        experiment=name,
        date=datetime.now(UTC).date().isoformat(),
        versions=output.versions(),
        quick=quick,
        seconds=round(seconds, 2),
        machine=output.machine(),
        report=report,
    )
    written = record.as_dict()
    output.write_json(folder / f"{name}.json", written)
    experiment.plot(Record.from_dict(written).report, folder / f"{name}.png")
    return record


def _line(record: Record) -> str:
    comparisons = record.report.comparisons
    agreeing = sum(comparison.agrees for comparison in comparisons)
    colour = "green" if record.report.agrees else "red"
    count = f"{agreeing} of {len(comparisons)} agree"
    return f"{record.experiment:24s} [{colour}]{count}[/{colour}] in {record.seconds:.1f} s"


def _progress(console: Console) -> Progress:
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
