# mypy: allow-untyped-defs
"""Faces of pairs of elements: counted by one thread a pair, and written by one a face."""

from __future__ import annotations

from typing import Any, NamedTuple

from hydro_sim_core.compilation import kernel
from hydro_sim_core.compilation.local_arrays import local_floats, local_ints
from hydro_sim_core.contact.pressure_field.element_pairs import Workspace
from hydro_sim_core.contact.pressure_field.elements import face_of_elements, face_on_half_space, move_vertex
from hydro_sim_core.contact.pressure_field.faces import append_polygon
from hydro_sim_core.contact.pressure_field.report import DROPPED_FORCE


class _ThreadScratch(NamedTuple):
    """What ``append_polygon`` needs of a ``QueryScratch``, for one thread."""

    work: Any
    report: Any
    ahead: Any


class _Faces(NamedTuple):
    """A ``FaceBuffer``, of which nothing is written if it has no room."""

    data: Any
    polygons: Any
    num_vertices: Any


@kernel(inline=True)
def _append_faces(query, pair, faces, first, a_is_rigid, on_half_space):
    """Append the faces of a pair to ``faces`` from ``first`` on; their end, and the force on what is no face.

    Reads query: R_BA, b, elements, every, has_margin, p_BA, pairs, skin, tie.
    """
    work = Workspace(
        local_floats(4, 3),
        local_floats(4),
        local_floats(4),
        local_floats(4),
        local_floats(16, 3),
        local_floats(16, 4),
        local_ints(3),
        local_floats(3),
        local_floats(2),
        local_floats(4),
        local_floats(3),
    )
    scratch = _ThreadScratch(work, local_floats(2), local_floats(3))
    for axis in range(3):
        scratch.ahead[axis] = 0.0
    scratch.report[DROPPED_FORCE] = 0.0
    element_a, element_b = query.pairs[0, pair], query.pairs[1, pair]
    R_BA, p_BA, tie = query.R_BA, query.p_BA, query.tie
    for k in range(3 if a_is_rigid else 4):
        move_vertex(query, query.elements[element_a, k], R_BA, p_BA, work.x[k])
    if on_half_space:
        n = face_on_half_space(query, element_a, query.b, a_is_rigid, R_BA, p_BA, tie, work)
    else:
        n = face_of_elements(query, element_a, element_b, a_is_rigid, R_BA, p_BA, tie, work)
    last = first
    if n != 0:
        last = append_polygon(faces, first, n, query.every, query.has_margin, query.skin, scratch)
    return last, scratch.report[DROPPED_FORCE]


@kernel(inline=True)
def _make_faces(query, pair, a_is_rigid):
    """Write the first face of a pair of elements in the pair's place; count its faces, and tell if it has none or two.

    Reads query: data, every, num_vertices, polygons.
    Writes query: counts, dropped, uneven.
    """
    # There is room up to this pair's place: a second face is not written.
    faces = _Faces(query.data, query.polygons, query.num_vertices[: pair + 1])
    last, dropped = _append_faces(query, pair, faces, pair, a_is_rigid, False)
    query.counts[pair] = last - pair
    if last == pair:
        query.uneven[0] = 1
    if last > pair + 1:
        query.uneven[1] = 1
    if not query.every:
        query.dropped[0, pair] = dropped


@kernel(inline=True)
def _count_faces(query, pair, a_is_rigid):
    """Count the faces of an element on a half space.

    Reads query: every.
    Writes query: counts, dropped.
    """
    faces = _Faces(local_floats(1, 1), local_floats(1, 1, 1), local_ints(0))
    count, dropped = _append_faces(query, pair, faces, 0, a_is_rigid, True)
    query.counts[pair] = count
    if not query.every:
        query.dropped[0, pair] = dropped


@kernel(inline=True)
def _write_faces(query, face, a_is_rigid, on_half_space):
    """Write a face; that which a pair has besides is written by the thread of its first one.

    Reads query: data, num_vertices, pairs, polygons, source.
    Writes query: face_elements.
    """
    pair = query.source[face]
    query.face_elements[0, face] = query.pairs[0, pair]
    query.face_elements[1, face] = query.pairs[1, pair]
    if face == 0 or query.source[face - 1] != pair:
        faces = _Faces(query.data, query.polygons, query.num_vertices)
        _append_faces(query, pair, faces, face, a_is_rigid, on_half_space)


@kernel
def move_faces(query, face):
    """Bring a face together with the others, from the place of its pair.

    Reads query: made_data, made_num_vertices, made_polygons, pairs, source.
    Writes query: data, face_elements, num_vertices, polygons.
    """
    pair = query.source[face]
    query.face_elements[0, face] = query.pairs[0, pair]
    query.face_elements[1, face] = query.pairs[1, pair]
    for row in range(query.data.shape[0]):
        query.data[row, face] = query.made_data[row, pair]
    query.num_vertices[face] = query.made_num_vertices[pair]
    for i in range(query.made_num_vertices[pair]):
        for axis in range(3):
            query.polygons[face, i, axis] = query.made_polygons[pair, i, axis]


@kernel
def make_faces_of_tetrahedra(query, pair):
    """Write the first face of two tetrahedra in the pair's place, and count."""
    _make_faces(query, pair, False)


@kernel
def write_faces_of_tetrahedra(query, face):
    """Write a face of two tetrahedra."""
    _write_faces(query, face, False, False)


@kernel
def make_faces_of_triangles(query, pair):
    """Write the first face of a rigid triangle and a tetrahedron in the pair's place, and count."""
    _make_faces(query, pair, True)


@kernel
def write_faces_of_triangles(query, face):
    """Write a face of a rigid triangle and a tetrahedron."""
    _write_faces(query, face, True, False)


@kernel
def count_tetrahedra_on_half_space(query, pair):
    """Count the faces of a tetrahedron and a half space."""
    _count_faces(query, pair, False)


@kernel
def write_tetrahedra_on_half_space(query, face):
    """Write a face of a tetrahedron and a half space."""
    _write_faces(query, face, False, True)


@kernel
def count_triangles_on_half_space(query, pair):
    """Count the faces of a rigid triangle and a compliant half space."""
    _count_faces(query, pair, True)


@kernel
def write_triangles_on_half_space(query, face):
    """Write a face of a rigid triangle and a compliant half space."""
    _write_faces(query, face, True, True)


@kernel
def place_faces(query, pair):
    """Tell each face of which pair it is.

    Reads query: counts, ends.
    Writes query: source.
    """
    for k in range(query.counts[pair]):
        query.source[query.ends[pair] - 1 - k] = pair
