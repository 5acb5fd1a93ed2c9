"""Progress bar and status line on a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import track

from hydro_sim_core.errors import printable

_LIVE_PERIOD = 0.2
Item = TypeVar("Item")


def bar(items: Sequence[Item], description: str, console: Console) -> Iterable[Item]:
    """Iterate over items, with a progress bar on a terminal."""
    return track(items, description, console=console, transient=True, disable=not console.is_terminal)


class StatusLine:
    """Status line of time, pace, contact and grip, rewritten in place; prints nothing without a terminal."""

    def __init__(self, console: Console, grip_units: Mapping[str, str] | None = None) -> None:
        self._console = console
        self._grip_units = grip_units or {}
        self._last = (time.monotonic(), 0.0)
        self._width = 0

    @property
    def due(self) -> bool:
        """Whether it is time to write the line again."""
        return self._console.is_terminal and time.monotonic() - self._last[0] >= _LIVE_PERIOD

    def update(self, simulated: float, faces: int, grip_forces: Mapping[str, float]) -> None:
        """Write the line.

        Args:
            simulated: Simulated time, s.
            faces: Contact faces.
            grip_forces: Force of every gripper, N unless ``grip_units`` say otherwise.
        """
        now = time.monotonic()
        then, before = self._last
        self._last = (now, simulated)
        pace = f"{(simulated - before) / (now - then):6.2f} x real time"
        units = self._grip_units
        grips = "".join(
            f" | {name} {force:7.3f} {units.get(name, 'N')}" for name, force in grip_forces.items()
        )
        line = f"t = {simulated:9.3f} s | {pace} | {faces:5d} contact faces{grips}"
        self._write("\r" + line.ljust(self._width))
        self._width = len(line)

    def close(self) -> None:
        """End the line, which stays visible."""
        if self._width:
            self._write("\n")

    def _write(self, text: str) -> None:
        start = "\r" if text.startswith("\r") else ""
        self._console.file.write(start + printable(text.removeprefix("\r")))
        self._console.file.flush()
