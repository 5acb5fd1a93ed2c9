# mypy: allow-untyped-defs
"""How much of a contact face lies inside a third body.

How deep a polygon reaches into a mesh is found in the same way.

Both methods intersect the face, a convex polygon, with convex pieces and add areas and moments. Of a compliant
mesh the pieces are its tetrahedra. Of a closed surface they are its triangles, seen along an axis: a point of the face
is inside if, of the triangles above it, one more faces up than down. Triangles are first cut at the plane of the face.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.boxes import boxes_apart, push_children
from hydro_sim_core.contact.pressure_field.containment import coordinate, encloses
from hydro_sim_core.contact.pressure_field.element_pairs import evaluate
from hydro_sim_core.contact.pressure_field.elements import COMPLIANT_MESH, RIGID_MESH
from hydro_sim_core.contact.pressure_field.polygon import MAX_VERTICES

#: Vertices of a polygon that is cut by all edges of another, or by a tetrahedron.
MAX_CUT = 2 * MAX_VERTICES + 3
#: Rows of a scratch of clipping: the face, then two polygons that change places.
FACE, FIRST, SECOND = range(3)
#: Height of a column, m.
_FAR = 1e6


@kernel(inline=True)
def _cut(buffers, source, n, values):
    """Cut a convex polygon of ``n`` vertices to where ``values`` (n,) are not negative; return the vertices left.

    Args:
        buffers: (3, MAX_CUT, 3) polygons.
        source: ``FIRST`` or ``SECOND``; the other one takes the result.
        n: Number of vertices.
        values: Values of a linear function at the vertices.
    """
    old, new, kept = buffers[source], buffers[FIRST + SECOND - source], 0
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        if values[i] >= 0.0:
            for axis in range(3):
                new[kept, axis] = old[i, axis]
            kept += 1
        if (values[i] >= 0.0) != (values[j] >= 0.0):
            t = values[i] / (values[i] - values[j])
            for axis in range(3):
                new[kept, axis] = old[i, axis] + t * (old[j, axis] - old[i, axis])
            kept += 1
    return kept


@kernel(inline=True)
def _add_projected(buffers, source, n, u, v, sign, total):
    """Add signed area and moments of a polygon, seen along the axis that is neither ``u`` nor ``v``.

    Moments are about the first vertex of the face, the second ones in the last three entries.
    """
    points, x0, y0 = buffers[source], buffers[FACE, 0, u], buffers[FACE, 0, v]
    cx, cy = points[0, u] - x0, points[0, v] - y0
    for i in range(2, n):
        ax, ay = points[i - 1, u] - x0, points[i - 1, v] - y0
        bx, by = points[i, u] - x0, points[i, v] - y0
        # The sign is given: thin pieces have either by round-off.
        area = sign * abs(0.5 * ((ax - cx) * (by - cy) - (ay - cy) * (bx - cx)))
        x, y, twelfth = ax + bx + cx, ay + by + cy, area / 12.0
        total[0] += area
        total[1] += area * x / 3.0
        total[2] += area * y / 3.0
        total[9] += twelfth * (x * x + ax * ax + bx * bx + cx * cx)
        total[10] += twelfth * (x * y + ax * ay + bx * by + cx * cy)
        total[11] += twelfth * (y * y + ay * ay + by * by + cy * cy)


@kernel(inline=True)
def _turn(buffers, n, u, v):
    """1 if the face turns to the left seen along its axis, else -1."""
    face, twice = buffers[FACE], 0.0
    for i in range(2, n):
        ax, ay = face[i - 1, u] - face[0, u], face[i - 1, v] - face[0, v]
        bx, by = face[i, u] - face[0, u], face[i, v] - face[0, v]
        twice += ax * by - ay * bx
    return 1.0 if twice >= 0.0 else -1.0


@kernel
def _add_triangle(geometries, triangle, n, normal, axes, turn, buffers, values, total):
    """Add what of the face lies under a triangle of a closed surface, positive if the triangle faces up.

    Reads geometries: elements, fields, vertices.
    """
    k, u, v = axes
    face, corners = buffers[FACE], geometries.elements[triangle]
    for i in range(3):
        height = 0.0
        for axis in range(3):
            x = geometries.vertices[corners[i], axis]
            buffers[FIRST, i, axis] = x
            height += (x - face[0, axis]) * normal[axis]
        values[i] = height / normal[k]
    count, source = _cut(buffers, FIRST, 3, values), SECOND
    for i in range(n):
        if count < 3:
            return
        j = i + 1 if i + 1 < n else 0
        eu, ev = face[j, u] - face[i, u], face[j, v] - face[i, v]
        points = buffers[source]
        for m in range(count):
            values[m] = turn * (eu * (points[m, v] - face[i, v]) - ev * (points[m, u] - face[i, u]))
        count, source = _cut(buffers, source, count, values), FIRST + SECOND - source
    if count >= 3:
        sign = 1.0 if geometries.fields[triangle, k] > 0.0 else -1.0
        _add_projected(buffers, source, count, u, v, sign, total)


@kernel
def _add_tetrahedron(geometries, element, n, axes, buffers, values, total):
    """Add what of the face lies in a tetrahedron, where the pressure is positive.

    Reads geometries: fields.
    """
    count, source = n, FIRST
    for i in range(n):
        for axis in range(3):
            buffers[FIRST, i, axis] = buffers[FACE, i, axis]
    field = geometries.fields[element]
    for face in range(5):
        for m in range(count):
            x = buffers[source, m]
            if face < 4:
                values[m] = coordinate(geometries, element, face, x)
            else:
                # The body ends where the pressure does; behind that is its margin.
                values[m] = evaluate(field, x[0], x[1], x[2])
        count, source = _cut(buffers, source, count, values), FIRST + SECOND - source
        if count < 3:
            return
    _add_projected(buffers, source, count, axes[1], axes[2], 1.0, total)


@kernel(inline=True)
def _set_box(buffers, n, box):
    """Write the bounds (6,) of the face, centre then half lengths."""
    for axis in range(3):
        lowest, highest = buffers[FACE, 0, axis], buffers[FACE, 0, axis]
        for i in range(1, n):
            lowest = min(lowest, buffers[FACE, i, axis])
            highest = max(highest, buffers[FACE, i, axis])
        box[axis], box[axis + 3] = 0.5 * (lowest + highest), 0.5 * (highest - lowest)


@kernel
def _next_leaf(boxes, links, box, nodes, num_nodes):
    """Descend a tree to the next leaf that meets a box; return its element, -1 without, and the nodes still to see."""
    while num_nodes > 0:
        num_nodes -= 1
        node = nodes[num_nodes, 0]
        if boxes_apart(box, boxes[node]):
            continue
        if links[node, 0] < 0:
            return links[node, 1], num_nodes
        num_nodes = push_children(links, node, nodes, num_nodes)
    return -1, 0


@kernel
def _meets_surface(geometries, g, box, nodes):
    """Whether a leaf of the tree over the surface of ``g`` meets a box.

    Reads geometries: boxes, kind, links, node_start, shell_boxes, shell_links, shell_start.
    """
    surface = geometries.kind[g] == RIGID_MESH
    boxes = geometries.boxes if surface else geometries.shell_boxes
    links = geometries.links if surface else geometries.shell_links
    nodes[0, 0] = geometries.node_start[g] if surface else geometries.shell_start[g]
    element, _ = _next_leaf(boxes, links, box, nodes, 1)
    return element >= 0


@kernel(inline=True)
def _has_pressure(geometries, element):
    """Whether a tetrahedron belongs to the body, not to its margin.

    Reads geometries: elements, pressure.
    """
    for i in range(4):
        if geometries.pressure[geometries.elements[element, i]] > 0.0:
            return True
    return False


@kernel
def _add_meshes(geometries, g, n, normal, axes, nodes, buffers, values, total):
    """Add what of the face lies in the mesh ``g``: descend its tree to the elements at the face, or above it.

    Reads geometries: boxes, kind, links, node_start.
    """
    of_surface = geometries.kind[g] == RIGID_MESH
    turn, box = _turn(buffers, n, axes[1], axes[2]), total[3:9]
    if of_surface:
        # The column above the face: no mesh is larger than that.
        box[axes[0] + 3] += _FAR
        box[axes[0]] += _FAR
    nodes[0, 0] = geometries.node_start[g]
    element, num_nodes = _next_leaf(geometries.boxes, geometries.links, box, nodes, 1)
    while element >= 0:
        if of_surface:
            _add_triangle(geometries, element, n, normal, axes, turn, buffers, values, total)
        elif _has_pressure(geometries, element):
            _add_tetrahedron(geometries, element, n, axes, buffers, values, total)
        element, num_nodes = _next_leaf(geometries.boxes, geometries.links, box, nodes, num_nodes)


@kernel(inline=True)
def _add_half_space(geometries, g, n, axes, buffers, values, total):
    """Add what of the face lies below z = 0."""
    for i in range(n):
        values[i] = -buffers[FACE, i, 2]
        for axis in range(3):
            buffers[FIRST, i, axis] = buffers[FACE, i, axis]
    count = _cut(buffers, FIRST, n, values)
    if count >= 3:
        _add_projected(buffers, SECOND, count, axes[1], axes[2], 1.0, total)


@kernel(inline=True)
def axes_of(normal):
    """The axis along which a face with some normal is widest, and the other two."""
    k = 0
    for axis in range(1, 3):
        if abs(normal[axis]) > abs(normal[k]):
            k = axis
    return k, (k + 1) % 3, (k + 2) % 3


@kernel
def covered_area(geometries, g, n, normal, nodes, buffers, values, total):
    """Area (m^2) of the part of a face that lies in geometry ``g``; infinite where that is all of it.

    Args:
        geometries: ``GeometrySet``.
        g: Geometry; a mesh of triangles must be closed.
        n: Number of vertices of the face, which are in ``buffers[FACE]``, in the geometry's frame, m.
        normal: (3,) unit normal of the face in that frame.
        nodes: Stack of tree nodes.
        buffers: (3, MAX_CUT, 3) scratch.
        values: (MAX_CUT,) scratch.
        total: (12,) scratch; the first three become the centroid of a finite part, m, in that frame, and the last three
            its second moments about that as shares of its area, m^2, along the last two of ``axes_of``: of the first of
            them, of both, and of the second.

    Reads geometries: kind.
    """
    axes = axes_of(normal)
    k, u, v = axes
    for i in range(3):
        total[i] = total[i + 9] = 0.0
    is_mesh = geometries.kind[g] == COMPLIANT_MESH or geometries.kind[g] == RIGID_MESH
    if is_mesh:
        _set_box(buffers, n, total[3:9])
        if not _meets_surface(geometries, g, total[3:9], nodes):
            return math.inf if encloses(geometries, g, buffers[FACE, 0], nodes) else 0.0
        _add_meshes(geometries, g, n, normal, axes, nodes, buffers, values, total)
    else:
        _add_half_space(geometries, g, n, axes, buffers, values, total)
    area = total[0] / abs(normal[k])
    if not total[0] > 0.0:
        return 0.0
    x, y = total[1] / total[0], total[2] / total[0]
    total[9] = total[9] / total[0] - x * x
    total[10] = total[10] / total[0] - x * y
    total[11] = total[11] / total[0] - y * y
    face = buffers[FACE]
    total[k] = face[0, k] - (normal[u] * x + normal[v] * y) / normal[k]
    total[u], total[v] = face[0, u] + x, face[0, v] + y
    return area


@kernel
def covered_depth(geometries, g, n, nodes, buffers, values, box):
    """Largest depth (m) of the part of a polygon that lies in a compliant mesh: pressure over steepness; 0 outside.

    Args:
        geometries: ``GeometrySet``.
        g: Compliant mesh.
        n: Number of vertices of the polygon, which are in ``buffers[FACE]``, in the mesh's frame, m.
        nodes: Stack of tree nodes.
        buffers: (3, MAX_CUT, 3) scratch.
        values: (MAX_CUT,) scratch.
        box: (6,) scratch.

    Reads geometries: boxes, fields, links, node_start, steepness.
    """
    _set_box(buffers, n, box)
    most = 0.0
    nodes[0, 0] = geometries.node_start[g]
    element, num_nodes = _next_leaf(geometries.boxes, geometries.links, box, nodes, 1)
    while element >= 0:
        if _has_pressure(geometries, element):
            count, source = n, FIRST
            for i in range(n):
                for axis in range(3):
                    buffers[FIRST, i, axis] = buffers[FACE, i, axis]
            for face in range(4):
                for m in range(count):
                    values[m] = coordinate(geometries, element, face, buffers[source, m])
                count, source = _cut(buffers, source, count, values), FIRST + SECOND - source
            # The pressure is linear here, so that it is largest at a vertex.
            field, steepness = geometries.fields[element], geometries.steepness[element]
            for m in range(count):
                x = buffers[source, m]
                most = max(most, evaluate(field, x[0], x[1], x[2]) / steepness)
        element, num_nodes = _next_leaf(geometries.boxes, geometries.links, box, nodes, num_nodes)
    return most
