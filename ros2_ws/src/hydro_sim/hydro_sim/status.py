"""Terminal output: the live status line and the final report."""

from __future__ import annotations

import time
from collections.abc import Mapping

from rich.console import Console

from hydro_sim_core.simulation import CommandReport, RunnerReport, Snapshot

_LIVE_PERIOD = 0.2  # s
_LINE_PERIOD = 1.0  # s


class StatusLine:
    """Status line with time, pace, contact and grip, rewritten in place on a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._period = _LIVE_PERIOD if console.is_terminal else _LINE_PERIOD
        self._shown: tuple[float, Snapshot] | None = None  # when, and what
        self._width = 0

    def update(self, snapshot: Snapshot, paused: bool) -> None:
        """Show ``snapshot`` if an update is due."""
        now = time.monotonic()
        if self._shown is None or self._shown[1].epoch != snapshot.epoch:
            self._shown = (now, snapshot)
        then, before = self._shown
        if now - then < self._period:
            return
        factor = (snapshot.time - before.time) / (now - then)
        self._shown = (now, snapshot)
        line = self._format(snapshot, "paused" if paused else f"real-time factor {factor:6.3f}")
        if self._console.is_terminal:
            self._console.file.write("\r" + line.ljust(self._width))
            self._console.file.flush()
            self._width = len(line)
        else:
            _print(self._console, line)

    def close(self) -> None:
        """End the line, which stays visible."""
        if self._console.is_terminal and self._width:
            self._console.file.write("\n")

    def _format(self, snapshot: Snapshot, pace: str) -> str:
        faces = sum(patch.num_faces for patch in snapshot.contacts)
        forces = snapshot.grip_forces.items()
        grips = ", ".join(f"{force:6.2f} {snapshot.grip_units[name]}" for name, force in forces)
        grip = f" | grip force {grips}" if grips else ""
        return f"t = {snapshot.time:9.3f} s | {pace} | contact faces {faces:5d}{grip}"


def print_report(
    console: Console, pace: RunnerReport, commands: Mapping[str, CommandReport], refused: int
) -> None:
    """Print the statistics of a run.

    Args:
        console: Console to print to.
        pace: Statistics of the runner.
        commands: Statistics of the commands on every interface.
        refused: Number of commands that could not be carried out.
    """
    late = f"skipped {pace.skipped_steps}, latest {1e3 * pace.late_max:.2f} ms"
    rows = [
        ("simulated time [s]", f"{pace.simulated_time:.3f}"),
        ("wall time [s]", f"{pace.wall_time:.3f}"),
        ("real-time factor", f"{pace.real_time_factor:.3f}"),
        ("steps", f"{pace.steps}"),
        ("late steps", f"{pace.overruns} ({late}, most in a row {pace.longest_overrun})"),
        ("time given up [s]", f"{pace.given_up:.3f} ({pace.times_given_up} times)"),
        ("step time", f"{pace.step_time}"),
        ("period", f"{pace.period}"),
        ("commands refused", f"{refused}"),
    ]
    for name, report in commands.items():
        if report.received:
            rows += [(f"{name} commands", f"{report}"), ("latency", f"{report.latency}")]
    for name, value in rows:
        _print(console, f"{name:>20}  {value}")


def _print(console: Console, line: str) -> None:
    """Print ``line`` as it is: no markup, no colours, no wrapping."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)
