"""Trials of a task with different seeds, side by side in processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks.registry import find_told_task
from hydro_sim_core.tasks.trial import Trial, drawn_in, run_trial, varied
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
        Their trials, in the order of the seeds; they do not depend on ``jobs``. One whose world cannot be made, or
        whose process is killed twice, has failed with that reason.

    Raises:
        InputError: There is no such task or setting, a path or value is wrong, or the scene of a seed cannot be drawn,
            each before any trial; or no trial can begin.
    """
    task, of_scene = find_told_task(name, values or {})
    scene = find_scene(task.scene)
    for seed in seeds:
        varied(task, seed, scene, of_scene)
    trials: dict[int, Trial] = {}
    refused: dict[int, InputError] = {}
    for index, result in completed(partial(_tried, name, dict(values or {})), seeds, jobs):
        if isinstance(result, InputError):
            refused[index] = result
        if isinstance(result, InputError | Lost):
            drawn = drawn_in(task, seeds[index], scene, of_scene)
            result = Trial(seeds[index], False, _reason_of(result), "?", 0.0, 0, 0.0, {}, drawn, digest="")
        done(result)
        trials[index] = result
    if refused and len(refused) == len(seeds):
        raise refused[0]
    return [trials[index] for index in range(len(seeds))]


def _tried(name: str, values: Mapping[str, Any], seed: int) -> Trial | InputError:
    """A trial, or why its world cannot be made: the other ones go on."""
    try:
        return told_trial(name, values, seed)
    except InputError as error:
        return error


def _reason_of(failure: InputError | Lost) -> str:
    lacks = "; where memory is short, start again with fewer --jobs" if isinstance(failure, Lost) else ""
    return f"{failure}{lacks}"


def told_trial(name: str, values: Mapping[str, Any], seed: int | None) -> Trial:
    """A trial of the task of a name, with settings of its controller among the values; errors as ``run_trial``."""
    task, of_scene = find_told_task(name, values)
    return run_trial(task, seed, of_scene)
