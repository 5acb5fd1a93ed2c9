"""A tool gives way to what it feels, and touches."""

import math
from dataclasses import replace

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.manipulation import Admittance, contact_state
from hydro_sim_core.tasks.insertion import (
    give_way,
    plane_through,
    pressed_beside,
    refuse_pressed_beside,
    touch_down,
)
from hydro_sim_core.tasks.robot import TaskFailed, ToolArm
from hydro_sim_core.tasks.trial import measure

RADIUS, PERIOD = 4e-3, 0.004


def test_the_normal_of_a_plane_is_on_the_side_that_is_asked_for():
    normal = np.array([0.1, -0.2, 0.9]) / np.linalg.norm([0.1, -0.2, 0.9])
    x = np.cross(normal, [1.0, 0.0, 0.0])
    points = [np.zeros(3), 0.02 * x, 0.01 * np.cross(normal, x)]
    for side in (1.0, -1.0):
        np.testing.assert_allclose(plane_through(points, np.array([0, 0, side])), side * normal, atol=1e-12)


def send_all(script, measurements):
    for measured in measurements:
        script.send(measured)


@pytest.fixture
def robot():
    """An arm in a world where nothing steps: measured is what it was told."""
    world = hs.load_scene("gen3_6dof")
    world.set_joint_positions({"joint_2": 0.72, "joint_3": -1.81, "joint_5": -0.61})
    arm = ToolArm(world, "end_effector_link", PERIOD)
    arm.start(measure(world))
    return arm


def test_it_gives_way_as_it_is_told(robot):
    """From a steady force the speed along, across and of the turn that follow from it; across the push none."""
    felt = contact_state([3.0, 0.0, -4.0], [0.0, 0.05, 0.0], RADIUS, 0.0)
    start, count = robot.X_WT, 250

    def ended(touch):
        nonlocal count
        count -= 1
        return count < 0

    script = give_way(robot, Admittance(10.0, 3000.0, 1000.0, 2.0), lambda: felt, ended)
    commands = next(script)
    try:
        while True:
            assert set(commands) == set(robot.arm.names)
            commands = script.send(robot.measured)
    except StopIteration:
        pass
    time = 250 * PERIOD - 0.02 + PERIOD  # less the lag of the smoothing
    moved = np.linalg.inv(start) @ robot.X_WT
    turn = math.atan2(moved[0, 2], moved[0, 0])
    assert turn == pytest.approx(0.05 / 2.0 * time, rel=0.01)
    way = np.array([3.0 / 1000.0, 0.0, (10.0 - 4.0) / 3000.0]) * time
    assert np.linalg.norm(moved[:3, 3]) == pytest.approx(np.linalg.norm(way), rel=0.01)
    assert moved[1, 3] == pytest.approx(0.0, abs=1e-6)


def test_nothing_to_touch_is_told(robot):
    robot.phase = "touch the table"
    depths = iter(np.linspace(-0.003, 0.01, 200))
    script = touch_down(
        robot,
        "end_effector_link",
        Admittance(3.0),
        lambda: contact_state(np.zeros(3), np.zeros(3), RADIUS, next(depths)),
        0.006,
        [],
    )
    next(script)
    with pytest.raises(TaskFailed, match=r"^nothing is there: 6.0 mm were free$"):
        send_all(script, 200 * [robot.measured])


def test_what_is_held_may_not_press_hard_on_something_else(robot):
    """Only on what it belongs to forces are the controller's own matter."""
    forces = {("nut", "bolt"): 40.0, ("nut", "table"): 31.0, ("hand", "nut"): 3.0, ("arm", "table"): 99.0}
    wrenches = {pair: np.array([0.0, force, 0.0, 0.0, 0.0, 0.0]) for pair, force in forces.items()}
    measured = replace(robot.measured, wrenches=wrenches)
    assert pressed_beside(measured, "nut", "bolt") == ("table", 31.0)
    with pytest.raises(TaskFailed, match=r"^the nut is pressed on table with 31 N$"):
        refuse_pressed_beside(measured, "nut", "bolt", 30.0)
    refuse_pressed_beside(measured, "nut", "bolt", 32.0)
    assert pressed_beside(robot.measured, "nut", "bolt") == ("", 0.0)
