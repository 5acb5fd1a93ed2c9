# mypy: allow-untyped-defs
"""How the closest point of two segments runs along them.

Segments that cross at a small angle are closest at a point that moves by metres for each radian that one of them turns.
So a step does not only know where it is, but also how the gap rises beside it, and finds the point of its end.
"""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel

#: Replaces the cosine of a right angle in a denominator.
LEAST_COSINE = 1e-9


@kernel
def let_run(p, p_end, s, q, q_end, t, distance, along_a, manifold, point):
    """Write how a point between the closest points of two segments runs; nothing if these are ends of both.

    Args:
        p: (3,) begin of the segment of A.
        p_end: (3,) its end.
        s: Share of it at the closest point.
        q: (3,) begin of the segment of B.
        q_end: (3,) its end.
        t: Share of it at the closest point.
        distance: Distance of the two points, m.
        along_a: Distance of the point from the segment of A, m.
        manifold: ``Manifold``, with the direction of the point.
        point: Its number.

    Reads manifold: directions, run, tilt.
    Writes manifold: bow, run, running, tilt.
    """
    n, run, tilt = manifold.directions[point], manifold.run, manifold.tilt
    if not (0.0 < s < 1.0 or 0.0 < t < 1.0):
        return
    length_a, length_b, cosine = _lengths_and_cosine(p, p_end, q, q_end)
    # It runs along A, and the other way round along B if that is turned; what is not an end of its segment leads.
    turned, is_end_of_a = -1.0 if cosine < 0.0 else 1.0, not 0.0 < s < 1.0
    cosine = max(abs(cosine), LEAST_COSINE)
    slope = 0.0
    for k in range(3):
        d, e = (p_end[k] - p[k]) / length_a, turned * (q_end[k] - q[k]) / length_b
        tilt[k] = cosine * e - d if is_end_of_a else e - cosine * d
        run[k] = d if is_end_of_a else cosine * d
        slope += tilt[k] * n[k]
    for k in range(3):
        tilt[k] = (tilt[k] - slope * n[k]) / distance
        run[k] += along_a * tilt[k]
    back_b, on_b = (t, 1.0 - t) if turned > 0.0 else (1.0 - t, t)
    of_a, of_b = (1.0, cosine) if is_end_of_a else (cosine, 1.0)
    low = max(-s * length_a / of_a, -back_b * length_b / of_b)
    high = min((1.0 - s) * length_a / of_a, on_b * length_b / of_b)
    _, across = squared_sines(p, p_end, q, q_end, n)
    bend = across / distance
    if bend <= 0.0 or low >= high:
        return
    manifold.bow[0], manifold.bow[1], manifold.bow[2], manifold.bow[3] = slope, bend, low, high
    manifold.running[0] = point


@kernel
def squared_sines(p, p_end, q, q_end, n):
    """Squared sine of the angle between two segments, and of that seen along a unit vector n across one of them."""
    dd = de = ee = along = 0.0
    for k in range(3):
        i, m = (k + 1) % 3, (k + 2) % 3
        d, e = p_end[k] - p[k], q_end[k] - q[k]
        dd, de, ee = dd + d * d, de + d * e, ee + e * e
        along += n[k] * ((p_end[i] - p[i]) * (q_end[m] - q[m]) - (p_end[m] - p[m]) * (q_end[i] - q[i]))
    return (dd * ee - de * de) / (dd * ee), along * along / (dd * ee)


@kernel
def _lengths_and_cosine(p, p_end, q, q_end):
    """Lengths of two segments, m, and the cosine of the angle between them."""
    dd = de = ee = 0.0
    for k in range(3):
        d, e = p_end[k] - p[k], q_end[k] - q[k]
        dd, de, ee = dd + d * d, de + d * e, ee + e * e
    return math.sqrt(dd), math.sqrt(ee), de / math.sqrt(dd * ee)
