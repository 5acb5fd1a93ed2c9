"""Reader of SRDF files: which links of a robot do not touch, and its end effectors, as MoveIt reads it.

``<disable_collisions link1 link2 reason>`` takes a pair out. ``<disable_default_collisions link>`` takes a link out of
all contact, in which ``<enable_collisions link1 link2>`` lets a pair take part again; a pair that is disabled by name
stays so. Nothing else in the file says anything about contact.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lxml import etree

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.paths import PackageResolver, absolute
from hydro_sim_core.description.spec import RobotSpec, SrdfSpec
from hydro_sim_core.description.srdf_groups import read_end_effectors
from hydro_sim_core.description.xacro_source import expand_xacro
from hydro_sim_core.description.xml_source import XmlDocument, XmlElement, read_bytes, tag_of
from hydro_sim_core.errors import UnknownFormat, shortened

#: Elements about planning.
_OF_PLANNING = (
    "group",
    "group_state",
    "end_effector",
    "virtual_joint",
    "passive_joint",
    "joint_property",
    "link_sphere_approximation",
)
#: Elements about contact.
_OF_CONTACT = ("disable_collisions", "enable_collisions", "disable_default_collisions")
#: Likeness of two names from which one is the other misspelt.
_LIKENESS = 0.75
#: Most unknown links that an error names.
_MOST_NAMED = 5


def read_srdf(
    path: Path,
    robot: RobotSpec,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    xacro_args: Mapping[str, object] | None = None,
) -> SrdfSpec:
    """Read what an SRDF says about contact and end effectors.

    Args:
        path: A ``.srdf`` or ``.xacro`` file.
        robot: The robot that it is for, names without prefix.
        package_dirs: Packages, or folders that hold packages, for ``$(find …)``.
        xacro_args: Arguments of a xacro file; those that it does not declare are left out.

    Raises:
        InputError: The file is missing or malformed, is no SRDF, or names links, joints or groups that there are not.
    """
    source = absolute(path)
    document = _read_document(source, package_dirs, xacro_args or {})
    root = document.root
    if root.tag != "robot":
        raise root.error(f"the outermost element is <{root.tag}>", "name an SRDF: it starts with <robot>")
    if next(root.children("link"), None) is not None:
        raise root.error("describes links: it is a URDF, and no SRDF", "name the robot's SRDF")
    name = root.text("name") or ""
    root.text("version")
    _refuse_contact_inside(root)
    effectors = read_end_effectors(root, robot)
    for element in root.children(*_OF_PLANNING):
        element.ignore()
    _refuse_misspelt(root)
    pairs = {tag: list(_pairs(root, tag)) for tag in ("disable_collisions", "enable_collisions")}
    quiet = [(one, one.required_text("link")) for one in root.children("disable_default_collisions")]
    document.warn_about_unread()
    named = [(element, link) for found in pairs.values() for element, links, _ in found for link in links]
    _refuse_unknown(named + quiet, name, robot)
    return SrdfSpec(
        disabled=tuple((links, reason) for _, links, reason in pairs["disable_collisions"]),
        quiet=tuple(link for _, link in quiet),
        enabled=tuple(links for _, links, _ in pairs["enable_collisions"]),
        end_effectors=effectors,
    )


def _read_document(
    source: Path, package_dirs: Sequence[str | os.PathLike[str]], xacro_args: Mapping[str, object]
) -> XmlDocument:
    suffix = source.suffix.lower()
    if suffix == ".xacro":
        return expand_xacro(source, xacro_args, PackageResolver(source, package_dirs), others_too=True)
    if suffix != ".srdf":
        raise UnknownFormat(source, "", f"unknown file type '{suffix}'", "name a .srdf or .xacro file")
    return XmlDocument(read_bytes(source), source)


def _pairs(root: XmlElement, tag: str) -> Iterator[tuple[XmlElement, tuple[str, str], str]]:
    """Each element with this tag, its two links and its reason."""
    for element in root.children(tag):
        links = element.required_text("link1"), element.required_text("link2")
        if links[0] == links[1]:
            raise element.error(f"pairs '{links[0]}' with itself", "name two links")
        yield element, links, (element.text("reason") or "").strip()


def _refuse_contact_inside(root: XmlElement) -> None:
    """Refuse elements about contact inside others, such as those about planning: they are not read there."""
    for found in root.lxml.iter(*_OF_CONTACT):
        parent = found.getparent()
        if found is not root.lxml and parent is not None and parent is not root.lxml:
            problem = f"holds <{found.tag}> (line {found.sourceline}), which counts in <robot> only"
            around = XmlElement(parent, root.document)
            raise around.error(problem, f"move <{found.tag}> out of <{around.tag}>")


def _refuse_misspelt(root: XmlElement) -> None:
    """Refuse elements that are ours, or whose names are nearly those of elements about contact."""
    for found in root.lxml.iterchildren(etree.Element):
        tag = tag_of(found)
        if tag in _OF_CONTACT or tag in _OF_PLANNING:
            continue
        problem = f"unknown tag <{shortened(tag, 60)}>"
        if tag.startswith("hydro:"):
            mend = "write <disable_collisions>, or <hydro:contact_pair> in the URDF"
            raise XmlElement(found, root.document).error(problem, mend)
        plain = tag.rpartition(":")[2].lower().replace("-", "_")
        if difflib.get_close_matches(plain, _OF_CONTACT, n=1, cutoff=_LIKENESS):
            raise XmlElement(found, root.document).error(problem, did_you_mean(plain, _OF_CONTACT))


def _refuse_unknown(named: Sequence[tuple[XmlElement, str]], name: str, robot: RobotSpec) -> None:
    """Refuse links that the robot does not have, all at once; a robot of another name is no error by itself."""
    known = {link.name for link in robot.links}
    unknown = {link: element for element, link in reversed(named) if link not in known}
    if not unknown:
        return
    links = list(reversed(unknown))
    listing = ", ".join(f"'{shortened(link, 60)}'" for link in links[:_MOST_NAMED])
    more = f" and {len(links) - _MOST_NAMED} more" if len(links) > _MOST_NAMED else ""
    problem = f"robot '{robot.name}' has no link {listing}{more}"
    if name != robot.name:
        problem += f"; the file is for '{shortened(name, 60)}'"
    mend = (
        did_you_mean(links[0], known) if len(links) == 1 else "give the SRDF of this robot, without a prefix"
    )
    raise unknown[links[0]].error(problem, mend)
