"""Kernels and entry points of which one is passed to another."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from hydro_sim_core.compilation import Entry, EntryLayout, Float1D, entry, kernel


@kernel
def squared_norm(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return total


@entry
def total(x: Float1D) -> float:
    value = 0.0
    for i in range(x.shape[0]):
        value += x[i]
    return value


Reduction = Annotated[Entry, EntryLayout(f"{__name__}.total")]


class Chosen(NamedTuple):
    reduce: Reduction
    values: Float1D


@entry
def reduced(reduce: Reduction, x: Float1D) -> float:
    return reduce(x)
