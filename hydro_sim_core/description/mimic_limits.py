"""Limits of mimic joints that would keep the joint that they follow from moving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hydro_sim_core.description.spec import JointSpec
from hydro_sim_core.description.topology import PlacedJoint
from hydro_sim_core.description.xml_source import XmlElement

#: Part of its range that the limits of the mimic joint have to leave to a joint.
_LEAST_ROOM = 1e-3


def with_room(joints: Sequence[PlacedJoint]) -> list[PlacedJoint]:
    """Joints whose mimic joints leave them room to move.

    Other programs do not read limits of mimic joints, and files have, say, 0 to 0.8 for a joint that follows another
    one from 0 to 0.8 in the opposite direction. Such limits are repaired: they become the range that the joint goes
    through as the other goes through its own.

    Args:
        joints: Joints of a file, with their elements.

    Raises:
        InputError: There are such limits, and shall be no repairs.
    """
    by_name = {placed.joint.name: placed.joint for placed in joints}
    return [_with_room(placed, by_name) for placed in joints]


def _with_room(placed: PlacedJoint, joints: dict[str, JointSpec]) -> PlacedJoint:
    joint, mimic = placed.joint, placed.joint.mimic
    if mimic is None or mimic.joint not in joints:
        return placed
    followed = joints[mimic.joint].limits
    ends = sorted((end - mimic.offset) / mimic.multiplier for end in (joint.limits.lower, joint.limits.upper))
    room = min(followed.upper, ends[1]) - max(followed.lower, ends[0])
    whole = followed.upper - followed.lower
    if not np.isfinite(room) or whole <= 0.0 or room > _LEAST_ROOM * min(whole, 1e9):
        return placed
    lower, upper = sorted(mimic.multiplier * end + mimic.offset for end in (followed.lower, followed.upper))
    element = placed.place
    assert isinstance(element, XmlElement)
    limit = element.child("limit") or element
    own = f"{joint.limits.lower:g} to {joint.limits.upper:g}"
    problem = f"its limits {own} leave no room to '{mimic.joint}', which it mimics"
    error = limit.error(problem, "make the limits of the two joints overlap")
    words = {"lower": repr(lower), "upper": repr(upper)}
    limit.mend(error, f"took {lower:.6g} to {upper:.6g}", lambda: limit.write(**words))
    return PlacedJoint(replace(joint, limits=replace(joint.limits, lower=lower, upper=upper)), element)
