"""Scenes: the constant content of the view, such as shapes, joints, grippers and the colour scale."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from hydro_sim_core.description import parse_robot
from hydro_sim_core.description.joint_types import joint_types
from hydro_sim_core.description.joints import FAR
from hydro_sim_core.description.paths import PackageResolver
from hydro_sim_core.description.spec import JointSpec, VisualSpec
from hydro_sim_core.description.urdf import collisions_as_visuals
from hydro_sim_core.description.xml_source import OWN_NAMESPACE
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.mesh_files import shared_allowance
from hydro_sim_core.simulation import World

if TYPE_CHECKING:
    from hydro_sim_core.viewer.meshes import Mesh, Rgba

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)

#: Version of the protocol between page and server.
PROTOCOL_VERSION = 1
#: Most pairs of links whose law is told: a scene may have a million.
MOST_PAIRS = 200
_WORLD = "world"


@dataclass(frozen=True)
class ViewVisual:
    """A mesh on a link.

    Attributes:
        link: Index of the link in ``ViewScene.links``.
        mesh: Key of the mesh in ``ViewScene.meshes``.
        X_LV: (16,) pose of the mesh in the link's frame, a 4 x 4 matrix row by row.
        rgba: Red, green, blue and alpha, 0 to 1.
        gloss: 0 for matt, 1 for polished.
    """

    link: int
    mesh: str
    X_LV: tuple[float, ...]
    rgba: Rgba
    gloss: float = 0.0


@dataclass(frozen=True)
class ViewJoint:
    """A joint with one coordinate.

    Attributes:
        name: Name of the joint.
        type: ``revolute``, ``continuous`` or ``prismatic``.
        unit: ``rad`` or ``m``.
        lower: Lower limit; None if unlimited.
        upper: Upper limit; None if unlimited.
        commandable: Whether it takes position commands.
    """

    name: str
    type: str
    unit: Literal["rad", "m"]
    lower: float | None
    upper: float | None
    commandable: bool


@dataclass(frozen=True)
class ViewGripper:
    """A gripper: ``max_force`` in ``unit``, ``joints`` that move its fingers."""

    name: str
    max_force: float
    unit: str
    joints: tuple[str, ...]


@dataclass(frozen=True)
class ViewLaws:
    """Which contact law each pair of links has.

    Attributes:
        counts: Number of pairs of each law, and of those that do not touch although nothing holds them apart: ``none``.
        pairs: Links and law of the first of them.
    """

    counts: Mapping[str, int]
    pairs: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class ViewScene:
    """Content of the view that is the same in all frames.

    Attributes:
        name: Name of the scene.
        links: Names of all frames, in the order of ``ViewFrame.poses``; one of them is the world.
        visuals: Meshes on links.
        meshes: Every mesh by its key.
        scale: Colour scale of pressure.
        ground: (16,) poses of half spaces in the world; their surface is the x-y plane of their frame.
        joints: Joints in the order of ``ViewFrame.joint_positions``.
        grippers: Grippers of the scene.
        pullable: Links that pages may pull: those that forces move.
        mode: Whether it shows a running simulation or a recording.
        timeline: First and last time of a recording, s; None for a simulation.
        gaps: First and last time of what is missing in a damaged recording, s.
        time_step: Time step, s.
        takes_commands: Whether pages may command, pause and reset.
        laws: Contact laws of pairs of links; None where they are not known, as in a recording.
        choices: Group and name of everything that pages may load in its place.
        chosen: Name of the one that is shown; None if it is none of them.
    """

    name: str
    links: tuple[str, ...]
    visuals: tuple[ViewVisual, ...]
    meshes: Mapping[str, bytes] = field(repr=False)
    scale: PressureScale
    ground: tuple[tuple[float, ...], ...] = ()
    joints: tuple[ViewJoint, ...] = ()
    grippers: tuple[ViewGripper, ...] = ()
    pullable: tuple[str, ...] = ()
    mode: Literal["live", "replay"] = "live"
    timeline: tuple[float, float] | None = None
    gaps: tuple[tuple[float, float], ...] = ()
    time_step: float = 1e-3
    takes_commands: bool = True
    laws: ViewLaws | None = None
    choices: tuple[tuple[str, str], ...] = ()
    chosen: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The message to pages, with a ``key`` that identifies the scene."""
        message = {
            "type": "scene",
            "version": PROTOCOL_VERSION,
            "name": self.name,
            "mode": self.mode,
            "links": self.links,
            "visuals": [{**asdict(visual), "mesh": f"/mesh/{visual.mesh}"} for visual in self.visuals],
            "ground": [{"X_WG": pose} for pose in self.ground],
            "joints": [asdict(joint) for joint in self.joints],
            "grippers": [asdict(gripper) for gripper in self.grippers],
            "pullable": self.pullable,
            "scale": {
                "name": self.scale.name,
                "maximum": self.scale.maximum,
                "unit": self.scale.unit,
                "colours": self.scale.table().tolist(),
            },
            "time_step": self.time_step,
            "takes_commands": self.takes_commands,
            "laws": self.laws and asdict(self.laws),
            "choices": self.choices,
            "chosen": self.chosen,
            "timeline": self.timeline
            and {"start": self.timeline[0], "end": self.timeline[1], "gaps": self.gaps},
        }
        text = json.dumps(message, sort_keys=True, allow_nan=False)
        return {**message, "key": hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()}


