"""All geometries of a scene in one struct of arrays, the input of the compiled query."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import (
    ConstBool1D,
    ConstFloat1D,
    ConstFloat2D,
    ConstFloat3D,
    ConstInt1D,
    ConstInt2D,
)
from hydro_sim_core.geometry import Geometry, GeometryKind
from hydro_sim_core.geometry.adjacency import NO_TREE, Adjacency
from hydro_sim_core.geometry.simplices import coordinate_functions
from hydro_sim_core.geometry.wide_tree import widened

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class GeometrySet(NamedTuple):
    """Concatenated geometries. Indices are global; arrays of offsets have G + 1 entries.

    Attributes:
        kind: (G,) ``GeometryKind``.
        node_start: (G + 1,) first tree node of each geometry.
        vertex_start: (G + 1,) first vertex of each geometry.
        vertices: (V, 3) m, geometry frame.
        pressure: (V,) Pa.
        elements: (M, 4) vertices of tetrahedra; triangles have -1 last.
        fields: (M, 4) pressure field ``g . x + c`` of each tetrahedron: (g, c), Pa/m and Pa. A compliant half space has
            its field in a row of its own; rows of triangles hold their unit normal in place of g.
        field_start: (G + 1,) first element of each geometry.
        steepness: (M,) length of each field's gradient, Pa/m.
        field_end: (M,) one past the last of the elements from this one on that have the same field, as all of one side
            of a box have.
        field_range: (M, 2) least and largest pressure in these elements, Pa.
        coordinates: (M, 4, 4) column k of a tetrahedron: barycentric coordinate k at x is ``col[:3] . x + col[3]``.
        records: (M, 16) what the polygons of an element in lanes need (``pressure_field.lanes``): its centroid, m, the
            pressure there, Pa, the field's gradient, Pa/m, or a triangle's normal, and the gradients of its first three
            barycentric coordinates, 1/m.
        neighbors: (M, 4) element behind the face (edge) opposite each vertex; -1 where there is none.
        sign: (M,) sign of the pressure in each element where it has one (see ``geometry.adjacency``).
        zero_face: (M,) face with pressure zero of each tetrahedron; -1 without.
        boxes: (K, 6) bounds of the nodes of the tree over all elements, centre then half lengths.
        links: (K, 2) children of the nodes; (-1, element) for leaves.
        shell_start: (G,) root of each geometry's shell tree (see ``geometry.adjacency``).
        rim_start: (G,) root of each geometry's rim tree; that of the shell tree where they are the same.
        rim_pressure: (G, 2) least and largest pressure on the boundary, Pa; -inf for rigid geometries, whose surface
            ends no contact surface.
        shell_boxes: (S, 6) bounds of the nodes of both.
        shell_links: (S, 2) children of the nodes, or (-1, element).
        wide_shell: (G,) node above the root of each geometry's shell tree with eight children a node; -1 without.
        wide_rim: (G,) the same of the rim tree; that of the shell tree where they are the same.
        wide_boxes: (W, 48) bounds of the children of the nodes of both (see ``geometry.wide_tree``).
        wide_links: (W, 8) nodes of their own children, or ``-1 - element``; 0 where there is no child.
        grain: (G,) mean edge of the boxes of each shell's elements, m; 0 without.
        peak_start: (G + 1,) first peak of each geometry.
        peak_elements: (P, 6) element at each peak into which each of the ``RAYS`` goes.
        peaks: (P, 3) position, m.
        anchor_start: (G + 1,) first anchor of each geometry.
        anchors: (C, 3) a point in each connected component, m.
        is_closed: (G,) whether a rigid surface has an inside.
        boundary_is_low: (G,) whether the shell contains the boundary curves of every contact surface.
        has_valley: (G,) whether the pressure has a local minimum inside.
        has_chords: (G,) whether a face inside has pressure zero, so that surfaces may end or fold there.
        margin: (G,) m.
        is_skin: (G,) whether the pressure is that of a rigid body's skin.
    """

    kind: ConstInt1D
    node_start: ConstInt1D
    vertex_start: ConstInt1D
    vertices: ConstFloat2D
    pressure: ConstFloat1D
    elements: ConstInt2D
    fields: ConstFloat2D
    field_start: ConstInt1D
    steepness: ConstFloat1D
    field_end: ConstInt1D
    field_range: ConstFloat2D
    coordinates: ConstFloat3D
    records: ConstFloat2D
    neighbors: ConstInt2D
    sign: ConstInt1D
    zero_face: ConstInt1D
    boxes: ConstFloat2D
    links: ConstInt2D
    shell_start: ConstInt1D
    rim_start: ConstInt1D
    rim_pressure: ConstFloat2D
    shell_boxes: ConstFloat2D
    shell_links: ConstInt2D
    wide_shell: ConstInt1D
    wide_rim: ConstInt1D
    wide_boxes: ConstFloat2D
    wide_links: ConstInt2D
    grain: ConstFloat1D
    peak_start: ConstInt1D
    peak_elements: ConstInt2D
    peaks: ConstFloat2D
    anchor_start: ConstInt1D
    anchors: ConstFloat2D
    is_closed: ConstBool1D
    boundary_is_low: ConstBool1D
    has_valley: ConstBool1D
    has_chords: ConstBool1D
    margin: ConstFloat1D
    is_skin: ConstBool1D


#: Numbers in an element's record: two lines of the cache.
RECORD = 16
#: Relative difference of fields below which they are the same.
_SAME_FIELD = 1e-12


def make_geometry_set(geometries: Sequence[Geometry]) -> GeometrySet:
    """Concatenate geometries; geometry i of the set is ``geometries[i]``."""
    adjacency = [_of_half_space(g) if g.is_half_space else g.adjacency for g in geometries]
    # A half space has no element but keeps one row for its field.
    rows = [max(len(g.elements), 1) for g in geometries]
    field_start = _starts(rows)
    vertex_start = _starts([len(g.vertices) for g in geometries])
    node_start = _starts([len(g.tree_boxes) for g in geometries])
    fields = _joined([_fields(g, count) for g, count in zip(geometries, rows, strict=True)], 4)
    peak_elements = [a.peak_elements + first for a, first in zip(adjacency, field_start, strict=False)]
    field_end, field_range = _runs_of_fields(geometries, rows)
    arrays = GeometrySet(
        kind=np.array([int(g.kind) for g in geometries], dtype=np.int64),
        node_start=node_start,
        vertex_start=vertex_start,
        vertices=_joined([g.vertices for g in geometries], 3),
        pressure=_joined([g.pressure for g in geometries]),
        elements=_padded([g.elements for g in geometries], rows, vertex_start),
        fields=fields,
        field_start=field_start,
        steepness=np.linalg.norm(fields[:, :3], axis=1),
        field_end=field_end,
        field_range=field_range,
        coordinates=_joined([_coordinates(g, n) for g, n in zip(geometries, rows, strict=True)], 4, 4),
        records=_joined([_records(g, n) for g, n in zip(geometries, rows, strict=True)], RECORD),
        neighbors=_padded([a.neighbors for a in adjacency], rows, field_start),
        sign=_joined([a.sign for a in adjacency], dtype=np.int64),
        zero_face=_joined([a.zero_face for a in adjacency], dtype=np.int64),
        boxes=_centred([g.tree_boxes for g in geometries]),
        links=_shifted_links([g.tree_links for g in geometries], node_start, field_start),
        rim_pressure=np.array([a.rim_pressure for a in adjacency]).reshape(-1, 2),
        **_trees_of_shells(adjacency, field_start),
        grain=np.array([_grain(a) for a in adjacency], dtype=np.float64),
        peak_start=_starts([len(a.peaks) for a in adjacency]),
        peak_elements=_joined(peak_elements, 6, dtype=np.int64),
        peaks=_joined([a.peaks for a in adjacency], 3),
        anchor_start=_starts([len(a.anchors) for a in adjacency]),
        anchors=_joined([a.anchors for a in adjacency], 3),
        is_closed=_flags(a.is_closed for a in adjacency),
        boundary_is_low=_flags(a.boundary_is_low for a in adjacency),
        has_valley=_flags(a.has_valley for a in adjacency),
        has_chords=_flags(a.has_chords for a in adjacency),
        margin=np.array([g.margin for g in geometries], dtype=np.float64),
        is_skin=_flags(g.is_skin for g in geometries),
    )
    for array in arrays:
        array.setflags(write=False)
    return arrays


def _trees_of_shells(adjacency: Sequence[Adjacency], field_start: IntArray) -> dict[str, NDArray]:
    """Shell and rim trees of a set, in both forms.

    They stand in the same arrays, so that a node's number tells it from all others.
    """
    boxes = [one for a in adjacency for one in (a.shell_boxes, a.rim_boxes)]
    links = [one for a in adjacency for one in (a.shell_links, a.rim_links)]
    start = _starts([len(one) for one in boxes])
    has_rim = np.array([len(a.rim_boxes) > 0 for a in adjacency], dtype=np.bool_)
    shell_boxes = _centred(boxes)
    shell_links = _shifted_links(links, start, np.repeat(field_start[:-1], 2))
    has_tree = np.diff(start) > 0
    wide = widened(shell_boxes, shell_links, start[:-1][has_tree])
    wide_roots = np.full(len(has_tree), -1)
    wide_roots[has_tree] = wide.roots
    return {
        "shell_start": start[:-1:2].copy(),
        "rim_start": np.where(has_rim, start[1::2], start[:-1:2]),
        "shell_boxes": shell_boxes,
        "shell_links": shell_links,
        "wide_shell": wide_roots[::2].copy(),
        "wide_rim": np.where(has_rim, wide_roots[1::2], wide_roots[::2]),
        "wide_boxes": wide.boxes,
        "wide_links": wide.links,
    }


def _of_half_space(geometry: Geometry) -> Adjacency:
    """Adjacency of a half space: nothing but a row of the arrays of elements, and the pressure at its top."""
    is_compliant = geometry.kind == GeometryKind.COMPLIANT_HALF_SPACE
    top = float(geometry.fields[0] @ [0.0, 0.0, geometry.margin, 1.0]) if is_compliant else -math.inf
    return _EMPTY._replace(rim_pressure=(top, top))


def _grain(adjacency: Adjacency) -> float:
    """Mean edge of the boxes of a shell's elements, m; 0 without."""
    boxes = adjacency.shell_boxes[adjacency.shell_links[:, 0] < 0]
    return float((boxes[:, 3:] - boxes[:, :3]).mean()) if len(boxes) else 0.0


