"""End effectors of SRDF files: which joints each group moves, and where they are when it is closed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.spec import EndEffectorSpec, RobotSpec
from hydro_sim_core.description.xml_source import XmlElement

#: Word in the name of a group state at which an end effector is closed.
_CLOSED = "close"
#: Most groups inside each other.
_DEEPEST = 50


def read_end_effectors(root: XmlElement, robot: RobotSpec) -> tuple[EndEffectorSpec, ...]:
    """End effectors in the order of the file; all groups are checked, also those of arms.

    Args:
        root: The ``<robot>`` of the SRDF.
        robot: The robot that it is for, names without prefix.

    Raises:
        InputError: A group or an end effector names a joint, link or group that there is not.
    """
    groups = {element.required_text("name"): element for element in root.children("group")}
    virtual = {element.required_text("name") for element in root.children("virtual_joint")}
    reader = _Groups(groups, virtual, robot)
    members = {name: reader.joints(name) for name in groups}
    closed = _closed_states(root)
    found = []
    for element in root.children("end_effector"):
        name, group = element.required_text("name"), element.required_text("group")
        if group not in groups:
            raise element.error(f"no group '{group}'", did_you_mean(group, groups))
        found.append(EndEffectorSpec(name, tuple(members[group]), closed.get(group, {})))
    return tuple(found)


def _closed_states(root: XmlElement) -> dict[str, dict[str, float]]:
    """Positions of joints (rad or m) by group, of the first state whose name says that it is closed."""
    closed: dict[str, dict[str, float]] = {}
    for state in root.children("group_state"):
        group = state.required_text("group")
        if _CLOSED in state.required_text("name").lower() and group not in closed:
            # A joint with several coordinates has as many numbers, and closes nothing.
            scalar = [one for one in state.children("joint") if len((one.text("value") or "").split()) == 1]
            closed[group] = {one.required_text("name"): one.number("value") for one in scalar}
    return closed


class _Groups:
    """The joints of groups, which name joints, links, chains of links, and other groups."""

    def __init__(self, groups: Mapping[str, XmlElement], virtual: set[str], robot: RobotSpec) -> None:
        self._groups = groups
        self._virtual = virtual
        self._robot = robot
        self._joints = {joint.name for joint in robot.joints}
        self._above = {joint.child: joint for joint in robot.joints}
        self._links = {link.name for link in robot.links}
        self._found: dict[str, dict[str, None]] = {}

    def joints(self, name: str) -> dict[str, None]:
        """Joints of a group, in the order in which it names them."""
        return self._collected(name, ())

    def _collected(self, name: str, above: tuple[str, ...]) -> dict[str, None]:
        if name in self._found:
            return self._found[name]
        element = self._groups[name]
        if len(above) > _DEEPEST:
            raise element.error(f"more than {_DEEPEST} groups are inside each other", "name joints instead")
        found: dict[str, None] = {}
        for member in element.children("joint", "link", "chain", "group"):
            place = member.named(f"<{member.tag}> of group '{name}'")
            if member.tag == "group":
                inner = self._known(place, "name", self._groups, "group")
                if inner in (name, *above):
                    raise place.error(f"group '{inner}' is part of itself", "remove one of the two")
                found.update(self._collected(inner, (name, *above)))
            elif member.tag == "joint":
                joint = self._known(place, "name", self._joints | self._virtual, "joint")
                found.update({joint: None} if joint in self._joints else {})
            elif member.tag == "link":
                link = self._known(place, "name", self._links, "link")
                found.update({self._above[link].name: None} if link in self._above else {})
            else:
                found.update(dict.fromkeys(self._chain(place)))
        self._found[name] = found
        return found

    def _known(
        self, place: XmlElement, attribute: str, known: Mapping[str, object] | set[str], kind: str
    ) -> str:
        name = place.required_text(attribute)
        if name not in known:
            raise place.error(f"robot '{self._robot.name}' has no {kind} '{name}'", did_you_mean(name, known))
        return name

    def _chain(self, place: XmlElement) -> Iterator[str]:
        base = self._known(place, "base_link", self._links, "link")
        link = self._known(place, "tip_link", self._links, "link")
        joints = []
        while link != base:
            if link not in self._above:
                problem = f"no chain leads from '{base}' to '{place.required_text('tip_link')}'"
                raise place.error(problem, "name a base_link that carries the tip_link")
            joints.append(self._above[link].name)
            link = self._above[link].parent
        yield from reversed(joints)