def scene_of_world(world: World, scale: PressureScale, takes_commands: bool = True) -> ViewScene:
    """The scene of a running world.

    A robot without any visual geometry is drawn with its collision geometry, and so is a link with a visual mesh that
    cannot be read, with one warning.
    """
    links = world.frame_names if _WORLD in world.frame_names else (_WORLD, *world.frame_names)
    drawn = _DrawnShapes(links)
    environment = [VisualSpec(item.name, item.shape, item.X_LG) for item in world.scene.environment]
    with shared_allowance(world.scene.source):
        for robot in world.scene.robots:
            without = not any(link.visuals for link in robot.links)
            for link in robot.links:
                instead = collisions_as_visuals(link.collisions)
                drawn.add(link.name, instead if without else link.visuals, instead)
        drawn.add(_WORLD, [item for item in environment if item.shape.kind != "half_space"])
    drawn.tell_of_broken(str(world.scene.source))

    shown = {
        joint.name: joint
        for robot in world.scene.robots
        for described in robot.joints
        for joint in _view_joints(described)
    }
    # Joints of linkages have a slider too: by its position a gripper opens again.
    fingers = {
        joint
        for gripper in world.scene.grippers
        if not gripper.is_linkage
        for joint in world.gripper_joints(gripper.name)
    }
    commandable = {
        name
        for name in world.actuated_joint_names
        if takes_commands and name not in fingers and world.takes(name, "position")
    }
    return ViewScene(
        name=world.name,
        links=links,
        visuals=tuple(drawn.visuals),
        meshes=drawn.meshes,
        scale=scale,
        ground=tuple(_row_by_row(item.X_LG) for item in environment if item.shape.kind == "half_space"),
        joints=tuple(replace(shown[name], commandable=name in commandable) for name in world.joint_names),
        grippers=tuple(
            ViewGripper(
                gripper.name, gripper.max_force, world.grip_units[gripper.name], tuple(gripper.joints)
            )
            for gripper in world.scene.grippers
        ),
        pullable=world.pullable_links if takes_commands else (),
        time_step=world.time_step,
        takes_commands=takes_commands,
        laws=_laws(world),
    )


def _laws(world: World) -> ViewLaws:
    laws = world.contact_laws
    return ViewLaws({**laws.counts, "none": len(laws.silent)}, tuple(laws.told(MOST_PAIRS)))


def scene_of_urdf(
    text: str,
    scale: PressureScale,
    *,
    source: str = "robot_description",
    package_dirs: Sequence[str | Path] = (),
    name: str | None = None,
    mode: Literal["live", "replay"] = "replay",
    timeline: tuple[float, float] | None = None,
    time_step: float = 1e-3,
) -> ViewScene:
    """The scene of a robot description, such as that of a recording.

    Its root link is the world. Missing mesh files are left out, with one warning for all, and unreadable ones with
    another.

    Args:
        text: URDF.
        scale: Colours of pressure.
        source: Name of the text in error messages.
        package_dirs: ROS packages with meshes, or folders of such packages.
        name: Name of the scene; by default that of the robot.
        mode: As in ``ViewScene``.
        timeline: As in ``ViewScene``.
        time_step: Time step, s.

    Raises:
        InputError: The text is not a valid URDF.
    """
    text = _with_meshes_found(text, source, package_dirs)
    robot = parse_robot(text, source, repair="silent", ignore=None)
    drawn = _DrawnShapes(tuple(link.name for link in robot.links))
    with shared_allowance(source):
        for link in robot.links:
            drawn.add(link.name, link.visuals)
    drawn.tell_of_broken(source)
    return ViewScene(
        name=name or robot.name,
        links=drawn.links,
        visuals=tuple(drawn.visuals),
        meshes=drawn.meshes,
        scale=scale,
        joints=tuple(shown for joint in robot.joints for shown in _view_joints(joint)),
        mode=mode,
        timeline=timeline,
        time_step=time_step,
        takes_commands=False,
    )


