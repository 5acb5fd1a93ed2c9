"""Memory that this machine, or the container that it is, has left."""

from __future__ import annotations

import math
from pathlib import Path

_MACHINE = Path("/proc/meminfo")
_LIMIT, _USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


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
        return float(int(_LIMIT.read_text()) - int(_USED.read_text()))
    except (OSError, ValueError):  # the limit may be the word "max"
        return math.inf
