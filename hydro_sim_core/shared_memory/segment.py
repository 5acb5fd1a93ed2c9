"""The owner's part: makes the segment of a simulation, and takes it away. Whoever runs the loop calls this.

First the memory, then its words, then ``publish``.

A segment gets its name when it is whole and locked (``O_TMPFILE``, then a link): nobody sees one that is half made, and
an owner that is killed while it makes one leaves nothing behind.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory.layout import (
    CHANNEL_LOCK,
    MAGIC,
    NUM_SLOTS,
    OWNER_LOCK,
    WORD,
    Control,
    Header,
    Life,
    Status,
    header_words,
)
from hydro_sim_core.shared_memory.locks import ByteLock, is_locked
from hydro_sim_core.shared_memory.memory import Memory
from hydro_sim_core.shared_memory.names import SOURCE, path_of
from hydro_sim_core.shared_memory.tables import Tables

_MODE = 0o600
_REASONS = {
    errno.ENOENT: ("does not exist", "mount a tmpfs there"),
    errno.EACCES: ("may not be written", "let this user write there"),
    errno.EPERM: ("may not be written", "let this user write there"),
    errno.EROFS: ("may not be written", "mount it for writing"),
    errno.EOPNOTSUPP: ("is of a kind that knows no files without names", "mount a tmpfs there"),
}


class Segment:
    """A segment that this process owns.

    Args:
        name: Name of the simulation, as that of its node.
        size: Bytes.

    Attributes:
        name: Name of the simulation.
        path: File of the segment.
        memory: Its words, as Python uses them.
        words: All words, an int64 array, zero at first.

    Raises:
        InputError: Another simulation of this name runs, or there is no room or no permission.
    """

    def __init__(self, name: str, size: int) -> None:
        self.name, self.path = name, path_of(name)
        self._descriptor = _allocate(self.path, size)
        lock = ByteLock.take(self._descriptor, OWNER_LOCK)
        assert lock is not None, "nobody else can have opened a file without a name"
        self._lock = lock
        self.memory = Memory(self._descriptor, size)
        self.words = self.memory.integer_array

    @classmethod
    def make(
        cls, name: str, tables: Tables, slots: int = NUM_SLOTS, replaces: Segment | None = None
    ) -> Segment:
        """Make a segment with its header and tables, and let clients in.

        Args:
            name: Name of the simulation.
            tables: What is constant in it.
            slots: Slots of the ring.
            replaces: The segment of this name that this process has had until now, which is retired.

        Raises:
            InputError: As the class says; what ``replaces`` names goes on then.
        """
        segment = cls(name, header_words(tables.sizes(slots))[Header.SIZE])
        tables.write(segment.memory, slots)
        segment.words[Header.OWNER_PID] = os.getpid()
        segment.publish(replaces)
        if replaces is not None:
            replaces.retire()
        return segment

    def publish(self, replaces: Segment | None = None) -> None:
        """Let clients in: every constant word is written.

        Args:
            replaces: The segment of this name that this process has had until now, for another scene; whoever opens
                the name finds one of the two. The caller retires it then.

        Raises:
            InputError: Another simulation of this name runs. What ``replaces`` names goes on then.
        """
        self.memory.fence()
        self.words[Header.READY] = 1
        try:
            _give_name(self._descriptor, self.path, -1 if replaces is None else replaces._descriptor)
        except InputError:
            self._close()
            raise

    def client_lives(self, channel: int) -> bool:
        """Whether a client has a channel."""
        return is_locked(self._descriptor, CHANNEL_LOCK + channel)

    def vacant(self, channel: int) -> ByteLock | None:
        """The lock of a channel that no client has, to be released soon; None if one has it."""
        return ByteLock.take(self._descriptor, CHANNEL_LOCK + channel)

    def retire(self) -> None:
        """End it: tell and wake all that wait, take its name away, and unlock it; more than once does nothing.

        The loop must not run in it any more. Its memory stays valid for this process.
        """
        if self._descriptor < 0:
            return
        words = self.memory.words
        status, control = words[Header.AT_STATUS], words[Header.AT_CONTROL]
        words[status + Status.LIFE] = Life.RETIRED
        self.memory.fence()
        # First: whoever is woken may open the name anew at once.
        if _is_named(self._descriptor, self.path):
            os.unlink(self.path)
        self.memory.wake(status + Status.HEAD)
        self.memory.wake(status + Status.STEPS_TAKEN)
        self.memory.wake(control + Control.BELL)
        self._close()

    def _close(self) -> None:
        self._lock.release()
        os.close(self._descriptor)
        self._descriptor = -1


def _allocate(path: str, size: int) -> int:
    """A file without a name and with all its memory, where later writes cannot fail for want of room."""
    folder = os.path.dirname(path)
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, _MODE)
    except OSError as error:
        problem, mend = _REASONS.get(error.errno or 0, (os.strerror(error.errno or 0), "correct that"))
        raise InputError(folder, "", problem, mend) from None
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        os.close(descriptor)
        if error.errno not in (errno.ENOSPC, errno.ENOMEM, errno.EFBIG, errno.EDQUOT):
            raise
        raise InputError(
            SOURCE,
            folder,
            f"has no room for {size / 1e6:.1f} MB: {os.strerror(error.errno)}",
            "remove there what nobody needs, or make it larger (docker run --shm-size)",
        ) from None
    return descriptor


def _give_name(descriptor: int, path: str, replaced: int) -> None:
    """Give a whole segment its name: in place of the owner's last one, or of one whose owner has died."""
    hidden = Path(os.path.dirname(path), f".{os.path.basename(path)}")
    if replaced >= 0 and _is_named(replaced, path):
        hidden.unlink(missing_ok=True)
        _link(descriptor, str(hidden))
        os.replace(hidden, path)
        return
    while True:
        try:
            _link(descriptor, path)
        except FileExistsError:
            _remove_stale(path)
        else:
            hidden.unlink(missing_ok=True)  # of an owner that was killed while it replaced its segment
            return


