"""Steps own no memory: nothing is left behind by many of them, in one call or in a call each."""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc
from pathlib import Path

import pytest

import hydro_sim_core as hs
from support.simulation.made_scenes import CONFIG

WARM_UP = 2_000
CALLS = 8_000
STEPS = 40_000
#: A twelfth of a byte a call; half a number a step.
TRACED_BOUND = CALLS // 12
RESIDENT_BOUND = 4 * STEPS


def resident_bytes() -> int:
    """Memory of this process that is in RAM."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def traced_bytes() -> int:
    """Memory of Python objects, without those that nobody but Python's cache of attributes knows."""
    gc.collect()
    sys._clear_type_cache()
    return tracemalloc.get_traced_memory()[0]


def traced_growth(step, calls: int = CALLS) -> int:
    """Traced memory, bytes, that so many calls leave behind after a warm-up."""
    tracemalloc.start()
    try:
        for _ in range(WARM_UP):
            step()
        before = traced_bytes()
        for _ in range(calls):
            step()
        return traced_bytes() - before
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def world() -> hs.World:
    """A box that has come to rest, and goes on resting from test to test."""
    world = hs.load_scene(CONFIG / "drop_box.yaml")
    world.step(2000)
    return world


def test_calls_of_a_step_leave_no_objects_behind(world):
    assert traced_growth(world.step) < TRACED_BOUND


def test_an_object_left_behind_by_every_call_is_noticed(world):
    left_behind = []

    def step() -> None:
        world.step()
        left_behind.append(world.time)

    calls = CALLS // 10
    assert traced_growth(step, calls) > 8 * calls


def test_steps_leave_no_memory_behind(world):
    world.step(WARM_UP)
    before = resident_bytes()
    world.step(STEPS)
    assert resident_bytes() - before < RESIDENT_BOUND
