"""Robots hold their place and obey positions without a scene that says how stiffly."""

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.assets import shipped_robots
from hydro_sim_core.simulation import JointCommand
from hydro_sim_core.simulation.loading import find_scene, load_urdf
from hydro_sim_core.simulation.scenes import open_world

ARM = shipped_robots()["kinova_gen3_7dof"]
START = {"joint_2": 0.5, "joint_4": 1.2}


def scene_of_arm(tmp_path, ros2_control, **model):
    path = tmp_path / "scene.yaml"
    lines = [f"    {key}: {value}" for key, value in model.items()]
    path.write_text(
        "\n".join(
            [
                "name: arm",
                "models:",
                "  - name: arm",
                f"    urdf: {ARM}",
                f"    xacro_args: {{ros2_control: {str(ros2_control).lower()}}}",
                f"    positions: {START}",
                *lines,
            ]
        ).replace("'", "")
    )
    return hs.World(find_scene(path))


def drift(world):
    q0 = world.q.copy()
    world.step(200)
    return np.abs(world.q - q0).max()


def test_an_arm_that_ros2_control_describes_stands_and_follows(tmp_path):
    """Within 1 mrad at the end of a motion of half a radian at 1 rad/s, as controllers command it."""
    world = scene_of_arm(tmp_path, ros2_control=True)
    assert drift(world) < 1e-12
    start = dict(zip(world.joint_names, world.q.tolist(), strict=True))
    for i in range(500):
        along = 1e-3 * (i + 1)
        world.command_joints({name: JointCommand(q + along, 1.0) for name, q in start.items()})
        world.step()
    world.command_joints({name: JointCommand(q + 0.5, 0.0) for name, q in start.items()})
    world.step(500)
    assert world.q == pytest.approx([q + 0.5 for q in start.values()], abs=1e-3)


def test_drives_do_not_ring(tmp_path):
    """A step of a joint overshoots by no more than coupling makes it, wherever the arm is."""
    world = scene_of_arm(tmp_path, ros2_control=True)
    target = world.q[0] + 0.02
    world.set_command({"joint_1": float(target)}, "position")
    most = -np.inf
    for _ in range(600):
        world.step()
        most = max(most, world.q[0])
    assert world.q[0] == pytest.approx(target, abs=2e-4)
    assert most < target + 0.05 * 0.02


def test_dry_friction_holds_no_joint_far_from_its_goal(tmp_path):
    """Public descriptions give wrists 1 N m of it, which gains from their inertia would leave 5 mrad off."""
    scene = scene_of_arm(tmp_path, ros2_control=True).scene
    world = hs.World(scene.with_({"models.arm.joints.joint_7.friction": 1.0}))
    target = world.q[6] + 0.3
    world.set_command({"joint_7": float(target)}, "position")
    world.step(1000)
    assert 1e-4 < abs(world.q[6] - target) < 5.1e-4


def arm_file(tmp_path, spring="", slide_ends=""):
    """A joint that turns a slide of 1 kg."""
    inertial = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>'
    path = tmp_path / "arm.urdf"
    path.write_text(
        f'<robot name="arm"><link name="base"/><link name="arm">{inertial}</link><link name="slide">{inertial}</link>'
        '<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>'
        f'<limit lower="-1" upper="2" effort="50" velocity="2"/>{spring}</joint>'
        '<joint name="push" type="prismatic"><parent link="arm"/><child link="slide"/><axis xyz="1 0 0"/>'
        f'<limit {slide_ends} effort="50" velocity="2"/></joint></robot>'
    )
    return path


def test_a_slide_without_ends_makes_no_drive_absurdly_stiff(tmp_path):
    """Its repair puts the ends 10 km away, where the load would have an inertia of 1e8 kg m^2."""
    world = load_urdf(arm_file(tmp_path), drives="all", repair="silent")
    assert world.drives["turn"].kp <= (0.02 + np.pi**2) * 30.0**2
    world.set_command({"turn": 0.5}, "position")
    world.step(1500)
    assert world.q[0] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("velocity", ["0", "0.0", "-1"])
def test_a_velocity_of_0_is_no_limit(tmp_path, velocity):
    """Files of robots that move have it, as they have an effort of 0."""
    path = arm_file(tmp_path, slide_ends='lower="0" upper="0.1"')
    path.write_text(path.read_text().replace('velocity="2"', f'velocity="{velocity}"'))
    world = load_urdf(path, drives="all", repair="silent")
    assert np.isinf(world.joint_velocity_limits()).all()
    world.set_command({"turn": 0.5}, "position")
    world.step(600)
    assert world.q[0] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("target", [-0.9, 0.3, 1.9])
def test_a_spring_holds_no_joint_far_from_its_goal(tmp_path, target):
    spring = '<dynamics spring_stiffness="10" spring_reference="0.5"/>'
    world = load_urdf(arm_file(tmp_path, spring, 'lower="0" upper="0.1"'), drives="all")
    world.set_command({"turn": target}, "position")
    world.step(3000)
    assert world.q[0] == pytest.approx(target, abs=6e-4)


@pytest.mark.parametrize(("ros2_control", "model"), [(False, {}), (True, {"drives": "none"})])
def test_without_a_description_or_where_it_does_not_count_joints_are_free(tmp_path, ros2_control, model):
    assert drift(scene_of_arm(tmp_path, ros2_control, **model)) > 1e-2


def test_a_file_alone_stands(tmp_path):
    """As ``hydro-sim run FILE`` opens it; to Python the same is an argument."""
    assert drift(open_world(str(ARM))) < 1e-12
    assert drift(load_urdf(ARM, drives="all")) < 1e-12


def built_from_a_file(drives):
    return hs.SceneBuilder("arm").add_urdf(ARM, "arm", positions=START, drives=drives)


def built_by_links(drives):
    scene = hs.SceneBuilder("arm")
    arm = scene.add_model("arm", drives=drives)
    arm.add_link("base")
    arm.add_link("beam", mass=1.0, center_of_mass=(0.2, 0, 0), inertia=(0.01, 0.01, 0.01))
    arm.add_joint("turn", "revolute", "base", "beam", axis=(0, 1, 0), lower=-1, upper=1, effort=20)
    return scene


@pytest.mark.parametrize("built", [built_from_a_file, built_by_links])
def test_a_builder_takes_what_scenes_say_of_drives(built):
    """Only scene files and ``load_urdf`` did."""
    driven, free = hs.World(built("all").build()), hs.World(built("none").build())
    assert {drive.mode for drive in driven.drives.values()} == {"position"}
    assert {drive.mode for drive in free.drives.values()} == {"effort"}
    assert drift(driven) < 1e-12
    assert drift(free) > 1e-2


def test_what_the_scene_says_of_a_joint_holds(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(
        f"name: arm\nmodels:\n  - {{name: arm, urdf: {ARM}, xacro_args: {{ros2_control: true}}}}\n"
        "actuators:\n  - {joints: [joint_1], mode: position, kp: 7, kd: 1}\n"
    )
    world = hs.World(find_scene(path))
    assert world.drives["joint_1"] == ("position", 7.0, 1.0, 39.0)
    assert world.drives["joint_2"].kp > 1e3
    world.set_command({"joint_1": 0.1}, "position")
    world.step()
    effort = dict(zip(world.actuated_joint_names, world.joint_efforts(), strict=True))["joint_1"]
    assert effort == pytest.approx(7.0 * (0.1 - world.q[0]) - world.v[0], rel=1e-9)
