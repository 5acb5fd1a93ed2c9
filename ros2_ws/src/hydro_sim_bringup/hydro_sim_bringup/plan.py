"""Bringup plan of a launch file: scene, robot description and controllers for its arguments.

Imports no launch packages, which are not installed everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import yaml
from lxml import etree

from hydro_sim_core import assets
from hydro_sim_core.description import load_robot, load_scene
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.paths import PackageResolver, absolute, is_robot_file
from hydro_sim_core.description.scene_urdf import robot_urdf
from hydro_sim_core.description.spec import RobotSpec
from hydro_sim_core.description.xacro_source import expand_xacro
from hydro_sim_core.errors import InputError
from hydro_sim_core.mesh_files import VOLUME_SUFFIXES

_SOURCE = "launch arguments"
#: Value of an argument that follows from the others.
AUTO = "auto"
#: What urdfdom reads, of robot_state_publisher, RViz and MoveIt, and the URIs of files that they find.
_URDF_SHAPES = {"box", "cylinder", "sphere", "mesh"}
_URDF_JOINTS = {"revolute", "continuous", "prismatic", "fixed", "floating", "planar"}
_URIS = ("package://", "file://")
_DEFAULT_RATE = 100.0  # Hz, of a controller manager without update_rate
#: Controllers that are activated at once; all others of a controllers file are only loaded.
_ACTIVE = ("joint_state_broadcaster", "joint_trajectory_controller")


@dataclass(frozen=True)
class ShippedRobot:
    """An arm with its gripper.

    Attributes:
        urdf: Stem of its file in urdf/, shipped with the engine.
        scene: Stem of its scene in config/scenes/.
        controllers: Stems of its controllers files in config/.
    """

    urdf: str
    scene: str
    controllers: tuple[str, ...]


_SIX, _SEVEN, _FINGERS = "controllers_6dof", "controllers_7dof", "controllers_soft_bubble"
ROBOTS = {
    ("gen3_7dof", "soft_bubble"): ShippedRobot("gen3_7dof_soft_bubble", "spatula_slip", (_SEVEN, _FINGERS)),
    ("gen3_7dof", "none"): ShippedRobot("kinova_gen3_7dof", "gen3_7dof", (_SEVEN,)),
    ("gen3_6dof", "soft_bubble"): ShippedRobot(
        "gen3_6dof_soft_bubble", "gen3_6dof_soft_bubble", (_SIX, _FINGERS)
    ),
    ("gen3_6dof", "none"): ShippedRobot("kinova_gen3_6dof", "gen3_6dof", (_SIX,)),
    ("jaco2", "soft_bubble"): ShippedRobot("jaco_soft_bubble", "jaco2_soft_bubble", (_SIX, _FINGERS)),
    ("jaco2", "none"): ShippedRobot("jaco_j2s6", "jaco2", (_SIX,)),
}
ARMS = tuple(dict.fromkeys(arm for arm, _ in ROBOTS))
GRIPPERS = tuple(dict.fromkeys(gripper for _, gripper in ROBOTS))
CONTROLLERS = ("none", "ros2_control")


@dataclass(frozen=True)
class Bringup:
    """Files and controllers to start.

    Attributes:
        scene: Scene or robot file for the node.
        description: URDF text for robot_state_publisher; None if only the node publishes descriptions.
        models: Models of the scene that the description covers.
        controllers_files: Parameters of the controller manager and its controllers.
    """

    scene: str
    description: str | None = None
    models: tuple[str, ...] = ()
    controllers_files: tuple[Path, ...] = ()

    @property
    def controllers(self) -> tuple[str, ...]:
        """Names of the controllers in ``controllers_files``, in order."""
        return tuple(name for path in self.controllers_files for name in _controllers_in(path))

    @property
    def control_period(self) -> float:
        """Period of the controller manager, s."""
        rates = [rate for path in self.controllers_files for rate in [_update_rate(path)] if rate]
        return 1.0 / (rates[-1] if rates else _DEFAULT_RATE)

    @property
    def active_controllers(self) -> tuple[str, ...]:
        """Controllers that are activated at once."""
        return tuple(name for name in self.controllers if name in _ACTIVE)

    @property
    def inactive_controllers(self) -> tuple[str, ...]:
        """Controllers that are only loaded."""
        return tuple(name for name in self.controllers if name not in _ACTIVE)


def plan_bringup(
    *,
    scene: str = AUTO,
    arm: str = AUTO,
    gripper: str = AUTO,
    description_file: str = "",
    controllers: str = "none",
    controllers_file: str = "",
) -> Bringup:
    """Choose scene, description and controllers for the arguments of a launch file.

    Args:
        scene: Scene or robot file, or name of a shipped scene; ``auto``: that of arm and gripper, or the robot of
            ``description_file`` alone.
        arm: One of ``ARMS``; ``auto``: the first, or that of the given scene.
        gripper: One of ``GRIPPERS``; ``auto``: as for the arm.
        description_file: URDF or xacro of the scene's robot, in place of the shipped description.
        controllers: One of ``CONTROLLERS``.
        controllers_file: Parameters of the controller manager, in place of the shipped ones.

    Raises:
        InputError: A value is unknown, two arguments contradict each other, a file is invalid, or the description does
            not match the scene.
    """
    for name, value, known in (
        ("arm", arm, (AUTO, *ARMS)),
        ("gripper", gripper, (AUTO, *GRIPPERS)),
        ("controllers", controllers, CONTROLLERS),
    ):
        if value not in known:
            raise InputError(_SOURCE, name, f"'{value}' is unknown", f"use one of {', '.join(known)}")
    external = controllers == "ros2_control"
    if controllers_file and not external:
        raise InputError(_SOURCE, "controllers_file", "nothing reads it", "add controllers:=ros2_control")

    if scene == AUTO and not description_file:
        bringup = _shipped(arm, gripper, external)
    else:
        if (arm, gripper) != (AUTO, AUTO):
            problem = "contradict scene and description_file, which bring their own robot"
            raise InputError(_SOURCE, "arm, gripper", problem, "leave them out")
        bringup = _own(scene, description_file)
    if not external:
        return bringup
    return _with_controllers(bringup, controllers_file)


def _shipped(arm: str, gripper: str, external: bool) -> Bringup:
    """Plan for a shipped robot and scene."""
    arm = ARMS[0] if arm == AUTO else arm
    gripper = GRIPPERS[0] if gripper == AUTO else gripper
    shipped = ROBOTS[arm, gripper]
    urdf = assets.folder("urdf") / f"{shipped.urdf}.urdf.xacro"
    scene = assets.folder("config") / "scenes" / f"{shipped.scene}.yaml"
    arguments = {"ros2_control": external}
    # Our files have extensions of URDF, so a standard URDF is written for other programs.
    description = robot_urdf(load_robot(urdf, xacro_args=arguments), control_blocks(urdf, arguments))
    stems = shipped.controllers if external else ()
    files = tuple(assets.folder("config") / f"{stem}.yaml" for stem in stems)
    return Bringup(str(scene), description, _covered_models(str(scene), urdf), files)


def _own(scene: str, description_file: str) -> Bringup:
    """Plan for a scene or a description of the user."""
    path = _scene_path(description_file if scene == AUTO else scene)
    if not description_file:
        return Bringup(path)
    description = absolute(Path(description_file))
    models = _covered_models(path, description)
    return Bringup(path, _as_written(description), models)


def _scene_path(scene: str) -> str:
    """Path of a file or of a shipped scene; other names are left to the node."""
    if Path(scene).is_file():
        return str(absolute(Path(scene)))
    shipped = assets.folder("config") / "scenes" / f"{scene}.yaml"
    return str(shipped) if shipped.is_file() else scene


def _with_controllers(bringup: Bringup, controllers_file: str) -> Bringup:
    """The plan with ros2_control's files, if the robot has what ros2_control needs."""
    if bringup.description is None:
        mend = "name the robot's URDF in description_file, or leave scene out"
        raise InputError(_SOURCE, "controllers", "ros2_control needs to know the robot", mend)
    if ElementTree.fromstring(bringup.description).find("ros2_control") is None:
        mend = "add one for joint_state_topic_hardware_interface"
        raise InputError(_SOURCE, "description_file", "has no <ros2_control> block", mend)
    if controllers_file:
        files: tuple[Path, ...] = (absolute(Path(controllers_file)),)
    elif bringup.controllers_files:
        files = bringup.controllers_files
    else:
        mend = "name a file of controller parameters"
        raise InputError(_SOURCE, "controllers_file", "is needed with description_file", mend)
    for path in files:
        _controllers_in(path)
    return Bringup(bringup.scene, bringup.description, bringup.models, files)


