"""Boxes, meshed by one region per face between the face and the medial axis.

The central part of a box's medial axis, at the largest depth, is a rectangle parallel to the two largest faces; it
degenerates to a segment if the two shortest lengths are equal, and to the centre for a cube. A sheet of the medial axis
joins each edge of the box to the nearest part of that rectangle. The sheets divide the box into one region per face, in
which the depth is linear.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hydro_sim_core.geometry.checks import lengths, non_negative, positive
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, IntArray
from hydro_sim_core.geometry.mesh import MEDIAL_TOLERANCE, primitive

#: Rotations of the x axis, along which the canonical box is shortest, to each axis.
_R_BC = np.array([np.eye(3), [[0, -1, 0], [1, 0, 0], [0, 0, 1]], [[0, 0, -1], [0, 1, 0], [1, 0, 0]]])

#: Signs of the corners; corner (i, j, k) has index 4 i + 2 j + k.
_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])

Triangle = tuple[int, int, int]


def box(
    *size: Any,
    resolution: float | None = None,
    modulus: float | None = None,
    margin: float = 0.0,
) -> Geometry:
    """Make a box centred at the origin, with pressure ``E depth / (half the shortest length)``.

    Args:
        *size: Full lengths along x, y and z, m: three numbers or one sequence of them.
        resolution: Ignored: the coarsest mesh already has the exact field.
        modulus: Hydroelastic modulus E, Pa; None makes the rigid surface.
        margin: Distance of the faces of a compliant mesh outside the box, m.

    Raises:
        InputError: A length or the modulus is not positive and finite, or the margin is negative.
    """
    half = lengths("box", size) / 2.0
    if resolution is not None:
        positive("box", "resolution", resolution)
    margin = 0.0 if modulus is None else non_negative("box", "margin", margin)
    modulus = None if modulus is None else positive("box", "modulus", modulus)

    R_BC = _R_BC[half.argmin()]
    vertices, tetrahedra, num_surface = _canonical_box(np.abs(R_BC.T) @ half, margin)
    unit_pressure = np.where(np.arange(len(vertices)) < num_surface, 0.0 - margin / half.min(), 1.0)
    return primitive(vertices @ R_BC.T, tetrahedra, unit_pressure, modulus=modulus, margin=margin)


def _canonical_box(half: FloatArray, margin: float) -> tuple[FloatArray, IntArray, int]:
    """Mesh a box that is shortest along x; surface vertices come first, and their number is returned."""
    axes = np.eye(3)
    surface = np.vstack([_CORNERS, -axes, axes]) * (half + margin)
    medial_half = np.where(half - half[0] > MEDIAL_TOLERANCE * half[0], half - half[0], 0.0)
    medial, nearest = np.unique(_CORNERS * medial_half + 0.0, axis=0, return_inverse=True)
    nearest = nearest.ravel() + len(surface)
    middle = len(surface) + len(medial)  # used only if the medial part is a segment, which is halved
    halved = np.count_nonzero(medial_half) == 1

    tetrahedra = [
        (*triangle, len(_CORNERS) + face)
        for face in range(6)
        for triangle in _sheets(face, nearest, middle if halved else None)
    ]
    points = [surface, medial, np.zeros((1, 3))] if halved else [surface, medial]
    return np.vstack(points), np.array(tetrahedra), len(surface)


def _sheets(face: int, nearest: IntArray, middle: int | None) -> list[Triangle]:
    """Triangles of the sheets that bound the region of a face (-x, -y, -z, x, y, z)."""
    axis, sign = face % 3, 1 if face >= 3 else -1
    on_face = np.flatnonzero(_CORNERS[:, axis] == sign).tolist()
    triangles: list[Triangle] = []
    for low in on_face:
        for high in on_face:
            if high > low and np.count_nonzero(_CORNERS[low] != _CORNERS[high]) == 1:
                triangles += _sheet(low, high, nearest[low], nearest[high], middle)
    if axis == 0 and len(set(nearest)) == 4:
        mm, mp, pm, pp = nearest[:4]  # by the signs of y and z
        triangles += [(mp, pp, pm), (mp, pm, mm)]
    return triangles


def _sheet(low: int, high: int, medial_low: int, medial_high: int, middle: int | None) -> list[Triangle]:
    """Triangulate the sheet between a box edge and the nearest medial point or segment."""
    if medial_low == medial_high:
        return [(low, high, medial_low)]
    if middle is None:
        return [(low, high, medial_high), (low, medial_high, medial_low)]
    return [(low, high, middle), (low, middle, medial_low), (high, middle, medial_high)]
