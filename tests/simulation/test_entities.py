"""Models and static shapes that come, go and move while everything else goes on as it was."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.description import parse_robot
from hydro_sim_core.description.poses import pose
from hydro_sim_core.description.scene import ModelSpec
from hydro_sim_core.description.scene_edits import moved, pose_spec, with_model, without
from hydro_sim_core.simulation import FixedRateRunner, World
from hydro_sim_core.simulation.world.entities import Box, ConvexHull, Sphere
from support.simulation.made_scenes import CONFIG, GROUND, G, box, fixed, free, make_world, slider, sphere

#: What is spawned comes as text.
BALL = """
<robot name="ball"><link name="ball">
  <inertial><mass value="0.3"/><inertia ixx="3e-4" iyy="3e-4" izz="3e-4" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><sphere radius="0.05"/></geometry></collision>
</link></robot>
"""


def spawn(world: World, text: str, name: str, X: np.ndarray, base: str = "floating") -> World:
    """The world and one model more, where it stands."""
    robot = parse_robot(text, "text", f"{name}/")
    model = ModelSpec(name=name, urdf="text", prefix=f"{name}/", base=base, pose=pose_spec(X))
    return go_on(world, with_model(world.scene, model, robot))


def go_on(world: World, scene: hs.description.LoadedScene) -> World:
    """Another scene from where the world stands."""
    other = World(scene, like=world)
    other.take_over(world)
    return other


@pytest.fixture
def box_on_ground() -> World:
    """A box that slides on the ground and a cart that nothing touches."""
    models = free(box("brick", (0.2, 0.1, 0.08), 1.0), (0, 0, 0.0399)), fixed(slider())
    world = make_world(*models, environment=[GROUND])
    v = world.v.copy()
    v[3] = 0.3
    world.set_state(world.q, v)
    return world


# --- what comes and goes leaves the others alone


def test_a_visitor_leaves_no_trace() -> None:
    """The shipped scene goes through contact bit by bit as if a far ball had never been there."""
    undisturbed, world = (hs.load_scene(CONFIG / "spatula_slip.yaml") for _ in range(2))
    undisturbed.step(50)
    world.step(50)
    world = spawn(world, BALL, "visitor", pose((0, 0, 50)))
    undisturbed.step(100)
    world.step(100)
    n, m = len(undisturbed.q), len(undisturbed.v)
    np.testing.assert_array_equal(world.q[:n], undisturbed.q)
    np.testing.assert_array_equal(world.v[:m], undisturbed.v)
    world = go_on(world, without(world.scene, "visitor"))
    undisturbed.step(100)
    world.step(100)
    assert world.frame_names == undisturbed.frame_names
    np.testing.assert_array_equal(world.q, undisturbed.q)
    np.testing.assert_array_equal(world.joint_efforts(), undisturbed.joint_efforts())


def test_contacts_and_drives_are_handed_over() -> None:
    """Between the exchange and the next step wrenches, efforts, grip force and diagnostics are what they were."""
    world = hs.load_scene(CONFIG / "spatula_slip.yaml")
    world.set_gripper(force=9.0)  # the script is off duty from here on
    world.step(50)
    other = spawn(world, BALL, "visitor", pose((0, 0, 50)))
    assert other.time == world.time
    assert other.diagnostics() == world.diagnostics()
    assert other.grip_force() == world.grip_force() > 5.0
    for patch, before in zip(other.contacts, world.contacts, strict=True):
        assert (patch.name_a, patch.name_b) == (before.name_a, before.name_b)
        np.testing.assert_array_equal(patch.force_on_b, before.force_on_b)
        np.testing.assert_array_equal(patch.pressures, before.pressures)
    world.step(400)
    other.step(400)
    assert other.grip_force() == world.grip_force()


def test_removal_keeps_the_contacts_of_the_others(box_on_ground: World) -> None:
    """Taking one of two bodies from the ground drops its patch alone, and the drives of no one else."""
    world = spawn(box_on_ground, BALL, "ball", pose((1.0, 0, 0.0499)))
    world.set_command({"rail_joint": 2.0})
    world.step(5)
    assert len(world.contacts) == 2
    other = go_on(world, without(world.scene, "brick_0"))
    assert [patch.name_a for patch in other.contacts] == ["ball/ball"]
    cart = other.velocity_names.index("rail_joint")
    before = other.v[cart]
    other.step(100)
    assert other.v[cart] - before == pytest.approx(2.0 / 2.0 * 0.1)


def test_a_spawned_ball_falls_as_it_should(box_on_ground: World) -> None:
    """Newton: z(t) = z0 - g t (t + dt) / 2 with the stepper's velocities, and its momentum is m g t.

    A step that is taken in pieces, for the box lands meanwhile, falls by up to g dt^2 / 2 less.
    """
    world = spawn(box_on_ground, BALL, "ball", pose((3.0, 0, 20.0)))
    world.step(200)
    t, dt = 0.2, world.time_step
    assert world.frame_pose("ball/ball")[2, 3] == pytest.approx(
        20.0 - 0.5 * G * t * (t + dt), abs=0.5 * G * dt**2
    )
    assert world.v[-1] == pytest.approx(-G * t)


def test_exchange_while_running() -> None:
    """The runner goes on with the new world at the same time; steps under way are broken off and answered."""
    world = make_world(free(sphere("ball", 0.05, 0.3)), time_step=1e-3)
    runner = FixedRateRunner(world, math.inf, start_paused=True)
    runner.start()
    try:
        runner.step(10)
        steps = runner.begin_steps(10_000_000)
        robot = parse_robot(BALL, "text", "b/")
        scene = with_model(world.scene, ModelSpec(name="b", urdf="text", prefix="b/"), robot)
        runner.exchange(World(scene, like=world), lambda old, new: new.take_over(old))
        taken = steps.result(10.0)
        assert taken < 10_000_000
        assert runner.snapshot().step == 10 + taken
        assert runner.snapshot().entities.pose("b")[2, 3] == 0.0
        assert runner.step().step == 11 + taken
    finally:
        runner.stop()
    runner.exchange(world)  # a stopped runner takes it at once
    assert runner.snapshot().step == world.step_count
    with pytest.raises(hs.InputError, match="'b': is not in the scene"):
        runner.snapshot().entities.pose("b")


# --- what is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda scene: without(scene, "nobody"), "'nobody': is not in the scene"),
        (lambda scene: without(scene, "stand"), None),
        (lambda scene: moved(scene, "nobody", np.eye(4)), "'nobody': is not in the scene"),
    ],
)
def test_unknown_entities(change, message) -> None:
    scene = hs.load_scene(CONFIG / "spatula_slip.yaml").scene
    if message is None:
        assert len(change(scene).robots) == len(scene.robots) - 1
    else:
        with pytest.raises(hs.InputError, match=message):
            change(scene)


def test_what_carries_something_stays() -> None:
    """A model with another on it can neither be deleted, nor its load be moved by itself."""
    load = fixed(sphere("ball", 0.05, 0.3), attach_to="cart")
    scene = make_world(fixed(slider()), load).scene
    with pytest.raises(hs.InputError, match="'slider_0': carries 'ball_1'; delete 'ball_1' first"):
        without(scene, "slider_0")
    with pytest.raises(hs.InputError, match="attached to link 'cart'"):
        moved(scene, "ball_1", np.eye(4))
    assert World(without(without(scene, "ball_1"), "slider_0")).q.size == 0


def test_a_name_comes_once(box_on_ground: World) -> None:
    """Two models of one name, or two links, are refused before anything is built."""
    scene = box_on_ground.scene
    robot = parse_robot(BALL, "text")
    once = with_model(scene, ModelSpec(name="ball", urdf="text"), robot)
    with pytest.raises(hs.InputError, match="models 'ball': two have this name"):
        with_model(once, ModelSpec(name="ball", urdf="text"), robot)
    with pytest.raises(hs.InputError, match="link 'ball': two have this name"):
        with_model(once, ModelSpec(name="other", urdf="text"), robot)


def test_text_has_no_folder() -> None:
    """A mesh at a relative path is nowhere, and a bad text is one error that names it."""
    mesh = '<mesh filename="a.stl"/>'
    with pytest.raises(hs.InputError, match=r"'a.stl' is relative to no file; use package:// or file://"):
        parse_robot(BALL.replace('<sphere radius="0.05"/>', mesh), "text")
    with pytest.raises(hs.InputError, match=r"^text: "):
        parse_robot(BALL[:-20], "text")
    with pytest.raises(hs.InputError, match="not Unicode"):
        parse_robot("\udc80", "text")


# --- where things are


@settings(max_examples=25, deadline=None)
@given(
    p=st.tuples(*[st.floats(-10.0, 10.0)] * 3),
    rpy=st.tuples(*[st.floats(-3.1, 3.1)] * 3),
    twist=st.tuples(*[st.floats(-5.0, 5.0)] * 6),
)
def test_what_is_placed_is_there(p, rpy, twist) -> None:
    """A pose and a twist set are the pose and the twist read; nothing else moves."""
    world = hs.load_scene(CONFIG / "drop_box.yaml")
    world = spawn(world, BALL, "ball", pose((5.0, 0, 20.0)))
    world.step(3)
    before = world.q[:7], world.v[:6], world.time
    X = pose(p, rpy)
    world.place("ball/ball_base", X, np.array(twist))
    runner = FixedRateRunner(world)
    states = runner.snapshot().entities
    np.testing.assert_allclose(states.pose("ball"), X, atol=1e-12)
    np.testing.assert_allclose(states.twist("ball"), twist, atol=1e-12)
    np.testing.assert_array_equal(world.q[:7], before[0])
    np.testing.assert_array_equal(world.v[:6], before[1])
    assert world.time == before[2]


def test_twists_are_the_rates_of_poses() -> None:
    """Of the root link of what rides on a moving arm: against differences of its poses."""
    load = fixed(sphere("ball", 0.05, 0.3), attach_to="cart", xyz=(0.3, 0.2, 0.1))
    world = make_world(fixed(slider(kind="continuous"), rpy=(0.3, 0.2, 0.1)), load)
    h, rate = 1e-6, 1.7
    here, there = (FixedRateRunner(world) for _ in range(2))
    for runner, q in ((here, 0.4 - 0.5 * h * rate), (there, 0.4 + 0.5 * h * rate)):
        world.set_state([q], [rate])
        runner.change(lambda _: None)
    X, Y = (runner.snapshot().entities.pose("ball_1") for runner in (here, there))
    w = Rotation.from_matrix(Y[:3, :3] @ X[:3, :3].T).as_rotvec() / h
    expected = [*w, *((Y - X)[:3, 3] / h)]
    np.testing.assert_allclose(here.snapshot().entities.twist("ball_1"), expected, atol=1e-5)


def test_moving_what_is_fixed(box_on_ground: World) -> None:
    """A fixed model and a static shape stand elsewhere in the next world; what moves goes on."""
    world = box_on_ground
    world.step(10)
    X = pose((0.5, -0.2, 0.7), (0.1, 0.2, 0.3))
    other = go_on(world, moved(world.scene, "slider_1", X))
    np.testing.assert_allclose(other.frame_pose("rail"), X, atol=1e-12)
    np.testing.assert_array_equal(other.q, world.q)
    lower = go_on(other, moved(other.scene, "ground", pose((0, 0, -5.0))))
    lower.step(100)
    rise = lower.frame_pose("brick")[2, 3] - world.frame_pose("brick")[2, 3]
    assert rise == pytest.approx(0.1 * world.v[5] - 0.5 * G * 0.1 * 0.101, abs=1e-9)


def test_bounds(box_on_ground: World) -> None:
    """A box turned about in the world has the same bounds in its own frame; a half space has none."""
    world = box_on_ground
    runner = FixedRateRunner(world)
    world.place("brick_0_base", pose((3, 2, 1), (0.4, 0.5, 0.6)), np.zeros(6))
    runner.change(lambda _: None)
    states = runner.snapshot().entities
    lower, upper = states.bounds("brick_0")
    np.testing.assert_allclose([lower, upper], [[-0.1, -0.05, -0.04], [0.1, 0.05, 0.04]], atol=1e-12)
    assert states.bounds("ground") is None
    np.testing.assert_array_equal(states.bounds("slider_1"), np.zeros((2, 3)))


CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


@settings(max_examples=60, deadline=None)
@given(
    centre=st.tuples(*[st.floats(-2.0, 2.0)] * 3),
    size=st.floats(0.05, 1.0),
    low=st.tuples(*[st.floats(-2, 1.5)] * 3),
)
def test_volumes_agree(centre, size, low) -> None:
    """A cube is its own hull, and meets what the sphere inside it meets, and only what the one around it meets."""
    cube = Box(np.array(centre) - size, np.array(centre) + size)
    hull = ConvexHull(np.array(centre) + size * CORNERS)
    inner, outer = Sphere(np.array(centre), size), Sphere(np.array(centre), size * math.sqrt(3.0))
    lower, upper = np.array(low), np.array(low) + 0.5
    gap = np.max(np.maximum(cube.lower - upper, lower - cube.upper))
    if abs(gap) > 1e-6:
        assert hull.meets_box(lower, upper) == cube.meets_box(lower, upper) == (gap < 0.0)
    assert inner.meets_box(lower, upper) <= cube.meets_box(lower, upper) <= outer.meets_box(lower, upper)
    n = np.array([0.36, 0.48, 0.8])
    assert hull.lowest(n) == pytest.approx(cube.lowest(n), abs=1e-12)
    assert outer.lowest(n) <= cube.lowest(n) <= inner.lowest(n)


def test_overlaps(box_on_ground: World) -> None:
    """The ground is met by what reaches below it; the brick by what is near it."""
    states = FixedRateRunner(box_on_ground).snapshot().entities
    assert states.overlaps("ground", Sphere(np.array([9.0, 9.0, 0.05]), 0.1))
    assert not states.overlaps("ground", Sphere(np.array([9.0, 9.0, 0.15]), 0.1))
    assert states.overlaps("brick_0", Sphere(np.array([0.15, 0.0, 0.04]), 0.06))
    assert not states.overlaps("brick_0", Sphere(np.array([0.15, 0.0, 0.04]), 0.04))
    assert not states.overlaps("slider_1", Sphere(np.zeros(3), 100.0))  # it has no collision geometry


# --- scopes of a reset


def test_reset_scopes(box_on_ground: World) -> None:
    """Time and state go back each by themselves, or together."""
    world = box_on_ground
    start = world.scene.spec.models[0].pose.xyz[2]
    world.step(20)
    q = world.q
    world.reset(state=False)
    assert world.time == 0.0
    np.testing.assert_array_equal(world.q, q)
    world.step(20)
    world.reset(time=False)
    assert world.step_count == 20
    assert world.frame_pose("brick")[2, 3] == pytest.approx(start)
    np.testing.assert_array_equal(world.v, 0.0)
    world.step(1)
    world.reset()
    assert world.step_count == 0
