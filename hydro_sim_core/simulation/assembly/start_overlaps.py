"""Links of a robot that overlap where it starts, as linkages and covers are drawn: they do not touch."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hydro_sim_core.arithmetic import product
from hydro_sim_core.contact import compute_patch
from hydro_sim_core.dynamics import Assembly, PlacedRobot, TreeEvaluator
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.simulation.assembly.pairs import Collider, Floats, Indices

#: Depth from which two links overlap rather than touch, m: more than the round-off of a file's numbers.
LEAST_DEPTH = 1e-5


@dataclass(frozen=True)
class LinkOverlap:
    """Two links of a robot that overlap at the start.

    Attributes:
        links: Their names.
        depth: Largest depth, m; infinite if one lies inside the other.
        force: Force with which they would push each other, N.
    """

    links: tuple[str, str]
    depth: float
    force: float


def start_coordinates(assembly: Assembly, positions: Iterable[Mapping[str, float]]) -> Floats:
    """Coordinates (nq,) at time zero.

    Args:
        assembly: The robots.
        positions: Start position of every independent coordinate, for each robot.
    """
    q = np.array(assembly.q0)
    own = {name: i for i, name in enumerate(assembly.velocity_names)}
    for each in positions:
        for joint, position in each.items():
            q[assembly.tree.q_of_v[own[joint]]] = position
    return q


def find_overlaps(
    colliders: Sequence[Collider],
    pairs: Indices,
    skinned: np.ndarray,
    asked: np.ndarray,
    assembly: Assembly,
    q0: Floats,
) -> tuple[tuple[LinkOverlap, ...], np.ndarray]:
    """Find pairs that overlap at the start.

    Args:
        colliders: Collision geometries.
        pairs: (P, 2) pairs that may touch.
        skinned: (P, 2) whether each side touches with its skin.
        asked: (P,) whether a pair is looked at.
        assembly: The robots.
        q0: (nq,) coordinates at the start.

    Returns:
        The links that overlap, and which pairs (P,) remain.
    """
    posture = TreeEvaluator(assembly.tree).update(q0)
    poses = [product(posture.body_pose(collider.body), collider.X_BG) for collider in colliders]
    bounds = [_bounds(collider.geometry, X_WG) for collider, X_WG in zip(colliders, poses, strict=True)]
    remains = np.ones(len(pairs), dtype=bool)
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for row in np.flatnonzero(asked):
        a, b = pairs[row].tolist()
        if (bounds[a][0] > bounds[b][1]).any() or (bounds[b][0] > bounds[a][1]).any():
            continue
        sides = [
            (colliders[i].skin or colliders[i].geometry) if with_skin else colliders[i].geometry
            for i, with_skin in zip((a, b), skinned[row], strict=True)
        ]
        depth, force = _overlap(sides[0], poses[a], sides[1], poses[b])
        if depth > LEAST_DEPTH:
            remains[row] = False
            links = colliders[min(a, b)].link, colliders[max(a, b)].link
            deepest, total = found.get(links, (0.0, 0.0))
            found[links] = max(depth, deepest), total + force
    return tuple(LinkOverlap(links, *values) for links, values in found.items()), remains


def _bounds(geometry: Geometry, X_WG: Floats) -> tuple[Floats, Floats]:
    if geometry.is_half_space:
        return np.full(3, -np.inf), np.full(3, np.inf)
    points = product(geometry.body_points, X_WG[:3, :3].T) + X_WG[:3, 3]
    return points.min(axis=0), points.max(axis=0)


def _overlap(a: Geometry, X_WA: Floats, b: Geometry, X_WB: Floats) -> tuple[float, float]:
    """Depth, m, and force, N, of two geometries."""
    patch = compute_patch(a, X_WA, b, X_WB)
    if patch.overlaps_without_faces:
        return math.inf, 0.0
    pressed = patch.pressures > 0.0
    steepness = np.linalg.norm(patch.faces.field_gradients[pressed], axis=1)
    depth = float(np.max(patch.pressures[pressed] / steepness, initial=0.0))
    return depth, float(patch.areas[pressed] @ patch.pressures[pressed])


def pairs_within_robots(
    colliders: Sequence[Collider],
    pairs: Indices,
    placed: Sequence[PlacedRobot],
    assembly: Assembly,
    grippers: Iterable[Collection[str]],
    wanted: Iterable[Collection[str]],
) -> np.ndarray:
    """Which pairs (P,) are links of one robot, with what is attached to it, that are not meant to touch at the start.

    Args:
        colliders: Collision geometries.
        pairs: (P, 2) pairs that may touch.
        placed: The robots.
        assembly: Their assembly.
        grippers: Joints of the fingers of each gripper, which are meant to.
        wanted: Pairs of links that are meant to.
    """
    robot_of_link = {link.name: i for i, item in enumerate(placed) for link in item.robot.links}
    root = list(range(len(placed)))
    for i, item in enumerate(placed):
        if item.attach_to in robot_of_link:
            root[i] = root[robot_of_link[item.attach_to]]
    robot = np.array([root[c.robot] if c.robot >= 0 else -1 for c in colliders])
    a, b = pairs.T
    within = (robot[a] == robot[b]) & (robot[a] >= 0)
    body = np.array([collider.body for collider in colliders])
    body_of_joint = {joint.name: joint.body for joint in assembly.scalar_joints}
    for joints in grippers:
        fingers = [body_of_joint[joint] for joint in joints]
        within &= ~(np.isin(body[a], fingers) & np.isin(body[b], fingers))
    meant = {frozenset(links) for links in wanted}
    if meant:
        named = [frozenset((colliders[i].link, colliders[j].link)) in meant for i, j in pairs.tolist()]
        within &= ~np.array(named, dtype=bool)
    return within
