"""How large the triangles of a surface are: a contact face is no larger than what it is cut from."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class TriangleSizes(NamedTuple):
    """Size and shape of triangles; how far a force is spread within one is the second moment of its area.

    Attributes:
        spread: Largest mean square distance within a triangle from its centroid, m^2.
        slenderness: That distance over the area of the triangle, weighted by second moments: 0.19 for equal sides.
    """

    spread: float
    slenderness: float


#: Of a half space, where a face is what the other body makes of it.
UNBOUNDED = TriangleSizes(math.inf, math.inf)


def triangle_sizes(vertices: Floats, triangles: Indices) -> TriangleSizes:
    """Sizes of the triangles of a surface.

    Args:
        vertices: (N, 3) m.
        triangles: (T, 3) vertex indices.
    """
    # Steps read these, so they are sums and products one by one: other processors add in another order.
    a, b, c = (vertices[triangles[:, i]].T for i in range(3))
    areas = 0.5 * np.sqrt(_squares(_cross(b - a, c - a)))
    spreads = (_squares(b - a) + _squares(c - b) + _squares(a - c)) / 36.0
    weight = math.fsum((areas * areas).tolist())
    if not weight > 0.0:
        return TriangleSizes(0.0, 0.0)
    return TriangleSizes(float(spreads.max()), math.fsum((areas * spreads).tolist()) / weight)


def _squares(vectors: Floats) -> Floats:
    x, y, z = vectors
    return np.asarray(x * x + y * y + z * z)


def _cross(first: Floats, second: Floats) -> Floats:
    (a, b, c), (x, y, z) = first, second
    return np.array([b * z - c * y, c * x - a * z, a * y - b * x])
