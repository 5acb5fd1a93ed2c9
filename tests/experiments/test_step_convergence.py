"""The error of a time step, beside the errors that closed forms have, and where there is no order to tell."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments.step_convergence import Quantity, converge
from hydro_sim_core.simulation.scenes import open_world, shipped_scenes

G = 9.81
#: Of a box that falls on its corner, rad.
MASSIVE = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def scene(folder, urdf, base, more=""):
    (folder / "robot.urdf").write_text(urdf)
    path = folder / "made.yaml"
    path.write_text(
        f"name: made\ntime_step: 0.004\nmodels:\n  - {{name: robot, urdf: robot.urdf, base: {base}}}\n{more}"
    )
    return hs.load_scene(path)


@pytest.fixture
def stone(tmp_path):
    return scene(tmp_path, f'<robot name="stone"><link name="stone">{MASSIVE}</link></robot>', "floating")


@pytest.fixture
def cart(tmp_path):
    urdf = (
        f'<robot name="slider"><link name="rail"/><link name="cart">{MASSIVE}</link>'
        '<joint name="rail_joint" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>'
        '<limit lower="-10" upper="10" effort="1e9" velocity="1e9"/></joint></robot>'
    )
    drive = (
        "actuators:\n  - {joints: [rail_joint], mode: position, kp: 200, kd: 8}\n"
        "commands:\n  - {joint: rail_joint, mode: position, signal: {constant: 0.1}}\n"
    )
    return scene(tmp_path, urdf, "fixed", drive)


def quantity(result, name, kind):
    (found,) = (q for q in result.quantities if (q.name, q.kind) == (name, kind))
    return found


def test_a_fall_is_off_by_half_a_step_of_its_speed(stone):
    """Steps give z = -g t (t + h) / 2: the error is g t h / 2, at every instant, and of order 1."""
    result = converge(stone, 1.0, 3)
    fall = quantity(result, "stone", "position")
    assert fall.order == pytest.approx(1.0, abs=1e-6)
    assert fall.errors[0] == pytest.approx(G * result.times * 0.004 / 2.0, rel=1e-6)
    assert fall.errors[2] == pytest.approx(G * result.times * 0.001 / 2.0, rel=1e-6)
    assert quantity(result, "stone", "angle").is_noise
    assert result.suggestion == "time_step: 0.0001"  # 1 mm needs 0.2 ms, and half of that is asked for
    assert result.verdict.startswith(
        "too long: at 4 ms the position of stone is off by 19.6 mm; set time_step: 0.0001 "
    )
    assert converge(hs.World(stone.scene.with_({"time_step": 1e-4})), 1.0, 3).good


def test_a_driven_joint_is_off_by_what_its_closed_form_says(cart):
    """m x'' + d x' + k (x - x1) = 0 from rest."""
    result = converge(cart, 1.0, 4)
    joint = quantity(result, "rail_joint", "joint")
    steps = hs.World(cart.scene)
    rate, own = 8.0 / (2.0 * 2.0), []
    swing = math.sqrt(200.0 / 2.0 - rate**2)
    for time in result.times:
        steps.step(round(time / 0.004) - steps.step_count)
        free = math.exp(-rate * time) * (math.cos(swing * time) + rate / swing * math.sin(swing * time))
        own.append(abs(steps.q[0] - 0.1 * (1.0 - free)))
    assert joint.order == pytest.approx(1.0, abs=0.05)
    assert joint.unit == "m"
    assert joint.errors[0] == pytest.approx(own, abs=0.02 * max(own))
    assert joint.error == pytest.approx(quantity(result, "cart", "position").error, rel=1e-9)


def test_every_coordinate_of_a_joint_is_told_in_its_unit(tmp_path):
    urdf = (
        f'<robot name="cart"><link name="floor"/><link name="plate">{MASSIVE}</link>'
        '<joint name="base" type="planar"><parent link="floor"/><child link="plate"/><axis xyz="0 1 0"/></joint>'
        "</robot>"
    )
    result = converge(scene(tmp_path, urdf, "fixed"), 0.1, 3)
    units = {q.name: q.unit for q in result.quantities if q.kind == "joint"}
    assert units == {"base/x": "m", "base/y": "m", "base/yaw": "rad"}


@pytest.mark.parametrize("order", [1, 2])
def test_what_falls_with_a_power_of_the_step_has_that_order_and_its_limit(order):
    steps = 0.01 / 2.0 ** np.arange(4)
    values = steps[:, None, None] ** order * np.array([[3.0, 1.0], [2.0, -5.0]])
    found = Quantity("made", "position", "m", np.diff(values, axis=0))
    assert found.order == pytest.approx(order)
    assert found.errors == pytest.approx(np.linalg.norm(values, axis=2))


