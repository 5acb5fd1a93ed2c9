"""The scale that is chosen for a scene: fixed, one for all outputs, and such that its contacts use the colours."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.drawing import chosen_scale
from hydro_sim_core.drawing.chosen_scale import peaks_of, scale_of_instants, scale_of_peaks, scale_of_world
from hydro_sim_core.drawing.pressure_scale import DEFAULT_FULL_SCALE, PressureScale, in_unit, unit_of

SCENES = Path(__file__).parents[2] / "config/scenes"


def load(name):
    return hs.load_scene(SCENES / f"{name}.yaml")


@pytest.mark.parametrize(
    ("typical", "maximum"),
    [(0.9, 1.0), (1.0, 1.0), (1.1, 2.0), (2.1, 5.0), (5.1, 10.0), (963.0, 1e3), (23.4e3, 50e3)],
)
def test_is_round(typical, maximum):
    assert scale_of_peaks([{"a on b": typical}]).maximum == pytest.approx(maximum)


def test_reaches_what_lasts_of_the_pair_that_presses_hardest():
    """An impact saturates, instead of leaving all the rest in the darkest colour."""
    resting = [{"box on ground": 65.0}] * 30
    assert scale_of_peaks([{"box on ground": 47e3}, *resting]).maximum == 100.0
    gripped = [{"box on ground": 65.0, "finger on box": 8e3}] * 10
    assert scale_of_peaks([*resting, *gripped]).maximum == 10e3


def test_a_pair_that_only_grazes_says_nothing():
    rows = [{"a on b": 100.0}] * 50
    assert scale_of_peaks([*rows, {"a on b": 100.0, "c on d": 1e6}]).maximum == 100.0
    assert scale_of_peaks([{"c on d": 1e6}]).maximum == 1e6


def test_rigid_skins_count_where_nothing_compliant_touches():
    soft, rigid = {"pad on box": 800.0}, {"box on table": 3e9}
    both = [{"rigid skin": rigid}, *10 * [{"rigid skin": rigid, "pressure field": soft}]]
    assert scale_of_instants(both).maximum == 1e3
    assert scale_of_instants([{"rigid skin": rigid}, {}]).maximum == 5e9
    grazing = [{"rigid skin": rigid, "pressure field": {"pad on box": 0.0}}]
    assert scale_of_instants(grazing).maximum == 5e9
    assert scale_of_instants([]).maximum == DEFAULT_FULL_SCALE


def test_a_soft_pad_on_a_rigid_stick_that_stands_on_its_tip_is_not_one_flat_colour():
    """The stick's edge presses a rigid table with megapascals."""
    scene = hs.SceneBuilder("stick")
    scene.add_static("table", "box", size=(1, 1, 0.1), xyz=(0, 0, -0.05), compliance="rigid")
    stick = scene.add_body("stick", 0.5, xyz=(0, 0, 0.0505))
    stick.add_shape("sphere", radius=0.05, compliance="rigid")
    pad = scene.add_body("pad", 0.05, xyz=(0, 0, 0.1101))
    pad.add_shape("box", size=(0.1, 0.1, 0.02), modulus=1e5, resolution_hint=0.02)
    world = hs.World(scene.build())
    scale = scale_of_world(world)
    world.step(100)
    peaks = {patch.law: peaks_of([patch]) for patch in world.contacts}
    (soft,), (rigid,) = (peaks[law].values() for law in ("pressure field", "rigid skin"))
    assert rigid > 100 * soft
    assert 0.2 * scale.maximum < soft <= scale.maximum


def test_where_nothing_touches_it_is_the_default():
    assert scale_of_peaks([]).maximum == DEFAULT_FULL_SCALE
    assert scale_of_peaks([{}, {"a on b": 0.0}]).maximum == DEFAULT_FULL_SCALE
    assert scale_of_world(load("gen3_7dof")).maximum == DEFAULT_FULL_SCALE


@pytest.mark.heavy(3)
@pytest.mark.parametrize("name", ["drop_box", "mug_on_plate", "cylinder_grasp", "peppers", "spatula_slip"])
def test_contacts_of_shipped_scenes_use_the_colours(name):
    """At 20 kPa, the first two were one flat purple."""
    world = load(name)
    full_scale = scale_of_world(world).maximum
    peaks = []
    while world.time < 1.5:
        world.step(max(1, round(0.05 / world.time_step)))
        peaks.append(max(peaks_of(world.contacts).values(), default=0.0))
    settled = float(np.median(peaks[len(peaks) // 2 :]))
    assert 0.35 * full_scale <= settled <= full_scale


def test_is_a_property_of_the_scene_and_changes_nothing():
    """It is the same whenever a world is asked, so pictures of different times can be compared."""
    world = load("spatula_slip")
    first = scale_of_world(world).maximum
    assert (world.time, world.step_count) == (0.0, 0)
    world.set_gripper(force=1.0)
    world.step(200)
    before = world.q.copy(), world.v.copy(), world.time
    assert scale_of_world(world).maximum == first
    assert np.array_equal(world.q, before[0])
    assert np.array_equal(world.v, before[1])
    assert world.time == before[2]


def test_a_hand_that_has_held_nothing_yet_leaves_room_for_its_grip(monkeypatch):
    """What rests on a table presses with little, and the hand that takes it up soon with a thousand times more."""
    world = load("spatula_slip")
    monkeypatch.setattr(chosen_scale, "peaks_of", lambda patches: {"box on table": 100.0})
    assert scale_of_world(world).maximum == 100.0  # the hand is closed on something
    monkeypatch.setattr(chosen_scale, "_hands", lambda world: {"another_finger"})
    assert scale_of_world(world).maximum == DEFAULT_FULL_SCALE


def test_hands_are_fingers_and_what_is_on_them():
    assert {"left_finger", "right_finger"} <= chosen_scale._hands(load("spatula_slip"))
    assert "spatula" not in chosen_scale._hands(load("spatula_slip"))
    assert chosen_scale._hands(load("drop_box")) == set()
    arm = chosen_scale._hands(load("gen3_7dof"))
    assert arm
    assert "base_link" not in arm


def test_a_scene_that_is_far_slower_than_real_time_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(chosen_scale, "_PATIENCE", -1.0)
    assert scale_of_world(load("drop_box")).maximum == DEFAULT_FULL_SCALE


def test_a_trial_that_fails_is_not_the_end(monkeypatch):
    world = load("drop_box")

    def fail(steps):
        raise FloatingPointError

    trial = world.copy()
    monkeypatch.setattr(trial, "step", fail)
    monkeypatch.setattr(world, "copy", lambda: trial)
    assert scale_of_world(world).maximum == DEFAULT_FULL_SCALE


@pytest.mark.parametrize(
    ("maximum", "unit"),
    [(1e-3, "Pa"), (100.0, "Pa"), (1e3, "kPa"), (20e3, "kPa"), (500e3, "kPa"), (1e6, "MPa"), (1e12, "MPa")],
)
def test_is_told_in_a_unit_without_long_numbers(maximum, unit):
    name, size = PressureScale(maximum).unit
    assert name == unit
    assert math.isclose(size, {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6}[unit])


@pytest.mark.parametrize(
    ("pressure", "told"),
    [(0.0, "0 Pa"), (0.01234, "0.0123 Pa"), (64.83, "64.8 Pa"), (8050.0, "8.05 kPa"), (1.234e9, "1230 MPa")],
)
def test_pressures_have_three_digits_and_no_power_of_ten(pressure, told):
    unit = unit_of(pressure)
    assert f"{in_unit(pressure, unit)} {unit[0]}" == told
