"""Drives, end stops, damping, friction and mimic joints of single joints against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hydro_sim_core as hs
from hydro_sim_core.description.model_builder import ModelBuilder
from hydro_sim_core.simulation.stepping.joint_forces import SPEED_LIMIT_STIFFNESS
from support.simulation.made_scenes import CONFIG, URDF, Robot, fixed, make_world, slider

M = 2.0
STILL = {"gravity": [0.0, 0.0, 0.0]}


def driven(kp: float, kd: float, cart: Robot | None = None, **sections) -> hs.World:
    """A cart under position control."""
    actuators = [{"joints": ["rail_joint"], "mode": "position", "kp": kp, "kd": kd}]
    return make_world(fixed(cart or slider(M)), actuators=actuators, **{**STILL, **sections})


# --- drives


@given(effort=st.floats(-1e6, 1e6))
@settings(max_examples=20, deadline=None)
def test_effort_saturates_at_exactly_the_limit(effort: float) -> None:
    """The drive reports, and the cart feels, min(|effort|, limit)."""
    world = make_world(fixed(slider(M, effort=10)), **STILL)
    world.set_command([effort])
    world.step(5)
    assert world.joint_efforts()[0] == pytest.approx(np.clip(effort, -10.0, 10.0), rel=1e-14)
    assert world.v[0] == pytest.approx(5e-3 * np.clip(effort, -10.0, 10.0) / M, rel=1e-7)


def test_effort_limit_of_a_drive_replaces_that_of_its_joint() -> None:
    """A stiff position drive far from its target pulls with exactly its own limit."""
    cart = slider(M, effort=10)
    actuators = [{"joints": ["rail_joint"], "kp": 1e5, "kd": 10.0, "effort_limit": 3.0}]
    world = make_world(fixed(cart), actuators=actuators, **STILL)
    world.set_command([50.0], "position")
    world.step(10)
    assert world.joint_efforts()[0] == 3.0


@pytest.mark.parametrize("model", ["lagged", "continuous"])
def test_drive_does_not_push_beyond_the_velocity_limit(model: str) -> None:
    """Pushed on, the cart runs at the limit but for a thousandth of what the push adds in a step."""
    cart = slider(M, effort=10, velocity=0.5)
    world = make_world(fixed(cart), **{**STILL, "solver": {"model": model}})
    world.set_command([10.0])
    speeds = []
    for _ in range(400):
        world.step()
        speeds.append(world.v[0])
    excess = 10.0 * world.time_step / M / SPEED_LIMIT_STIFFNESS
    assert speeds[-1] - 0.5 == pytest.approx(excess, rel=0.1)
    assert max(speeds) - 0.5 <= 1.1 * excess


@pytest.mark.heavy(2)
@pytest.mark.parametrize("commanded", [1.0, 3.0, 1e6, -3.0])
def test_a_wrist_does_not_outrun_its_velocity_limit(commanded: float) -> None:
    """A joint whose drive could add several times the limit in one step; told to go on for ever."""
    world = hs.load_scene(CONFIG / "spatula_slip.yaml")
    world.set_command({"joint_7": commanded}, "velocity")
    i = world.joint_names.index("joint_7")
    limit = 1.2218
    speeds = []
    for _ in range(300):
        world.step()
        speeds.append(world.joint_velocities()[i])
    # The arm that carries it moves a little, and with it the joint.
    assert abs(speeds[-1]) == pytest.approx(min(abs(commanded), limit), rel=0.02)
    assert max(np.abs(speeds)) < 1.02 * limit


@pytest.mark.parametrize("effort", [10.0, 0.0])
def test_velocity_limit_takes_no_speed_from_a_joint_that_has_it(effort: float) -> None:
    """The limit is the drive's, not the joint's: what is ten times too fast coasts, pushed on or not."""
    world = make_world(fixed(slider(M, effort=10, velocity=0.5)), **STILL)
    world.set_state(world.q, [5.0])
    world.set_command([effort])
    world.step(100)
    assert world.v[0] == pytest.approx(5.0, rel=1e-12)


def test_drive_brakes_beyond_the_velocity_limit_as_it_is_told() -> None:
    """Against the motion the whole effort is there."""
    world = make_world(fixed(slider(M, effort=10, velocity=0.5)), **STILL)
    world.set_state(world.q, [5.0])
    world.set_command([-10.0])
    world.step(100)
    assert world.v[0] == pytest.approx(5.0 - 10.0 / M * 0.1, rel=1e-9)


@pytest.mark.parametrize(("kp", "kd"), [(200.0, 8.0), (50.0, 40.0)])
def test_position_drive_follows_the_second_order_response(kp: float, kd: float) -> None:
    """m x'' + kd x' + kp x = kp x_d; the error halves with the step. Under- and overdamped."""
    errors = []
    t = 0.4
    roots = np.roots([M, kd, kp]).astype(complex)
    exact = (
        1.0
        + ((roots[1] * np.exp(roots[0] * t) - roots[0] * np.exp(roots[1] * t)) / (roots[0] - roots[1])).real
    )
    for dt in (2e-3, 1e-3, 5e-4):
        world = driven(kp, kd, time_step=dt)
        world.set_command({"rail_joint": 1.0}, "position")
        world.step(round(t / dt))
        errors.append(abs(world.q[0] - exact))
    assert errors[2] < 3e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.1)


