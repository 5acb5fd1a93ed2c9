"""Random scenes, each step audited; the full series is ``benchmarks/reliability.py``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hydro_sim_core.experiments import reliability
from hydro_sim_core.experiments.random_parts import USUAL, WIDE
from hydro_sim_core.experiments.random_scenes import make_random_scene
from hydro_sim_core.experiments.reliability import Auditor, ReliabilityReport, run_scene, run_scenes


def test_random_scenes_keep_their_promises(full_run: bool) -> None:
    """Drops, piles and grasps, soft and stiff, light and heavy: momentum balances, no energy comes from nowhere."""
    steps = 12_000 if full_run else 2_400
    *_, report = run_scenes(seed=2, steps=steps)
    assert report.failures == []
    assert report.steps >= steps
    assert all(report.counts[kind] > (5 if full_run else 0) for kind in USUAL.kinds)
    assert report.counts["unconverged"] <= 0.001 * report.steps
    assert report.worst["energy_excess"][0].value < reliability.ENERGY_SLACK
    json.dumps(report.as_dict(), allow_nan=False)


FREE = ("drop", "pile", "grasp")


@pytest.mark.parametrize("solver", WIDE.solvers)
def test_scenes_that_make_little_sense_keep_their_promises_too(
    tmp_path: Path, full_run: bool, solver: str
) -> None:
    """Arms, every solver, soft ground, 0.1 g to 10 t, 1 kPa to 100 GPa, steps up to 50 ms, 30 m/s and 200 rad/s."""
    ranges, report = replace(WIDE, solvers=(solver,)), ReliabilityReport()
    for number in range(60 if full_run else 5):
        # Of the other series one scene alone takes a minute.
        run_scene(make_random_scene(5 if full_run else 6, number, tmp_path, ranges), 60, report)
    assert report.failures == []
    assert "thrown by deep contact" not in report.counts
    assert report.counts["arm"] == 0.4 * report.scenes
    assert report.counts["unconverged"] <= (0.05 if solver == "tamsi" else 0.002) * report.steps


@pytest.mark.parametrize(
    ("seed", "number", "solver", "kinds", "steps"),
    [
        pytest.param(978, 58, "lagged", WIDE.kinds, 1, id="Coriolis forces that iterate away: 5e11 m/s"),
        pytest.param(978, 23, "lagged", WIDE.kinds, 2, id="a step without them that says it converged"),
        pytest.param(979, 398, "similar", FREE, 6, id="a body that the step itself sets spinning"),
        pytest.param(978, 164, "similar", FREE, 82, id="drives that press at rest, unconverged for ever"),
        pytest.param(978, 161, "tamsi", FREE, 62, id="Newton's last velocities: 33 km/s"),
        pytest.param(979, 526, "similar", FREE, 3, id="a fly that hits the ground: 1 km/s"),
    ],
)
def test_what_once_broke_a_promise_keeps_it(
    tmp_path: Path, seed: int, number: int, solver: str, kinds: tuple[str, ...], steps: int
) -> None:
    """Each of these scenes once did what its name says."""
    report = ReliabilityReport()
    run_scene(
        make_random_scene(seed, number, tmp_path, replace(WIDE, solvers=(solver,), kinds=kinds)),
        steps,
        report,
    )
    assert report.failures == []
    assert "thrown by deep contact" not in report.counts
    assert report.worst["energy_from_nothing"][0].value < 0.1
    if number == 164:
        assert report.counts["unconverged"] == 0


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
    for drawn, (least, largest) in ((steps, USUAL.time_steps), (moduli, USUAL.moduli)):
        assert least <= min(drawn) < 10.0 * least
        assert 0.1 * largest < max(drawn) <= largest


@pytest.mark.parametrize(
    ("falsify", "detail"),
    [
        (lambda v: v * 1.01, "more energy than the step may gain"),
        (lambda v: v * 1.5, "energy comes from nothing"),
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
