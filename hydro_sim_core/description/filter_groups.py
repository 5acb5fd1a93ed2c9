"""Drake's ``<drake:collision_filter_group>``: links of a robot that do not touch each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import product

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.xml_source import XmlElement

#: The tag as Drake writes it, and as it did before 2017.
_TAGS = ("drake:collision_filter_group", "collision_filter_group")


@dataclass
class _Group:
    """A group: its place, links, groups whose links are its own too, and groups that it does not touch."""

    place: XmlElement
    links: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def read_filter_groups(robot: XmlElement, links: Set[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of links that do not touch, each once.

    Args:
        robot: The ``<robot>``.
        links: Names of its links.

    Raises:
        InputError: A group occurs twice, or it names a link or a group that there is not.
    """
    groups: dict[str, _Group] = {}
    for element in robot.children(*_TAGS):
        name = element.required_text("name")
        if name in groups:
            raise element.error(f"a second group '{name}'", "give it another name")
        prefix = element.tag.removesuffix("collision_filter_group")
        group = groups[name] = _Group(element)
        if element.text("ignore") not in (None, "true", "false"):
            raise element.error(f"ignore is '{element.text('ignore')}'", "write true or false")
        if element.text("ignore") == "true":
            element.ignore()
            continue
        for member in element.children(f"{prefix}member"):
            group.links.append(_known(member, "link", links))
        group.groups = [one.required_text("name") for one in element.children(f"{prefix}member_group")]
        for one in element.children(f"{prefix}ignored_collision_filter_group"):
            group.ignored.append(one.text("collision_filter_group") or one.required_text("name"))
    members = {name: _members(name, groups) for name in groups}
    pairs: dict[tuple[str, str], None] = {}
    for name, group in groups.items():
        for other in group.ignored:
            _check_group(group.place, other, groups)
            pairs.update(
                {
                    (a, b) if a < b else (b, a): None
                    for a, b in product(members[name], members[other])
                    if a != b
                }
            )
    return tuple(pairs)


def _known(element: XmlElement, attribute: str, names: Set[str]) -> str:
    name = element.required_text(attribute)
    if name not in names:
        raise element.error(f"unknown link '{name}'", did_you_mean(name, names))
    return name


def _check_group(place: XmlElement, name: str, groups: Mapping[str, _Group]) -> None:
    if name not in groups:
        raise place.error(f"unknown group '{name}'", did_you_mean(name, groups))


def _members(name: str, groups: Mapping[str, _Group]) -> Sequence[str]:
    """Links of a group and of the groups that it takes in."""
    seen, waiting, found = {name}, [name], dict[str, None]()
    while waiting:
        group = groups[waiting.pop()]
        found.update(dict.fromkeys(group.links))
        for other in group.groups:
            _check_group(group.place, other, groups)
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return list(found)
