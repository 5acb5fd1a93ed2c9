"""Links are pushed from outside: what follows is that of Newton and Euler, for every way to step."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import hydro_sim_core as hs

MODELS = ("lagged", "similar", "sap", "tamsi", "continuous")
PUSH = np.array([0.02, -0.01, 0.03, 0.4, -0.2, 0.5])


def free_body(solver="lagged", inertia=(0.01, 0.01, 0.01), **body):
    scene = hs.SceneBuilder(gravity=(0, 0, 0), solver=solver)
    scene.add_body("body", mass=0.5, inertia=inertia, **body).add_shape("sphere", radius=0.05)
    return hs.World(scene.build())


def arm(solver="lagged"):
    """Two links and a tip that is no body of its own, in a posture that is none of the simple ones."""
    scene = hs.SceneBuilder(gravity=(0, 0, -9.81), solver=solver)
    model = scene.add_model("arm", positions={"shoulder": 0.4, "elbow": -0.9})
    model.add_link("base")
    for name in ("upper", "lower"):
        model.add_link(name, mass=1.0).add_shape("capsule", radius=0.03, length=0.3, xyz=(0, 0, 0.15))
    model.add_link("tip")
    model.add_joint("shoulder", "continuous", "base", "upper", rpy=(0.3, 0, 0), axis=(0, 1, 0))
    model.add_joint("elbow", "continuous", "upper", "lower", xyz=(0, 0, 0.3), axis=(1, 0, 0))
    model.add_joint("flange", "fixed", "lower", "tip", xyz=(0.05, 0, 0.3), rpy=(0.2, 0.1, 0))
    return hs.World(scene.build())


@pytest.mark.parametrize("solver", MODELS)
def test_a_force_moves_a_free_body_as_newton_says(solver):
    world = free_body(solver)
    world.apply_wrench("body", [0, 0, 0, 0.4, -0.2, 0.5])
    world.step(100)
    np.testing.assert_allclose(world.v[3:], 0.1 * PUSH[3:] / 0.5, rtol=1e-9)
    world.apply_wrench("body", None)
    before = world.v
    world.step(10)
    np.testing.assert_allclose(world.v, before, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("solver", MODELS)
def test_a_torque_turns_a_ball_as_euler_says(solver):
    world = free_body(solver)
    world.apply_wrench("body", [*PUSH[:3], 0, 0, 0])
    world.step(100)
    np.testing.assert_allclose(world.v[:3], 0.1 * PUSH[:3] / 0.01, rtol=1e-6)


def test_torque_is_the_change_of_angular_momentum():
    """Of a body 1:2:3 that turns fast; the rest is what a step leaves, and falls with its square."""
    errors = []
    for dt in (2e-3, 1e-3):
        scene = hs.SceneBuilder(gravity=(0, 0, 0), time_step=dt)
        scene.add_body("body", mass=0.5, inertia=(0.01, 0.02, 0.03)).add_shape("sphere", radius=0.05)
        world = hs.World(scene.build())
        world.place("body", V_WB=[2, 5, 1, 0, 0, 0])
        L0 = _angular_momentum(world)
        world.apply_wrench("body", [*PUSH[:3], 0, 0, 0])
        world.step(round(0.5 / dt))
        errors.append(np.linalg.norm(_angular_momentum(world) - L0 - 0.5 * PUSH[:3]))
    assert errors[1] < 2e-3 * np.linalg.norm(L0)
    assert errors[1] < 0.6 * errors[0]  # the velocity lags the posture by half a step


def _angular_momentum(world):
    R = world.frame_pose("body")[:3, :3]
    return R @ np.diag([0.01, 0.02, 0.03]) @ R.T @ world.v[:3]


def test_a_push_elsewhere_changes_nothing():
    """A body that tumbles goes on to the same bits whether or not another one, far away, is pushed."""
    worlds = []
    for _ in range(2):
        scene = hs.SceneBuilder(gravity=(0, 0, 0))
        scene.add_body("body", mass=0.5, inertia=(0.01, 0.02, 0.03)).add_shape("sphere", radius=0.05)
        scene.add_body("other", mass=1.0, inertia=(1, 1, 1), xyz=(9, 0, 0)).add_shape("sphere", radius=0.05)
        worlds.append(hs.World(scene.build()))
        worlds[-1].place("body", V_WB=[0.1, 20, 0.1, 0, 0, 0])
    worlds[0].apply_wrench("other", PUSH)
    for world in worlds:
        world.step(2000)
    pushed, alone = (world.frame_pose("body") for world in worlds)
    np.testing.assert_array_equal(pushed, alone)
    assert np.linalg.norm(worlds[0].frame_pose("other") - worlds[1].frame_pose("other")) > 1.0


@pytest.mark.parametrize("solver", MODELS)
def test_a_wrench_at_a_tip_acts_by_its_jacobian(solver):
    """From rest, M a + bias = J^T W; the tip is welded to the last body, away from its origin."""
    world = arm(solver)
    expected = np.linalg.solve(
        world.mass_matrix(), world.frame_jacobian("tip").T @ (10 * PUSH) - world.bias_forces()
    )
    world.apply_wrench("tip", 10 * PUSH)
    world.step()
    np.testing.assert_allclose(world.v / world.time_step, expected, rtol=2e-3)


def test_what_moves_as_it_is_told_is_not_pushed():
    scene = hs.SceneBuilder()
    scene.add_model("plate", base="kinematic").add_link("plate").add_shape("box", size=(1, 1, 0.1))
    with pytest.raises(hs.InputError, match="link 'plate': moves as it is told"):
        hs.World(scene.build()).apply_wrench("plate", PUSH)


def test_wrenches_on_links_of_one_body_add_up():
    one, two = arm(), arm()
    one.apply_wrench("tip", PUSH)
    one.apply_wrench("lower", -0.5 * PUSH)
    J = two.frame_jacobian("tip").T @ PUSH - 0.5 * two.frame_jacobian("lower").T @ PUSH
    expected = np.linalg.solve(two.mass_matrix(), J - two.bias_forces())
    one.step()
    np.testing.assert_allclose(one.v / one.time_step, expected, rtol=1e-3)


def test_work_of_a_push_becomes_energy():
    world = arm()
    world.apply_wrench("tip", [0, 0, 0, 3.0, 1.0, 2.0])
    before, start = world.energies().total, world.frame_pose("tip")[:3, 3]
    world.step(500)
    work = np.array([3.0, 1.0, 2.0]) @ (world.frame_pose("tip")[:3, 3] - start)
    assert abs(work) > 0.3
    assert world.energies().total - before == pytest.approx(work, abs=0.01 * abs(work) + 0.01)


def test_copies_states_and_resets_have_it():
    world = arm()
    world.apply_wrench("tip", PUSH)
    world.step(5)
    saved = world.save_state()
    others = [world.copy(), pickle.loads(pickle.dumps(world))]
    world.step(20)
    for other in others:
        np.testing.assert_array_equal(other.applied_wrench("tip"), PUSH)
        other.step(20)
        np.testing.assert_array_equal(other.q, world.q)
        other.apply_wrench("tip", None)
    np.testing.assert_array_equal(world.applied_wrench("tip"), PUSH)
    end = world.q
    world.apply_wrench("tip", None)
    world.restore_state(saved)
    world.step(20)
    np.testing.assert_array_equal(world.q, end)
    world.reset()
    assert not world.applied_wrench("tip").any()


def test_a_state_in_a_file_has_it(tmp_path):
    world = arm()
    world.apply_wrench("tip", PUSH)
    world.step(5)
    world.save_state().write(tmp_path / "state.json")
    world.step(20)
    other = arm()
    other.load_state(tmp_path / "state.json")
    other.step(20)
    np.testing.assert_array_equal(other.q, world.q)
    text = (tmp_path / "state.json").read_text()
    (tmp_path / "state.json").write_text(text.replace('"num": [\n   1', '"num": [\n   0'))
    with pytest.raises(hs.InputError, match=r"loads\.num: does not fit"):
        other.load_state(tmp_path / "state.json")


@pytest.mark.parametrize(
    ("link", "wrench", "says"),
    [
        ("tipp", PUSH, "link 'tipp': is not in the scene; did you mean 'tip'?"),
        ("base", PUSH, "link 'base': is fixed to the world"),
        ("tip", PUSH[:3], "wrench: has shape (3,)"),
        ("tip", [np.nan] * 6, "wrench: holds NaN"),
        ("tip", "hard", "wrench: is not an array"),
    ],
)
def test_what_pushes_nothing_is_refused(link, wrench, says):
    world = arm()
    world.apply_wrench("tip", PUSH)
    with pytest.raises(hs.InputError) as caught:
        world.apply_wrench(link, wrench)
    assert says in str(caught.value)
    np.testing.assert_array_equal(world.applied_wrench("tip"), PUSH)
