"""Trials of a task with different seeds, side by side in processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from hydro_sim_core.tasks.registry import find_told_task
from hydro_sim_core.tasks.trial import Trial, run_trial


def run_trials(
    name: str,
    seeds: Sequence[int],
    values: Mapping[str, Any] | None = None,
    jobs: int = 1,
    done: Callable[[Trial], None] = lambda trial: None,
) -> list[Trial]:
    """Let the controller of a task try it once with every seed.

    Args:
        name: Of the task.
        seeds: Of the variations.
        values: Other values of the scene by path, and settings of the controller as ``controller.NAME``.
        jobs: Number of processes.
        done: Called with each trial as it ends, in the order of the seeds.

    Returns:
        Their trials, in the same order; they do not depend on ``jobs``.

    Raises:
        InputError: There is no such task or setting, or a path or value is wrong.
    """
    find_told_task(name, values or {})
    trials = []
    # Started anew: a fork would share what the compiler keeps in threads.
    with ProcessPoolExecutor(min(jobs, len(seeds)) or 1, mp_context=get_context("spawn")) as pool:
        try:
            for trial in pool.map(_trial, [(name, seed, dict(values or {})) for seed in seeds]):
                done(trial)
                trials.append(trial)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return trials


def _trial(asked: tuple[str, int, dict[str, Any]]) -> Trial:
    name, seed, values = asked
    task, of_scene = find_told_task(name, values)
    return run_trial(task, seed, of_scene)
