"""Player of a time line: position in time, speed, and commands of pages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from hydro_sim_core.errors import InputError
from hydro_sim_core.replay.time_line import TimeLine
from hydro_sim_core.viewer.commands import Command, Pause, Reset, Seek, SetSpeed
from hydro_sim_core.viewer.frame import ViewFrame
from hydro_sim_core.viewer.scene import ViewScene

#: Wall-clock time between two frames, s.
PERIOD = 1.0 / 30.0


@dataclass(frozen=True)
class _Playing:
    """State of playback: at ``place`` (s) at ``since`` (s of the wall clock), with a speed."""

    place: float
    since: float
    speed: float
    paused: bool


class Player:
    """Moves along a time line at a speed and shows its frames. ``obey`` may be called from any thread.

    Args:
        line: The time line.
        speed: Seconds of the time line per wall-clock second.
        start: Place to begin at, s.
        loop: Whether to restart at the end instead of stopping there.
        clock: Returns the wall clock's time, s.

    Raises:
        InputError: The time line has no such place.
    """

    def __init__(
        self,
        line: TimeLine,
        speed: float = 1.0,
        start: float | None = None,
        loop: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._line = line
        self._loop = loop
        self._clock = clock
        self._lock = threading.Lock()
        place = line.start if start is None else start
        line.check(place)
        self._playing = _Playing(place, clock(), speed, paused=False)

    @property
    def place(self) -> float:
        """Current place, s."""
        return self._now().place

    @property
    def ended(self) -> bool:
        """Whether playback has reached the end."""
        return not self._loop and self.place >= self._line.end

    def obey(self, command: Command) -> None:
        """Carry out a command to pause, resume, change the speed, or seek.

        Raises:
            InputError: The command is another one, or its place is outside the time line.
        """
        with self._lock:
            now = self._now()
            if isinstance(command, Seek):
                self._line.check(command.time)
                self._playing = replace(now, place=command.time)
            elif isinstance(command, Reset):
                self._playing = replace(now, place=self._line.start)
            elif isinstance(command, SetSpeed) and command.factor is not None:
                self._playing = replace(now, speed=command.factor)
            elif isinstance(command, Pause):
                again = not command.paused and now.place >= self._line.end
                place = self._line.start if again else now.place
                self._playing = replace(now, place=place, paused=command.paused)
            else:
                mend = "pause, seek, or give a speed"
                raise InputError("replay", command.type, "a recording cannot be asked for that", mend)

    def run(
        self,
        show_scene: Callable[[ViewScene], None],
        show: Callable[[ViewFrame], object],
        stop: threading.Event,
        watched: Callable[[], bool] = lambda: True,
    ) -> None:
        """Show scene and frames, thirty a second while they change, until ``stop`` is set.

        Playback starts when a page is connected, as browsers take a while to start.

        Args:
            show_scene: Called before the first frame, and whenever models are added or removed.
            show: Called with every frame.
            stop: Set by another thread to end the loop.
            watched: Whether a page is connected; without one, no frame is made.

        Raises:
            InputError: The recording is damaged.
        """
        scene: ViewScene | None = None
        shown: tuple[tuple[int, int], float, bool] | None = None
        waits = True
        while not stop.wait(0.0 if shown is None else PERIOD):
            if waits:
                waits = not watched()
                self._hold()
            playing = self._now()
            state = (self._line.locate(playing.place), playing.speed, playing.paused)
            if state == shown or (shown is not None and not watched()):
                continue
            if (wanted := self._line.scene(playing.place)) is not scene:
                scene = wanted
                show_scene(scene)
            show(replace(self._line.frame(playing.place), speed=playing.speed, paused=playing.paused))
            shown = state

    def _hold(self) -> None:
        """Restart the clock at the current place, so that the time passed since does not count."""
        with self._lock:
            self._playing = replace(self._playing, since=self._clock())

    def _now(self) -> _Playing:
        """State of playback restarted from now; at the end it pauses."""
        playing, now = self._playing, self._clock()
        place = playing.place if playing.paused else playing.place + playing.speed * (now - playing.since)
        length = self._line.end - self._line.start
        if place > self._line.end:
            over = (place - self._line.start) % length if self._loop and length > 0.0 else length
            place = self._line.start + over
        stands = playing.paused or (not self._loop and place >= self._line.end)
        return replace(playing, place=place, since=now, paused=stands)
