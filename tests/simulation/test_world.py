"""The public interface of a world."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.simulation.stepping import machine
from support.simulation.made_scenes import CONFIG, GROUND, G, box, fixed, free, make_world, slider, sphere


@pytest.fixture(scope="module")
def arm_scene() -> hs.World:
    """The shipped scene: an arm with a gripper that holds a spatula; stepped until the grip is closed."""
    world = hs.load_scene(CONFIG / "spatula_slip.yaml")
    world.step(300)
    return world


def test_names_fit_the_arrays(arm_scene: hs.World) -> None:
    """Names, coordinates and velocities agree in number and order."""
    world = arm_scene
    assert world.name == "spatula_slip"
    assert world.time_step == 1e-3
    assert world.q.shape == (7 + 2 + 7,)
    assert world.v.shape == (len(world.velocity_names),) == (7 + 2 + 6,)
    assert world.velocity_names[:9] == world.joint_names == world.actuated_joint_names
    assert world.velocity_names[9:] == tuple(f"spatula_base/{k}" for k in range(6))
    assert world.gripper_names == ("gripper",)
    for values in (world.joint_positions(), world.joint_velocities(), world.joint_efforts()):
        assert values.shape == (len(world.joint_names),)
    np.testing.assert_array_equal(world.joint_positions(), world.q[:9])
    np.testing.assert_array_equal(world.joint_velocities(), world.v[:9])


def test_link_tree_holds_every_frame_once(arm_scene: hs.World) -> None:
    """Each link has one parent, a link or the world, and there is no cycle."""
    parents = {child: parent for parent, child in arm_scene.link_tree}
    assert len(parents) == len(arm_scene.link_tree)
    assert set(parents) == set(arm_scene.frame_names)
    for name in arm_scene.frame_names:
        seen = []
        while name != "world":
            assert name not in seen
            seen.append(name)
            name = parents[name]
    assert {frame for frame, _ in arm_scene.visuals} <= set(arm_scene.frame_names)


def test_frame_poses_are_rigid_and_fixed_links_follow(arm_scene: hs.World) -> None:
    """The grasp frame is 0.1725 m along -z of the gripper frame, wherever that is."""
    for name in arm_scene.frame_names:
        X = arm_scene.frame_pose(name)
        np.testing.assert_allclose(X[:3, :3].T @ X[:3, :3], np.eye(3), atol=1e-12)
        np.testing.assert_array_equal(X[3], [0, 0, 0, 1])
    X_GF = np.linalg.inv(arm_scene.frame_pose("gripper")) @ arm_scene.frame_pose("grasp_frame")
    np.testing.assert_allclose(X_GF[:3, 3], [0, 0, -0.1725], atol=1e-14)
    np.testing.assert_allclose(X_GF[:3, :3], np.eye(3), atol=1e-14)


def test_frame_twists_are_the_rates_of_frame_poses(arm_scene: hs.World) -> None:
    """A point fixed to a link moves with ``v + w x p``: against the poses a little earlier and later."""
    q, v, h = arm_scene.q, np.random.default_rng(1).normal(size=len(arm_scene.v)), 1e-6
    # Nine joints with one coordinate, then the free spatula: w, x, y, z and its origin.
    w, x, y, z = q[9:13]
    spin = 0.5 * np.array([[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]]) @ v[9:12]
    rates = np.concatenate([v[:9], spin, v[12:]])
    before, after = arm_scene.frame_poses(q - h * rates), arm_scene.frame_poses(q + h * rates)
    p_LP = np.array([0.1, -0.2, 0.3, 1.0])
    for X, moved, twist in zip(
        arm_scene.frame_poses(q), after - before, arm_scene.frame_twists(q, v), strict=True
    ):
        velocity = (moved @ p_LP)[:3] / (2.0 * h)
        np.testing.assert_allclose(twist[3:] + np.cross(twist[:3], (X @ p_LP)[:3]), velocity, atol=1e-8)
    arm_scene.set_state(q, v)
    np.testing.assert_array_equal(arm_scene.frame_twists(), arm_scene.frame_twists(q, v))


def test_dynamics_are_consistent(arm_scene: hs.World) -> None:
    """M a + b is the inverse dynamics, and M is symmetric and positive."""
    M, b = arm_scene.mass_matrix(), arm_scene.bias_forces()
    a = np.random.default_rng(0).normal(size=len(b))
    np.testing.assert_allclose(M, M.T, atol=1e-15)
    assert np.linalg.eigvalsh(M)[0] > 0.0
    tau = arm_scene.inverse_dynamics(a)
    np.testing.assert_allclose(M @ a + b, tau, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["q", "v"])
def test_a_write_to_the_state_is_refused(arm_scene: hs.World, name: str) -> None:
    """It would vanish: what a world tells is a copy."""
    before = getattr(arm_scene, name)
    with pytest.raises(ValueError, match="read-only"):
        getattr(arm_scene, name)[2] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        before += 1.0
    np.testing.assert_array_equal(getattr(arm_scene, name), before)


def test_the_begin_of_the_last_step_is_read_only() -> None:
    """Also after a body was placed, which changes it."""
    scene = hs.SceneBuilder("falling")
    scene.add_body("ball", mass=1.0, xyz=(0, 0, 1)).add_shape("sphere", radius=0.05)
    world = hs.World(scene.build())
    world.step()
    for _ in range(2):
        before = world.before_last_step
        assert before is not None
        assert not any(array.flags.writeable for array in before)
        world.place("ball", V_WB=[0, 0, 0, 0, 0, 1])


def test_the_state_that_a_world_tells_can_be_set_and_evaluated(arm_scene: hs.World) -> None:
    """Read-only arrays, in the world that told them and in a copy, which keeps its own."""
    q, v = arm_scene.q, arm_scene.v
    other = arm_scene.copy()
    moved = q.copy()
    moved[2] += 0.1
    other.set_state(moved, v)
    assert not np.array_equal(other.q, q)
    other.set_state(q, v)
    np.testing.assert_array_equal(other.q, q)
    np.testing.assert_array_equal(other.frame_poses(q), arm_scene.frame_poses())
    np.testing.assert_array_equal(other.frame_twists(q, v), arm_scene.frame_twists())
    assert other.energies_of(q, v) == arm_scene.energies()
    other.step()
    assert not np.array_equal(other.q, q)


def test_what_a_world_hands_out_is_a_copy(arm_scene: hs.World) -> None:
    """Writing to it changes nothing."""
    before = arm_scene.q, arm_scene.v, arm_scene.frame_pose("gripper")
    arm_scene.frame_pose("gripper")[:] = 7.0
    arm_scene.joint_positions()[:] = 7.0
    after = arm_scene.q, arm_scene.v, arm_scene.frame_pose("gripper")
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


def test_contacts_have_names_and_wrenches(arm_scene: hs.World) -> None:
    """Two bubbles hold the spatula: their forces carry its weight and squeeze with the commanded force."""
    contacts = arm_scene.contacts
    assert [(p.name_a, p.name_b) for p in contacts] == list(arm_scene.contact_pairs)
    assert arm_scene.contact_pairs == (("left_finger", "spatula"), ("right_finger", "spatula"))
    assert [p.geometry_a for p in contacts] == ["left_bubble_collision", "right_bubble_collision"]
    assert {p.geometry_b for p in contacts} == {"handle_collision"}
    np.testing.assert_allclose(sum(p.force_on_b for p in contacts), [0, 0, 0.068 * G], atol=2e-2)
    assert arm_scene.grip_force() == pytest.approx(6.5, rel=1e-3)
    assert arm_scene.grip_force("gripper") == arm_scene.grip_force()
    for patch in contacts:
        assert patch.num_faces == len(patch.areas) == len(patch.polygons) == len(patch.pressures) > 20
        assert patch.centroids.shape == patch.normals.shape == (patch.num_faces, 3)
        assert 0.0 < patch.peak_pressure < 1e5
        # The fingers close along y; friction around the curved handle carries part of the squeeze.
        assert abs(patch.force_on_b[1]) == pytest.approx(6.5, rel=1e-2)
        assert 5.0 < np.linalg.norm(patch.normal_force_on_b) < 6.5
        assert np.linalg.norm(patch.centroid - arm_scene.frame_pose("grasp_frame")[:3, 3]) < 0.05


def test_diagnostics_tell_of_the_last_step(arm_scene: hs.World) -> None:
    """Faces and patches are those of the contacts; the solve converged."""
    report = arm_scene.diagnostics()
    assert report["faces"] == sum(p.num_faces for p in arm_scene.contacts)
    assert report["patches"] == 2
    assert report["converged"] is True
    assert report["residual"] <= 1e-8
    assert report["iterations"] >= 1
    assert report["unconverged_steps"] == report["unsettled_steps"] == 0


def test_unconverged_steps_are_counted() -> None:
    """One Newton iteration is too little for an impact; the diagnostics say so."""
    ball = free(sphere("ball", 0.1, 1.0, modulus=1e7), (0, 0, 0.11))
    world = make_world(ball, environment=[GROUND], solver={"max_iterations": 1})
    world.set_state(world.q, [0, 0, 0, 3.0, 0, -2.0])
    flags = []
    for _ in range(30):
        world.step()
        flags.append(world.diagnostics()["converged"])
    assert not all(flags)
    assert world.diagnostics()["unconverged_steps"] == flags.count(False)
    assert np.isfinite(world.q).all()
    world.reset()
    assert world.diagnostics()["unconverged_steps"] == 0
    world.set_state(world.q, [0, 0, 0, 3.0, 0, -2.0])
    world.step(30)
    assert world.diagnostics()["unconverged_steps"] == flags.count(False)


def test_unsettled_friction_is_counted() -> None:
    """Without correction an impact leaves friction with the bounds of the prediction; the diagnostics say so."""
    counts = []
    for relag in (True, False):
        ball = free(sphere("ball", 0.1, 1.0, modulus=1e7), (0, 0, 0.11))
        world = make_world(ball, environment=[GROUND], solver={"relag": relag})
        world.set_state(world.q, [0, 0, 0, 3.0, 0, -2.0])
        world.step(30)
        counts.append(world.diagnostics()["unsettled_steps"])
    assert counts[0] == 0 < counts[1]


def test_load_urdf_fixed_and_floating(tmp_path: Path) -> None:
    """A robot alone: welded at the origin, or falling."""
    path = tmp_path / "brick.urdf"
    inertia = '<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/>'
    inertial = f'<inertial><mass value="1"/>{inertia}</inertial>'
    path.write_text(f'<robot name="brick"><link name="brick">{inertial}</link></robot>')
    fixed, floating = hs.load_urdf(path), hs.load_urdf(path, fixed_base=False)
    assert len(fixed.v) == 0
    fixed.step(3)
    assert fixed.time == pytest.approx(3e-3)
    np.testing.assert_array_equal(fixed.frame_pose("brick"), np.eye(4))
    floating.step(10)
    assert floating.v[5] == pytest.approx(-G * 0.01)
    assert len(floating.velocity_names) == 6


def test_empty_scene_runs() -> None:
    """Nothing to simulate is no error: time goes on."""
    world = make_world(environment=[GROUND])
    world.step(5)
    assert world.time == pytest.approx(5e-3)
    assert world.q.shape == world.v.shape == (0,)
    assert world.contacts == []
    assert world.frame_names == ()


def test_start_positions_and_default_positions() -> None:
    """Given where the scene says so; otherwise as near to zero as the limits allow."""
    cart = slider(lower=0.3, upper=1)
    assert make_world(fixed(cart)).joint_positions()[0] == 0.3
    assert make_world(fixed(cart, positions={"rail_joint": 0.7})).joint_positions()[0] == 0.7


# --- repeatability


def tumbling() -> hs.World:
    """A box thrown onto the ground."""
    brick = free(box("brick", (0.2, 0.15, 0.08), 0.2), (0, 0, 0.145), (0.3, 0.4, 0))
    return make_world(brick, environment=[GROUND])


def test_same_input_gives_the_same_bits() -> None:
    """Two worlds, and any division of the steps into calls."""
    worlds = [tumbling() for _ in range(3)]
    worlds[0].step(400)
    for _ in range(400):
        worlds[1].step()
    worlds[2].step(123)
    worlds[2].step(0)
    worlds[2].step(277)
    for other in worlds[1:]:
        np.testing.assert_array_equal(worlds[0].q, other.q)
        np.testing.assert_array_equal(worlds[0].v, other.v)
        assert worlds[0].time == other.time


def test_scripted_commands_do_not_depend_on_the_division_into_calls() -> None:
    """Edges of a square wave take effect at the same step."""
    whole, single = (hs.load_scene(CONFIG / "spatula_slip_welded.yaml") for _ in range(2))
    whole.step(1700)
    for _ in range(1700):
        single.step()
    np.testing.assert_array_equal(whole.q, single.q)
    assert whole.grip_force() == pytest.approx(1.5, rel=0.05)


def wagging(signal: Any, **settings: Any) -> hs.World:
    """A hinge whose drive a script commands."""
    scene = hs.SceneBuilder("wagging", gravity=(0, 0, 0), **settings)
    model = scene.add_model("m")
    model.add_link("a")
    model.add_link("b", mass=1.0, inertia=3 * (0.01,))
    model.add_joint("j", "revolute", "a", "b", axis=(0, 0, 1), lower=-3, upper=3, effort=50)
    scene.add_actuators(["j"], kp=100.0, kd=20.0)
    scene.add_command(signal, joint="j")
    return hs.World(scene.build())


@pytest.mark.parametrize("steps", [0, 1, 100, 500])
@pytest.mark.parametrize(
    "signal",
    [
        1.0,
        {"sine": {"amplitude": 1, "period": 1, "phase": 0.25}},
        {"square": {"low": 0, "high": 1, "period": 1}},
    ],
)
def test_a_script_goes_on_from_a_saved_state(signal: Any, steps: int) -> None:
    """Also where it was saved before the first step, or where the square switches."""
    world = wagging(signal)
    world.step(steps)
    restored, edited = wagging(signal), wagging(signal)
    restored.restore_state(world.save_state())
    edited.take_over(world)
    for one in (world, restored, edited):
        one.step(300)
    assert abs(world.q[0]) > 0.05
    np.testing.assert_array_equal(restored.q, world.q)
    np.testing.assert_array_equal(edited.q, world.q)


def test_edges_of_a_square_are_at_the_step_that_is_meant() -> None:
    """Times are steps times their length, which is not always as close to the edge as it looks."""
    world = wagging({"square": {"low": -1.0, "high": 1.0, "period": 0.1}})
    targets = []
    for _ in range(3000):
        world.step()
        targets.append(world.machine.drives.q_target[0] > 0)
    assert targets == [k % 100 < 50 for k in range(3000)]


def test_steps_until_a_change_are_not_one_more_by_round_off() -> None:
    script = wagging({"square": {"low": -1.0, "high": 1.0, "period": 40_000.0}}).script
    for k in range(1, 200):
        time = (20_000_000 - k) * 1e-3
        assert script.steps_until_change(time, 1e-3) <= k


def test_reset_restores_everything() -> None:
    """State, time, commands and script: the same bits as a new world."""
    world = hs.load_scene(CONFIG / "spatula_slip_welded.yaml")
    world.step(100)
    expected = world.q, world.v
    world.set_gripper(force=20.0)
    world.step(50)
    world.reset()
    assert world.time == 0.0
    assert world.step_count == 0
    assert world.contacts == []
    assert not world.joint_efforts().any()
    world.step(100)
    np.testing.assert_array_equal(world.q, expected[0])
    np.testing.assert_array_equal(world.v, expected[1])


def test_set_state_leaves_no_trace_of_the_past() -> None:
    """From the same state on, worlds with different histories take the same steps."""
    old, new = tumbling(), tumbling()
    old.step(150)
    q, v = old.q, old.v
    old.step(333)
    for world in (old, new):
        world.set_state(q, v)
        world.step(200)
    np.testing.assert_array_equal(old.q, new.q)
    np.testing.assert_array_equal(old.v, new.v)


def test_set_state_normalises_quaternions() -> None:
    """A quaternion of any length stands for its direction."""
    world = tumbling()
    q = world.q
    world.set_state(np.concatenate([7.0 * q[:4], q[4:]]), world.v)
    np.testing.assert_allclose(world.q, q, atol=1e-15)


def test_buffers_grow_with_the_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    """More faces than the buffers first hold change nothing but their size."""
    ball = free(sphere("ball", 0.1, 3.0, modulus=1e5, hint=0.015), (0, 0, 0.099))
    ample = make_world(ball, environment=[GROUND])
    monkeypatch.setattr(machine, "INITIAL_FACES", 4)
    tight = make_world(ball, environment=[GROUND])
    for world in (ample, tight):
        world.step(200)
    assert ample.diagnostics()["faces"] > 16
    assert tight.diagnostics() == ample.diagnostics()
    np.testing.assert_array_equal(tight.q, ample.q)
    assert len(tight.contacts[0].areas) == len(ample.contacts[0].areas)


def test_a_second_thread_that_steps_is_an_error() -> None:
    """Compiled steps hold no lock of Python's: two at once ended the process, and what others set was lost."""
    world = hs.load_scene(CONFIG / "drop_box.yaml")
    q, v, saved = world.q, world.v, world.save_state()
    calls = (world.reset, lambda: world.set_state(q, v), lambda: world.restore_state(saved))
    stepping = threading.Thread(target=world.step, args=(10_000,))
    stepping.start()
    while world.step_count == 0:
        time.sleep(1e-3)
    with pytest.raises(hs.InputError, match=r"drop_box: is stepped by another thread; .*copy"):
        world.step()
    for call in calls:
        with pytest.raises(hs.InputError, match=r"drop_box: is stepped by another thread; wait for it"):
            call()
    world.copy().step()
    stepping.join()
    assert world.step_count == 10_000
    world.step()
    for call in calls:
        call()


