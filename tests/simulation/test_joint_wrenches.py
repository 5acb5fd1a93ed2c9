"""What joints transmit: by Newton and Euler, by Pinocchio, and as the momentum of what they carry changes."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description.poses import pose
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.assembly.placement import place_robots
from hydro_sim_core.simulation.world.snapshot import take_snapshot

G = 9.81


def hanging(time_step=1e-3, rpy=(0.0, 0.0, 0.0)):
    """A mass welded to a hand that is welded to the world, all out of line."""
    scene = hs.SceneBuilder(time_step=time_step)
    model = scene.add_model("rig", xyz=(0.2, 0.1, 1.0), rpy=rpy)
    model.add_link("hand", mass=0.7, inertia=(0.01, 0.01, 0.01), center_of_mass=(0.0, 0.0, 0.05))
    model.add_link("weight", mass=2.0, inertia=(0.01, 0.02, 0.03), center_of_mass=(0.3, -0.1, 0.05))
    model.add_joint("flange", "fixed", "hand", "weight", xyz=(0.0, 0.0, 0.2), rpy=(0.4, -0.2, 0.9))
    return hs.World(scene.build())


LINKS = {
    "upper": {"mass": 1.5, "inertia": (0.02, 0.03, 0.01), "center_of_mass": (0.1, 0.02, 0.0)},
    "lower": {"mass": 1.0, "inertia": (0.01, 0.02, 0.02), "center_of_mass": (0.1, 0.0, 0.03)},
    "slide": {"mass": 0.4, "inertia": (0.002, 0.003, 0.001), "center_of_mass": (0.02, 0.0, 0.0)},
    "wrist": {"mass": 0.3, "inertia": (0.002, 0.001, 0.002), "center_of_mass": (0.0, 0.03, 0.0)},
    "tool": {"mass": 0.5, "inertia": (0.001, 0.002, 0.003), "center_of_mass": (0.05, 0.0, 0.0)},
    "finger": {"mass": 0.1, "inertia": (1e-4, 1e-4, 1e-4), "center_of_mass": (0.03, 0.0, 0.0)},
}


def reacher(time_step=1e-3, height=0.6, **options):
    """An arm of several kinds of joints that falls on the ground; its tool is no body of its own."""
    scene = hs.SceneBuilder(time_step=time_step, contact={"modulus": 1e6, "friction": 0.6}, **options)
    scene.add_ground()
    model = scene.add_model("arm", xyz=(0, 0, height), positions={"shoulder": 0.3, "elbow": 0.4})
    model.add_link("base")
    for name, inertial in LINKS.items():
        link = model.add_link(name, **inertial)
        if name in ("lower", "tool", "finger"):
            link.add_shape("sphere", radius=0.04, xyz=(0.05, 0, 0))
    model.add_joint("shoulder", "continuous", "base", "upper", axis=(0, 1, 0), rotor_inertia=0.05)
    model.add_joint("elbow", "continuous", "upper", "lower", xyz=(0.3, 0, 0), axis=(0, 1, 0.2), damping=0.1)
    model.add_joint("extension", "prismatic", "lower", "slide", xyz=(0.2, 0, 0), lower=-0.01, upper=0.02)
    model.add_joint(
        "wrist", "universal", "slide", "wrist", xyz=(0.05, 0, 0), rpy=(0.2, 0, 0.3), lower=-2, upper=2
    )
    model.add_joint("flange", "fixed", "wrist", "tool", xyz=(0.03, 0, 0), rpy=(0.4, -0.2, 0.9))
    model.add_joint(
        "finger",
        "continuous",
        "tool",
        "finger",
        xyz=(0.1, 0, 0),
        axis=(0, 0, 1),
        mimic="elbow",
        multiplier=0.5,
    )
    return scene


# --- closed forms


def test_what_gravity_does_not_pull_weighs_nothing_in_joints(tmp_path):
    """An arm of 1 kg carries a hand of 2 kg that a file takes out of gravity: at rest as before the first step."""
    inertia = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
    mass = f'<inertial><origin xyz="0.2 0 0"/><mass value="{{}}"/>{inertia}</inertial>'
    path = tmp_path / "arm.urdf"
    path.write_text(
        f'<robot name="arm"><link name="base"/><link name="arm">{mass.format(1)}</link>'
        f'<link name="hand">{mass.format(2)}</link>'
        '<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>'
        '<limit lower="-2" upper="2" effort="50" velocity="2"/></joint>'
        '<joint name="flange" type="fixed"><origin xyz="0.3 0 0"/><parent link="arm"/><child link="hand"/></joint>'
        '<gazebo reference="hand"><turnGravityOff>true</turnGravityOff></gazebo></robot>'
    )
    world = hs.load_urdf(path, drives="all")
    for _ in range(2):
        np.testing.assert_allclose(world.joint_wrench("flange"), 0.0, atol=1e-9)
        np.testing.assert_allclose(world.joint_wrench("turn"), [0, 0.2 * G, 0, 0, 0, -G], atol=1e-9)
        world.step(3)
    falls = hs.load_urdf(path, fixed_base=False, drives="none")
    falls.step(5)
    np.testing.assert_allclose(falls.joint_wrench("arm_base"), 0.0, atol=1e-9)


def test_a_hanging_mass_reads_its_weight_at_its_lever():
    """Force and moment about the joint, in the axes of the child, after steps as before the first."""
    world = hanging(rpy=(0.3, 0.5, -0.2))
    down = pose(rpy=(0.3, 0.5, -0.2))[:3, :3] @ pose(rpy=(0.4, -0.2, 0.9))[:3, :3]
    weight = down.T @ [0.0, 0.0, -2.0 * G]
    for _ in range(2):
        wrench = world.joint_wrench("flange")
        np.testing.assert_allclose(wrench[3:], weight, atol=1e-12)
        np.testing.assert_allclose(wrench[:3], np.cross([0.3, -0.1, 0.05], weight), atol=1e-12)
        world.step(3)
    # The base bears both, in its own frame.
    both = world.frame_pose("hand")[:3, :3] @ world.joint_wrench("rig_base")[3:]
    np.testing.assert_allclose(both, [0.0, 0.0, -2.7 * G], atol=1e-12)


def test_about_its_axis_a_driven_joint_transmits_what_its_drive_gives():
    """Minus what the rotor takes of it; as near as the step's Coriolis forces are to those of its mean velocities."""
    scene = reacher()
    scene.add_actuators(["shoulder", "elbow"], kp=200.0, kd=5.0)
    world = hs.World(scene.build())
    shoulder = world.velocity_names.index("shoulder")
    for _ in range(5):
        v_before = world.v
        world.step()
        rotor = 0.05 * (world.v - v_before)[shoulder] / world.time_step
        drive = world.joint_efforts()[world.joint_names.index("shoulder")]
        assert -world.joint_wrench("shoulder")[1] == pytest.approx(drive - rotor, rel=1e-4)


