"""Links of a robot that do not touch each other as Drake and Gazebo are told: filter groups, ``selfCollide``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import product

from hydro_sim_core.description.gazebo import GazeboTags
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.spec import LinkSpec
from hydro_sim_core.description.xml_source import XmlElement

#: The tag as Drake writes it, and as it did before 2017.
_TAGS = ("drake:collision_filter_group", "collision_filter_group")
#: Most pairs of links that a description keeps apart by groups and flags, so that a small file cannot fill the memory.
_MOST_APART = 1_000_000


@dataclass
class _Group:
    """A group: its place, links, groups whose links are its own too, and groups that it does not touch."""

    place: XmlElement
    links: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def read_links_apart(
    robot: XmlElement, links: Sequence[LinkSpec], gazebo: GazeboTags
) -> tuple[tuple[tuple[str, str], str], ...]:
    """Pairs of links that do not touch, each once, with the tag that says so.

    Args:
        robot: The ``<robot>``.
        links: Its links.
        gazebo: What its ``<gazebo>`` blocks say.

    Raises:
        InputError: A filter group is malformed, or there are absurdly many pairs.
    """
    pairs = dict.fromkeys(_grouped(robot, {link.name for link in links}), "collision_filter_group")
    touching = [link.name for link in links if link.collisions]
    alone = touching if gazebo.all_apart else [name for name in touching if name in gazebo.apart]
    _check_count(len(alone) * len(touching), robot)
    for a, b in product(alone, touching):
        if a != b:
            pairs.setdefault(_ordered(a, b), "selfCollide false")
    return tuple(pairs.items())


def _grouped(robot: XmlElement, links: Set[str]) -> Iterable[tuple[str, str]]:
    """Pairs of links that filter groups keep apart.

    Raises:
        InputError: A group occurs twice, names a link or a group that there is not, or there are absurdly many pairs.
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
    members: dict[str, Sequence[str]] = {}
    pairs: dict[tuple[str, str], None] = {}
    count = 0
    for name, group in groups.items():
        members[name], visits = _members(name, groups)
        count += visits
        _check_count(count, group.place)
    for name, group in groups.items():
        for other in group.ignored:
            _check_group(group.place, other, groups)
            count += len(members[name]) * len(members[other])
            _check_count(count, group.place)
            pairs.update({_ordered(a, b): None for a, b in product(members[name], members[other]) if a != b})
    return pairs


def _ordered(a: str, b: str) -> tuple[str, str]:
    """Two links as the pair of both."""
    return (a, b) if a < b else (b, a)


def _check_count(count: int, place: XmlElement) -> None:
    """Refuse more pairs than any robot has.

    Raises:
        InputError: There are more than ``_MOST_APART``.
    """
    if count > _MOST_APART:
        problem = f"keeps more than {_MOST_APART:g} pairs of links apart"
        raise place.error(problem, "name fewer links, or leave collision geometries out")


def _known(element: XmlElement, attribute: str, names: Set[str]) -> str:
    name = element.required_text(attribute)
    if name not in names:
        raise element.error(f"unknown link '{name}'", did_you_mean(name, names))
    return name


def _check_group(place: XmlElement, name: str, groups: Mapping[str, _Group]) -> None:
    if name not in groups:
        raise place.error(f"unknown group '{name}'", did_you_mean(name, groups))


def _members(name: str, groups: Mapping[str, _Group]) -> tuple[Sequence[str], int]:
    """Links of a group and of the groups that it takes in, and how many of both there are."""
    seen, waiting, found = {name}, [name], dict[str, None]()
    while waiting:
        group = groups[waiting.pop()]
        found.update(dict.fromkeys(group.links))
        for other in group.groups:
            _check_group(group.place, other, groups)
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return list(found), len(found) + len(seen)
