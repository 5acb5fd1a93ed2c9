"""Twelve rigid bodies that tumble into a bin: what a second of them takes, and how many steps are taken in pieces.

    python benchmarks/tumbling.py
    PYTHONPATH=CHECKOUT python benchmarks/tumbling.py --out /tmp/before.json

The motion is chaotic, so that two programs step other scenes after the first impacts: several starts are averaged.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from measure import output_argument, write
from rich.console import Console
from rich.progress import track
from rich.table import Table

import hydro_sim_core as hs

SHAPES: dict[str, dict[str, Any]] = {
    "box": {"size": (0.05, 0.06, 0.04)},
    "cylinder": {"radius": 0.025, "length": 0.06},
    "sphere": {"radius": 0.03},
}
#: Bodies, mass of each, kg, starts, and simulated time of each, s.
BODIES, MASS, STARTS, TIME = 12, 0.2, 5, 1.0


def bin_of(shape: str, start: int) -> hs.World:
    """Bodies above a bin, turned in all ways."""
    scene = hs.SceneBuilder("bin", contact={"compliance": "rigid", "friction": 0.4})
    scene.add_static("floor", "box", size=(0.4, 0.4, 0.02), xyz=(0.0, 0.0, -0.01))
    for i, (x, y) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
        size = (0.02, 0.4, 0.2) if x else (0.4, 0.02, 0.2)
        scene.add_static(f"wall{i}", "box", size=size, xyz=(0.15 * x, 0.15 * y, 0.1))
    random = np.random.default_rng(start)
    for i in range(BODIES):
        place = (0.09 * (i % 3 - 1), 0.1 * (i // 3 % 2 - 0.5), 0.06 + 0.1 * (i // 6))
        body = scene.add_body(f"body{i}", MASS, xyz=place, rpy=tuple(random.uniform(-3.0, 3.0, 3)))
        body.add_shape(shape, **SHAPES[shape])
    return hs.World(scene.build())


def measure(shape: str) -> dict[str, float]:
    """Processor time of a simulated second, s, and steps of it in pieces: means over the starts."""
    seconds = fast = 0.0
    for start in track(range(STARTS), shape):
        world = bin_of(shape, start)
        world.step(1)  # what is done once
        began = time.thread_time()
        world.step(round(TIME / world.time_step))
        seconds += time.thread_time() - began
        fast += world.diagnostics()["fast_steps"]
    return {"processor_s": seconds / STARTS / TIME, "steps_in_pieces": fast / STARTS}


def main() -> None:
    """Measure, print a table, write the numbers."""
    out = output_argument(__doc__ or "", "tumbling")
    results = {shape: measure(shape) for shape in SHAPES}
    table = Table(title=f"{BODIES} rigid bodies fall into a bin: {TIME:g} s, mean of {STARTS} starts")
    for column in ("shape", "processor time, s", "steps in pieces"):
        table.add_column(column, justify="left" if column == "shape" else "right")
    for shape, row in results.items():
        table.add_row(shape, f"{row['processor_s']:.2f}", f"{row['steps_in_pieces']:.0f}")
    Console().print(table)
    write(out, {"shapes": results})


if __name__ == "__main__":
    main()
