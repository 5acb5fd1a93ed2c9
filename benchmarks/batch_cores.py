"""Cost of a world's step alone, in a batch on one thread, and on as many as there are cores, measured in turns.

Elapsed time depends on whoever else uses the machine; processor time hardly does.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

import hydro_sim_core as hs
from hydro_sim_core.simulation.batches import cpu

WORLDS, STEPS = 16, 200


def main(rounds: int) -> None:
    """Print medians over rounds of bursts of WORLDS times STEPS world-steps, each burst from the same states."""
    alone = hs.load_scene("cylinder_grasp")
    batch = hs.BatchWorld(alone, WORLDS, "cpu")
    alone.step(5)
    start = alone.save_state()
    cores = len(os.sched_getaffinity(0))

    def burst(threads: int) -> tuple[float, float]:
        for i in range(WORLDS):
            batch.load(i, start)
        alone.restore_state(start)
        cpu._cores = lambda: threads
        wall, used = time.perf_counter(), time.process_time()
        if threads:
            batch.step(STEPS)
        else:
            for _ in range(WORLDS):
                alone.step(STEPS)
        return time.perf_counter() - wall, time.process_time() - used

    kinds = {"alone": 0, "one thread": 1, f"{cores} threads": cores}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for k in range(rounds):
        for name in list(kinds)[:: 1 if k % 2 else -1]:
            times[name].append(burst(kinds[name]))
    found = {name: np.array(values) for name, values in times.items()}
    for name, values in found.items():
        wall, used = np.median(values, axis=0)
        shares = np.median(values / found["alone"], axis=0)
        print(
            f"{name}: {WORLDS * STEPS / used:.0f} world-steps a second of processor time, {WORLDS * STEPS / wall:.0f} "
            f"of elapsed time; {shares[1]:.2f} and {shares[0]:.2f} times as long as alone"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12, help="bursts of each kind")
    main(parser.parse_args().rounds)
