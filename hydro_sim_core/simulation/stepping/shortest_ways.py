# mypy: allow-untyped-defs
"""Shortest ways from rigid round bodies to what they touch, along which a vertex of their mesh is turned."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.nearest_points import Way, way_to_surface

#: ``Model.pair_axis`` where the mesh of A stays as its body is, and all of ``Model.pair_core`` where that of B does. A
#: convex mesh B has the second as its radius.
NOT_ROUND, CONVEX_MESH = -1.0, -2.0
#: Columns of ``Model.pair_core``.
HALF_OF_CORE, RADIUS_OF_CORE = range(2)
#: Pieces in which the nearest points of an axis and a body are looked for at most.
_MOST_LOOKS = 16


@kernel
def way_to_other(model, pair, R_BA, p_BA, nodes):
    """Shortest way (3,) from the axis of A to B, in B's axes, m; of any length to a half space.

    It leads to a box or a convex mesh, to the centre of a ball, to the axis of a capsule, or to all of a cylinder.
    ``nodes`` (n, 2) is a stack of tree nodes.
    """
    x, y, z, _ = way_and_foot(model, pair, R_BA, p_BA, nodes)
    return x, y, z


@kernel
def way_and_foot(model, pair, R_BA, p_BA, nodes):
    """``way_to_other``, and where on the axis of A it begins, m from its origin.

    Reads model: geometry_row, pair_axis, pair_core, pairs; model.geometries: node_start.
    """
    geometries, row = model.geometries, model.geometry_row[model.pairs[pair, 1]]
    if geometries.node_start[row] == geometries.node_start[row + 1]:
        # A half space has no tree.
        return 0.0, 0.0, -1.0, 0.0
    axis = R_BA[0, 2], R_BA[1, 2], R_BA[2, 2]
    return _way_from_axis(geometries, row, model.pair_core[pair], p_BA, axis, model.pair_axis[pair], nodes)


@kernel
def _way_from_axis(geometries, row, core, p, axis, half, nodes):
    """``way_and_foot`` from an axis, ``half`` (m) to both sides of a point p (3,).

    Half the square of the distance is convex along the axis, and to a box its slope is linear in pieces. Newton's
    method finds where that is nothing; where a step would leave what is known to hold the place, a secant between both
    ends does.
    """
    along, low, high, at_low, at_high = 0.0, -half, half, 0.0, 0.0
    way = _way_from(geometries, row, core, p, axis, along, nodes)
    for _ in range(_MOST_LOOKS):
        slope = -(way.x * axis[0] + way.y * axis[1] + way.z * axis[2])
        if half == 0.0 or slope == 0.0 or way.curvature == 0.0:
            break
        if slope > 0.0:
            high, at_high = along, slope
        else:
            low, at_low = along, slope
        before, along = along, along - slope / way.curvature
        if not low < along < high:
            if at_low < 0.0 < at_high:
                along = low + (high - low) * at_low / (at_low - at_high)
            else:
                along = min(max(along, low), high)
        if along == before:
            break
        way = _way_from(geometries, row, core, p, axis, along, nodes)
    return way.x, way.y, way.z, along


@kernel
def _way_from(geometries, row, core, p, axis, along, nodes):
    """``Way`` from the point of an axis at ``along`` (m) to a core about the z axis, or to a box or mesh without one.

    Reads geometries: boxes, node_start.
    """
    half_of_core, radius = core[HALF_OF_CORE], core[RADIUS_OF_CORE]
    x, y, z = p[0] + along * axis[0], p[1] + along * axis[1], p[2] + along * axis[2]
    if radius == CONVEX_MESH:
        return way_to_surface(geometries, row, (x, y, z), axis, nodes)
    if half_of_core == NOT_ROUND:
        box = geometries.boxes[geometries.node_start[row]]
        x = _way_to_range(x, box[0], box[3])
        y = _way_to_range(y, box[1], box[4])
        z = _way_to_range(z, box[2], box[5])
        curvature = axis[0] * axis[0] if x != 0.0 else 0.0
        curvature += axis[1] * axis[1] if y != 0.0 else 0.0
        curvature += axis[2] * axis[2] if z != 0.0 else 0.0
        return Way(x, y, z, curvature)
    z, distance = _way_to_range(z, 0.0, half_of_core), math.sqrt(x * x + y * y)
    curvature = axis[2] * axis[2] if z != 0.0 else 0.0
    if distance <= radius:
        return Way(0.0, 0.0, z, curvature)
    # Outwards the distance grows as its own way does, across that as along a circle.
    outside, outwards = (distance - radius) / distance, (x * axis[0] + y * axis[1]) / distance
    across = axis[0] * axis[0] + axis[1] * axis[1] - outwards * outwards
    return Way(-outside * x, -outside * y, z, curvature + outwards * outwards + outside * across)


@kernel
def _way_to_range(x, centre, half):
    """Way from a coordinate to the nearest one that is within ``half`` of a centre."""
    return min(max(x, centre - half), centre + half) - x
