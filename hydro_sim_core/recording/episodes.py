"""The files of a recording: one from the start and one after every reset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from hydro_sim_core.messages.schedule import Schedule
from hydro_sim_core.messages.stream import Stream
from hydro_sim_core.recording.mcap_file import RecordingFile
from hydro_sim_core.simulation import Snapshot, World


class EpisodeFiles:
    """Writes snapshots and commands into ``NAME.mcap``; after the first reset into ``NAME_1.mcap``, and so on.

    A reset sets simulated time back, and readers sort a file by time. Where models are added or removed while time
    continues, the file continues too, with a new robot description.

    Args:
        path: The first file.
        make_streams: Makes the streams of a world, with absolute topic names.
        overwrite: Replace files that exist.
        number: Number of the first file, for a recording that continues an earlier one.

    Raises:
        InputError: The first file cannot be created.
    """

    def __init__(
        self,
        path: Path,
        make_streams: Callable[[World], Sequence[tuple[Stream, float | None]]],
        overwrite: bool,
        number: int = 0,
    ) -> None:
        self._path = path
        self._number = number
        self._make_streams = make_streams
        self._overwrite = overwrite
        self._files: list[RecordingFile] = []
        self._epoch = 0
        self._open()

    def _open(self) -> None:
        path = episode_path(self._path, self._number + len(self._files))
        self._file = RecordingFile(path, self._overwrite)
        self._files.append(self._file)
        self._described: World | None = None
        self._latest = 0.0

    @property
    def paths(self) -> tuple[Path, ...]:
        """Paths of the files."""
        return tuple(file.path for file in self._files)

    @property
    def messages(self) -> int:
        """Number of messages in all files."""
        return sum(file.messages for file in self._files)

    @property
    def size(self) -> int:
        """Size of all files, bytes."""
        return sum(file.size for file in self._files)

    @property
    def full(self) -> bool:
        """Whether the disk has only the room left that ``close`` needs."""
        return self._file.full

    def write_snapshot(self, snapshot: Snapshot, world: World) -> None:
        """Write the messages that are due at a snapshot.

        Raises:
            InputError: The next file cannot be created.
            OSError: The file cannot be written.
        """
        self._turn_to(snapshot.epoch, snapshot.time)
        begins = world is not self._described
        if begins:
            self._describe(world)
        for stream, rate, schedule in self._streams:
            if begins if rate is None else schedule.due(snapshot.time, rate):
                data = stream.encode(snapshot)
                if data is not None:
                    latched = rate is None  # one message that holds from then on
                    self._file.write(stream.topic, stream.type_name, snapshot.time, data, latched)

    def _describe(self, world: World) -> None:
        if self._described is None:
            self._file.describe(_about(world))
        self._described = world
        self._streams = [(stream, rate, Schedule()) for stream, rate in self._make_streams(world)]

    def write_command(self, topic: str, type_name: str, data: bytes, time: float, epoch: int) -> None:
        """Write a command given at simulated ``time`` (s) in an ``epoch``; errors as for ``write_snapshot``."""
        self._turn_to(epoch, time)
        self._file.write(topic, type_name, time, data)

    def _turn_to(self, epoch: int, time: float) -> None:
        """Begin a new file if a new epoch has set time back."""
        if epoch != self._epoch and time < self._latest:
            self.close()
            self._open()
        self._epoch, self._latest = epoch, time

    def flush(self) -> None:
        """Flush to the operating system, so that the data survives the end of this process.

        Raises:
            OSError: The file cannot be written.
        """
        self._file.flush()

    def close(self) -> None:
        """Complete the file.

        Raises:
            OSError: It cannot be completed, but can be read without its index.
        """
        self._file.close()


def episode_path(path: Path, number: int) -> Path:
    """``NAME.mcap`` for the first file of a recording, number 0, ``NAME_1.mcap`` for the next."""
    return path.with_stem(f"{path.stem}_{number}") if number else path


def _about(world: World) -> dict[str, str]:
    """Metadata of a file."""
    return {
        "scene": world.name,
        "source": str(world.scene.source),
        "time_step": repr(world.time_step),
        "version": version("hydro-sim-core"),
    }
