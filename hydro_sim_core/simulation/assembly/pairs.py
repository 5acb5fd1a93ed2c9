"""Pairs of geometries that may touch, and their contact properties, vectorised because there are many pairs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.pressure_field.query import canonical_order
from hydro_sim_core.description.spec import CollisionSpec, ProximitySpec
from hydro_sim_core.dynamics import KinematicTree
from hydro_sim_core.geometry import Geometry, GeometryKind
from hydro_sim_core.geometry.skins import LEAST_EXTENT
from hydro_sim_core.simulation.stepping.face_points import (
    ALL_FACES,
    NO_FACES,
    THOSE_OF_COARSE_PATCHES,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Rigid group: ``("body", index)``, ``("base", index)`` of a robot, or that of static shapes.
Group = tuple[str, int]

#: Share of half the smallest extent of a compliant body that may newly overlap in a step.
SHARE_OF_DEPTH = 0.25
#: Share of the margins that bodies may move in a step; they also accelerate.
SHARE_OF_MARGIN = 0.8
#: The same for two rigid bodies. What is seen only at the rim of the margin is seen as a smaller area than will touch,
#: and sinks in: of 360 drops of boxes, cylinders and rings without friction and dissipation one gained energy with a
#: share of 0.5, none with 0.4.
SHARE_OF_RIGID_MARGIN = 0.3
#: Largest energy of an overlap that was not foreseen, as a share of what the lighter body comes with.
UNFORESEEN_SHARE = 0.1
#: Depth of a new overlap that is round-off, m, and least stride of two rigid bodies as a share of the thickness.
NO_DEPTH, LEAST_STRIDE = 1e-9, 1e-3
#: Entries of ``_LAWS``: queried in this order or in reverse order, both rigid.
_AS_IS, _REVERSED, _BOTH_RIGID = range(3)


def _law(a: GeometryKind, b: GeometryKind) -> int:
    order = canonical_order(a, b)
    if order is not None:
        return _AS_IS if order else _REVERSED
    # Half spaces do not move, so that no two of them are asked for.
    return _BOTH_RIGID


#: By the kinds of two geometries.
_LAWS = np.array([[_law(a, b) for b in GeometryKind] for a in GeometryKind])


@dataclass(frozen=True, eq=False)
class Collider:
    """One collision geometry of a scene.

    Attributes:
        link: Name of the link, or of the static body.
        name: Name of the collision geometry.
        geometry: Mesh and field; equal shapes share one.
        proximity: Properties with defaults filled in.
        body: Body that carries it, -1 for the world.
        X_BG: (4, 4) pose in that body.
        group: Rigid group; links of one group never touch.
        robot: Index of the robot, -1 for static shapes.
        is_hull: Whether the convex hull replaces a mesh that cannot be used as it is.
        collision: Description that it was made from.
        skin: What a rigid geometry is in contact with rigid ones that keep their surfaces; None if there are none.
    """

    link: str
    name: str
    geometry: Geometry
    proximity: ProximitySpec
    body: int
    X_BG: Floats
    group: Group
    robot: int
    is_hull: bool
    collision: CollisionSpec
    skin: Geometry | None = None


class FoundPairs(NamedTuple):
    """Pairs of colliders that may touch, by index.

    Attributes:
        compliant: (P, 2) at least one of them compliant, in the query's canonical order.
        rigid: (R, 2) both rigid, the lower index first.
    """

    compliant: Indices
    rigid: Indices


def find_pairs(
    colliders: Sequence[Collider],
    adjacent: Iterable[Collection[Group]],
    excluded: Iterable[Collection[str]],
    wanted: Iterable[Collection[str]] = (),
    prescribed: ArrayLike = (),
    quiet: Iterable[str] = (),
    spared: Iterable[Collection[str]] = (),
) -> FoundPairs:
    """Find the pairs of colliders that may touch.

    Args:
        colliders: Collision geometries.
        adjacent: Pairs of groups that never touch; a set of one group stands for a pair of equal groups.
        excluded: Pairs of links that never touch, in the same form.
        wanted: Pairs of links that touch although their groups are a pair that never does, in the same form.
        prescribed: Bodies with prescribed motion; pairs of them, or with the world, are left out.
        quiet: Links that touch nothing.
        spared: Pairs of links that may touch although one of them is quiet.

    Returns:
        The pairs, each kind sorted by the lower index, then by the other.
    """
    body = np.array([collider.body for collider in colliders])
    yields = (body >= 0) & ~np.isin(body, np.asarray(prescribed, dtype=np.int64))
    kind = np.array([int(collider.geometry.kind) for collider in colliders])
    group, not_beside = _numbered([collider.group for collider in colliders], adjacent)
    links = [collider.link for collider in colliders]
    link, not_with = _numbered(links, excluded)
    _, surely_with = _numbered(links, wanted)
    _, spared_with = _numbered(links, spared)
    is_quiet = np.isin(links, list(quiet))
    any_quiet = bool(is_quiet.any())
    met, laws = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for i in range(len(colliders) - 1):
        others = slice(i + 1, None)
        meets = group[others] != group[i]
        if group[i] in not_beside:
            meets &= ~np.isin(group[others], not_beside[group[i]])
        if link[i] in surely_with:
            meets |= np.isin(link[others], surely_with[link[i]]) & (group[others] != group[i])
        if any_quiet:
            hushed = is_quiet[others] | is_quiet[i]
            if link[i] in spared_with:
                hushed &= ~np.isin(link[others], spared_with[link[i]])
            meets &= ~hushed
        if not yields[i]:
            meets &= yields[others]
        if link[i] in not_with:
            meets &= ~np.isin(link[others], not_with[link[i]])
        j = np.flatnonzero(meets) + i + 1
        met.append(np.column_stack((np.full(len(j), i), j)))
        laws.append(_LAWS[kind[i], kind[j]])
    pairs, law = np.concatenate(met), np.concatenate(laws)
    pairs[law == _REVERSED] = pairs[law == _REVERSED, ::-1]
    return FoundPairs(pairs[law <= _REVERSED], pairs[law == _BOTH_RIGID])


def _numbered(
    names: Sequence[object], pairs: Iterable[Collection[object]]
) -> tuple[Indices, dict[int, Indices]]:
    """Numbers of the names, and for each number its partners in the pairs."""
    number: dict[object, int] = {}
    numbers = np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)
    partners: dict[int, list[int]] = {}
    for pair in pairs:
        both = [number[name] for name in pair if name in number]
        if len(both) == len(pair):
            partners.setdefault(both[0], []).append(both[-1])
            partners.setdefault(both[-1], []).append(both[0])
    return numbers, {one: np.array(others) for one, others in partners.items()}


def friction_of_pairs(colliders: Sequence[Collider], pairs: Indices) -> Floats:
    """Coefficients of friction (P,), see ``mixed_friction``."""
    mu = np.array([collider.proximity.mu_dynamic or 0.0 for collider in colliders])
    return mixed_friction(*_of_pairs(mu, pairs))


def mixed_friction(mu_a: ArrayLike, mu_b: ArrayLike) -> Floats:
    """Friction of pairs: the harmonic mean, so a frictionless side makes the pair frictionless."""
    mu_a, mu_b = np.asarray(mu_a, dtype=float), np.asarray(mu_b, dtype=float)
    total = mu_a + mu_b
    return np.divide(2.0 * mu_a * mu_b, total, out=np.zeros_like(total), where=total > 0.0)


def dissipation_of_pairs(colliders: Sequence[Collider], pairs: Indices) -> Floats:
    """Dissipation (P,), s/m, weighted by compliance: the softer side counts more, a rigid side not at all.

    That of two rigid sides is their mean.
    """
    d_a, d_b = _of_pairs(np.array([collider.proximity.dissipation or 0.0 for collider in colliders]), pairs)
    E_a, E_b = _of_pairs(np.array([collider.geometry.modulus for collider in colliders]), pairs)
    mixed = np.where(np.isinf(E_a), d_b, d_a)
    neither = np.isinf(E_a) & np.isinf(E_b)
    mixed[neither] = 0.5 * (d_a + d_b)[neither]
    both = np.isfinite(E_a) & np.isfinite(E_b)
    E_a, E_b = E_a[both], E_b[both]
    mixed[both] = (E_b * d_a[both] + E_a * d_b[both]) / (E_a + E_b)
    return mixed


def relaxation_of_pairs(colliders: Sequence[Collider], pairs: Indices) -> Floats:
    """Relaxation times (P,), s: the sum of both sides'."""
    times = np.array([collider.proximity.relaxation_time or 0.0 for collider in colliders])
    tau_a, tau_b = _of_pairs(times, pairs)
    return tau_a + tau_b


