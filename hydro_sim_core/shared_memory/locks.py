"""Locks of single bytes of a segment's file, which tell who lives: the kernel drops them when a process ends.

Locks belong to open file descriptions (F_OFD_SETLK), so that two parts of one process exclude each other, too.
"""

from __future__ import annotations

import fcntl
import os
import struct
import weakref

_LAYOUT = "hhqqi4x"  # struct flock


def is_locked(descriptor: int, byte: int) -> bool:
    """Whether a byte of a file is locked by way of another open file than this one."""
    answer = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _flock(fcntl.F_WRLCK, byte))
    return bool(struct.unpack(_LAYOUT, answer)[0] != fcntl.F_UNLCK)


class ByteLock:
    """The lock of a byte, held until it is released or the process ends, however it ends.

    A child that this process forks does not hold it, so that the lock ends with its owner alone.

    Attributes:
        byte: The byte.
    """

    def __init__(self, descriptor: int, byte: int) -> None:
        self.byte = byte
        self._descriptor = descriptor
        _HELD.add(self)

    @classmethod
    def take(cls, descriptor: int, byte: int) -> ByteLock | None:
        """Lock a byte of an open file; None if it is locked.

        Args:
            descriptor: The file, which is opened once more: others may map it and ask for its locks.
            byte: The byte.
        """
        own = os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.fcntl(own, fcntl.F_OFD_SETLK, _flock(fcntl.F_WRLCK, byte))
        except (BlockingIOError, PermissionError):  # EAGAIN, or EACCES on some systems
            os.close(own)
            return None
        return cls(own, byte)

    @property
    def is_held(self) -> bool:
        """Whether it has not been released."""
        return self._descriptor >= 0

    def release(self) -> None:
        """Unlock; more than once does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.release()


_HELD: weakref.WeakSet[ByteLock] = weakref.WeakSet()


def _release_in_child() -> None:
    """Close what a forked child has inherited: the lock would last as long as the child."""
    for lock in list(_HELD):
        lock.release()


os.register_at_fork(after_in_child=_release_in_child)


def _flock(kind: int, byte: int) -> bytes:
    return struct.pack(_LAYOUT, kind, os.SEEK_SET, byte, 1, 0)
