"""Trajectories: what lies between the points, and what is refused."""

import json
import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BPoly
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import hydro_sim_core as hs
from hydro_sim.controllers.arbiter import Arbiter
from hydro_sim.controllers.joint_trajectory import JointTrajectoryController
from hydro_sim.controllers.motion import Motion, check_between_knots, position_limits
from hydro_sim.controllers.trajectory import Knot, Trajectory, parse_trajectory
from hydro_sim_core.errors import InputError

values = st.floats(-10.0, 10.0)
FREE = dict.fromkeys("abc", (-math.inf, math.inf))
gaps = st.lists(st.floats(0.05, 3.0), min_size=1, max_size=5)


class ArmStub:
    """Stands in for a World: perfect drives, so that what is commanded is where the joints are."""

    time_step = 0.01
    joint_names = actuated_joint_names = ("a", "b", "c")

    def __init__(self, limits=FREE):
        self.step_count = 0
        self.positions = np.array([0.1, 0.2, 0.3])
        lower, upper = np.array([limits[name] for name in self.joint_names]).T
        tree = SimpleNamespace(q_lower=lower, q_upper=upper)
        self.built = SimpleNamespace(assembly=SimpleNamespace(tree=tree, velocity_names=self.joint_names))

    @property
    def time(self):
        return self.step_count * self.time_step

    def takes(self, joint, mode):
        return True

    def joint_positions(self):
        return self.positions.copy()

    def joint_velocities(self):
        return np.zeros(3)

    def command_joints(self, commands):
        for name, command in commands.items():
            self.positions[self.joint_names.index(name)] = command.position

    def run(self, controller, steps):
        for _ in range(steps):
            controller.advance(self)
            self.step_count += 1


def make_arm(limits=FREE):
    """A stub, a controller of it, and the errors of what that refuses."""
    arm, refused = ArmStub(limits), []
    controller = JointTrajectoryController(arm, Arbiter(), lambda: arm.time, refused.append)
    return arm, controller, refused


@given(gaps, st.integers(0, 2), st.data())
def test_motion_is_the_hermite_interpolant(gaps, derivatives, data):
    """Positions, velocities and accelerations equal SciPy's interpolant of the same data, at any time."""
    times = np.concatenate([[0.0], np.cumsum(gaps)])
    given_values = np.array([[data.draw(values) for _ in range(derivatives + 1)] for _ in times])
    if derivatives:
        given_values[-1, 1:] = 0.0
    knots = [
        Knot(t, *(row[i : i + 1] for i in range(derivatives + 1)))
        for t, row in zip(times, given_values, strict=True)
    ]
    motion = Motion(Trajectory(("a",), tuple(knots[1:]), None), 0.0, 0.0, knots[0], FREE)
    expected = BPoly.from_derivatives(times, given_values)

    fractions = data.draw(st.lists(st.floats(0.0, 0.999), min_size=3, max_size=3))
    for time in sorted(fraction * times[-1] for fraction in fractions):
        state, finished = motion.sample(time)
        assert not finished
        assert state.positions[0] == pytest.approx(expected(time), abs=1e-6)
        scale = 1.0 + np.abs(given_values).max() / min(gaps) ** 2
        assert state.velocities[0] == pytest.approx(expected.derivative()(time), abs=1e-8 * scale)
    state, finished = motion.sample(times[-1])
    assert finished
    assert state.positions[0] == given_values[-1, 0]


def test_only_named_joints_move_and_the_last_point_is_held():
    """The follower starts from where the joints are and leaves the others alone."""
    arm, follower, _ = make_arm()
    follower.follow(Trajectory(("c",), (Knot(1.0, np.array([1.3])),), None))
    arm.run(follower, 50)
    assert arm.positions == pytest.approx([0.1, 0.2, 0.8])
    arm.run(follower, 100)
    assert arm.positions == pytest.approx([0.1, 0.2, 1.3])


def test_new_trajectory_takes_over_without_a_jump():
    """It goes on from what the old one asked for at that moment."""
    arm, follower, _ = make_arm()
    follower.follow(Trajectory(("a",), (Knot(1.0, np.array([1.1])),), None))
    arm.run(follower, 50)
    follower.follow(Trajectory(("a",), (Knot(1.0, np.array([0.1])),), None))
    path = []
    for _ in range(100):
        arm.run(follower, 1)
        path.append(arm.positions[0])
    assert max(np.abs(np.diff(path))) < 0.011
    assert path[-1] == pytest.approx(0.1)


