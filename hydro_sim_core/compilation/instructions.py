"""Instructions of kernels beyond arithmetic: memory shared with other threads and processes, time, sleep, form.

They need no interpreter lock. Words are entries of an ``Int1D``; what waits for a word looks at its low 32 bits, as the
kernel's futexes do, and any process that has mapped the word can wake it.
"""

from __future__ import annotations

import ctypes
import platform
import time
from collections.abc import Callable
from functools import cache, update_wrapper
from typing import Any

import numpy as np

from hydro_sim_core.compilation.handles import handle_at
from hydro_sim_core.compilation.kernels import INTERPRETED

#: Number of the system call on this machine.
FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine(), 202)
#: Operations of it: wait until an absolute time of CLOCK_MONOTONIC, and wake, between processes.
WAIT, WAKE, EVERYBODY, ANY_BIT = 9, 1, 2**31 - 1, 0xFFFFFFFF
_BILLION = 1_000_000_000


class Instruction:
    """A function that kernels call and that compiles to a few instructions or a system call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = function.__name__
        update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<instruction {self.name}>"

    @property
    def _numba_type_(self) -> Any:
        """Numba type of this object; Numba reads this attribute of objects of unknown type."""
        from hydro_sim_core.compilation.numba_instructions import InstructionType

        return InstructionType(self.name)

    def __call__(self, *args: Any) -> Any:
        """The same from Python, where it is only as atomic as the interpreter lock makes it."""
        return self.function(*args)


def _instruction(function: Callable[..., Any]) -> Any:
    return function if INTERPRETED else Instruction(function)


@_instruction
def load(words: np.ndarray, i: int) -> int:
    """Load a word whole; what its writer has written before is seen afterwards (acquire)."""
    return int(words[i])


@_instruction
def store(words: np.ndarray, i: int, value: int) -> None:
    """Store a word whole; who sees it sees all that was written before (release)."""
    words[i] = value


@_instruction
def add(words: np.ndarray, i: int, value: int) -> int:
    """Add to a word that others add to as well; return what it was (sequentially consistent)."""
    before = int(words[i])
    words[i] = before + value
    return before


@_instruction
def fence() -> None:
    """Let everybody see what was stored before it, before anything is loaded after it."""


@_instruction
def clock_ns() -> int:
    """Time of CLOCK_MONOTONIC, ns."""
    return time.monotonic_ns()


@_instruction
def sleep_until(deadline: int) -> None:
    """Sleep until a time of CLOCK_MONOTONIC, ns."""
    time.sleep(max(0, deadline - time.monotonic_ns()) / _BILLION)


@_instruction
def wait_for_change(words: np.ndarray, i: int, seen: int, deadline: int) -> None:
    """Wait while a word is as it was ``seen``, until somebody wakes or until ``deadline`` of CLOCK_MONOTONIC, ns.

    May return early, so look again.
    """
    until = (ctypes.c_int64 * 2)(*divmod(deadline, _BILLION))
    value = ctypes.c_uint32(seen & 0xFFFFFFFF)
    _system_call()(
        FUTEX, ctypes.c_void_p(words[i:].ctypes.data), WAIT, value, until, None, ctypes.c_uint32(ANY_BIT)
    )


@_instruction
def wake_all(words: np.ndarray, i: int) -> None:
    """Wake all who wait for a change of a word."""
    _system_call()(FUTEX, ctypes.c_void_p(words[i:].ctypes.data), WAKE, EVERYBODY, None, None, 0)


@_instruction
def struct_at(addresses: np.ndarray, i: int, like: Any) -> Any:
    """The struct that a handle keeps at an address; the struct ``like`` it, of the same class, tells its layout."""
    return handle_at(int(addresses[i]))


@_instruction
def one_thread_a_world() -> bool:
    """Whether this is translated for a GPU, where neighbouring threads step worlds side by side (see ``side_by_side``).

    A constant of the program: where threads have no vector units, and caches hold little of each, other loops pay.
    """
    return False


@cache
def _system_call() -> Any:
    return ctypes.CDLL(None, use_errno=True).syscall
