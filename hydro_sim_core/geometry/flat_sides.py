"""Flat sides of a surface, and whether they are meshed by large triangles, as a cylinder's end is by a fan of wedges.

Where such a side lies on another body, faces are as large as the patch, whatever the resolution hint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.geometry.adjacency import components_of, neighbors_of

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Length of a side from which on it is large, as a share of the root of the whole surface; and of one that a body may
#: stand on if it is made of more than ``FACET`` triangles, such as the foot of a vase.
LARGE, STANDS = 0.25, 0.03
#: Most triangles of a facet: two in a plane are a patch of any round body that is made of quadrangles.
FACET = 2
#: Share of a side's second moment within its triangles from which on they are large. That of a fan of wedges is 1/9 and
#: more, however many they are; that of n x n squares 1 / n^2.
MOST_WITHIN = 0.02
#: Sine of the angle up to which neighbours lie in one plane: files hold few decimals.
_FLAT = 1e-4


def has_coarse_flats(vertices: Floats, triangles: Indices) -> bool:
    """Whether a large flat side has much of its second moment within its triangles.

    Args:
        vertices: (N, 3) m.
        triangles: (T, 3) vertex indices of the closed surface.
    """
    corners = vertices[triangles]
    doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = 0.5 * np.linalg.norm(doubled, axis=1)
    if not areas.sum() > 0.0:
        return False
    side = _sides(triangles, doubled, areas)
    count = int(side.max()) + 1
    within = areas * np.square(corners - np.roll(corners, 1, axis=1)).sum(axis=(1, 2)) / 36.0
    middles = corners.mean(axis=1)
    of_side = np.bincount(side, areas, count)
    centres = np.stack([np.bincount(side, areas * x, count) for x in middles.T], axis=1) / of_side[:, None]
    between = areas * np.square(middles - centres[side]).sum(axis=1)
    own, whole = np.bincount(side, within, count), np.bincount(side, within + between, count)
    # A side of this second moment about its centroid is as long as a rectangle of it, or a little longer.
    length = np.sqrt(12.0 * whole / of_side)
    is_flat = np.bincount(side, minlength=count) > FACET
    is_large = length > np.where(is_flat, STANDS, LARGE) * np.sqrt(areas.sum())
    return bool(np.any(is_large & (own > MOST_WITHIN * whole)))


def _sides(triangles: Indices, doubled: Floats, areas: Floats) -> Indices:
    """Number (T,) of each triangle's flat side: neighbours in one plane belong together."""
    neighbors = neighbors_of(triangles[:, [1, 2, 2, 0, 0, 1]].reshape(-1, 2), 3)
    across = np.linalg.norm(np.cross(doubled[:, None], doubled[neighbors]), axis=2)
    is_flat = across <= 4.0 * _FLAT * areas[:, None] * areas[neighbors]
    is_flat &= np.einsum("ij,ikj->ik", doubled, doubled[neighbors]) > 0.0
    return components_of(np.where(is_flat, neighbors, -1))