def test_more_faces_than_the_initial_buffer() -> None:
    """A fine mesh pressed into another exceeds INITIAL_FACES."""
    world = make_world(
        free(sphere("red", 0.1, 1.0, hint=0.008), (0, 0, 0.0)),
        free(sphere("blue", 0.1, 1.0, hint=0.008), (0.01, 0.02, 0.12)),
    )
    world.step()
    assert world.diagnostics()["faces"] > machine.INITIAL_FACES
    assert world.contacts[0].num_faces == world.diagnostics()["faces"]


# --- symmetry


@pytest.mark.parametrize("axis", [[1.0, 0.0, 0.0], [0.3, -0.5, 0.8]])
def test_turning_the_whole_scene_turns_the_motion(axis: list[float]) -> None:
    """World axes mean nothing: ground, gravity, body and velocity turned together give the turned trajectory."""
    turn = Rotation.from_rotvec(1.1 * np.array(axis) / np.linalg.norm(axis))
    start = Rotation.from_euler("xyz", [0.3, 0.4, 0.0])
    w, u = np.array([1.0, -2.0, 0.5]), np.array([0.4, 0.3, -0.5])
    poses = []
    for R in (Rotation.identity(), turn):
        rpy = (R * start).as_euler("xyz")
        ground = {**GROUND, "rpy": R.as_euler("xyz")}
        gravity = R.apply([0, 0, -G]).tolist()
        brick = free(box("brick", (0.2, 0.15, 0.08), 0.2), R.apply([0, 0, 0.13]), rpy)
        world = make_world(brick, environment=[ground], gravity=gravity, solver={"tolerance": 1e-12})
        world.set_state(world.q, np.concatenate([R.apply(w), R.apply(u)]))
        world.step(150)
        assert world.contacts
        X = np.eye(4)
        X[:3, :3] = R.inv().as_matrix()
        poses.append(X @ world.frame_pose("brick"))
    np.testing.assert_allclose(poses[1], poses[0], rtol=0, atol=1e-13)


def test_scene_files_of_the_project_load_and_step() -> None:
    """Every shipped scene runs a few steps with finite results."""
    for path in sorted(CONFIG.glob("*.yaml")):
        world = hs.load_scene(path)
        world.step(20)
        assert np.isfinite(world.q).all(), path
        assert world.name == yaml.safe_load(path.read_text())["name"]
