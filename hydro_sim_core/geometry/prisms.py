"""Building blocks of meshes: rings of points, cones over triangles and prisms cut into tetrahedra."""

from __future__ import annotations

import math

import numpy as np

from hydro_sim_core.arithmetic import sines_cosines
from hydro_sim_core.geometry.geometry import FloatArray, IntArray


def ring(radius: float, z: float, sides: int) -> FloatArray:
    """Points (sides, 3) evenly spaced around the z axis at height ``z``, the first above the x axis."""
    sine, cosine = sines_cosines(2.0 * math.pi * np.arange(sides) / sides)
    return np.column_stack([radius * cosine, radius * sine, np.full(sides, z)])


def split_prisms(upper: tuple[IntArray, ...], lower: tuple[IntArray, ...]) -> IntArray:
    """Cut triangular prisms into three tetrahedra each, along the diagonals from lower 0 to upper 1 and 2 and
    from lower 1 to upper 2.

    Args:
        upper: Vertex indices of one end: three arrays (M,).
        lower: Vertex indices of the other end, in the same order.

    Returns:
        (3 M, 4) vertex indices, positively oriented where the upper triangle is counter-clockwise from above.
    """
    u0, u1, u2, l0, l1, l2 = np.broadcast_arrays(*upper, *lower)
    tetrahedra = np.stack([[l0, u0, u1, u2], [l0, l1, u2, u1], [l0, l1, l2, u2]])
    return tetrahedra.transpose(2, 0, 1).reshape(-1, 4)


def cones(apex: IntArray, *triangle: IntArray) -> IntArray:
    """Tetrahedra (M, 4) from an apex and the three vertices of a triangle, arrays that broadcast together."""
    return np.stack(np.broadcast_arrays(*triangle, apex), axis=-1).reshape(-1, 4)