class Strides(NamedTuple):
    """How far pairs may move in a step; see the fields of ``Model`` with these names."""

    stride: Floats
    room: Floats
    foreseen: Floats
    thickness: Floats


def strides_of_pairs(colliders: Sequence[Collider], pairs: Indices) -> Strides:
    """How far the two bodies of pairs may move in a step without look-ahead.

    Within the margin contact is foreseen. A compliant body may also overlap by a share of its size before it pushes
    back; a rigid one would store more energy than it came with.
    """
    half = 0.5 * np.array([_smallest_extent(collider.geometry) for collider in colliders])
    soft = np.array([math.inf if c.geometry.is_rigid else h for c, h in zip(colliders, half, strict=True)])
    margin = np.array([(c.skin or c.geometry).margin for c in colliders])
    yielding = np.minimum(*_of_pairs(soft, pairs))
    thickness = np.minimum(*_of_pairs(half, pairs))
    # Compliant half spaces have no size; then that of the other body counts.
    are_rigid = _are_rigid(colliders, pairs)
    yielding = np.where(np.isinf(yielding), np.where(are_rigid, 0.0, thickness), yielding)
    room = np.maximum(SHARE_OF_DEPTH * yielding, NO_DEPTH)
    share = np.where(are_rigid, SHARE_OF_RIGID_MARGIN, SHARE_OF_MARGIN)
    foreseen = share * np.sum(_of_pairs(margin, pairs), axis=0)
    stride = np.maximum(foreseen + room, LEAST_STRIDE * thickness)
    return Strides(stride, room, foreseen * SHARE_OF_RIGID_MARGIN / share, thickness)


