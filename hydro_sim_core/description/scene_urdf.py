"""Export of a scene as one URDF, for viewers and recordings, with all robots and objects as children of the world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.exported_meshes import readable_mesh, surface_of_shape
from hydro_sim_core.description.joints import UNBOUNDED
from hydro_sim_core.description.scene import ModelSpec
from hydro_sim_core.description.scene_loader import LoadedScene
from hydro_sim_core.description.shape_types import shape_types
from hydro_sim_core.description.spec import (
    InertialSpec,
    JointSpec,
    LinkSpec,
    RobotSpec,
    ShapeSpec,
    VisualSpec,
)
from hydro_sim_core.description.xml_source import OWN_NAMESPACE
from hydro_sim_core.rotations import roll_pitch_yaw

ElementTree.register_namespace("hydro", OWN_NAMESPACE)
_WORLD = "world"
_GREY = (0.6, 0.6, 0.6, 1.0)
_GROUND = (4.0, 4.0, 0.01)  # m, the slab drawn for a half space


def scene_urdf(scene: LoadedScene, world_frame: str, collisions: bool = False) -> str:
    """Write a scene as URDF text that other programs read whole.

    Joints keep their types, limits and mimic relations; a free body gets a floating joint, a sensor's frame a fixed
    one. Types that URDF does not have are written as floating joints with the attribute ``hydro:type``, shapes that it
    does not have as meshes.

    Args:
        scene: The scene.
        world_frame: Name of the root link.
        collisions: Whether links of robots, which are models with joints, have their collision shapes, for planners
            that keep a robot out of itself. What lies on something is in contact with it, so objects have none.
    """
    root = Element("robot", name=scene.spec.name)
    world = SubElement(root, "link", name=world_frame)
    for shape in scene.environment:
        _add_visual(world, VisualSpec(shape.name, shape.shape, shape.X_LG))
    for model, robot in zip(scene.spec.models, scene.robots, strict=True):
        moves = any(joint.type != "fixed" for joint in robot.joints)
        _add_robot(root, model, robot, {_WORLD: world_frame}, collisions and moves)
    for sensor in scene.sensors:
        if not sensor.has_frame:
            continue
        SubElement(root, "link", name=sensor.name)
        mount = SubElement(root, "joint", name=f"{sensor.name}/mount", type="fixed")
        _add_origin(mount, sensor.X_LS)
        SubElement(mount, "parent", link=sensor.link if sensor.link != _WORLD else world_frame)
        SubElement(mount, "child", link=sensor.name)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def robot_urdf(robot: RobotSpec, extensions: Iterable[Element] = ()) -> str:
    """Write one robot as URDF text: links with visual and collision shapes, and joints.

    A root link with an inertia gives that to a link ``ROOT_inertia`` fixed to it, since KDL, which controllers and
    planners compute with, drops inertias of roots.

    Args:
        robot: The robot.
        extensions: Elements appended unchanged, for instance ``<ros2_control>`` blocks.
    """
    root = Element("robot", name=robot.name)
    for link in robot.links:
        element = _add_link(root, link)
        _add_collisions(element, link)
        inertial = element.find("inertial")
        if link.name == robot.root and inertial is not None:
            element.remove(inertial)
            _add_carrier(root, robot, inertial)
    for joint in robot.joints:
        _add_joint(root, joint, {})
    root.extend(extensions)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def _add_carrier(root: Element, robot: RobotSpec, inertial: Element) -> None:
    """Add a link for the inertia of the root, fixed to it."""
    name = f"{robot.root}_inertia"
    while name in {*(link.name for link in robot.links), *(joint.name for joint in robot.joints)}:
        name += "_"
    SubElement(root, "link", name=name).append(inertial)
    mount = SubElement(root, "joint", name=name, type="fixed")
    SubElement(mount, "parent", link=robot.root)
    SubElement(mount, "child", link=name)


def fixed_links(scene: LoadedScene) -> frozenset[str]:
    """Names of the links that never move relative to their parent."""
    welded = {
        robot.root
        for model, robot in zip(scene.spec.models, scene.robots, strict=True)
        if model.base == "fixed"
    }
    joints = (joint for robot in scene.robots for joint in robot.joints)
    return frozenset(welded | {joint.child for joint in joints if joint.type == "fixed"})


def _add_robot(
    root: Element, model: ModelSpec, robot: RobotSpec, rename: dict[str, str], collisions: bool
) -> None:
    for link in robot.links:
        if link.name != _WORLD:
            element = _add_link(root, link)
            if collisions:
                _add_collisions(element, link)
    if robot.root != _WORLD:
        base = JointSpec(
            name=model.base_joint_name,
            type="fixed" if model.base == "fixed" else "floating",
            parent=model.attach_to or _WORLD,
            child=robot.root,
            X_PJ=model.pose.X,
            axis=np.array([1.0, 0.0, 0.0]),
        )
        _add_joint(root, base, rename)
    for joint in robot.joints:
        _add_joint(root, joint, rename)


def _add_link(root: Element, link: LinkSpec) -> Element:
    element = SubElement(root, "link", name=link.name)
    if link.inertial is not None:
        _add_inertial(element, link.inertial)
    for visual in link.visuals:
        _add_visual(element, visual)
    return element


def _add_inertial(link: Element, inertial: InertialSpec) -> None:
    element = SubElement(link, "inertial")
    SubElement(element, "origin", xyz=_numbers(inertial.p_LCo))
    SubElement(element, "mass", value=_number(inertial.mass))
    inertia = inertial.I_LCo
    names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    SubElement(element, "inertia", {key: _number(inertia[ij]) for key, ij in names.items()})


def _add_collisions(element: Element, link: LinkSpec) -> None:
    for collision in link.collisions:
        _add_shapes(element, "collision", collision.name, collision.shape, collision.X_LG)


def _add_visual(link: Element, visual: VisualSpec) -> None:
    for element in _add_shapes(link, "visual", visual.name, visual.shape, visual.X_LG):
        colour = _numbers(visual.rgba or _GREY)
        # Parsers share materials of the same name across links, so that the name must contain the look.
        look = {"rgba": colour}
        if visual.gloss:
            look[f"{{{OWN_NAMESPACE}}}gloss"] = _number(visual.gloss)
        material = SubElement(element, "material", name=" ".join(["rgba", *look.values()]))
        SubElement(material, "color", look)


def _add_shapes(
    link: Element, tag: str, name: str, shape: ShapeSpec, X_LG: NDArray[np.float64]
) -> list[Element]:
    """Add one element per part of the shape, with its origin and geometry."""
    elements = []
    for part, X_GP in _urdf_parts(shape):
        element = SubElement(link, tag, name=name)
        _add_origin(element, X_LG @ X_GP)
        _add_geometry(SubElement(element, "geometry"), part)
        elements.append(element)
    return elements


def _urdf_parts(shape: ShapeSpec) -> list[tuple[ShapeSpec, NDArray[np.float64]]]:
    """Standard URDF shapes that the shape consists of, each with its pose in the shape's frame."""
    if shape.kind == "half_space":
        return [(ShapeSpec("box", _GROUND), _shifted(-0.5 * _GROUND[2]))]
    known = shape_types().get(shape.kind)
    if known is None or known.is_standard_urdf:
        return [(shape, np.eye(4))]
    if known.urdf_parts is not None:
        return [(ShapeSpec(kind, size), _shifted(z)) for kind, size, z in known.urdf_parts(*shape.size)]
    return [(ShapeSpec("mesh", path=surface_of_shape(shape)), np.eye(4))]


