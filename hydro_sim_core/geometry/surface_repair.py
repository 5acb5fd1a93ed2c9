"""Repairs of closed surfaces from files; each repair is reported, and surfaces beyond repair are refused."""

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

#: Distance, relative to the body's extent, below which vertices are merged.
MERGE_DISTANCE = 1e-8

#: Ratio of area to the square of the longest edge, below which a triangle has no usable normal.
SLIVER = 1e-10

#: Largest area of holes that are bridged, relative to the surface's area.
LARGEST_HOLE = 0.02

#: Ratio of volume to that of the bounding cube, below which a body counts as empty.
SMALLEST_FILL = 1e-9


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface that bounds a solid up to small defects, and its repairs.

    Attributes:
        vertices: (N, 3) positions, m.
        triangles: (M, 3) vertex indices, counter-clockwise seen from outside.
        repairs: Repairs made, and repairs left to the mesher, one clause each.
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
        """Area of the surface, m^2."""
        return float(triangle_areas(self.vertices, self.triangles).sum())

    @property
    def volume(self) -> float:
        """Signed volume, m^3; overlapping parts count twice."""
        return float(signed_volumes(self.vertices, self.triangles).sum())

    @property
    def thickness(self) -> float:
        """Mean thickness of the body, m: that of the plate with the same volume and surface."""
        return 2.0 * self.volume / self.area


def repair_surface(source: str, vertices: ArrayLike, triangles: ArrayLike) -> Surface:
    """Merge vertices, and drop and reorient triangles, so that a closed surface bounds a solid.

    Duplicate vertices are merged; unused vertices, repeated triangles and triangles without area are dropped; triangles
    are oriented consistently and outwards. Small holes, edges of more than two triangles and self-intersections are
    left to the mesher.

    Args:
        source: Name used in error messages.
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
    if len(corners) < 4:  # a closed surface has at least four
        problem = f"are {len(corners)} with an area"
        raise InputError(source, "triangles", problem, "give the closed surface of a solid")
    kept = _single(corners)
    if len(kept) < len(corners):
        repairs.append(f"{len(corners) - len(kept)} repeated triangles dropped")
    return corners[kept]


def _single(corners: IntArray) -> IntArray:
    """Rows to keep of triangles that occur several times: one, or none for a common face of two touching solids."""
    order, starts, counts = sorted_rows(corners)
    turned_evenly = (np.roll(corners, -1, axis=1) > corners).sum(
        axis=1
    ) == 2  # even permutations of a sorted row
    balance = np.add.reduceat(np.where(turned_evenly, 1, -1)[order], starts)
    internal = (counts == 2) & (balance == 0)
    if internal.all():
        internal[:] = False  # a solid that is given twice, with both orientations
    return np.sort(order[starts[~internal]])


def _turned(points: FloatArray, corners: IntArray, repairs: list[str]) -> IntArray:
    """Orient triangles consistently, then reverse parts that are inside out unless they bound a cavity."""
    part, flip = _agreeing_turns(corners)
    corners = np.where(flip[:, None], corners[:, ::-1], corners)
    # Each part keeps the orientation of the majority of its triangles.
    kept = np.bincount(part, np.where(flip, -1.0, 1.0)) >= 0.0
    corners = np.where(kept[part][:, None], corners, corners[:, ::-1])
    disagreed = np.count_nonzero(flip == kept[part])

    # The sign of the volume shows the orientation of closed parts only; a single part with a small hole is nearly
    # closed.
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
    """Connected part of every triangle, and mask of those to reverse for consistency with the first of the part."""
    edges = _edges(corners)
    order, starts, counts = sorted_rows(edges)
    starts = starts[counts == 2]
    first, second = order[starts], order[starts + 1]
    # Neighbours with consistent orientation traverse their common edge in opposite directions.
    same_way = edges[first, 0] == edges[second, 0]
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
    """Area of the projections of the holes bounded by a rim of open edges, m^2."""
    links = scipy.sparse.coo_array((np.ones(len(rim)), rim.T), shape=(len(points),) * 2)
    _, part = scipy.sparse.csgraph.connected_components(links, directed=False)
    part = part[rim[:, 0]]
    origin = points[rim[:, 0]].mean(axis=0)
    cross = 0.5 * np.cross(points[rim[:, 0]] - origin, points[rim[:, 1]] - origin)
    total = np.zeros((part.max() + 1, 3))
    np.add.at(total, part, cross)
    return float(np.linalg.norm(total, axis=1).sum())
