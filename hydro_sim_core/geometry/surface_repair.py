"""Repairs of closed surfaces that come from files: each is named, what cannot be repaired is refused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.checks import float_rows, index_rows
from hydro_sim_core.geometry.distance import winding_numbers
from hydro_sim_core.geometry.simplices import (
    FloatArray,
    IntArray,
    longest_edges,
    signed_volumes,
    sorted_rows,
    triangle_areas,
)

#: Vertices nearer than this fraction of the body's extent are one.
MERGE_DISTANCE = 1e-8

#: A triangle whose area is below this fraction of its longest edge squared has no usable normal.
SLIVER = 1e-10

#: Holes are bridged up to this fraction of the surface's area.
LARGEST_HOLE = 0.02

#: A body that fills less than this fraction of its bounding cube encloses nothing.
SMALLEST_FILL = 1e-9


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface that bounds a solid up to small defects, and what was done to it.

    Attributes:
        vertices: (N, 3) positions, m.
        triangles: (M, 3) vertex indices, counter-clockwise seen from outside.
        repairs: What was repaired and what the mesher has to repair, one clause each.
    """

    vertices: FloatArray
    triangles: IntArray
    repairs: tuple[str, ...]

    @property
    def extent(self) -> float:
        """Length of the diagonal of the bounding box, m."""
        return float(np.linalg.norm(np.ptp(self.vertices, axis=0)))

    @property
    def area(self) -> float:
        """m^2."""
        return float(triangle_areas(self.vertices, self.triangles).sum())

    @property
    def volume(self) -> float:
        """Signed volume, m^3; parts that overlap count twice."""
        return float(signed_volumes(self.vertices, self.triangles).sum())

    @property
    def thickness(self) -> float:
        """Mean thickness of the body, m: that of the plate with the same volume and surface."""
        return 2.0 * self.volume / self.area


def repair_surface(source: str, vertices: ArrayLike, triangles: ArrayLike) -> Surface:
    """Merge, drop and turn what a closed surface needs to bound a solid.

    Duplicate vertices are merged; unused vertices and triangles that are repeated or have no area are dropped;
    triangles are turned so that neighbours agree and the solid lies within. Small holes, edges of more than two
    triangles and self-intersections are left to the mesher.

    Args:
        source: Named by errors.
        vertices: (N, 3) positions, m.
        triangles: (M, 3) vertex indices.

    Raises:
        InputError: An array has the wrong shape or type or is not finite, an index is out of range, no
            triangle has an area, the surface has a large hole, or it bounds no volume.
    """
    points = float_rows(source, "vertices", vertices, 3)
    corners = index_rows(source, "triangles", triangles, 3, len(points), distinct=False)
    repairs: list[str] = []
    points, corners = _merged(points, corners, repairs)
    corners = _without_slivers(source, points, corners, repairs)
    corners = _turned(points, corners, repairs)
    _note_edges(source, points, corners, repairs)
    surface = Surface(points, corners, tuple(repairs))
    if not surface.volume > SMALLEST_FILL * surface.extent**3:
        problem = f"bound no volume ({surface.volume:.3g} m^3)"
        raise InputError(source, "triangles", problem, "give the closed surface of a solid")
    return surface


def _merged(points: FloatArray, corners: IntArray, repairs: list[str]) -> tuple[FloatArray, IntArray]:
    used, flat = np.unique(corners, return_inverse=True)
    points, corners = points[used], flat.reshape(-1, 3)
    extent = np.linalg.norm(np.ptp(points, axis=0))
    pairs = scipy.spatial.cKDTree(points).query_pairs(MERGE_DISTANCE * extent, output_type="ndarray")
    links = scipy.sparse.coo_array((np.ones(len(pairs)), pairs.T), shape=(len(points),) * 2)
    count, group = scipy.sparse.csgraph.connected_components(links, directed=False)
    if count == len(points):
        return points, corners
    repairs.append(f"{len(points) - count} duplicate vertices merged")
    _, first = np.unique(group, return_index=True)
    return points[first], group.astype(np.int64)[corners]


def _without_slivers(source: str, points: FloatArray, corners: IntArray, repairs: list[str]) -> IntArray:
    flat = triangle_areas(points, corners) <= SLIVER * longest_edges(points, corners) ** 2
    if flat.any():
        repairs.append(f"{np.count_nonzero(flat)} triangles without area dropped")
        corners = corners[~flat]
    if len(corners) < 4:  # no fewer bound a solid
        problem = f"are {len(corners)} with an area"
        raise InputError(source, "triangles", problem, "give the closed surface of a solid")
    kept = _single(corners)
    if len(kept) < len(corners):
        repairs.append(f"{len(corners) - len(kept)} repeated triangles dropped")
    return corners[kept]


def _single(corners: IntArray) -> IntArray:
    """Rows to keep of triangles that occur several times: one, or none of a wall between two touching solids."""
    order, starts, counts = sorted_rows(corners)
    turned_evenly = (np.roll(corners, -1, axis=1) > corners).sum(
        axis=1
    ) == 2  # even permutations of a sorted row
    balance = np.add.reduceat(np.where(turned_evenly, 1, -1)[order], starts)
    walls = (counts == 2) & (balance == 0)
    if walls.all():
        walls[:] = False  # a solid that is given twice, once inside out
    return np.sort(order[starts[~walls]])