#: Adjacency without anything.
_EMPTY = Adjacency(
    neighbors=np.zeros((0, 4), dtype=np.int64),
    shell_boxes=np.zeros((0, 6)),
    shell_links=np.zeros((0, 2), dtype=np.int64),
    rim_boxes=NO_TREE.boxes,
    rim_links=NO_TREE.links,
    rim_pressure=(-math.inf, -math.inf),
    sign=np.zeros(1, dtype=np.int64),
    zero_face=np.full(1, -1),
    peak_elements=np.zeros((0, 6), dtype=np.int64),
    peaks=np.zeros((0, 3)),
    anchors=np.zeros((0, 3)),
    boundary_is_low=True,
    has_valley=False,
    has_chords=False,
    is_closed=False,
)


def _runs_of_fields(geometries: Sequence[Geometry], rows: Sequence[int]) -> tuple[IntArray, FloatArray]:
    """``field_end`` and ``field_range`` of a set; elements without tetrahedra stand alone, with any pressure."""
    ends, ranges, first = [], [], 0
    for geometry, count in zip(geometries, rows, strict=True):
        end, pressures = np.arange(1, count + 1), np.full((count, 2), [-math.inf, math.inf])
        if geometry.kind == GeometryKind.COMPLIANT_MESH:
            fields = geometry.fields
            differs = (
                np.abs(np.diff(fields, axis=0)) > _SAME_FIELD * np.abs(fields[1:]).max(axis=1, keepdims=True)
            ).any(axis=1)
            begins = np.flatnonzero(np.concatenate([[True], differs]))
            run = np.cumsum(np.concatenate([[0], differs]))
            of_elements = geometry.pressure[geometry.elements]
            end = np.append(begins[1:], count)[run]
            least = np.minimum.reduceat(of_elements.min(axis=1), begins)
            largest = np.maximum.reduceat(of_elements.max(axis=1), begins)
            pressures = np.column_stack([least, largest])[run]
        ends.append(end + first)
        ranges.append(pressures)
        first += count
    return np.concatenate([*ends, np.zeros(0, dtype=np.int64)]).astype(np.int64), _joined(ranges, 2)


