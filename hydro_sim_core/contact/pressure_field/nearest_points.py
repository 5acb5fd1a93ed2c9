# mypy: allow-untyped-defs
"""Nearest point of a convex surface to a point outside it."""

from __future__ import annotations

import math
from typing import NamedTuple

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.boxes import push_children
from hydro_sim_core.triples import cross, dot


class Way(NamedTuple):
    """Way from a point to the nearest one of a body, m, and how its length changes as the point moves along an axis.

    Attributes:
        x, y, z: The way.
        curvature: Second derivative of half its square along the axis.
    """

    x: float
    y: float
    z: float
    curvature: float


@kernel
def way_to_surface(geometries, g, x, axis, nodes):
    """``Way`` from a point x (3,) to the surface of a convex rigid mesh; of no length from inside it.

    Args:
        geometries: ``GeometrySet``.
        g: The mesh.
        x: Point in its frame, m.
        axis: (3,) unit vector along which the curvature is told.
        nodes: (n, 2) stack of tree nodes.

    Reads geometries: boxes, links, node_start.
    """
    nearest, shortest = Way(0.0, 0.0, 0.0, 0.0), math.inf
    nodes[0, 0] = geometries.node_start[g]
    num_nodes = 1
    while num_nodes > 0:
        num_nodes -= 1
        node = nodes[num_nodes, 0]
        if _to_box(x, geometries.boxes[node]) >= shortest:
            continue
        if geometries.links[node, 0] >= 0:
            num_nodes = push_children(geometries.links, node, nodes, num_nodes)
            # The nearer of the two is looked at first, and mostly leaves nothing of the other.
            one, other = nodes[num_nodes - 1, 0], nodes[num_nodes - 2, 0]
            if _to_box(x, geometries.boxes[one]) > _to_box(x, geometries.boxes[other]):
                nodes[num_nodes - 1, 0], nodes[num_nodes - 2, 0] = other, one
            continue
        element = geometries.links[node, 1]
        way, is_inside = _way_to_triangle(geometries, element, x, axis)
        squared = way.x * way.x + way.y * way.y + way.z * way.z
        if squared < shortest:
            shortest, nearest = squared, way
            if is_inside:
                nearest = Way(0.0, 0.0, 0.0, 0.0)
    return nearest


@kernel(inline=True)
def _to_box(x, box):
    """Square of the distance of x (3,) from a box (6,), m^2."""
    squared = 0.0
    for i in range(3):
        beside = max(abs(x[i] - box[i]) - box[i + 3], 0.0)
        squared += beside * beside
    return squared


@kernel
def _way_to_triangle(geometries, element, x, axis):
    """``Way`` from x (3,) to a triangle, and whether x is above its inner side.

    Reads geometries: elements, fields, vertices.
    """
    normal = geometries.fields[element]
    n = normal[0], normal[1], normal[2]
    corners = geometries.elements[element]
    nearest, shortest = Way(0.0, 0.0, 0.0, 0.0), math.inf
    height, is_above = 0.0, True
    for k in range(3):
        a, b = geometries.vertices[corners[k]], geometries.vertices[corners[(k + 1) % 3]]
        to_a = a[0] - x[0], a[1] - x[1], a[2] - x[2]
        edge = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        height = -dot(n, to_a)
        if dot(cross(edge, n), to_a) >= 0.0:
            continue
        is_above = False
        way = _way_to_edge(to_a, edge, axis)
        squared = way.x * way.x + way.y * way.y + way.z * way.z
        if squared < shortest:
            shortest, nearest = squared, way
    if is_above:
        lean = dot(n, axis)
        return Way(-height * n[0], -height * n[1], -height * n[2], lean * lean), height < 0.0
    return nearest, False


@kernel
def _way_to_edge(to_a, edge, axis):
    """``Way`` to an edge (3,), m, from a point with the way ``to_a`` (3,) to its begin."""
    squared = dot(edge, edge)
    share = -dot(edge, to_a) / squared if squared > 0.0 else 0.0
    along, curvature = dot(edge, axis), 1.0
    if 0.0 < share < 1.0:
        curvature = 1.0 - along * along / squared
    share = min(max(share, 0.0), 1.0)
    return Way(to_a[0] + share * edge[0], to_a[1] + share * edge[1], to_a[2] + share * edge[2], curvature)
