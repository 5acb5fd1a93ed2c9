"""Records of experiments in files, and the Markdown page of their results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments.registry import EXPERIMENTS
from hydro_sim_core.experiments.report import Comparison, ExperimentReport

#: Fields of a file besides the report.
_RECORD_KEYS = ("experiment", "date", "versions", "quick", "seconds", "machine")
#: Largest number of values kept of a column, and their number of digits.
_MAX_VALUES, _DIGITS = 400, 6
_MEND = "write it anew: hydro-sim validate --all --overwrite --out"


@dataclass(frozen=True)
class Record:
    """One run of one experiment.

    Attributes:
        experiment: Name of the experiment.
        date: Date, ISO 8601.
        versions: Versions of the software that the result depends on.
        quick: Whether it was the quick form.
        seconds: Duration of the run, s.
        machine: Machine of the run, on which the duration depends.
        report: The report.
    """

    experiment: str
    date: str
    versions: Mapping[str, str]
    quick: bool
    seconds: float
    machine: str
    report: ExperimentReport

    @property
    def about(self) -> str:
        """Duration and machine, rounded to what is reproducible."""
        if self.seconds < 1.0:
            return "under 1 s"
        minutes = self.seconds / 60.0
        return f"about {self.seconds:.0f} s" if minutes < 2.0 else f"about {minutes:.0f} min"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON, with the series thinned to the resolution of the picture."""
        head = {key: getattr(self, key) for key in _RECORD_KEYS}
        series = {name: _thinned(column) for name, column in self.report.series.items()}
        return {**head, **self.report.as_dict(), "series": series}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Record:
        """The record whose ``as_dict`` is ``data``.

        Raises:
            KeyError: A field is missing.
        """
        head = {key: data[key] for key in _RECORD_KEYS}
        return cls(**head, report=ExperimentReport.from_dict(data))


def _thinned(column: list[float]) -> list[float]:
    """Every n-th value and the last one; columns of equal length keep the same rows."""
    last = len(column) - 1
    step = max(1, -(-last // (_MAX_VALUES - 1)))
    rows = [*range(0, last, step), last] if column else []
    return [float(f"{column[row]:.{_DIGITS}g}") for row in rows]


def read_records(folder: Path) -> list[Record]:
    """Read the records of all experiments.

    Args:
        folder: Folder with a file ``NAME.json`` for every experiment.

    Returns:
        Records in the order of the registry.

    Raises:
        InputError: A file is missing, cannot be read, is not a record, or is of an unknown experiment.
    """
    for path in sorted(folder.glob("*.json")):
        if path.stem not in EXPERIMENTS:
            raise InputError(path, "", "is of no experiment", "remove it")
    return [read_record(folder, name) for name in EXPERIMENTS]


def read_record(folder: Path, name: str) -> Record:
    """Read the record of one experiment.

    Raises:
        InputError: Its file is missing, cannot be read or is not a record.
    """
    path = folder / f"{name}.json"
    try:
        return Record.from_dict(json.loads(path.read_text()))
    except OSError as error:
        raise InputError(path, "", error.strerror or "cannot be read", f"{_MEND} {folder}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(path, "", "is no record of an experiment", f"{_MEND} {folder}") from None


def page(records: list[Record], pictures: str) -> str:
    """Make the page in Markdown.

    Args:
        records: At least one record.
        pictures: Folder of ``NAME.png``, relative to the page.
    """
    described: set[str] = set()
    sections = []
    for record in records:
        description = EXPERIMENTS[record.experiment].description
        # Variants of one experiment share its description.
        text = EXPERIMENTS[record.experiment].summary if description in described else description
        described.add(description)
        sections.append(_section(record, text, pictures))
    return "\n".join([_head(records), *sections])


def _head(records: list[Record]) -> str:
    total = sum(len(record.report.comparisons) for record in records)
    verdicts = [comparison.verdict for record in records for comparison in record.report.comparisons]
    lines = [
        "# Validation",
        "",
        "What the simulator gives beside papers, other simulators and closed forms. `make validation` runs every",
        "experiment and writes this page, its pictures and the numbers behind it.",
        "",
        f"{verdicts.count('yes')} of {total} comparisons agree within their bounds.{_differing(verdicts)}",
        "",
        "| experiment | what it shows | takes | comparisons | agrees |",
        "| --- | --- | --- | ---: | --- |",
    ]
    lines += [
        f"| [{record.experiment}](#{record.experiment}) | {_cell(EXPERIMENTS[record.experiment].summary)} "
        f"| {record.about} | {len(record.report.comparisons)} | {_verdict(record.report.agrees)} |"
        for record in records
    ]
    return "\n".join([*lines, ""])


def _differing(verdicts: list[str]) -> str:
    count = verdicts.count("differs")
    if not count:
        return ""
    return f" {count} more differ from a paper by what their rows say, and would fail if they no longer did."


def _section(record: Record, description: str, pictures: str) -> str:
    name, report = record.experiment, record.report
    command = f"hydro-sim validate {name}" + (" --quick" if record.quick else "")
    versions = ", ".join(f"{library} {version}" for library, version in record.versions.items())
    lines = [
        f"## {name}",
        "",
        description,
        "",
        "<!-- not run: tests/experiments runs the quick form -->",
        "",
        f"    {command}",
        "",
        f"Reference: {report.source}.",
        "",
        "| quantity | unit | reference | ours | deviation | bound | agrees |" + _cells(report.peers),
        "| --- | --- | ---: | ---: | ---: | ---: | --- |" + _cells(["---:"] * len(report.peers)),
        *(_row(comparison) + _cells(_peers(comparison, report)) for comparison in report.comparisons),
        "",
        f"![{_cell(report.title)}]({pictures}/{name}.png)",
        "",
        f"{record.date}, {record.about} on {record.machine}; {versions}.",
    ]
    return "\n".join([*lines, ""])


def _row(c: Comparison) -> str:
    return (
        f"| {_cell(c.quantity)} | {_cell(c.unit)} | {c.reference:.5g} | {c.measured:.5g} "
        f"| {c.deviation_text} | {c.bound_text} | {_verdict(c.agrees, c.verdict)} |"
    )


def _peers(comparison: Comparison, report: ExperimentReport) -> list[str]:
    return [f"{comparison.peers[name]:.3g}" if name in comparison.peers else "" for name in report.peers]


def _cells(texts: list[str]) -> str:
    """Cells at the end of a row."""
    return "".join(f" {_cell(text)} |" for text in texts)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _verdict(agrees: bool, verdict: str = "") -> str:
    if agrees:
        return verdict or "yes"
    return f"**{verdict or 'no'}**"