def _link(descriptor: int, path: str) -> None:
    # With a descriptor of a folder, even one that is not used, Python follows the link to the open file.
    os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor)


def _remove_stale(path: str) -> None:
    """Remove a segment whose owner has died; nothing if somebody else was quicker."""
    with _opened(path) as descriptor:
        if descriptor is None:
            return
        lock = ByteLock.take(descriptor, OWNER_LOCK)
        if lock is None:
            owner = _word(descriptor, Header.OWNER_PID)
            raise InputError(
                path,
                "",
                f"belongs to a simulation of the same name that runs (process {owner})",
                "stop it, or give this one another name",
            )
        try:
            # Locked, and still the file of this name: whoever else would remove it needs this lock.
            if _is_named(descriptor, path):
                os.unlink(path)
        finally:
            lock.release()


@contextmanager
def _opened(path: str) -> Iterator[int | None]:
    """An existing segment; None if it has gone meanwhile.

    Raises:
        InputError: It belongs to somebody else, or is nothing of ours.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    except PermissionError:
        raise InputError(path, "", "belongs to another user", "give this simulation another name") from None
    except OSError:
        raise InputError(path, "", "is no segment of hydro-sim", "remove it") from None
    try:
        if (
            not stat.S_ISREG(os.fstat(descriptor).st_mode)
            or os.fstat(descriptor).st_size < Header.END * WORD
            or _word(descriptor, Header.MAGIC) != MAGIC
        ):
            raise InputError(path, "", "is no segment of hydro-sim", "remove it")
        yield descriptor
    finally:
        os.close(descriptor)


def _word(descriptor: int, word: Header) -> int:
    return int.from_bytes(os.pread(descriptor, WORD, WORD * word), "little", signed=True)


def _is_named(descriptor: int, path: str) -> bool:
    """Whether an open file is the one that has this name."""
    try:
        named = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), named)
