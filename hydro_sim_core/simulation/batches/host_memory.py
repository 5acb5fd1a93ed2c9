"""Memory that this machine, or the container that it is, has left."""

from __future__ import annotations

import math
from pathlib import Path

_MACHINE = Path("/proc/meminfo")
_LIMIT, _USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
_SHARES = Path("/sys/fs/cgroup/memory.stat")


def available_bytes() -> float:
    """Bytes that may still be taken; infinite where the system does not tell."""
    return min(_of_machine(), _of_container())


def _of_machine() -> float:
    try:
        lines = dict(line.split(":", 1) for line in _MACHINE.read_text().splitlines())
        return 1024.0 * int(lines["MemAvailable"].split()[0])
    except (OSError, ValueError, KeyError):
        return math.inf


def _of_container() -> float:
    try:
        free = int(_LIMIT.read_text()) - int(_USED.read_text())
    except (OSError, ValueError):  # the limit may be the word "max"
        return math.inf
    return float(free + _of_files())


def _of_files() -> int:
    """Bytes of files that the container has read and the system forgets where memory is wanted."""
    try:
        shares = dict(line.split() for line in _SHARES.read_text().splitlines())
        return int(shares["inactive_file"])
    except (OSError, ValueError, KeyError):
        return 0
