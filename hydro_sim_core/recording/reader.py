"""Sequential reader of MCAP files, by any recorder, complete or not."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mcap.reader import NonSeekingReader

from hydro_sim_core.errors import InputError

logger = logging.getLogger(__name__)
#: Longer records than this are taken for damage, bytes.
LONGEST_RECORD = 2**30
MAGIC = b"\x89MCAP0\r\n"
_MEND = "give a recording"


@dataclass(frozen=True)
class RecordedMessage:
    """A message as it was recorded.

    Attributes:
        topic: Absolute name.
        type_name: Message type, such as ``std_msgs/msg/Float64``; empty if the file lacks it.
        encoding: Encoding of the message; ``cdr`` in ROS 2.
        time: Log time, ns.
        data: Serialised message.
    """

    topic: str
    type_name: str
    encoding: str
    time: int
    data: bytes


def read_messages(path: Path, topics: Collection[str] | None = None) -> Iterator[RecordedMessage]:
    """Every message of some topics, in the order of the file.

    A file without an end, still being written or left by a killed recorder, gives the messages that it has, and a
    warning.

    Args:
        path: The file.
        topics: Names of topics; None for all.

    Raises:
        InputError: The file cannot be read, is not an MCAP file, or is damaged.
    """
    with open_recording(path) as file:
        size = file.seek(0, os.SEEK_END)  # the file may be growing
        file.seek(0)
        try:
            yield from _messages(file, topics)
        except Exception as error:  # damaged data may raise anything in the library
            if file.tell() < size:
                raise damaged(path, error) from None
            ends_early(path)


def open_recording(path: Path) -> BinaryIO:
    """Open an MCAP file, to be read from its start.

    Raises:
        InputError: It cannot be read, or is not an MCAP file.
    """
    try:
        file = path.open("rb")
        magic = file.read(len(MAGIC))
    except OSError as error:
        raise InputError(path, "", (error.strerror or "cannot be read").lower(), _MEND) from None
    if magic != MAGIC:
        file.close()
        raise InputError(path, "", "is no MCAP file", _MEND)
    return file


def damaged(path: Path, error: Exception) -> InputError:
    """The exception to raise where reading a file led to ``error``."""
    problem = f"is damaged ({' '.join(str(error).split()) or type(error).__name__})"
    return InputError(path, "", problem, _MEND)


def ends_early(path: Path) -> None:
    """Warn that a file was not completed."""
    logger.warning("%s: ends early, being written or its recorder killed; taken up to there", path)


def _messages(file: BinaryIO, topics: Collection[str] | None) -> Iterator[RecordedMessage]:
    reader = NonSeekingReader(file, validate_crcs=True, record_size_limit=LONGEST_RECORD)
    for schema, channel, message in reader.iter_messages(topics, log_time_order=False):
        yield RecordedMessage(
            topic=channel.topic,
            type_name=schema.name if schema is not None else "",
            encoding=channel.message_encoding,
            time=message.log_time,
            data=message.data,
        )
