"""The continuous model against closed forms, conservation laws and the limit of ever shorter convex steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hydro_sim_core as hs
from hydro_sim_core.description import load_scene
from hydro_sim_core.description.model_builder import ModelBuilder
from hydro_sim_core.dynamics import TreeEvaluator
from hydro_sim_core.experiments.flat_box import FlatBox
from hydro_sim_core.simulation.integrators.continuous_forces import pressed_part, state_derivative
from hydro_sim_core.simulation.stepping import machine
from support.simulation.made_scenes import (
    CONFIG,
    GROUND,
    G,
    Robot,
    add_solid,
    box,
    fixed,
    free,
    make_world,
    slider,
    snake,
    sphere,
)

CONTINUOUS = {"model": "continuous"}
STILL = [0.0, 0.0, 0.0]


def energy(world: hs.World) -> float:
    """Kinetic and potential, J."""
    evaluator = TreeEvaluator(world.built.model.tree).update(world.q)
    return evaluator.kinetic_energy(world.v) + evaluator.potential_energy()


def test_a_projectile_flies_the_exact_parabola() -> None:
    """No error of first order is left."""
    world = make_world(free(box("brick", (0.2, 0.1, 0.05), 1.0), (0, 0, 10)), solver=CONTINUOUS)
    world.set_state(world.q, [0, 0, 0, 3.0, -2.0, 5.0])
    world.step(900)
    t = world.time
    np.testing.assert_allclose(world.q[4:], [3.0 * t, -2.0 * t, 10.0 + 5.0 * t - G * t**2 / 2], atol=1e-11)


def test_torque_free_spin_keeps_energy_and_momentum() -> None:
    """An asymmetric body that tumbles for a second; its quaternion stays of unit length."""
    top = Robot("top", lambda model: model.add_link("top", 1.0, inertia=(0.02, 0.03, 0.045)))
    world = make_world(free(top), gravity=STILL, solver={**CONTINUOUS, "accuracy": 1e-8})
    world.set_state(world.q, [1.0, 4.0, 0.5, 0, 0, 0])
    evaluator = TreeEvaluator(world.built.model.tree)
    before, momentum = energy(world), evaluator.update(world.q).momentum(world.v)
    world.step(1000)
    assert energy(world) == pytest.approx(before, rel=1e-8)
    np.testing.assert_allclose(evaluator.update(world.q).momentum(world.v), momentum, atol=1e-8)
    assert np.linalg.norm(world.q[:4]) == pytest.approx(1.0, abs=1e-15)


def test_a_drive_follows_the_damped_oscillator() -> None:
    """m x'' = kp (x* - x) - kd x', solved in closed form."""
    mass, kp, kd, target = 2.0, 200.0, 4.0, 0.1
    actuator = {"joints": ["rail_joint"], "mode": "position", "kp": kp, "kd": kd}
    world = make_world(fixed(slider(mass)), actuators=[actuator], solver=CONTINUOUS, gravity=STILL)
    world.set_command([target], mode="position")
    world.step(399)
    v = world.v[0]
    world.step()
    decay, omega = kd / (2 * mass), np.sqrt(kp / mass - (kd / (2 * mass)) ** 2)
    t = world.time
    x = target * (1 - np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t)))
    assert world.q[0] == pytest.approx(x, abs=1e-8)
    # The effort that is told is the mean over the last step.
    assert world.joint_efforts()[0] == pytest.approx(mass * (world.v[0] - v) / world.time_step, rel=1e-9)


def test_a_drive_saturates() -> None:
    """Far from its target the cart is pushed with the effort limit: x = F t^2 / 2 m."""
    cart = slider(2.0, effort=10)
    actuator = {"joints": ["rail_joint"], "mode": "position", "kp": 1e4, "kd": 0.0}
    world = make_world(fixed(cart), actuators=[actuator], solver=CONTINUOUS, gravity=STILL)
    world.set_command([100.0], mode="position")
    world.step(500)
    assert world.q[0] == pytest.approx(10.0 * 0.5**2 / (2 * 2.0), rel=1e-9)


def test_damping_and_friction_of_a_joint() -> None:
    """m v' = -c v - f from v0 until it stops."""
    cart = slider(2.0, damping=3.0, friction=1.5)
    world = make_world(fixed(cart), solver=CONTINUOUS, gravity=STILL)
    world.set_state(world.q, [1.0])
    world.step(300)
    v = (1.0 + 1.5 / 3.0) * np.exp(-3.0 / 2.0 * world.time) - 1.5 / 3.0
    assert world.v[0] == pytest.approx(v, rel=1e-6)
    world.step(700)
    assert abs(world.v[0]) < 1e-6


