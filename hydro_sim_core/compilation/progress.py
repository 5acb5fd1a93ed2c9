"""Display of progress while a scene is loaded: bars on a terminal, a few lines in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock, Timer

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from hydro_sim_core.compilation.builds import BuildProgress, observed_by
from hydro_sim_core.compilation.store import kernels_are_kept
from hydro_sim_core.progress import Work, watched_by

#: Minimum time between two lines in a log, s.
_LINE_PERIOD = 5.0
#: Work that takes less time is not shown, s.
_SHORT = 1.0


@contextmanager
def compile_progress(console: Console) -> Iterator[None]:
    """Show the progress of compilation and of geometry creation, if either takes long within the context.

    Args:
        console: Output; a terminal gets transient bars, a log gets a line now and then.
    """
    shown = _Bars(console) if console.is_terminal else _Lines(console)
    try:
        with observed_by(shown.show), watched_by(shown.show_work):
            yield
    finally:
        shown.close()


def _description() -> str:
    return "compiling kernels, " + ("once on this machine" if kernels_are_kept() else "as at every start")


def _words(work: Work) -> str:
    return f"{work.what}: {work.part}" + (f", {work.detail}" if work.detail else "")


class _Later:
    """Shows a part of work that tells nothing more for some time; what is told before takes its place."""

    def __init__(self, seconds: float, show: Callable[[Work], None]) -> None:
        self._seconds, self._show = seconds, show
        self._timer: Timer | None = None
        self.lock = RLock()

    def wait(self, work: Work) -> None:
        """Show a part if nothing follows in time."""
        self.cancel()
        self._timer = Timer(self._seconds, self._come)
        self._timer.args = (self._timer, work)
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        """Show nothing more."""
        with self.lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None

    def _come(self, timer: Timer, work: Work) -> None:
        with self.lock:
            if timer is self._timer:
                self._show(work)


class _Bars:
    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self._progress = Progress(*columns, console=console, transient=True)
        self._kernels: TaskID | None = None
        self._work: TaskID | None = None
        self._work_began = 0.0
        self._later = _Later(_SHORT, self._draw)

    def show(self, progress: BuildProgress) -> None:
        """Draw the bar of compilation."""
        self._progress.start()
        if self._kernels is None:
            self._kernels = self._progress.add_task(_description(), total=progress.total)
        self._progress.update(self._kernels, completed=progress.done, total=progress.total)

    def show_work(self, work: Work | None) -> None:
        """Draw the bar of other work, which is removed when the work is done."""
        self._later.cancel()
        if work is None:
            if self._work is not None:
                self._progress.remove_task(self._work)
            self._work, self._work_began = None, 0.0
            return
        now = time.monotonic()
        self._work_began = self._work_began or now
        if self._work is None and not work.detail and now - self._work_began < _SHORT:
            self._later.wait(work)
            return
        self._draw(work)

    def _draw(self, work: Work) -> None:
        words = escape(_words(work))
        if self._work is None:
            self._work = self._progress.add_task(words, total=work.total)
        self._progress.update(self._work, description=words, completed=work.done, total=work.total)
        self._progress.start()

    def close(self) -> None:
        """Remove the bars."""
        self._later.cancel()
        self._progress.stop()


class _Lines:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = -_LINE_PERIOD
        self._latest: BuildProgress | None = None
        self._began = 0.0
        self._work_began = 0.0
        self._later = _Later(_LINE_PERIOD, self._print)

    def show(self, progress: BuildProgress) -> None:
        """Print a line on compilation if the last line is old enough."""
        now = time.monotonic()
        if self._latest is None:
            self._began = now
        self._latest = progress
        if now - self._last >= _LINE_PERIOD and progress.done < progress.total:
            self._last = now
            self._console.print(f"{_description()}: {progress.done} of {progress.total}", soft_wrap=True)

    def show_work(self, work: Work | None) -> None:
        """Print a line on other work if the last line is old enough, or if the work reports a long stage."""
        self._later.cancel()
        if work is None:
            self._work_began = 0.0
            return
        now = time.monotonic()
        self._work_began = self._work_began or now
        if now - max(self._last, self._work_began) >= _LINE_PERIOD or work.detail:
            self._print(work)
        else:
            self._later.wait(work)

    def _print(self, work: Work) -> None:
        self._last = time.monotonic()
        text = f"{_words(work)} ({work.done + 1} of {work.total})"
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Print that compilation is done."""
        self._later.cancel()
        if self._latest is not None and self._latest.done == self._latest.total:
            took = time.monotonic() - self._began
            self._console.print(f"kernels ready after {took:.0f} s", soft_wrap=True)
