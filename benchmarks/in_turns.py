"""Steps of two checkouts of this repository, in turns: the way to compare a change with the commit before it.

    git worktree add --detach /tmp/before HEAD~1
    python benchmarks/in_turns.py /tmp/before

A shared machine may change its speed by a factor of two within minutes, so that two programs run one after the other
compare nothing. Here both stay alive and take short bursts of steps in turns; what counts is the median of the ratios
of bursts that follow each other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from measure import make_parser, write
from rich.console import Console
from rich.progress import track
from rich.table import Table

#: Shipped scenes, and grasps of a cylinder by their number of contact faces; steps in a burst.
SCENES: dict[str | int, int] = {
    200: 100,
    1190: 30,
    2000: 20,
    "cylinder_grasp": 60,
    "spatula_slip": 60,
    "drop_box": 100,
    "peppers": 4,
    "mug_on_plate": 60,
}
#: Steps before the first burst.
SETTLE = 100
BURSTS = 60


def serve() -> None:
    """Take a burst of steps of every scene for every line of standard input; answer with processor time a step, s."""
    import hydro_sim_core as hs
    from hydro_sim_core.experiments.cylinder_grasp import grasp_scene

    worlds = [
        hs.World(grasp_scene(scene)) if isinstance(scene, int) else hs.load_scene(scene) for scene in SCENES
    ]
    for world in worlds:
        world.step(SETTLE)
    print("ready", flush=True)
    for _ in sys.stdin:
        times = []
        for world, steps in zip(worlds, SCENES.values(), strict=True):
            began = time.thread_time()
            world.step(steps)
            times.append((time.thread_time() - began) / steps)
        print(*times, flush=True)


class Checkout:
    """A process that steps the scenes with the engine of a checkout."""

    def __init__(self, path: Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(path), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        if self._answer() != "ready":
            raise SystemExit(f"{path}: its process did not get ready")

    def burst(self) -> list[float]:
        """Processor time a step of every scene, s."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return [float(word) for word in self._answer().split()]

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def main() -> None:
    """Compare, print a table, write the numbers."""
    parser = make_parser(__doc__ or "", "in_turns")
    parser.add_argument("before", type=Path, help="root of the checkout to compare with")
    parser.add_argument("--now", type=Path, default=Path(__file__).parents[1], help="root of the other one")
    arguments = parser.parse_args()
    before, now = Checkout(arguments.before), Checkout(arguments.now)
    bursts = [(before.burst(), now.burst()) for _ in track(range(BURSTS), "bursts")]
    times = np.array(bursts)
    medians, ratios = np.median(times, axis=0), times[:, 1] / times[:, 0]
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75], axis=0)
    table = Table(title=f"Processor time of a step, {BURSTS} bursts in turns")
    for column in ("scene", "before, us", "now, us", "ratio", "middle half"):
        table.add_column(column, justify="left" if column == "scene" else "right")
    rows = {}
    for k, scene in enumerate(SCENES):
        name = f"grasp, {scene} faces" if isinstance(scene, int) else scene
        rows[name] = {
            "before_s": float(medians[0, k]),
            "now_s": float(medians[1, k]),
            "ratio": float(middle[k]),
            "middle_half": [float(low[k]), float(high[k])],
        }
        table.add_row(
            name,
            *(f"{1e6 * seconds:.1f}" for seconds in medians[:, k]),
            f"{middle[k]:.3f}",
            f"{low[k]:.3f} to {high[k]:.3f}",
        )
    Console(width=100).print(table)
    write(arguments.out, {"bursts": BURSTS, "scenes": rows})


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        main()
