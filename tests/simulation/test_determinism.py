"""The same scene gives the same bits: from one process to the next, and whatever the number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_scenes import GROUND, box, free, sphere, write_scene

RUN = """
import hashlib, sys
import hydro_sim_core as hs
world = hs.load_scene(sys.argv[1])
digest = hashlib.sha256()
for _ in range(int(sys.argv[2])):
    world.step()
    digest.update(world.q.tobytes() + world.v.tobytes())
print(world.contact_summary().significant != (), digest.hexdigest())
"""


def trajectory(scene: Path, steps: int, threads: str) -> str:
    """Whether bodies touch at the end, and a digest of every state on the way there."""
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, threads)}
    command = [sys.executable, "-c", RUN, str(scene), str(steps)]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(("model", "steps"), [("lagged", 400), ("continuous", 40)])
def test_threads_do_not_change_a_bit(tmp_path: Path, model: str, steps: int) -> None:
    """A ball falls on a box that stands on the ground: three patches, two islands that become one."""
    scene = write_scene(
        tmp_path,
        free(box("brick", (0.2, 0.15, 0.08), 0.5, modulus=1e6), (0, 0, 0.04), (0.0, 0.0, 0.3)),
        free(sphere("ball", 0.05, 0.2, modulus=1e6), (0.03, 0.02, 0.1304)),
        environment=[GROUND],
        solver={"model": model},
    )
    alone, threaded = (trajectory(scene, steps, threads) for threads in ("1", "2"))
    assert alone.startswith("True")
    assert alone == threaded
