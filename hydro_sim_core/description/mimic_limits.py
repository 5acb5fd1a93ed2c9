"""Limits of mimic joints that would keep the joint that they follow from moving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hydro_sim_core.description.joints import UNBOUNDED
from hydro_sim_core.description.spec import JointSpec, MimicSpec
from hydro_sim_core.description.topology import PlacedJoint
from hydro_sim_core.description.xml_source import XmlElement

#: Part of its range that the limits of the mimic joint have to leave to a joint.
_LEAST_ROOM = 1e-3
#: Range of a joint without ends, rad or m; also of slides whose ends are far away because their file gives none.
_LARGEST_RANGE = 10.0


def with_room(joints: Sequence[JointSpec], placed: Mapping[str, PlacedJoint]) -> tuple[JointSpec, ...]:
    """Joints whose mimic joints leave them room to move.

    Other programs do not read limits of mimic joints, and files have, say, 0 to 0.8 for a joint that follows another
    one from 0 to 0.8 in the opposite direction. Such limits are repaired: they become the range that the joint goes
    through as the other goes through its own.

    Args:
        joints: Joints of a robot, which mimic joints that move by themselves.
        placed: The same with their elements, by name.

    Raises:
        InputError: There are such limits, and shall be no repairs.
    """
    by_name = {joint.name: joint for joint in joints}
    return tuple(
        joint if joint.mimic is None else _with_room(joint, joint.mimic, by_name, placed[joint.name])
        for joint in joints
    )


def _with_room(
    joint: JointSpec, mimic: MimicSpec, joints: Mapping[str, JointSpec], placed: PlacedJoint
) -> JointSpec:
    followed = joints[mimic.joint].limits
    ends = sorted((end - mimic.offset) / mimic.multiplier for end in (joint.limits.lower, joint.limits.upper))
    room = min(followed.upper, ends[1]) - max(followed.lower, ends[0])
    whole = followed.upper - followed.lower
    if not np.isfinite(room) or whole <= 0.0 or room > _LEAST_ROOM * min(whole, _LARGEST_RANGE):
        return joint
    ends = [
        min(max(end, -UNBOUNDED), UNBOUNDED) for end in (followed.lower, followed.upper)
    ]  # as files write none
    lower, upper = sorted(mimic.multiplier * end + mimic.offset for end in ends)
    element = placed.place
    assert isinstance(element, XmlElement)
    limit = element.child("limit") or element
    own = f"{joint.limits.lower:g} to {joint.limits.upper:g}"
    problem = f"its limits {own} leave no room to '{mimic.joint}', which it mimics"
    error = limit.error(problem, "make the limits of the two joints overlap")
    words = {"lower": repr(lower), "upper": repr(upper)}
    limit.mend(error, f"took {lower:.6g} to {upper:.6g}", lambda: limit.write(**words))
    return replace(joint, limits=replace(joint.limits, lower=lower, upper=upper))