def _flags(values: Iterable[bool]) -> NDArray[np.bool_]:
    return np.array(list(values), dtype=np.bool_)


def _starts(counts: Sequence[int]) -> IntArray:
    return np.cumsum([0, *counts], dtype=np.int64)


def _joined(arrays: Sequence[NDArray], *shape: int, dtype: type = np.float64) -> NDArray:
    """Concatenate arrays of rows of a given shape; the list may be empty."""
    return np.concatenate([np.zeros((0, *shape), dtype=dtype), *arrays])


def _fields(geometry: Geometry, rows: int) -> FloatArray:
    """Rows of the array ``fields`` for one geometry."""
    if geometry.kind == GeometryKind.RIGID_HALF_SPACE:
        return np.zeros((rows, 4))
    if geometry.kind != GeometryKind.RIGID_MESH:
        return geometry.fields
    a, b, c = (geometry.vertices[geometry.elements[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    return np.pad(normals / np.linalg.norm(normals, axis=1, keepdims=True), ((0, 0), (0, 1)))


def _coordinates(geometry: Geometry, rows: int) -> FloatArray:
    """Rows of the array ``coordinates`` for one geometry."""
    if geometry.kind != GeometryKind.COMPLIANT_MESH:
        return np.zeros((rows, 4, 4))
    return coordinate_functions(geometry.vertices, geometry.elements)


def _records(geometry: Geometry, rows: int) -> FloatArray:
    """Rows of the array ``records`` for one geometry."""
    records = np.zeros((rows, RECORD))
    if geometry.is_half_space:
        return records
    corners = [geometry.vertices[geometry.elements[:, i]] for i in range(geometry.elements.shape[1])]
    # Sums in a fixed order: a library's may differ between processors.
    records[:, :3] = sum(corners[1:], corners[0]) / len(corners)
    records[:, 4:7] = _fields(geometry, rows)[:, :3]
    if geometry.kind == GeometryKind.RIGID_MESH:
        a, b, c = corners
        double_area = np.cross(b - a, c - a)
        double_area = np.sqrt((double_area * double_area) @ np.ones(3))[:, None]
        for i, edge in enumerate((c - b, a - c, b - a)):
            records[:, 7 + 3 * i : 10 + 3 * i] = np.cross(records[:, 4:7], edge) / double_area
        return records
    pressures = [geometry.pressure[geometry.elements[:, i]] for i in range(4)]
    records[:, 3] = 0.25 * sum(pressures[1:], pressures[0])
    gradients = _coordinates(geometry, rows)[:, :3, :3]
    records[:, 7:] = gradients.transpose(0, 2, 1).reshape(rows, 9)
    return records


def _centred(boxes: Sequence[FloatArray]) -> FloatArray:
    """Convert boxes (n, 6) from lower and upper corner to centre and half lengths, which are cheaper to rotate."""
    corners = _joined(boxes, 6)
    lower, upper = corners[:, :3], corners[:, 3:]
    return np.column_stack([0.5 * (lower + upper), 0.5 * (upper - lower)])


def _padded(indices: Sequence[IntArray], rows: Sequence[int], first: IntArray) -> IntArray:
    """Rows of four global indices, padded with -1."""
    padded = np.full((sum(rows), 4), -1, dtype=np.int64)
    start = 0
    for i, (own, count) in enumerate(zip(indices, rows, strict=True)):
        padded[start : start + len(own), : own.shape[1]] = np.where(own < 0, -1, own + first[i])
        start += count
    return padded


def _shifted_links(links: Sequence[IntArray], node_start: IntArray, field_start: IntArray) -> IntArray:
    """Links of concatenated trees, with shifted indices."""
    shifted = []
    for own, node, element in zip(links, node_start, field_start, strict=False):
        leaf = np.column_stack([np.full(len(own), -1), own[:, 1] + element])
        shifted.append(np.where(own[:, :1] == -1, leaf, own + node))
    return _joined(shifted, 2, dtype=np.int64)
