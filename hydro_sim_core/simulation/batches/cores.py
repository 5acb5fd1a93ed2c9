"""Threads that keep the cores of the processor busy for a batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache

from hydro_sim_core.threads import cores


def on_cores(tasks: Sequence[Callable[[], None]], stop: Callable[[], None]) -> None:
    """Do tasks, as many at a time as there are cores.

    Whoever waits for them can be interrupted, also where there is one core: the tasks are told to ``stop`` then, and
    none is being done any more when the error is raised.
    """
    pool = _pool(os.getpid())
    doing = [pool.submit(task) for task in tasks]
    try:
        for done in doing:
            done.result()
    except BaseException:
        stop()
        wait(doing)
        raise


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads of a process, for all batches; one that was forked starts without."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="batch")
