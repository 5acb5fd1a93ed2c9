"""``solver: {parity: drake}``: single steps from random states are Drake's, in three scenes, with three laws."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.experiments.drake_parity import APPROXIMATIONS, SCENES, OurStep, drake_step, random_start

#: Relative momentum residual at which Drake ends a solve.
DRAKES_TOLERANCE = 1e-6
#: Momenta of other islands let the residual of one be above that.
BESIDE_OTHERS = 1.5
STARTS = 30
#: Median difference of velocities as a share of their largest change: what Drake leaves of its residual.
USUAL = 1e-7
#: Difference as a share of the largest velocity: that of most starts, how many those are at least, and of all.
EQUAL, EQUAL_STARTS, FARTHEST = 1e-6, 25, 1e-5
#: How many starts of all scenes, laws and steps are equal at least.
EQUAL_IN_ALL = 500
TIME_STEPS = 1e-3, 1e-2
ROOT = Path(__file__).parents[2]


@cache
def compare(
    scene: str, law: str, time_step: float, **solver: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences of velocities as shares of their change and of the largest velocity, and residuals of Drake's in our
    equations, of all starts."""
    ours, drake = OurStep(scene, law, time_step, **solver), drake_step(scene, law, time_step)
    rng = np.random.default_rng(list(scene.encode()))
    of_change, of_speed, residuals = [], [], []
    for _ in range(STARTS):
        start = random_start(scene, rng)
        v, expected = ours(start), drake(start)
        apart = np.abs(v - expected).max()
        of_change.append(apart / np.abs(expected - ours.before(start)).max())
        of_speed.append(apart / np.abs(expected).max())
        residuals.append(ours.residual(expected))
    return np.array(of_change), np.array(of_speed), np.array(residuals)


@pytest.mark.parametrize("time_step", TIME_STEPS)
@pytest.mark.parametrize("law", APPROXIMATIONS)
@pytest.mark.parametrize("scene", SCENES)
def test_a_step_is_that_of_drake(scene, law, time_step):
    """Drake's velocities solve our equations as well as it solves its own, and are nearly always the same."""
    of_change, of_speed, residuals = compare(scene, law, time_step, parity="drake")
    assert residuals.max() <= BESIDE_OTHERS * DRAKES_TOLERANCE
    assert np.median(of_change) <= USUAL
    assert (of_speed <= EQUAL).sum() >= EQUAL_STARTS
    assert of_speed.max() <= FARTHEST


def test_five_hundred_steps_are_those_of_drake():
    """The least of the cases above would allow 450."""
    cases = [(scene, law, dt) for scene in SCENES for law in APPROXIMATIONS for dt in TIME_STEPS]
    equal = [np.count_nonzero(compare(*case, parity="drake")[1] <= EQUAL) for case in cases]
    assert sum(equal) >= EQUAL_IN_ALL


def test_the_page_on_solvers_quotes_the_record():
    """Written by ``benchmarks/drake_parity.py``."""
    record = json.loads((ROOT / "benchmarks" / "results" / "drake_parity.json").read_text())["single_steps"]
    text = " ".join((ROOT / "docs" / "solvers.md").read_text().split())
    quoted = re.search(
        r"agree to (\S+) to (\S+) of their change in the middle, and to 1e-6 of the fastest in (\d+) of the (\d+), "
        r"to (\S+) in all",
        text,
    )
    assert quoted
    low, high = (f"{value:.0e}".replace("e-0", "e-") for value in record["medians_of_change"])
    farthest = f"{record['farthest']:.0e}".replace("e-0", "e-")
    assert quoted.groups() == (low, high, str(record["equal"]), str(record["states"]), farthest)
    assert record["equal"] >= EQUAL_IN_ALL


@pytest.mark.parametrize("law", APPROXIMATIONS)
def test_without_parity_it_is_another(law):
    """What the test above could not find if it compared nothing."""
    of_change, of_speed, residuals = compare("two boxes on a box", law, 1e-2)
    assert np.median(residuals) > 100.0 * DRAKES_TOLERANCE
    assert np.median(of_change) > 1e4 * USUAL
    assert (of_speed <= EQUAL).sum() < EQUAL_STARTS


def test_a_box_with_its_mass_off_centre_tilts_as_in_drake():
    """Faces that press at their centroids: half as far again as the linear pressure of the flat would let it."""
    size, mass, off, modulus = np.array([0.2, 0.15, 0.08]), 2.4, 0.01, 1e6
    scene = hs.SceneBuilder(
        "tilt", time_step=1e-3, contact={"modulus": modulus, "margin": 0.0}, solver={"parity": "drake"}
    )
    scene.add_ground()
    box = scene.add_body(
        "box", xyz=(0, 0, 0.03997), mass=mass, center_of_mass=(0, off, 0), inertia=(6e-3, 9e-3, 1e-2)
    )
    box.add_shape("box", size=size)
    world = hs.World(scene.build())
    world.step(3000)
    # Read from Drake 1.51 in the same scene, with all of its approximations. The box still rocks by a thousandth.
    assert -world.frame_pose("box")[2, 1] == pytest.approx(2.5193e-4, rel=2e-3)


@pytest.mark.parametrize(
    ("solver", "problem"),
    [
        ({"integrator": "fixed"}, "integrator fixed beside parity drake"),
        ({"accuracy": 1e-6}, "accuracy does nothing with parity drake"),
        ({"friction": "elliptic"}, "parity drake has no friction elliptic"),
        ({"model": "tamsi"}, "method tamsi beside parity drake"),
        ({"relag": False}, "relag does nothing with parity drake"),
    ],
)
def test_what_drake_has_not_is_refused(solver, problem):
    with pytest.raises(hs.InputError, match=problem):
        hs.SceneBuilder("parity", solver={"parity": "drake", **solver}).build()
