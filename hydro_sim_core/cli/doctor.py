"""State of the installation and of the machine."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich import box
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.checkup import OK, Finding, findings
from hydro_sim_core.cli.outputs import REPORT, JsonOption, OverwriteOption, ReportOutOption, files_to_write

#: Columns of the table, and how wide their lines are: in a pipe nothing else bounds them.
_COLUMNS = {"part": 30, "state": 7, "found": 38, "what to do": 33}


def doctor(
    out: ReportOutOption = None,
    json: JsonOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Look what this machine has and lacks for simulating; exit status 1 only if nothing can run."""
    report = files_to_write(out, overwrite, {"report": REPORT}, json).get("report")
    console = output.make_console(report)
    with console.status("looking"):
        found = list(findings())
    console.print(table(found))
    healthy = not any(one.needed and one.state != OK for one in found)
    if report is not None:
        output.write_json(report, {"healthy": healthy, "findings": [asdict(one) for one in found]})
    if not healthy:
        raise typer.Exit(1)


def table(found: list[Finding]) -> Table:
    """Findings with what to do about them; what nothing runs without is red where it fails."""
    result = Table(box=box.SIMPLE_HEAD)
    rows = [(one.part, one.state, one.found, one.mend) for one in found]
    for (heading, width), texts in zip(_COLUMNS.items(), zip(*rows, strict=True), strict=True):
        # Paths and commands are copied: none is broken.
        words = (len(word) for text in texts for word in text.split())
        result.add_column(heading, overflow="fold", max_width=max(width, *words, 0))
    for one, row in zip(found, rows, strict=True):
        part, state, *others = map(output.shown, row)
        colour = "green" if one.state == OK else "red" if one.needed else "yellow"
        result.add_row(part, f"[{colour}]{state}[/{colour}]", *others)
    return result
