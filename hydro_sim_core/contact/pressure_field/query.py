"""All contact faces of a pair of geometries: descend the trees, test elements, emit faces.

Pairs are canonical (``canonical_order``): a half space is B; of a rigid and a compliant mesh the rigid one is A. The
faces come out in the frame of B.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.contact.pressure_field.element_pairs import (
    Workspace,
    make_workspace,
    tetrahedron_compliant_half_space,
    tetrahedron_rigid_half_space,
    tetrahedron_tetrahedron,
    tie_distance,
    triangle_compliant_half_space,
    triangle_tetrahedron,
)
from hydro_sim_core.contact.pressure_field.faces import store_face
from hydro_sim_core.contact.pressure_field.polygon import polygon_area_centroid
from hydro_sim_core.geometry import GeometryKind
from hydro_sim_core.jit import kernel

_COMPLIANT_MESH = int(GeometryKind.COMPLIANT_MESH)
_RIGID_MESH = int(GeometryKind.RIGID_MESH)
_COMPLIANT_HALF_SPACE = int(GeometryKind.COMPLIANT_HALF_SPACE)
_RIGID_HALF_SPACE = int(GeometryKind.RIGID_HALF_SPACE)
_HALF_SPACES = (_COMPLIANT_HALF_SPACE, _RIGID_HALF_SPACE)

#: Depth of the traversal stack. Each visited pair of nodes pushes at most two, so this covers trees of 2^256 leaves.
_STACK = 1024


class QueryScratch(NamedTuple):
    """Memory of the query that outlives a call.

    Attributes:
        work: Buffers of the element tests.
        stack: (n, 2) traversal stack.
        vertices_B: (V, 3) vertices of A's geometry in B's frame, valid where the stamp is current.
        stamp: (V,) generation in which a vertex was transformed.
        generation: (1,) counts queries.
    """

    work: Workspace
    stack: np.ndarray
    vertices_B: np.ndarray
    stamp: np.ndarray
    generation: np.ndarray


def make_query_scratch(geometries: GeometrySet) -> QueryScratch:
    """Allocate the query's memory for a set of geometries."""
    num_vertices = len(geometries.vertices)
    return QueryScratch(
        work=make_workspace(),
        stack=np.zeros((_STACK, 2), dtype=np.int64),
        vertices_B=np.zeros((num_vertices, 3)),
        stamp=np.zeros(num_vertices, dtype=np.int64),
        generation=np.zeros(1, dtype=np.int64),
    )


def canonical_order(kind_a: GeometryKind, kind_b: GeometryKind) -> bool | None:
    """Tell how a pair is to be queried.

    Returns:
        True if A and B stand in canonical order, False if they must be swapped, None if such a pair has no pressure
        field contact (two rigid geometries, two half spaces).
    """
    a, b = int(kind_a), int(kind_b)
    if {a, b} <= {_RIGID_MESH, _RIGID_HALF_SPACE} or {a, b} <= set(_HALF_SPACES):
        return None
    if a in _HALF_SPACES:
        return False
    if b in _HALF_SPACES:
        return True
    return not (a == _COMPLIANT_MESH and b == _RIGID_MESH)


@kernel(forceinline=True)
def _boxes_apart(box_a, R_BA, p_BA, box_b, slack):
    """True if box A, turned into B's frame and bounded again, misses box B by more than ``slack``."""
    for i in range(3):
        center = p_BA[i]
        half = slack
        for j in range(3):
            center += R_BA[i, j] * 0.5 * (box_a[j] + box_a[j + 3])
            half += abs(R_BA[i, j]) * 0.5 * (box_a[j + 3] - box_a[j])
        if center - half > box_b[i + 3] or center + half < box_b[i]:
            return True
    return False


@kernel(forceinline=True)
def _box_above_plane(box_a, R_BA, p_BA, height):
    """True if box A lies wholly above z = height in B's frame."""
    center = p_BA[2]
    half = 0.0
    for j in range(3):
        center += R_BA[2, j] * 0.5 * (box_a[j] + box_a[j + 3])
        half += abs(R_BA[2, j]) * 0.5 * (box_a[j + 3] - box_a[j])
    return center - half > height


