"""Which samples a sweep has: every point of the grid, each with every draw."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy

from hydro_sim_core.errors import InputError
from hydro_sim_core.sweeps.axes import MOST, Array, Axis

Sampling = Literal["random", "latin"]
#: As near to 0 and 1 as shares are taken, where a normal distribution ends at infinity.
_EDGE = 2.0**-53


@dataclass(frozen=True)
class Plan:
    """All samples of a sweep.

    Attributes:
        axes: What is varied.
        draws: How often each point of the grid is tried with other draws; 1 without axes that are drawn.
        sampling: ``latin`` spreads the draws evenly over each of their axes (a Latin hypercube).
        seed: Of the draws.
    """

    axes: tuple[Axis, ...]
    draws: int = 1
    sampling: Sampling = "random"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.count > MOST:
            problem = f"a sweep of {self.count} samples is too large"
            raise InputError("--vary", "", problem, f"give at most {MOST}")
        if self.draws > 1 and not self.drawn:
            problem = "nothing is drawn, so that all would be the same"
            raise InputError(
                "--samples", "", problem, "leave it out, or draw a value: --vary PATH=uniform(a,b)"
            )

    @property
    def grid(self) -> tuple[Axis, ...]:
        """Axes with given values."""
        return tuple(axis for axis in self.axes if axis.values is not None)

    @property
    def drawn(self) -> tuple[Axis, ...]:
        """Axes whose values are drawn."""
        return tuple(axis for axis in self.axes if axis.values is None)

    @property
    def count(self) -> int:
        """Number of samples."""
        return math.prod(len(axis.values or ()) for axis in self.grid) * self.draws

    def samples(self) -> list[dict[str, Any]]:
        """Values of every sample, by path; the last axis of the grid changes first, and draws before it.

        Every point of the grid gets the same draws, so that points differ by what the grid says and not by luck.
        """
        shares = np.clip(self._shares(len(self.drawn)), _EDGE, 1.0 - _EDGE)
        drawn = [axis.at(shares[:, k]) for k, axis in enumerate(self.drawn)]
        found = []
        for point in itertools.product(*(axis.values or () for axis in self.grid)):
            for k in range(self.draws):
                of_grid = zip((axis.path for axis in self.grid), point, strict=True)
                of_draw = zip(
                    (axis.path for axis in self.drawn), (column[k] for column in drawn), strict=True
                )
                values = {**dict(of_grid), **dict(of_draw)}
                found.append({axis.path: values[axis.path] for axis in self.axes})
        return found

    def each_value(self, samples: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Of the plan's samples the first ones with each value of the grid."""
        seen: set[tuple[str, str]] = set()
        for values in samples:
            new = {(axis.path, repr(values[axis.path])) for axis in self.grid} - seen
            if new:
                seen |= new
                yield values

    def _shares(self, dimensions: int) -> Array:
        """(draws, dimensions) shares of the distributions."""
        rng = np.random.default_rng(self.seed)
        if self.sampling == "latin" and dimensions:
            return np.asarray(scipy.stats.qmc.LatinHypercube(dimensions, seed=rng).random(self.draws))
        return rng.random((self.draws, dimensions))

    def told(self) -> dict[str, Any]:
        """What makes the samples, in words that can be compared."""
        return {
            "vary": [f"{axis.path}={axis.text}" for axis in self.axes],
            "draws": self.draws,
            "sampling": self.sampling,
            "seed": self.seed,
        }


def columns_of(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """The columns of rows that all have the same names."""
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