@pytest.mark.parametrize("stiffness", [None, 1e4])
def test_an_end_stop_holds_the_cart(stiffness: float | None) -> None:
    """It rests behind a soft stop by F / k, and behind a hard one as deep as with the convex models."""
    cart = slider(2.0, upper=0.05, stiffness=stiffness, damping=200)
    world = make_world(fixed(cart), solver=CONTINUOUS, gravity=STILL)
    world.set_command([20.0])
    world.step(1000)
    rigid = 2.0 * (2.0 * np.pi / world.time_step) ** 2 / (1.0 + 1.0 / np.pi)
    assert world.q[0] - 0.05 == pytest.approx(20.0 / (stiffness or rigid), rel=1e-6)
    assert abs(world.v[0]) < 1e-6


def test_a_block_slides_by_the_regularised_law_and_does_not_lift() -> None:
    """v' = -mu g v / sqrt(v^2 + s^2), so that sqrt(v^2 + s^2) - s arsinh(s / v) falls by mu g t."""
    slip, mu = 1e-2, 0.5
    slab = free(box("slab", (0.2, 0.15, 0.04), 2.0, modulus=1e6), (0, 0, 0.02))
    world = make_world(slab, environment=[GROUND], solver={**CONTINUOUS, "stiction_speed": slip})
    world.step(100)
    height = world.q[6]
    world.set_state(world.q, [0, 0, 0, 1.0, 0, 0])
    world.step(150)
    before, after = (np.hypot(v, slip) - slip * np.arcsinh(slip / v) for v in (1.0, world.v[3]))
    assert before - after == pytest.approx(mu * G * 0.15, rel=1e-5)
    assert abs(world.q[6] - height) < 1e-6
    (patch,) = world.contacts
    normal = np.linalg.norm(patch.normal_force_on_b)
    assert normal == pytest.approx(2.0 * G, rel=1e-3)  # it rocks a little
    assert np.linalg.norm(patch.force_on_b[:2]) == pytest.approx(mu * normal, rel=1e-3)


def sliding_ball(dt: float, **solver: Any) -> hs.World:
    """A ball on rails along x and z that meets the ground at a slant and leaves it again: it cannot turn."""

    def describe(model: ModelBuilder) -> None:
        model.add_link("rail")
        model.add_link("cart", 0.1, inertia=3 * (0.1,))
        add_solid(model, "ball", "sphere", 0.7, radius=0.1, inertia=3 * (0.01,), modulus=1e5, dissipation=1.0)
        limits = {"lower": -10, "upper": 10, "effort": 0, "velocity": 100}
        model.add_joint("along", "prismatic", "rail", "cart", axis=(1, 0, 0), **limits)
        model.add_joint("up", "prismatic", "cart", "ball", axis=(0, 0, 1), **limits)

    world = make_world(fixed(Robot("slanted", describe)), environment=[GROUND], time_step=dt, solver=solver)
    world.set_state([0.0, 0.105], [1.0, -1.0])
    return world


