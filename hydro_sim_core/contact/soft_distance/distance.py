"""Signed distances softened by a weighted average over all planes of a cloud.

Equation numbers are those of Beker 2025. All functions take arrays of any array API library, return arrays of the same
library, and are differentiable if that library is.
"""

from __future__ import annotations

from collections.abc import Callable

import array_api_compat
import numpy as np

from hydro_sim_core.contact.soft_distance.checks import (
    AnyArray,
    check_bits,
    check_libraries,
    check_parameter,
    checked_array,
    checked_pose,
)
from hydro_sim_core.contact.soft_distance.cloud import OrientedCloud, blocks, inverse_times, placed
from hydro_sim_core.errors import InputError

#: From differences ``p - p_i`` (M, N, 3), m, to logarithms (M, N) of basis functions.
LogBasis = Callable[[AnyArray], AnyArray]


def soft_distance(cloud: OrientedCloud, points: AnyArray, epsilon1: float) -> AnyArray:
    """Soft signed distance (M,) of points to a cloud, m, eq. 9; negative inside.

    Args:
        cloud: The surface.
        points: (M, 3) in the cloud's frame, m, of the cloud's array library.
        epsilon1: Temperature of the average over planes, m^2. As it goes to 0 only the nearest plane counts;
            the error of a dense cloud is about ``-epsilon1`` times the mean curvature over 2.

    Raises:
        InputError: ``points`` is not (M, 3) or not finite, or ``epsilon1`` not a positive number.
    """
    points = _checked_points(cloud, points, "soft_distance")
    check_parameter(epsilon1, "soft_distance", "epsilon1")
    xp = array_api_compat.array_namespace(cloud.points, points)
    distances = []
    for block in blocks(points.shape[0], cloud.points.shape[0]):
        weights, heights = weights_and_heights(cloud.points, cloud.normals, points[block, :], epsilon1)
        distances.append(xp.sum(weights * heights, axis=1))
    return xp.concat(distances)


def general_distance(cloud: OrientedCloud, points: AnyArray, log_basis: LogBasis) -> AnyArray:
    """Soft signed distance (M,) with basis functions of one's own, m, eq. 10.

    Args:
        cloud: The surface.
        points: (M, 3) in the cloud's frame, m, of the cloud's array library.
        log_basis: From (M, N, 3) differences ``p - p_i``, m, the logarithms (M, N) of the basis functions ``B_i``; a
            factor common to all of a point's cancels. ``anisotropic_gaussians`` makes one.

    Raises:
        InputError: ``points`` is not (M, 3) or not finite, or ``log_basis`` gives another shape.
    """
    points = _checked_points(cloud, points, "general_distance")
    xp = array_api_compat.array_namespace(cloud.points, points)
    distances = []
    for block in blocks(points.shape[0], 3 * cloud.points.shape[0]):
        differences = points[block, None, :] - cloud.points[None, :, :]
        heights = xp.sum(differences * cloud.normals[None, :, :], axis=2)
        logarithms = log_basis(differences)
        if logarithms.shape != heights.shape:
            problem, mend = f"gives shape {tuple(logarithms.shape)}", f"give {tuple(heights.shape)}"
            raise InputError("general_distance", "log_basis", problem, mend)
        distances.append(xp.sum(softmax(logarithms) * heights, axis=1))
    return xp.concat(distances)


def anisotropic_gaussians(precisions: AnyArray) -> LogBasis:
    """Basis functions ``exp(-d^T Q_i d)`` for ``general_distance``: with ``Q_i = I / epsilon1``, those of eq. 9.

    Args:
        precisions: (N, 3, 3) symmetric matrices Q_i of the planes in the cloud's frame, 1/m^2, or (3, 3) for all.
    """

    def log_basis(differences: AnyArray) -> AnyArray:
        xp = array_api_compat.array_namespace(differences)
        if tuple(precisions.shape) not in ((3, 3), (differences.shape[-2], 3, 3)):
            problem, mend = (
                f"has shape {tuple(precisions.shape)}",
                "give one (3, 3) matrix a plane, or one for all",
            )
            raise InputError("anisotropic_gaussians", "precisions", problem, mend)
        return -xp.sum(xp.sum(differences[..., :, None] * precisions, axis=-2) * differences, axis=-1)

    return log_basis


