"""Display of progress while a scene is loaded: bars on a terminal, a few lines in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, RLock, Thread

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
    """Shows a part of work that tells nothing more for some time; what is told before takes its place.

    Attributes:
        lock: What is shown in one thread at a time takes it.
        is_closed: Whether nothing is to be shown any more.

    Args:
        seconds: That time, s.
        show: Shows the part; called in a thread of its own, with ``lock`` held.
    """

    def __init__(self, seconds: float, show: Callable[[Work], None]) -> None:
        self._seconds, self._show = seconds, show
        self._work: Work | None = None
        self._since = 0.0
        self._failure: BaseException | None = None
        self._thread: Thread | None = None
        self.is_closed = False
        self.lock = RLock()
        self._changed = Condition(self.lock)

    def put(self, work: Work | None) -> None:
        """Show a part if nothing follows in time; nothing if that is None.

        Raises:
            BaseException: What ``show`` raised in its thread.
        """
        with self.lock:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            self._work, self._since = work, time.perf_counter()
            if work is not None:
                self._changed.notify()
                if self._thread is None:
                    self._thread = Thread(target=self._watch, name="late work", daemon=True)
                    self._thread.start()

    def close(self) -> None:
        """Show nothing from now on."""
        with self.lock:
            self.is_closed, self._work = True, None
            self._changed.notify()

    def _watch(self) -> None:
        with self.lock:
            while not self.is_closed:
                left = self._since + self._seconds - time.perf_counter()
                if self._work is None:
                    self._changed.wait()
                elif left > 0.0:
                    self._changed.wait(left)
                else:
                    work, self._work = self._work, None
                    try:
                        self._show(work)
                    except BaseException as error:  # also SystemExit, by which rich tells of a closed pipe
                        self._failure = error


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
        """Draw the bar of other work, which is removed when the work is done; in any thread."""
        with self._later.lock:
            if self._later.is_closed:
                return
            self._later.put(None)
            if work is None:
                if self._work is not None:
                    self._progress.remove_task(self._work)
                self._work, self._work_began = None, 0.0
                return
            now = time.monotonic()
            self._work_began = self._work_began or now
            if self._work is None and not work.detail and now - self._work_began < _SHORT:
                self._later.put(work)
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
        self._later.close()
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
        with self._later.lock:
            if self._later.is_closed:
                return
            self._later.put(None)
            if work is None:
                self._work_began = 0.0
                return
            now = time.monotonic()
            self._work_began = self._work_began or now
            if now - max(self._last, self._work_began) >= _LINE_PERIOD or work.detail:
                self._print(work)
            else:
                self._later.put(work)

    def _print(self, work: Work) -> None:
        self._last = time.monotonic()
        text = f"{_words(work)} ({work.done + 1} of {work.total})"
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Print that compilation is done."""
        self._later.close()
        if self._latest is not None and self._latest.done == self._latest.total:
            took = time.monotonic() - self._began
            self._console.print(f"kernels ready after {took:.0f} s", soft_wrap=True)
