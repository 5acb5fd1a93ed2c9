"""Oriented clouds of a wanted number of points: cells of equal size that no sharp edge crosses.

The surface is cut into fine samples, and these into regions between sharp edges. Beside the edges points are held in
mirrored pairs, see ``sharp_edges``. Lloyd's iterations divide the rest of every region into cells of about the same
size and shape (a centroidal Voronoi tessellation); each gives one plane with the mean position and normal of its cell.
Points therefore lie half a cell from the edges of the body, which the planes on their two sides share (Beker 2025,
section III-B1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.soft_distance.checks import checked_array, checked_indices
from hydro_sim_core.contact.soft_distance.cloud import FEWEST_POINTS, OrientedCloud
from hydro_sim_core.contact.soft_distance.sharp_edges import (
    SHARP_EDGE,
    Samples,
    SharpEdges,
    points_beside_edges,
)
from hydro_sim_core.errors import InputError, whole_number
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.held_interrupts import held_interrupts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Samples along the side of a cell; the most that cells have in the mean, if there are slivers; what few may have.
_SAMPLES_A_SIDE, _MOST_A_CELL, _FEW_SAMPLES = 5.0, 40, 5000
_MOST_POINTS = 20_000
#: Lloyd's iterations end when points move by less than this share of the side of a cell.
_MOST_ITERATIONS, _AT_REST = 60, 2e-3
#: Point queries that iterations may take: of many points fewer iterations, whose cells are less even.
_MOST_QUERIES = 2_000_000


def cloud_of_mesh(vertices: ArrayLike, triangles: ArrayLike, count: int) -> OrientedCloud:
    """Cover a closed surface with a cloud of ``count`` points of about equal areas.

    Args:
        vertices: (V, 3) m.
        triangles: (T, 3) vertex indices, counter-clockwise from outside.
        count: Number of points.

    Returns:
        The cloud, with areas, as NumPy arrays. Positions, normals and areas are means and sums over cells, so that the
        areas add up to that of the mesh.

    Raises:
        InputError: A triangle has a corner that is not there; the mesh is open, its triangles are not oriented alike,
            or it or a part of it that is no cavity is inside out; or there are fewer than 4 points, fewer than regions
            between sharp edges, or more than 20,000.
    """
    count = whole_number("OrientedCloud", "count", count, least=0)
    if not FEWEST_POINTS <= count <= _MOST_POINTS:
        mend = f"ask for {FEWEST_POINTS} to {_MOST_POINTS}"
        raise InputError("OrientedCloud", "count", f"is {count}", mend)
    corners, region, edges = _checked_surface(vertices, triangles)
    side = math.sqrt(float(_areas(corners).sum()) / count)
    samples = _samples(corners, region, side / _SAMPLES_A_SIDE, max(_MOST_A_CELL * count, _FEW_SAMPLES))
    held, is_free = points_beside_edges(edges, samples, count, side)
    counts = _shares(samples, is_free, held, count)
    parts = []
    for number, wanted in enumerate(counts.tolist()):
        rows = samples.regions == number
        own = Samples(samples.points[rows], samples.normals[rows], samples.areas[rows], samples.regions[rows])
        parts.append(_cells(own, is_free[rows], held.get(number, np.zeros((0, 3))), wanted, side))
    places, directions, areas = (np.concatenate(values) for values in zip(*parts, strict=True))
    return OrientedCloud(places, directions, areas)


def cloud_of_geometry(geometry: Geometry, count: int) -> OrientedCloud:
    """Cover a geometry with ``count`` points, in its frame G; a half space with the one plane that it is.

    Raises:
        InputError: The geometry has a margin, whose skirt lies off the true surface; or as for ``cloud_of_mesh``.
    """
    if geometry.is_half_space:
        return OrientedCloud.half_space()
    if geometry.margin > 0.0:
        problem = f"has a margin of {geometry.margin:g} m"
        raise InputError("OrientedCloud", "geometry", problem, "make it without a margin")
    return cloud_of_mesh(geometry.vertices, geometry.surface_triangles(), count)


def _checked_surface(vertices: ArrayLike, triangles: ArrayLike) -> tuple[Floats, Ints, SharpEdges]:
    """Corners (T, 3, 3), m, and regions (T,) of the triangles with an area of a closed, oriented mesh; its edges."""
    places, indices = _as_mesh(vertices, triangles)
    with held_interrupts():
        import trimesh  # takes a third of a second

    mesh = trimesh.Trimesh(places, indices)
    if not mesh.is_watertight:
        raise InputError("OrientedCloud", "mesh", "is open", "close its holes: a cloud bounds a solid")
    if not mesh.is_winding_consistent:
        problem = "has triangles that are not oriented alike"
        raise InputError(
            "OrientedCloud", "mesh", problem, "order their corners counter-clockwise from outside"
        )
    if not mesh.volume > 0.0:
        raise InputError("OrientedCloud", "mesh", "is inside out or flat", "turn its triangles over")
    label, count = trimesh.graph.connected_component_labels, len(mesh.faces)
    part = np.asarray(label(mesh.face_adjacency, node_count=count))
    _refuse_turned_parts(np.asarray(mesh.triangles, dtype=float), part)
    is_smooth = mesh.face_adjacency_angles < SHARP_EDGE
    region = np.asarray(label(mesh.face_adjacency[is_smooth], node_count=count))
    corners = np.asarray(mesh.triangles, dtype=float)
    has_area = _areas(corners) > 0.0
    _, region[has_area] = np.unique(region[has_area], return_inverse=True)
    is_edge = ~is_smooth & has_area[mesh.face_adjacency].all(axis=1)
    ends, beside = (np.asarray(pairs)[is_edge] for pairs in (mesh.face_adjacency_edges, mesh.face_adjacency))
    places = np.asarray(mesh.vertices, dtype=float)
    inward = _inward(places, ends, corners[beside])
    return corners[has_area], region[has_area], SharpEdges(places, ends, inward, region[beside])


def _inward(vertices: Floats, ends: Ints, corners: Floats) -> Floats:
    """Unit vectors (E, 2, 3) from edges (E, 2) into their two triangles (E, 2, 3, 3), across the edge."""
    start, way = vertices[ends[:, 0], None], np.diff(vertices[ends], axis=1)
    to_middle = corners.mean(axis=2) - start
    way = way / np.sqrt(np.square(way).sum(axis=2))[..., None]
    across = to_middle - (to_middle * way).sum(axis=2)[..., None] * way
    unit: Floats = across / np.sqrt(np.square(across).sum(axis=2))[..., None]
    return unit


def _as_mesh(vertices: ArrayLike, triangles: ArrayLike) -> tuple[Floats, Ints]:
    """Vertices (V, 3), m, and triangles (T, 3) of them, as arrays."""
    places = np.asarray(checked_array(vertices, "OrientedCloud", "vertices"), dtype=float)
    indices = np.asarray(checked_array(triangles, "OrientedCloud", "triangles"))
    if indices.size:
        if places.ndim != 2 or places.shape[1] != 3:
            raise InputError("OrientedCloud", "vertices", f"has shape {places.shape}", "give shape (V, 3)")
        if indices.ndim != 2 or indices.shape[1] != 3:
            raise InputError("OrientedCloud", "triangles", f"has shape {indices.shape}", "give shape (T, 3)")
        indices = checked_indices(indices, "OrientedCloud", "triangles", len(places))
    if indices.size == 0 or not np.isfinite(places).all():
        raise InputError("OrientedCloud", "mesh", "has no triangles or no finite vertices", "give a surface")
    return places, indices


def _refuse_turned_parts(corners: Floats, part: Ints) -> None:
    """Refuse parts of a closed mesh that are inside out and no cavities: there is no body behind their triangles.

    Args:
        corners: (T, 3, 3) m.
        part: (T,) connected part of each triangle.
    """
    size = np.bincount(part)
    middles = np.column_stack([np.bincount(part, x) for x in corners.mean(axis=1).T]) / size[:, None]
    a, b, c = np.moveaxis(corners - middles[part, None, :], 1, 0)
    volumes = np.bincount(part, (a * np.cross(b, c)).sum(axis=1))
    for number in np.flatnonzero(volumes < 0.0).tolist():
        own = part == number
        largest = np.flatnonzero(own)[np.argmax(_areas(corners[own]))]
        # On the triangle itself all others wind about the middle of what they do before and behind it: 1/2 of a body,
        # and -1/2 if it is outside behind.
        if _winding(np.delete(corners, largest, axis=0), corners[largest].mean(axis=0)) < 0.0:
            place = ", ".join(f"{x:.3g}" for x in middles[number].round(9) + 0.0)
            problem = f"is inside out in a part about ({place}) m that is no cavity of another one"
            raise InputError("OrientedCloud", "mesh", problem, "turn the triangles of that part over")


def _winding(corners: Floats, point: Floats) -> float:
    """How often triangles (T, 3, 3) wind about a point: the sum of their solid angles over 4 pi."""
    a, b, c = np.moveaxis(corners - point, 1, 0)
    la, lb, lc = (np.sqrt(np.square(x).sum(axis=1)) for x in (a, b, c))
    volume = (a * np.cross(b, c)).sum(axis=1)
    ab, bc, ca = ((x * y).sum(axis=1) for x, y in ((a, b), (b, c), (c, a)))
    # Van Oosterom and Strackee's formula of half the solid angle.
    half = np.arctan2(volume, la * lb * lc + ab * lc + bc * la + ca * lb)
    return float(half.sum()) / (2.0 * math.pi)


def _area_vectors(corners: Floats) -> Floats:
    return 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])


def _areas(corners: Floats) -> Floats:
    lengths: Floats = np.sqrt(np.square(_area_vectors(corners)).sum(axis=1))
    return lengths


def _normals(corners: Floats) -> Floats:
    return _area_vectors(corners) / _areas(corners)[:, None]


def _squared_edges(corners: Floats) -> Floats:
    """Squared lengths (T, 3) of the edges from each corner to the next, m^2."""
    return np.asarray(np.square(np.roll(corners, -1, axis=1) - corners).sum(axis=2))


def _bisected(corners: Floats, region: Ints, longest: float, most: int) -> tuple[Floats, Ints]:
    """Triangles (T, 3, 3), slender ones cut across until they are no longer than ``longest`` (m) or there are ``most``.

    Pieces of slender triangles would be as slender, and a cell might have none.
    """
    while len(corners) < most:
        squares = _squared_edges(corners)
        is_slender = _areas(corners) < 0.2 * squares.max(axis=1)
        if not (is_cut := is_slender & (squares.max(axis=1) > longest * longest)).any():
            break
        first = squares[is_cut].argmax(axis=1)
        rows = np.arange(len(first))
        a, b, c = (corners[is_cut][rows, (first + k) % 3] for k in range(3))
        middle = 0.5 * (a + b)
        halves = [np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)]
        corners = np.concatenate([corners[~is_cut], *halves])
        region = np.concatenate([region[~is_cut], region[is_cut], region[is_cut]])
    return corners, region


def _samples(corners: Floats, region: Ints, spacing: float, most: int) -> Samples:
    """Small triangles about ``spacing`` (m) wide of those with these corners (T, 3, 3) and regions (T,).

    If that makes more than ``most``, they are as much wider as it takes.
    """
    corners, region = _bisected(corners, region, _SAMPLES_A_SIDE * spacing, most)
    edges = np.sqrt(_squared_edges(corners).max(axis=1))
    pieces = np.maximum(np.ceil(edges / spacing), 1.0)
    if (total := float(np.square(pieces).sum())) > most:
        pieces = np.maximum(np.round(pieces * math.sqrt(most / total)), 1.0)
    points, areas, of_triangle = [], [], []
    size, normals = _areas(corners), _normals(corners)
    for n in np.unique(pieces.astype(int)).tolist():
        rows = np.flatnonzero(pieces == n)
        # Centroids of the n^2 small triangles of a barycentric grid: those that point up, and those between them.
        i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
        up, down = i + j < n, i + j < n - 1
        u = np.concatenate([i[up] + 1.0 / 3.0, i[down] + 2.0 / 3.0]) / n
        v = np.concatenate([j[up] + 1.0 / 3.0, j[down] + 2.0 / 3.0]) / n
        a, b, c = (corners[rows, k, None, :] for k in range(3))
        points.append((a + u[:, None] * (b - a) + v[:, None] * (c - a)).reshape(-1, 3))
        areas.append(np.repeat(size[rows] / (n * n), n * n))
        of_triangle.append(np.repeat(rows, n * n))
    number = np.concatenate(of_triangle)
    return Samples(np.concatenate(points), normals[number], np.concatenate(areas), region[number])


def _shares(samples: Samples, is_free: NDArray[np.bool_], held: Mapping[int, Floats], count: int) -> Ints:
    """Number of points of every region: at least one and those held; the rest, where there is room, by area."""
    areas = np.asarray(np.bincount(samples.regions, weights=samples.areas), dtype=float)
    if len(areas) > count:
        problem = f"is {count} for a surface of {len(areas)} regions between sharp edges"
        raise InputError("OrientedCloud", "count", problem, f"ask for {len(areas)} points or more")
    shares = np.array([max(1, len(held.get(number, ()))) for number in range(len(areas))])
    has_room = np.bincount(samples.regions, weights=is_free) > 0.0
    areas = np.where(has_room, areas, 0.0) if has_room.any() else areas
    for _ in range(count - int(shares.sum())):
        shares[np.argmax(areas / (shares + 0.5))] += 1
    return shares


def _cells(
    samples: Samples, is_free: NDArray[np.bool_], held: Floats, count: int, side: float
) -> tuple[Floats, Floats, Floats]:
    """Positions (count, 3), unit normals and areas (count,) of the cells of a region, by Lloyd's iterations.

    Cells are near in normal as well as in place, so that none joins the two sides of something thin. The first are
    about the places ``held`` (H, 3), which stay there; the others begin at samples that are free for them.
    """
    features = np.hstack([samples.points, side * samples.normals])
    if count >= len(features):
        # Fewer samples than cells, which only crowded corners of a mesh have: each is its own.
        return _means(samples, np.arange(len(features)))
    fixed = np.zeros((0, 6))
    if len(held):
        nearest = scipy.spatial.cKDTree(samples.points).query(held)[1]
        fixed = np.hstack([held, side * samples.normals[nearest]])
    free = features[is_free] if is_free.sum() >= count - len(fixed) else features
    centres = np.concatenate([fixed, free[_spread(free, fixed, count - len(fixed))]])
    for _ in range(min(_MOST_ITERATIONS, _MOST_QUERIES // len(features) + 5)):
        _, cell = scipy.spatial.cKDTree(centres).query(features)
        before = centres
        weight = np.bincount(cell, samples.areas, minlength=count)
        filled = weight > 0.0
        sums = [np.bincount(cell, samples.areas * column, minlength=count) for column in features.T]
        centres = np.column_stack(sums) / np.where(filled, weight, 1.0)[:, None]
        centres = np.where(filled[:, None], centres, before)
        centres[: len(fixed)] = fixed
        if np.abs(centres - before).max() < _AT_REST * side:
            break
    _, cell = scipy.spatial.cKDTree(centres).query(features)
    places, normals, areas = _means(samples, cell)
    numbers = np.unique(cell)
    places[: np.searchsorted(numbers, len(held))] = held[numbers[numbers < len(held)]]
    return places, normals, areas


def _spread(features: Floats, fixed: Floats, count: int) -> Ints:
    """Indices of samples that are far from each other: each next one is the farthest from all before and ``fixed``."""
    # Of many points a random choice is as good a start for Lloyd's iterations, and does not take squared time.
    if count * len(features) > 20_000_000:
        return np.random.default_rng(0).choice(len(features), count, replace=False)
    if len(fixed):
        nearest = np.square(scipy.spatial.cKDTree(fixed).query(features)[0])
    else:
        # The first is in the middle.
        nearest = -np.square(features - features.mean(axis=0)).sum(axis=1)
    chosen = np.zeros(count, dtype=np.int64)
    for k in range(count):
        chosen[k] = np.argmax(nearest)
        apart = np.square(features - features[chosen[k]]).sum(axis=1)
        nearest = np.minimum(nearest, apart) if k or len(fixed) else apart
    return chosen


def _means(samples: Samples, cell: Ints) -> tuple[Floats, Floats, Floats]:
    """Mean position, mean unit normal and area of every cell that has samples."""
    _, cell = np.unique(cell, return_inverse=True)
    area, total = samples.areas, np.asarray(np.bincount(cell, samples.areas), dtype=float)
    place = np.column_stack([np.bincount(cell, area * x) for x in samples.points.T]) / total[:, None]
    normal = np.column_stack([np.bincount(cell, area * x) for x in samples.normals.T])
    return place, normal / np.sqrt(np.square(normal).sum(axis=1))[:, None], total
