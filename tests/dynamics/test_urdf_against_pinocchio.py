"""From the file on: our loader and tree against Pinocchio's own URDF parser and algorithms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xacro
from lxml import etree

from hydro_sim_core.description import load_robot
from hydro_sim_core.dynamics import Assembly, PlacedRobot, TreeEvaluator, build_tree
from support.dynamics.pinocchio_oracle import free_flyer
from support.dynamics.random_robots import GRAVITY, random_state

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: it needs NumPy 2")

SHIPPED = sorted((Path(__file__).parents[2] / "urdf").glob("*.urdf.xacro"))
NUM_STATES = 100

GRIPPER = """
<robot name="gripper">
  <link name="mount">
    <inertial>
      <origin xyz="0.02 0 -0.05"/>
      <mass value="0.8"/>
      <inertia ixx="0.002" iyy="0.003" izz="0.004" ixy="0.0001" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="wrist">
    <inertial>
      <origin xyz="0.01 0.02 0.1" rpy="0.3 -0.2 0.1"/>
      <mass value="1.5"/>
      <inertia ixx="0.01" iyy="0.012" izz="0.008" ixy="0.001" ixz="-0.0005" iyz="0.0002"/>
    </inertial>
  </link>
  <link name="camera">
    <inertial>
      <origin xyz="0 0 0.02"/>
      <mass value="0.2"/>
      <inertia ixx="1e-4" iyy="2e-4" izz="1.5e-4" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="tip"/>
  <link name="left">
    <inertial>
      <origin xyz="0 0.01 0.03" rpy="0 0 0.4"/>
      <mass value="0.1"/>
      <inertia ixx="1e-4" iyy="2e-4" izz="1.5e-4" ixy="0" ixz="0" iyz="1e-5"/>
    </inertial>
  </link>
  <link name="right">
    <inertial>
      <mass value="0.1"/>
      <inertia ixx="1e-4" iyy="2e-4" izz="1.5e-4" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="roll" type="continuous">
    <origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><parent link="mount"/><child link="wrist"/>
    <axis xyz="1 2 2"/>
  </joint>
  <joint name="camera_mount" type="fixed">
    <origin xyz="0 0.05 0" rpy="0 1.2 0"/><parent link="wrist"/><child link="camera"/>
  </joint>
  <joint name="tip_mount" type="fixed">
    <origin xyz="0 0 0.2"/><parent link="camera"/><child link="tip"/>
  </joint>
  <joint name="left_joint" type="prismatic">
    <origin xyz="0 0.02 0.2" rpy="0 0 3"/><parent link="wrist"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.05" velocity="0.1" effort="50"/>
    <mimic joint="right_joint" multiplier="-0.5" offset="0.01"/>
  </joint>
  <joint name="right_joint" type="revolute">
    <origin xyz="0 -0.02 0.2"/><parent link="wrist"/><child link="right"/><axis xyz="0 1 1"/>
    <limit lower="-0.05" upper="0" velocity="0.1" effort="50"/>
  </joint>
</robot>
"""


class PinocchioUrdf:
    """A floating robot read by Pinocchio; mimic joints are joints of their own, tied by the rows of T."""

    def __init__(self, xml: str, assembly: Assembly) -> None:
        self.model = pin.buildModelFromXML(without_geometry(xml), pin.JointModelFreeFlyer())
        self.model.gravity.linear = GRAVITY
        self.data = self.model.createData()
        self.assembly = assembly

    def convert(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pinocchio's coordinates, T (nv_pin, nv), and the part of Pinocchio's acceleration that v causes."""
        q_pin, a_pin = np.zeros(self.model.nq), np.zeros(self.model.nv)
        T = np.zeros((self.model.nv, len(v)))
        q_pin[:7], T[:6, :6], a_pin[:6] = free_flyer(q[:7], v[:6])
        for joint in self.assembly.scalar_joints:
            value = joint.scale * q[joint.q_index] + joint.offset
            model = self.model.joints[self.model.getJointId(joint.name)]
            # Pinocchio keeps the cosine and sine of a continuous joint's angle.
            q_pin[model.idx_q : model.idx_q + model.nq] = (
                (np.cos(value), np.sin(value)) if model.nq == 2 else value
            )
            T[model.idx_v, joint.v_index] = joint.scale
        return q_pin, T, a_pin

    def mass_matrix(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q_pin, T, _ = self.convert(q, v)
        M = pin.crba(self.model, self.data, q_pin)
        M = np.triu(M) + np.triu(M, 1).T
        return T.T @ M @ T + np.diag(self.assembly.tree.rotor_inertia)

    def bias_forces(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q_pin, T, a_pin = self.convert(q, v)
        return T.T @ pin.rnea(self.model, self.data, q_pin, T @ v, a_pin)

    def link_poses(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        pin.framesForwardKinematics(self.model, self.data, self.convert(q, v)[0])
        frames = [self.model.getFrameId(name, pin.FrameType.BODY) for name in self.assembly.link_names]
        return np.array([self.data.oMf[frame].homogeneous for frame in frames])


def without_geometry(xml: str) -> str:
    """The robot's mechanics; Pinocchio's parser refuses the shapes that standard URDF lacks."""
    root = etree.fromstring(xml.encode())
    for element in root.xpath("//visual | //collision | /robot/material"):
        element.getparent().remove(element)
    return etree.tostring(root, encoding="unicode")


def assert_agrees_with_pinocchio(path: Path, xml: str) -> None:
    floating = PlacedRobot(load_robot(path), np.eye(4), floating=True, base_joint_name="base")
    assembly = build_tree([floating], GRAVITY)
    oracle, evaluator = PinocchioUrdf(xml, assembly), TreeEvaluator(assembly.tree)
    rng = np.random.default_rng(0)
    for _ in range(NUM_STATES):
        q, v = random_state(rng, assembly)
        evaluator.update(q)
        poses = [
            evaluator.body_pose(body) @ X_BL
            for body, X_BL in zip(assembly.link_body, assembly.X_BL, strict=True)
        ]
        for ours, reference in (
            (poses, oracle.link_poses(q, v)),
            (evaluator.mass_matrix(), oracle.mass_matrix(q, v)),
            (evaluator.bias_forces(v), oracle.bias_forces(q, v)),
        ):
            np.testing.assert_allclose(ours, reference, rtol=0.0, atol=1e-10 * np.abs(reference).max())


def test_gripper_with_mimic_and_welded_links(tmp_path: Path) -> None:
    path = tmp_path / "gripper.urdf"
    path.write_text(GRIPPER)
    assert_agrees_with_pinocchio(path, GRIPPER)


@pytest.mark.heavy(3)
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name.removesuffix(".urdf.xacro"))
def test_shipped_robots(path: Path) -> None:
    """Every description that comes with the simulator."""
    assert_agrees_with_pinocchio(path, xacro.process_file(str(path)).toxml())
