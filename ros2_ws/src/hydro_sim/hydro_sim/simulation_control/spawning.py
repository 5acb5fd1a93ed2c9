"""Spawning: builds the World with an additional robot or object from URDF."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray

from hydro_sim.simulation_control.catalogue import robot_file, srdf_file
from hydro_sim.simulation_control.refusals import Reason, Refused, refusing, refusing_resource
from hydro_sim_core.description import load_robot, parse_robot, with_prefix
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.paths import is_xacro_argument, xacro_arguments
from hydro_sim_core.description.scene import ModelSpec
from hydro_sim_core.description.scene_drives import ActuatorSpec
from hydro_sim_core.description.scene_edits import pose_spec, with_model
from hydro_sim_core.description.spec import RobotSpec
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.messages.state import wrench_topics
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.world.entities import Box, EntityStates

Array = NDArray[np.float64]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_NAMESPACE = re.compile(r"/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*/?")
_LONGEST_NAMESPACE = 200
_TEXT = "resource_string"
_LONGEST_TEXT = 2**24
Base = Literal["fixed", "floating", "kinematic"]
_BASES = ("fixed", "floating", "kinematic")
_QUERY = ("xacro_arg", "package_dir", "srdf", "base", "ignore")


@dataclass(frozen=True, eq=False)
class SpawnRequest:
    """A request to spawn a model.

    Attributes:
        name: Name of the model; empty for the one in the description.
        allow_renaming: Whether another name may be chosen if this one is taken or invalid.
        uri: URI of the description; empty if ``text`` has it.
        text: URDF text.
        namespace: Prefix of its full name.
        frame: Link that the pose is relative to, or the world.
        X_FE: (4, 4) pose of its root link.
        xacro_args: Arguments of a xacro file, each ``name:=value``.
        package_dirs: Packages, or folders that hold packages, as absolute paths.
        srdf: URI of its SRDF; empty for the one that the description names, or none.
        ignore: Words of what its description says to other programs and is ignored, as the error that refuses it names
            them.
        base: How its root link is held; empty to float unless that is called ``world`` or nothing of it has mass.
        gains: Drives of joints, named as in the description, that do not follow from the description.
    """

    name: str = ""
    allow_renaming: bool = False
    uri: str = ""
    text: str = ""
    namespace: str = ""
    frame: str = ""
    X_FE: Array = field(default_factory=lambda: np.eye(4))
    xacro_args: tuple[str, ...] = ()
    package_dirs: tuple[str, ...] = ()
    srdf: str = ""
    ignore: tuple[str, ...] = ()
    base: str = ""
    gains: tuple[ActuatorSpec, ...] = ()


def queried(uri: str) -> dict[str, Any]:
    """Parts of a ``SpawnRequest`` in a URI whose query says what the request has no field for.

    ``package://arm/arm.urdf.xacro?xacro_arg=dof:=7&package_dir=/robots&base=fixed`` names what the command line calls
    ``--xacro-arg`` and ``--package-dir``; a key may occur several times.

    Raises:
        Refused: The query has another key.
    """
    bare, _, query = uri.partition("?")
    found: dict[str, list[str]] = {key: [] for key in _QUERY}
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key not in found:
            problem = f"{excerpt(key)} in the query of the uri is unknown"
            raise Refused(Reason.RESOURCE_PARSE_ERROR, f"{problem}; {did_you_mean(key, _QUERY)}")
        found[key].append(value)
    return {
        "uri": bare,
        "xacro_args": tuple(found["xacro_arg"]),
        "package_dirs": tuple(found["package_dir"]),
        "srdf": "".join(found["srdf"][-1:]),
        "base": "".join(found["base"][-1:]),
        "ignore": tuple(found["ignore"]),
    }


def build_spawned(base: World, request: SpawnRequest, X_WE: Array) -> World:
    """Build the World with an additional model, which comes last.

    The names of the model's links and joints are prefixed with its full name and a slash. Its drives and grippers are
    those of a file that is loaded alone.

    Args:
        base: The present World.
        request: The request; its pose has been checked.
        X_WE: (4, 4) pose of the root link in the world.
    """
    namespace = _checked_namespace(request.namespace)
    robot = _read(request)
    name = _free_name(request, robot, namespace, base.entities.names)
    model = ModelSpec(
        name=name,
        urdf=robot.source,
        prefix=f"{name}/",
        base=_base(request, robot),
        pose=pose_spec(X_WE),
        drives="all",
        ignore=request.ignore,
    )
    with refusing_resource():
        actuators = [_prefixed(one, robot, model.prefix) for one in request.gains]
        scene = with_model(base.scene, model, with_prefix(robot, model.prefix), actuators)
        world = World(scene, base)
    with refusing(Reason.NAME_NOT_UNIQUE):
        wrench_topics(world.contact_pairs)
    try:
        world.step()
    except FloatingPointError as error:
        raise Refused(Reason.OPERATION_FAILED, str(error)) from None
    return world


def _base(request: SpawnRequest, robot: RobotSpec) -> Base:
    if request.base:
        if request.base not in _BASES:
            problem = f"{excerpt(request.base)} is no base"
            raise Refused(Reason.OPERATION_FAILED, f"{problem}: use {', '.join(_BASES)}, or leave it empty")
        return cast(Base, request.base)
    floats = robot.root != "world" and any(link.inertial is not None for link in robot.links)
    return "floating" if floats else "fixed"


def _prefixed(actuator: ActuatorSpec, robot: RobotSpec, prefix: str) -> ActuatorSpec:
    (joint,) = actuator.joints
    known = [name for one in robot.joints if one.mimic is None for name in one.coordinate_names]
    if joint not in known:
        problem = f"no joint {excerpt(joint)} that is driven by itself"
        raise InputError(robot.source, "gains", problem, did_you_mean(joint, known))
    return actuator.model_copy(update={"joints": (prefix + joint,)})


def remarks_on(world: World, request: SpawnRequest) -> list[str]:
    """What whoever spawned the last model of a World may not expect of it."""
    model, robot = world.scene.spec.models[-1], world.scene.robots[-1]
    driven = any(joint.name in world.drives and world.takes(joint.name, "position") for joint in robot.joints)
    if request.base or model.base != "floating" or not driven:
        return []
    root = robot.root.removeprefix(model.prefix)
    return [f"it floats, for its root link '{root}' is not called world; base fixed welds it down"]


def overlapped(states: EntityStates, names: Sequence[str], name: str) -> list[str]:
    """Entities whose axis-aligned boxes intersect those of entity ``name``."""
    box = states.world_box(name)
    if box is None:
        return []
    return [other for other in names if other != name and states.overlaps(other, Box(*box))]


def _checked_namespace(namespace: str) -> str:
    if namespace and (len(namespace) > _LONGEST_NAMESPACE or not _NAMESPACE.fullmatch(namespace)):
        raise Refused(Reason.NAMESPACE_INVALID, f"{excerpt(namespace)} is no namespace of ROS")
    return namespace.strip("/")


def _read(request: SpawnRequest) -> RobotSpec:
    folders = _checked_folders(request.package_dirs)
    arguments = _checked_arguments(request.xacro_args)
    srdf = srdf_file(request.srdf, folders) if request.srdf else None
    if request.uri:
        path = robot_file(request.uri, folders)
        if arguments and path.suffix.lower() != ".xacro":
            problem = f"{path.name} is no xacro file, and takes no arguments"
            raise Refused(Reason.RESOURCE_PARSE_ERROR, f"{problem}: leave xacro_args out")
        with refusing_resource():
            return load_robot(path, folders, arguments, srdf=srdf, ignore=request.ignore)
    if not request.text:
        raise Refused(Reason.NO_RESOURCE, "give a uri or a resource_string")
    if len(request.text) > _LONGEST_TEXT:
        raise Refused(
            Reason.RESOURCE_PARSE_ERROR, f"resource_string is longer than {_LONGEST_TEXT} characters"
        )
    if arguments or srdf is not None:
        problem = "a description as text takes neither xacro arguments nor an SRDF"
        raise Refused(Reason.OPERATION_FAILED, f"{problem}: give the uri of a file")
    with refusing_resource():
        return parse_robot(request.text, _TEXT, package_dirs=folders, ignore=request.ignore)


def _checked_folders(folders: Sequence[str]) -> list[Path]:
    for folder in folders:
        if not Path(folder).is_absolute() or not Path(folder).is_dir():
            problem = f"package_dirs: {excerpt(folder)} is no folder"
            raise Refused(
                Reason.MISSING_ASSETS, f"{problem}: give absolute paths of folders on the node's machine"
            )
    return [Path(folder) for folder in folders]


def _checked_arguments(arguments: Sequence[str]) -> Mapping[str, str]:
    for argument in arguments:
        if not is_xacro_argument(argument):
            problem = f"xacro_args: {excerpt(argument)} is no argument"
            raise Refused(Reason.RESOURCE_PARSE_ERROR, f"{problem}: write name:=value")
    return xacro_arguments(arguments)


def _free_name(request: SpawnRequest, robot: RobotSpec, namespace: str, taken: Sequence[str]) -> str:
    """A free full name.

    Raises:
        Refused: The name is taken or invalid, and renaming is not allowed.
    """
    own = request.name or robot.name
    if not _NAME.fullmatch(own):
        if not request.allow_renaming:
            problem = (
                f"{excerpt(own)} is no name: use letters, digits, _, . and -, at most 100, or allow renaming"
            )
            raise Refused(Reason.NAME_INVALID, problem)
        own = re.sub(r"[^A-Za-z0-9_.-]+", "_", own)[:90].lstrip("_.-") or "entity"
    full = f"{namespace}/{own}" if namespace else own
    if full not in taken:
        return full
    if not request.allow_renaming:
        raise Refused(
            Reason.NAME_NOT_UNIQUE, f"there is a '{full}' already; give another name, or allow renaming"
        )
    return next(name for i in range(1, len(taken) + 2) if (name := f"{full}_{i}") not in taken)
