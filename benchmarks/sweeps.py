"""Projected Gauss-Seidel beside Newton on the same problems: how long they take, and how far apart they end.

python benchmarks/sweeps.py
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import hydro_sim_core as hs

STEPS = 200
TRIALS = 5


def landing_box(solver: dict[str, Any]) -> hs.World:
    """A soft box that is about to land on an edge."""
    scene = hs.SceneBuilder("landing box", solver=solver)
    scene.add_ground()
    box = scene.add_body("box", mass=0.5, xyz=(0.0, 0.0, 0.0499), rpy=(0.05, 0.02, 0.0))
    box.add_shape("box", size=(0.2, 0.1, 0.1), modulus=1e6, friction=0.5)
    return hs.World(scene.build())


def run(solver: dict[str, Any]) -> tuple[np.ndarray, float, float, int]:
    """Coordinates at the end, CPU time of all steps (s, least of some), mean iterations, unconverged steps."""
    times = []
    for _ in range(TRIALS):
        world, iterations = landing_box(solver), []
        world.step()
        begun = time.thread_time()
        world.step(STEPS)
        times.append(time.thread_time() - begun)
        world = landing_box(solver)
        for _ in range(STEPS):
            world.step()
            iterations.append(world.diagnostics()["iterations"])
    unconverged = int(world.diagnostics()["unconverged_steps"])
    return world.q, min(times), float(np.mean(iterations)), unconverged


def main() -> None:
    """Print a table in Markdown."""
    truth, base, newton_iterations, _ = run({"friction": "sap"})
    print(
        "| method | tolerance | iterations a step | time, ratio to Newton | apart at the end | unconverged |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    print(f"| newton | 1e-8 | {newton_iterations:.1f} | 1 | | 0 |")
    for tolerance in (1e-4, 1e-6, 1e-8):
        solver = {"method": "pgs", "tolerance": tolerance, "max_iterations": 10_000}
        q, taken, iterations, unconverged = run(solver)
        apart = np.abs(q - truth).max()
        print(
            f"| pgs | {tolerance:g} | {iterations:.0f} | {taken / base:.0f} | {apart:.1g} (m, or of a quaternion) "
            f"| {unconverged} |"
        )


if __name__ == "__main__":
    main()
