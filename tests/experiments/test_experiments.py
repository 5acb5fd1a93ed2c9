"""Experiments: they agree where physics does, disagree where it does not, and say so in tables, files and figures."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments import (
    EXPERIMENTS,
    Comparison,
    ExperimentReport,
    balls,
    energy,
    find_experiment,
    incline,
    rolling,
    slip_control,
    spatula_release,
    spatula_slip,
    turning_balls,
)
from hydro_sim_core.experiments.published_scenes import published_scene
from hydro_sim_core.simulation.assembly import builder
from support.experiments.quick_forms import assert_quick_form_agrees

finite = st.floats(-1e6, 1e6)


@given(reference=finite, measured=finite, bound=st.floats(0.0, 1e6))
def test_an_absolute_comparison_agrees_within_its_bound(reference, measured, bound):
    comparison = Comparison("x", "m", reference, measured, bound, "absolute")
    assert comparison.agrees == (abs(measured - reference) <= bound)


@given(reference=finite.filter(lambda x: abs(x) > 1e-3), share=st.floats(-0.5, 0.5))
def test_a_relative_comparison_deviates_by_the_share_of_the_reference(reference, share):
    comparison = Comparison("x", "m", reference, reference + share * abs(reference), 0.1, "relative")
    assert comparison.deviation == pytest.approx(share, abs=1e-9)


@given(measured=finite)
def test_a_one_sided_comparison_agrees_on_its_side(measured):
    assert Comparison("x", "m", 2.0, measured, 0.01, "at_most").agrees == (measured <= 2.02)
    assert Comparison("x", "m", 2.0, measured, 0.01, "at_least").agrees == (measured >= 1.98)


@pytest.mark.parametrize("measured", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", ["absolute", "relative", "at_most", "at_least"])
def test_what_is_not_finite_never_agrees(measured, kind):
    assert not Comparison("x", "m", 1.0, measured, math.inf, kind).agrees


def test_a_report_agrees_only_if_every_comparison_does():
    good = Comparison("x", "m", 1.0, 1.0, 0.1, "absolute")
    bad = Comparison("y", "m", 1.0, 2.0, 0.1, "absolute")
    assert ExperimentReport("t", "s", (good, good)).agrees
    assert not ExperimentReport("t", "s", (good, bad)).agrees


@pytest.mark.parametrize("name", ["slip_control", "slip_control_arm"])
def test_the_spatula_slips_as_in_drake(name):
    report = EXPERIMENTS[name].run(False)
    assert [c.quantity for c in report.comparisons if not c.agrees] == []
    # Two fingers at two times, five quantities each, and four pitch angles.
    assert len(report.comparisons) == 24
    assert report.series["time"][-1] == 6.0


def test_a_spatula_of_physical_inertia_does_not_slip_as_in_drake():
    report = slip_control.run("spatula_slip_physical")
    pitches = [c for c in report.comparisons if c.quantity.startswith("pitch")]
    assert not all(c.agrees for c in pitches)


def test_a_spatula_of_physical_inertia_swings_down_as_in_drake_when_it_is_released():
    report = EXPERIMENTS["spatula_release"].run(False)
    assert [c.quantity for c in report.comparisons if not c.agrees] == []
    # Eight angles and what either spatula turns in the first 0.3 s.
    assert len(report.comparisons) == 8 + 2
    physical, published = (c.measured for c in report.comparisons[-2:])
    assert physical > 300.0 * published


@pytest.mark.long
def test_a_release_with_another_inertia_or_of_a_tighter_grasp_is_noticed(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(spatula_release, "make_world", lambda _: spatula_slip.make_world("spatula_slip_welded"))
        assert not spatula_release.run(4.8).agrees
    tighter = spatula_slip.GRASP.model_copy(update={"low": 1.02})
    monkeypatch.setattr(spatula_slip, "GRASP", tighter)
    wrong = [c.quantity for c in spatula_release.run(4.8).comparisons if not c.agrees]
    assert "turn in 0.3 s, published inertia" in wrong


@pytest.mark.heavy(2)
@pytest.mark.parametrize("name", ["spatula_slip", "spatula_slip_arm"])
def test_a_tight_grasp_is_secure_and_a_loose_one_slips(name):
    report = EXPERIMENTS[name].run(False)
    assert [c.quantity for c in report.comparisons if not c.agrees] == []
    # Eight angles, three secure grasps, two loose ones with their slip and the creep beside it, two forces.
    assert len(report.comparisons) == 8 + 3 + 2 * 2 + 2
    assert report.series["time"][-1] == 16.5
    assert set(report.series["command"]) == {1.0, 16.0}


def test_a_grasp_that_is_never_tight_is_not_secure(monkeypatch):
    loose = spatula_slip.GRASP.model_copy(update={"high": 1.0})
    monkeypatch.setattr(spatula_slip, "GRASP", loose)
    wrong = {c.quantity for c in spatula_slip.run("spatula_slip_welded", 6.0).comparisons if not c.agrees}
    assert {"creep, secure grasp 1", "speed of creep over slip, grasp 1"} <= wrong


@pytest.mark.parametrize("experiment", [slip_control, spatula_slip])
def test_a_scene_that_is_not_shipped_is_refused(experiment):
    with pytest.raises(InputError, match="no_such_scene: scene: is not a shipped scene"):
        experiment.run("no_such_scene")


def test_a_block_creeps_below_and_slides_above_the_friction_angle():
    report = incline.run(creeping=(10.0, 25.0), sliding=(28.0, 40.0))
    assert [c.quantity for c in report.comparisons if not c.agrees] == []
    creep, faster_creep, slow, fast = report.series["speed"]
    assert 0.0 < creep < faster_creep < 3e-4
    assert 0.05 < slow < fast


def test_a_slope_half_a_degree_off_is_noticed(monkeypatch):
    worlds = incline.make_world
    monkeypatch.setattr(incline, "make_world", lambda angle: worlds(angle + math.radians(0.5)))
    assert not incline.run(creeping=(10.0,), sliding=()).agrees
    assert not incline.run(creeping=(), sliding=(35.0,)).agrees


def test_balls_and_cylinders_roll_and_slip_as_rigid_bodies_do():
    report = rolling.run(angles=(2.0, 28.0, 38.0))
    assert [c.quantity for c in report.comparisons if not c.agrees] == []


def test_facets_are_noticed_wherever_something_rolls_on_them(monkeypatch):
    def none_round(colliders, pairs, skinned):
        nothing = np.full(len(pairs), -1.0)
        return {
            "pair_axis": nothing,
            "pair_core": np.stack([nothing, nothing], axis=1),
            "pair_touch": 0.0 * nothing,
        }

    monkeypatch.setattr(builder, "round_sides_of_pairs", none_round)
    report = rolling.run(angles=(10.0, 38.0))
    assert [c.quantity for c in report.comparisons if c.agrees] == []


def test_one_percent_more_friction_is_noticed_wherever_coulomb_is_the_reference(monkeypatch):
    make_world = incline.make_world

    def rougher(angle):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(incline, "FRICTION", 1.01 * incline.FRICTION)
            return make_world(angle)

    monkeypatch.setattr(incline, "make_world", rougher)
    report = incline.run(creeping=(20.0,), sliding=(28.0, 40.0))
    wrong = {c.quantity for c in report.comparisons if not c.agrees}
    assert {
        "acceleration at 28°",
        "acceleration at 40°",
        "friction angle",
        "speed downhill after crossing",
    } <= wrong


def test_a_percent_more_grip_force_than_drakes_is_noticed(monkeypatch):
    """It moves forces by 1 %, pressures by half a percent."""
    with monkeypatch.context() as patch:
        patch.setattr(slip_control, "published_scene", _stronger_grip)
        report = slip_control.run("spatula_slip_welded", until=1.5)
    wrong = {c.quantity for c in report.comparisons if not c.agrees}
    assert {f"{side} normal force at 1.4 s" for side in ("left", "right")} <= wrong
    assert {f"{side} peak pressure at 1.4 s" for side in ("left", "right")} <= wrong


def _stronger_grip(name):
    scene = published_scene(name)
    (command,) = scene.spec.commands
    square = command.signal.square.model_copy(update={"high": 1.01 * command.signal.square.high})
    signal = command.signal.model_copy(update={"square": square})
    commands = (command.model_copy(update={"signal": signal}),)
    return replace(scene, spec=scene.spec.model_copy(update={"commands": commands}))


def test_an_experiment_is_found_by_name_or_a_near_one_suggested():
    assert find_experiment("incline") is EXPERIMENTS["incline"]
    with pytest.raises(InputError, match="did you mean 'incline'"):
        find_experiment("inclin")


#: Experiments whose own tests look at their quick form.
WITH_TESTS = {
    "ecp_analytic",
    "ecp_desk",
    "ecp_t_bar",
    "face_scaling",
    "margin_boxes",
    "patch_moments",
    "rigid_pairs",
    "sliding_disk",
}


@pytest.fixture(scope="module", autouse=True)
def bounced_once():
    """The ball that all runs of the experiment on energy watch in fine steps bounces once for each dissipation."""
    bounce = energy._first_bounce
    bounces = {}

    def once(world):
        key = (energy.DISSIPATION, world.time_step)
        bounces[key] = bounces.get(key) or bounce(world)
        return bounces[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(energy, "_first_bounce", once)
        yield


#: Experiments with the longest quick forms.
LONG = ("point_contact", "energy", "thin_plates", "m16_nut")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name in LONG else ())
        for name in EXPERIMENTS
        if name not in WITH_TESTS
    ],
)
def test_every_experiment_agrees_in_its_quick_form(name, tmp_path):
    assert_quick_form_agrees(name, tmp_path)


def test_a_report_becomes_json_and_a_figure(tmp_path):
    report = incline.run(creeping=(10.0,), sliding=(35.0,))
    data = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert data["agrees"] is True
    first = data["comparisons"][0]
    assert first["quantity"] == "acceleration at 35°"
    assert first["reference"] == pytest.approx(incline.sliding_acceleration(math.radians(35.0)))
    picture = tmp_path / "incline.png"
    incline.plot(report, picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_figure_that_cannot_be_written_is_bad_input(tmp_path):
    report = incline.run(creeping=(10.0,), sliding=(35.0,))
    with pytest.raises(InputError, match="No such file"):
        incline.plot(report, tmp_path / "missing" / "incline.png")


@pytest.mark.long
def test_damping_of_a_contact_is_noticed(monkeypatch):
    monkeypatch.setattr(energy, "DISSIPATION", 1e-3)
    report = energy.run(3)
    assert [c.quantity for c in report.comparisons if not c.agrees] == [
        "energy lost or gained in 3 bounces",
        "energy lost or gained at any instant of a bounce",
        "share of the energy lost in a bounce, lagged, 0.1 ms",
    ]


@pytest.mark.long
def test_a_loss_beyond_that_of_first_order_is_noticed(monkeypatch):
    twice_as_long = ("lagged", 2.0 * energy.SHORT_STEP)
    monkeypatch.setattr(energy, "SERIES", {**energy.SERIES, "lagged, 0.1 ms": twice_as_long})
    report = energy.run(3)
    assert [c.quantity for c in report.comparisons if not c.agrees] == [
        "share of the energy lost in a bounce, lagged, 0.1 ms"
    ]


@pytest.mark.heavy(3)
@pytest.mark.parametrize(
    ("part", "value", "noticed"),
    [
        ("INERTIA", 1.02 * balls.INERTIA, {"speed of rolling after sliding", "energy lost by sliding"}),
        ("INERTIA", 1.05 * balls.INERTIA, {"spin from a bounce off centre", "spin from a grazing bounce"}),
        ("RADIUS", 0.97 * balls.RADIUS, {"direction of the struck one", "direction, with friction"}),
    ],
)
def test_other_balls_than_the_closed_forms_are_noticed(monkeypatch, part, value, noticed):
    monkeypatch.setattr(balls, part, value)
    comparisons, _ = turning_balls.compare()
    assert noticed <= {c.quantity for c in comparisons if not c.agrees}


def test_damping_is_noticed_in_a_collision_and_in_a_bounce_off_centre(monkeypatch):
    for name in ("COLLIDING", "ECCENTRIC"):
        damped = replace(getattr(turning_balls, name), dissipation=1e-3)
        monkeypatch.setattr(turning_balls, name, damped)
    comparisons, _ = turning_balls.compare()
    wrong = {c.quantity for c in comparisons if not c.agrees}
    assert {"angle between balls that collided", "energy at any instant of it"} <= wrong