class _DrawnShapes:
    """Collects the visuals and meshes of links."""

    def __init__(self, links: tuple[str, ...]) -> None:
        self.links = links
        self.visuals: list[ViewVisual] = []
        self.meshes: dict[str, bytes] = {}
        self._broken: dict[str, str] = {}
        self._row = {name: i for i, name in enumerate(links)}
        from hydro_sim_core.viewer.meshes import shape_meshes  # trimesh takes a third of a second to import

        self._meshes_of = cache(shape_meshes)  # robots often repeat shapes

    def add(
        self, link: str, visuals: Sequence[VisualSpec], instead: Sequence[VisualSpec] | None = None
    ) -> None:
        """Add what a link looks like, or other shapes if some of that cannot be read, or the rest of it."""
        found = []
        for visual in visuals:
            try:
                found.append((visual, self._meshes_of(visual.shape, visual.rgba)))
            except InputError as error:
                self._broken.setdefault(link, str(error))
                if instead is not None:
                    self.add(link, instead)
                    return
        for visual, meshes in found:
            for mesh, rgba in meshes:
                self._draw(link, mesh, visual.X_LG, rgba, visual.gloss)

    def tell_of_broken(self, source: str) -> None:
        """Log one warning of meshes that cannot be read."""
        if self._broken:
            link, problem = next(iter(self._broken.items()))
            logger.warning(
                "%s: visual meshes of %d links are not drawn, that of '%s' among them: %s",
                source,
                len(self._broken),
                link,
                problem,
            )

    def _draw(self, link: str, mesh: Mesh, X_LV: Array, rgba: Rgba, gloss: float) -> None:
        self.meshes[mesh.key] = mesh.data
        self.visuals.append(ViewVisual(self._row[link], mesh.key, _row_by_row(X_LV), rgba, gloss))


def _row_by_row(X: Array) -> tuple[float, ...]:
    return tuple(float(value) for value in X.ravel())


def _view_joints(joint: JointSpec) -> Iterator[ViewJoint]:
    """The coordinates of a joint that a page can show, none of them commandable."""

    def bound(value: float) -> float | None:
        # Slides whose file gives no ends have some far away, between which no slider finds a place.
        return float(value) if has_ends and abs(value) < FAR else None

    has_ends = joint.traits.ends != "none"
    turn = "revolute" if has_ends else "continuous"
    for name, unit in joint.units.items():
        kind = "prismatic" if unit == "m" else turn
        lower, upper = bound(joint.limits.lower), bound(joint.limits.upper)
        yield ViewJoint(name, kind, unit, lower, upper, commandable=False)


def _with_meshes_found(text: str, source: str, package_dirs: Sequence[str | Path]) -> str:
    """The URDF without collision geometry, visuals whose mesh is missing, and unknown joint types."""
    try:
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True
        )
        root = etree.fromstring(text.encode(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise InputError(source, "", f"is no XML ({error})", "give a URDF") from None
    resolver = PackageResolver(Path(source), package_dirs, placeless=True)
    for collision in root.findall("link/collision"):
        collision.getparent().remove(collision)
    for joint in root.findall("joint"):
        # The package that adds the joint type may be missing where a recording is replayed.
        if joint.get(f"{{{OWN_NAMESPACE}}}type") not in joint_types():
            joint.attrib.pop(f"{{{OWN_NAMESPACE}}}type", None)
    missing = []
    for visual in root.findall("link/visual"):
        mesh = visual.find("geometry/mesh")
        uri = None if mesh is None else mesh.get("filename")
        if mesh is None or uri is None:
            continue
        try:
            mesh.set("filename", resolver.resolve_mesh(uri, "mesh").as_uri())
        except InputError:
            missing.append(uri)
            visual.getparent().remove(visual)
    if missing:
        logger.warning(
            "%s: %d mesh files are missing and not drawn, %s among them", source, len(missing), missing[0]
        )
    return etree.tostring(root, encoding="unicode")
