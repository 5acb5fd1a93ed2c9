"""An MCAP file of ROS 2 messages that stays readable after a kill or on a full disk."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import IO

from mcap.records import Channel, Message, Schema
from mcap.writer import CompressionType, Writer

from hydro_sim_core.errors import InputError
from hydro_sim_core.recording.copies import MEDIA_TYPE, packed_copy
from hydro_sim_core.recording.message_types import message_types

#: Disk space reserved to complete the file on a full disk, bytes: a chunk, and the index of hours.
_SPARE_SIZE = 8 * 1024 * 1024
_PROFILE = "ros2"
_LIBRARY = "hydro-sim"
#: Remedy for a file that exists, in words that fit whoever records.
REPLACE = "give another name, or set overwrite to replace it"
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def check_new_file(path: Path, overwrite: bool, mend: str = REPLACE) -> None:
    """Check that a recording can be written to a file, before the simulation runs.

    Args:
        path: The file.
        overwrite: Whether it may be replaced.
        mend: Remedy for a file that exists.

    Raises:
        InputError: The folder is missing or not writable, the file exists, or its name does not end in ``.mcap``.
    """
    if path.suffix != ".mcap":
        raise InputError(path, "", "a recording is an MCAP file", "give a name that ends in .mcap")
    if not path.parent.is_dir():
        raise InputError(path, "", f"there is no folder {path.parent}", "make it first")
    if path.is_dir():
        raise InputError(path, "", "is a folder", "give the name of a file")
    if path.exists() and not overwrite:
        raise InputError(path, "", "exists already", mend)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(path, "", "may not be written", "give another file")


class RecordingFile:
    """An MCAP file to write to, in chunks; flushed messages can be read even if the file is never closed.

    Disk space for the index is reserved from the start. When the disk is full this space is released, so that the file
    can still be completed; ``full`` then says that it must be closed.

    Args:
        path: The file.
        overwrite: Replace one that exists.

    Raises:
        InputError: The file cannot be created, or the disk is full.
    """

    def __init__(self, path: Path, overwrite: bool) -> None:
        check_new_file(path, overwrite)
        self.path = path
        self.messages = 0
        self._channels: dict[str, Channel] = {}
        self._schemas: dict[str, Schema] = {}
        self._sequence: dict[int, int] = {}
        try:
            self._file = _SparedFile(path, overwrite)
            self._writer = Writer(self._file, compression=CompressionType.ZSTD)  # type: ignore[arg-type]
            self._writer.start(_PROFILE, _LIBRARY)
        except OSError as error:
            raise InputError(path, "", reason(error), "give a file on a disk with room") from None

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._file.tell()

    @property
    def full(self) -> bool:
        """Whether the disk has no more room than ``close`` needs."""
        return self._file.spare_used

    def describe(self, about: Mapping[str, str]) -> None:
        """Add the metadata of the recording.

        Raises:
            OSError: As ``write``.
        """
        self._writer.add_metadata("hydro_sim", dict(about))

    def write(self, topic: str, type_name: str, time: float, data: bytes, latched: bool = False) -> None:
        """Add a message.

        Args:
            topic: Absolute name of the topic.
            type_name: Message type, such as ``std_msgs/msg/Float64``.
            time: Simulated time, s.
            data: The message as CDR.
            latched: Whether late subscribers get the message too; the same for every message of the topic. Such
                messages are copied (``copies``).

        Raises:
            OSError: The file cannot be written; earlier messages stay in it.
        """
        channel = self._channels.get(topic) or self._add_channel(topic, type_name, latched)
        at = round(time * 1e9)
        self._sequence[channel.id] += 1
        message = Message(channel.id, at, data, at, self._sequence[channel.id])
        if latched:
            copy = packed_copy(self._schemas[type_name], channel, message)
            self._writer.add_attachment(at, at, topic, MEDIA_TYPE, copy)
        self._writer.add_message(channel.id, at, data, at, message.sequence)
        self.messages += 1

    def _add_channel(self, topic: str, type_name: str, latched: bool) -> Channel:
        types = message_types()
        if type_name not in self._schemas:
            definition = types.definition(type_name).encode()
            number = self._writer.register_schema(type_name, "ros2msg", definition)
            self._schemas[type_name] = Schema(number, definition, "ros2msg", type_name)
        metadata = {"offered_qos_profiles": _qos(latched), "topic_type_hash": types.type_hash(type_name)}
        schema = self._schemas[type_name].id
        number = self._writer.register_channel(topic, "cdr", schema, metadata)
        self._channels[topic] = Channel(number, topic, "cdr", metadata, schema)
        self._sequence[number] = 0
        return self._channels[topic]

    def flush(self) -> None:
        """Flush everything to the operating system, so that it survives the end of this process.

        Raises:
            OSError: As ``write``.
        """
        self._writer.flush()

    def close(self) -> None:
        """Write the index and close the file, unless it is closed already.

        Raises:
            OSError: The index cannot be written; the messages stay in the file, without index.
        """
        if self._file.closed:
            return
        try:
            if not self._file.failed:
                self._writer.flush()
                with self._file.together():
                    self._writer.finish()
        finally:
            self._file.close()


class _SparedFile:
    """A file stream that uses its reserved disk space when the disk is full.

    After an error the file is cut where the last write that was whole ends; each holds whole records.
    """

    def __init__(self, path: Path, overwrite: bool) -> None:
        self._spare: IO[bytes] | None = _reserve(path.parent)
        try:
            self._raw = FileIO(path, "w" if overwrite else "x")
        except OSError:
            self._spare.close()
            raise
        self._size = 0
        self.failed = False

    @property
    def spare_used(self) -> bool:
        return self._spare is None

    @property
    def closed(self) -> bool:
        return self._raw.closed

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Do nothing: the file is unbuffered."""

    @contextmanager
    def together(self) -> Iterator[None]:
        """Cut also what is whole of the writes in this context, if one of them fails."""
        begin = self._size
        try:
            yield
        except OSError:
            self._size = begin
            raise

    def write(self, data: bytes) -> int:
        left = memoryview(data)
        while left:
            try:
                written = self._raw.write(left)
            except OSError as error:
                if error.errno not in _DISK_FULL or self._spare is None:
                    self.failed = True
                    raise
                self._spare.close()
                self._spare = None
                continue
            left = left[written:]
        self._size += len(data)
        return len(data)

    def close(self) -> None:
        if self._spare is not None:
            self._spare.close()
        if not self._raw.closed:
            self._raw.truncate(self._size)
            self._raw.close()


def _reserve(folder: Path) -> IO[bytes]:
    """Reserve disk space in a nameless file, released when it is closed or the process ends."""
    spare = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (kept open on purpose)
    try:
        os.posix_fallocate(spare.fileno(), 0, _SPARE_SIZE)
    except OSError:
        spare.close()
        raise
    return spare


def reason(error: OSError) -> str:
    """Description of an error as a short clause."""
    return (error.strerror or "cannot be written").lower()


def _qos(latched: bool) -> str:
    """QoS profile as ``ros2 bag`` records it, so that playback can offer the same."""
    durability = "transient_local" if latched else "volatile"
    return f"""\
- history: keep_last
  depth: {1 if latched else 10}
  reliability: reliable
  durability: {durability}
  deadline: {{sec: 0, nsec: 0}}
  lifespan: {{sec: 0, nsec: 0}}
  liveliness: automatic
  liveliness_lease_duration: {{sec: 0, nsec: 0}}
  avoid_ros_namespace_conventions: false
"""
