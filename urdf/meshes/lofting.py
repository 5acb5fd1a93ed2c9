"""Surfaces from section curves, for the meshes in this folder: turned, swept, wrapped around a solid, or flat.

A surface is its vertices (N, 3), m, and outward triangles (M, 3). Scripts beside this file describe things with it and
write them as Wavefront files; run one of them to write its meshes again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
#: Signed values at points (N, 3): below 0 inside.
Solid = Callable[[Array], Array]

FOLDER = Path(__file__).parent
#: Decimals of positions (m) and normals that are written.
DIGITS, NORMAL_DIGITS = 5, 2
#: Angle between triangles above which an edge is sharp, as in the viewer.
SHARP = np.radians(40.0)
#: Halvings of the interval in which a ray leaves a solid.
HALVINGS = 24
#: Length of such a ray, m.
REACH = 0.1


class Surface(NamedTuple):
    """Vertices (N, 3), m, and outward triangles (M, 3)."""

    vertices: Array
    triangles: Indices


# --- curves


def rounded(corners: Sequence[tuple[float, ...]], steps: int = 5, closed: bool = False) -> Array:
    """A polygon's corners (N, 2), each replaced by an arc that touches both sides.

    Args:
        corners: Two coordinates and, where a corner is round, the radius of its arc.
        steps: Segments of an arc of a right angle; others have as many as their share of it.
        closed: Whether the last corner is followed by the first; if not, both ends stay as they are.
    """
    curve: list[Array] = []
    for i, (x, y, *radius) in enumerate(corners):
        corner = np.array([x, y])
        if not radius or radius[0] == 0.0 or (not closed and i in (0, len(corners) - 1)):
            curve.append(corner[None])
            continue
        before, after = (np.array(corners[(i + d) % len(corners)][:2]) - corner for d in (-1, 1))
        before, after = before / np.linalg.norm(before), after / np.linalg.norm(after)
        half = 0.5 * np.arccos(np.clip(before @ after, -1.0, 1.0))
        middle = corner + (before + after) / np.linalg.norm(before + after) * radius[0] / np.sin(half)
        start = corner + before * radius[0] / np.tan(half) - middle
        end = corner + after * radius[0] / np.tan(half) - middle
        turn = np.pi - 2.0 * half
        share = np.linspace(0.0, 1.0, max(2, round(steps * turn / (0.5 * np.pi)) + 1))[:, None]
        arc = (np.sin((1.0 - share) * turn) * start + np.sin(share * turn) * end) / np.sin(turn)
        curve.append(middle + arc)
    return np.vstack(curve)


def superellipse(a: float, b: float, exponent: float, count: int) -> Array:
    """Outline (count, 2) of |x / a|^n + |y / b|^n = 1: an ellipse for 2, nearly a rectangle for 6."""
    angle = 2.0 * np.pi * np.arange(count) / count
    x, y = np.cos(angle), np.sin(angle)
    power = 2.0 / exponent
    return np.column_stack([a * np.sign(x) * np.abs(x) ** power, b * np.sign(y) * np.abs(y) ** power])


def spline(knots: ArrayLike, count: int) -> Array:
    """A smooth curve (count, d) through knots (K, d), K > 2, with straight ends: a cubic spline."""
    from scipy.interpolate import CubicSpline

    points = np.asarray(knots, dtype=np.float64)
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    return CubicSpline(lengths, points, bc_type="natural")(np.linspace(0.0, lengths[-1], count))


# --- surfaces


def lofted(rings: Sequence[Array]) -> Surface:
    """The closed surface through rings (K, 3) of equal counts, counterclockwise seen from the last ring.

    A ring of one point is a pole; other ends are closed by a flat cap.
    """
    middles = [rings[0].mean(axis=0)[None]] if len(rings[0]) > 1 else []
    rings = [*middles, *rings] + ([rings[-1].mean(axis=0)[None]] if len(rings[-1]) > 1 else [])
    starts = np.cumsum([0, *map(len, rings)])
    numbers = [np.arange(a, b) for a, b in pairwise(starts)]
    return Surface(np.vstack(rings), np.vstack([_strip(a, b) for a, b in pairwise(numbers)]))


def _strip(lower: Indices, upper: Indices) -> Indices:
    """Triangles between two rings of equal counts, of which one may be a point."""
    if len(lower) == 1:
        return np.column_stack([np.repeat(lower, len(upper)), np.roll(upper, -1), upper])
    if len(upper) == 1:
        return np.column_stack([lower, np.roll(lower, -1), np.repeat(upper, len(lower))])
    beside, above = np.roll(lower, -1), np.roll(upper, -1)
    return np.vstack([np.column_stack([lower, beside, above]), np.column_stack([lower, above, upper])])


def turned(profile: Array, count: int = 48) -> Surface:
    """A profile (N, 2) of radii and heights turned about z.

    It starts and ends on the axis, and its inside is on the left of it: it goes up on the outside.
    """
    angle = 2.0 * np.pi * np.arange(count) / count
    rings = []
    for radius, height in profile:
        ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.full(count, height)])
        rings.append(ring if radius > 0.0 else ring[:1])
    return lofted(rings)


def swept(spine: Array, outlines: Sequence[Array], side: ArrayLike) -> Surface:
    """Outlines (K, 2) along a spine (N, 3) that lies in a plane across ``side``, which is their first axis."""
    tangents = np.gradient(spine, axis=0)
    side = np.asarray(side, dtype=np.float64)
    rings = []
    for point, tangent, outline in zip(spine, tangents, outlines, strict=True):
        up = np.cross(tangent / np.linalg.norm(tangent), side)
        rings.append(point + outline[:, :1] * side + outline[:, 1:] * up)
    return lofted(rings)


def wrapped(solid: Solid, spine: Array, count: int = 40, ends: int = 8, flat_end: bool = False) -> Surface:
    """A skin around a solid: rays from the points of a spine (N, 3), each across the spine's axis.

    From an end of the spine rays fan out up to its axis. The solid holds the spine, and every point of its surface is
    seen from where its ray starts.

    Args:
        solid: What is wrapped.
        spine: Points along one axis of the frame; they may wander sideways.
        count: Rays around the spine.
        ends: Rays between across and along at each end.
        flat_end: Whether a flat cap closes the last end, with no fan.
    """
    axis = int(np.argmax(np.abs(spine[-1] - spine[0])))
    along = np.zeros(3)
    along[axis] = np.sign(spine[-1, axis] - spine[0, axis])
    first = np.roll(along, 1)
    second = np.cross(along, first)
    angle = 2.0 * np.pi * np.arange(count) / count
    across = np.cos(angle)[:, None] * first + np.sin(angle)[:, None] * second
    tilts = 0.5 * np.pi * np.arange(1, ends + 1) / (ends + 1)
    fans = [(spine[0], -along[None])]
    fans += [(spine[0], across * np.cos(tilt) - along * np.sin(tilt)) for tilt in tilts[::-1]]
    fans += [(point, across) for point in spine]
    if not flat_end:
        fans += [(spine[-1], across * np.cos(tilt) + along * np.sin(tilt)) for tilt in tilts]
        fans += [(spine[-1], along[None])]
    return lofted([point + _exits(solid, point, rays) * rays for point, rays in fans])


def _exits(solid: Solid, point: Array, rays: Array) -> Array:
    """Distances (N, 1) at which rays (N, 3) from a point first leave a solid."""
    samples = np.linspace(0.0, REACH, 41)
    outside = np.column_stack([solid(point + distance * rays) > 0.0 for distance in samples])
    if outside[:, 0].any() or not outside[:, -1].all():
        raise ValueError(f"the spine leaves the solid at {point}, or the rays are too short")
    last = samples[outside.argmax(axis=1)]
    inner, outer = last - samples[1], last
    for _ in range(HALVINGS):
        middle = 0.5 * (inner + outer)
        out = solid(point + middle[:, None] * rays) > 0.0
        inner, outer = np.where(out, inner, middle), np.where(out, middle, outer)
    return (0.5 * (inner + outer))[:, None]


def slotted(
    outline: Array, slots: Array, slot: Array, cell: tuple[float, float], thickness: float
) -> Surface:
    """A flat plate around z = 0 with equal slots in a row along x.

    Args:
        outline: (N, 2) of the plate, counterclockwise.
        slots: (K, 2) middles of the slots, one cell's width apart.
        slot: (M, 2) outline of a slot around its middle, counterclockwise.
        cell: Width and length of the rectangle around a slot; those of all slots lie within the outline.
        thickness: Of the plate, m.
    """
    half = 0.5 * np.array(cell)
    rows = np.linspace(-half[1], half[1], 6)
    sides = [np.column_stack([np.full(6, x), y]) for x, y in ((half[0], rows), (-half[0], rows[::-1]))]
    block = np.vstack([sides[0] + slots[-1], sides[1] + slots[0]])
    # Between the first and the last cell the corners of the others are on the block's edge.
    for between in slots[:-1] + np.array([half[0], 0.0]):
        block = np.insert(block, 6, between + np.array([0.0, half[1]]), axis=0)
    block = np.vstack([block, slots[:-1] + np.array([half[0], -half[1]])])
    points = np.vstack(
        [outline, block, *(slot + middle for middle in slots), *(np.vstack(sides) + m for m in slots)]
    )
    points, index = np.unique(np.round(points, 9), axis=0, return_inverse=True)
    loops = np.split(index.ravel(), np.cumsum([len(outline), len(block), *[len(slot)] * len(slots)]))
    rim, frame, holes, cells = loops[0], loops[1], loops[2:-1], np.split(loops[-1], len(slots))
    rings = [(rim, frame), *zip(cells, holes, strict=True)]
    upper = np.vstack([_between(points, outer, inner) for outer, inner in rings])
    below = len(points)
    walls = [_strip(loop + below, loop) for loop in (rim, *(hole[::-1] for hole in holes))]
    levels = [np.column_stack([points, np.full(below, z)]) for z in (0.5 * thickness, -0.5 * thickness)]
    return Surface(np.vstack(levels), np.vstack([upper, upper[:, ::-1] + below, *walls]))


def _between(points: Array, outer: Indices, inner: Indices) -> Indices:
    """Triangles between two loops, both counterclockwise, with short diagonals."""
    start = int(np.argmin(np.linalg.norm(points[inner] - points[outer[0]], axis=1)))
    inner = np.roll(inner, -start)
    i = j = 0
    triangles = []
    while i < len(outer) or j < len(inner):
        a, b = outer[i % len(outer)], inner[j % len(inner)]
        beyond, within = outer[(i + 1) % len(outer)], inner[(j + 1) % len(inner)]
        longer = np.linalg.norm(points[beyond] - points[b]) > np.linalg.norm(points[within] - points[a])
        if i == len(outer) or (j < len(inner) and longer):
            triangles.append((a, within, b))
            j += 1
        else:
            triangles.append((a, beyond, b))
            i += 1
    return np.array(triangles)


# --- solids


def tube(axis: int, stations: ArrayLike, exponent: float = 2.0) -> Solid:
    """A limb along an axis of the frame.

    Args:
        axis: 1 or 2; the section is in x and the other of them.
        stations: (N, 4) rising: place on the axis, middle of the section in the other one, half widths in x and in the
            other one, m; smooth between.
        exponent: Of the section, a superellipse.
    """
    from scipy.interpolate import PchipInterpolator

    table = np.asarray(stations, dtype=np.float64)
    between = PchipInterpolator(table[:, 0], table[:, 1:])

    def solid(points: Array) -> Array:
        middle, a, b = between(np.clip(points[:, axis], table[0, 0], table[-1, 0])).T
        x, y = points[:, 0] / a, (points[:, 3 - axis] - middle) / b
        size = (np.abs(x) ** exponent + np.abs(y) ** exponent) ** (1.0 / exponent)
        below, above = table[0, 0] - points[:, axis], points[:, axis] - table[-1, 0]
        return np.maximum((size - 1.0) * np.minimum(a, b), np.maximum(below, above))

    return solid


def drum(axis: int, middle: ArrayLike, radius: float, half: float, exponent: float = 5.0) -> Solid:
    """A round body about an axis of the frame, ``half`` its height, with the edges that the exponent leaves."""
    centre = np.asarray(middle, dtype=np.float64)

    def solid(points: Array) -> Array:
        offset = points - centre
        height = np.abs(offset[:, axis]) / half
        rho = np.linalg.norm(np.delete(offset, axis, axis=1), axis=1) / radius
        return ((rho**exponent + height**exponent) ** (1.0 / exponent) - 1.0) * min(radius, half)

    return solid


def blended(one: Solid, other: Solid, width: float) -> Solid:
    """Both solids, with a fillet of about this width between them."""

    def solid(points: Array) -> Array:
        a, b = one(points), other(points)
        near = np.maximum(width - np.abs(a - b), 0.0) / width
        return np.minimum(a, b) - 0.25 * width * near**2

    return solid


# --- placing and writing


def together(surfaces: Iterable[Surface]) -> Surface:
    """Closed surfaces as the parts of one."""
    surfaces = list(surfaces)
    offsets = np.cumsum([0, *(len(surface.vertices) for surface in surfaces)])
    triangles = [surface.triangles + offset for surface, offset in zip(surfaces, offsets, strict=False)]
    return Surface(np.vstack([surface.vertices for surface in surfaces]), np.vstack(triangles))


def obj_text(name: str, surface: Surface) -> str:
    """A Wavefront file with normals: viewers that make none, such as RViz, would show flat triangles."""
    vertices = np.round(surface.vertices, DIGITS) + 0.0
    triangles = surface.triangles
    corner_normals = _corner_normals(vertices, triangles)
    normals, numbers = np.unique(
        np.round(corner_normals.reshape(-1, 3), NORMAL_DIGITS) + 0.0, axis=0, return_inverse=True
    )
    numbers = numbers.reshape(-1, 3)
    points = "".join("v " + " ".join(f"{x:.{DIGITS}f}" for x in vertex) + "\n" for vertex in vertices)
    directions = "".join("vn " + " ".join(f"{x:.{NORMAL_DIGITS}f}" for x in n) + "\n" for n in normals)
    faces = "".join(
        "f " + " ".join(f"{v + 1}//{n + 1}" for v, n in zip(*corners, strict=True)) + "\n"
        for corners in zip(triangles, numbers, strict=True)
    )
    return f"# {name}, m\n{points}{directions}{faces}"


def _corner_normals(vertices: Array, triangles: Indices) -> Array:
    """Normals (M, 3, 3) of triangles' corners: the mean of those neighbours that meet without a sharp edge."""
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    areas = np.cross(b - a, c - a)
    units = areas / np.maximum(np.linalg.norm(areas, axis=1, keepdims=True), 1e-12)
    around: list[list[int]] = [[] for _ in vertices]
    for number, corners in enumerate(triangles):
        for corner in corners:
            around[corner].append(number)
    normals = np.empty((len(triangles), 3, 3))
    for number, corners in enumerate(triangles):
        for place, corner in enumerate(corners):
            fan = around[corner]
            smooth = units[fan] @ units[number] > np.cos(SHARP)
            normal = areas[fan][smooth].sum(axis=0) + 1e-12 * units[number]
            normals[number, place] = normal / np.linalg.norm(normal)
    return normals


def write(surfaces: dict[str, Surface], folder: Path = FOLDER) -> None:
    """Write surfaces by their names."""
    for name, surface in surfaces.items():
        (folder / f"{name}.obj").write_text(obj_text(name, surface))
