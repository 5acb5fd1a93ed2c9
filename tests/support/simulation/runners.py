"""What tests of the runner share: a world to run, and waiting for its thread."""

from __future__ import annotations

import time
from collections.abc import Callable

import hydro_sim_core as hs
from support.simulation.made_scenes import free, make_world, sphere

DT = 1e-3


def falling_ball() -> hs.World:
    """A ball in free fall, its kernels compiled: every step differs from the one before."""
    world = make_world(free(sphere("ball", 0.1, 1.0)), time_step=DT)
    world.step()
    world.reset()
    return world


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for another thread, which must get there."""
    deadline = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(1e-3)
