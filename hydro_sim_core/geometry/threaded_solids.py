"""Compliant nuts, of tetrahedra that are made in layers from the grid of their thread.

Every triangle of the thread is the inner end of two prisms, one above the other along the radius: the first ends in the
middle layer, where the pressure is the modulus, the second on the hexagon. So flanks, whose field matters, are exact,
and nothing is left to a mesher, which fills a threaded surface with more tetrahedra in most of a minute.
"""

from __future__ import annotations

import numpy as np

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.checks import positive
from hydro_sim_core.geometry.geometry import FloatArray, Geometry, IntArray
from hydro_sim_core.geometry.margins import Margin
from hydro_sim_core.geometry.prisms import split_prisms
from hydro_sim_core.geometry.solids import pressurised
from hydro_sim_core.geometry.turned_surfaces import MetricThread, checked_thread, nut_walls


def compliant_nut(
    thread: MetricThread,
    height: float,
    width: float,
    *,
    modulus: float,
    depth: float | None = None,
    margin: Margin = 0.0,
) -> Geometry:
    """Make the compliant volume that ``metric_nut`` bounds, with the same arguments.

    The pressure rises along the radius from 0 on the thread to E at the depth behind it: by E / depth across crests and
    roots, and by 2 E / depth across flanks, which stand at 60 degrees to the radius. Within the depth of the two ends,
    or half the height, it is less in proportion, and from the middle layer it falls to 0 on the hexagon.

    Args:
        thread: Its thread.
        height: m; a multiple of P / 16 leaves no slivers.
        width: Across the flats, m; two of the corners are on the x axis.
        modulus: Hydroelastic modulus E, Pa.
        depth: Of the middle layer behind the thread, along the radius, m; None takes P / 2.
        margin: Thickness of the margin layer, m, or a rule for it, as for ``pressurised``.

    Raises:
        InputError: A number is out of range, or the middle layer is not inside the hexagon.
    """
    source = "compliant_nut"
    modulus, thread = positive(source, "modulus", modulus), checked_thread(source, thread)
    wall, hexagon = nut_walls(source, thread, height, width)
    depth = positive(source, "depth", 0.5 * thread.pitch if depth is None else depth)
    outside, middle = hexagon[wall.columns], wall.radii + depth
    # Chords of the middle layer are within its circle, and those of the hexagon are the hexagon.
    least = float((outside - wall.radii).min())
    if depth >= least:
        problem = f"of {depth:g} m reaches through the wall"
        raise InputError(source, "depth", problem, f"give less than {least:g} m, or a larger width")
    vertices = np.vstack([wall.vertices, wall.at_radii(middle), wall.at_radii(outside)])
    inside = modulus * np.minimum(wall.from_end / min(depth, 0.5 * wall.length), 1.0)
    none = np.zeros(len(wall.radii))
    return pressurised(
        vertices,
        _two_layers(wall.triangles, inside),
        modulus=modulus,
        field=np.concatenate([none, inside, none]),
        margin=margin,
        source=source,
    )


def _two_layers(triangles: IntArray, inside: FloatArray) -> IntArray:
    """Tetrahedra of the prisms on both sides of the middle layer, whose pressures are given, positively oriented.

    Diagonals leave the corner of highest pressure, lest a tetrahedron at an end has all its corners on the surface;
    neighbours cut their common side alike, since all corners follow one order.
    """
    count = len(inside)
    rank = np.empty(count, dtype=np.int64)
    rank[np.argsort(-inside, kind="stable")] = np.arange(count)
    order = np.argsort(rank[triangles], axis=1)
    a, b, c = np.take_along_axis(triangles, order, axis=1).T
    middle = (a + count, b + count, c + count)
    inner = split_prisms((a, b, c), middle)
    outer = split_prisms((a + 2 * count, b + 2 * count, c + 2 * count), middle)
    # Three numbers in another cyclic order turn a triangle over.
    odd = np.repeat(_is_odd(order), 3)
    return np.vstack([_turned(inner, ~odd), _turned(outer, odd)])


def _is_odd(order: IntArray) -> np.ndarray:
    """Whether each of the orders (M, 3) of three corners is an odd one."""
    return (order[:, 1] - order[:, 0]) % 3 == 2


def _turned(tetrahedra: IntArray, which: np.ndarray) -> IntArray:
    """Tetrahedra, some of which are turned inside out."""
    return np.where(which[:, None], tetrahedra[:, [0, 1, 3, 2]], tetrahedra)