@kernel(forceinline=True)
def move_vertex(geometries, v, R_BA, p_BA, moved):
    """Write vertex ``v`` of A's geometry in B's frame into ``moved`` (3,)."""
    for i in range(3):
        moved[i] = (
            R_BA[i, 0] * geometries.vertices[v, 0]
            + R_BA[i, 1] * geometries.vertices[v, 1]
            + R_BA[i, 2] * geometries.vertices[v, 2]
            + p_BA[i]
        )


@kernel(forceinline=True)
def _load_element(geometries, element, R_BA, p_BA, scratch):
    """Bring A's element into B's frame; vertices are transformed once a query."""
    generation = scratch.generation[0]
    x = scratch.work.x
    for k in range(4):
        v = geometries.elements[element, k]
        if v < 0:
            return
        if scratch.stamp[v] != generation:
            scratch.stamp[v] = generation
            move_vertex(geometries, v, R_BA, p_BA, scratch.vertices_B[v])
        for i in range(3):
            x[k, i] = scratch.vertices_B[v, i]


@kernel(forceinline=True)
def _load_field(geometries, element, R_BA, p_BA, field_a):
    """Pressure field of A's tetrahedron as a function of positions in B's frame."""
    field = geometries.fields[element]
    offset = field[3]
    for i in range(3):
        field_a[i] = R_BA[i, 0] * field[0] + R_BA[i, 1] * field[1] + R_BA[i, 2] * field[2]
        offset -= field_a[i] * p_BA[i]
    field_a[3] = offset


@kernel(forceinline=True)
def _pressure_difference(geometries, element, field_b, work):
    """Fill ``work.f`` with p_A - p_B at A's vertices; True if it changes sign.

    A's pressures are the stored ones, so tetrahedra of A that share a vertex see the same value there.
    """
    num_positive = 0
    for k in range(4):
        f = geometries.pressure[geometries.elements[element, k]] - (
            field_b[0] * work.x[k, 0] + field_b[1] * work.x[k, 1] + field_b[2] * work.x[k, 2] + field_b[3]
        )
        work.f[k] = f
        if f > 0.0:
            num_positive += 1
    return num_positive != 0 and num_positive != 4


@kernel(forceinline=True)
def face_of_elements(geometries, element_a, element_b, a_is_rigid, R_BA, p_BA, tie, work):
    """Face of an element of A, whose vertices are in ``work.x``, and a tetrahedron of B; returns its vertices."""
    field_b = geometries.fields[element_b]
    tet_b = geometries.elements[element_b]
    barycentric_b = geometries.barycentric[element_b]
    if a_is_rigid:
        return triangle_tetrahedron(geometries.vertices, tet_b, field_b, barycentric_b, tie, work)
    if not _pressure_difference(geometries, element_a, field_b, work):
        return 0
    _load_field(geometries, element_a, R_BA, p_BA, work.field_a)
    return tetrahedron_tetrahedron(
        geometries.vertices, geometries.pressure, tet_b, field_b, barycentric_b, tie, work
    )


@kernel(forceinline=True)
def face_on_half_space(geometries, element_a, b, a_is_rigid, R_BA, p_BA, work):
    """Face of an element of A, whose vertices are in ``work.x``, and half space B; returns its vertices."""
    field_b = geometries.fields[geometries.field_start[b]]
    margin_b = geometries.margin[b]
    if a_is_rigid:
        return triangle_compliant_half_space(field_b, margin_b, work)
    _load_field(geometries, element_a, R_BA, p_BA, work.field_a)
    if geometries.kind[b] == _RIGID_HALF_SPACE:
        return tetrahedron_rigid_half_space(work)
    if not _pressure_difference(geometries, element_a, field_b, work):
        return 0
    return tetrahedron_compliant_half_space(field_b, margin_b, work)


