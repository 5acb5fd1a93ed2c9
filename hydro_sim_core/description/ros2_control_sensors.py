"""Reader of the force-torque sensors of ``<ros2_control>`` blocks, as a robot's driver for ROS 2 is told of them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from hydro_sim_core.description.spec import DescribedSensor, JointSpec
from hydro_sim_core.description.xml_source import XmlElement
from hydro_sim_core.errors import shortened

_LOG = logging.getLogger(__name__)
#: What comes before the axis in names of state interfaces.
_WRENCH = ("force", "torque")
#: Where a sensor is that does not say it: the flange of ROS-Industrial's arms.
_FLANGE = "tool0"


def read_sensors(
    robot: XmlElement, joints: Iterable[JointSpec], links: set[str]
) -> tuple[DescribedSensor, ...]:
    """Sensors with interfaces of force or torque; of two with one name the first.

    Each is at the link that its parameter ``frame_id`` names, else at the link, or the child of the joint, of its own
    name, else at ``tool0``. One that is nowhere is left out with a warning. Other sensors are the driver's business.

    Args:
        robot: The ``<robot>``.
        joints: Its joints.
        links: Its links.
    """
    children = {joint.name: joint.child for joint in joints}
    found: dict[str, DescribedSensor] = {}
    for block in robot.children("ros2_control"):
        for element in block.children("sensor"):
            name = element.text("name") or ""
            interfaces = [one.text("name") or "" for one in element.children("state_interface")]
            if not name or not any(interface.partition(".")[0] in _WRENCH for interface in interfaces):
                continue
            link = _link_of(element, name, children, links)
            if link is not None:
                found.setdefault(name, DescribedSensor(name, link))
    return tuple(found.values())


def _link_of(element: XmlElement, name: str, children: Mapping[str, str], links: set[str]) -> str | None:
    frames = [one.content() for one in element.children("param") if one.text("name") == "frame_id"]
    for link in (*frames, name, children.get(name), _FLANGE):
        if link in links:
            return link
        if link in frames:
            break
    where = f"frame_id '{shortened(frames[0])}' is none of its links" if frames else "has no frame_id"
    _LOG.warning(
        "%s: sensor '%s' of <ros2_control>: %s, so it is left out; name the link in <param name=\"frame_id\">, or add "
        "it to the scene's sensors",
        element.document.source,
        shortened(name),
        where,
    )
    return None