def test_convex_steps_converge_to_it_at_first_order() -> None:
    """Through an impact with damping and friction: half the step, half the distance."""
    exact = sliding_ball(1e-3, model="continuous", accuracy=1e-7)
    exact.step(40)
    assert exact.v[1] > 0.3
    assert exact.v[0] < 0.6
    errors = []
    for dt in (5e-4, 2.5e-4, 1.25e-4, 6.25e-5):
        world = sliding_ball(dt)
        world.step(round(0.04 / dt))
        errors.append(np.abs(np.concatenate((world.q - exact.q, world.v - exact.v))).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert errors[-1] < 5e-3
    np.testing.assert_allclose(orders, 1.0, atol=0.05)


def test_it_converges_with_the_accuracy() -> None:
    """Each of its answers is as good as asked for."""
    answers = []
    for accuracy in (1e-3, 1e-5, 1e-8):
        world = sliding_ball(1e-3, model="continuous", accuracy=accuracy)
        world.step(40)
        answers.append(np.concatenate((world.q, world.v)))
    assert np.abs(answers[0] - answers[2]).max() < 1e-3
    assert np.abs(answers[1] - answers[2]).max() < 1e-5


@pytest.mark.heavy(2)
@pytest.mark.parametrize("margin", [0.0, 1e-4])
def test_a_tumbling_box_bounces_without_losing_energy(margin: float) -> None:
    """On corners, edges and faces, without damping and friction: the wrench derives from the stored energy."""
    brick = free(
        box("brick", (0.2, 0.15, 0.08), 0.2, modulus=1e5, mu=0.0, dissipation=0.0),
        (0, 0, 0.25),
        (0.3, 0.4, 0),
    )
    solver = {**CONTINUOUS, "accuracy": 1e-6}
    world = make_world(brick, environment=[GROUND], contact={"margin": margin}, solver=solver)
    start, bounced = energy(world), 0
    for _ in range(600):
        touched = world.diagnostics()["faces"] > 0
        world.step()
        if world.diagnostics()["faces"] == 0:
            bounced += touched
            assert energy(world) == pytest.approx(start, rel=2e-6)
    assert bounced >= 2


@pytest.mark.parametrize("depth", [1e-6, 1e-4])
def test_forces_do_not_jump_where_a_flat_box_begins_to_tilt(depth: float) -> None:
    """The sides of one half of the box used to press as soon as it tilted by round-off."""
    box = FlatBox(1e6)
    world = box.world({**CONTINUOUS}, 1e-3, height=-depth)
    state, machine = np.concatenate([world.q, world.v]), world._machine
    rates = np.empty(len(state))
    found = []
    for turn in (0.0, 1e-15, -1e-15):
        state[1] = 0.5 * turn
        state_derivative(machine.handle, 1e-3, state, rates)
        found.append(rates[7:].copy())
    np.testing.assert_allclose(found[1:], found[:1] * np.ones((2, 1)), rtol=0.0, atol=1e-9)


def test_a_spinning_collision_keeps_momentum() -> None:
    """Two spheres with friction, off centre: linear and angular momentum stay, energy does not."""
    world = make_world(
        free(sphere("red", 0.1, 1.0, mu=0.8, modulus=1e5), (-0.12, 0, 0)),
        free(sphere("blue", 0.08, 0.4, mu=0.8, modulus=1e5), (0.1, 0.06, 0.02)),
        gravity=STILL,
        solver=CONTINUOUS,
    )
    world.set_state(world.q, [3.0, 1.0, -2.0, 1.0, 0.2, 0.0, -4.0, 2.0, 0.0, -2.0, 0.0, 0.1])
    evaluator = TreeEvaluator(world.built.model.tree)
    before, start = evaluator.update(world.q).momentum(world.v), energy(world)
    world.step(60)
    np.testing.assert_allclose(evaluator.update(world.q).momentum(world.v), before, atol=1e-7)
    assert energy(world) < 0.99 * start


# Products of the pressures must not underflow in the test's own integration.
@given(st.tuples(*(st.floats(-1.0, 1.0).map(lambda p: p if abs(p) > 1e-100 else 0.0),) * 3))
def test_the_pressed_part_of_a_triangle(pressures: tuple[float, float, float]) -> None:
    """Against the triangle clipped at zero pressure and integrated piece by piece, exactly."""
    mean, share, second, third = pressed_part(*pressures)
    corners = [*np.eye(3)]
    clipped = []
    for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
        p_a, p_b = np.dot(a, pressures), np.dot(b, pressures)
        clipped += [a] if p_a >= 0.0 else []
        clipped += [(p_b * a - p_a * b) / (p_b - p_a)] if p_a * p_b < 0.0 else []
    area, moments = 0.0, np.zeros(3)
    for k in range(1, len(clipped) - 1):
        piece = np.array([clipped[0], clipped[k], clipped[k + 1]])
        part = abs(np.linalg.det(piece))
        middles = 0.5 * (piece + np.roll(piece, 1, axis=0))
        area += part
        moments += part / 3.0 * (middles @ pressures) @ middles
    np.testing.assert_allclose(
        [mean, share, second, third], [moments.sum(), area, moments[1], moments[2]], atol=1e-12
    )


def test_arm_and_gripper_hold_as_with_the_default_model() -> None:
    """Grip and pose of the spatula after 50 ms of closing."""
    scene = load_scene(CONFIG / "spatula_slip.yaml")
    worlds = [hs.World(scene.with_({"solver": {"model": model}})) for model in ("lagged", "continuous")]
    for world in worlds:
        world.step(50)
    assert worlds[1].grip_force() == pytest.approx(worlds[0].grip_force(), rel=2e-2)
    np.testing.assert_allclose(worlds[1].q, worlds[0].q, atol=2e-4)
    done = worlds[1].diagnostics()
    assert done["integration_steps"] >= 50
    assert done["evaluations"] > done["integration_steps"]


def test_steps_at_once_are_the_same_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit, also after a reset, and with buffers that had to grow."""
    brick = free(box("brick", (0.2, 0.15, 0.08), 0.2, modulus=1e6), (0, 0, 0.09), (0.3, 0.4, 0))
    world = make_world(brick, environment=[GROUND], solver=CONTINUOUS)
    world.step(30)
    q, v = world.q, world.v
    world.reset()
    for _ in range(30):
        world.step()
    assert (world.q == q).all()
    assert (world.v == v).all()
    monkeypatch.setattr(machine, "INITIAL_FACES", 1)
    tight = hs.World(world.scene)
    tight.step(30)
    assert tight.diagnostics()["faces"] > 1
    assert (tight.q == q).all()


def test_an_overflow_stops_at_the_last_good_step() -> None:
    """As with the other models."""
    world = make_world(free(snake()), solver=CONTINUOUS)
    world.step(3)
    world.set_command({"axle": 1e300})
    q = world.q
    with pytest.raises(FloatingPointError, match=r"the state stays at 0\.003 s"):
        world.step(5)
    assert (world.q == q).all()
    assert world.step_count == 3


def test_what_does_not_move_is_stepped_too() -> None:
    """A scene without coordinates, such as a ground before anything is spawned, has nothing to be wrong about."""
    scene = hs.SceneBuilder("still", solver=CONTINUOUS)
    scene.add_ground()
    world = hs.World(scene.build())
    world.step(3)
    assert world.step_count == 3
