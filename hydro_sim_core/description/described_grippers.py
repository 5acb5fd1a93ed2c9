"""Grippers that descriptions of robots have, where the scene says nothing of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations

import numpy as np

from hydro_sim_core.description.described_drives import driven_joints
from hydro_sim_core.description.joints import FAR
from hydro_sim_core.description.scene import SceneSpec
from hydro_sim_core.description.scene_drives import GripperSpec
from hydro_sim_core.description.spec import Array, EndEffectorSpec, JointSpec, RobotSpec

#: Grippers by the end of the name of the joint that drives them, or of the link on which that sits; their controllers
#: are called like this, followed by ``_controller``, in the configurations of ros2_kortex and ros2_robotiq_gripper.
DRIVERS_NAMES = {
    "robotiq_85_left_knuckle_joint": "robotiq_gripper",
    "robotiq_140_base_link": "robotiq_gripper",
    "right_finger_bottom_joint": "gen3_lite_2f_gripper",
}
#: Change of the distance between fingers below which a motion neither closes nor opens, m.
_STILL = 1e-6


def all_grippers(spec: SceneSpec, robots: tuple[RobotSpec, ...]) -> tuple[GripperSpec, ...]:
    """Grippers of the scene, followed by those of descriptions.

    A joint drives a gripper if its description drives it by position, it and the joints that mimic it are on at least
    two branches of the robot, and nothing that they move carries a joint of its own; or if it alone moves an end
    effector that the SRDF names. It needs an effort limit, two ends, and a direction that closes: towards the state
    of the SRDF that has ``close`` in its name, or the end at which the links that carry nothing are nearer to each
    other. Several of one robot that nothing else names have the names of their joints.

    Args:
        spec: The scene.
        robots: One robot per model, prefixes applied.
    """
    taken = {name for gripper in spec.grippers for name in gripper.joints}
    actuators = {name: actuator for actuator in spec.actuators for name in actuator.joints}
    taken |= {name for name, actuator in actuators.items() if actuator.kp == 0.0}
    found = list(spec.grippers)
    for model, robot in zip(spec.models, robots, strict=True):
        driven = {
            joint.name
            for joint, mode in driven_joints(model, robot)
            if mode == "position" and joint.name not in taken
        }
        driving = [
            (joint, effector, closes)
            for joint, effector in _driving_joints(robot, driven)
            if (closes := _closing_direction(robot, joint, effector)) != 0
        ]
        for joint, effector, closes in driving:
            plain = f"{model.prefix}gripper" if len(driving) == 1 else joint.name
            name = _free_name(joint, effector, model.prefix, plain, [one.name for one in found])
            actuator = actuators.get(joint.name)
            effort = (actuator and actuator.effort_limit) or joint.limits.effort
            found.append(
                GripperSpec(name=name, kind="linkage", joints={joint.name: closes}, max_force=effort)
            )
    return tuple(found)


def _driving_joints(robot: RobotSpec, driven: set[str]) -> list[tuple[JointSpec, EndEffectorSpec | None]]:
    """Joints that drive a gripper, and the end effector that the SRDF says each moves."""
    effectors = {}
    for effector in robot.srdf.end_effectors:
        owners = {
            _owner(joint) for joint in robot.joints if joint.name in effector.joints and joint.traits.num_v
        }
        if len(owners) == 1:
            effectors[owners.pop()] = effector
    mimicked = {joint.mimic.joint for joint in robot.joints if joint.mimic is not None}
    return [
        (joint, effectors.get(joint.name))
        for joint in robot.joints
        if joint.name in driven
        and 0.0 < joint.limits.effort < math.inf
        and _has_ends(robot, joint)
        and (joint.name in effectors or (joint.name in mimicked and _is_linkage(robot, joint)))
    ]


def _has_ends(robot: RobotSpec, driving: JointSpec) -> bool:
    """Whether a joint, or what mimics it, has ends; those far away are of slides whose file gives none."""
    lower, upper = _range(robot, driving)
    return upper - lower < FAR


def _is_linkage(robot: RobotSpec, driving: JointSpec) -> bool:
    """Whether a joint moves several branches of a robot, and nothing on them moves by itself."""
    group = {joint.name for joint in robot.joints if _owner(joint) == driving.name}
    carrier: dict[str, str] = {}  # first joint of the group on the way to each link that the group moves
    for joint in robot.joints:
        if joint.parent in carrier:
            carrier[joint.child] = carrier[joint.parent]
        elif joint.name in group:
            carrier[joint.child] = joint.name
        if joint.child in carrier and joint.traits.num_v and joint.name not in group:
            return False
    return len(set(carrier.values())) > 1


def _owner(joint: JointSpec) -> str:
    return joint.name if joint.mimic is None else joint.mimic.joint


def _closing_direction(robot: RobotSpec, joint: JointSpec, effector: EndEffectorSpec | None) -> int:
    """1 or -1 as positions grow or shrink towards closing; 0 if that cannot be told."""
    lower, upper = _range(robot, joint)
    closed = None if effector is None else effector.closed.get(joint.name)
    if closed is not None:
        return 1 if closed > 0.5 * (lower + upper) else -1
    approach = _spread(robot, joint, lower) - _spread(robot, joint, upper)
    return 0 if abs(approach) < _STILL else int(math.copysign(1, approach))


def _range(robot: RobotSpec, driving: JointSpec) -> tuple[float, float]:
    """Positions (rad or m) between which a joint may be, and those that mimic it too."""
    lower, upper = driving.limits.lower, driving.limits.upper
    for joint in robot.joints:
        if joint.mimic is not None and joint.mimic.joint == driving.name:
            limits, mimic = joint.limits, joint.mimic
            ends = sorted((end - mimic.offset) / mimic.multiplier for end in (limits.lower, limits.upper))
            lower, upper = max(lower, ends[0]), min(upper, ends[1])
    return lower, upper


def _spread(robot: RobotSpec, driving: JointSpec, position: float) -> float:
    """Mean distance (m) of the centres of mass of links that carry nothing and that a joint at ``position`` moves."""
    X_WL: dict[str, Array] = {robot.root: np.eye(4)}
    moved: set[str] = set()
    for joint in robot.joints:
        moves = _owner(joint) == driving.name
        X_WL[joint.child] = (
            X_WL[joint.parent] @ joint.X_PJ @ (_motion(joint, position) if moves else np.eye(4))
        )
        if moves or joint.parent in moved:
            moved.add(joint.child)
    ends = moved - {joint.parent for joint in robot.joints}
    centres = [
        X_WL[link.name] @ np.append(np.zeros(3) if link.inertial is None else link.inertial.p_LCo, 1.0)
        for link in robot.links
        if link.name in ends
    ]
    distances = [float(np.linalg.norm(a - b)) for a, b in combinations(centres, 2)]
    return sum(distances) / max(len(distances), 1)


def _motion(joint: JointSpec, position: float) -> Array:
    """Pose (4, 4) of a joint's child in the joint's frame with the joint that it follows at ``position``."""
    value = position if joint.mimic is None else joint.mimic.multiplier * position + joint.mimic.offset
    X = np.eye(4)
    if joint.traits.is_slide:
        X[:3, 3] = value * joint.axis
        return X
    x, y, z = joint.axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    X[:3, :3] += math.sin(value) * K + (1.0 - math.cos(value)) * (K @ K)
    return X


def _free_name(
    joint: JointSpec, effector: EndEffectorSpec | None, prefix: str, plain: str, taken: Iterable[str]
) -> str:
    """The driver's name of a gripper, with the prefix of its joint; else its end effector's; else the plain one."""
    name = plain if effector is None else prefix + effector.name
    for end, known in DRIVERS_NAMES.items():
        for own in (joint.name, joint.parent):
            if own.endswith(end):
                name = own.removesuffix(end) + known
    names, number, free = set(taken), 2, name
    while free in names:
        free, number = f"{name}_{number}", number + 1
    return free
