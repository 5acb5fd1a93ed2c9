"""Real-time scheduling of a thread, as far as the operating system permits."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
from collections.abc import Sequence
from pathlib import Path

from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory.layout import Scheduling

_MCL_CURRENT, _MCL_FUTURE = 1, 2  # of mlockall(2) on Linux
#: Priority for what is as good as permitted: below the system's own real-time threads, which have 50 and more.
USUAL_PRIORITY = 40
_ISOLATED = Path("/sys/devices/system/cpu/isolated")
#: Interpreter switch interval, s: how long another thread may hold the interpreter lock; Python's default is 5 ms. A
#: step takes the lock a few times and may wait for that long each time.
SWITCH_INTERVAL = 1e-4


def check_realtime(priority: int, cpus: Sequence[int]) -> None:
    """Check settings before anything is started.

    Args:
        priority: Priority of SCHED_FIFO, 1 (lowest) to 99; 0 leaves the scheduling as it is.
        cpus: Processors that the thread may run on; none leaves the affinity as it is.

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
    """Set real-time priority and CPU affinity of the calling thread, and lock the process in memory.

    Args:
        priority: As for ``check_realtime``.
        cpus: As for ``check_realtime``.
        lock_memory: Whether to lock all present and future memory of this process against swapping.

    Returns:
        Settings that were not permitted, one sentence each with the remedy; the thread runs without them.
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


def memory_may_be_locked() -> bool:
    """Whether all memory may be locked, whatever will be allocated: a limit would make later allocations fail."""
    return resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY or os.geteuid() == 0


def isolated_cpu() -> tuple[int, ...]:
    """A processor that the system keeps free (``isolcpus``) and that this process may use; none if there is none."""
    try:
        text = _ISOLATED.read_text().strip()
    except OSError:
        return ()
    kept: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        kept |= set(range(int(first), int(last or first) + 1))
    usable = sorted(kept & os.sched_getaffinity(0))
    return tuple(usable[:1])


def scheduling_of(thread: int) -> str:
    """How a thread (its native id) is scheduled, in words."""
    policy = os.sched_getscheduler(thread)
    priority = os.sched_getparam(thread).sched_priority
    words = [f"SCHED_FIFO {priority}" if policy == os.SCHED_FIFO else "no real-time priority"]
    cpus = os.sched_getaffinity(thread)
    if len(cpus) < (os.cpu_count() or 1):
        words.append(f"on processor {', '.join(map(str, sorted(cpus)))}")
    if is_memory_locked():
        words.append("memory locked")
    return ", ".join(words)


def privileges_here() -> tuple[Scheduling, int, int]:
    """Privileges of the calling thread, its priority of SCHED_FIFO, and the processor that it is pinned to or -1."""
    policy, cpus = os.sched_getscheduler(0), os.sched_getaffinity(0)
    is_fifo, is_pinned = policy == os.SCHED_FIFO, len(cpus) == 1
    privileges = Scheduling.FIFO if is_fifo else Scheduling(0)
    privileges |= Scheduling.PINNED if is_pinned else 0
    privileges |= Scheduling.LOCKED_MEMORY if is_memory_locked() else 0
    return privileges, os.sched_getparam(0).sched_priority if is_fifo else 0, min(cpus) if is_pinned else -1


def is_memory_locked() -> bool:
    """Whether memory of this process is locked."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmLck:"):
            return int(line.split()[1]) > 0
    return False


def give_priority_up(thread: int) -> None:
    """Schedule a thread (its native id) like any other."""
    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def set_aside_what_lives() -> None:
    """Freeze all present objects: the garbage collector then visits only newer ones.

    A full collection stops every thread, for 60 to 80 ms in a node. ``gc.unfreeze`` reverts it.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
