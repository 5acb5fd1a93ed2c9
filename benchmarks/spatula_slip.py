"""A whole step of the welded spatula scene, ours against Drake's, 6 s at 1 kHz.

Every simulator runs the same scene file, in turns of 0.5 s each so that all see the same load of the machine. Two
ways to step: one call a step, and one call for the whole turn. CPU time of the one thread that steps.
"""

from __future__ import annotations

import math

import numpy as np
from contest import (
    ONE_CALL_A_STEP,
    ONE_CALL_A_TURN,
    as_rows,
    compete,
    contest_table,
    drake,
    ours,
    share_of_best,
)
from drake_scene import METHODS
from measure import output_argument, write
from rich.console import Console

from hydro_sim_core.experiments.published_scenes import published_scene

SCENE = "spatula_slip_welded"
TURN = 0.5
DURATION = 6.0


def main() -> None:
    """Run all contestants, print the table, write the results."""
    output = output_argument(__doc__.splitlines()[0], "spatula_slip")
    scene = published_scene(SCENE)
    ways = (ONE_CALL_A_TURN, ONE_CALL_A_STEP)
    contestants = [ours(scene, way) for way in ways]
    contestants += [drake(scene, method, way) for method in METHODS for way in ways]
    results = compete(contestants, scene.spec.time_step, TURN, 0.0, DURATION, "spatula", roll_of)
    Console(width=120).print(contest_table(results, f"{SCENE}, {DURATION:g} s", "final roll"))
    shares = {method: share_of_best(results, f"Drake {method}") for method in METHODS}
    data = {"scene": SCENE, "time_step": scene.spec.time_step, "shares": shares, "rows": as_rows(results)}
    write(output, data)


def roll_of(X_WB: np.ndarray) -> float:
    """First of roll, pitch and yaw, rad, of a pose (4, 4)."""
    return math.atan2(X_WB[2, 1], X_WB[2, 2])


if __name__ == "__main__":
    main()
