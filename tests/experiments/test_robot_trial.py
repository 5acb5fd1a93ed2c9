"""What the table of public robots tells, of robots of ours: an arm, a gripper on one joint, and one that is blocked."""

from pathlib import Path

import pytest

from hydro_sim_core.assets import shipped_robots
from hydro_sim_core.experiments.robot_trial import try_robot
from hydro_sim_core.simulation.loading import load_urdf
from hydro_sim_core.simulation.scenes import RobotOptions, open_world
from support.simulation.linkage_gripper import gripper_urdf


def test_an_arm_holds_its_home_and_arrives():
    row = try_robot(open_world(str(shipped_robots()["kinova_gen3_7dof"]), RobotOptions(ground=True)))
    assert row["hold"] < 1e-9
    assert row["inner_force"] == 0.0
    assert row["moved_joints"] == 7
    assert row["goal_error"] < 1e-6
    assert row["grippers"] == {}


def test_a_gripper_goes_its_way(tmp_path: Path):
    path = tmp_path / "hand.urdf"
    path.write_text(gripper_urdf())
    row = try_robot(load_urdf(path, drives="all"))
    assert (row["moved_joints"], row["worst_joint"]) == (1, "lift")
    assert row["goal_error"] < 1e-3
    assert row["grippers"] == {"gripper": pytest.approx(1.0, abs=0.02)}


def test_one_that_cannot_move_is_told(tmp_path: Path):
    """Its only joint has dry friction above its largest effort."""
    path = tmp_path / "stuck.urdf"
    path.write_text(
        '<robot name="stuck"><link name="world"/><link name="arm"><inertial><mass value="1"/><inertia ixx="0.01" '
        'iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="hinge" type="revolute">'
        '<parent link="world"/><child link="arm"/><axis xyz="0 0 1"/><dynamics friction="9"/>'
        '<limit lower="-1" upper="1" effort="5" velocity="2"/></joint></robot>'
    )
    row = try_robot(load_urdf(path, drives="all"))
    assert row["goal_error"] == pytest.approx(0.3, abs=1e-3)
    assert row["worst_joint"] == "hinge"
