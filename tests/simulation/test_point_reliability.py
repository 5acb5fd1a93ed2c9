"""Random pushes, drops and tips at equivalent points; the full series is ``benchmarks/point_reliability.py``."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.experiments import point_reliability
from hydro_sim_core.experiments.point_reliability import run_scene, run_scenes
from hydro_sim_core.experiments.reliability import ReliabilityReport


def test_every_random_step_keeps_its_promises() -> None:
    """Of a series of five; ``make farms`` takes a hundred thousand steps."""
    *_, report = run_scenes(seed=4, steps=1_250)
    assert report.failures == []
    assert report.steps == 1_250
    assert all(report.counts[kind] > 0 for kind in point_reliability.KINDS)
    assert 0.0 < report.worst["imbalance of momentum"][0].value < point_reliability.MOMENTUM_BOUND
    json.dumps(report.as_dict(), allow_nan=False)


#: Capsules and boxes that roll on an edge, whose e_r was that of a line and of a point in turn; a cylinder whose solve
#: ended early; a box at the edge of the table, which turned into it while it was kept off along an axis of before;
#: boxes whose edges kept them apart along one axis and another in turn; one that barely touches along both, with a
#: friction that velocities do not tell to the last digit.
@pytest.mark.parametrize(
    ("seed", "number", "steps"),
    [
        (1, 42, 250),
        (1, 40, 250),
        (1, 56, 250),
        (7, 49, 17),
        (1, 44, 50),
        (1, 264, 110),
        (1, 104, 200),
        (1, 389, 140),
    ],
)
def test_scenes_that_broke_their_promises_keep_them(seed: int, number: int, steps: int) -> None:
    report = ReliabilityReport()
    run_scene(seed, number, report, steps)
    assert report.failures == []


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda world: world.place("body0", _sunk(world)), "depth in the ground"),
        (lambda world: world.apply_wrench("body0", [0, 0, 0, 1, 0, 0]), "imbalance of momentum"),
    ],
)
def test_a_step_that_breaks_a_promise_is_told(monkeypatch: pytest.MonkeyPatch, spoil, told: str) -> None:
    step = hs.World.step

    def spoilt(world: hs.World, n: int = 1) -> None:
        if told == "depth in the ground":
            step(world, n)
            spoil(world)
        else:
            spoil(world)
            step(world, n)

    monkeypatch.setattr(hs.World, "step", spoilt)
    report = ReliabilityReport()
    run_scene(3, 0, report)
    assert told in {case.detail for case in report.failures}


def _sunk(world: hs.World) -> np.ndarray:
    X_WB = world.frame_pose("body0")
    X_WB[2, 3] = -1e-3
    return X_WB