def _turned(points: FloatArray, corners: IntArray, repairs: list[str]) -> IntArray:
    """Turn triangles until neighbours agree, then parts that are inside out unless they bound a cavity."""
    part, flip = _agreeing_turns(corners)
    corners = np.where(flip[:, None], corners[:, ::-1], corners)
    # Of each part, the turn that most of its triangles had is kept.
    kept = np.bincount(part, np.where(flip, -1.0, 1.0)) >= 0.0
    corners = np.where(kept[part][:, None], corners, corners[:, ::-1])
    disagreed = np.count_nonzero(flip == kept[part])

    # The volume of a part tells where its inside is only if it is closed; one part with a small hole nearly is.
    volumes = np.bincount(part, signed_volumes(points, corners))
    judged = _closed_parts(corners, part) | (len(volumes) == 1)
    wrong = []
    for number in np.flatnonzero((volumes < 0.0) & judged):
        others = corners[(part != number) & (volumes[part] > 0.0)]
        probe = points[corners[part == number][:1, 0]]
        if not len(others) or winding_numbers(probe, points, others)[0] < 0.5:
            wrong.append(number)
    inside_out = np.isin(part, wrong)
    corners = np.where(inside_out[:, None], corners[:, ::-1], corners)
    if disagreed:
        repairs.append(f"{disagreed} triangles turned to agree with their neighbours")
    if wrong:
        repairs.append(f"{len(wrong)} parts of the surface that were inside out turned")
    return np.ascontiguousarray(corners)


def _closed_parts(corners: IntArray, part: IntArray) -> np.ndarray:
    """Mask of the parts in which every edge joins two triangles."""
    order, _, counts = sorted_rows(_edges(corners))
    closed = np.ones(part.max() + 1, dtype=bool)
    closed[part[order[np.repeat(counts != 2, counts)] // 3]] = False
    return closed


def _agreeing_turns(corners: IntArray) -> tuple[IntArray, np.ndarray]:
    """Connected part of every triangle, and which to turn so that each agrees with the first of its part."""
    edges = _edges(corners)
    order, starts, counts = sorted_rows(edges)
    starts = starts[counts == 2]
    first, second = order[starts], order[starts + 1]
    same_way = edges[first, 0] == edges[second, 0]  # neighbours that agree walk their edge opposite ways
    a, b = first // 3, second // 3
    size = (len(corners),) * 2
    links = scipy.sparse.csr_array(scipy.sparse.coo_array((np.ones(len(a)), (a, b)), shape=size))
    _, part = scipy.sparse.csgraph.connected_components(links, directed=False)
    contradiction = dict(zip(zip(a.tolist(), b.tolist(), strict=True), same_way.tolist(), strict=True))
    flip = np.zeros(len(corners), dtype=bool)
    _, seeds = np.unique(part, return_index=True)
    for seed in seeds:
        visited, before = scipy.sparse.csgraph.breadth_first_order(links, seed, directed=False)
        for triangle in visited[1:].tolist():
            parent = int(before[triangle])
            key = (parent, triangle) if (parent, triangle) in contradiction else (triangle, parent)
            flip[triangle] = flip[parent] ^ contradiction[key]
    return part.astype(np.int64), flip


def _note_edges(source: str, points: FloatArray, corners: IntArray, repairs: list[str]) -> None:
    edges = _edges(corners)
    order, starts, counts = sorted_rows(edges)
    crowded = np.count_nonzero(counts > 2)
    if crowded:
        repairs.append(f"{crowded} edges of more than two triangles resolved")
    rim = edges[order[starts[counts == 1]]]
    if not len(rim):
        return
    hole = _hole_area(points, rim) / float(triangle_areas(points, corners).sum())
    if hole > LARGEST_HOLE:
        a, b = rim[0]
        ends = f"{np.round(points[a], 6).tolist()} to {np.round(points[b], 6).tolist()}"
        problem = (
            f"have holes of {100.0 * hole:.0f} % of the surface ({len(rim)} open edges, one from {ends})"
        )
        raise InputError(source, "triangles", problem, "close the hole or declare_convex to take the hull")
    repairs.append(f"holes with {len(rim)} open edges bridged")


def _edges(corners: IntArray) -> IntArray:
    return corners[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)


def _hole_area(points: FloatArray, rim: IntArray) -> float:
    """Area of the flat shadows of the holes that a rim of open edges bounds, m^2."""
    links = scipy.sparse.coo_array((np.ones(len(rim)), rim.T), shape=(len(points),) * 2)
    _, part = scipy.sparse.csgraph.connected_components(links, directed=False)
    part = part[rim[:, 0]]
    origin = points[rim[:, 0]].mean(axis=0)
    cross = 0.5 * np.cross(points[rim[:, 0]] - origin, points[rim[:, 1]] - origin)
    total = np.zeros((part.max() + 1, 3))
    np.add.at(total, part, cross)
    return float(np.linalg.norm(total, axis=1).sum())
