"""How evenly steps cost: 10 000 steps with contact changes of three scenes, and memory over a million steps.

Runs repeat bit by bit, so each is run several times: the least time of a step over the runs is its own cost, and what a
single run adds to it comes from other programs on the machine. One call a step, as a user's loop makes; CPU time of the
stepping thread and wall clock.
"""

from __future__ import annotations

import os
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
from measure import make_parser, write
from rich.console import Console
from rich.table import Table

from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.description import LoadedScene, SceneBuilder, load_scene
from hydro_sim_core.experiments.cylinder_grasp import grasp_scene
from hydro_sim_core.experiments.published_scenes import published_scene
from hydro_sim_core.simulation import World

STEPS = 10_000
RUNS = 3
WARM_UP = 100
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}
RATIO_WANTED = 3.0

MEMORY_SCENE = "drop_box"
MEMORY_STEPS = 1_000_000
MEMORY_SAMPLES = 20
MEMORY_WARM_UP = 10_000

_URDF = Path(__file__).parents[1] / "urdf"


def main() -> None:
    """Measure step times and memory, print tables, write the results."""
    parser = make_parser(__doc__.splitlines()[0], "step_cost")
    parser.add_argument(
        "--memory-steps", type=int, default=MEMORY_STEPS, help="steps over which memory is watched"
    )
    arguments = parser.parse_args()
    scenes = {
        "spatula slip": published_scene("spatula_slip_welded"),
        "dropped heap": heap_scene(),
        "grasp, turning wrist": turning_grasp(),
    }
    costs = {name: measure(scene) for name, scene in scenes.items()}
    Console(width=130).print(_table(costs))
    memory = watch_memory(arguments.memory_steps)
    grown = memory["rss_bytes"][-1] - memory["rss_bytes"][0]
    traced = memory["traced_bytes"][-1] - memory["traced_bytes"][0]
    print(
        f"{arguments.memory_steps:.0e} steps of {MEMORY_SCENE}: resident memory grew by {grown} bytes, "
        f"traced Python memory by {traced}"
    )
    write(arguments.out, {"steps": STEPS, "runs": RUNS, "scenes": costs, "memory": memory})


def heap_scene() -> LoadedScene:
    """Four boxes and four cylinders that fall on one another."""
    scene = SceneBuilder("heap")
    scene.add_ground()
    for i in range(8):
        kind = "box" if i % 2 else "cylinder"
        angle = 0.9 * i
        scene.add_urdf(
            _URDF / f"{kind}.urdf.xacro",
            f"{kind}_{i}",
            prefix=f"{i}_",
            xacro_args={"x": 0.08, "y": 0.06, "z": 0.05} if i % 2 else {"radius": 0.03, "length": 0.08},
            base="floating",
            xyz=(0.03 * float(np.cos(angle)), 0.03 * float(np.sin(angle)), 0.1 + 0.12 * i),
            rpy=(0.3 + angle, 0.5, angle),
        )
    return scene.build()


def turning_grasp() -> LoadedScene:
    """The grasp of a cylinder with about 440 faces whose wrist turns to and fro."""
    grasp = grasp_scene(440)
    scene = SceneBuilder.of(grasp.spec, grasp.robots, grasp.source)
    scene.add_command({"sine": {"amplitude": 0.5, "period": 1.0}}, joint="joint_7", mode="position")
    return scene.build()


def measure(scene: LoadedScene) -> dict[str, Any]:
    """Percentiles of the step time (µs) over the first run and over each step's least time, and counts of contacts."""
    world = World(scene)
    world.step(WARM_UP)  # compiles
    cpu, wall = np.empty((RUNS, STEPS)), np.empty((RUNS, STEPS))
    faces, iterations = np.empty(STEPS), np.empty(STEPS)
    for run in range(RUNS):
        world.reset()
        for step in range(STEPS):
            began, began_wall = time.thread_time_ns(), time.perf_counter_ns()
            world.step()
            wall[run, step] = time.perf_counter_ns() - began_wall
            cpu[run, step] = time.thread_time_ns() - began
            if run == 0:
                report = world.diagnostics()
                faces[step], iterations[step] = report["faces"], report["iterations"]
    return {
        "first run, wall clock": _percentiles(wall[0]),
        "first run, CPU": _percentiles(cpu[0]),
        "own cost, CPU": _percentiles(cpu.min(axis=0)),
        "own cost, CPU, by iterations": {
            int(n): float(np.median(cpu.min(axis=0)[iterations == n])) / 1e3 for n in np.unique(iterations)
        },
        "faces": [float(faces.min()), float(np.median(faces)), float(faces.max())],
        "iterations": [float(np.median(iterations)), float(iterations.max())],
        "steps_with_other_faces": int(np.count_nonzero(np.diff(faces))),
        "diagnostics": world.diagnostics(),
    }


def _percentiles(nanoseconds: np.ndarray) -> dict[str, float]:
    microseconds = {name: float(np.percentile(nanoseconds, p)) / 1e3 for name, p in PERCENTILES.items()}
    return microseconds | {"p99/p50": microseconds["p99"] / microseconds["p50"]}


def _table(costs: dict[str, dict[str, Any]]) -> Table:
    table = Table(
        title=f"time of a step over {STEPS} steps, µs",
        caption=f"own cost: least of {RUNS} identical runs; p99/p50 wanted at most {RATIO_WANTED:g}",
    )
    for heading in ("scene", "time"):
        table.add_column(heading)
    for heading in (*PERCENTILES, "p99/p50", "faces", "faces changed in", "most iterations"):
        table.add_column(heading, justify="right")
    for name, cost in costs.items():
        counts = (
            "{:.0f} to {:.0f}".format(cost["faces"][0], cost["faces"][2]),
            f"{cost['steps_with_other_faces']} steps",
            f"{cost['iterations'][1]:.0f}",
        )
        for kind in ("first run, wall clock", "first run, CPU", "own cost, CPU"):
            times = cost[kind]
            cells = [f"{times[column]:.0f}" for column in PERCENTILES]
            table.add_row(name, kind, *cells, f"{times['p99/p50']:.2f}", *counts)
            name, counts = "", ("", "", "")
    return table


def watch_memory(steps: int) -> dict[str, list[int]]:
    """Resident and traced memory, bytes, along many steps after a warm-up."""
    world = World(load_scene(shipped_scenes()[MEMORY_SCENE]))
    chunk = steps // MEMORY_SAMPLES
    samples = np.zeros((MEMORY_SAMPLES + 1, 3), dtype=np.int64)
    tracemalloc.start()
    _step_both_ways(world, MEMORY_WARM_UP)
    for i in range(MEMORY_SAMPLES + 1):
        if i:
            _step_both_ways(world, chunk)
        # Python's cache of attributes keeps up to 4096 names that a call looks up.
        sys._clear_type_cache()
        samples[i] = i * chunk, resident_bytes(), tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    names = ("steps", "rss_bytes", "traced_bytes")
    return {name: column.tolist() for name, column in zip(names, samples.T, strict=True)}


def _step_both_ways(world: World, steps: int) -> None:
    """Half of the steps in one call, half in a call each."""
    world.step(steps - steps // 2)
    for _ in range(steps // 2):
        world.step()


def resident_bytes() -> int:
    """Memory of this process that is in RAM."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
