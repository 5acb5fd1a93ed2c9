"""A warning of angles that look as if they were in degrees, as MuJoCo's are and SDF's may be: it changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from hydro_sim_core.description.scene import SceneSpec
from hydro_sim_core.description.spec import JointSpec
from hydro_sim_core.description.xml_source import XmlElement
from hydro_sim_core.errors import InputError

_LOG = logging.getLogger(__name__)

#: Roll, pitch or yaw beyond which it is told, rad: nobody turns a frame by more than once round, 6.283 rad.
MOST_ANGLE = 7.0
#: Ends of a joint that are whole multiples of the first, up to the second, look like degrees, rad; but for those that
#: people write for a joint that turns far.
_STEP_OF_ENDS, _MOST_END, _FAR = 5.0, 720.0, (10.0, 100.0)
#: Most places that a warning names.
_MOST_NAMED = 3


def warn_of_degrees(source: str | Path, angles: Iterable[tuple[str, Sequence[float]]]) -> None:
    """Log one warning of all that is turned by more than once round.

    Args:
        source: What says so.
        angles: Places in it, with their angles.
    """
    turned = [
        f"{where} {' '.join(f'{angle:g}' for angle in given)}"
        for where, given in angles
        if any(abs(angle) > MOST_ANGLE for angle in given)
    ]
    if turned:
        more = [f"{len(turned) - _MOST_NAMED} more"] if len(turned) > _MOST_NAMED else []
        named = "; ".join([*turned[:_MOST_NAMED], *more])
        _LOG.warning(
            "%s: angles of more than once round: %s; write them in rad, not in degrees", source, named
        )


def angles_of_scene(spec: SceneSpec) -> Iterator[tuple[str, Sequence[float]]]:
    """Roll, pitch and yaw of all poses of a scene file, with their places."""
    for section in ("models", "environment", "sensors"):
        for one in getattr(spec, section):
            yield f"{section} '{one.name}': rpy", one.pose.rpy


def angles_of_robot(robot: XmlElement) -> Iterator[tuple[str, Sequence[float]]]:
    """Roll, pitch and yaw of the links and joints of a ``<robot>`` that was read, with their places."""
    for part in robot.children("link", "joint", "drake:joint"):
        for origin in (part, *part.children("inertial", "visual", "collision")):
            element = origin.child("origin")
            if element is not None and element.text("rpy") is not None:
                with suppress(InputError):  # of a shape that was left out
                    yield f"{part.tag} '{part.text('name')}': rpy", element.vector("rpy", 3).tolist()


def ends_of_joints(joints: Iterable[JointSpec]) -> Iterator[tuple[str, Sequence[float]]]:
    """Ends of revolute joints that look like degrees, with their places; a joint may well turn more than once."""
    for joint in joints:
        ends = (joint.limits.lower, joint.limits.upper)
        if joint.type == "revolute" and all(
            abs(end) <= _MOST_END and end % _STEP_OF_ENDS == 0.0 and abs(end) not in _FAR for end in ends
        ):
            yield f"joint '{joint.name}': limits", ends