def _controllers_in(path: Path) -> tuple[str, ...]:
    """Names of the controllers that a parameters file of the controller manager lists.

    Raises:
        InputError: The file cannot be read or lists none.
    """
    parameters = _manager_parameters(path)
    names = [name for name, value in parameters.items() if isinstance(value, dict) and "type" in value]
    if not names:
        mend = "give controller_manager.ros__parameters.<controller>.type"
        raise InputError(path, "controller_manager", "names no controller", mend)
    return tuple(names)


def _update_rate(path: Path) -> float | None:
    """Rate of the controller manager in a parameters file, Hz; None without one.

    Raises:
        InputError: It is no rate.
    """
    rate = _manager_parameters(path).get("update_rate")
    if rate is not None and not (isinstance(rate, int | float) and 0.0 < rate < math.inf):
        raise InputError(path, "update_rate", f"{rate!r} is no rate", "give it in Hz, above 0")
    return rate


def _manager_parameters(path: Path) -> dict[str, Any]:
    """Parameters of the controller manager in a file.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, ValueError, yaml.YAMLError) as error:
        problem = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise InputError(path, "", f"cannot be read: {problem}", "name a YAML file of parameters") from None
    found: dict[str, Any] = {}
    for node, values in content.items() if isinstance(content, dict) else ():
        if str(node).rpartition("/")[2] == "controller_manager" and isinstance(values, dict):
            found |= values.get("ros__parameters") or {}
    return found


def _covered_models(scene: str, description: Path) -> tuple[str, ...]:
    """The model of the scene that a description matches: one with the same root link.

    Raises:
        InputError: No model matches, or one of the two has links or moving joints that the other lacks.
    """
    described = load_robot(description, ignore=None)
    for name, robot in _models_of(scene):
        if robot.root == described.root:
            _check_fit(name, robot, described, description)
            return (name,)
    roots = ", ".join(f"'{robot.root}'" for _, robot in _models_of(scene))
    problem = f"no model of {scene} starts at the link '{described.root}'"
    raise InputError(description, "root link", problem, f"describe the model that starts at {roots}")


def _models_of(scene: str) -> Iterable[tuple[str, RobotSpec]]:
    if is_robot_file(scene):
        robot = load_robot(scene, ignore=None)
        return [(robot.name, robot)]
    loaded = load_scene(scene)
    return [(model.name, robot) for model, robot in zip(loaded.spec.models, loaded.robots, strict=True)]


def _check_fit(name: str, robot: RobotSpec, described: RobotSpec, description: Path) -> None:
    links = {link.name for link in described.links}
    for link in robot.links:
        if link.name not in links:
            problem = f"is missing, and the model '{name}' has it: it would have no transform"
            raise InputError(description, f"link '{link.name}'", problem, "add it")
    simulated = {joint.name for joint in robot.joints}
    for joint in described.joints:
        if joint.type != "fixed" and joint.name not in simulated:
            problem = f"is not a joint of the model '{name}', so nothing moves it"
            raise InputError(
                description, f"joint '{joint.name}'", problem, did_you_mean(joint.name, simulated)
            )


def control_blocks(urdf: Path, arguments: Mapping[str, object]) -> list[Element]:
    """The ``<ros2_control>`` blocks of a xacro file with these arguments."""
    document = expand_xacro(urdf, arguments, PackageResolver(urdf))
    blocks = document.root.lxml.iterchildren("ros2_control")
    return [ElementTree.fromstring(etree.tostring(block)) for block in blocks]


def _as_written(description: Path) -> str:
    """Text of a URDF file, or expansion of a xacro file.

    It is written anew where other readers would drop a part of it: shapes and types of joints that URDF does not have,
    and mesh files that they cannot find or read.
    """
    if description.suffix == ".xacro":
        document = expand_xacro(description, {}, PackageResolver(description))
        text = etree.tostring(document.root.lxml, encoding="unicode")
    else:
        text = description.read_text()
    root = ElementTree.fromstring(text)
    if _is_whole(root):
        return text
    others = [element for element in root if element.tag not in ("link", "joint", "material")]
    return robot_urdf(load_robot(description, ignore=None), others)


def _is_whole(root: Element) -> bool:
    """Whether other readers of URDF understand every shape, joint and mesh file."""
    shapes = [shape for geometry in root.iter("geometry") for shape in geometry]
    files = [shape.get("filename", "") for shape in shapes if shape.tag == "mesh"]
    return (
        {shape.tag for shape in shapes} <= _URDF_SHAPES
        and {joint.get("type") for joint in root.findall("joint")} <= _URDF_JOINTS
        and all(file.startswith(_URIS) and not file.lower().endswith(VOLUME_SUFFIXES) for file in files)
    )