def soft_distance_gradient(cloud: OrientedCloud, points: AnyArray, epsilon1: float) -> AnyArray:
    """Gradient (M, 3) of ``soft_distance`` with respect to the points, in closed form: a smooth field of normals.

    Arguments and errors are those of ``soft_distance``.
    """
    points = _checked_points(cloud, points, "soft_distance_gradient")
    check_parameter(epsilon1, "soft_distance_gradient", "epsilon1")
    xp = array_api_compat.array_namespace(cloud.points, points)
    centres = cloud.points - xp.mean(cloud.points, axis=0)
    gradients = []
    for block in blocks(points.shape[0], cloud.points.shape[0]):
        weights, heights = weights_and_heights(cloud.points, cloud.normals, points[block, :], epsilon1)
        distance = xp.sum(weights * heights, axis=1)[:, None]
        # A weight w_i changes by 2 w_i (p_i - mean of p) / epsilon1 as the point moves.
        spread = (weights * (heights - distance)) @ centres
        gradients.append(weights @ cloud.normals + (2.0 / epsilon1) * spread)
    return xp.concat(gradients)


def separation(
    a: OrientedCloud, X_WA: AnyArray, b: OrientedCloud, X_WB: AnyArray, epsilon1: float, epsilon2: float
) -> AnyArray:
    """Soft separation of two bodies, m; minus the penetration when they overlap.

    The smooth counterpart of eq. 11: the average of the separation field weighted by its own soft minimum.

    Args:
        a: Surface A in its frame.
        X_WA: (4, 4) pose of A in the world.
        b: Surface B in its frame.
        X_WB: (4, 4) pose of B in the world.
        epsilon1: Temperature of the average over planes, m^2.
        epsilon2: Temperature of the average over points, m.

    Returns:
        A 0-dimensional array.

    Raises:
        InputError: A pose is no rigid transform or a temperature not a positive number.
    """
    X_WA, X_WB = checked_pose(X_WA, "separation", "X_WA"), checked_pose(X_WB, "separation", "X_WB")
    check_libraries("separation", a=a.points, b=b.points, X_WA=X_WA, X_WB=X_WB)
    xp = array_api_compat.array_namespace(a.points)
    check_parameter(epsilon2, "separation", "epsilon2")
    if a.is_half_space and b.is_half_space:
        raise InputError("separation", "clouds", "are two half spaces", "give one of them a bounded body")
    # A half space has no points that could be inside the other body.
    fields = []
    if not b.is_half_space:
        X_AB = inverse_times(X_WA, X_WB)
        fields.append(soft_distance(a, placed(b, X_AB[:3, :3], X_AB[:3, 3]).points, epsilon1))
    if not a.is_half_space:
        X_BA = inverse_times(X_WB, X_WA)
        fields.append(soft_distance(b, placed(a, X_BA[:3, :3], X_BA[:3, 3]).points, epsilon1))
    field = xp.concat(fields)
    return xp.sum(softmax(-field / epsilon2) * field)


def weights_and_heights(
    plane_points: AnyArray, plane_normals: AnyArray, points: AnyArray, epsilon1: float
) -> tuple[AnyArray, AnyArray]:
    """Weight and height of every point (row) over every plane (column), (M, N) each, eqs. 7 to 9.

    Written as matrix products: no (M, N, 3) array of differences is needed.
    """
    xp = array_api_compat.array_namespace(plane_points, points)
    # Coordinates relative to the mean avoid cancellation in the products far from the origin.
    origin = xp.mean(plane_points, axis=0)
    p, centres = points - origin, plane_points - origin
    # -|p - p_i|^2 without |p|^2, which is the same in all columns and cancels in the softmax.
    closeness = 2.0 * (p @ centres.T) - xp.sum(centres * centres, axis=1)
    heights = p @ plane_normals.T - xp.sum(centres * plane_normals, axis=1)
    return softmax(closeness / epsilon1), heights


def softmax(x: AnyArray) -> AnyArray:
    """``exp(x)`` along the last axis divided by its sum, without overflow."""
    xp = array_api_compat.array_namespace(x)
    exponentials = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return exponentials / xp.sum(exponentials, axis=-1, keepdims=True)


def _checked_points(cloud: OrientedCloud, points: AnyArray, source: str) -> AnyArray:
    points = checked_array(points, source, "points")
    check_libraries(source, cloud=cloud.points, points=points)
    if points.ndim != 2 or points.shape[1] != 3:
        raise InputError(source, "points", f"has shape {points.shape}", "give shape (M, 3)")
    if array_api_compat.is_numpy_array(points) and not np.all(np.isfinite(points)):
        raise InputError(source, "points", "hold NaN or infinity", "give finite numbers")
    if not array_api_compat.is_numpy_array(points):
        check_bits(source, "points", points)
    return points
