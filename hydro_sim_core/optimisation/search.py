"""Searches for parameters with which a simulated motion ends at a goal.

A motion whose miss is not finite, as of a simulation that blew up, is worse than any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.errors import InputError
from hydro_sim_core.manipulation.checks import number_within

Array = NDArray[np.float64]

#: From parameters (P,) to how far the end misses the goal, (R,) in units of the tolerance.
Miss = Callable[[Array], Array]
#: The same with derivatives (R, P).
MissAndSlopes = Callable[[Array], tuple[Array, Array]]
#: Share of a residual that counts as gained where a step is judged.
_GAIN = 1e-3


class Found(NamedTuple):
    """Where a search ended.

    Attributes:
        parameters: (P,) the best.
        miss: (R,) of them.
        slopes: (R, P) derivatives there, or what is taken for them.
        rollouts: Motions that were simulated.
    """

    parameters: Array
    miss: Array
    slopes: Array
    rollouts: int


def least_step(miss: Array, slopes: Array, damping: float, longest: float) -> Array:
    """The shortest change (P,) of parameters that takes the miss (R,) off where derivatives (R, P) hold.

    Args:
        miss: In units of the tolerance.
        slopes: Its derivatives.
        damping: Levenberg's, as a share of the mean square of the derivatives: the larger, the shorter is the step.
        longest: Largest change of a single parameter.
    """
    square = slopes @ slopes.T
    damped = square + damping * np.trace(square) / len(square) * np.eye(len(square))
    step = -slopes.T @ np.linalg.solve(damped, miss)
    return np.asarray(step * min(1.0, longest / max(float(np.abs(step).max()), 1e-300)))


def by_gradient(evaluate: MissAndSlopes, start: Array, near: float, most: int, longest: float) -> Found:
    """Levenberg and Marquardt's method with the shortest steps, until the miss is at most ``near``.

    Args:
        evaluate: The motion and its derivatives.
        start: (P,) parameters.
        near: Length of the miss with which it ends.
        most: Most motions.
        longest: Largest change of a parameter in a step.

    Raises:
        InputError: A number is out of range, or the motion at the start has no finite miss or derivatives.
    """
    _check("by_gradient", near, longest)
    best, reach = start, longest
    miss, slopes = evaluate(start)
    _check_start("by_gradient", miss, slopes)
    damping, rollouts = 1e-3, 1
    while np.linalg.norm(miss) > near and rollouts < most:
        tried = best + least_step(miss, slopes, damping, reach)
        new_miss, new_slopes = evaluate(tried)
        rollouts += 1
        if _length(new_miss) < (1.0 - _GAIN) * _length(miss) and np.isfinite(new_slopes).all():
            best, miss, slopes = tried, new_miss, new_slopes
            damping, reach = max(0.2 * damping, 1e-3), min(2.0 * reach, longest)
        else:
            damping, reach = 10.0 * damping, 0.5 * float(np.abs(tried - best).max())
    return Found(best, miss, slopes, rollouts)


def by_secants(evaluate: Miss, start: Array, slopes: Array, near: float, most: int, longest: float) -> Found:
    """Broyden's method from the derivatives of another model, until the miss is at most ``near``.

    Every motion, good or bad, corrects the derivatives along the step that it was tried with.

    Args:
        evaluate: The motion alone.
        start: (P,) parameters.
        slopes: (R, P) derivatives to begin with.
        near: Length of the miss with which it ends.
        most: Most motions.
        longest: Largest change of a parameter in a step.

    Raises:
        InputError: A number is out of range, or the motion at the start has no finite miss or derivatives.
    """
    _check("by_secants", near, longest)
    best, miss, rollouts, damping = start, evaluate(start), 1, 1e-3
    _check_start("by_secants", miss, slopes)
    while np.linalg.norm(miss) > near and rollouts < most:
        step = least_step(miss, slopes, damping, longest)
        new_miss = evaluate(best + step)
        rollouts += 1
        if np.isfinite(new_miss).all():
            slopes = slopes + np.outer(new_miss - miss - slopes @ step, step) / (step @ step)
        if _length(new_miss) < (1.0 - _GAIN) * _length(miss):
            best, miss = best + step, new_miss
        else:
            longest = 0.5 * max(float(np.abs(step).max()), 1e-6)
    return Found(best, miss, slopes, rollouts)


def by_cross_entropy(
    evaluate: Miss,
    start: Array,
    deviation: float,
    is_near: Callable[[Array], bool],
    most: int,
    random: np.random.Generator,
    population: int = 32,
    elite: int = 8,
) -> Found:
    """The cross-entropy method: draws about a mean, which moves to the best of them, with their deviation.

    Args:
        evaluate: The motion.
        start: (P,) mean at the start.
        deviation: Standard deviation of each parameter at the start.
        is_near: Whether a miss (R,) is near enough: with the first that is, it ends at once.
        most: Most motions.
        random: Source of draws.
        population: Draws of a round.
        elite: How many of them make the next mean and deviation.

    Raises:
        InputError: The deviation is not above 0.
    """
    number_within(
        "by_cross_entropy", "deviation", deviation, 0.0, math.inf, "give a number above 0", above=True
    )
    mean, deviations = start, np.full(len(start), deviation)
    best, best_miss, rollouts = start, evaluate(start), 1
    is_over = is_near(best_miss) or rollouts >= most
    while not is_over:
        draws = mean + deviations * random.standard_normal((population, len(start)))
        lengths = np.full(population, np.inf)
        for number, draw in enumerate(draws):
            miss = evaluate(draw)
            rollouts += 1
            lengths[number] = _length(miss)
            # What is near enough may be longer than a miss that is all in one direction.
            if (found := is_near(miss)) or lengths[number] < _length(best_miss):
                best, best_miss = draw, miss
            if is_over := found or rollouts >= most:
                break
        chosen = draws[np.argsort(lengths)[:elite]]
        mean, deviations = chosen.mean(axis=0), chosen.std(axis=0) + 1e-4
    return Found(best, best_miss, np.zeros((len(best_miss), len(start))), rollouts)


def _length(miss: Array) -> float:
    return float(np.linalg.norm(miss)) if np.isfinite(miss).all() else math.inf


def _check(source: str, near: float, longest: float) -> None:
    number_within(source, "near", near, 0.0, math.inf, "give a number, 0 or more")
    number_within(source, "longest", longest, 0.0, math.inf, "give a number above 0", above=True)


def _check_start(source: str, miss: Array, slopes: Array) -> None:
    if not (np.isfinite(miss).all() and np.isfinite(slopes).all()):
        raise InputError(
            source, "start", "the miss or its derivatives are not finite there", "begin elsewhere"
        )
