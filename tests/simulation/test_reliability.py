"""Random scenes, each step audited; the full series is ``benchmarks/reliability.py``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hydro_sim_core.experiments import reliability
from hydro_sim_core.experiments.random_scenes import KINDS, MODULI, TIME_STEPS, make_random_scene
from hydro_sim_core.experiments.reliability import Auditor, ReliabilityReport, run_scene, run_scenes


def test_random_scenes_keep_their_promises(full_run: bool) -> None:
    """Drops, piles and grasps, soft and stiff, light and heavy: momentum balances, no energy comes from nowhere."""
    steps = 12_000 if full_run else 4_800
    *_, report = run_scenes(seed=2, steps=steps)
    assert report.failures == []
    assert report.steps >= steps
    assert all(report.counts[kind] > 5 for kind in KINDS)
    assert report.counts["unconverged"] <= 0.001 * report.steps
    assert report.worst["energy_excess"][0].value < reliability.ENERGY_SLACK
    json.dumps(report.as_dict(), allow_nan=False)


def test_a_scene_can_be_run_again(tmp_path: Path) -> None:
    """From its seed and number alone, bit for bit."""
    first, second = (make_random_scene(3, 1, tmp_path).world for _ in range(2))
    for world in (first, second):
        world.step(100)
    assert (first.q == second.q).all()
    assert (first.v == second.v).all()


def test_scenes_are_soft_and_stiff_and_slow_and_fast(tmp_path: Path) -> None:
    """The draws reach into the last decade at both ends of their ranges."""
    worlds = [make_random_scene(4, number, tmp_path).world for number in range(18)]
    steps = [world.time_step for world in worlds]
    moduli = [
        collider.geometry.modulus
        for world in worlds
        for collider in world.built.colliders
        if not collider.geometry.is_rigid
    ]
    for drawn, (least, largest) in ((steps, TIME_STEPS), (moduli, MODULI)):
        assert least <= min(drawn) < 10.0 * least
        assert 0.1 * largest < max(drawn) <= largest


@pytest.mark.parametrize(
    ("falsify", "detail"),
    [
        (lambda v: v * 1.01, "more energy than the step may gain"),
        (lambda v: v * 0.99, "momentum does not balance, yet the step says it converged"),
    ],
)
def test_the_audit_sees_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, falsify, detail: str
) -> None:
    """A step that adds or takes a hundredth of the velocities is caught at once."""
    scene = make_random_scene(2, 0, tmp_path)
    world, report = scene.world, ReliabilityReport()
    step = world.step

    def false_step() -> None:
        step()
        world.set_state(world.q, falsify(world.v))

    monkeypatch.setattr(world, "step", false_step)
    run_scene(scene, 3, report)
    assert detail in {case.detail for case in report.failures}


def test_an_honest_step_passes_the_audit(tmp_path: Path) -> None:
    """Free fall balances to round-off."""
    world = make_random_scene(2, 0, tmp_path).world
    auditor = Auditor(world)
    auditor.before()
    world.step()
    audit = auditor.after()
    assert audit.momentum_error < 1e-12
    assert audit.energy_gain < 1e-12
    assert np.isfinite(audit.energy_excess)