def test_what_is_applied_and_pulls_is_borne():
    """Through the joint passes nothing about its axis but what turns the rotor; loads may end before it is read."""
    world = hs.World(reacher(height=2.0).build())
    world.step(5)
    state = world.save_state()
    world.step()
    alone = world.joint_wrench("shoulder")
    world.restore_state(state)
    world.apply_wrench("tool", [0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
    world.pull("lower", (0.1, 0, 0), (0.5, 0.5, 1.5), stiffness=100.0, damping=2.0)
    v_before = world.v
    world.step()
    world.apply_wrench("tool", None)
    world.let_go("lower")
    wrench = world.joint_wrench("shoulder")
    assert not np.allclose(wrench, alone, atol=0.1)
    shoulder = world.velocity_names.index("shoulder")
    assert wrench[1] == pytest.approx(0.05 * (world.v - v_before)[shoulder] / world.time_step, abs=1e-7)
    assert world.joint_wrench("extension")[3] == pytest.approx(0.0, abs=1e-7)


# --- oracles


def test_pinocchio_has_the_same_reactions_in_contact():
    """``data.f`` of its inverse dynamics, with the contact wrenches as external forces, at the step's own instant."""
    pin = pytest.importorskip("pinocchio")
    from support.dynamics.pinocchio_oracle import PinocchioScene

    scene = reacher().build()
    world = hs.World(scene)
    oracle = PinocchioScene(place_robots(scene), scene.spec.gravity)
    pressed = 0
    for _ in range(40):
        world.step(20)
        q, v = world.q, world.v
        world.step()
        pressed += sum(np.linalg.norm(patch.force_on_b) > 1.0 for patch in world.contacts)
        mean, a = 0.5 * (v + world.v), (world.v - v) / world.time_step
        q_pin, T, a_rest = oracle.convert(q, mean)
        pin.forwardKinematics(oracle.model, oracle.data, q_pin)
        external = pin.StdVec_Force([pin.Force.Zero() for _ in oracle.model.joints])
        for patch in world.contacts:
            moment = patch.moment_on_b_at_reference + np.cross(patch.p_WR, patch.force_on_b)
            on_b = pin.Force(patch.force_on_b, moment)
            for link, force in ((patch.name_b, on_b), (patch.name_a, -on_b)):
                joint = oracle.links[link][0] if link in oracle.links else 0
                if joint:
                    external[joint] += oracle.data.oMi[joint].actInv(force)
        pin.rnea(oracle.model, oracle.data, q_pin, T @ mean, T @ a + a_rest, external)
        for name, (_, joint) in oracle.joints.items():
            force = oracle.data.f[joint]
            expected = -np.concatenate([force.angular, force.linear])
            scale = 1.0 + np.abs(expected).max()
            np.testing.assert_allclose(world.joint_wrench(name), expected, rtol=0.0, atol=1e-9 * scale)
    assert pressed >= 6


def momentum(world, links):
    """Momentum (6,) of links about the world's origin, angular first."""
    total = np.zeros(6)
    frames = zip(world.frame_names, world.frame_poses(), world.frame_twists(), strict=True)
    for name, X_WL, V in frames:
        if name in links:
            given = LINKS[name]
            p = X_WL[:3, :3] @ given["center_of_mass"] + X_WL[:3, 3]
            linear = given["mass"] * (V[3:] + np.cross(V[:3], p))
            spin = X_WL[:3, :3] @ np.diag(given["inertia"]) @ X_WL[:3, :3].T @ V[:3]
            total += np.concatenate([spin + np.cross(p, linear), linear])
    return total


def test_the_momentum_of_what_a_joint_carries_changes_by_it():
    """Also at a fixed joint in the middle of a body; the difference falls with the step, as the posture's change."""

    def error(time_step):
        world = hs.World(reacher(time_step=time_step, height=2.0).build())
        world.step(round(0.2 / time_step))
        carried, X_WT = ("tool", "finger"), world.frame_pose("tool")
        before, centre = momentum(world, carried), np.zeros(3)
        for name in carried:
            X_WL = world.frame_pose(name)
            centre += LINKS[name]["mass"] * (X_WL[:3, :3] @ LINKS[name]["center_of_mass"] + X_WL[:3, 3])
        world.step()
        rate = (momentum(world, carried) - before) / time_step
        weight = np.array([0.0, 0.0, -0.6 * G])
        wrench = -world.joint_wrench("flange")
        force = X_WT[:3, :3] @ wrench[3:] + weight
        moment = X_WT[:3, :3] @ wrench[:3] + np.cross(X_WT[:3, 3], X_WT[:3, :3] @ wrench[3:])
        moment += np.cross(centre / 0.6, weight)
        return np.abs(np.concatenate([moment, force]) - rate).max(), np.abs(rate).max()

    (coarse, size), (fine, _) = error(1e-3), error(2.5e-4)
    assert fine < 0.3 * coarse
    assert coarse < 0.02 * size


# --- snapshots, copies, errors


def test_snapshots_and_copies_tell_the_same():
    world = hs.World(reacher().build())
    world.step(80)
    snapshot, copy = take_snapshot(world, 0), world.copy()
    for joint in ("shoulder", "flange", "finger", "arm_base"):
        np.testing.assert_array_equal(snapshot.joint_wrench(joint), world.joint_wrench(joint))
        np.testing.assert_array_equal(copy.joint_wrench(joint), world.joint_wrench(joint))
    told = snapshot.joint_wrench("flange").copy()
    world.step(20)
    np.testing.assert_array_equal(snapshot.joint_wrench("flange"), told)
    # The child's own frame, and one that is moved in it, give the same force in other axes and about another point.
    X_LF = pose(xyz=(0.1, 0.2, 0.3), rpy=(0.3, 0.1, -0.5))
    moved = snapshot.wrench_through("tool", X_LF)
    np.testing.assert_allclose(X_LF[:3, :3] @ moved[3:], told[3:], atol=1e-12)
    back = X_LF[:3, :3] @ moved[:3] + np.cross(X_LF[:3, 3], told[3:])
    np.testing.assert_allclose(back, told[:3], atol=1e-12)


def test_a_state_that_was_set_reads_as_if_it_stood():
    """No step led to it: contact of the step before does not belong to it."""
    world = hs.World(reacher().build())
    world.step(200)
    world.set_state(world.q, np.zeros_like(world.v))
    both = world.frame_pose("upper")[:3, :3] @ world.joint_wrench("shoulder")[3:]
    np.testing.assert_allclose(both, [0.0, 0.0, -G * sum(one["mass"] for one in LINKS.values())], atol=1e-9)


def test_an_unknown_joint_is_named():
    world = hanging()
    with pytest.raises(InputError, match="joint 'flang': is not in the scene; did you mean 'flange'"):
        world.joint_wrench("flang")
