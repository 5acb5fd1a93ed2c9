"""What every experiment must do in its quick form."""

from __future__ import annotations

import json
from pathlib import Path

from hydro_sim_core.experiments import EXPERIMENTS, ExperimentReport
from hydro_sim_core.experiments.page import Record


def assert_quick_form_agrees(name: str, folder: Path, report: ExperimentReport | None = None) -> None:
    """The report of an experiment, run here unless it is given, agrees; it can be drawn and written, and is described.

    Args:
        name: Of the experiment.
        folder: For the picture, which is drawn from what a record keeps of the report.
        report: Of its quick form.
    """
    experiment = EXPERIMENTS[name]
    report = report or experiment.run(True)
    assert report.comparisons
    assert [c.quantity for c in report.comparisons if not c.agrees] == []
    picture = folder / f"{name}.png"
    kept = Record(name, "2026-01-01", {}, True, 1.0, "", report).as_dict()
    experiment.plot(Record.from_dict(json.loads(json.dumps(kept))).report, picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 170_000  # it is kept in the repository
    written = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert ExperimentReport.from_dict(written) == report
    assert experiment.description
