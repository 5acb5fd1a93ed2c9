"""Experiments on the command line: one of them, or all with a page of results."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hydro_sim_core.assets import folder as shipped_folder
from hydro_sim_core.cli import output
from hydro_sim_core.cli.options import JsonOption, PlotOption
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments import EXPERIMENTS, find_experiment
from hydro_sim_core.experiments.page import Record, page, read_record, read_records


def validate(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Experiment to run; without it, list them.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run every experiment; needs --out.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --all: write each experiment's numbers and picture to DIR, and a page of them to DIR.md.",
            file_okay=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A short form that takes seconds and compares less.")
    ] = False,
    json: JsonOption = None,
    plot: PlotOption = None,
) -> None:
    """Run an experiment and compare with known results; exit status 0 only if all comparisons agree."""
    console = output.make_console()
    if every != (out is not None):
        raise typer.BadParameter("--all and --out DIR go together")
    if every and not (name is json is plot is None):
        raise typer.BadParameter(
            "--all runs every experiment and writes its own files: leave NAME and FILE out"
        )
    if name is None and not every:
        if json is not None or plot is not None:
            raise typer.BadParameter("name the experiment to run")
        list_experiments(console)
        return
    agrees = (
        validate_all(quick, out, console)
        if out is not None
        else validate_one(str(name), quick, json, plot, console)
    )
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


def validate_one(name: str, quick: bool, json: Path | None, plot: Path | None, console: Console) -> bool:
    """Run an experiment, print the result and write the requested files.

    Returns:
        Whether all of it agrees.

    Raises:
        InputError: There is no such experiment, or a file cannot be written.
    """
    experiment = find_experiment(name)
    for path in (json, plot):
        if path is not None:
            output.check_writable(path)
    with compile_progress(console):
        report = experiment.run(quick)
    console.print(output.comparison_table(report))
    if json is not None:
        output.write_json(json, {**output.versions(), **report.as_dict()})
    if plot is not None:
        experiment.plot(report, plot)
    return report.agrees


def validate_all(quick: bool, folder: Path, console: Console) -> bool:
    """Run every experiment; write results and pictures to ``folder``, and the page beside it.

    Returns:
        Whether all of it agrees.

    Raises:
        InputError: The folder cannot be made or written, or an experiment lacks a package or file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(folder, "", error.strerror or "cannot be made", "give another folder") from None
    document = folder.with_name(f"{folder.name}.md")
    output.check_writable(document)
    with _progress(console) as progress:
        task = progress.add_task("", total=len(EXPERIMENTS))
        for name in EXPERIMENTS:
            progress.update(task, description=name)
            progress.console.print(_line(_record(name, quick, folder)))
            progress.advance(task)
    records = read_records(folder)
    document.write_text(page(records, folder.name))
    console.print(f"written: {document}")
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
