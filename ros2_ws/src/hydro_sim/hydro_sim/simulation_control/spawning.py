"""Spawning: builds the World with an additional robot or object from URDF."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hydro_sim.simulation_control.catalogue import robot_file
from hydro_sim.simulation_control.refusals import Reason, Refused, refusing, refusing_resource
from hydro_sim_core.description import load_robot, parse_robot, with_prefix
from hydro_sim_core.description.scene import ModelSpec
from hydro_sim_core.description.scene_edits import pose_spec, with_model
from hydro_sim_core.description.spec import RobotSpec
from hydro_sim_core.errors import excerpt
from hydro_sim_core.messages.state import wrench_topics
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.world.entities import Box, EntityStates

Array = NDArray[np.float64]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_NAMESPACE = re.compile(r"/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*/?")
_LONGEST_NAMESPACE = 200
_TEXT = "resource_string"
_LONGEST_TEXT = 2**24


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
    """

    name: str = ""
    allow_renaming: bool = False
    uri: str = ""
    text: str = ""
    namespace: str = ""
    frame: str = ""
    X_FE: Array = field(default_factory=lambda: np.eye(4))


def build_spawned(base: World, request: SpawnRequest, X_WE: Array) -> World:
    """Build the World with an additional model, which comes last.

    The names of the model's links and joints are prefixed with its full name and a slash. It floats, unless its root
    link is called ``world`` or it has no mass.

    Args:
        base: The present World.
        request: The request; its pose has been checked.
        X_WE: (4, 4) pose of the root link in the world.
    """
    namespace = _checked_namespace(request.namespace)
    robot = _read(request)
    name = _free_name(request, robot, namespace, base.entities.names)
    floats = robot.root != "world" and any(link.inertial is not None for link in robot.links)
    model = ModelSpec(
        name=name,
        urdf=robot.source,
        prefix=f"{name}/",
        base="floating" if floats else "fixed",
        pose=pose_spec(X_WE),
        drives="all",
    )
    with refusing_resource():
        scene = with_model(base.scene, model, with_prefix(robot, model.prefix))
        world = World(scene, base)
    with refusing(Reason.NAME_NOT_UNIQUE):
        wrench_topics(world.contact_pairs)
    try:
        world.step()
    except FloatingPointError as error:
        raise Refused(Reason.OPERATION_FAILED, str(error)) from None
    return world


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
    if request.uri:
        path = robot_file(request.uri)
        with refusing_resource():
            return load_robot(path)
    if not request.text:
        raise Refused(Reason.NO_RESOURCE, "give a uri or a resource_string")
    if len(request.text) > _LONGEST_TEXT:
        raise Refused(
            Reason.RESOURCE_PARSE_ERROR, f"resource_string is longer than {_LONGEST_TEXT} characters"
        )
    with refusing_resource():
        return parse_robot(request.text, _TEXT)


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
