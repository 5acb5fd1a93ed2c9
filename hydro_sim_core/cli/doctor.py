"""State of the installation and of the machine."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich import box
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.checkup import OK, Finding, findings
from hydro_sim_core.cli.outputs import REPORT, JsonOption, OverwriteOption, ReportOutOption, files_to_write


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
    for heading in ("part", "state", "found", "what to do"):
        result.add_column(heading, overflow="fold")
    for one in found:
        colour = "green" if one.state == OK else "red" if one.needed else "yellow"
        cells = (f"[{colour}]{one.state}[/{colour}]", *map(output.shown, (one.found, one.mend)))
        result.add_row(output.shown(one.part), *cells)
    return result
