"""What belongs to one entry of v while a tree is built, and what a mimic joint adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hydro_sim_core.description.spec import JointSpec
from hydro_sim_core.errors import InputError


@dataclass
class VelocityEntry:
    """Properties of one velocity; the fields of the same names of ``KinematicTree`` and their units."""

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


def velocity_entries(joint: JointSpec, num_v: int, q_index: int) -> list[VelocityEntry]:
    """Entries of a joint that has coordinates of its own; only 1-DoF joints have limits."""
    names = [joint.name] if num_v == 1 else [f"{joint.name}/{k}" for k in range(num_v)]
    entries = [
        VelocityEntry(name, damping=joint.damping, friction=joint.friction, rotor_inertia=joint.rotor_inertia)
        for name in names
    ]
    if num_v == 1:
        entry, limits = entries[0], joint.limits
        entry.q_of_v = q_index
        entry.q_lower, entry.q_upper = limits.lower, limits.upper
        entry.velocity_limit, entry.effort_limit = limits.velocity, limits.effort
        if limits.stiffness is not None:
            entry.limit_stiffness = limits.stiffness
    return entries


def resolve_mimic(joint: JointSpec, joints: Mapping[str, JointSpec], source: str) -> tuple[str, float, float]:
    """Follow a mimic joint to the joint that has a coordinate.

    Args:
        joint: The mimic joint.
        joints: The robot's joints by name.
        source: File, for messages.

    Returns:
        Name of that joint, and (scale, offset) from its coordinate to that of ``joint``.

    Raises:
        InputError: There is no such joint, or mimicry cannot apply to one on the way.
    """
    scale, offset = 1.0, 0.0
    current, visited = joint, {joint.name}
    while current.mimic is not None:
        element = f"joint '{current.name}'"
        master = joints.get(current.mimic.joint)
        if master is None:
            problem = f"mimics '{current.mimic.joint}', which the robot lacks"
            raise InputError(source, element, problem, "name one of its joints")
        for member in (current, master):
            if member.type not in ("revolute", "continuous", "prismatic"):
                problem = f"mimicry involves the {member.type} joint '{member.name}'"
                raise InputError(source, element, problem, "use revolute or prismatic joints")
        if current.mimic.multiplier == 0.0:
            raise InputError(source, element, "mimics with multiplier 0", "make it a fixed joint")
        if master.name in visited:
            raise InputError(source, element, "mimics itself", "let one joint of the loop mimic nothing")
        visited.add(master.name)
        offset += scale * current.mimic.offset
        scale *= current.mimic.multiplier
        current = master
    return current.name, scale, offset


def add_mimic(entry: VelocityEntry, joint: JointSpec, scale: float, offset: float, source: str) -> None:
    """Let the master's entry bear what a mimic joint with coordinate scale * q + offset has of its own."""
    limits = joint.limits
    ends = sorted(((limits.lower - offset) / scale, (limits.upper - offset) / scale))
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
    entry.velocity_limit = min(entry.velocity_limit, limits.velocity / abs(scale))
    if np.isfinite(limits.effort):
        entry.effort_limit += abs(scale) * limits.effort
    entry.damping += scale**2 * joint.damping
    entry.friction += abs(scale) * joint.friction
    entry.rotor_inertia += scale**2 * joint.rotor_inertia
