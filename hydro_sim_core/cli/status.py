"""What a person at the terminal sees while a world is prepared and runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TypeVar

from rich.console import Console
from rich.progress import track

from hydro_sim_core.jit import kernels_are_kept

#: Loading compiled kernels takes less than this, s; compiling them takes more and deserves a word.
_SILENT_FOR = 2.0
_LINE_PERIOD = 10.0
_LIVE_PERIOD = 0.2
Item = TypeVar("Item")


@contextmanager
def compile_progress(console: Console) -> Iterator[None]:
    """Say that kernels are being compiled, with the seconds it has taken, once it takes long.

    On a terminal the line counts up; elsewhere a line is printed every ten seconds.
    """
    began = time.monotonic()
    done = Event()
    watcher = Thread(target=_watch, args=(console, began, done), name="compile progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(console: Console, began: float, done: Event) -> None:
    if done.wait(_SILENT_FOR):
        return
    if not console.is_terminal:
        while not done.wait(_LINE_PERIOD):
            console.print(_compiling(began))
        return
    with console.status(_compiling(began)) as status:
        while not done.wait(_LIVE_PERIOD):
            status.update(_compiling(began))


def _compiling(began: float) -> str:
    how_often = "once on this machine" if kernels_are_kept() else "as at every start"
    return f"compiling kernels, {how_often}: {time.monotonic() - began:.0f} s"


def bar(items: Sequence[Item], description: str, console: Console) -> Iterable[Item]:
    """The items, with a bar of how many are done where there is a terminal."""
    return track(items, description, console=console, transient=True, disable=not console.is_terminal)


class StatusLine:
    """One line on time, pace, contact and grip, rewritten in place; nothing where there is no terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = (time.monotonic(), 0.0)
        self._width = 0

    @property
    def due(self) -> bool:
        """Whether the line is old enough to be written again."""
        return self._console.is_terminal and time.monotonic() - self._last[0] >= _LIVE_PERIOD

    def update(self, simulated: float, faces: int, grip_forces: Mapping[str, float]) -> None:
        """Write the line.

        Args:
            simulated: Simulated time, s.
            faces: Contact faces.
            grip_forces: Force of every gripper, N.
        """
        now = time.monotonic()
        then, before = self._last
        self._last = (now, simulated)
        pace = f"{(simulated - before) / (now - then):6.2f} x real time"
        grips = "".join(f" | {name} {force:7.3f} N" for name, force in grip_forces.items())
        line = f"t = {simulated:9.3f} s | {pace} | {faces:5d} contact faces{grips}"
        self._write("\r" + line.ljust(self._width))
        self._width = len(line)

    def close(self) -> None:
        """Leave the line standing."""
        if self._width:
            self._write("\n")

    def _write(self, text: str) -> None:
        self._console.file.write(text)
        self._console.file.flush()