def test_starts_at_its_stamp_and_skips_what_has_passed():
    """A later stamp waits; an earlier one joins the trajectory where it would be by now."""
    arm, follower, _ = make_arm()
    follower.follow(Trajectory(("a",), (Knot(1.0, np.array([1.1])),), 0.5))
    arm.run(follower, 50)
    assert arm.positions[0] == 0.1
    arm.run(follower, 50)
    assert arm.positions[0] == pytest.approx(0.6)

    follower.follow(Trajectory(("a",), (Knot(0.5, np.array([9.0])), Knot(2.0, np.array([0.0]))), 0.0))
    arm.run(follower, 200)
    assert arm.positions[0] == pytest.approx(0.0)


def test_reset_ends_every_motion():
    """Nothing is commanded any more."""
    arm, follower, _ = make_arm()
    follower.follow(Trajectory(("a",), (Knot(1.0, np.array([1.1])),), None))
    arm.run(follower, 50)
    follower.forget()
    arm.run(follower, 100)
    assert arm.positions[0] == pytest.approx(0.6)


# --- segments that leave the limits


@given(gaps, st.integers(1, 2), st.data())
def test_segments_are_refused_exactly_where_they_leave_the_limits(gaps, derivatives, data):
    """The extremes are those of SciPy's interpolant, looked at closely."""
    times = np.concatenate([[0.0], np.cumsum(gaps)])
    knots = [
        Knot(t, *(np.array([data.draw(values)]) for _ in range(derivatives + 1))) for t in times.tolist()
    ]
    rows = [
        [column[0] for column in (knot.positions, knot.velocities, knot.accelerations) if column is not None]
        for knot in knots
    ]
    curve = BPoly.from_derivatives(times, rows)
    path = np.concatenate([curve(np.linspace(a, b, 2001)) for a, b in pairwise(times)])
    trajectory = Trajectory(("a",), tuple(knots), None)
    # Between two of 2001 samples a quintic of this size rises by less than 1e-3.
    room = 1e-3
    check_between_knots(trajectory, {"a": (path.min() - room, path.max() + room)})
    for limits in ((path.min() + 1e-6, math.inf), (-math.inf, path.max() - 1e-6)):
        with pytest.raises(InputError, match="swings out"):
            check_between_knots(trajectory, {"a": limits})


def test_limits_are_those_that_commands_are_held_to(tmp_path):
    """Also behind a floating joint, which has more coordinates than velocities."""
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    (tmp_path / "lever.urdf").write_text(
        f'<robot name="lever"><link name="base">{inertial}</link><link name="bar">{inertial}</link>'
        '<joint name="hinge" type="revolute"><parent link="base"/><child link="bar"/><axis xyz="1 0 0"/>'
        '<limit lower="-0.5" upper="1.5" effort="1" velocity="1"/></joint></robot>'
    )
    scene = {
        "name": "lever",
        "models": [{"name": "lever", "urdf": "lever.urdf", "base": "floating"}],
        "actuators": [{"joints": ["hinge"], "kp": 1.0, "kd": 1.0, "mode": "position"}],
    }
    (tmp_path / "lever.yaml").write_text(json.dumps(scene))
    world = hs.load_scene(tmp_path / "lever.yaml")
    ((name, (lower, upper)),) = position_limits(world).items()
    for inside, outside in ((lower, lower - 1e-9), (upper, upper + 1e-9)):
        world.check_command({name: inside}, mode="position")
        with pytest.raises(InputError, match="outside its limits"):
            world.check_command({name: outside}, mode="position")


def test_segment_that_swings_out_names_joint_and_segment():
    """Both ends are inside; what lies between is not."""
    knots = (
        Knot(1.0, np.array([0.0, 2.2]), np.array([0.0, 100.0])),
        Knot(2.0, np.array([0.0, 0.5]), np.array([0.0, 0.0])),
    )
    with pytest.raises(InputError) as caught:
        check_between_knots(Trajectory(("a", "b"), knots, None), dict.fromkeys("ab", (-2.24, 2.24)))
    assert caught.value.element == "joint 'b' between points[0] and points[1]"


@pytest.mark.parametrize(
    "columns", [(0.5, 1e308), (0.5, 0.0, 1e308), (1e308, 1e308, 1e308), (0.5, 1e308, -1e308)]
)
def test_segment_that_overflows_is_refused(columns):
    """On a joint without limits too."""
    huge = Knot(1e-3, *(np.array([value]) for value in columns))
    rest = Knot(9.0, *(np.zeros(1) for _ in columns))
    with pytest.raises(InputError, match="overflows"):
        check_between_knots(Trajectory(("a",), (huge, rest), None), FREE)


