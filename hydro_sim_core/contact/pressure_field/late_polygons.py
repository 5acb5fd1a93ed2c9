"""Polygons of faces found in lanes, made when somebody wants to see them or cuts them."""

from __future__ import annotations

from hydro_sim_core.compilation import ConstFloat1D, ConstFloat2D, entry
from hydro_sim_core.contact.geometry_set import GeometrySet
from hydro_sim_core.contact.pressure_field.element_pairs import ROWS, Workspace
from hydro_sim_core.contact.pressure_field.elements import (
    COMPLIANT_MESH,
    RIGID_MESH,
    face_of_elements,
    face_on_half_space,
    move_vertex,
    tie_distance,
)
from hydro_sim_core.contact.pressure_field.faces import CENTROID, FaceBuffer


@entry
def complete_polygons(
    geometries: GeometrySet,
    a: int,
    b: int,
    R_BA: ConstFloat2D,
    p_BA: ConstFloat1D,
    work: Workspace,
    faces: FaceBuffer,
    first: int,
    last: int,
) -> None:
    """Make the polygons that faces of a canonical pair do not have yet; the pose must be that at which they were found.

    Args:
        geometries: ``GeometrySet``.
        a: Index of geometry A.
        b: Index of geometry B.
        R_BA: (3, 3) rotation of A in B.
        p_BA: (3,) origin of A in B, m.
        work: ``Workspace``.
        faces: ``FaceBuffer``.
        first: First face.
        last: One past the last face.

    Reads faces: data, elements, num_vertices; geometries: elements, kind; work: cycle, points.
    Writes faces: num_vertices, polygons; work: x.
    """
    a_is_rigid, tie = geometries.kind[a] == RIGID_MESH, tie_distance(geometries, a, b, p_BA)
    for f in range(first, last):
        if faces.num_vertices[f] != 0:
            continue
        element_a, element_b = faces.elements[f, 0], faces.elements[f, 1]
        for k in range(3 if a_is_rigid else 4):
            move_vertex(geometries, geometries.elements[element_a, k], R_BA, p_BA, work.x[k])
        if geometries.kind[b] == COMPLIANT_MESH:
            n = face_of_elements(geometries, element_a, element_b, a_is_rigid, R_BA, p_BA, tie, work)
        else:
            n = face_on_half_space(geometries, element_a, b, a_is_rigid, R_BA, p_BA, tie, work)
        rows = work.cycle[ROWS]
        for i in range(n):
            for axis in range(3):
                faces.polygons[f, i, axis] = work.points[(rows >> 4 * i) & 15, axis]
        if n == 0:
            # Round-off: nothing is left of a face without extent.
            n = 3
            for i in range(n):
                for axis in range(3):
                    faces.polygons[f, i, axis] = faces.data[CENTROID + axis, f]
        faces.num_vertices[f] = n
