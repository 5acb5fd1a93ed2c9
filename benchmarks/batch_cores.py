"""Cost of a world's step alone, in a batch on one thread, and on as many as there are cores, measured in turns.

Elapsed time depends on whoever else uses the machine; processor time hardly does.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import hydro_sim_core as hs
from hydro_sim_core.simulation.batches import cpu, turns
from hydro_sim_core.threads import cores


def main(scene: str, worlds: int, steps: int, rounds: int) -> None:
    """Print medians over rounds of bursts of world-steps, each burst from the same states.

    Args:
        scene: Name or file of the scene.
        worlds: Number of worlds.
        steps: Steps of a call.
        rounds: Bursts of each kind.
    """
    alone = hs.load_scene(scene)
    batch = hs.BatchWorld(alone, worlds, "cpu")
    alone.step(5)
    start = alone.save_state()
    present = cores()
    calls = max(1, 200 // steps)

    def burst(threads: int) -> tuple[float, float]:
        for i in range(worlds):
            batch.load(i, start)
        cpu.threads_of_a_batch = turns.threads_of_a_batch = lambda: threads
        wall, used = time.perf_counter(), time.process_time()
        if threads:
            for _ in range(calls):
                batch.step(steps)
        else:
            for _ in range(worlds):
                alone.restore_state(start)
                for _ in range(calls):
                    alone.step(steps)
        return time.perf_counter() - wall, time.process_time() - used

    kinds = {"alone": 0, "one thread": 1, f"{present} threads": present}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for k in range(rounds):
        for name in list(kinds)[:: 1 if k % 2 else -1]:
            times[name].append(burst(kinds[name]))
    found = {name: np.array(values) for name, values in times.items()}
    for name, values in found.items():
        wall, used = np.median(values, axis=0) / (worlds * calls * steps)
        shares = np.median(values / found["alone"], axis=0)
        print(
            f"{name}: {1 / used:.0f} world-steps a second of processor time, {1 / wall:.0f} of elapsed time; "
            f"{shares[1]:.2f} and {shares[0]:.2f} times as long as alone"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scene", default="cylinder_grasp", help="name or file of the scene")
    parser.add_argument("--worlds", type=int, default=16, help="worlds of the batch")
    parser.add_argument("--steps", type=int, default=200, help="steps of a call")
    parser.add_argument("--rounds", type=int, default=12, help="bursts of each kind")
    given = parser.parse_args()
    main(given.scene, given.worlds, given.steps, given.rounds)
