"""What overlaps where a scene starts: links of a robot, as linkages and covers are drawn, and bodies by mistake."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hydro_sim_core.arithmetic import product
from hydro_sim_core.contact import ContactPatch, compute_patch
from hydro_sim_core.dynamics import Assembly, PlacedRobot, TreeEvaluator
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.geometry.convex import hull
from hydro_sim_core.geometry.shapes import is_convex
from hydro_sim_core.simulation.assembly.pairs import Collider, Floats, Indices, strides_of_pairs

#: Depth from which two links overlap rather than touch, m: more than the round-off of a file's numbers.
LEAST_DEPTH = 1e-5
#: Depth from which two rigid bodies of different robots start deep in each other, m.
LEAST_DEEP = 1e-4
#: The same of compliant ones, as a multiple of what may newly overlap in a step: half of half their thickness. Fingers
#: may start pressed on what they hold.
DEEP_ROOMS = 2.0
#: Most faces of a body across which the depth is looked for.
_MOST_FACES = 1000
#: Most pairs that a warning names.
_MOST_NAMED = 5

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LinkOverlap:
    """Two links that overlap at the start.

    Attributes:
        links: Their names.
        depth: Largest depth, m; infinite if one lies inside the other.
        force: Force with which they push each other, or would, N.
    """

    links: tuple[str, str]
    depth: float
    force: float


class StartPose:
    """Collision geometries where they start.

    Args:
        colliders: Collision geometries.
        assembly: The robots.
        q0: (nq,) coordinates at the start.

    Attributes:
        colliders: Collision geometries.
    """

    def __init__(self, colliders: Sequence[Collider], assembly: Assembly, q0: Floats) -> None:
        self._posture = TreeEvaluator(assembly.tree).update(q0)
        self.colliders = colliders
        self._poses = [product(self.body_pose(collider.body), collider.X_BG) for collider in colliders]
        self._is_plane = np.array([collider.geometry.is_half_space for collider in colliders], dtype=bool)
        boxes = [_bounds(one.geometry, X_WG) for one, X_WG in zip(colliders, self._poses, strict=True)]
        self._lower, self._upper = np.array(boxes).reshape(-1, 2, 3).transpose(1, 0, 2)

    def body_pose(self, body: int) -> Floats:
        """Pose (4, 4) of a body; -1 for the world."""
        return self._posture.body_pose(body)

    def near(self, pairs: Indices) -> np.ndarray:
        """By how much the boxes of pairs (P, 2) overlap (P,), m: at least as deep as bodies that overlap do."""
        a, b = pairs.T
        inside = np.minimum(self._upper[a] - self._lower[b], self._upper[b] - self._lower[a]).min(axis=1)
        for plane, other in ((a, b), (b, a)):
            for row in np.flatnonzero(self._is_plane[plane]):
                inside[row] = self._depth_below(int(plane[row]), int(other[row]))
        return inside

    def _depth_below(self, plane: int, other: int) -> float:
        """How far a body reaches below the surface of a half space, m."""
        X_WG, X_WO = self._poses[plane], self._poses[other]
        points = product(self.colliders[other].geometry.body_points, X_WO[:3, :3].T) + X_WO[:3, 3]
        return -float(product(points - X_WG[:3, 3], X_WG[:3, 2]).min())

    def overlap(self, pair: Sequence[int], skinned: Sequence[bool]) -> tuple[float, float]:
        """Depth, m, and force, N, of two geometries that touch with their skins or without."""
        first, second = (
            ((one.skin or one.geometry) if with_skin else one.geometry, self._poses[i])
            for i, one, with_skin in zip(pair, (self.colliders[i] for i in pair), skinned, strict=True)
        )
        patch = compute_patch(*first, *second, every_polygon=False)
        if patch.overlaps_without_faces:
            return math.inf, 0.0
        if any(skinned) and not np.any(patch.pressures > 0.0):
            return _depth_of_upright(first, second), 0.0
        return _deepest(patch), float(patch.areas @ np.maximum(patch.pressures, 0.0))

    def _told_depth(self, pair: tuple[int, int], depth: float) -> float:
        """Depth to tell of two geometries that overlap by ``depth`` as far as the pressures show it, m.

        They do not beyond the middle of a body. Convex ones are as deep as they overlap across a face; so, at most, are
        others of which no face is left. Infinite if the hull of one is inside the other's.
        """
        solids = [self.colliders[i].geometry for i in pair]
        if any(solid.is_half_space for solid in solids):
            return float(self.near(np.array([pair]))[0])
        if math.isfinite(depth) and not all(
            is_convex(one.vertices, one.surface_triangles()) for one in solids
        ):
            return depth
        try:
            hulls = [self._hull(i) for i in pair]
        except InputError:  # a flat surface spans none
            return depth
        spans = [_spans(*hulls[i], hulls[1 - i][0]) for i in (0, 1)]
        # One is inside the other if it reaches beyond none of its faces.
        if any((top >= other_top).all() for top, other_top, _ in spans):
            return math.inf
        return float(min((top - other_bottom).min() for top, _, other_bottom in spans))

    def _hull(self, i: int) -> tuple[Floats, Floats]:
        """Vertices of the hull of a geometry in the world, and its face normals (F, 3)."""
        points, triangles = hull("", self.colliders[i].geometry.body_points)
        points = product(points, self._poses[i][:3, :3].T) + self._poses[i][:3, 3]
        corners = points[triangles[:: max(len(triangles) // _MOST_FACES, 1)]]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        return points, normals / np.linalg.norm(normals, axis=1, keepdims=True)

    def overlaps(
        self, pairs: Indices, skinned: np.ndarray, least: np.ndarray
    ) -> tuple[tuple[LinkOverlap, ...], np.ndarray]:
        """Find pairs that overlap.

        Args:
            pairs: (P, 2) pairs.
            skinned: (P, 2) whether each side touches with its skin.
            least: (P,) depth from which on they count, m.

        Returns:
            The links that overlap, and which pairs (P,) do.
        """
        does = np.zeros(len(pairs), dtype=bool)
        found: dict[tuple[str, str], tuple[float, float]] = {}
        for row in np.flatnonzero(self.near(pairs) >= least):
            a, b = pairs[row].tolist()
            depth, force = self.overlap((a, b), skinned[row])
            if depth > least[row]:
                does[row] = True
                depth = self._told_depth((a, b), depth)
                links = self.colliders[min(a, b)].link, self.colliders[max(a, b)].link
                deepest, total = found.get(links, (0.0, 0.0))
                found[links] = max(depth, deepest), total + force
        return tuple(LinkOverlap(links, *values) for links, values in found.items()), does


def _depth_of_upright(first: tuple[Geometry, Floats], second: tuple[Geometry, Floats]) -> float:
    """Depth of two bodies of which one is inside the other's skin but for upright faces, which press with nothing, m.

    A rod in a block is like that: the block's top runs across the rod's skin. The depth found is at most the true one.
    """
    (a, X_WA), (b, X_WB) = first, second
    patch = compute_patch(
        replace(a, is_skin=False), X_WA, replace(b, is_skin=False), X_WB, every_polygon=False
    )
    return math.inf if patch.overlaps_without_faces else _deepest(patch)


def _spans(points: Floats, normals: Floats, others: Floats) -> tuple[Floats, Floats, Floats]:
    """Along face normals (F, 3) of a body how far it reaches, and how far up and down another does, m."""
    along = product(others, normals.T)
    return product(points, normals.T).max(axis=0), along.max(axis=0), along.min(axis=0)


def _deepest(patch: ContactPatch) -> float:
    """Largest depth of two bodies at the faces that press, m."""
    pressed = patch.pressures > 0.0
    field, normals = patch.faces.field_gradients[pressed], patch.faces.normals[pressed]
    # One field is told: that of A falls along the normal. Across it both rise alike, as the pressures are equal.
    along = np.einsum("ij,ij->i", field, normals)
    slopes = patch.faces.gradients[pressed]
    other = np.where(along < 0.0, slopes[:, 1], slopes[:, 0])
    steepness = np.linalg.norm(field, axis=1)
    other_steepness = np.sqrt(np.maximum(steepness**2 - along**2, 0.0) + other**2)
    pressures = patch.pressures[pressed]
    return float(np.max(pressures / steepness + pressures / other_steepness, initial=0.0))


def _bounds(geometry: Geometry, X_WG: Floats) -> tuple[Floats, Floats]:
    if geometry.is_half_space:
        return np.full(3, -np.inf), np.full(3, np.inf)
    points = product(geometry.body_points, X_WG[:3, :3].T) + X_WG[:3, 3]
    return points.min(axis=0), points.max(axis=0)


def warn_of_starts(
    start: StartPose,
    pairs: Indices,
    skinned: np.ndarray,
    asked: np.ndarray,
    taken_out: Sequence[LinkOverlap],
    source: Path,
) -> str:
    """Warn of bodies that start deep in each other, which burst apart or swallow each other, and of what is taken out.

    Args:
        start: Where everything starts.
        pairs: (P, 2) pairs that may touch.
        skinned: (P, 2) whether each side touches with its skin.
        asked: (P,) whether a pair is looked at.
        taken_out: Links of a robot that do not touch because they overlap at the start.
        source: Scene file, for the message.

    Returns:
        Which bodies start deep in each other, and how deep, in words; empty if none do.
    """
    _warn_of_taken_out(taken_out, source)
    least = np.maximum(DEEP_ROOMS * strides_of_pairs(start.colliders, pairs).room, LEAST_DEEP)
    overlaps, _ = start.overlaps(pairs, skinned, np.where(asked, least, np.inf))
    told = _listing(overlaps) if overlaps else ""
    if told:
        logger.warning(
            "%s: starts in deep overlap: %s; move them apart, or give them law none in contact.pairs",
            source,
            told,
        )
    return told


def robots_of(colliders: Sequence[Collider], placed: Sequence[PlacedRobot]) -> np.ndarray:
    """For each geometry (C,) the index of its robot, that of the one which that is attached to; -1 if there is none."""
    robot_of_link = {link.name: i for i, item in enumerate(placed) for link in item.robot.links}
    root = list(range(len(placed)))
    for i, item in enumerate(placed):
        if item.attach_to in robot_of_link:
            root[i] = root[robot_of_link[item.attach_to]]
    return np.array([root[c.robot] if c.robot >= 0 else -1 for c in colliders], dtype=np.int64)


def within_pieces(
    colliders: Sequence[Collider], placed: Sequence[PlacedRobot], robot: np.ndarray, pairs: Indices
) -> np.ndarray:
    """Which of the pairs (P, 2) of geometries hang together without free joints (P,)."""
    piece = _pieces_of(colliders, placed, robot)
    return np.asarray((piece[pairs[:, 0]] == piece[pairs[:, 1]]) & (piece[pairs[:, 0]] >= 0))


def _pieces_of(colliders: Sequence[Collider], placed: Sequence[PlacedRobot], robot: np.ndarray) -> np.ndarray:
    """Numbers (C,) of what hangs together without free joints, by geometry; -1 where ``robot`` is.

    A link on a free joint is another body: it is drawn where it starts, not into what it hangs on.
    """
    stands_for: dict[str, str] = {}
    for item in placed:
        if item.attach_to in stands_for:
            stands_for[item.robot.root] = stands_for[item.attach_to]
        for joint in item.robot.joints:  # parents first
            stands_for[joint.child] = (
                joint.child if joint.traits.is_free else stands_for.get(joint.parent, "")
            )
    number: dict[tuple[int, str], int] = {}
    pieces = [(int(i), stands_for.get(one.link, "")) for one, i in zip(colliders, robot, strict=True)]
    return np.array(
        [number.setdefault(one, len(number)) if one[0] >= 0 else -1 for one in pieces], dtype=np.int64
    )


def _warn_of_taken_out(overlaps: Sequence[LinkOverlap], source: Path) -> None:
    """Warn of links of a robot that do not touch because they overlap where it starts."""
    if overlaps:
        logger.warning(
            "%s: links of a robot that overlap where it starts do not touch: %s; tell them law pressure_field or "
            "none in contact.pairs, or name the robot's SRDF",
            source,
            _listing(overlaps),
        )


def _listing(overlaps: Sequence[LinkOverlap]) -> str:
    listing = [
        f"'{one.links[0]}' and '{one.links[1]}'"
        + (f" by {1e3 * one.depth:.3g} mm" if math.isfinite(one.depth) else ", one inside the other")
        for one in overlaps[:_MOST_NAMED]
    ]
    more = [f"{len(overlaps) - _MOST_NAMED} more pairs"] if len(overlaps) > _MOST_NAMED else []
    return "; ".join(listing + more)


def meant_to_overlap(
    colliders: Sequence[Collider],
    pairs: Indices,
    assembly: Assembly,
    grippers: Iterable[Collection[str]],
    wanted: Iterable[Collection[str]],
) -> np.ndarray:
    """Which pairs (P,) touch even where they overlap at the start.

    Args:
        colliders: Collision geometries.
        pairs: (P, 2) pairs that may touch.
        assembly: The robots.
        grippers: Joints of the fingers of each gripper, which do.
        wanted: Pairs of links that are told to.
    """
    a, b = pairs.T
    meant = np.zeros(len(pairs), dtype=bool)
    body = np.array([collider.body for collider in colliders])
    body_of_joint = {joint.name: joint.body for joint in assembly.scalar_joints}
    for joints in grippers:
        fingers = [body_of_joint[joint] for joint in joints]
        meant |= np.isin(body[a], fingers) & np.isin(body[b], fingers)
    told = {frozenset(links) for links in wanted}
    if told:
        named = [frozenset((colliders[i].link, colliders[j].link)) in told for i, j in pairs.tolist()]
        meant |= np.array(named, dtype=bool)
    return meant
