"""Joint commands as ros2_control's topic-based hardware interfaces send them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sensor_msgs.msg import JointState

from hydro_sim.controllers.joint_commands import JointCommandsController, parse_joint_commands
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import JointCommand
from support.ros.arms import JOINTS, Bench, gen3

NAN = math.nan
numbers = st.floats(allow_nan=True, allow_infinity=True)


@pytest.fixture(scope="module")
def bench():
    return Bench(gen3(gravity_compensation=True))


def test_what_is_empty_or_nan_is_not_commanded():
    message = JointState(name=["a", "b", "c"], position=[1.0, NAN, NAN], effort=[NAN, 2.0, NAN])
    assert parse_joint_commands(message) == {
        "a": JointCommand(position=1.0),
        "b": JointCommand(effort=2.0),
    }


def test_hardware_interface_without_active_controller_commands_nothing(bench):
    """It sends NaN for every joint then: no command, and nothing to refuse."""
    message = JointState(name=list(JOINTS), position=[NAN] * 7)
    controller = JointCommandsController(bench.world, bench.arbiter)
    controller.check(message)(bench.world)
    assert bench.arbiter.joints_of(controller) == ()


@pytest.mark.parametrize(
    ("fields", "element"),
    [
        ({"name": ["joint_1", "joint_1"], "position": [0.0, 0.0]}, "name"),
        ({"name": ["joint_1", "joint_2"], "position": [0.0]}, "position"),
        ({"name": [], "velocity": [0.0]}, "velocity"),
        ({"name": ["joint_1"], "effort": [math.inf]}, "joint 'joint_1'"),
        ({"name": ["elbow"], "position": [0.0]}, "joint 'elbow'"),
        ({"name": ["joint_2"], "position": [9.0]}, "joint 'joint_2'"),
    ],
)
def test_malformed_command_names_its_element(bench, fields, element):
    with pytest.raises(InputError) as caught:
        JointCommandsController(bench.world, bench.arbiter).check(JointState(**fields))
    assert caught.value.element == element


@settings(max_examples=200)
@given(st.data())
def test_any_message_is_an_action_or_refused(bench, data):
    """Nothing else is raised, and the World never gets a number that is not finite."""
    names = data.draw(st.lists(st.sampled_from([*JOINTS, "", "elbow"]), max_size=4))
    lengths = st.sampled_from([0, len(names), len(names) + 1])
    fields = {
        field: data.draw(st.lists(numbers, min_size=(n := data.draw(lengths)), max_size=n))
        for field in ("position", "velocity", "effort")
    }
    world = bench.world
    try:
        action = JointCommandsController(world, bench.arbiter).check(JointState(name=names, **fields))
    except InputError:
        return
    action(world)
    told = world.save_state().drives
    assert all(np.isfinite(values).all() for values in told if values is not told.limit)


def test_speed_beside_a_position_removes_the_lag(bench):
    """A drive that only knows where to be follows a ramp late by kd/kp; told its speed too, it does not."""
    world, rate = bench.world, 0.2
    lags = {}
    for fields in (("position",), ("position", "velocity")):
        world.reset()
        controller = JointCommandsController(world, bench.arbiter)
        for _ in range(400):
            target = rate * (world.time + world.time_step)
            values = {"position": [target], "velocity": [rate]}
            message = JointState(name=["joint_1"], **{field: values[field] for field in fields})
            controller.check(message)(world)
            bench.step()
        lags[fields] = rate * world.time - bench.position("joint_1")
    assert lags[("position",)] == pytest.approx(rate * 100 / 2000, rel=0.1)
    assert abs(lags[("position", "velocity")]) < 0.05 * lags[("position",)]


def test_effort_beside_a_position_is_a_feed_forward(bench):
    """At rest a drive gives way by the feed-forward over its stiffness."""
    world = bench.world
    world.reset()
    message = JointState(name=["joint_1"], position=[0.0], effort=[10.0])
    JointCommandsController(world, bench.arbiter).check(message)(world)
    bench.step(1500)
    assert bench.position("joint_1") == pytest.approx(10.0 / 2000, rel=1e-3)
