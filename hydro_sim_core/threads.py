"""How many threads one step of a world may take."""

from __future__ import annotations

import os
from collections.abc import Sequence

#: Variables of the environment that say it, the first that is set; the second one is for numerical libraries at large.
VARIABLES = ("HYDRO_SIM_THREADS", "OMP_NUM_THREADS")
#: Most of them where nobody says it, and whatever is said.
_MOST, _LIMIT = 8, 64


def threads_allowed() -> int:
    """Most threads that a step may take: what the environment says, else one for each core, up to eight.

    It is 64 at most. What is no whole number says nothing.
    """
    return _said(VARIABLES) or min(cores(), _MOST)


def threads_of_a_batch() -> int:
    """Threads that step worlds of a batch: what ``HYDRO_SIM_THREADS`` says, else one for each core."""
    return _said(VARIABLES[:1]) or cores()


def _said(names: Sequence[str]) -> int:
    """What the first of some variables says that says anything; 0 if none does."""
    for name in names:
        given = os.environ.get(name, "")
        if given.isdecimal():
            return min(max(int(given), 1), _LIMIT)
    return 0


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def leave_cores_to_others() -> None:
    """Let steps of this process take one thread, unless somebody has said otherwise: others work on other cores."""
    if not any(name in os.environ for name in VARIABLES):
        os.environ[VARIABLES[0]] = "1"
