"""What a round tool feels is told apart, and it gives way to that."""

import math

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.tasks.insertion import Spiral, Yielding, feel, give_way, plane_through, touch_down
from hydro_sim_core.tasks.robot import TaskFailed, ToolArm
from hydro_sim_core.tasks.trial import measure

RADIUS, PERIOD = 4e-3, 0.004


def wrench_of(*contacts):
    """Wrench (6,) about the middle of the tip of forces at points."""
    forces = np.array([force for force, _ in contacts], dtype=float)
    moments = [np.cross(point, force) for force, point in contacts]
    return np.concatenate([forces.sum(axis=0), np.sum(moments, axis=0)])


@pytest.mark.parametrize(
    ("contacts", "depth", "kind"),
    [
        ([((0, 0, -0.3), (0, 0, 0))], 0.0, "free"),
        ([((0, 0, -5), (1e-3, -1e-3, 0))], 0.0, "face"),
        ([((0.5, 0, -5), (3e-3, 2e-3, 0))], 0.0, "edge"),
        ([((3, 1, -0.5), (-4e-3, 0, -5e-3))], 0.01, "wall"),
        ([((3, 0, 0), (-4e-3, 0, -0.01)), ((-2.9, 0, 0), (4e-3, 0, 0))], 0.01, "wedged"),
        ([((3, 0, 0), (-4e-3, 0, -0.02))], -0.001, "wedged"),  # nothing is there so high above the tip
    ],
)
def test_contacts_are_told_apart(contacts, depth, kind):
    touch = feel(wrench_of(*contacts), RADIUS, depth)
    assert (touch.kind, touch.depth) == (kind, depth)
    if kind in ("face", "edge"):
        np.testing.assert_allclose(touch.point, contacts[0][1][:2], atol=1e-12)
        assert touch.push == 5.0


def test_a_spiral_goes_at_its_speed_and_leaves_no_gap():
    spiral, place, places = Spiral(0.6e-3, 6e-3), np.zeros(2), [np.zeros(2)]
    while spiral.radius < 2e-3:
        velocity = spiral.velocity(PERIOD)
        place = place + PERIOD * velocity
        places.append(place)
        if spiral.radius > 0.3e-3:
            assert np.linalg.norm(velocity) == pytest.approx(6e-3, rel=0.02)
    places = np.array(places)
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * math.pi, 200), 1.6e-3 * np.sqrt(rng.uniform(0, 1, 200))
    goals = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    nearest = np.linalg.norm(goals[:, None] - places[None], axis=2).min(axis=1)
    assert 0.25e-3 < nearest.max() <= 0.31e-3


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
    felt = feel(np.array([3.0, 0.0, -4.0, 0.0, 0.05, 0.0]), RADIUS, 0.0)
    start, count = robot.X_WT, 250

    def ended(touch):
        nonlocal count
        count -= 1
        return count < 0

    script = give_way(robot, Yielding(10.0, 3000.0, 1000.0, 2.0), lambda: felt, ended)
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
        robot, "end_effector_link", Yielding(3.0), lambda: feel(np.zeros(6), RADIUS, next(depths)), 0.006, []
    )
    next(script)
    with pytest.raises(TaskFailed, match=r"^nothing is there: 6.0 mm were free$"):
        send_all(script, 200 * [robot.measured])
