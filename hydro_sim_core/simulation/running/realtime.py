"""Makes the calling thread a real-time thread, as far as the operating system allows it."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Sequence

from hydro_sim_core.errors import InputError

_MCL_CURRENT, _MCL_FUTURE = 1, 2  # of mlockall(2) on Linux
#: How long another thread may keep Python's interpreter from one that keeps deadlines, s; Python's default is 5 ms. A
#: step asks for the interpreter a few times, and each may have to wait for that long.
SWITCH_INTERVAL = 1e-4


def check_realtime(priority: int, cpus: Sequence[int]) -> None:
    """Check settings before anything is started.

    Args:
        priority: Of SCHED_FIFO, 1 (lowest) to 99; 0 leaves the scheduling as it is.
        cpus: Processors the thread may run on; none leaves it as it is.

    Raises:
        InputError: There is no such priority or processor.
    """
    lowest, highest = os.sched_get_priority_min(os.SCHED_FIFO), os.sched_get_priority_max(os.SCHED_FIFO)
    if priority and not lowest <= priority <= highest:
        mend = f"give 0 for none or {lowest} to {highest}"
        raise InputError("real time", "priority", f"{priority} is out of range", mend)
    there = os.sched_getaffinity(0)
    missing = sorted(set(cpus) - there)
    if missing:
        problem = f"{', '.join(map(str, missing))} cannot be used by this process"
        raise InputError("real time", "cpus", problem, f"use some of {', '.join(map(str, sorted(there)))}")


def make_realtime(priority: int = 0, cpus: Sequence[int] = (), lock_memory: bool = False) -> list[str]:
    """Give the calling thread a real-time priority and processors of its own, and keep the process in memory.

    Args:
        priority: As for ``check_realtime``.
        cpus: As for ``check_realtime``.
        lock_memory: Forbid the system to swap out any of this process's memory, present or future.

    Returns:
        What was not permitted, one sentence each with the mend; the thread runs on without.
    """
    refused = []
    if cpus:
        os.sched_setaffinity(0, cpus)
    if priority:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        except PermissionError:
            refused.append(
                f"real-time priority {priority} is not permitted; raise the limit 'rtprio' of this user "
                "(ulimit -r, /etc/security/limits.conf) or grant CAP_SYS_NICE"
            )
    if lock_memory and ctypes.CDLL(None, use_errno=True).mlockall(_MCL_CURRENT | _MCL_FUTURE):
        refused.append(
            f"locking memory is not permitted ({os.strerror(ctypes.get_errno())}); raise the limit 'memlock' of "
            "this user (ulimit -l, /etc/security/limits.conf) or grant CAP_IPC_LOCK"
        )
    return refused


def set_aside_what_lives() -> None:
    """Have the garbage collector look only at objects that are made from now on.

    It stops every thread while it looks, for 60 to 80 ms at all that a node has loaded. ``gc.unfreeze`` takes it back.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
