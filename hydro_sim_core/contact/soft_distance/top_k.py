"""A few contact points out of the separation field of two clouds: soft selection of the K largest weights.

Equations 12 and 13 of Beker 2025. The selection is the optimal transport, with an entropy, of the weights to K places
in order and one for all that is left over (Xie 2020, "sorted top-k"). A fixed number of Sinkhorn iterations makes it a
function of array operations alone, as smooth as these.
"""

from __future__ import annotations

import math

import array_api_compat

from hydro_sim_core.contact.soft_distance.checks import (
    AnyArray,
    check_libraries,
    check_numbers,
    check_range,
    checked_array,
    checked_pose,
    is_traced,
)
from hydro_sim_core.contact.soft_distance.cloud import OrientedCloud, inverse_times
from hydro_sim_core.contact.soft_distance.distance import soft_distance, softmax
from hydro_sim_core.description.soft_ranges import SELECTION_RANGE, SOFT_RANGES
from hydro_sim_core.errors import InputError, excerpt, whole_number

#: Sinkhorn iterations; entries of rows then add up to 1 to a few digits at temperatures down to a hundredth.
ITERATIONS = 200


def soft_top_k(values: AnyArray, k: int, epsilon: float, iterations: int = ITERATIONS) -> AnyArray:
    """Soft selection of the ``k`` largest of V values, in their order.

    Equal values share their places, at any temperature: the rows of m equal ones have an mth at each of them.

    Args:
        values: (V,) with V > k, float64 or integers; they are scaled to the range from 0 to 1.
        k: How many to select.
        epsilon: Temperature of the selection. As it goes to 0, entry (j, i) goes to 1 if value i is the j-th largest
            and to 0 otherwise.
        iterations: Sinkhorn iterations; the colder, the more it takes.

    Returns:
        (k, V) selection; rows add up to 1.

    Raises:
        InputError: ``values`` is not (V,), V is not above k, or a value is not finite or of less than 64 bits;
            ``epsilon`` is not from 1e-9 to 1e9, or ``iterations`` or ``k`` not a whole number above zero.
    """
    k = whole_number("soft_top_k", "k", k, least=1)
    iterations = whole_number("soft_top_k", "iterations", iterations, least=1)
    check_range(epsilon, "soft_top_k", "epsilon", SELECTION_RANGE)
    values = _checked_values(values)
    if values.ndim != 1 or values.shape[0] <= k:
        problem = f"have shape {tuple(values.shape)}"
        raise InputError("soft_top_k", "values", problem, f"give more than k = {k} values")
    xp = array_api_compat.array_namespace(values)
    count = values.shape[0]
    low, high = xp.min(values), xp.max(values)
    scaled = (values - low) / xp.where(high > low, high - low, xp.ones_like(high))
    # Places k, k - 1, ..., 1 for the selected and 0 for the rest, scaled to the same range.
    places = xp.astype(xp.arange(k, -1, -1), values.dtype) / k
    costs = (scaled[:, None] - places[None, :]) ** 2
    ones = xp.ones((k,), dtype=values.dtype) / count
    room = xp.log(xp.concat([ones, xp.asarray([(count - k) / count], dtype=values.dtype)]))
    columns = xp.zeros_like(room)
    hot = xp.maximum(epsilon, 1.0) if is_traced(epsilon) else max(epsilon, 1.0)
    # Cooled down slowly from 1, as cold iterations alone move little.
    for number in range(iterations):
        warmth = max(1.0 - 2.0 * number / iterations, 0.0)
        temperature = hot**warmth * epsilon ** (1.0 - warmth)
        scores = -costs / temperature
        rows = -_log_sum_exp(scores + columns[None, :] / temperature, 1) - math.log(count)
        columns = temperature * (room - _log_sum_exp(scores + rows[:, None], 0))
    plan = xp.exp(-costs / epsilon + rows[:, None] + columns[None, :] / epsilon)
    return count * plan[:, :k].T


def _checked_values(values: AnyArray) -> AnyArray:
    """The values as an array of finite numbers of 64 bits."""
    values = checked_array(values, "soft_top_k", "values")
    xp = array_api_compat.array_namespace(values)
    # Fractions of integers would be rounded to them.
    if xp.isdtype(values.dtype, "integral"):
        values = xp.astype(values, xp.float64)
    check_numbers("soft_top_k", "values", values)
    return values


