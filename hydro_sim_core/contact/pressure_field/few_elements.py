# mypy: allow-untyped-defs
"""Contact faces of bodies with few elements, as boxes have: every pair of elements is tried.

The walk finds the same faces (``walk``). It needs less time only where most pairs of elements are apart.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.boxes import box_misses_slab
from hydro_sim_core.contact.pressure_field.containment import coordinate, one_lies_in_other
from hydro_sim_core.contact.pressure_field.element_pairs import evaluate
from hydro_sim_core.contact.pressure_field.elements import (
    COMPLIANT_MESH,
    RIGID_MESH,
    face_of_elements,
    face_on_half_space,
    load_element,
    tie_distance,
)
from hydro_sim_core.contact.pressure_field.faces import UPRIGHT, append_polygon
from hydro_sim_core.contact.pressure_field.polygon import NEAR
from hydro_sim_core.contact.pressure_field.report import OVERLAPS
from hydro_sim_core.contact.pressure_field.scratch import FEW


@kernel(inline=True)
def are_few(geometries, a, b):
    """Whether every pair of elements of two geometries may be tried.

    Reads geometries: field_start.
    """
    start = geometries.field_start
    return (start[a + 1] - start[a]) * (start[b + 1] - start[b]) <= FEW


@kernel(inline=True)
def _misses_box(x, num_vertices, box, slack):
    """Whether the first vertices of an element, rows of ``x``, lie beyond one side of a box."""
    for axis in range(3):
        low, high = math.inf, -math.inf
        for k in range(num_vertices):
            low, high = min(low, x[k, axis]), max(high, x[k, axis])
        if low > box[axis] + box[axis + 3] + slack or high < box[axis] - box[axis + 3] - slack:
            return True
    return False


@kernel(inline=True)
def _turn_normal(geometries, triangle, R_BA, normal):
    """Write the normal (3,) of A's triangle in B's frame.

    Reads geometries: fields.
    """
    n = geometries.fields[triangle]
    for i in range(3):
        normal[i] = R_BA[i, 0] * n[0] + R_BA[i, 1] * n[1] + R_BA[i, 2] * n[2]


@kernel(inline=True)
def _has_normal(geometries, triangle, other):
    """Whether two triangles have the very same normal, as all that make up one side of a box.

    Reads geometries: fields.
    """
    n, m = geometries.fields[triangle], geometries.fields[other]
    return n[0] == m[0] and n[1] == m[1] and n[2] == m[2]


@kernel(inline=True)
def _find_fields_across(geometries, b, normal, scratch):
    """List the fields of B in which a rigid triangle with a normal (3,) may press; return their number.

    In the field of a skin an upright one does not.

    Reads geometries: field_start, fields, is_skin, steepness.
    Writes scratch: fields_across, slopes_across.
    """
    num_fields, element, end = 0, geometries.field_start[b], geometries.field_start[b + 1]
    while element < end:
        field = geometries.fields[element]
        slope = field[0] * normal[0] + field[1] * normal[1] + field[2] * normal[2]
        if not (geometries.is_skin[b] and abs(slope) < UPRIGHT * geometries.steepness[element]):
            scratch.fields_across[num_fields] = element
            scratch.slopes_across[num_fields] = slope
            num_fields += 1
        element = geometries.field_end[element]
    return num_fields


@kernel(inline=True)
def _cannot_press(geometries, x, slope, element_b, tie):
    """Whether a rigid triangle ``x`` has no face in the tetrahedra of B with one field, by the field alone.

    That is so where it is turned against the gradient without pressure, or where the field is below or above all that
    there is in the tetrahedra. ``slope`` is that of the field along the triangle's normal.

    Reads geometries: field_range, fields, steepness.
    """
    field, size = geometries.fields[element_b], geometries.steepness[element_b]
    p = evaluate(field, x[0, 0], x[0, 1], x[0, 2])
    q = evaluate(field, x[1, 0], x[1, 1], x[1, 2])
    r = evaluate(field, x[2, 0], x[2, 1], x[2, 2])
    highest, lowest, round_off = max(p, q, r), min(p, q, r), tie * size
    if slope < 0.0 and highest <= round_off:
        return True
    low, high = geometries.field_range[element_b, 0], geometries.field_range[element_b, 1]
    return highest < low - round_off or lowest > high + round_off


@kernel(inline=True)
def _is_beyond_a_face(geometries, x, element_b):
    """Whether a triangle ``x`` lies beyond one face of a tetrahedron of B."""
    for k in range(4):
        if (
            coordinate(geometries, element_b, k, x[0]) < -NEAR
            and coordinate(geometries, element_b, k, x[1]) < -NEAR
            and coordinate(geometries, element_b, k, x[2]) < -NEAR
        ):
            return True
    return False


@kernel(inline=True)
def _next_partner_of_triangle(geometries, element_b, last, n, num_fields, b, tie, scratch):
    """The first tetrahedron of B, from ``element_b`` on, that may have a face with the triangle in ``scratch.work.x``.

    Args:
        geometries: ``GeometrySet``.
        element_b: The first that has not been tried of those with its field.
        last: One past the last of these.
        n: Number of fields begun of those that ``_find_fields_across`` has listed.
        num_fields: How many these are.
        b: Geometry.
        tie: ``tie_distance``.
        scratch: ``QueryScratch``.

    Returns:
        Element, or the end of B's; and the new ``last`` and ``n``.

    Reads geometries: field_start; scratch: fields_across, slopes_across; scratch.work: x.
    """
    x = scratch.work.x
    while True:
        while element_b < last:
            if not _is_beyond_a_face(geometries, x, element_b):
                return element_b, last, n
            element_b += 1
        if n == num_fields:
            return geometries.field_start[b + 1], last, n
        first, slope = scratch.fields_across[n], scratch.slopes_across[n]
        n += 1
        if not _cannot_press(geometries, x, slope, first, tie):
            element_b, last = first, geometries.field_end[first]


@kernel(inline=True)
def _next_partner_of_tetrahedron(geometries, element_a, element_b, b):
    """The first element of B, from ``element_b`` on, that may have a face with A's; the end of B's without.

    Pressures of different signs are equal nowhere; round-off would make needles of that.

    Reads geometries: field_start, sign.
    """
    end = geometries.field_start[b + 1]
    while element_b < end and geometries.sign[element_a] * geometries.sign[element_b] < 0:
        element_b += 1
    return element_b


@kernel
def try_every_pair(geometries, a, b, R_BA, p_BA, every, scratch, faces, count):
    """Append the faces of all pairs of elements; arguments and result as for ``query.find_faces``.

    Reads geometries: boxes, field_start, is_skin, kind, margin, node_start; scratch: generation, rays; scratch.work: x.
    Writes scratch: generation, rays, report.
    """
    on_half_space, a_is_rigid = geometries.kind[b] != COMPLIANT_MESH, geometries.kind[a] == RIGID_MESH
    tie, start = tie_distance(geometries, a, b, p_BA), geometries.field_start
    has_margin = geometries.margin[a] > 0.0 or geometries.margin[b] > 0.0
    is_skin = geometries.is_skin[a] or geometries.is_skin[b]
    scratch.report[:] = 0.0
    roots, work, normal = geometries.node_start, scratch.work, scratch.rays[0]
    height = geometries.margin[b] + tie
    if on_half_space and box_misses_slab(geometries.boxes[roots[a]], R_BA, p_BA, -math.inf, height):
        return count
    scratch.generation[0] += 1
    num_polygons, num_vertices = 0, 3 if a_is_rigid else 4
    turned, num_fields = -1, 0
    for element_a in range(start[a], start[a + 1]):
        load_element(geometries, element_a, R_BA, p_BA, scratch)
        if not on_half_space and _misses_box(work.x, num_vertices, geometries.boxes[roots[b]], tie):
            continue
        if a_is_rigid and not on_half_space:
            if turned < 0 or not _has_normal(geometries, element_a, turned):
                _turn_normal(geometries, element_a, R_BA, normal)
                num_fields = _find_fields_across(geometries, b, normal, scratch)
            turned = element_a
        element_b, last, tried = start[b], start[b], 0
        while element_b < start[b + 1]:
            if on_half_space:
                n = face_on_half_space(geometries, element_a, b, a_is_rigid, R_BA, p_BA, tie, work)
            else:
                if a_is_rigid:
                    element_b, last, tried = _next_partner_of_triangle(
                        geometries, element_b, last, tried, num_fields, b, tie, scratch
                    )
                else:
                    element_b = _next_partner_of_tetrahedron(geometries, element_a, element_b, b)
                if element_b == start[b + 1]:
                    break
                n = face_of_elements(geometries, element_a, element_b, a_is_rigid, R_BA, p_BA, tie, work)
            element_b += 1
            if n != 0:
                num_polygons += 1
                count = append_polygon(faces, count, n, every, has_margin, is_skin, scratch)
    if num_polygons == 0 and one_lies_in_other(geometries, a, b, R_BA, p_BA, scratch):
        scratch.report[OVERLAPS] = 1.0
    return count
