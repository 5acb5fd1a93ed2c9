"""Where points of a cloud lie beside sharp edges: in pairs, each the mirror image of the other in its face.

Near a sharp edge the nearest plane decides on which side of a surface a place is. A place above one face is behind the
plane of the other: were a point of the other face nearer, the soft distance would be negative outside the body. Of two
points that lie across from each other, as far from the edge, the one on the place's own side is always the nearer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Two triangles meet at a sharp edge if their normals differ by more than this, rad; round meshes turn by less. An edge
#: that turns by more has a corner there.
SHARP_EDGE = math.radians(40.0)
#: Points of a face nearer than this share of the spacing become one: at corners, and on what is narrow.
_NEAR = 0.5
#: What lies within this cosine of the way inward from an edge is ahead of it.
_AHEAD = 0.8
#: Nearer to an edge than this share of the spacing no other point is begun.
_KEPT_FREE = 0.6
#: More points than this times those wanted are not tried, and spacings that grow by so much each time up to the last.
_HOPELESS, _GROWTH, _WIDEST = 4, 1.03, 3.0
#: A closed edge has so many points, at least.
_FEWEST_AROUND = 3


@dataclass(frozen=True)
class SharpEdges:
    """Sharp edges of a mesh.

    Attributes:
        vertices: (V, 3) m.
        ends: (E, 2) vertices at the ends of each edge.
        inward: (E, 2, 3) unit vectors from the edge into the two triangles that meet in it, across the edge.
        regions: (E, 2) numbers of the regions that the two triangles are in: what lies between sharp edges.
    """

    vertices: Floats
    ends: Ints
    inward: Floats
    regions: Ints


@dataclass(frozen=True)
class Samples:
    """Small pieces of a surface.

    Attributes:
        points: (K, 3) m.
        normals: (K, 3) unit normals.
        areas: (K,) m^2.
        regions: (K,) numbers of the regions that they are in.
    """

    points: Floats
    normals: Floats
    areas: Floats
    regions: Ints


def points_beside_edges(
    edges: SharpEdges, samples: Samples, count: int, side: float
) -> tuple[dict[int, Floats], NDArray[np.bool_]]:
    """Mirrored points beside all sharp edges, by region, (P, 3) each, m.

    They lie half a spacing from their edge, or half as far as the face is wide, and a spacing from each other.

    Args:
        edges: The sharp edges.
        samples: The surface.
        count: The most points that there may be, with one for every region that has no sharp edge.
        side: Least spacing, m; it is widened until there are not too many.

    Returns:
        The points, none if there are too many at any spacing that would do; and which samples (K,) are so far from all
        edges of their region that other points may lie there.
    """
    num_regions = int(samples.regions.max()) + 1
    chains = list(_chains(edges)) if len(edges.ends) else []
    spacing = side
    while chains and spacing <= _WIDEST * side:
        row, places = _places(edges, chains, spacing)
        if len(row) <= _HOPELESS * count:
            points = _mirrored(edges, samples, row, places, spacing)
            if sum(len(p) for p in points.values()) + num_regions - len(points) <= count:
                return points, _away_from(edges, samples, _KEPT_FREE * spacing)
        spacing *= _GROWTH
    return {}, np.ones(len(samples.points), dtype=bool)


def _away_from(edges: SharpEdges, samples: Samples, distance: float) -> NDArray[np.bool_]:
    """Which samples (K,) are farther than this, m, from the edges of their regions."""
    start, way = edges.vertices[edges.ends[:, 0]], np.diff(edges.vertices[edges.ends], axis=1)[:, 0]
    parts = np.ceil(np.sqrt(np.square(way).sum(axis=1)) / (0.2 * distance)).astype(int)
    row = np.repeat(np.arange(len(parts)), parts)
    share = (np.arange(len(row)) - np.repeat(np.cumsum(parts) - parts, parts) + 0.5) / parts[row]
    places = start[row] + share[:, None] * way[row]
    is_away = np.ones(len(samples.points), dtype=bool)
    for region in np.unique(edges.regions).tolist():
        own = np.flatnonzero(samples.regions == region)
        of_region = places[(edges.regions[row] == region).any(axis=1)]
        is_away[own] = scipy.spatial.cKDTree(of_region).query(samples.points[own])[0] > distance
    return is_away


def _chains(edges: SharpEdges) -> Iterator[tuple[list[int], list[int]]]:
    """Runs of edges from corner to corner or around: the edges of each, and the vertices that it comes by."""
    at: dict[int, list[int]] = {}
    for number, pair in enumerate(edges.ends.tolist()):
        for vertex in pair:
            at.setdefault(vertex, []).append(number)
    corners = {vertex for vertex, own in at.items() if _is_corner(edges, vertex, own)}
    is_free = np.ones(len(edges.ends), dtype=bool)
    # Those that end at corners first; the rest are closed.
    starts = [(v, number) for v in sorted(corners) for number in at[v]]
    starts += [(int(edges.ends[number, 0]), number) for number in range(len(edges.ends))]
    for vertex, first in starts:
        if not is_free[first]:
            continue
        run, along, number = [first], [vertex], first
        while True:
            is_free[number] = False
            a, b = edges.ends[number].tolist()
            along.append(b if along[-1] == a else a)
            onward = [] if along[-1] in corners else [k for k in at[along[-1]] if is_free[k]]
            if not onward:
                break
            number = onward[0]
            run.append(number)
        yield run, along


def _is_corner(edges: SharpEdges, vertex: int, own: list[int]) -> bool:
    if len(own) != 2:
        return True
    ways = edges.vertices[edges.ends[own].sum(axis=1) - vertex] - edges.vertices[vertex]
    ways /= np.sqrt(np.square(ways).sum(axis=1))[:, None]
    return bool(ways[0] @ ways[1] > -math.cos(SHARP_EDGE))


def _places(
    edges: SharpEdges, chains: list[tuple[list[int], list[int]]], spacing: float
) -> tuple[Ints, Floats]:
    """Places (K, 3) along all chains, in the middles of equal parts of about ``spacing``, and the edge (K,) of each."""
    rows, places = [], []
    for run, along in chains:
        corners = edges.vertices[along]
        length = np.concatenate([[0.0], np.cumsum(np.sqrt(np.square(np.diff(corners, axis=0)).sum(axis=1)))])
        fewest = _FEWEST_AROUND if along[0] == along[-1] else 1
        parts = max(fewest, round(length[-1] / spacing))
        there = (np.arange(parts) + 0.5) / parts * length[-1]
        rows.append(np.array(run)[np.searchsorted(length[1:-1], there)])
        places.append(np.column_stack([np.interp(there, length, x) for x in corners.T]))
    return np.concatenate(rows), np.concatenate(places)


def _mirrored(
    edges: SharpEdges, samples: Samples, row: Ints, places: Floats, spacing: float
) -> dict[int, Floats]:
    """Points of both faces beside places (K, 3) of edges (K,), by region; those too near each other are one."""
    regions, inward = edges.regions[row], edges.inward[row]
    depth = np.full(len(row), 0.5 * spacing)
    for region in np.unique(regions).tolist():
        k, s = np.nonzero(regions == region)
        apart = places[None, k] - places[k, None]
        distance = np.sqrt(np.square(apart).sum(axis=2))
        ahead = (apart * inward[k, s][:, None]).sum(axis=2) > np.maximum(_AHEAD * distance, 1e-9 * spacing)
        np.minimum.at(depth, k, 0.5 * np.where(ahead, distance, np.inf).min(axis=1))
    points = {}
    for region in np.unique(regions).tolist():
        k, s = np.nonzero(regions == region)
        own = np.flatnonzero(samples.regions == region)
        beside = places[k] + depth[k, None] * inward[k, s]
        # Onto the surface, which may bend away from the edge.
        nearest = own[scipy.spatial.cKDTree(samples.points[own]).query(beside)[1]]
        normal = samples.normals[nearest]
        beside -= ((beside - samples.points[nearest]) * normal).sum(axis=1)[:, None] * normal
        points[region] = _merged(beside, _NEAR * spacing)
    return points


def _merged(points: Floats, near: float) -> Floats:
    """Points (P, 3) with the middle of each group of near ones in place of the group."""
    if len(points) < 2:
        return points
    hierarchy = scipy.cluster.hierarchy
    group = hierarchy.fcluster(hierarchy.linkage(points, "average"), near, "distance") - 1
    size = np.bincount(group)
    return np.column_stack([np.bincount(group, x) for x in points.T]) / size[:, None]