def collision_points(
    a: OrientedCloud,
    X_WA: AnyArray,
    b: OrientedCloud,
    X_WB: AnyArray,
    k: int,
    epsilons: tuple[float, float, float],
) -> AnyArray:
    """Contact points (k, 3) of two clouds in the world, m, that most presses on first; eqs. 12 and 13.

    The weights of the separation field go over from the cells to their corners where both clouds have these, and stay
    with the points otherwise. A corner has those of all cells that meet in it, so that corners inside a face come
    before its own. Points that weigh the same give their middle as often as there are of them: of two boxes with
    parallel faces this tells where they touch, not how far that reaches.

    Args:
        a: Surface A in its frame.
        X_WA: (4, 4) pose of A in the world.
        b: Surface B in its frame.
        X_WB: (4, 4) pose of B in the world.
        k: How many points.
        epsilons: Temperatures of the averages over planes (m^2) and points (m), and of the selection.

    Raises:
        InputError: As for ``soft_top_k``; or a cloud is a half space, which has no points, or a pose no
            rigid transform.
    """
    if a.is_half_space or b.is_half_space:
        raise InputError("collision_points", "cloud", "is a half space", "give it a bounded body")
    X_WA, X_WB = (checked_pose(X, "collision_points", name) for name, X in (("X_WA", X_WA), ("X_WB", X_WB)))
    _check_temperatures(epsilons)
    check_libraries("collision_points", a=a.points, b=b.points, X_WA=X_WA, X_WB=X_WB)
    xp = array_api_compat.array_namespace(a.points)
    X_AB, X_BA = inverse_times(X_WA, X_WB), inverse_times(X_WB, X_WA)
    field = xp.concat(
        [
            soft_distance(a, _moved(b.points, X_AB), epsilons[0]),
            soft_distance(b, _moved(a.points, X_BA), epsilons[0]),
        ]
    )
    weights, count = softmax(-field / epsilons[1]), b.points.shape[0]
    places = xp.concat([_moved(b.points, X_WB), _moved(a.points, X_WA)])
    if a.faces is not None and b.faces is not None:
        weights = xp.concat([_to_corners(b, weights[:count]), _to_corners(a, weights[count:])])
        places = xp.concat([_moved(b.vertices, X_WB), _moved(a.vertices, X_WA)])
    return soft_top_k(weights, k, epsilons[2]) @ places


def _check_temperatures(epsilons: tuple[float, float, float]) -> None:
    if not isinstance(epsilons, tuple | list) or len(epsilons) != 3:
        raise InputError("collision_points", "epsilons", f"is {excerpt(epsilons)}", "give three temperatures")
    bounds = SOFT_RANGES["epsilon1"], SOFT_RANGES["epsilon2"], SELECTION_RANGE
    for number, (epsilon, of_one) in enumerate(zip(epsilons, bounds, strict=True)):
        check_range(epsilon, "collision_points", f"epsilons[{number}]", of_one)


def _moved(points: AnyArray, X: AnyArray) -> AnyArray:
    return points @ X[:3, :3].T + X[:3, 3]


def _to_corners(cloud: OrientedCloud, weights: AnyArray) -> AnyArray:
    """Sum (V,) at every corner of the weights (N,) of the cells that meet in it, eq. 12."""
    xp = array_api_compat.array_namespace(weights)
    corners, of_cell = cloud.faces.ravel(), xp.repeat(weights, cloud.faces.shape[1])
    # A product with a sparse matrix of ones, sorted by corner: the standard has no sums by index.
    order = corners.argsort(kind="stable")
    sums = xp.cumulative_sum(xp.take(of_cell, xp.asarray(order)), include_initial=True)
    ends = corners[order].searchsorted(range(cloud.vertices.shape[0]), side="right")
    begins = corners[order].searchsorted(range(cloud.vertices.shape[0]), side="left")
    return xp.take(sums, xp.asarray(ends)) - xp.take(sums, xp.asarray(begins))


def _log_sum_exp(x: AnyArray, axis: int) -> AnyArray:
    xp = array_api_compat.array_namespace(x)
    largest = xp.max(x, axis=axis, keepdims=True)
    total = xp.log(xp.sum(xp.exp(x - largest), axis=axis, keepdims=True)) + largest
    return xp.squeeze(total, axis=axis)