def _shifted(z: float) -> NDArray[np.float64]:
    X = np.eye(4)
    X[2, 3] = z
    return X


def _add_geometry(parent: Element, shape: ShapeSpec) -> None:
    if shape.kind == "mesh":
        assert shape.path is not None
        SubElement(parent, "mesh", filename=readable_mesh(shape.path).as_uri(), scale=_numbers(shape.scale))
    else:
        sizes, rest = {}, list(shape.size)
        for length in shape_types()[shape.kind].lengths:
            sizes[length.name] = _numbers(rest[: length.count])
            rest = rest[length.count :]
        SubElement(parent, shape.kind, sizes)


def _add_joint(root: Element, joint: JointSpec, rename: dict[str, str]) -> None:
    traits = joint.traits
    element = SubElement(root, "joint", name=joint.name, type=traits.urdf_type)
    if traits.urdf_type != joint.type:
        element.set(f"{{{OWN_NAMESPACE}}}type", joint.type)
    _add_origin(element, joint.X_PJ)
    SubElement(element, "parent", link=rename.get(joint.parent, joint.parent))
    SubElement(element, "child", link=joint.child)
    if not traits.coordinates:
        return
    if traits.axis != "unused":
        SubElement(element, "axis", xyz=_numbers(joint.axis))
    limits = joint.limits
    if traits.ends == "required" or (
        traits.ends == "optional" and np.isfinite([limits.lower, limits.upper]).any()
    ):
        given = {
            "lower": limits.lower,
            "upper": limits.upper,
            "velocity": limits.velocity,
            "effort": limits.effort,
        }
        bounded = {key: _number(np.clip(value, -UNBOUNDED, UNBOUNDED)) for key, value in given.items()}
        SubElement(element, "limit", bounded)
    if joint.damping or joint.friction:
        SubElement(element, "dynamics", damping=_number(joint.damping), friction=_number(joint.friction))
    if joint.mimic is not None:
        SubElement(
            element,
            "mimic",
            joint=joint.mimic.joint,
            multiplier=_number(joint.mimic.multiplier),
            offset=_number(joint.mimic.offset),
        )


def _add_origin(parent: Element, X: NDArray[np.float64]) -> None:
    SubElement(parent, "origin", xyz=_numbers(X[:3, 3]), rpy=_numbers(roll_pitch_yaw(X[:3, :3])))


def _numbers(values: Sequence[float] | NDArray[np.float64]) -> str:
    return " ".join(_number(value) for value in values)


def _number(value: float) -> str:
    return repr(float(value))
