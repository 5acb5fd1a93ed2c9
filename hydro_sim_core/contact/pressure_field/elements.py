# mypy: allow-untyped-defs
"""Basic operations of all queries: transform an element of A to B's frame and find its polygon with an element of B."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.element_pairs import (
    orient_by_gradients,
    tetrahedron_compliant_half_space,
    tetrahedron_rigid_half_space,
    tetrahedron_tetrahedron,
    triangle_compliant_half_space,
    triangle_tetrahedron,
)
from hydro_sim_core.geometry import GeometryKind

COMPLIANT_MESH = int(GeometryKind.COMPLIANT_MESH)
RIGID_MESH = int(GeometryKind.RIGID_MESH)
COMPLIANT_HALF_SPACE = int(GeometryKind.COMPLIANT_HALF_SPACE)
RIGID_HALF_SPACE = int(GeometryKind.RIGID_HALF_SPACE)


#: Tie distance between planes and vertices relative to the bodies' coordinates: about a thousand times their round-off.
_TIE = 1e-12
#: Fraction of a tie within which a vertex counts as on the surface: its round-off. A larger value would tear the
#: surface between fields with almost equal gradients.
SNAP = 4e-3


@kernel
def tie_distance(geometries, a, b, p_BA):
    """Distance below which a plane of one geometry counts as touching a vertex of the other, m.

    Args:
        geometries: ``GeometrySet``.
        a: Index of geometry A.
        b: Index of geometry B.
        p_BA: (3,) origin of A in B, m.

    Reads geometries: boxes, node_start.
    """
    size = 0.0
    for g in (a, b):
        root = geometries.node_start[g]
        if root == geometries.node_start[g + 1]:
            continue  # the size of the partner counts for a half space
        for i in range(3):
            size = max(size, abs(geometries.boxes[root, i]) + geometries.boxes[root, i + 3])
    return _TIE * (size + abs(p_BA[0]) + abs(p_BA[1]) + abs(p_BA[2]))


@kernel(inline=True)
def move_vertex(geometries, v, R_BA, p_BA, moved):
    """Write vertex ``v`` of A's geometry in B's frame into ``moved`` (3,).

    Reads geometries: vertices.
    """
    for i in range(3):
        moved[i] = (
            R_BA[i, 0] * geometries.vertices[v, 0]
            + R_BA[i, 1] * geometries.vertices[v, 1]
            + R_BA[i, 2] * geometries.vertices[v, 2]
            + p_BA[i]
        )


@kernel(inline=True)
def load_element(geometries, element, R_BA, p_BA, scratch):
    """Write the vertices of A's element in B's frame to ``scratch.work.x``; see ``load_vertices``.

    Writes scratch.work: x.
    """
    load_vertices(geometries, element, R_BA, p_BA, scratch, scratch.work.x)


@kernel(inline=True)
def load_vertices(geometries, element, R_BA, p_BA, scratch, x):
    """Write the vertices of A's element in B's frame to ``x`` (4, 3); each is transformed once per query.

    Reads geometries: elements; scratch: generation, stamp, vertices_B.
    Writes scratch: stamp, vertices_B.
    """
    generation, last = scratch.generation[0], scratch.stamp.shape[0] - 1
    for k in range(4):
        v = geometries.elements[element, k]
        if v < 0:
            return
        at = v & last  # no other vertex of A is there
        if scratch.stamp[at] != generation:
            scratch.stamp[at] = generation
            move_vertex(geometries, v, R_BA, p_BA, scratch.vertices_B[at])
        for i in range(3):
            x[k, i] = scratch.vertices_B[at, i]


@kernel(inline=True)
def load_field(geometries, element, R_BA, p_BA, field_a):
    """Write the pressure field of A's tetrahedron as a function of positions in B's frame, or a triangle's normal in B.

    Reads geometries: fields.
    """
    field = geometries.fields[element]
    offset = field[3]
    for i in range(3):
        field_a[i] = R_BA[i, 0] * field[0] + R_BA[i, 1] * field[1] + R_BA[i, 2] * field[2]
        offset -= field_a[i] * p_BA[i]
    field_a[3] = offset


@kernel(inline=True)
def _equal_pressure_cuts(geometries, element, field_b, size_b, R_BA, p_BA, tie, work):
    """Whether p_A = p_B at some point of A's tetrahedron, with B's field continued.

    Writes A's field, p_A - p_B at its vertices and the orientation of the plane to ``work``.

    A's pressures at vertices are the stored ones, so that tetrahedra with a common vertex get the same difference
    there. Differences within round-off are set to 0: if the fields agree in a volume, the surface is the boundary of
    that volume.

    Reads geometries: elements, pressure, steepness; work: f, field_a, x.
    Writes work: f, field_a.
    """
    size_a = geometries.steepness[element]
    lowest, highest = math.inf, -math.inf
    for k in range(4):
        f = geometries.pressure[geometries.elements[element, k]] - (
            field_b[0] * work.x[k, 0] + field_b[1] * work.x[k, 1] + field_b[2] * work.x[k, 2] + field_b[3]
        )
        work.f[k] = f
        lowest = f if f < lowest else lowest
        highest = f if f > highest else highest
    round_off = SNAP * tie * (size_a + size_b)
    if lowest > round_off or highest < -round_off:
        return False
    load_field(geometries, element, R_BA, p_BA, work.field_a)
    steepness = orient_by_gradients(work.field_a, size_a, field_b, size_b, work)
    round_off = SNAP * tie * steepness
    num_positive = 0
    for k in range(4):
        if abs(work.f[k]) <= round_off:
            work.f[k] = 0.0
        elif work.f[k] > 0.0:
            num_positive += 1
    return num_positive != 0 and num_positive != 4 and steepness > 0.0


@kernel(inline=True)
def face_of_elements(geometries, element_a, element_b, a_is_rigid, R_BA, p_BA, tie, work):
    """Polygon of an element of A, with vertices in ``work.x``, and a tetrahedron of B; returns its number of vertices.

    Reads geometries: coordinates, elements, fields, pressure, steepness, vertices; work: field_a.
    Writes work: field_a.
    """
    field_b = geometries.fields[element_b]
    tet_b = geometries.elements[element_b]
    size_b = geometries.steepness[element_b]
    coordinates_b = geometries.coordinates[element_b]
    if a_is_rigid:
        normal = work.field_a
        load_field(geometries, element_a, R_BA, p_BA, normal)
        return triangle_tetrahedron(
            geometries.vertices, tet_b, normal, field_b, size_b, coordinates_b, tie, work
        )
    if not _equal_pressure_cuts(geometries, element_a, field_b, size_b, R_BA, p_BA, tie, work):
        return 0
    return tetrahedron_tetrahedron(geometries.vertices, geometries.pressure, tet_b, coordinates_b, tie, work)


@kernel(inline=True)
def face_on_half_space(geometries, element_a, b, a_is_rigid, R_BA, p_BA, tie, work):
    """Polygon of an element of A, with vertices in ``work.x``, and half space B; returns its number of vertices.

    Reads geometries: field_start, fields, kind, margin, steepness; work: field_a.
    Writes work: field_a.
    """
    row = geometries.field_start[b]
    field_b, size_b = geometries.fields[row], geometries.steepness[row]
    margin_b = geometries.margin[b]
    if a_is_rigid:
        load_field(geometries, element_a, R_BA, p_BA, work.field_a)
        return triangle_compliant_half_space(work.field_a, field_b, size_b, margin_b, work)
    if geometries.kind[b] == RIGID_HALF_SPACE:
        load_field(geometries, element_a, R_BA, p_BA, work.field_a)
        return tetrahedron_rigid_half_space(SNAP * tie, work)
    if not _equal_pressure_cuts(geometries, element_a, field_b, size_b, R_BA, p_BA, tie, work):
        return 0
    return tetrahedron_compliant_half_space(margin_b, work)
