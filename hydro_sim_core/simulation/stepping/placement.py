# mypy: allow-untyped-defs
"""Where geometries are: their poses and bounding boxes in the world, and poses and motions in each other."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel


@kernel
def place_geometries(model, scratch):
    """Compute world poses and bounding boxes of all geometries.

    Reads model: R_BG, geometry_body, geometry_box, p_BG; scratch: R_WB, R_WG, p_WB, p_WG.
    Writes scratch: R_WG, bounds, p_WG.
    """
    for g in range(model.geometry_body.shape[0]):
        body = model.geometry_body[g]
        for i in range(3):
            if body < 0:
                scratch.p_WG[g, i] = model.p_BG[g, i]
                for j in range(3):
                    scratch.R_WG[g, i, j] = model.R_BG[g, i, j]
                continue
            scratch.p_WG[g, i] = scratch.p_WB[body, i]
            for j in range(3):
                scratch.p_WG[g, i] += scratch.R_WB[body, i, j] * model.p_BG[g, j]
                s = 0.0
                for k in range(3):
                    s += scratch.R_WB[body, i, k] * model.R_BG[g, k, j]
                scratch.R_WG[g, i, j] = s
        _bound(model.geometry_box[g], scratch.R_WG[g], scratch.p_WG[g], scratch.bounds[g])


@kernel
def _bound(box, R_WG, p_WG, bounds):
    """Compute the world bounding box (6,) of a box (6,) at a pose; infinite for an infinite one."""
    if box[3] == math.inf:
        for i in range(3):
            bounds[i], bounds[i + 3] = -math.inf, math.inf
        return
    for i in range(3):
        center, half = p_WG[i], 0.0
        for j in range(3):
            center += R_WG[i, j] * box[j]
            half += abs(R_WG[i, j]) * box[j + 3]
        bounds[i], bounds[i + 3] = center - half, center + half


@kernel
def bounds_apart(a, b):
    """Whether two world bounding boxes (6,), lowest corner and highest, are disjoint."""
    for i in range(3):
        if a[i] > b[i + 3] or b[i] > a[i + 3]:
            return True
    return False


@kernel
def set_relative_pose(scratch, a, b, R_BA, p_BA):
    """Compute the pose of geometry ``a`` in ``b``: (3, 3) and (3,), m.

    Reads scratch: R_WG, p_WG.
    """
    for i in range(3):
        p_BA[i] = 0.0
        for j in range(3):
            p_BA[i] += scratch.R_WG[b, j, i] * (scratch.p_WG[a, j] - scratch.p_WG[b, j])
            s = 0.0
            for k in range(3):
                s += scratch.R_WG[b, k, i] * scratch.R_WG[a, k, j]
            R_BA[i, j] = s


@kernel(inline=True)
def copy_rotation(X, R):
    """Write the rotation of a pose, (3, 3) or more columns, into ``R`` (3, 3)."""
    for i in range(3):
        for j in range(3):
            R[i, j] = X[i, j]


@kernel(inline=True)
def turned_back(R, x, y, z):
    """R^T (x, y, z), three numbers."""
    return (
        R[0, 0] * x + R[1, 0] * y + R[2, 0] * z,
        R[0, 1] * x + R[1, 1] * y + R[2, 1] * z,
        R[0, 2] * x + R[1, 2] * y + R[2, 2] * z,
    )


@kernel
def twist_of_pair(V_WB, body_a, body_b, R_WG, p_WG, twist):
    """Twist (6,) of body B relative to A at the origin of a frame G and in its axes."""
    for k in range(6):
        of_b = V_WB[body_b, k] if body_b >= 0 else 0.0
        twist[k] = of_b - (V_WB[body_a, k] if body_a >= 0 else 0.0)
    w0, w1, w2 = twist[0], twist[1], twist[2]
    u0 = twist[3] + w1 * p_WG[2] - w2 * p_WG[1]
    u1 = twist[4] + w2 * p_WG[0] - w0 * p_WG[2]
    u2 = twist[5] + w0 * p_WG[1] - w1 * p_WG[0]
    for i in range(3):
        twist[i] = R_WG[0, i] * w0 + R_WG[1, i] * w1 + R_WG[2, i] * w2
        twist[3 + i] = R_WG[0, i] * u0 + R_WG[1, i] * u1 + R_WG[2, i] * u2


@kernel
def largest_speed(V, x, y, z, radius):
    """Bound on the speed of all points of a body within a radius (m) of one, m/s; V (6,) is its twist."""
    vx, vy, vz = V[3] + V[1] * z - V[2] * y, V[4] + V[2] * x - V[0] * z, V[5] + V[0] * y - V[1] * x
    spin = math.sqrt(V[0] * V[0] + V[1] * V[1] + V[2] * V[2])
    # A half space has no radius, and does not turn.
    turn = spin * radius if spin > 0.0 else 0.0
    return math.sqrt(vx * vx + vy * vy + vz * vz) + turn
