"""Joint commands as ros2_control's topic-based hardware interfaces send them."""

import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from hydro_sim.controllers.forward import ForwardController
from hydro_sim.controllers.joint_commands import JointCommandsController, parse_joint_commands
from hydro_sim.controllers.motion import position_limits
from hydro_sim.controllers.position_clamp import PositionClamp
from hydro_sim.controllers.speed_servo import SpeedServo
from hydro_sim.recording.replay import _follow_joint_state
from hydro_sim.rejections import Rejections
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import JointCommand
from hydro_sim_core.simulation.loading import load_urdf
from support.ros.arms import BENT, JOINTS, Bench, gen3

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
        ({"name": ["joint_2"], "position": [math.inf]}, "joint 'joint_2'"),
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


@pytest.mark.parametrize(
    ("beyond", "told"), [(2.4e-5, []), (0.5, ["joint_commands: joint 'joint_2': 2.74 is outside its limits"])]
)
def test_one_joint_beyond_its_limits_leaves_the_others_their_commands(bench, beyond, told):
    """It goes to its limit, is counted, and logged once if it is further out than a joint at its stop."""
    world = bench.world
    world.reset()
    upper = position_limits(world)["joint_2"][1]
    log = []
    rejections = Rejections(SimpleNamespace(warning=log.append))
    clamp = PositionClamp(world, partial(rejections.count_clamped, "joint_commands"))
    controller = JointCommandsController(world, bench.arbiter, clamp)
    message = JointState(name=["joint_2", "joint_7"], position=[upper + beyond, 0.2], velocity=[1.0, 0.0])
    for _ in range(2):
        controller.check(message)(world)
    targets = dict(zip(world.actuated_joint_names, world.drive_targets().T.tolist(), strict=True))
    assert targets["joint_2"][:2] == [upper, pytest.approx(math.nan, nan_ok=True)]  # no speed into the stop
    assert targets["joint_7"][0] == 0.2
    assert rejections.clamped == 2
    assert [line.partition(";")[0] for line in log] == told
    assert rejections.total == 0


def test_positions_of_a_refused_message_are_not_counted_as_moved(bench):
    """Nothing was moved: the message commands nothing, and its refusal is told."""
    world = bench.world
    upper = position_limits(world)["joint_2"][1]
    log = []
    rejections = Rejections(SimpleNamespace(warning=log.append))
    clamp = PositionClamp(world, partial(rejections.count_clamped, "commands"))
    joint = JointCommandsController(world, bench.arbiter, clamp)
    forward = ForwardController("position", ("joint_2", "elbow"), world, bench.arbiter, clamp)
    for controller, message in (
        (joint, JointState(name=["joint_2", "joint_7"], position=[upper + 1.0, math.inf])),
        (joint, JointState(name=["joint_2", "elbow"], position=[upper + 1.0, 0.0])),
        (forward, Float64MultiArray(data=[upper + 1.0, 0.0])),
    ):
        with pytest.raises(InputError):
            controller.check(message)
    follow = partial(_follow_joint_state, frozenset(("joint_2", "joint_7")), clamp)
    with pytest.raises(InputError):
        follow(JointState(name=["joint_2", "joint_7"], position=[upper + 1.0, math.nan]), world)
    assert (rejections.clamped, log) == (0, [])
    follow(JointState(name=["joint_2", "joint_7"], position=[upper + 1.0, 0.0]), world)
    assert (rejections.clamped, len(log)) == (1, 1)


@pytest.mark.parametrize("interface", ["joint", "forward"])
def test_speed_of_zero_stands_still_under_a_load(interface):
    """A bare damper would yield to the weight without end; the servo gives way once, as far as its stiffness asks."""
    bench = Bench(gen3(gravity_compensation=False))
    world = bench.world
    if interface == "joint":
        controller = bench.add(JointCommandsController(world, bench.arbiter))
        controller.check(JointState(name=list(JOINTS), velocity=[0.0] * 7))(world)
    else:
        controller = bench.add(ForwardController("velocity", JOINTS, world, bench.arbiter))
        controller.check(Float64MultiArray(data=[0.0] * 7))(world)
    bench.step(1500)
    settled = world.joint_positions().copy()
    bench.step(1000)
    assert world.joint_positions() == pytest.approx(settled, abs=1e-6)
    assert bench.position("joint_2") == pytest.approx(BENT["joint_2"], abs=0.05)


def test_speed_is_kept_and_ends_at_the_limit(bench):
    """The joint runs as fast as it is told, and stops at its limit without pressing against it."""
    world = bench.world
    world.reset()
    controller = bench.add(ForwardController("velocity", ("joint_2",), world, bench.arbiter))
    controller.check(Float64MultiArray(data=[0.4]))(world)
    bench.step(500)
    start = bench.position("joint_2")
    bench.step(1000)
    assert bench.position("joint_2") - start == pytest.approx(0.4, abs=1e-3)
    upper = position_limits(world)["joint_2"][1]
    bench.step(6000)
    assert bench.position("joint_2") == pytest.approx(upper, abs=1e-3)
    bench.controllers.remove(controller)


def test_blocked_joint_obeys_the_next_speed_at_once(bench):
    """The set-point does not run away from a joint that cannot follow."""
    world = bench.world
    world.reset()
    tree = world.built.assembly.tree
    servo = SpeedServo(world)
    servo.command(world, {"joint_1": JointCommand(velocity=1.0)})
    for _ in range(3000):
        servo.advance(world)  # without steps the joint stands
    ahead = world.drive_targets()[0][world.actuated_joint_names.index("joint_1")] - bench.position("joint_1")
    reach = tree.effort_limit[world.velocity_names.index("joint_1")] / 2000
    assert ahead == pytest.approx(reach + 1.0 * world.time_step)


@pytest.mark.parametrize("speed", [-1.8, 0.9, 1.8])
def test_a_drive_whose_reach_is_less_than_a_step_of_the_way_keeps_the_speed(tmp_path, speed):
    """Springs and dry friction make gains so stiff that the whole effort is given within 0.4 mrad."""
    path = tmp_path / "arm.urdf"
    path.write_text(
        '<robot name="arm"><link name="base"/><link name="arm"><inertial><mass value="1"/>'
        '<inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link><joint name="turn" type="revolute">'
        '<parent link="base"/><child link="arm"/><axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="5" '
        'velocity="3"/><dynamics spring_stiffness="3" spring_reference="0.1"/></joint></robot>'
    )
    world = load_urdf(path, drives="all")
    assert world.drive_reach("turn") < 1e-3
    servo = SpeedServo(world)
    servo.command(world, {"turn": JointCommand(velocity=speed)})
    for _ in range(400):
        servo.advance(world)
        world.step()
    assert world.v[0] == pytest.approx(speed, rel=1e-2)
    assert world.q[0] == pytest.approx(0.4 * speed, rel=2e-2)


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
