"""All geometries of a scene in one struct of arrays, as the compiled query wants them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydro_sim_core.geometry import Geometry, GeometryKind


class GeometrySet(NamedTuple):
    """Concatenated geometries; indices are global, offsets a geometry have one entry more than there are geometries.

    Attributes:
        kind: (G,) ``GeometryKind``.
        node_start: (G + 1,) first tree node of each geometry.
        vertex_start: (G + 1,) first vertex of each geometry.
        vertices: (V, 3) m, geometry frame.
        pressure: (V,) Pa.
        elements: (M, 4) vertices of tetrahedra; triangles have -1 last.
        fields: (M, 4) pressure field ``g . x + c`` of each tetrahedron: (g, c), Pa/m and Pa. A compliant half space has
            its field in a row of its own.
        field_start: (G + 1,) first element of each geometry.
        barycentric: (M, 4, 4) row k of a tetrahedron: barycentric coordinate k at x is ``row[:3] . x + row[3]``.
        boxes: (K, 6) bounds of the tree nodes, lower then upper.
        links: (K, 2) children of the tree nodes, or (-1, element) for leaves.
        margin: (G,) m.
    """

    kind: np.ndarray
    node_start: np.ndarray
    vertex_start: np.ndarray
    vertices: np.ndarray
    pressure: np.ndarray
    elements: np.ndarray
    fields: np.ndarray
    field_start: np.ndarray
    barycentric: np.ndarray
    boxes: np.ndarray
    links: np.ndarray
    margin: np.ndarray


def _barycentric(geometry: Geometry) -> np.ndarray:
    rows = np.zeros((len(geometry.elements), 4, 4))
    if geometry.kind != GeometryKind.COMPLIANT_MESH:
        return rows
    corners = np.ones((len(rows), 4, 4))
    corners[:, :, :3] = geometry.vertices[geometry.elements]
    # Columns of the inverse of [x_k 1] are the coordinate functions.
    return np.linalg.inv(corners).transpose(0, 2, 1)


def _rows(geometry: Geometry) -> int:
    """Number of element rows a geometry takes: a half space has no element but keeps one row for its field."""
    return max(len(geometry.elements), 1)


def make_geometry_set(geometries: Sequence[Geometry]) -> GeometrySet:
    """Concatenate geometries; geometry i of the set is ``geometries[i]``."""
    vertex_start = np.cumsum([0, *(len(g.vertices) for g in geometries)])
    field_start = np.cumsum([0, *(_rows(g) for g in geometries)])
    node_start = np.cumsum([0, *(len(g.tree_boxes) for g in geometries)])
    elements = np.full((field_start[-1], 4), -1, dtype=np.int64)
    fields = np.zeros((field_start[-1], 4))
    barycentric = np.zeros((field_start[-1], 4, 4))
    links = np.zeros((node_start[-1], 2), dtype=np.int64)
    for i, geometry in enumerate(geometries):
        first = field_start[i]
        count = len(geometry.elements)
        if count:
            elements[first : first + count, : geometry.elements.shape[1]] = (
                geometry.elements + vertex_start[i]
            )
            barycentric[first : first + count] = _barycentric(geometry)
        fields[first : first + len(geometry.fields)] = geometry.fields
        is_leaf = geometry.tree_links[:, :1] == -1
        shifted = geometry.tree_links + node_start[i]
        leaf = np.column_stack([np.full(len(shifted), -1), geometry.tree_links[:, 1] + first])
        links[node_start[i] : node_start[i + 1]] = np.where(is_leaf, leaf, shifted)
    arrays = GeometrySet(
        kind=np.array([int(g.kind) for g in geometries], dtype=np.int64),
        node_start=node_start.astype(np.int64),
        vertex_start=vertex_start.astype(np.int64),
        vertices=np.concatenate([np.zeros((0, 3)), *(g.vertices for g in geometries)]),
        pressure=np.concatenate([np.zeros(0), *(g.pressure for g in geometries)]),
        elements=elements,
        fields=fields,
        field_start=field_start.astype(np.int64),
        barycentric=barycentric,
        boxes=np.concatenate([np.zeros((0, 6)), *(g.tree_boxes for g in geometries)]),
        links=links,
        margin=np.array([g.margin for g in geometries], dtype=np.float64),
    )
    for array in arrays:
        array.setflags(write=False)
    return arrays