def test_stiff_position_drive_is_stable() -> None:
    """Implicit gains: a natural frequency far above the rate of steps settles instead of ringing."""
    world = driven(1e9, 1e3, time_step=1e-2)
    world.set_command([0.1], "position")
    world.step(200)
    assert world.q[0] == pytest.approx(0.1, abs=1e-6)
    assert abs(world.v[0]) < 1e-6


def test_velocity_drive_approaches_its_target() -> None:
    """First-order lag m / kd, exactly the implicit solution."""
    actuators = [{"joints": ["rail_joint"], "mode": "velocity", "kd": 20.0}]
    world = make_world(fixed(slider(M)), actuators=actuators, **STILL)
    world.set_command([0.3], "velocity")
    world.step(100)
    assert world.v[0] == pytest.approx(0.3 * (1.0 - (1.0 + 1e-3 * 20.0 / M) ** -100), rel=1e-6)


def test_gravity_compensation_holds_an_arm_still() -> None:
    """Without it, the same drives let the arm sag."""
    drift = {}
    for compensated in (True, False):
        joints = [f"joint_{k}" for k in range(1, 8)]
        scene = hs.SceneBuilder("arm")
        start = dict(zip(joints, [0.2, 0.6, 0.1, -1.2, 0.3, 0.9, 0.4], strict=True))
        arm = URDF / "kinova_gen3_7dof.urdf.xacro"
        scene.add_urdf(arm, "arm", positions=start, gravity_compensation=compensated)
        scene.add_actuators(joints, kp=2000.0, kd=100.0)
        world = hs.World(scene.build())
        start = world.q
        world.step(1000)
        drift[compensated] = np.abs(world.q - start).max()
    assert drift[True] < 1e-6
    assert drift[False] > 1e-3


# --- what the joint itself resists with


def test_damping_decays_as_the_implicit_solution() -> None:
    """v_n = v_0 / (1 + dt d / m)^n, which tends to exp(-d t / m)."""
    world = make_world(fixed(slider(M, damping=6)), **STILL)
    world.set_state(world.q, [1.5])
    world.step(500)
    assert world.v[0] == pytest.approx(1.5 * (1.0 + 1e-3 * 6.0 / M) ** -500, rel=1e-6)
    assert world.v[0] == pytest.approx(1.5 * np.exp(-6.0 / M * 0.5), rel=3e-3)


def test_joint_friction_slows_evenly_and_then_holds() -> None:
    """v = v_0 - f t / m until it stands; then it holds against less than f but for creep."""
    world = make_world(fixed(slider(M, friction=3)), **STILL)
    world.set_state(world.q, [1.0])
    world.step(400)
    assert world.v[0] == pytest.approx(1.0 - 3.0 / M * 0.4, rel=1e-6)
    world.step(600)
    assert abs(world.v[0]) < 1e-6
    world.set_command([1.8])
    world.step(500)
    assert world.v[0] == pytest.approx(1e-4 * 0.6 / 0.8, rel=1e-4)
    world.set_command([4.0])
    before = world.v[0]
    world.step(500)
    assert world.v[0] - before == pytest.approx(0.5 * (4.0 - 3.0) / M, rel=1e-2)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_end_stop_of_given_stiffness_is_a_spring(side: float) -> None:
    """At rest the joint is beyond its limit by effort / stiffness."""
    cart = slider(M, lower=-0.1, upper=0.2, stiffness=5000, damping=60)
    world = make_world(fixed(cart), **STILL)
    world.set_command([side * 20.0])
    world.step(3000)
    limit = 0.2 if side > 0 else -0.1
    assert world.q[0] - limit == pytest.approx(side * 20.0 / 5000.0, rel=1e-6)


