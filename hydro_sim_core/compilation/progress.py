"""What a person sees while kernels are compiled: one bar on a terminal, few lines in a log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from hydro_sim_core.compilation.builds import BuildProgress, observed_by
from hydro_sim_core.compilation.store import kernels_are_kept

#: Lines in a log are at least this far apart, s.
_LINE_PERIOD = 5.0


@contextmanager
def compile_progress(console: Console) -> Iterator[None]:
    """Show how far compiling is, if anything is compiled within the context, and how long it took.

    Args:
        console: A terminal gets a bar that goes away; a log gets a line now and then.
    """
    shown = _Bar(console) if console.is_terminal else _Lines(console)
    try:
        with observed_by(shown.show):
            yield
    finally:
        shown.close()


def _description() -> str:
    return "compiling kernels, " + ("once on this machine" if kernels_are_kept() else "as at every start")


class _Bar:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress: Progress | None = None

    def show(self, progress: BuildProgress) -> None:
        """Draw the bar."""
        if self._progress is None:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
            )
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._progress.start()
            self._task = self._progress.add_task(_description(), total=progress.total)
        self._progress.update(self._task, completed=progress.done, total=progress.total)

    def close(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()


class _Lines:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = -_LINE_PERIOD
        self._latest: BuildProgress | None = None
        self._began = 0.0

    def show(self, progress: BuildProgress) -> None:
        """Print a line if the last one is old enough."""
        now = time.monotonic()
        if self._latest is None:
            self._began = now
        self._latest = progress
        if now - self._last >= _LINE_PERIOD and progress.done < progress.total:
            self._last = now
            self._console.print(f"{_description()}: {progress.done} of {progress.total}", soft_wrap=True)

    def close(self) -> None:
        """Say that it is done."""
        if self._latest is not None and self._latest.done == self._latest.total:
            took = time.monotonic() - self._began
            self._console.print(f"kernels ready after {took:.0f} s", soft_wrap=True)
