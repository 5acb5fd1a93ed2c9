"""Steps of many bodies that several threads share, beside those of one thread: in a heap, and side by side.

Both are stepped in turns from the same state, and must end in the same bits.

    python benchmarks/heap.py --threads 2 4 8
"""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

import numpy as np
from measure import make_parser, write
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import hydro_sim_core as hs
from hydro_sim_core.simulation.stepping.machine import threads_allowed
from hydro_sim_core.threads import VARIABLES

#: Of every body, kg.
MASS = 0.1
#: Contact of all of them, and of the table and the walls.
CONTACT = {"friction": 0.4, "dissipation": 20.0, "resolution_hint": 0.01}
#: Of all but the table, Pa.
MODULUS = 1e6
#: Bodies, bursts of steps that are timed, and steps of each.
BODIES, BURSTS, STEPS = 100, 12, 10
#: When each scene is looked at, s: a heap while it falls and when it has come to rest.
MOMENTS = {"heap, falling": 0.4, "heap, at rest": 1.6, "side by side": 0.1}


class Part(NamedTuple):
    """A wall of the crate, or a body in it: its shape, where it begins, m, and its roll, pitch and yaw, rad."""

    shape: dict[str, Any]
    xyz: tuple[float, float, float]
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)


def parts(bodies: int = BODIES) -> tuple[list[Part], list[Part]]:
    """Walls of a crate, and boxes, balls and cylinders above it."""
    across = round(4 * (bodies / BODIES) ** (1 / 3))  # bodies in a row
    half, height, long = 0.055 * across, 0.1 * across, 0.11 * across
    walls = [
        Part({"kind": "box", "size": (dx, dy, height)}, (half * x, half * y, 0.5 * height))
        for x, y, dx, dy in ((-1, 0, 0.02, long), (1, 0, 0.02, long), (0, -1, long, 0.02), (0, 1, long, 0.02))
    ]
    shapes: tuple[dict[str, Any], ...] = (
        {"kind": "box", "size": (0.05, 0.05, 0.05)},
        {"kind": "sphere", "radius": 0.03},
        {"kind": "cylinder", "radius": 0.025, "length": 0.05},
    )
    rng = np.random.default_rng(0)
    corner = 0.045 * (across - 1)
    falling = []
    for i in range(bodies):
        layer, rest = divmod(i, across**2)
        row, column = divmod(rest, across)
        roll, pitch, yaw = rng.uniform(-1.0, 1.0, 3)
        dx, dy = rng.uniform(-0.005, 0.005, 2)
        xyz = (0.09 * row - corner + dx, 0.09 * column - corner + dy, 0.05 + 0.085 * layer)
        falling.append(Part(shapes[i % 3], xyz, (roll, pitch, yaw)))
    return walls, falling


def heap(bodies: int = BODIES, modulus: float = MODULUS) -> hs.World:
    """Boxes, balls and cylinders that fall into a crate, steps of 2 ms."""
    scene = _scene("heap", 2e-3, modulus)
    walls, falling = parts(bodies)
    for i, wall in enumerate(walls):
        scene.add_static(f"wall{i}", **wall.shape, xyz=wall.xyz)
    for i, body in enumerate(falling):
        scene.add_body(f"body{i}", mass=MASS, xyz=body.xyz, rpy=body.rpy).add_shape(**body.shape)
    return hs.World(scene.build())


def side_by_side() -> hs.World:
    """Cylinders that slide on the ground, apart from each other, steps of 1 ms."""
    scene = _scene("side by side", 1e-3)
    for i in range(BODIES):
        body = scene.add_body(f"body{i}", mass=0.1, xyz=(0.12 * (i % 10), 0.12 * (i // 10), 0.031))
        body.add_shape("cylinder", radius=0.03, length=0.06, resolution_hint=0.006)
    world = hs.World(scene.build())
    world.set_state(world.q, 0.3 * np.random.default_rng(1).normal(size=len(world.v)))
    return world


def _scene(name: str, time_step: float, modulus: float = MODULUS) -> hs.SceneBuilder:
    scene = hs.SceneBuilder(name, time_step=time_step, contact={**CONTACT, "modulus": modulus})
    scene.add_static("table", "box", size=(3.0, 3.0, 0.1), xyz=(0.0, 0.0, -0.05), compliance="rigid")
    return scene


def measured(world: hs.World, threads: int) -> dict[str, float]:
    """Median times of a step with one thread and with several, in turns, and of the ratios of bursts."""
    alone, helped = world.copy(), world.copy()
    alone.machine.is_helped = False
    os.environ[VARIABLES[0]] = str(threads)
    helped.step(2)  # helpers come, and memory is made
    alone.step(2)
    took: dict[str, list[float]] = {"alone": [], "helped": [], "processors": []}
    for _ in range(BURSTS):
        for name, one in (("alone", alone), ("helped", helped)):
            began, used = time.perf_counter(), time.process_time()
            one.step(STEPS)
            seconds = time.perf_counter() - began
            took[name].append(seconds / STEPS)
            if name == "helped":
                took["processors"].append((time.process_time() - used) / seconds)
    if not (np.array_equal(alone.q, helped.q) and np.array_equal(alone.v, helped.v)):
        raise SystemExit("the states differ")
    ratios = np.divide(took["alone"], took["helped"])
    told = {name: float(np.median(values)) for name, values in took.items()}
    return told | {"times_as_fast": float(np.median(ratios)), "faces": alone.diagnostics()["faces"]}


def main() -> None:
    """Measure, print the table, write the results."""
    parser = make_parser(__doc__.splitlines()[0], "heap")
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[threads_allowed()], help="numbers of threads"
    )
    arguments = parser.parse_args()
    table = Table(title=f"{BODIES} bodies, medians of {BURSTS} bursts of {STEPS} steps")
    for name in (
        "scene",
        "faces",
        "threads",
        "alone, ms",
        "shared, ms",
        "times as fast",
        "processors in use",
    ):
        table.add_column(name, justify="left" if name == "scene" else "right")
    results = []
    with Progress(transient=True) as progress:
        task = progress.add_task("scenes", total=len(MOMENTS))
        for name, moment in MOMENTS.items():
            world = side_by_side() if name == "side by side" else heap()
            world.step(round(moment / world.time_step))
            for threads in arguments.threads:
                row = measured(world, threads)
                results.append({"scene": name, "threads": threads, **row})
                times = (f"{1e3 * row[key]:.1f}" for key in ("alone", "helped"))
                shares = (f"{row[key]:.2f}" for key in ("times_as_fast", "processors"))
                table.add_row(name, f"{row['faces']:.0f}", str(threads), *times, *shares)
            progress.advance(task)
    Console(width=110).print(table)
    write(arguments.out, {"rows": results})


if __name__ == "__main__":
    main()
