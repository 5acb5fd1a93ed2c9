"""A named segment of shared memory, and who has it: its owner, or a client of a channel."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import struct

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory.layout import (
    CHANNEL_LOCK,
    MAGIC,
    OWNER_LOCK,
    VERSION,
    WORD,
    Header,
    Life,
    Status,
    segment_path,
)

_SOURCE = "shared memory"
#: Operations of fcntl(2) on Linux, whose locks belong to an open file and end with it, and ``struct flock``.
_GET_LOCK, _SET_LOCK = 36, 37
_LOCK = "hhqqi4x"


class Segment:
    """The segment of a running simulation, made by its owner.

    Attributes:
        name: Name of the simulation.
        path: File of the segment.
        words: Its words, int64.
    """

    def __init__(self, name: str, size: int) -> None:
        """Make a segment of ``size`` bytes, in place of one whose owner has died.

        Raises:
            InputError: A running simulation has this name, or there is no room for it.
        """
        self.name, self.path = name, segment_path(name)
        self._stale = _take_over(self.path, name)
        self._file = -1
        try:
            self._file = _made_file(self.path, size)
        finally:
            # Until now nobody else could take the old one over.
            if self._stale >= 0:
                os.close(self._stale)
        self._memory = mmap.mmap(self._file, size)
        self.words: NDArray[np.int64] = np.frombuffer(self._memory, dtype=np.int64)
        self._watch = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)

    def publish(self) -> None:
        """Let clients in: every constant word is written."""
        self.words[Header.READY] = 1

    def client_lives(self, channel: int) -> bool:
        """Whether a client has a channel."""
        return _is_locked(self._watch, CHANNEL_LOCK + channel)

    def retire(self, at_status: int) -> None:
        """Tell clients that nothing will happen here any more, and give up the name."""
        self.words[at_status + Status.LIFE] = Life.RETIRED
        if os.path.exists(self.path) and os.fstat(self._file).st_nlink:
            os.unlink(self.path)
        for file in (self._watch, self._file):
            os.close(file)


def _take_over(path: str, name: str) -> int:
    """Remove the segment of an owner that has died; return its file, still locked, or -1 if there was none.

    Raises:
        InputError: Its owner lives.
    """
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return -1
        except OSError as error:
            mend = "remove it, or give this node another name"
            raise InputError(_SOURCE, path, f"cannot be opened ({error.strerror})", mend) from None
        if not _lock(file, OWNER_LOCK):
            owner = _owner_of(file)
            os.close(file)
            raise InputError(
                _SOURCE, f"'{name}'", f"is taken by process {owner}", "give this node another name"
            )
        if os.fstat(file).st_nlink:
            os.unlink(path)
            return file
        os.close(file)  # another new owner was faster; look what it has made


def _made_file(path: str, size: int) -> int:
    """Make the file of a segment, with all of its memory; it has its name when it is locked.

    Raises:
        InputError: There is no room, or another owner has made it meanwhile.
    """
    folder = os.path.dirname(path)
    try:
        file = os.open(folder, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InputError(_SOURCE, folder, f"has no files ({error.strerror})", "mount a tmpfs there") from None
    try:
        _lock(file, OWNER_LOCK)
        os.posix_fallocate(file, 0, size)
        # With a folder, which does not matter here, Python follows the link to the file that has no name yet.
        os.link(f"/proc/self/fd/{file}", path, src_dir_fd=file)
    except FileExistsError:
        os.close(file)
        raise InputError(_SOURCE, path, "was just made by another", "give this node another name") from None
    except OSError as error:
        os.close(file)
        mend = f"free {size / 1e6:.0f} MB of it, or give the container more (docker run --shm-size)"
        raise InputError(_SOURCE, folder, f"has no room ({error.strerror})", mend) from None
    return file


def _owner_of(file: int) -> int:
    """Process id in the header of a segment; 0 if it has none."""
    words = struct.unpack("4q", os.pread(file, 4 * WORD, 0).ljust(4 * WORD, b"\0"))
    owner = struct.unpack("q", os.pread(file, WORD, Header.OWNER_PID * WORD).ljust(WORD, b"\0"))[0]
    return int(owner) if words[Header.MAGIC] == MAGIC and words[Header.VERSION] == VERSION else 0


def _lock(file: int, byte: int) -> bool:
    """Lock a byte as long as the file is open; False if another has it."""
    try:
        fcntl.fcntl(file, _SET_LOCK, struct.pack(_LOCK, fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0))
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _is_locked(file: int, byte: int) -> bool:
    """Whether another open file has locked a byte."""
    asked = struct.pack(_LOCK, fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    return bool(struct.unpack(_LOCK, fcntl.fcntl(file, _GET_LOCK, asked))[0] != fcntl.F_UNLCK)