def test_segment_that_ends_on_its_limits_is_followed():
    """Rounding is no reason to refuse, and what is commanded is inside to the last bit."""
    lower, upper = 0.1, 0.7
    limits = {**FREE, "a": (lower, upper)}
    arm, follower, refused = make_arm(limits)
    knots = [Knot(0.3 * (i + 1), np.array([x]), np.zeros(1)) for i, x in enumerate((upper, lower, upper))]
    trajectory = Trajectory(("a",), tuple(knots), None)
    check_between_knots(trajectory, limits)
    follower.follow(trajectory)
    for _ in range(100):
        arm.run(follower, 1)
        assert lower <= arm.positions[0] <= upper
    assert arm.positions[0] == upper
    assert not refused


def test_way_to_the_first_point_is_checked_when_it_is_known():
    """A trajectory that cannot be joined from here is refused; the one under way goes on."""
    arm, follower, refused = make_arm({**FREE, "a": (-2.0, 2.0)})
    follower.follow(Trajectory(("a",), (Knot(1.0, np.array([1.1])),), None))
    arm.run(follower, 50)
    fast = Knot(1.0, np.array([1.9]), np.array([100.0]))
    rest = Knot(1.01, np.array([1.95]), np.array([0.0]))
    follower.follow(Trajectory(("a",), (fast, rest), None))
    arm.run(follower, 100)
    assert [error.element for error in refused] == ["joint 'a' on the way to its first point"]
    assert arm.positions[0] == pytest.approx(1.1)


def test_joint_pressed_beyond_its_limit_can_still_move():
    """The motion begins at the limit."""
    arm, follower, refused = make_arm({**FREE, "a": (0.15, 2.0)})
    follower.follow(Trajectory(("a",), (Knot(1.0, np.array([1.15])),), None))
    arm.run(follower, 50)
    assert not refused
    assert arm.positions[0] == pytest.approx(0.65)


def test_follower_never_raises_in_the_stepping_thread(monkeypatch):
    """A command that the World refuses after all ends the motion, is told once, and the joints hold."""
    arm, follower, refused = make_arm()
    follower.follow(Trajectory(("a",), (Knot(1.0, np.array([1.1])),), None))
    arm.run(follower, 50)

    def refuse(*_, **__):
        raise InputError("command", "joint 'a'", "is refused", "ask for less")

    with monkeypatch.context() as patch:
        patch.setattr(arm, "command_joints", refuse)
        arm.run(follower, 10)
    arm.run(follower, 100)
    assert len(refused) == 1
    assert arm.positions[0] == pytest.approx(0.6)


# --- messages


def _message(*points, joints=("a", "b")):
    return JointTrajectory(joint_names=list(joints), points=list(points))


def _point(seconds, positions, velocities=(), accelerations=(), effort=()):
    return JointTrajectoryPoint(
        positions=list(positions),
        velocities=list(velocities),
        accelerations=list(accelerations),
        effort=list(effort),
        time_from_start=Duration(sec=seconds),
    )


@pytest.mark.parametrize(
    ("message", "element"),
    [
        (
            _message(
                _point(1, [0.0]),
            ),
            "points[0].positions",
        ),
        (_message(_point(1, [], [0.0, 0.0])), "points[0].positions"),
        (_message(_point(1, [0.0, 0.0], [0.0])), "points[0].velocities"),
        (_message(_point(1, [0.0, 0.0], [0.0, float("inf")])), "points[0].velocities"),
        (_message(_point(1, [0.0, 0.0], (), [0.0, 0.0])), "points[0]"),
        (_message(_point(1, [0.0, 0.0], effort=[1.0, 1.0])), "points[0].effort"),
        (_message(_point(1, [0.0, 0.0], [0.0, 0.5])), "points"),
        (_message(_point(-1, [0.0, 0.0])), "points[0]"),
        (_message(_point(2, [0.0, 0.0]), _point(1, [0.0, 0.0])), "points[1]"),
    ],
)
def test_malformed_trajectory_names_its_element(message, element):
    """The error says which point and which field."""
    with pytest.raises(InputError) as caught:
        parse_trajectory(message, 0.0)
    assert caught.value.element == element


@pytest.mark.parametrize("now", [0.0, 250.0])
def test_stamp_of_the_wall_clock_is_refused(now):
    """It would wait for half a century; the line says what to set. Hours ahead are a plan."""
    message = JointTrajectory(joint_names=["a"], points=[JointTrajectoryPoint(positions=[0.1])])
    message.header.stamp = Time(sec=1_790_000_000)
    with pytest.raises(InputError, match="use_sim_time"):
        parse_trajectory(message, now)
    message.header.stamp = Time(sec=20_000)
    assert parse_trajectory(message, now).start_time == 20_000.0
