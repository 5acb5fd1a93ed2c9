"""``hydro-sim optimize``: what it finds works, and what it refuses."""

from __future__ import annotations

import json
import sys
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from hydro_sim_core.cli import app, optimize
from hydro_sim_core.experiments.planar_push.bodies import OurPushing, miss
from hydro_sim_core.experiments.planar_push.paths import Path
from hydro_sim_core.optimisation.grasp import HELD, SHARE, SmoothGrasp
from hydro_sim_core.optimisation.grasp_bodies import TIME_STEP, Lift, RealGrasp
from hydro_sim_core.optimisation.push import DURATION, GOALS, REST, Effort, PushResult

needs_jax = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("jax") is None,
    reason="JAX is not installed: it needs NumPy 2",
)


def call(*arguments):
    return CliRunner().invoke(app, ["optimize", *map(str, arguments)], env={"COLUMNS": "250"})


@needs_jax
def test_a_found_push_works(tmp_path):
    """Played at once in a world of its own, in steps half as long: the T is at the goal, and rests there."""
    report, picture = tmp_path / "push.json", tmp_path / "push.png"
    goal = np.array([0.12, -0.05, np.radians(-45.0)])
    result = call("push", "--goal", "0.12,-0.05,-45", "--json", report, "--out", picture)
    assert result.exit_code == 0, result.stderr
    assert "1 of 1 goals reached" in result.stdout
    assert picture.read_bytes()[:4] == b"\x89PNG"
    (found,) = json.loads(report.read_text())["goals"]
    assert found["reached"]
    assert found["distance"] <= 0.01
    assert found["angle"] <= np.radians(5.0)
    assert found["steps"] == 500 * found["smooth_rollouts"] + 1000 * found["rollouts"]
    assert found["smooth_rollouts"] + found["rollouts"] < 20
    assert miss(np.array(found["poses"][-1]), goal) == pytest.approx(
        (found["distance"], found["angle"]), rel=1e-9
    )
    (path,) = (np.array(path) for path in found["paths"])
    pushing = OurPushing(None, 1e-3)
    pushing.reset(path[0])
    for target in Path(path, DURATION, REST).targets(1e-3):
        pushing.step(target)
    distance, angle = miss(pushing.pose(), goal)
    assert distance < 0.012
    assert angle < np.radians(6.0)
    assert np.abs(pushing.world.v).max() < 1e-3


def test_a_goal_that_the_cross_entropy_method_does_not_reach_is_told():
    """It would have needed more than it took, and so is the ratio."""
    console = Console(file=StringIO(), width=250)

    def result(steps, is_reached):
        effort = Effort(0, steps // 1000, steps, 1.0)
        return PushResult(GOALS[0], (np.zeros((7, 2)),), np.zeros((2, 3)), 0.02, 0.0, is_reached, effort)

    found = [result(2000, True), result(3000, True)]
    optimize._print(found, [result(30_000, True), result(2_000_000, False)], console)
    rows = [line.split() for line in console.file.getvalue().splitlines() if "10.0, 5.0" in line]
    assert rows[0][-2:] == ["30000", "15.0"]
    assert rows[1][-4:] == [">", "2000000", ">", "666.7"]
    assert "by cross-entropy 1 in more than 2030000 steps, 406.0 times as many" in console.file.getvalue()
    assert "goal 2 not within its 2000 pushes" in console.file.getvalue()
    reached = StringIO()
    optimize._print(found, [result(30_000, True)] * 2, Console(file=reached, width=250))
    assert "by cross-entropy 2 in 60000 steps, 12.0 times as many, and 2.0 s" in reached.getvalue()
    assert "more than" not in reached.getvalue()


@needs_jax
def test_a_found_grasp_holds_and_takes_little_more_than_coulombs_law(tmp_path):
    report, picture = tmp_path / "grasp.json", tmp_path / "grasp.png"
    result = call("grasp", "--mass", 0.5, "--friction", 0.4, "--json", report, "--out", picture)
    assert result.exit_code == 0, result.stderr
    assert picture.read_bytes()[:4] == b"\x89PNG"
    found = json.loads(report.read_text())
    lift = Lift(0.5, 0.4, 0.3)
    real = RealGrasp(lift)
    times = TIME_STEP * np.arange(real.steps)
    forces, least = np.interp(times, found["times"], found["forces"]), lift.least_force(times)
    assert np.abs(real.slips(forces)).max() == pytest.approx(found["slip"], abs=1e-9)
    assert found["slip"] <= HELD < found["slip_below"]
    # No schedule can be weaker than Coulomb's law, and this one is hardly stronger.
    assert (forces / least).min() > 0.98
    assert 1.0 < np.mean(forces**2) / np.mean(least**2) < 1.15
    assert np.mean(forces**2) < 0.7 * least.max() ** 2


@needs_jax
def test_friction_in_use_under_smooth_contact_is_that_of_the_force_balance():
    """The box creeps at the speed at which regularised friction carries it: share = least force / force."""
    lift, knots, looks = Lift(), np.array([0.0, 0.4, 0.8]), np.array([0.05, 0.2, 0.4, 0.55, 0.75])
    smooth = SmoothGrasp(lift, knots, looks)
    forces = np.array([8.0, 10.0, 7.0])
    rest, slopes = smooth.rest_and_slopes(forces)
    share = 1.0 / (rest + 1.0 / SHARE)
    np.testing.assert_allclose(share, lift.least_force(looks) / np.interp(looks, knots, forces), rtol=0.01)
    h = 1e-4
    for knot, unit in enumerate(np.eye(3)):
        ends = [smooth.rest_and_slopes(forces + sign * h * unit)[0] for sign in (1.0, -1.0)]
        np.testing.assert_allclose(slopes[:, knot], (ends[0] - ends[1]) / (2.0 * h), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (("push", "--goal", "0.1,0.2"), 2, "is not three numbers"),
        (("push", "--goal", "a,b,c"), 2, "is not three numbers"),
        (("push", "--goal", "nan,0,0"), 1, "goal 1: is not finite"),
        (("push", "--goal", "0.1,0,0", "--goal", "1,0,0"), 1, "goal 2: is 1 m and 0 degrees away"),
        (("push", "--goal", "0,0,170"), 1, "170 degrees away"),
        (("push", "--goal", "0.001,0,1"), 1, "counts as reached"),
        (("push", "--seed", "3"), 2, "--seed needs --compare"),
        (("push", "--compare", "luck"), 2, "Invalid value for '--compare'"),
        (("push", "--out", "push.txt"), 1, "has a name of no format"),
        (("grasp", "--mass", "0"), 1, "mass: is 0"),
        (("grasp", "--friction", "-1"), 1, "friction: is -1"),
        (("grasp", "--height", "0.9"), 1, "height: is 0.9 m"),
        (("grasp", "--out", "a.json", "--json", "b.json"), 2, "one file for the report is enough"),
        (("lift",), 2, "No such command 'lift'"),
    ],
)
def test_bad_input_is_one_error(arguments, status, complaint):
    result = call(*arguments)
    assert result.exit_code == status
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("what", ["push", "grasp"])
def test_without_jax_it_says_how_to_install_it(monkeypatch, what):
    monkeypatch.setitem(sys.modules, "jax", None)
    result = call(what)
    assert result.exit_code == 1
    assert "jax: is not installed" in result.stderr
    assert "pip install 'hydro-sim-core[diff]'" in result.stderr
