"""Cartesian velocities: in which axes they are, and what happens near stops and singular postures."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import Twist, TwistStamped, Vector3
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from hydro_sim.controllers.forward import ForwardController
from hydro_sim.controllers.hold import HoldController
from hydro_sim.controllers.twist import TwistController, find_tool
from hydro_sim_core.dynamics.resolved_rate import HAND_LENGTH, joint_rates
from hydro_sim_core.errors import InputError
from support.ros.arms import BENT, JOINTS, Bench, gen3

TOOL = "end_effector_link"
FREE = np.full(7, np.inf)


class TwistBench(Bench):
    """An arm moved by twists of its tool."""

    def __init__(self, world):
        super().__init__(world)
        self.hold = self.add(HoldController(world, self.arbiter))
        self.twists = self.add(TwistController(TOOL, JOINTS, "world", world, self.arbiter, self.hold))

    def send(self, linear=(0.0, 0.0, 0.0), angular=(0.0, 0.0, 0.0), frame=None):
        twist = Twist(linear=_vector(linear), angular=_vector(angular))
        if frame is None:
            self.twists.check(twist)(self.world)
        else:
            message = TwistStamped(twist=twist)
            message.header.frame_id = frame
            self.twists.check_stamped(message)(self.world)

    @property
    def pose(self):
        return self.world.frame_pose(TOOL)

    @property
    def twist(self):
        """Angular and linear velocity of the tool in the world."""
        return self.world.frame_jacobian(TOOL) @ self.world.v


def _vector(values):
    return Vector3(**dict(zip("xyz", map(float, values), strict=True)))


@pytest.fixture(scope="module", params=[True, False], ids=["compensated", "heavy"])
def world(request):
    return gen3(gravity_compensation=request.param)


@pytest.fixture
def arm(world):
    world.reset()
    return TwistBench(world)


# --- velocities that give a twist


@given(st.integers(0, 2**32 - 1))
def test_rates_within_bounds_are_the_least_that_give_the_twist(seed):
    """Away from singular postures: those of the pseudo-inverse."""
    random = np.random.default_rng(seed)
    J, twist = random.normal(size=(6, 7)), random.normal(size=6)
    if np.linalg.svd(J)[1][-1] > 0.2:
        assert joint_rates(J, twist, -FREE, FREE) == pytest.approx(
            np.linalg.pinv(J) @ twist, rel=1e-3, abs=1e-3
        )


@given(st.integers(0, 2**32 - 1))
def test_bounded_rates_stay_within_and_come_as_close_as_may_be(seed):
    """Beside SciPy's bounded least squares: never closer than it, and the same where nothing is at a bound."""
    random = np.random.default_rng(seed)
    J, twist = random.normal(size=(6, 7)), random.normal(size=6)
    if np.linalg.svd(J)[1][-1] < 0.2:
        return
    bounds = random.uniform(0.1, 2.0, size=7)
    rates = joint_rates(J, twist, -bounds, bounds)
    assert np.all(np.abs(rates) <= bounds)
    weights = np.array([HAND_LENGTH] * 3 + [1.0] * 3)
    best = lsq_linear(weights[:, None] * J, weights * twist, (-bounds, bounds))
    error = 0.5 * np.sum((weights * (J @ rates - twist)) ** 2)
    assert error >= best.cost - 1e-9
    if np.all(np.abs(np.linalg.pinv(J) @ twist) < bounds):
        assert error == pytest.approx(0.0, abs=1e-6)


@given(st.floats(0.0, 0.2), st.floats(0.0, 2 * math.pi))
def test_rates_change_smoothly_through_a_singular_posture(size, angle):
    """Also between damped and undamped: a small step of the posture is a small step of the velocities."""
    twist = np.zeros(6)
    twist[3:5] = math.cos(angle), math.sin(angle)
    step = 1e-5

    def rates(smallest):
        J = np.diag([1.0, 1.0, 1.0, 1.0, smallest, 1.0])
        return joint_rates(J, twist, -np.full(6, np.inf), np.full(6, np.inf))

    assert np.abs(rates(size + step) - rates(size)).max() < 0.05
    assert np.abs(rates(size)).max() < 40.0


# --- the arm


