# mypy: allow-untyped-defs
"""Quaternions of what the ring tells."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel


@kernel
def write_quaternion(R, reals, at):
    """Write the unit quaternion (w, x, y, z) of a rotation, by its largest component (Shepperd's method)."""
    w, x, y = 1.0 + R[0, 0] + R[1, 1] + R[2, 2], 1.0 + R[0, 0] - R[1, 1] - R[2, 2], 1.0 - R[0, 0] + R[1, 1]
    y -= R[2, 2]
    z = 4.0 - w - x - y
    most = max(max(w, x), max(y, z))
    if most == w:
        x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    elif most == x:
        w, y, z = R[2, 1] - R[1, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]
    elif most == y:
        w, x, z = R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], R[1, 2] + R[2, 1]
    else:
        w, x, y = R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    length = math.sqrt(w * w + x * x + y * y + z * z)
    reals[at], reals[at + 1], reals[at + 2], reals[at + 3] = w / length, x / length, y / length, z / length
