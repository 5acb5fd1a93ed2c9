"""The same scene gives the same bits: from one process to the next, and whatever the number of threads."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

from support.simulation.made_scenes import GROUND, box, free, make_scene, sphere

RUN = """
import hashlib, pickle, sys
import hydro_sim_core as hs
for path, steps in zip(sys.argv[1::2], sys.argv[2::2]):
    with open(path, "rb") as file:
        world = hs.World(pickle.load(file))
    digest = hashlib.sha256()
    for _ in range(int(steps)):
        world.step()
        digest.update(world.q.tobytes() + world.v.tobytes())
    print(world.contact_summary().significant != (), digest.hexdigest())
"""
STEPS = {"lagged": 400, "continuous": 40}


def trajectories(scenes: list[Path], threads: str) -> list[str]:
    """Of each scene, whether bodies touch at the end, and a digest of every state on the way there."""
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, threads)}
    arguments = [text for scene in scenes for text in (str(scene), str(STEPS[scene.stem]))]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


def test_threads_do_not_change_a_bit(tmp_path: Path) -> None:
    """A ball falls on a box that stands on the ground: three patches, two islands that become one."""
    scenes = []
    for model in STEPS:
        scene = make_scene(
            free(box("brick", (0.2, 0.15, 0.08), 0.5, modulus=1e6), (0, 0, 0.04), (0.0, 0.0, 0.3)),
            free(sphere("ball", 0.05, 0.2, modulus=1e6), (0.03, 0.02, 0.1304)),
            environment=[GROUND],
            solver={"model": model},
        )
        scenes.append(tmp_path / f"{model}.pickle")
        scenes[-1].write_bytes(pickle.dumps(scene))
    alone, threaded = (trajectories(scenes, threads) for threads in ("1", "2"))
    assert len(alone) == len(STEPS)
    assert all(line.startswith("True") for line in alone)
    assert alone == threaded
