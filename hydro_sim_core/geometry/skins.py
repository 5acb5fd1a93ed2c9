"""Skins of rigid bodies: stiff pressure fields just inside their surfaces, for contact between two rigid bodies.

Where two rigid bodies meet, one keeps its surface and the other gets a skin, so that they have contact patches like any
other pair (``docs/decisions/0021-rigid-pairs.md``). Convex bodies are filled; others get a layer of prisms on the inner
side of every triangle, at most half as thick as the body is there, and a margin layer on its outer side.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hydro_sim_core.description.spec import ProximitySpec, ShapeSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.convex import convex_mesh
from hydro_sim_core.geometry.geometry import Geometry
from hydro_sim_core.geometry.layer_depths import layer_depths
from hydro_sim_core.geometry.margin_layers import add_margin_layer
from hydro_sim_core.geometry.margins import MarginRule
from hydro_sim_core.geometry.mesh import compliant_mesh
from hydro_sim_core.geometry.shapes import is_convex, make_geometry

#: Rise of the pressure with depth, Pa/m: that of a layer of steel of some centimetres.
SLOPE = 1e13
#: Largest thickness of a layer as a share of the body's smallest extent.
_SHARE_OF_EXTENT = 0.2
#: Smallest extent of an open surface that is flat, as a share of the largest one.
LEAST_EXTENT = 0.02


def rigid_skin(
    surface: Geometry, shape: ShapeSpec, proximity: ProximitySpec, margin_rule: MarginRule, area: float
) -> Geometry:
    """Make the skin of a rigid body.

    Args:
        surface: Its rigid geometry.
        shape: The shape that it was made from.
        proximity: Its contact properties.
        margin_rule: Rule for the margin, which is more only where the properties say so.
        area: Area of which the stiffness of the properties is, m^2.

    Raises:
        InputError: A surface that is not convex passes through itself wherever it is.
    """
    return replace(_stiff_field(surface, shape, proximity, margin_rule, area), is_skin=True)


def _stiff_field(
    surface: Geometry, shape: ShapeSpec, proximity: ProximitySpec, margin_rule: MarginRule, area: float
) -> Geometry:
    slope = skin_slope(proximity, area)
    # So stiff a field throws what it did not foresee.
    margin = max(margin_rule(surface.vertices, np.inf), proximity.margin or 0.0)
    if shape.kind != "mesh":
        soft = replace(proximity, compliance="compliant", modulus=slope, slab_thickness=1.0, margin=margin)
        return with_slope(make_geometry(shape, soft), slope)
    if is_convex(surface.vertices, surface.elements):
        return with_slope(convex_mesh(surface.vertices, modulus=slope, margin=margin), slope)
    return _layers(surface, slope, margin)


def skin_slope(proximity: ProximitySpec, area: float) -> float:
    """Rise of the pressure in the skin of a rigid body, Pa/m; arguments as for ``rigid_skin``."""
    if proximity.point_stiffness is None:
        return SLOPE
    return proximity.point_stiffness / max(area, np.finfo(float).tiny)


def mean_side(geometry: Geometry) -> float:
    """Mean area of the sides of a body's box, m^2; infinite for a half space."""
    if geometry.is_half_space:
        return np.inf
    x, y, z = np.ptp(geometry.body_points, axis=0).tolist()
    return float(x * y + y * z + z * x) / 3.0


def with_slope(skin: Geometry, slope: float) -> Geometry:
    """The geometry with pressures scaled such that they rise by at least ``slope`` everywhere."""
    factor = slope / float(np.linalg.norm(skin.fields[:, :3], axis=1).min())
    return replace(
        skin, pressure=factor * skin.pressure, fields=factor * skin.fields, modulus=factor * skin.modulus
    )


def _layers(surface: Geometry, slope: float, margin: float) -> Geometry:
    """Layers of prisms on both sides of a surface that is not convex."""
    vertices, triangles = surface.vertices, surface.elements
    inwards = np.ascontiguousarray(triangles[:, ::-1])
    nothing = np.zeros((0, 4), dtype=np.int64)
    extents = np.ptp(vertices, axis=0)
    extent = max(float(extents.min()), LEAST_EXTENT * float(extents.max()))
    depths = layer_depths(surface, triangles, _SHARE_OF_EXTENT * extent)
    if not (depths > 0.0).any():
        raise InputError(
            "rigid_skin",
            "vertices",
            "its triangles pass through each other everywhere, so that nothing tells inside from outside",
            "unite the solids in it, give each a <collision> of its own, or declare_convex",
        )
    inner = add_margin_layer("", vertices, nothing, inwards, depths, may_be_thin=True)
    around = np.zeros(len(inner.vertices))
    around[: len(vertices)] = layer_depths(surface, inwards, margin)
    outer = add_margin_layer("", inner.vertices, inner.tetrahedra, triangles, around, may_be_thin=True)
    pressure = slope * np.concatenate([np.zeros(len(vertices)), inner.thickness, -outer.thickness])
    return compliant_mesh(outer.vertices, outer.tetrahedra, pressure, margin=margin)
