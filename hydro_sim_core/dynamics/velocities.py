"""Properties of each velocity while a tree is built, and the contributions of mimic joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hydro_sim_core.description.spec import JointSpec, MimicSpec
from hydro_sim_core.errors import InputError


@dataclass
class VelocityEntry:
    """Properties of one velocity; names and units are those of the fields of ``KinematicTree``."""

    name: str
    q_of_v: int = -1
    q_lower: float = -np.inf
    q_upper: float = np.inf
    limit_stiffness: float = np.inf
    velocity_limit: float = np.inf
    effort_limit: float = np.inf
    damping: float = 0.0
    friction: float = 0.0
    rotor_inertia: float = 0.0
    spring_stiffness: float = 0.0
    spring_reference: float = 0.0
    prescribed: bool = False


def velocity_entries(joint: JointSpec, num_v: int, q_index: int) -> list[VelocityEntry]:
    """Entries of a joint with its own coordinates; joints with a quaternion have no limits."""
    names = joint.coordinate_names or [f"{joint.name}/{k}" for k in range(num_v)]
    entries = [
        VelocityEntry(name, damping=joint.damping, friction=joint.friction, rotor_inertia=joint.rotor_inertia)
        for name in names
    ]
    limits = joint.limits
    for k, entry in enumerate(entries if joint.coordinate_names else ()):
        entry.q_of_v = q_index + k
        entry.q_lower, entry.q_upper = limits.lower, limits.upper
        entry.velocity_limit, entry.effort_limit = limits.velocity, limits.effort
        if limits.stiffness is not None:
            entry.limit_stiffness = limits.stiffness
        entry.spring_stiffness, entry.spring_reference = joint.spring_stiffness, joint.spring_reference
    return entries


def add_mimic(entry: VelocityEntry, joint: JointSpec, mimic: MimicSpec, source: str) -> None:
    """Add limits, damping, friction, inertia and spring of a mimic joint to its master's entry.

    Args:
        entry: Entry of the master.
        joint: The mimic joint.
        mimic: Its mimic relation.
        source: File, for error messages.

    Raises:
        InputError: The limits of the two joints exclude each other.
    """
    limits, scale = joint.limits, abs(mimic.multiplier)
    ends = sorted((end - mimic.offset) / mimic.multiplier for end in (limits.lower, limits.upper))
    entry.q_lower = max(entry.q_lower, ends[0])
    entry.q_upper = min(entry.q_upper, ends[1])
    if entry.q_lower > entry.q_upper:
        problem = f"its limits leave no position to '{entry.name}', which it mimics"
        raise InputError(
            source, f"joint '{joint.name}'", problem, "make the limits of the two joints overlap"
        )
    if limits.stiffness is not None:
        own = scale**2 * limits.stiffness
        entry.limit_stiffness = own if np.isinf(entry.limit_stiffness) else max(entry.limit_stiffness, own)
    entry.velocity_limit = min(entry.velocity_limit, limits.velocity / scale)
    if np.isfinite(limits.effort):
        entry.effort_limit += scale * limits.effort
    entry.damping += scale**2 * joint.damping
    entry.friction += scale * joint.friction
    entry.rotor_inertia += scale**2 * joint.rotor_inertia
    own = scale**2 * joint.spring_stiffness
    if own > 0.0:
        # Two springs on one coordinate are one, which is slack where their efforts cancel.
        slack, both = (joint.spring_reference - mimic.offset) / mimic.multiplier, entry.spring_stiffness + own
        entry.spring_reference += own / both * (slack - entry.spring_reference)
        entry.spring_stiffness = both
