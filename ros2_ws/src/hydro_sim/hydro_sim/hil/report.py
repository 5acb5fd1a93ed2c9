"""Report of a run, on timing and commands, as a JSON file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hydro_sim.simulation import Simulation


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
        "realtime_priority": parameters.realtime_priority,
        "realtime_cpus": list(parameters.processors),
        "lock_memory": parameters.lock_memory,
        "pace": asdict(runner.report()),
        "histograms": {name: values.histogram() for name, values in durations.items()},
        "commands": {name: asdict(report) for name, report in simulation.link.reports().items()},
        "latency_histograms": simulation.link.latency_histograms(),
        "refused": simulation.rejections.counts,
    }


def write_report(report: dict[str, Any], path: str, logger: Any) -> None:
    """Write a report as JSON; if that fails, log one error."""
    try:
        Path(path).write_text(json.dumps(report, indent=1) + "\n")
    except OSError as error:
        logger.error(f"report_file: {path}: {error.strerror}; the report is lost")
