"""Report of a run, on timing and commands, as a JSON file."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydro_sim.parameters import REPLACE
from hydro_sim_core.errors import InputError

if TYPE_CHECKING:
    from hydro_sim.simulation import Simulation

_SOURCE = "report_file"


def make_report(simulation: Simulation | None) -> dict[str, Any]:
    """Make the report of a run, in SI units; ``hydro-sim hil-report`` plots it.

    Args:
        simulation: The simulation; None if it was never configured.
    """
    if simulation is None:
        return {"scene": None}
    runner, parameters = simulation.runner, simulation.parameters
    pace = runner.pace
    durations = {"step_time": pace.step_time, "period": pace.period, "jitter": pace.jitter}
    return {
        "scene": runner.world.name,
        "time_step": runner.world.time_step,
        "mode": parameters.mode,
        "real_time_factor": parameters.real_time_factor,
        "overrun": parameters.overrun,
        "max_backlog": parameters.max_backlog,
        "realtime_priority": parameters.realtime_priority,
        "realtime_cpus": list(parameters.processors),
        "lock_memory": parameters.lock_memory,
        "pace": asdict(runner.report()),
        "histograms": {name: values.histogram() for name, values in durations.items()},
        "commands": {name: asdict(report) for name, report in simulation.link.reports().items()},
        "latency_histograms": simulation.link.latency_histograms(),
        "refused": simulation.rejections.counts,
    }


class ReportFile:
    """The file of the parameter ``report_file``, which replaces none but those that this process has written.

    Args:
        overwrite: Whether it may replace others.
    """

    def __init__(self, overwrite: bool) -> None:
        self._overwrite = overwrite
        self._written: set[Path] = set()

    def check(self, path: str) -> None:
        """Check that a report can be written, before the run that it would be of.

        Raises:
            InputError: The folder is missing or not writable, or the file exists and may not be replaced.
        """
        file = Path(path)
        if not file.parent.is_dir():
            raise InputError(_SOURCE, path, f"there is no folder {file.parent}", "make it first")
        if file.is_dir():
            raise InputError(_SOURCE, path, "is a folder", "give the name of a file")
        if file.exists() and not self._may_replace(file):
            raise InputError(_SOURCE, path, "exists already", REPLACE)
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise InputError(_SOURCE, path, "may not be written", "give another file")

    def _may_replace(self, file: Path) -> bool:
        return self._overwrite or file.absolute() in self._written

    def write(self, report: dict[str, Any], path: str, logger: Any) -> None:
        """Write a report as JSON; if that fails, log one error."""
        file = Path(path)
        try:
            with file.open("w" if self._may_replace(file) else "x") as stream:
                stream.write(json.dumps(report, indent=1) + "\n")
        except OSError as error:
            logger.error(f"report_file: {path}: {error.strerror}; the report is lost")
        else:
            self._written.add(file.absolute())
