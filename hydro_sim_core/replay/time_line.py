"""A time line of several recordings, because a run that was reset, or is long, continues in another file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.replay.recording import Recording, scale_of_recordings
from hydro_sim_core.viewer.frame import ViewFrame
from hydro_sim_core.viewer.scene import ViewScene


class TimeLine:
    """Recordings one after another. A place is the time of the first recording and runs on through the others.

    Where a file continues the one before, their times go on; a reset begins a new episode.

    Usable as a context manager, which closes the recordings.

    Args:
        recordings: At least one.
    """

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self.recordings = tuple(recordings)
        places, episodes = [recordings[0].start], [0]
        for before, recording in pairwise(recordings):
            continues = recording.continues(before)
            places.append((recording.start if continues else before.end) + (places[-1] - before.start))
            episodes.append(episodes[-1] + (not continues))
        #: (R,) place at which each recording begins, s.
        self.places = np.array(places)
        self._episodes = episodes
        #: First and last place of what is missing in damaged recordings, s.
        self.gaps = tuple(
            (begin + place - recording.start, end + place - recording.start)
            for place, recording in zip(self.places.tolist(), recordings, strict=True)
            for begin, end in recording.gaps
        )
        self._last: tuple[ViewScene, ViewScene] | None = None

    def __enter__(self) -> TimeLine:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:
            for recording in self.recordings:
                stack.callback(recording.close)

    @property
    def start(self) -> float:
        """First place, s."""
        return float(self.places[0])

    @property
    def end(self) -> float:
        """Last place, s."""
        last = self.recordings[-1]
        return float(self.places[-1]) + last.end - last.start

    @cached_property
    def scale(self) -> PressureScale:
        """Colour scale of pressure, one for all recordings."""
        return scale_of_recordings(self.recordings)

    def check(self, place: float) -> None:
        """Check that a place is on the time line.

        Raises:
            InputError: The place is beyond the ends.
        """
        if not self.start <= place <= self.end:
            source = ", ".join(str(recording.path) for recording in self.recordings)
            problem = f"time {place:g} s is outside of the recording"
            raise InputError(source, "", problem, f"give {self.start:g} to {self.end:g}")

    def locate(self, place: float) -> tuple[int, int]:
        """Index of the recording, and row in it, of the instant nearest to a place (s)."""
        number = max(0, int(np.searchsorted(self.places, place, side="right")) - 1)
        recording = self.recordings[number]
        return number, recording.row(place - self.places[number] + recording.start)

    def scene(self, place: float) -> ViewScene:
        """The scene at a place (s), with this time line; the same object until a model is added or removed.

        Raises:
            InputError: It cannot be read.
        """
        number, row = self.locate(place)
        scene = self.recordings[number].scene(row)
        if self._last is None or self._last[0] is not scene:
            span = (self.start, self.end)
            self._last = scene, replace(scene, timeline=span, gaps=self.gaps, scale=self.scale)
        return self._last[1]

    def frame(self, place: float) -> ViewFrame:
        """The frame nearest to a place (s).

        Raises:
            InputError: It cannot be read.
        """
        number, row = self.locate(place)
        recording = self.recordings[number]
        frame = recording.frame(row)
        return replace(
            frame,
            epoch=self._episodes[number],
            timeline_time=frame.time - recording.start + float(self.places[number]),
        )
