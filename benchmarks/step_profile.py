"""Where a step of the welded spatula scene spends its time.

At points along the run every stage is repeated many times from the same state in one compiled loop, which a clock
inside the step could not resolve. The stages together are compared with whole steps, and one call a step with one
call for many: the difference is what a call from Python costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numba
import numpy as np
from measure import output_argument, write
from rich.console import Console
from rich.table import Table

from hydro_sim_core import World, load_scene
from hydro_sim_core.experiments.scenes import shipped_scenes
from hydro_sim_core.simulation import step as stages
from hydro_sim_core.simulation.collision import find_patches, load_patches, place_geometries
from hydro_sim_core.simulation.model import State
from hydro_sim_core.solvers.newton import solve

SCENE = "spatula_slip_welded"
INTERVAL = 0.5
DURATION = 6.0
REPEATS = 300

# A profile looks inside the step, so it needs the step's private stages.
_evaluate_dynamics = stages._evaluate_dynamics
_load_smooth_terms, _load_limits, _load_drives = (
    stages._load_smooth_terms,
    stages._load_limits,
    stages._load_drives,
)
_guess, _judge_guesses = stages._guess, stages._judge_guesses
_store_wrenches, _store_efforts = stages._store_wrenches, stages._store_efforts


@numba.njit
def _dynamics(model, state, drives, scratch, times):
    for _ in range(times):
        _evaluate_dynamics(model, state, scratch)


@numba.njit
def _geometry(model, state, drives, scratch, times):
    for _ in range(times):
        place_geometries(model, scratch)
        find_patches(model, state, scratch)


@numba.njit
def _load(model, state, drives, scratch, times):
    for _ in range(times):
        _load_smooth_terms(model, state, scratch)
        _load_limits(model, state, scratch)
        _load_drives(model, state, drives, scratch)
        load_patches(model, scratch)


@numba.njit
def _solve(model, state, drives, scratch, times):
    for _ in range(times):
        _guess(state, scratch)
        solve(scratch.problem, model.options, scratch.v_next, scratch.solver)


@numba.njit
def _store(model, state, drives, scratch, times):
    for _ in range(times):
        _judge_guesses(state, scratch)
        _store_wrenches(model, scratch)
        _store_efforts(model, scratch)


STAGES: dict[str, Callable[..., None]] = {
    "dynamics": _dynamics,
    "geometry": _geometry,
    "load": _load,
    "solve": _solve,
    "store": _store,
}


def profile_stages(world: World) -> dict[str, float]:
    """CPU time (s) of every stage of the next step, in the order of the step."""
    state = State(*(array.copy() for array in world._state))
    arguments = (world.built.model, state, world._drives.arrays, world._scratch)
    times = {}
    for name, stage in STAGES.items():
        calls = [_cpu_time(lambda n=n, f=stage: f(*arguments, n)) for n in (0, REPEATS)]
        times[name] = (calls[1] - calls[0]) / REPEATS
    return times


def _cpu_time(call: Callable[[], None]) -> float:
    began = time.thread_time()
    call()
    return time.thread_time() - began


def main() -> None:
    """Profile along the run, print the table, write the results."""
    output = output_argument(__doc__.splitlines()[0], "step_profile")
    world = load_scene(shipped_scenes()[SCENE])
    world.step()
    profile_stages(world)  # compiles
    world.reset()
    samples: list[dict[str, float]] = []
    batched, single = [], []
    steps = round(INTERVAL / world.time_step) // 2
    for _ in range(round(DURATION / INTERVAL)):
        batched.append(_cpu_time(lambda: world.step(steps)) / steps)
        single.append(_cpu_time(lambda: [world.step() for _ in range(steps)]) / steps)
        samples.append(profile_stages(world))
    rows = {f"{name} (stage)": float(np.mean([sample[name] for sample in samples])) for name in STAGES}
    rows["stages together"] = sum(rows.values())
    rows["whole step, many a call"] = float(np.mean(batched))
    rows["whole step, one a call"] = float(np.mean(single))
    rows["call from Python"] = rows["whole step, one a call"] - rows["whole step, many a call"]
    table = Table(title=f"{SCENE}, mean over {DURATION:g} s")
    table.add_column("part of a step")
    table.add_column("CPU time, µs", justify="right")
    table.add_column("share of the step", justify="right")
    for name, seconds in rows.items():
        table.add_row(name, f"{1e6 * seconds:.2f}", f"{seconds / rows['whole step, many a call']:.0%}")
    Console(width=110).print(table)
    write(output, {"scene": SCENE, "microseconds": {name: 1e6 * seconds for name, seconds in rows.items()}})


if __name__ == "__main__":
    main()
