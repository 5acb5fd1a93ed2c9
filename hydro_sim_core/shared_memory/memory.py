"""Words of a segment as Python sees them: plain loads and stores, atomic addition, waiting and waking.

Python has no atomic operations. Aligned words of eight bytes are loaded and stored whole all the same; the order of two
stores is kept by x86-64, and by ``Memory.fence`` elsewhere; additions are made by the kernel (FUTEX_WAKE_OP).
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform

import numpy as np

from hydro_sim_core.errors import InputError

_NUMBERS = {"x86_64": 202, "aarch64": 98}
_FUTEX_WAIT, _FUTEX_WAKE, _FUTEX_WAKE_OP = 0, 1, 5
_ADD, _ADD_POWER_OF_TWO = 1 << 28, 1 << 28 | 1 << 31
_ALL = 2**31 - 1
_LOW = 0xFFFFFFFF
_KEEPS_ORDER = platform.machine() == "x86_64"

# The second one gives the interpreter lock away while it waits; the first is for calls that return at once.
_AT_ONCE = ctypes.PyDLL(None, use_errno=True).syscall
_WAITING = ctypes.CDLL(None, use_errno=True).syscall


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class Memory:
    """A mapped file, or anonymous memory, as words.

    Args:
        descriptor: File to map; -1 for memory that only this process and its children see.
        size: Its size, bytes; a multiple of eight.

    Attributes:
        words: All words as whole numbers.
        reals: The same as float64.
        integer_array: All words (size / 8) as an int64 array.
        real_array: The same as a float64 array.

    Raises:
        InputError: The processor is of a kind whose system calls are not known here.
    """

    def __init__(self, descriptor: int, size: int) -> None:
        self._futex = _futex_number()
        # Pages are there before they are needed: nobody waits for the first touch of one.
        mapped = mmap.mmap(descriptor, size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        self.words = memoryview(mapped).cast("q")
        self.reals = memoryview(mapped).cast("d")
        self.integer_array = np.frombuffer(mapped, dtype=np.int64)
        self.real_array = np.frombuffer(mapped, dtype=np.float64)
        self._address = self.integer_array.ctypes.data
        self._own_word = ctypes.c_int64()

    def text(self, word: int, num_words: int) -> str:
        """Text of so many words from ``word`` on, up to the first zero byte."""
        content = self.integer_array[word : word + num_words].tobytes()
        return content.partition(b"\0")[0].decode("utf-8", "replace")

    def set_text(self, word: int, num_words: int, text: str) -> None:
        """Write a text, cut to what fits with a zero byte behind it."""
        length = 8 * num_words
        content = text.encode("utf-8", "replace")[: length - 1].decode("utf-8", "ignore").encode()
        self.integer_array[word : word + num_words] = np.frombuffer(content.ljust(length, b"\0"), np.int64)

    def fence(self) -> None:
        """Let no load or store before it be seen after one that follows it."""
        if not _KEEPS_ORDER:
            own = ctypes.addressof(self._own_word)
            self._call_at_once(own, _FUTEX_WAKE_OP, 0, own, _ADD)

    def add(self, word: int, amount: int) -> None:
        """Add to the low half of a word, atomically; the high half of a counter of this kind says nothing."""
        at = self._address + 8 * word
        if -2048 <= amount < 2048:
            self._call_at_once(at, _FUTEX_WAKE_OP, 0, at, _ADD | (amount & 0xFFF) << 12)
            return
        for power in range(amount.bit_length()):
            if amount >> power & 1:
                self._call_at_once(at, _FUTEX_WAKE_OP, 0, at, _ADD_POWER_OF_TWO | power << 12)

    def ring(self, word: int) -> None:
        """Add one to a futex, atomically, and wake all that wait for it."""
        at = self._address + 8 * word
        self._call_at_once(at, _FUTEX_WAKE_OP, _ALL, at, _ADD | 1 << 12)

    def wake(self, word: int) -> None:
        """Wake all that wait for a futex."""
        self._call_at_once(self._address + 8 * word, _FUTEX_WAKE, _ALL, None, 0)

    def wait(self, word: int, seen: int, limit: float) -> None:
        """Sleep until a futex is woken, unless its low half is no longer that of ``seen``.

        May return early: the caller looks at the word again.

        Args:
            word: The futex.
            seen: Value on which the caller decided to sleep.
            limit: Longest sleep, s.
        """
        seconds, share = divmod(max(limit, 0.0), 1.0)
        timespec = _Timespec(int(seconds), int(1e9 * share))
        at = ctypes.c_void_p(self._address + 8 * word)
        low = ctypes.c_uint32(seen & _LOW)
        if _WAITING(self._futex, at, _FUTEX_WAIT, low, ctypes.byref(timespec), None, 0) < 0:
            number = ctypes.get_errno()
            if number not in (errno.EAGAIN, errno.EINTR, errno.ETIMEDOUT):
                raise OSError(number, os.strerror(number))

    def _call_at_once(self, at: int, operation: int, count: int, other: int | None, encoded: int) -> None:
        first, second = ctypes.c_void_p(at), ctypes.c_void_p(other)
        if _AT_ONCE(self._futex, first, operation, count, None, second, ctypes.c_uint32(encoded)) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


def _futex_number() -> int:
    machine = platform.machine()
    if machine not in _NUMBERS:
        raise InputError(
            "shared memory", machine, "is a processor for which it is not written", "use x86-64 or AArch64"
        )
    return _NUMBERS[machine]
