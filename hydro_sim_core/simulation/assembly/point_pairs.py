"""Pairs of links that touch at equivalent points: their hulls, and what such a pair asks for."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.equivalent_point.hull_set import Hull, make_hull_set, most_points
from hydro_sim_core.dynamics import frozen
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.polyhedra import polyhedron
from hydro_sim_core.geometry.simplices import enclosed_volume
from hydro_sim_core.simulation.assembly.pair_laws import PairLaws, ToldLaw
from hydro_sim_core.simulation.assembly.pairs import Collider, Floats, Indices
from hydro_sim_core.simulation.assembly.point_starts import start_depth
from hydro_sim_core.simulation.assembly.point_tiles import HOLLOW, face_tiles
from hydro_sim_core.simulation.stepping.point_conditions import START_SHARE
from hydro_sim_core.simulation.stepping.point_model import MOST_AXES, PointPairs, faces_of_outline

logger = logging.getLogger(__name__)

#: A step may move two bodies against each other by this share of the thinner one's thickness.
STRIDE = 0.5
#: Share of a hull that one geometry must lack for a warning that its hollows are filled.
NOTICED = 0.01


@dataclass(frozen=True, eq=False)
class _Side:
    """Collision geometries that touch as one convex body.

    Attributes:
        colliders: Their indices.
        hull: Their convex hull in the frame of the body.
        body: The body, -1 for the world.
        is_convex: Whether the hull fills no hollow.
        is_filled: Whether it fills one that is more than the round-off of a mesh.
    """

    colliders: tuple[int, ...]
    hull: Hull
    body: int
    is_convex: bool
    is_filled: bool = False

    @cached_property
    def ball(self) -> tuple[Floats, float]:
        """Centre (3,) and radius of a ball around the hull, m; infinite for a half space."""
        if self.hull.plane is not None:
            return np.zeros(3), math.inf
        points = self.hull.points
        centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
        return centre, float(np.linalg.norm(points - centre, axis=1).max()) + self.hull.radius


def refuse_point_pairs(laws: PairLaws, integrator: str) -> None:
    """Refuse pairs at equivalent points for an integrator without them.

    Raises:
        InputError: There is such a pair.
    """
    if told := next((one for one in laws.told.values() if one.law == "equivalent_point"), None):
        mend = "take integrator fixed or error_controlled, or law pressure_field"
        raise _error(told, f"integrator {integrator} has no steps at whose ends it could be sought", mend)


def point_pairs(
    colliders: Sequence[Collider],
    laws: PairLaws,
    names: set[str],
    first_pair: int,
    prescribed: NDArray[np.int64],
    pose_of: Callable[[int], Floats] | None,
) -> tuple[PointPairs, Indices]:
    """Make the pairs that are told to touch at equivalent points.

    Args:
        colliders: Collision geometries.
        laws: What is told about pairs of links.
        names: Links and static shapes of the scene; one that was told of may have been taken out since.
        first_pair: Number of pairs that touch by other laws.
        prescribed: Bodies with prescribed motion.
        pose_of: Gives the pose (4, 4) in which a body starts; None if depth at the start does not matter.

    Returns:
        The pairs; and (Q, 2) a collider of each side, for names and friction. With ``pose_of`` a warning names bodies
        whose hollows are filled where another body could reach into them.

    Raises:
        InputError: Two links cannot touch like that, or start deep in each other; it says why.
    """
    told = [
        one for one in laws.told.values() if one.law == "equivalent_point" and names.issuperset(one.links)
    ]
    sides: dict[tuple[int, ...], int] = {}
    made: list[_Side] = []
    filled: dict[tuple[int, ...], ToldLaw] = {}
    pairs, rows, ellipsoids = [], [], []
    for one in told:
        groups = [_of_link(colliders, link) for link in one.links]
        _check(one, colliders, groups, prescribed)
        for a in _split(groups[0], one):
            for b in _split(groups[1], one):
                for group in (a, b):
                    if group not in sides:
                        sides[group] = len(made)
                        made.append(_make_side(colliders, group, one))
                both = made[sides[a]], made[sides[b]]
                _check_convex(one, *both)
                if pose_of is not None:
                    _check_start(one, *both, pose_of)
                    # A plane touches a body where it touches the hull.
                    if all(side.hull.plane is None for side in both):
                        filled |= {side.colliders: one for side in both if side.is_filled}
                pairs.append((sides[a], sides[b]))
                rows.append((a[0], b[0]))
                ellipsoids.append(one.point.ellipsoid or (1.0, 1.0, 0.0))
    for group, one in filled.items():
        _warn_of_hull(one, colliders[group[0]].link)
    packed = _packed(made, pairs, ellipsoids, first_pair)
    return packed, np.array(rows, dtype=np.int64).reshape(-1, 2)


def _packed(
    made: Sequence[_Side],
    pairs: Sequence[tuple[int, int]],
    ellipsoids: Sequence[tuple[float, float, float]],
    first_pair: int,
) -> PointPairs:
    hulls = make_hull_set([side.hull for side in made])
    most = [most_points(hulls, *pair) for pair in pairs]
    room = MOST_AXES * np.array(most, dtype=np.int64)
    extent = np.array([side.ball[1] for side in made])
    thickness = np.array([_thickness(side.hull) for side in made])
    sides = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    smaller, thinner = (values[sides].min(axis=1) for values in (extent, thickness))
    return PointPairs(
        hulls=hulls,
        hull_body=frozen([side.body for side in made], np.int64),
        centre=frozen([side.ball[0] for side in made], shape=(-1, 3)),
        extent=frozen(extent),
        pairs=frozen(sides, np.int64, (-1, 2)),
        first_pair=frozen([first_pair], np.int64),
        size=frozen(2.0 * smaller),
        stride=frozen(STRIDE * thinner),
        ellipsoid=frozen(ellipsoids, shape=(-1, 3)),
        first_condition=frozen(np.concatenate(([0], np.cumsum(room))), np.int64),
        most_faces=frozen([sum(map(faces_of_outline, most))], np.int64),
    )


def _of_link(colliders: Sequence[Collider], link: str) -> tuple[int, ...]:
    return tuple(i for i, collider in enumerate(colliders) if collider.link == link)


def _split(group: tuple[int, ...], told: ToldLaw) -> list[tuple[int, ...]]:
    return [(i,) for i in group] if told.point.is_of_pieces else [group]


def _check(
    told: ToldLaw,
    colliders: Sequence[Collider],
    groups: Sequence[tuple[int, ...]],
    prescribed: NDArray[np.int64],
) -> None:
    """Check that two links can touch at equivalent points."""
    for link, group in zip(told.links, groups, strict=True):
        if not group:
            raise _error(told, f"'{link}' has no collision geometry", "give it one, or leave the pair out")
        for one in (colliders[i] for i in group):
            if not one.geometry.is_rigid:
                mend = "tag it rigid, or take law pressure_field"
                raise _error(
                    told, f"'{link}' is compliant in {one.name}, and the law is for rigid bodies", mend
                )
            if one.proximity.surface_velocity or one.proximity.grain:
                what = "surface velocity" if one.proximity.surface_velocity else "grain"
                mend = "take law pressure_field"
                raise _error(told, f"'{link}' has a {what} in {one.name}, which acts on faces", mend)
            if one.geometry.is_half_space and len(group) > 1 and not told.point.is_of_pieces:
                mend = "set pieces: true"
                raise _error(told, f"'{link}' has a half space and other geometry, which have no hull", mend)
    first, second = (colliders[group[0]] for group in groups)
    if first.geometry.is_half_space and second.geometry.is_half_space:
        raise _error(told, "both are half spaces", "leave the pair out")
    if first.group == second.group:
        raise _error(told, "are fixed to each other: contact would move neither", "leave the pair out")
    if all(one.body < 0 or one.body in prescribed for one in (first, second)):
        raise _error(told, "neither moves freely: contact would move neither", "leave the pair out")


def _check_convex(told: ToldLaw, a: _Side, b: _Side) -> None:
    if not (a.is_convex or b.is_convex):
        problem = "neither is convex, and the hulls of both would fill what each has room for"
        raise _error(
            told, problem, "set pieces: true if their collision geometries are convex, or take pressure_field"
        )


def _check_start(told: ToldLaw, a: _Side, b: _Side, pose_of: Callable[[int], Floats]) -> None:
    most = START_SHARE * 2.0 * min(side.ball[1] for side in (a, b))
    depth = start_depth(a.hull, pose_of(a.body), b.hull, pose_of(b.body), most)
    if depth > most:
        problem = (
            f"they start {1e3 * depth:.3g} mm in each other, and {1e3 * most:.3g} mm is the most, "
            f"{START_SHARE:.0%} of the smaller one's size"
        )
        raise _error(told, problem, "move one of them where it starts")


def _warn_of_hull(told: ToldLaw, link: str) -> None:
    logger.warning(
        "%s: %s: '%s' touches at equivalent points as its convex hull, so that nothing gets into its hollows; "
        "set pieces: true if its collision geometries are convex, or take law pressure_field",
        told.source,
        told.element,
        link,
    )


def _error(told: ToldLaw, problem: str, mend: str) -> InputError:
    links = f"'{told.links[0]}' and '{told.links[1]}'"
    return InputError(told.source, told.element, f"law equivalent_point for {links}: {problem}", mend)


def _make_side(colliders: Sequence[Collider], group: tuple[int, ...], told: ToldLaw) -> _Side:
    """The convex hull of geometries of a link; spheres and capsules alone are exact."""
    parts = [colliders[i] for i in group]
    first = parts[0]
    shape, X_BG = first.collision.shape, first.X_BG
    if first.geometry.is_half_space:
        n = X_BG[:3, 2]
        return _Side(group, Hull(plane=np.append(n, n @ X_BG[:3, 3])), first.body, True)
    if len(parts) == 1 and shape.kind == "sphere":
        return _Side(group, Hull(core=X_BG[None, :3, 3].copy(), radius=shape.size[0]), first.body, True)
    if len(parts) == 1 and shape.kind == "capsule":
        radius, length = shape.size
        core = X_BG[:3, 3] + np.array([-0.5, 0.5])[:, None] * length * X_BG[:3, 2]
        return _Side(group, Hull(core=core, radius=radius), first.body, True)
    points = np.concatenate([one.geometry.vertices @ one.X_BG[:3, :3].T + one.X_BG[:3, 3] for one in parts])
    solid = polyhedron(told.source, f"{told.element}: '{first.link}'", points)
    volume = sum(one.geometry.volume() for one in parts)
    of_hull = enclosed_volume(solid.vertices, solid.triangles)
    is_convex = volume >= (1.0 - HOLLOW) * of_hull
    tiles = face_tiles(solid, [_triangles(one) for one in parts])
    # Volumes of several may overlap. They fill the hull as far as can be touched if they fill all of its faces.
    is_convex = is_convex and (len(parts) == 1 or all(len(of_face) == 0 for of_face in tiles))
    is_filled = not is_convex and (len(parts) > 1 or volume < (1.0 - NOTICED) * of_hull)
    return _Side(group, Hull(solid=solid, tiles=tiles), first.body, is_convex, is_filled)


def _triangles(collider: Collider) -> Floats:
    """Corners (T, 3, 3) of the surface of a geometry, in the frame of its body, m."""
    geometry, X_BG = collider.geometry, collider.X_BG
    points = geometry.vertices @ X_BG[:3, :3].T + X_BG[:3, 3]
    return np.asarray(points[geometry.surface_triangles()])


def _thickness(hull: Hull) -> float:
    """Smallest distance between a face of a hull and what is farthest from it, m."""
    if hull.plane is not None:
        return math.inf
    if hull.solid is None:
        return 2.0 * hull.radius
    normals, offsets = hull.solid.planes[:, :3], hull.solid.planes[:, 3]
    return float((offsets - (hull.solid.vertices @ normals.T).min(axis=0)).min())
