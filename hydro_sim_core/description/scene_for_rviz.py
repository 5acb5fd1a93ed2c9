"""A scene as RViz can draw it: links of one colour each, and glass where contact patches lie inside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hydro_sim_core.description.scene import ContactDefaults
from hydro_sim_core.description.scene_loader import LoadedScene
from hydro_sim_core.description.scene_urdf import fixed_links
from hydro_sim_core.description.spec import JointSpec, LinkSpec, RobotSpec, VisualSpec

Rgba = tuple[float, float, float, float]
_GREY: Rgba = (0.6, 0.6, 0.6, 1.0)
#: Opacity of glass.
_GLASS = 0.25
#: Modulus (Pa) below which bodies are pressed in visibly: that of a geometry that gives none.
_STIFF = 1e7


def scene_for_rviz(scene: LoadedScene) -> LoadedScene:
    """A copy of the scene for RViz's RobotModel.

    RViz draws a link in the colour of its first visual, so that visuals of other colours move to links of their own,
    welded to the first. Soft links become see-through, for contact patches lie inside them; those of stiff bodies lie
    on their surface, where they can be seen anyway.
    """
    stays = fixed_links(scene)
    return replace(
        scene, robots=tuple(_drawn_robot(robot, scene.spec.contact.defaults, stays) for robot in scene.robots)
    )


def added_links(scene: LoadedScene) -> list[tuple[str, str]]:
    """(parent, child) of the links that ``scene_for_rviz`` adds; the two frames coincide."""
    known = {joint.name for robot in scene.robots for joint in robot.joints}
    return [
        (joint.parent, joint.child)
        for robot in scene_for_rviz(scene).robots
        for joint in robot.joints
        if joint.name not in known
    ]


def _drawn_robot(robot: RobotSpec, defaults: ContactDefaults, stays: frozenset[str]) -> RobotSpec:
    links: list[LinkSpec] = []
    joints: list[JointSpec] = list(robot.joints)
    for link in robot.links:
        parts = _parts(link, _GLASS if link.name not in stays and _is_soft(link, defaults) else 1.0)
        links.append(replace(link, visuals=parts[0] if parts else ()))
        for number, visuals in enumerate(parts[1:], start=1):
            name = f"{link.name}/colour_{number}"
            links.append(replace(link, name=name, inertial=None, visuals=visuals, collisions=()))
            axis = np.array([1.0, 0.0, 0.0])
            joints.append(JointSpec(f"{name}/weld", "fixed", link.name, name, np.eye(4), axis))
    return replace(robot, links=tuple(links), joints=tuple(joints))


def _parts(link: LinkSpec, opacity: float) -> list[tuple[VisualSpec, ...]]:
    """The visuals of a link by their colour."""
    by_colour: dict[Rgba, list[VisualSpec]] = {}
    for visual in link.visuals:
        red, green, blue, alpha = visual.rgba or _GREY
        rgba = (red, green, blue, min(alpha, opacity))
        by_colour.setdefault(rgba, []).append(replace(visual, rgba=rgba))
    return [tuple(visuals) for visuals in by_colour.values()]


def _is_soft(link: LinkSpec, defaults: ContactDefaults) -> bool:
    given = [defaults.complete(collision.proximity) for collision in link.collisions]
    return any(one.compliance == "compliant" and (one.modulus or 0.0) < _STIFF for one in given)
