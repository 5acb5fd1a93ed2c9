"""Which joints their descriptions drive, where the scene says nothing of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from hydro_sim_core.description.scene import ModelSpec, SceneSpec
from hydro_sim_core.description.spec import JointSpec, RobotSpec


class DrivenJoint(NamedTuple):
    """How a joint is driven.

    Attributes:
        mode: What it obeys at the start; it can be told either.
        unit: Of its position.
    """

    mode: Literal["position", "velocity"]
    unit: Literal["rad", "m"]


def described_joints(spec: SceneSpec, robots: tuple[RobotSpec, ...]) -> dict[str, DrivenJoint]:
    """Joints that their description drives, and no actuator and no gripper of the scene with gains, by name.

    A ``<ros2_control>`` block says which joints of a robot have a drive. Where a robot has none and its model says
    ``drives: all``, joints with an effort limit have one, or where no joint has any, those that have an end. Joints
    that mimic another or have several coordinates have none.

    Args:
        spec: The scene.
        robots: One robot per model, prefixes applied.
    """
    taken = {name for actuator in spec.actuators for name in actuator.joints}
    taken |= {name for gripper in spec.grippers for name in gripper.joints}
    without_gains = {name for gripper in spec.grippers if gripper.kp is None for name in gripper.joints}
    joints = {joint.name: joint for robot in robots for joint in robot.joints}
    linkages = {
        name: DrivenJoint("position", joints[name].traits.coordinates[0].unit) for name in without_gains
    }
    return linkages | {
        joint.name: DrivenJoint(mode, joint.traits.coordinates[0].unit)
        for model, robot in zip(spec.models, robots, strict=True)
        for joint, mode in driven_joints(model, robot)
        if joint.name not in taken
    }


def compensated_coordinates(spec: SceneSpec, robots: tuple[RobotSpec, ...]) -> list[str]:
    """Coordinates whose drives compensate gravity: as the model says, else those of positions that a file describes."""
    described = described_joints(spec, robots)
    compensated = []
    for model, robot in zip(spec.models, robots, strict=True):
        names = [name for joint in robot.joints for name in joint.coordinate_names]
        if model.gravity_compensation is None and model.base != "floating":
            names = [name for name in names if name in described and described[name].mode == "position"]
        elif not model.gravity_compensation:
            names = []
        compensated += names
    return compensated


def driven_joints(
    model: ModelSpec, robot: RobotSpec
) -> Iterator[tuple[JointSpec, Literal["position", "velocity"]]]:
    """Joints that the description of a model drives, whatever the rest of the scene says, and what each obeys."""
    if model.drives == "none":
        return
    joints = [joint for joint in robot.joints if joint.mimic is None and joint.traits.is_scalar]
    if robot.drives:
        said = {drive.joint: drive.commands for drive in robot.drives}
        for joint in joints:
            for mode in ("position", "velocity"):
                if mode in said.get(joint.name, ()):
                    yield joint, mode
                    break
    elif model.drives == "all":
        with_effort = [joint for joint in joints if 0.0 < joint.limits.effort < math.inf]
        for joint in with_effort or [joint for joint in joints if math.isfinite(joint.limits.upper)]:
            yield joint, "position"


def initial_positions(robot: RobotSpec) -> dict[str, float]:
    """Start positions that a description gives, by joint, rad or m."""
    joints: dict[str, JointSpec] = {joint.name: joint for joint in robot.joints}
    return {
        drive.joint: drive.initial
        for drive in robot.drives
        if drive.initial is not None and joints[drive.joint].mimic is None
    }
