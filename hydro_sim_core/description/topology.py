"""Topology of robots: ordering of links and joints as a tree, and resolution of chains of mimic joints."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.places import Place
from hydro_sim_core.description.spec import JointSpec, LinkSpec, MimicSpec


@dataclass(frozen=True)
class PlacedJoint:
    """A joint and the place of its description, for later errors."""

    joint: JointSpec
    place: Place


def order_tree(
    robot: Place, links: Mapping[str, LinkSpec], joints: Mapping[str, PlacedJoint]
) -> tuple[tuple[LinkSpec, ...], tuple[JointSpec, ...]]:
    """Links and joints in breadth-first order from the root, siblings in file order.

    Raises:
        InputError: A link is unknown or has two parents, or there is no root, several roots or a cycle.
    """
    children: dict[str, list[JointSpec]] = {name: [] for name in links}
    parent_joint: dict[str, str] = {}
    for named in joints.values():
        joint = named.joint
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                raise named.place.error(f"unknown {role} link '{link}'", did_you_mean(link, links))
        if joint.parent == joint.child:
            raise named.place.error(f"joins link '{joint.parent}' to itself", "correct its parent or child")
        if joint.child in parent_joint:
            raise named.place.error(
                f"link '{joint.child}' already hangs on joint '{parent_joint[joint.child]}'",
                "give every link one parent joint",
            )
        parent_joint[joint.child] = joint.name
        children[joint.parent].append(joint)
    root = _only_root(robot, links, parent_joint)
    return _breadth_first(robot, root, links, children)


def resolve_mimics(joints: tuple[JointSpec, ...], named: Mapping[str, PlacedJoint]) -> tuple[JointSpec, ...]:
    """The joints, with each mimic referring to the joint at the end of its chain.

    Raises:
        InputError: A joint mimics an unknown joint, one without exactly one degree of freedom, or, through a chain,
            itself.
    """
    return tuple(
        joint if joint.mimic is None else replace(joint, mimic=_master_of(joint, named)) for joint in joints
    )


def _only_root(robot: Place, links: Mapping[str, LinkSpec], parent_joint: Mapping[str, str]) -> str:
    roots = [name for name in links if name not in parent_joint]
    if not links:
        raise robot.error("the robot has no link", "add a link")
    if not roots:
        raise robot.error(
            "the links form a cycle: every link is the child of a joint", "remove one of the joints"
        )
    if len(roots) > 1:
        listing = ", ".join(f"'{name}'" for name in roots)
        raise robot.error(
            f"disconnected: {len(roots)} links are no joint's child ({listing})",
            "join all but one of them to the rest",
        )
    return roots[0]


def _breadth_first(
    robot: Place, root: str, links: Mapping[str, LinkSpec], children: Mapping[str, list[JointSpec]]
) -> tuple[tuple[LinkSpec, ...], tuple[JointSpec, ...]]:
    ordered_links, ordered_joints = [links[root]], []
    waiting = deque([root])
    while waiting:
        for joint in children[waiting.popleft()]:
            ordered_joints.append(joint)
            ordered_links.append(links[joint.child])
            waiting.append(joint.child)
    reached = {link.name for link in ordered_links}
    cyclic = [f"'{name}'" for name in links if name not in reached]
    if cyclic:
        raise robot.error(f"the links {', '.join(cyclic)} form a cycle", "remove one of their joints")
    return tuple(ordered_links), tuple(ordered_joints)


def _master_of(joint: JointSpec, named: Mapping[str, PlacedJoint]) -> MimicSpec:
    """The chain ``q = m1 (m2 q_master + o2) + o1`` reduced to one multiplier and offset."""
    place = named[joint.name].place
    multiplier, offset = 1.0, 0.0
    passed = [joint.name]
    link: MimicSpec | None = joint.mimic
    while link is not None:
        offset += multiplier * link.offset
        multiplier *= link.multiplier
        if link.joint in passed:
            raise place.error(
                f"mimics itself through {' -> '.join([*passed, link.joint])}", "remove one of the mimics"
            )
        if link.joint not in named:
            raise place.error(f"mimics the unknown joint '{link.joint}'", did_you_mean(link.joint, named))
        passed.append(link.joint)
        master = named[link.joint].joint
        link = master.mimic
    if not master.traits.is_scalar:
        raise place.error(
            f"mimics the {master.type} joint '{master.name}'", "name a joint with one coordinate"
        )
    if not (math.isfinite(multiplier) and math.isfinite(offset)):
        raise place.error("the chain of mimic joints overflows", "correct the multipliers and offsets")
    return MimicSpec(master.name, multiplier, offset)
