"""Reader of ``<ros2_control>`` blocks: how the joints of a robot are driven, as its driver for ROS 2 is told."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from hydro_sim_core.description.spec import DriveSpec, JointSpec
from hydro_sim_core.description.xml_source import XmlElement
from hydro_sim_core.errors import shortened

_LOG = logging.getLogger(__name__)

#: Command interfaces of joints that drives here have; an acceleration is for controllers of other simulators.
_COMMANDS = ("position", "velocity", "effort")
#: Most names in a warning.
_MOST_NAMED = 5


def read_drives(robot: XmlElement, joints: Mapping[str, JointSpec]) -> tuple[DriveSpec, ...]:
    """Drives of the blocks of a robot; of a joint in several blocks, that of the first.

    Hardware, sensors and GPIO are the driver's business and passed over; so is, with a warning, a joint that the robot
    does not have, or a command interface that is none of position, velocity and effort.

    Args:
        robot: The ``<robot>``.
        joints: Its joints by name.

    Raises:
        InputError: An initial value is no number, or outside the limits of the joint.
    """
    drives: dict[str, DriveSpec] = {}
    unknown: dict[str, None] = {}
    for block in robot.children("ros2_control"):
        for element in block.children("joint"):
            name = element.required_text("name")
            if name not in joints:
                unknown[f"joint '{shortened(name)}'"] = None
                continue
            place = element.named(f"joint '{name}' of <ros2_control>")
            drives.setdefault(name, _read_drive(place, joints[name], unknown))
        block.ignore()
    _warn(unknown, robot)
    return tuple(drives.values())


def _read_drive(element: XmlElement, joint: JointSpec, unknown: dict[str, None]) -> DriveSpec:
    commands, initial = [], None
    for interface in element.children("command_interface", "state_interface"):
        kind = interface.required_text("name")
        if interface.tag == "command_interface":
            if kind in _COMMANDS:
                commands.append(kind)
            else:
                unknown[f"command interface '{shortened(kind)}' of '{shortened(joint.name)}'"] = None
        if kind == "position":
            for parameter in interface.children("param"):
                if parameter.text("name") == "initial_value" and initial is None:
                    initial = _initial(parameter, joint)
    return DriveSpec(joint.name, tuple(commands), initial)


def _initial(parameter: XmlElement, joint: JointSpec) -> float:
    value, limits = parameter.content_number(), joint.limits
    if not limits.lower <= value <= limits.upper:
        problem = f"initial_value {value:g} is outside the joint's limits {limits.lower:g} … {limits.upper:g}"
        raise parameter.error(problem, "start inside the limits")
    return value


def _warn(unknown: dict[str, None], robot: XmlElement) -> None:
    if not unknown:
        return
    names = list(unknown)
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    _LOG.warning(
        "%s: not known here and left out of <ros2_control>: %s",
        robot.document.source,
        ", ".join(names[:_MOST_NAMED] + more),
    )