def test_differences_that_turn_round_have_no_order_however_they_shrink():
    differences = np.array([[[1.0, 0.0]], [[0.0, 0.5]], [[-0.25, 0.0]]])
    found = Quantity("made", "position", "m", differences)
    assert found.order is None
    assert found.settles
    assert found.error == pytest.approx(math.hypot(1.0, 0.5) + 0.25)


def test_what_does_not_shrink_is_off_by_what_lies_between_levels_at_least():
    found = Quantity("made", "position", "m", np.array([[[1.0]], [[1.5]]]))
    assert found.order is None
    assert not found.settles
    assert found.error == pytest.approx(2.5)


def test_a_tumble_that_does_not_settle_is_not_called_good():
    """Levels are 0.9 mm apart, not falling; steps of 31 us end 3.1 mm from there."""
    worlds = []
    for dt in (1e-3, 1e-3 / 32):
        contact = {"friction": 0.5, "modulus": 1e6, "dissipation": 50.0, "margin": 0.0}
        scene = hs.SceneBuilder(gravity=(0, 0, -G), time_step=dt, contact=contact)
        scene.add_static("ground", "half_space", compliance="rigid")
        body = scene.add_body("box", mass=0.5, xyz=(0, 0, 0.4199), rpy=(-0.53, 0.89, -0.82))
        body.add_shape("box", size=(0.1, 0.15, 0.2))
        worlds.append(hs.World(scene.build()))
    result = converge(worlds[0], 0.409, 3)
    for world in worlds:
        world.step(round(result.duration / world.time_step))
    coarse, fine = (world.frame_pose("box")[:3, 3] for world in worlds)
    assert np.linalg.norm(coarse - fine) > 3e-3
    box = quantity(result, "box", "position")
    assert not box.settles
    assert box.error < box.tolerance
    assert result.verdict.startswith("no order: the ")


def test_bounces_without_dissipation_are_said_to_have_no_order():
    world = open_world("drop_box", values={"contact.defaults.dissipation": 0.0, "solver.accuracy": None})
    result = converge(world, 1.0, 4)
    assert result.verdict.startswith("no order: the ")
    assert result.suggestion is None
    # It hits the ground after 0.1 s, and the first bounce is still the same.
    assert 0.1 < result.agrees_until < 0.3


def test_the_step_that_a_box_is_dropped_with_by_default_is_found_too_long():
    result = converge(open_world("drop_box", values={"solver.accuracy": None}), 2.0, 3)
    box = quantity(result, "box", "position")
    assert 1.9e-3 < box.error < 5.0 * 1.9e-3  # steps of 5 us end 1.9 mm from there
    assert not result.good


@pytest.mark.heavy(3)
@pytest.mark.parametrize("name", sorted(shipped_scenes().keys() - {"peppers"}))
def test_the_steps_of_shipped_scenes_are_good(name):
    world = open_world(name)
    result = converge(world, 2.0 if name == "drop_box" else 0.4, 3)
    assert result.good, result.verdict
    assert result.agrees_until == pytest.approx(result.duration)


@pytest.mark.long
def test_a_heap_that_falls_together_is_said_to_have_no_order():
    result = converge(open_world("peppers"), 0.4, 3)
    assert result.verdict.startswith("no order: the angle of p5_pepper ")
    assert result.agrees_until < 0.2


def test_accuracy_is_refined_with_the_step():
    result = converge(open_world("drop_box", values={"solver.accuracy": 1e-4}), 0.05, 3)
    assert [level.accuracy for level in result.levels] == pytest.approx([1e-4, 2.5e-5, 6.25e-6])
    result = converge(
        open_world("drop_box", values={"solver.model": "continuous", "solver.accuracy": None}), 0.02, 3
    )
    assert [level.accuracy for level in result.levels] == pytest.approx([1e-4, 2.5e-5, 6.25e-6])


def test_the_world_itself_is_not_stepped(stone):
    converge(stone, 0.1, 3)
    assert stone.step_count == 0


@pytest.mark.parametrize(
    ("duration", "levels", "complaint"),
    [
        (1.0, 2, "levels.*give 3 or more"),
        (0.001, 3, "less than one step.*at least 0.004"),
        (0.1, 14, "time_step of level 13: 9.765625e-07 is not accepted; give fewer"),
    ],
)
def test_what_cannot_be_run_is_refused(stone, duration, levels, complaint):
    with pytest.raises(InputError, match=complaint):
        converge(stone, duration, levels)
