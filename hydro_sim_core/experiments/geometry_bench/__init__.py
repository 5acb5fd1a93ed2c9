"""Benchmark of contact geometry: moving pairs of shapes, timed in hydro-sim and, if installed, in Drake."""

from __future__ import annotations

from hydro_sim_core.experiments.geometry_bench.measure import (
    QUICK,
    THOROUGH,
    Effort,
    Growth,
    Side,
    Timing,
    compile_queries,
    growths,
    measure,
)
from hydro_sim_core.experiments.geometry_bench.pairs import SPEEDS, BenchPair, all_pairs

__all__ = [
    "QUICK",
    "SPEEDS",
    "THOROUGH",
    "BenchPair",
    "Effort",
    "Growth",
    "Side",
    "Timing",
    "all_pairs",
    "compile_queries",
    "growths",
    "measure",
]