def flats_of_pairs(colliders: Sequence[Collider], pairs: Indices) -> Floats:
    """Stiffness (P,) of the largest side of the smaller body flat on the other, N/m; 0 for two rigid bodies."""
    give = np.array([1.0 / c.geometry.steepest_slope if not c.geometry.is_rigid else 0.0 for c in colliders])
    total = np.sum(_of_pairs(give, pairs), axis=0)
    side = np.minimum(*_of_pairs(np.array([_largest_side(c.geometry) for c in colliders]), pairs))
    return np.divide(side, total, out=np.zeros(len(pairs)), where=(total > 0.0) & np.isfinite(side))


def moments_of_pairs(colliders: Sequence[Collider], pairs: Indices, at_centroids: bool) -> Indices:
    """Which faces of pairs (P,) press with all moments, see ``face_points``.

    All do of rigid pairs, as bodies come to rest on their stiff skins by nothing less, and of two bodies with large
    triangles, such as boxes, whose patches need not be asked.
    """
    wanted = np.full(len(pairs), NO_FACES)
    if at_centroids:
        return wanted
    for row, (is_rigid, pair) in enumerate(zip(_are_rigid(colliders, pairs), pairs, strict=True)):
        # Only of compliant pairs: to look for flat sides of fine meshes takes time, and a robot has many rigid ones.
        is_coarse = is_rigid or all(colliders[side].geometry.has_coarse_flats for side in pair)
        wanted[row] = ALL_FACES if is_coarse else THOSE_OF_COARSE_PATCHES
    return wanted