@kernel(forceinline=True)
def _append(faces, count, n, work):
    """Store the face of ``n`` vertices in ``work``; counts on when the buffer is full, so that it can be grown."""
    if n == 0:
        return count
    area = polygon_area_centroid(work.polygon, n, work.centroid)
    if not area > 0.0:
        return count
    slopes = work.slopes
    store_face(
        faces, count, work.polygon, n, area, work.centroid, work.normal, work.field, slopes[0], slopes[1]
    )
    return count + 1


@kernel(forceinline=True)
def _query_meshes(geometries, a, b, R_BA, p_BA, scratch, faces, count):
    """Descend the trees of two meshes together, the larger box first."""
    a_is_rigid = geometries.kind[a] == _RIGID_MESH
    boxes, links, stack = geometries.boxes, geometries.links, scratch.stack
    root_a, root_b = geometries.node_start[a], geometries.node_start[b]
    # A triangle may belong to a tetrahedron that it touches from outside, by round-off.
    tie = tie_distance(boxes[root_a], p_BA, boxes[root_b])
    stack[0, 0], stack[0, 1] = root_a, root_b
    top = 1
    while top:
        top -= 1
        node_a, node_b = stack[top, 0], stack[top, 1]
        if _boxes_apart(boxes[node_a], R_BA, p_BA, boxes[node_b], tie):
            continue
        leaf_a, leaf_b = links[node_a, 0] < 0, links[node_b, 0] < 0
        if leaf_a and leaf_b:
            element_a, element_b = links[node_a, 1], links[node_b, 1]
            _load_element(geometries, element_a, R_BA, p_BA, scratch)
            n = face_of_elements(geometries, element_a, element_b, a_is_rigid, R_BA, p_BA, tie, scratch.work)
            count = _append(faces, count, n, scratch.work)
            continue
        descend_b = leaf_a or (not leaf_b and _extent(boxes[node_b]) > _extent(boxes[node_a]))
        for side in range(2):
            stack[top, 0] = node_a if descend_b else links[node_a, side]
            stack[top, 1] = links[node_b, side] if descend_b else node_b
            top += 1
    return count


@kernel(forceinline=True)
def _extent(box):
    return (box[3] - box[0]) + (box[4] - box[1]) + (box[5] - box[2])


@kernel(forceinline=True)
def _query_half_space(geometries, a, b, R_BA, p_BA, scratch, faces, count):
    """Descend A's tree against a half space."""
    a_is_rigid = geometries.kind[a] == _RIGID_MESH
    boxes, links, stack = geometries.boxes, geometries.links, scratch.stack
    height = geometries.margin[b]
    stack[0, 0] = geometries.node_start[a]
    top = 1
    while top:
        top -= 1
        node = stack[top, 0]
        if _box_above_plane(boxes[node], R_BA, p_BA, height):
            continue
        if links[node, 0] < 0:
            element = links[node, 1]
            _load_element(geometries, element, R_BA, p_BA, scratch)
            n = face_on_half_space(geometries, element, b, a_is_rigid, R_BA, p_BA, scratch.work)
            count = _append(faces, count, n, scratch.work)
            continue
        for side in range(2):
            stack[top, 0] = links[node, side]
            top += 1
    return count


@kernel
def find_faces(geometries, a, b, R_BA, p_BA, scratch, faces, count):
    """Append the contact faces of a canonical pair to ``faces``.

    Args:
        geometries: ``GeometrySet``.
        a: Index of geometry A.
        b: Index of geometry B.
        R_BA: (3, 3) rotation of A in B.
        p_BA: (3,) origin of A in B, m.
        scratch: ``QueryScratch``.
        faces: ``FaceBuffer``.
        count: Faces already in the buffer.

    Returns:
        Faces after the query; more than the buffer's capacity if that was too small (the surplus is not stored).
    """
    scratch.generation[0] += 1
    if geometries.kind[b] == _COMPLIANT_MESH:
        return _query_meshes(geometries, a, b, R_BA, p_BA, scratch, faces, count)
    return _query_half_space(geometries, a, b, R_BA, p_BA, scratch, faces, count)
