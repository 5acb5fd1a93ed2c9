"""A robot's file with its repairs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lxml import etree

from hydro_sim_core.description.paths import PackageResolver
from hydro_sim_core.description.spec import Array, LinkSpec, RobotSpec
from hydro_sim_core.description.urdf import read_with_document
from hydro_sim_core.description.xml_source import XmlElement
from hydro_sim_core.errors import InputError


def repaired_urdf(
    robot: RobotSpec,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    xacro_args: Mapping[str, object] | None = None,
) -> str:
    """The file of a robot, expanded if it is a xacro file, with all its repairs, which a comment lists.

    What is not repaired stays as it is, but for comments, and relative paths of meshes, which become absolute.

    Args:
        robot: The robot as a world has it, with masses for links that would move none.
        package_dirs: As it was read with.
        xacro_args: As it was read with.
    """
    _, document = read_with_document(robot.source, package_dirs, xacro_args, repair="silent", ignore=None)
    root = document.root
    links = {link.name: link for link in robot.links}
    left_out = [one for element in root.children("link") for one in _left_out(element, links)]
    for edit in document.repairs.edits:
        edit()
    for element in left_out:
        element.remove()
    repaired = {repair.element for repair in robot.repairs}
    for element in root.children("link"):
        name = _name(element)
        if f"link '{name}'" in repaired:
            _write_inertial(element, links[name])
    _make_paths_absolute(root.lxml, PackageResolver(Path(robot.source), package_dirs))
    lines = [f"  {repair}" for repair in robot.repairs]
    comment = "\n".join(["", f"{robot.source} with {len(lines)} repairs of hydro-sim:", *lines, ""])
    etree.indent(root.lxml)
    parts = etree.Comment(comment.replace("--", "- -")), root.lxml
    return "".join(f"{etree.tostring(part, encoding='unicode', with_tail=False)}\n" for part in parts)


def _name(element: XmlElement) -> str:
    return (element.text("name") or "").strip()


def _left_out(link: XmlElement, links: Mapping[str, LinkSpec]) -> Iterator[XmlElement]:
    """Collisions of a link that the robot does not have."""
    kept = {collision.name for collision in links[_name(link)].collisions}
    for i, collision in enumerate(link.children("collision")):
        if (collision.text("name") or f"{_name(link)}_collision_{i}") not in kept:
            yield collision


def _write_inertial(element: XmlElement, link: LinkSpec) -> None:
    for old in element.children("inertial"):
        old.remove()
    assert link.inertial is not None
    inertial = element.add("inertial")
    inertial.add("origin", xyz=_numbers(link.inertial.p_LCo), rpy="0 0 0")
    inertial.add("mass", value=repr(float(link.inertial.mass)))
    I_LCo = link.inertial.I_LCo
    moments = {
        f"i{a}{b}": I_LCo["xyz".index(a), "xyz".index(b)] for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")
    }
    inertial.add("inertia", **{name: repr(float(value)) for name, value in moments.items()})


def _numbers(values: Array) -> str:
    return " ".join(repr(float(value)) for value in values)


def _make_paths_absolute(root: etree._Element, resolver: PackageResolver) -> None:
    for mesh in root.iter("mesh"):
        uri = mesh.get("filename") or ""
        if "://" in uri:
            continue
        try:
            mesh.set("filename", resolver.resolve_mesh(uri, "mesh").as_uri())
        except InputError:
            continue  # a visual mesh that cannot be had