def masses_in_impacts(tree: KinematicTree) -> Floats:
    """Mass (bodies,) with which each body comes into an impact, kg.

    One that moves as it is told is as heavy as the world. A link may have no mass itself, but what hangs at it.
    """
    mass = np.where(tree.prescribed[tree.v_index], math.inf, tree.mass)
    carried = tree.mass.copy()
    for body in reversed(range(len(mass))):
        if tree.parent[body] >= 0:
            carried[tree.parent[body]] += carried[body]
    return np.where(mass > 0.0, mass, carried)


def masses_of_pairs(colliders: Sequence[Collider], pairs: Indices, masses: ArrayLike) -> Floats:
    """Mass (P,) of the lighter body of each pair, kg; infinite if neither moves freely.

    Args:
        colliders: Geometries with their bodies.
        pairs: (P, 2) of them.
        masses: (bodies,) of ``masses_in_impacts``, kg.
    """
    mass = np.array([np.asarray(masses)[c.body] if c.body >= 0 else math.inf for c in colliders])
    return np.minimum(*_of_pairs(mass, pairs))


def rates_of_pairs(colliders: Sequence[Collider], pairs: Indices, masses: ArrayLike) -> Floats:
    """Steps a second (P,) that keep the energy of an overlap that was not foreseen small; 0 where no margin foresees.

    With the stiffness k of a flat contact the energy of an overlap d is at most ``k d^2 / 2``. A body of mass m that
    moves by d in a step dt comes with ``m (d / dt)^2 / 2``; the ratio is ``k dt^2 / m``, at any speed.

    Args:
        colliders: Geometries with their bodies.
        pairs: (P, 2) of them.
        masses: (bodies,) of ``masses_in_impacts``, kg.
    """
    lighter = masses_of_pairs(colliders, pairs, masses)
    share = np.zeros(len(pairs))
    np.divide(
        flats_of_pairs(colliders, pairs),
        lighter * UNFORESEEN_SHARE,
        out=share,
        where=(lighter > 0.0) & (strides_of_pairs(colliders, pairs).foreseen > 0.0),
    )
    return np.sqrt(share)


def _smallest_extent(geometry: Geometry) -> float:
    """Smallest extent of a geometry, m; of a surface that is not closed at least that for which its skin is made."""
    if geometry.is_half_space:
        return math.inf
    extents = np.ptp(geometry.body_points, axis=0)
    least = 0.0 if geometry.has_inside else LEAST_EXTENT * float(extents.max())
    return max(float(extents.min()), least)


def _largest_side(geometry: Geometry) -> float:
    """Largest side of a geometry's box, m^2."""
    if geometry.is_half_space:
        return math.inf
    _, middle, largest = np.sort(np.ptp(geometry.body_points, axis=0))
    return float(middle * largest)


def _are_rigid(colliders: Sequence[Collider], pairs: Indices) -> NDArray[np.bool_]:
    is_rigid = np.array([collider.geometry.is_rigid for collider in colliders], dtype=bool)
    return np.logical_and(*is_rigid[pairs].T)


def _of_pairs(values: Floats, pairs: Indices) -> tuple[Floats, Floats]:
    return values[pairs[:, 0]], values[pairs[:, 1]]


def linked_pairs(colliders: Sequence[Collider], pairs: Indices) -> tuple[list[str], Indices, Indices]:
    """Pairs of links of the pairs of colliders.

    Returns:
        Names of links; distinct pairs (K, 2) of indices of names in the order of first occurrence, the link of the
        lower collider first; and the number (K,) of pairs of colliders of each.
    """
    number: dict[str, int] = {}
    link = np.array([number.setdefault(collider.link, len(number)) for collider in colliders], dtype=np.int64)
    lower, higher = np.minimum(*pairs.T), np.maximum(*pairs.T)
    size = max(len(number), 1)
    codes, first, counts = np.unique(link[lower] * size + link[higher], return_index=True, return_counts=True)
    order = np.argsort(first)
    return list(number), np.column_stack(np.divmod(codes[order], size)), counts[order]
