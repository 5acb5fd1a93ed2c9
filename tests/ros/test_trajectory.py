"""Trajectories: what lies between the points, and what is refused."""

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BPoly
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hydro_sim.trajectory import Knot, Motion, Trajectory, TrajectoryFollower, parse_trajectory
from hydro_sim_core.errors import InputError

values = st.floats(-10.0, 10.0)
gaps = st.lists(st.floats(0.05, 3.0), min_size=1, max_size=5)


class ArmStub:
    """Stands in for a World: perfect drives, so that what is commanded is where the joints are."""

    time_step = 0.01
    joint_names = ("a", "b", "c")

    def __init__(self):
        self.step_count = 0
        self.positions = np.array([0.1, 0.2, 0.3])

    @property
    def time(self):
        return self.step_count * self.time_step

    def joint_positions(self):
        return self.positions.copy()

    def joint_velocities(self):
        return np.zeros(3)

    def set_command(self, values, mode, joints):
        assert mode == "position"
        for name, value in zip(joints, values, strict=True):
            self.positions[self.joint_names.index(name)] = value

    def run(self, follower, steps):
        for _ in range(steps):
            follower(self)
            self.step_count += 1


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
    motion = Motion(Trajectory(("a",), tuple(knots[1:]), None), 0.0, 0.0, knots[0])
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
    arm, follower = ArmStub(), TrajectoryFollower(ArmStub.joint_names)
    follower.follow(Trajectory(("c",), (Knot(1.0, np.array([1.3])),), None))
    arm.run(follower, 50)
    assert arm.positions == pytest.approx([0.1, 0.2, 0.8])
    arm.run(follower, 100)
    assert arm.positions == pytest.approx([0.1, 0.2, 1.3])


def test_new_trajectory_takes_over_without_a_jump():
    """It goes on from what the old one asked for at that moment."""
    arm, follower = ArmStub(), TrajectoryFollower(ArmStub.joint_names)
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
    arm, follower = ArmStub(), TrajectoryFollower(ArmStub.joint_names)
    follower.follow(Trajectory(("a",), (Knot(1.0, np.array([1.1])),), 0.5))
    arm.run(follower, 50)
    assert arm.positions[0] == 0.1
    arm.run(follower, 50)
    assert arm.positions[0] == pytest.approx(0.6)

    follower.follow(Trajectory(("a",), (Knot(0.5, np.array([9.0])), Knot(2.0, np.array([0.0]))), 0.0))
    arm.run(follower, 200)
    assert arm.positions[0] == pytest.approx(0.0)


def test_stop_holds_the_last_command():
    """After stop nothing is commanded any more."""
    arm, follower = ArmStub(), TrajectoryFollower(ArmStub.joint_names)
    follower.follow(Trajectory(("a",), (Knot(1.0, np.array([1.1])),), None))
    arm.run(follower, 50)
    follower.stop()
    arm.run(follower, 100)
    assert arm.positions[0] == pytest.approx(0.6)


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
