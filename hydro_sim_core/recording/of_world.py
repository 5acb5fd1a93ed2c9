"""Recordings of worlds that a program steps by itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType, TracebackType

from hydro_sim_core.description.paths import as_path
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.view import View
from hydro_sim_core.recording.episodes import NO_LIMITS, FileLimits
from hydro_sim_core.recording.recorder import Recorder, RecordingReport
from hydro_sim_core.simulation.world import World
from hydro_sim_core.simulation.world.snapshot import take_snapshot

_SOURCE = "WorldRecording"


class WorldRecording:
    """A recording of a world, as ``hydro-sim run --out`` writes it, of the states at which ``take`` is called.

    A context: it begins with ``with``, and the file is complete at its end, whatever ends it.
    The state at the begin is recorded, too. After a reset a new file begins, as time goes back.

    Args:
        world: The world.
        path: The first file, ``NAME.mcap``.
        rates: As for ``Recorder``.
        view: As for ``Recorder``.
        overwrite: Replace files that exist.
        limits: Limits of each file.

    Raises:
        InputError: The file cannot be written.
    """

    def __init__(
        self,
        world: World,
        path: str | os.PathLike[str],
        *,
        rates: Mapping[str, float] = MappingProxyType({}),
        view: View | None = None,
        overwrite: bool = False,
        limits: FileLimits = NO_LIMITS,
    ) -> None:
        self._world = world
        self._recorder = Recorder(
            as_path(path, _SOURCE),
            rates,
            view,
            overwrite=overwrite,
            drives=True,
            complete=True,
            limits=limits,
        )
        self._is_recording = False
        self._report: RecordingReport | None = None
        self._epoch, self._step = 0, world.step_count

    def __enter__(self) -> WorldRecording:
        self._recorder.start(take_snapshot(self._world, self._epoch), self._world)
        self._is_recording = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_recording = False
        self._report = self._recorder.stop()

    def take(self) -> None:
        """Record the present state of the world, if it is another one than the last; waits where the disk is slow.

        Raises:
            InputError: The recording has not begun, or has ended.
        """
        if not self._is_recording:
            raise InputError(_SOURCE, "take", "is called outside of the recording", "call it within `with`")
        if self._world.step_count < self._step:
            self._epoch += 1
        self._step = self._world.step_count
        self._recorder.record(take_snapshot(self._world, self._epoch), self._world)

    @property
    def report(self) -> RecordingReport:
        """What was written.

        Raises:
            InputError: The recording has not ended.
        """
        if self._report is None:
            raise InputError(_SOURCE, "report", "is not there before the end", "ask for it after `with`")
        return self._report
