"""Reports as tables and files."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hydro_sim_core.cli.outputs import STANDARD_OUTPUT
from hydro_sim_core.console import PrintableConsole
from hydro_sim_core.errors import InputError

if TYPE_CHECKING:
    from hydro_sim_core.experiments import ExperimentReport

#: Columns of output to a file or a pipe, which must not be truncated; rich would use 80.
_UNLIMITED = 10_000
#: Pattern of a JSON list of numbers over several lines.
_NUMBERS = re.compile(r"\[\s+-?\d[-+.\deE,\s]*\]")


def make_console(report: Path | None = None, quiet: bool = False) -> Console:
    """Console for what people read: as wide as the terminal, or without a limit if there is none.

    Args:
        report: File of the report; where it is standard output, people read standard error.
        quiet: Print nothing.
    """
    aside = report == STANDARD_OUTPUT
    console = PrintableConsole(emoji=False, stderr=aside, quiet=quiet)
    return (
        console
        if console.is_terminal
        else PrintableConsole(width=_UNLIMITED, emoji=False, stderr=aside, quiet=quiet)
    )


@contextmanager
def printed_aside(report: Path | None) -> Iterator[None]:
    """Send what others print meanwhile to standard error, where standard output is for the report alone.

    Processes that are started meanwhile print there as well.

    Args:
        report: File of the report; None for none.
    """
    if report != STANDARD_OUTPUT:
        yield
        return
    own = sys.stdout
    own.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        if not own.closed:
            own.flush()
        os.dup2(kept, 1)
        os.close(kept)


def shown(text: object) -> str:
    """Text of a user's file or command line as it can be printed: markup and control characters have no effect."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text)))


def versions() -> dict[str, str]:
    """Versions of the packages that a result depends on."""
    return {
        "hydro_sim_core": version("hydro-sim-core"),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
    }


def machine() -> str:
    """Processor and number of cores, on which measured times depend."""
    return f"{processor()}, {os.cpu_count()} cores"


def processor() -> str:
    """Name of the processor, or its architecture if the system does not give a name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def write_report(path: Path | None, data: dict[str, Any]) -> None:
    """Write a report with the versions that it depends on, if it is asked for; errors as for ``write_json``."""
    if path is not None:
        write_json(path, {**versions(), **data})


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write plain data as JSON to a file, or ``-`` for standard output, each list of numbers on one line.

    Raises:
        InputError: The file cannot be written.
    """
    text = json.dumps(data, indent=2, allow_nan=False)
    text = _NUMBERS.sub(lambda numbers: " ".join(numbers[0].split()), text)
    if path == STANDARD_OUTPUT:
        print(text)
        return
    try:
        path.write_text(text + "\n")
    except OSError as error:
        raise InputError(path, "", error.strerror or "cannot be written", "give another file") from None


def comparison_table(report: ExperimentReport) -> Table:
    """Table of reference, measured value and deviation of every comparison."""
    verdict = "[green]agrees[/green]" if report.agrees else "[red]does not agree[/red]"
    table = Table(
        title=report.title,
        title_justify="left",
        caption_justify="left",
        caption=f"{verdict} with {report.source}",
        box=box.SIMPLE_HEAD,
    )
    table.add_column("quantity")
    for heading in ("reference", "measured", "unit", "deviation", "bound"):
        table.add_column(heading, justify="left" if heading == "unit" else "right")
    for name in report.peers:
        table.add_column(name, justify="right")
    for c in report.comparisons:
        colour = "green" if c.agrees else "red"
        table.add_row(
            c.quantity,
            f"{c.reference:.5g}",
            f"{c.measured:.5g}",
            c.unit,
            f"[{colour}]{c.deviation_text}[/{colour}]",
            c.bound_text,
            *(f"{c.peers[name]:.3g}" if name in c.peers else "" for name in report.peers),
        )
    return table
