"""Gains of drives that descriptions name, which say what joints obey and not how stiffly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.described_drives import DrivenJoint
from hydro_sim_core.dynamics import Assembly, TreeEvaluator
from hydro_sim_core.dynamics.tree import KinematicTree

#: Bandwidth of a drive at the posture at which its joint moves most inertia, rad/s. Trajectories of 3 rad/s^2 are
#: followed within 3 mrad.
BANDWIDTH = 30.0
#: Distance from its target at which a drive gives its whole effort at the latest, rad and m: light joints, such as
#: wrists, would else yield to whatever the hand carries.
REACH = {"rad": 0.1, "m": 0.02}
#: Distance from its target at which dry friction or a spring may hold a joint at rest, rad and m. Controllers of real
#: joints integrate it away.
STUCK = {"rad": 5e-4, "m": 5e-5}
#: Postures that are looked at for that inertia, beside the one at the start.
POSTURES = 64
#: Ends of joints beyond this stand for none, rad and m: so do those of slides that are repaired.
_FAR = 1e3


class JointDrive(NamedTuple):
    """Drive of a joint.

    Attributes:
        mode: What it obeys until it is told another mode.
        kp: Position gain, N m/rad or N/m.
        kd: Velocity gain, N m s/rad or N s/m.
        effort_limit: Largest effort, N m or N; infinite for none.
    """

    mode: Literal["position", "velocity", "effort"]
    kp: float
    kd: float
    effort_limit: float


def described_drives(
    joints: Mapping[str, DrivenJoint], assembly: Assembly, q0: NDArray[np.float64]
) -> dict[str, JointDrive]:
    """Drives of joints, critically damped with the most inertia that each moves.

    The stiffness is ``M w^2`` with the bandwidth ``w``, or more where the effort limit is to be reached within
    ``REACH``, or where dry friction, or the joint's spring at either end, would else hold the joint farther than
    ``STUCK`` from its target; the damping is ``2 sqrt(kp M)``. The step takes both implicitly, so that they are stable
    at any length.

    Args:
        joints: The joints by name.
        assembly: The tree.
        q0: (nq,) coordinates at the start.
    """
    if not joints:
        return {}
    inertia, springs = _most_inertia(assembly, q0), _most_of_springs(assembly.tree)
    drives = {}
    for name, joint in joints.items():
        i = assembly.velocity_names.index(name)
        M = float(inertia[i])
        # No drive could move a joint with a limit of 0: files write it where they know none.
        limit = float(assembly.tree.effort_limit[i]) or math.inf
        kp = M * BANDWIDTH**2
        if math.isfinite(limit):
            kp = max(kp, limit / REACH[joint.unit])
        kp = max(kp, float(assembly.tree.friction[i] + springs[i]) / STUCK[joint.unit])
        drives[name] = JointDrive(joint.mode, kp, 2.0 * math.sqrt(kp * M), limit)
    return drives


def _most_inertia(assembly: Assembly, q0: NDArray[np.float64]) -> NDArray[np.float64]:
    """(nv,) largest diagonal of the mass matrix over postures within the limits, the same ones every time."""
    tree, evaluator = assembly.tree, TreeEvaluator(assembly.tree)
    rows = np.flatnonzero(tree.q_of_v >= 0)
    lower, upper = (ends[rows] for ends in _ends(tree))
    most = np.diagonal(evaluator.update(q0).mass_matrix()).copy()
    for draw in np.random.default_rng(0).uniform(size=(POSTURES, len(rows))):
        q = q0.copy()
        q[tree.q_of_v[rows]] = lower + draw * (upper - lower)
        most = np.maximum(most, np.diagonal(evaluator.update(q).mass_matrix()))
    return most


def _most_of_springs(tree: KinematicTree) -> NDArray[np.float64]:
    """(nv,) most effort of the springs of joints within their ends, N m or N."""
    lower, upper = _ends(tree)
    stretch = np.maximum(np.abs(lower - tree.spring_reference), np.abs(upper - tree.spring_reference))
    return np.asarray(tree.spring_stiffness * stretch)


def _ends(tree: KinematicTree) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(nv,) lower and upper ends of joints, half a turn or as many metres to either side where there is none."""
    lower, upper = tree.q_lower, tree.q_upper
    return np.where(lower > -_FAR, lower, -np.pi), np.where(upper < _FAR, upper, np.pi)
