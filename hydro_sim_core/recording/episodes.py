"""The files of a recording as they are written: one from the start, one after every reset and at every limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from uuid import uuid4

from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.schedule import Schedule
from hydro_sim_core.messages.stream import Stream
from hydro_sim_core.recording.mcap_file import REPLACE, RecordingFile, check_new_file
from hydro_sim_core.recording.parts import CONTINUES, NUMBER, RECORDING, check_later_files, episode_path
from hydro_sim_core.simulation import Snapshot, World

#: Smallest limits: a file needs a description and some messages.
_LEAST_SIZE, _LEAST_DURATION = 100_000, 0.1


@dataclass(frozen=True)
class FileLimits:
    """Limits at which a recording goes on in the next file.

    Attributes:
        size: Size of a file, bytes, reached by what is flushed: at most a chunk and the index are more.
        duration: Simulated time in a file, s.

    Raises:
        InputError: A limit is too small.
    """

    size: float = math.inf
    duration: float = math.inf

    def __post_init__(self) -> None:
        if not self.size >= _LEAST_SIZE:
            problem = f"{self.size:g} bytes are too few for a file"
            raise InputError("recording", "size", problem, f"give {_LEAST_SIZE / 1e6:g} MB or more")
        if not self.duration >= _LEAST_DURATION:
            problem = f"{self.duration:g} s are too short for a file"
            raise InputError("recording", "duration", problem, f"give {_LEAST_DURATION:g} s or more")

    @property
    def are_given(self) -> bool:
        """Whether there is any limit."""
        return math.isfinite(min(self.size, self.duration))


NO_LIMITS = FileLimits()


def check_new_recording(
    path: Path, number: int, overwrite: bool, limits: FileLimits, mend: str = REPLACE
) -> None:
    """Check that a recording can be written, before the simulation runs.

    Args:
        path: The recording's first file, number 0.
        number: Number of the file that is next.
        overwrite: Whether files may be replaced.
        limits: Limits of each file.
        mend: Remedy for a file that exists.

    Raises:
        InputError: As for ``check_new_file``, or a file is there that the recording may need at a limit.
    """
    check_new_file(episode_path(path, number), overwrite, mend)
    if limits.are_given and not overwrite:
        check_later_files(path, number, mend)


class EpisodeFiles:
    """Writes snapshots and commands into ``NAME.mcap``; after the first reset into ``NAME_1.mcap``, and so on.

    A reset sets simulated time back, and readers sort a file by time. Where models are added or removed while time
    continues, the file continues too, with a new robot description. At a limit the next file continues the time of the
    one before, and begins with all that holds: the description, fixed frames, the state, targets of drives.

    Args:
        path: The first file.
        make_streams: Makes the streams of a world, with absolute topic names.
        unencodable: Called with a topic whose message cannot be encoded, and why. Unless it raises, the topic is left
            out from then on, and others go on.
        overwrite: Replace files that exist.
        number: Number of the first file, for a recording that continues an earlier one.
        limits: Limits of each file.
        about: Metadata of every file beside what the world and the files themselves are.

    Raises:
        InputError: The first file cannot be created.
    """

    def __init__(
        self,
        path: Path,
        make_streams: Callable[[World], Sequence[tuple[Stream, float | None]]],
        unencodable: Callable[[str, Exception], None],
        overwrite: bool,
        number: int = 0,
        limits: FileLimits = NO_LIMITS,
        about: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._path = path
        self._about_run = about
        self._number = number
        self._limits = limits
        self._recording = uuid4().hex
        self._standing: dict[str, tuple[str, bytes]] = {}
        self._make_streams = make_streams
        self._tell_unencodable = unencodable
        self._left_out: set[str] = set()
        self._overwrite = overwrite
        self._files: list[RecordingFile] = []
        self._epoch = 0
        self._open()

    def _open(self, continues: str = "") -> None:
        number = self._number + len(self._files)
        self._file = RecordingFile(episode_path(self._path, number), self._overwrite)
        self._files.append(self._file)
        self._about = {
            RECORDING: self._recording,
            NUMBER: str(number),
            CONTINUES: continues,
            **self._about_run,
        }
        self._described: World | None = None
        self._latest = 0.0
        self._began: float | None = None

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
        if self._is_over(snapshot.time):
            self.close()
            self._open(continues=self._file.path.name)
            self._latest = snapshot.time
        begins = world is not self._described
        if begins:
            self._describe(world, snapshot.time)
        for stream, rate, schedule in self._streams:
            if begins if rate is None else schedule.due(snapshot.time, rate):
                data = self._encoded(stream, snapshot)
                if data is not None:
                    latched = rate is None  # one message that holds from then on
                    self._file.write(stream.topic, stream.type_name, snapshot.time, data, latched)

    def _encoded(self, stream: Stream, snapshot: Snapshot) -> bytes | None:
        """The message of a stream, if it has one and is not left out."""
        if stream.topic in self._left_out:
            return None
        try:
            return stream.encode(snapshot)
        except Exception as error:  # a plug-in may raise anything
            self._tell_unencodable(stream.topic, error)
            self._left_out.add(stream.topic)
            return None

    def _describe(self, world: World, time: float) -> None:
        if self._described is None:
            self._file.describe(_about(world) | self._about)
            self._began = time
            for topic, (type_name, data) in self._standing.items():
                self._file.write(topic, type_name, time, data)
        self._described = world
        self._streams = [(stream, rate, Schedule()) for stream, rate in self._make_streams(world)]

    def write_command(
        self, topic: str, type_name: str, data: bytes, time: float, epoch: int, stands: bool = False
    ) -> None:
        """Write a command; errors as for ``write_snapshot``.

        Args:
            topic: Absolute name of the topic.
            type_name: Message type.
            data: The message as CDR.
            time: Simulated time, s.
            epoch: As in ``Snapshot``.
            stands: Whether it tells a state that holds until the next one, to be repeated where a file continues.
        """
        self._turn_to(epoch, time)
        self._file.write(topic, type_name, time, data)
        if stands:
            self._standing[topic] = (type_name, data)

    def _is_over(self, time: float) -> bool:
        """Whether the file has reached a limit, at a simulated time (s)."""
        if self._began is None:
            return False
        # Times of steps are rounded.
        return self._file.size >= self._limits.size or time - self._began > self._limits.duration - 1e-9

    def _turn_to(self, epoch: int, time: float) -> None:
        """Begin a new file if a new epoch has set time back."""
        if epoch != self._epoch and time < self._latest:
            self.close()
            self._open()
            self._standing.clear()
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


def _about(world: World) -> dict[str, str]:
    """Metadata of a file."""
    return {
        "scene": world.name,
        "source": str(world.scene.source),
        "time_step": repr(world.time_step),
        "version": version("hydro-sim-core"),
    }