@pytest.mark.heavy(2)
def test_twist_without_a_frame_is_in_the_axes_of_the_tool(arm):
    """As Kinova's driver sends it to the arm."""
    before = arm.pose
    arm.send(linear=(0.0, 0.0, 0.05))
    arm.step(1000)
    moved = before[:3, :3].T @ (arm.pose[:3, 3] - before[:3, 3])
    assert moved == pytest.approx([0.0, 0.0, 0.05], abs=1.5e-3)
    assert arm.pose[:3, :3] == pytest.approx(before[:3, :3], abs=5e-3)


@pytest.mark.heavy(3)
@pytest.mark.parametrize("frame", ["", "world", "base_link"])
def test_stamped_twist_is_in_the_axes_of_its_frame(arm, frame):
    before = arm.pose
    arm.send(linear=(0.0, 0.05, 0.0), frame=frame)
    arm.step(1000)
    assert arm.pose[:3, 3] - before[:3, 3] == pytest.approx([0.0, 0.05, 0.0], abs=1.5e-3)


def test_angular_part_turns_the_tool_about_its_origin(arm):
    before = arm.pose
    arm.send(angular=(0.0, 0.2, 0.0), frame=TOOL)
    arm.step(50)
    expected = before[:3, :3] @ [0.0, 0.2, 0.0]
    assert arm.twist[:3] == pytest.approx(expected, abs=0.01)
    assert np.abs(arm.twist[3:]).max() < 5e-3


@pytest.mark.heavy(2)
def test_stretched_arm_stays_within_its_speeds_and_does_not_jump(arm):
    """Pulled beyond its reach it slows down; drives are never told to jump."""
    limits = arm.world.built.assembly.tree.velocity_limit
    arm.send(linear=(0.0, 0.0, 0.4), frame="world")
    told = []
    for _ in range(2000):
        arm.step()
        told.append(arm.world.drive_targets()[1])
    told = np.array(told)
    assert np.all(np.abs(told) <= limits + 1e-12)
    assert np.all(np.abs(np.diff(told, axis=0)) < 0.05 * limits)
    assert np.linalg.norm(arm.world.v) < 0.3
    assert np.isfinite(arm.world.q).all()


@pytest.mark.heavy(2)
def test_joint_at_its_stop_stays_there_and_others_make_up_for_it(arm):
    """No joint is driven beyond its limits."""
    tree = arm.world.built.assembly.tree
    q, v = arm.world.q.copy(), arm.world.v
    q[3] = tree.q_upper[3] - 0.05 if BENT["joint_4"] > 0 else tree.q_lower[3] + 0.05
    arm.world.set_state(q, v)
    arm.send(linear=(-0.2, 0.0, 0.0), frame="world")
    for _ in range(800):
        arm.step()
        assert np.all(arm.world.q >= tree.q_lower - 1e-3)
        assert np.all(arm.world.q <= tree.q_upper + 1e-3)


def test_arm_that_loses_a_joint_stops(arm):
    """What is left of it holds."""
    arm.send(linear=(0.0, 0.0, 0.1))
    arm.step(300)
    forward = ForwardController("effort", ("joint_7",), arm.world, arm.arbiter)
    arm.arbiter.take(forward, ["joint_7"], arm.world.time)
    arm.step(300)
    there = arm.world.q
    arm.step(300)
    assert arm.world.q[:6] == pytest.approx(there[:6], abs=1e-4)


# --- what is refused


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_twist_that_is_not_finite_is_refused(arm, bad):
    with pytest.raises(InputError, match="is not finite"):
        arm.send(angular=(0.0, bad, 0.0))


def test_unknown_frame_is_refused_with_a_proposal(arm):
    with pytest.raises(InputError) as caught:
        arm.send(frame="base_lnk")
    assert "base_link" in caught.value.mend


def test_tool_is_the_usual_one_or_the_one_asked_for(world):
    assert find_tool(world, "", JOINTS) == TOOL
    assert find_tool(world, "forearm_link", JOINTS) == "forearm_link"
    assert find_tool(world, "", JOINTS[:3]) == TOOL
    assert find_tool(world, "", ()) is None
    for asked in ("hand", "base_link"):
        with pytest.raises(InputError) as caught:
            find_tool(world, asked, JOINTS)
        assert caught.value.element == "twist_link"
