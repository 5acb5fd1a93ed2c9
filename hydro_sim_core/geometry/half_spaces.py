"""Geometry of the half space z <= 0."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.description.spec import DEFAULT_SLAB_THICKNESS
from hydro_sim_core.geometry.checks import non_negative, positive
from hydro_sim_core.geometry.geometry import Geometry, GeometryKind


def half_space(
    modulus: float | None = None,
    *,
    slab_thickness: float = DEFAULT_SLAB_THICKNESS,
    margin: float = 0.0,
    resolution: float | None = None,
) -> Geometry:
    """Make the solid z <= 0 with outward normal +z, and pressure ``-z E / slab_thickness`` when compliant.

    Args:
        modulus: Hydroelastic modulus E, Pa; None makes it rigid.
        slab_thickness: Depth at which the pressure of a compliant half space equals E, m; deeper it increases further.
        margin: Height up to which a compliant half space makes contact faces, m.
        resolution: Ignored: a half space has no mesh.

    Raises:
        InputError: The modulus, slab thickness or resolution is not positive and finite, or the margin is
            negative.
    """
    if resolution is not None:
        positive("half_space", "resolution", resolution)
    if modulus is None:
        return _half_space(GeometryKind.RIGID_HALF_SPACE, np.empty((0, 4)), np.inf, 0.0)
    modulus = positive("half_space", "modulus", modulus)
    slope = modulus / positive("half_space", "slab_thickness", slab_thickness)
    margin = non_negative("half_space", "margin", margin)
    field = np.array([[0.0, 0.0, -slope, 0.0]])
    return _half_space(GeometryKind.COMPLIANT_HALF_SPACE, field, modulus, margin)


def _half_space(kind: GeometryKind, field: np.ndarray, modulus: float, margin: float) -> Geometry:
    corners = 3 if kind == GeometryKind.RIGID_HALF_SPACE else 4
    return Geometry(
        kind=kind,
        vertices=np.empty((0, 3)),
        elements=np.empty((0, corners), dtype=np.int64),
        pressure=np.empty(0),
        fields=field,
        modulus=modulus,
        margin=margin,
        tree_boxes=np.empty((0, 6)),
        tree_links=np.empty((0, 2), dtype=np.int64),
    )
