"""Small URDF texts for tests, and forward kinematics straight from a RobotSpec."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from hydro_sim_core.description.spec import Array, JointSpec, RobotSpec

#: A joint from a to b that most tests need around the thing they look at.
HINGE = (
    '<joint name="hinge" type="revolute"><parent link="a"/><child link="b"/>'
    '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="2"/></joint>'
)


def robot_text(
    *elements: str, prefixes: str = 'xmlns:drake="http://drake.mit.edu" xmlns:hydro="urn:hydro-sim"'
) -> str:
    """A URDF whose elements stand one a line, the first in line 2."""
    return "\n".join([f'<robot name="test" {prefixes}>', *elements, "</robot>"])


def write_urdf(folder: Path, *elements: str) -> Path:
    """Write :func:`robot_text` to a file and return its path."""
    path = folder / "test.urdf"
    path.write_text(robot_text(*elements))
    return path


def write_xacro(folder: Path, *elements: str, name: str = "test.urdf.xacro") -> Path:
    """Write a xacro file with these elements in its robot and return its path."""
    path = folder / name
    path.write_text(
        f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{"".join(elements)}</robot>'
    )
    return path


def collision(geometry: str, properties: str = "") -> str:
    """Link ``a`` with one collision."""
    tags = f"<drake:proximity_properties>{properties}</drake:proximity_properties>" if properties else ""
    return f'<link name="a"><collision><geometry>{geometry}</geometry>{tags}</collision></link>'


def inertial(mass: str = "1", **moments: str) -> str:
    """An ``<inertial>`` with unit moments unless given otherwise."""
    values = {"ixx": "1", "iyy": "1", "izz": "1", "ixy": "0", "ixz": "0", "iyz": "0"} | moments
    attributes = " ".join(f'{name}="{value}"' for name, value in values.items())
    return f'<inertial><mass value="{mass}"/><inertia {attributes}/></inertial>'


def frame_pose(robot: RobotSpec, positions: Mapping[str, float], link: str) -> Array:
    """Pose (4, 4) of ``link`` in the root link at the given joint positions (rad, m); the others are 0."""
    poses = {robot.root: np.eye(4)}
    for joint in robot.joints:
        poses[joint.child] = poses[joint.parent] @ joint.X_PJ @ _motion(joint, positions.get(joint.name, 0.0))
    return poses[link]


def _motion(joint: JointSpec, q: float) -> Array:
    X_JC = np.eye(4)
    if joint.type in ("revolute", "continuous"):
        X_JC[:3, :3] = Rotation.from_rotvec(joint.axis * q).as_matrix()
    if joint.type == "prismatic":
        X_JC[:3, 3] = joint.axis * q
    return X_JC
