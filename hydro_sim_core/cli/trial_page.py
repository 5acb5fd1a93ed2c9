"""A page that shows a trial of a task to whoever has opened it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from rich.console import Console

from hydro_sim_core.simulation import World
from hydro_sim_core.viewer.world_view import WorldView

#: Time between two looks for viewers, and how long there is none once they have left (a reload takes a moment), s.
_LOOK_PERIOD, _LEFT = 0.05, 2.0


def somebody_sits_there(console: Console) -> bool:
    """Whether a person reads the console and can answer it; a script that waited for a viewer might wait for ever."""
    return console.is_terminal and sys.stdin.isatty()


class TrialPage:
    """Shows a trial at the pace of the wall clock as far as the machine keeps it. Usable as a context manager.

    Args:
        full_scale: Pressure (Pa) of the brightest colour; None for one chosen from the scene.
        console: Where its address is told.
        waits: Whether the trial begins when a page is open, and the page stays until none is.
        stopped: Whether Ctrl-C was pressed.
    """

    def __init__(
        self,
        full_scale: float | None,
        console: Console,
        waits: bool,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._full_scale, self._console, self._waits = full_scale, console, waits
        self._stopped = stopped
        self._view: WorldView | None = None
        self._begin = 0.0

    def show(self, world: World) -> None:
        """Show a world, when its time has come."""
        if self._view is None:
            self._view = self._opened(world)
            self._begin = time.monotonic() - world.time
        ahead = world.time - (time.monotonic() - self._begin)
        if ahead > 0.0:
            time.sleep(ahead)
        else:
            self._begin -= ahead  # what was late is not caught up with
        self._view.sync()

    def _opened(self, world: World) -> WorldView:
        view = world.view(full_scale=self._full_scale)
        self._tell(f"watch it at {view.url}")
        if self._waits and not view.watching:
            self._tell("it begins when the page is open; Ctrl-C ends it, --headless tries it without a page")
            while view.is_open and not view.watching and not self._stopped():
                time.sleep(_LOOK_PERIOD)
        return view

    def stay(self) -> None:
        """Go on showing how it ended until nobody looks any more, or Ctrl-C."""
        view = self._view
        if view is None or not (self._waits and view.watching):
            return
        self._tell("the page stays until it is closed, or Ctrl-C")
        seen = time.monotonic()
        while view.is_open and time.monotonic() < seen + _LEFT and not self._stopped():
            if view.watching:
                seen = time.monotonic()
            view.sync()
            time.sleep(_LOOK_PERIOD)

    def _tell(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def __enter__(self) -> TrialPage:
        return self

    def __exit__(self, *_: object) -> None:
        if self._view is not None:
            self._view.close()
