"""Trials of a task with different seeds, side by side in processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks.registry import find_told_task
from hydro_sim_core.tasks.trial import Trial, draw, run_trial
from hydro_sim_core.workers import Lost, completed


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
        done: Called with each trial as it ends.

    Returns:
        Their trials, in the order of the seeds; they do not depend on ``jobs``.

    Raises:
        InputError: There is no such task or setting, a path or value is wrong, what draws fails, or a trial's process
            is killed twice.
    """
    task, _ = find_told_task(name, values or {})
    scene = find_scene(task.scene)
    for seed in seeds:
        draw(task, seed, scene)
    trials: dict[int, Trial] = {}
    for index, trial in completed(partial(told_trial, name, dict(values or {})), seeds, jobs):
        if isinstance(trial, Lost):
            mend = "start again with fewer --jobs, or more memory free"
            raise InputError(name, f"seed {seeds[index]}", str(trial), mend)
        done(trial)
        trials[index] = trial
    return [trials[index] for index in range(len(seeds))]


def told_trial(name: str, values: Mapping[str, Any], seed: int | None) -> Trial:
    """A trial of the task of a name, with settings of its controller among the values; errors as ``run_trial``."""
    task, of_scene = find_told_task(name, values)
    return run_trial(task, seed, of_scene)