@pytest.mark.parametrize(
    "solver",
    [
        {"model": "continuous", "accuracy": 1e-6},
        {"model": "soft", "soft": {"scheme": "rk4"}},
        {"model": "soft", "soft": {"scheme": "euler"}},
    ],
)
def test_end_stop_of_given_stiffness_gives_back_what_it_takes_where_no_step_is_implicit(solver: dict) -> None:
    """The cart comes with 10 m/s; a damper as that of the fixed step left it 9 m/s at 1 ms."""
    world = make_world(fixed(slider(M, lower=-0.1, upper=9.0, stiffness=2e4)), solver=solver, **STILL)
    world.set_state([0.0], [-10.0])
    deepest = 0.0
    for _ in range(60):
        world.step()
        deepest = max(deepest, -0.1 - world.q[0])
    assert world.v[0] == pytest.approx(10.0, rel=2e-3)
    assert deepest == pytest.approx(10.0 * np.sqrt(M / 2e4), rel=1e-2)


def test_rigid_end_stop_gives_way_by_a_part_of_a_step() -> None:
    """Without stiffness the stop is as stiff as the step allows: f (dt / 2 pi)^2 (1 + 1 / pi) / m at rest."""
    cart = slider(M, lower=-0.1, upper=0.2)
    world = make_world(fixed(cart), **STILL)
    world.set_command([500.0])
    deepest = 0.0
    for _ in range(400):
        world.step()
        deepest = max(deepest, world.q[0] - 0.2)
    dt = world.time_step
    rest = 500.0 / M * (dt / (2.0 * np.pi)) ** 2 * (1.0 + 1.0 / np.pi)
    assert world.q[0] - 0.2 == pytest.approx(rest, rel=1e-5)
    # It arrives at 10 m/s, 10 mm a step, and is stopped within a step.
    assert deepest < 10e-3


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("time_step", [1e-4, 1e-3, 1e-2])
def test_a_rigid_end_stop_brings_back_slowly_what_was_set_beyond_it(side: float, time_step: float) -> None:
    """And does not shoot it off: 10 mm in a step of 1 ms came out with 7.4 m/s."""
    cart = slider(M, lower=-0.2, upper=0.2)
    world = make_world(fixed(cart), time_step=time_step, **STILL)
    world.set_state([side * 0.21], [0.0])
    fastest = 0.0
    for _ in range(round(0.05 / time_step)):
        world.step()
        fastest = max(fastest, abs(world.v[0]))
    assert fastest == pytest.approx(0.2, rel=1e-2)
    assert side * world.q[0] == pytest.approx(0.2, abs=2e-4)


def mimic_pair() -> Robot:
    """Two carts; the second goes -2 times as far as the first, plus 0.1 m."""

    def describe(model: ModelBuilder) -> None:
        model.add_link("rail")
        for name, mass, values in (
            ("first", 1.0, {"damping": 0.5}),
            ("second", 3.0, {"mimic": "first_joint", "multiplier": -2, "offset": 0.1}),
        ):
            model.add_link(name, mass, inertia=(1.0, 1.0, 1.0))
            limits = {"lower": -9, "upper": 9, "effort": 100, "velocity": 1e9}
            model.add_joint(f"{name}_joint", "prismatic", "rail", name, axis=(1, 0, 0), **limits, **values)

    return Robot("pair", describe)


def test_mimic_joints_move_together() -> None:
    """One coordinate with the inertia of both: m_1 + 4 m_2; poses, positions and rates keep the ratio."""
    world = make_world(fixed(mimic_pair()), **STILL)
    assert world.joint_names == ("first_joint", "second_joint")
    assert world.actuated_joint_names == ("first_joint",)
    assert len(world.v) == 1
    world.set_command([26.0])
    world.step(100)
    assert world.v[0] == pytest.approx(0.1 * 26.0 / 13.0, rel=1e-2)
    first, second = world.joint_positions()
    assert second == pytest.approx(-2.0 * first + 0.1, abs=1e-14)
    np.testing.assert_allclose(world.joint_velocities(), [world.v[0], -2.0 * world.v[0]], rtol=1e-14)
    np.testing.assert_allclose(world.joint_efforts(), [26.0, 0.0], rtol=1e-14)
    assert world.frame_pose("second")[0, 3] == pytest.approx(second, abs=1e-14)
