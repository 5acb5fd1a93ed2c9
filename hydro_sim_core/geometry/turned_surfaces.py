"""Closed surfaces of turned parts: profiles turned about an axis, and metric threads.

``geometry.rigid_mesh(*revolve(...))`` is a body that touches; ``write_surface`` puts one into a file for a URDF.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydro_sim_core.arithmetic import sines_cosines
from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.geometry.checks import element_budget, float_rows, non_negative, positive
from hydro_sim_core.geometry.geometry import FloatArray, IntArray
from hydro_sim_core.geometry.mesh import check_surface

#: Fewest and most segments around an axis.
LEAST_SEGMENTS, MOST_SEGMENTS = 3, 100_000
#: Most rows on a flank.
MOST_FLANK_ROWS = 100
#: Significant digits of a position (m) in a file: clearances are some micrometres.
DIGITS = 8


class Surface(NamedTuple):
    """A closed surface.

    Attributes:
        vertices: (N, 3) positions, m.
        triangles: (M, 3) vertex indices, counter-clockwise seen from outside.
    """

    vertices: FloatArray
    triangles: IntArray


def segments_for(radius: float, sagitta: float) -> int:
    """Segments around a circle (radius, m) whose chords are within a sagitta (m) of it.

    Raises:
        InputError: A length is not above 0, or there would be more than 100 000 segments.
    """
    radius, sagitta = positive("segments_for", "radius", radius), positive("segments_for", "sagitta", sagitta)
    # 1 - cos(h) = 2 sin(h/2)^2: of a small sagitta the difference would leave nothing.
    half = 2.0 * math.asin(math.sqrt(min(0.5 * sagitta / radius, 0.75)))
    count = math.pi / max(half, 1e-300)
    if count > MOST_SEGMENTS:
        problem = f"of {sagitta:g} m takes {count:.2g} segments, the limit is {MOST_SEGMENTS}"
        raise InputError("segments_for", "sagitta", problem, "give a larger one")
    return max(LEAST_SEGMENTS, math.ceil(count))


def revolve(profile: ArrayLike, segments: int = 64, *, around: bool = False) -> Surface:
    """Turn a profile about the z axis.

    Args:
        profile: (N, 2) radii and heights, m, with the material on the left: up on the outside, down in a bore. Either
            both ends are on the axis, or the first point follows the last, as for a ring.
        segments: Segments around the axis.
        around: Whether chords lie around the circles instead of within them, as the wall of a bore must that a pin of
            the true radius shall fit into.

    Returns:
        The surface; vertices lie on the profile, or on one that is wider by 1 / cos(pi / segments).

    Raises:
        InputError: The profile is none, touches the axis elsewhere than at its ends, crosses or touches itself or turns
            the wrong way, or there are too few or too many segments, or more than 1e7 triangles.
    """
    source = "revolve"
    points = float_rows(source, "profile", profile, 2)
    segments = _segments(source, segments)
    edge = 2.0 * math.pi * float(np.abs(points[:, 0]).max(initial=0.0)) / segments
    element_budget(source, edge, 2.0 * segments * len(points), "give fewer segments, or fewer points")
    on_axis = points[:, 0] == 0.0
    problem = _fault_of_profile(points, on_axis)
    if problem:
        mend = "give radii above 0, but for both ends, with the material on the left"
        raise InputError(source, "profile", problem, mend)
    widening = 1.0 / math.cos(math.pi / segments) if around else 1.0
    rings: list[IntArray] = []
    rows: list[FloatArray] = []
    count = 0
    for (radius, height), single in zip(points.tolist(), on_axis, strict=True):
        size = 1 if single else segments
        rings.append(count + np.arange(size))
        rows.append(_around(np.full(size, widening * radius), np.full(size, height)))
        count += size
    pairs = list(itertools.pairwise(rings)) + ([] if on_axis.any() else [(rings[-1], rings[0])])
    return _checked(source, np.vstack(rows), np.vstack([_strip(*pair) for pair in pairs]))


def _fault_of_profile(points: FloatArray, on_axis: np.ndarray) -> str:
    """What keeps a profile from being turned; empty if nothing does."""
    if len(points) < 3:
        return f"has {len(points)} points"
    if (points[:, 0] < 0.0).any():
        return "has a radius below 0"
    if on_axis.any() and not (on_axis[[0, -1]].all() and not on_axis[1:-1].any()):
        return "touches the axis elsewhere than at both ends"
    if (np.linalg.norm(np.diff(points, axis=0, append=points[:1]), axis=1) == 0.0).any():
        return "has two equal points one after the other"
    after = np.roll(points, -1, axis=0)
    if meeting := _meeting_sides(points, after):
        first, second = ((points[i].tolist(), after[i].tolist()) for i in meeting)
        return "crosses or touches itself: {} to {} and {} to {}".format(*first, *second)
    if (points[:, 0] * after[:, 1] - after[:, 0] * points[:, 1]).sum() <= 0.0:
        return "has its material on the right"
    return ""


def _meeting_sides(begin: FloatArray, end: FloatArray) -> tuple[int, int] | None:
    """Two sides, from points (N, 2) to others, of a closed line that have a point in common which none should have."""

    def turn(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
        """Sign of the area of triangles: which side of a line from a to b a point c is on."""
        ab, ac = b - a, c - a
        return np.sign(ab[..., 0] * ac[..., 1] - ab[..., 1] * ac[..., 0])

    # Areas of tiny profiles would vanish. A power of two keeps their directions to the last bit.
    scale = math.ldexp(1.0, math.frexp(float(np.ptp(begin, axis=0).max()))[1])
    begin, end = begin / scale, end / scale
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    for i in range(len(begin) - 1):
        other = slice(i + 1, None)
        a, b, c, d = begin[i], end[i], begin[other], end[other]
        meets = (turn(a, b, c) * turn(a, b, d) <= 0.0) & (turn(c, d, a) * turn(c, d, b) <= 0.0)
        meets &= (low[i] <= high[other]).all(axis=1) & (low[other] <= high[i]).all(axis=1)
        # Neighbours share a point, and more only where the line turns back onto itself.
        neighbours = [(i + 1, a, b, end[i + 1])]
        if i == 0:
            neighbours.append((len(begin) - 1, begin[-1], a, b))
        for j, before, corner, after in neighbours:
            back = float((before - corner) @ (after - corner)) > 0.0
            meets[j - i - 1] = back and turn(before, corner, after) == 0.0
        if meets.any():
            return i, i + 1 + int(np.argmax(meets))
    return None


@dataclass(frozen=True)
class MetricThread:
    """A right-handed metric thread with the basic profile of ISO 68-1, of a bolt or a nut, and how it is meshed.

    The parts that have it check its numbers.

    Attributes:
        diameter: Major diameter D, m.
        pitch: Pitch P, m.
        clearance: How far all of the profile is moved away from a partner without one, m: the radial gap to that; of a
            bolt towards the axis, of a nut away from it.
        chamfer: How much thinner both ends of a bolt are, and how much wider than the crest both ends of a nut's bore,
            m. From there vertices lie on a cone of 45 degrees where the profile is beyond it, and between vertices the
            profile is straight. So material is missing beside the cone where that crosses the profile: up to
            0.214 P / flank_rows on flanks, P / 32 on a bolt's crests, and P / 16 on its roots and on a nut's crests.
        segments: Segments a turn, a multiple of 16, such that edges of the thread meet the ends at vertices; of a nut
            one of 48, such that its corners do.
        flank_rows: Rows of quadrilaterals on each flank.
    """

    diameter: float
    pitch: float
    clearance: float = 0.0
    chamfer: float = 0.0
    segments: int = 48
    flank_rows: int = 1


def checked_thread(source: str, thread: MetricThread) -> MetricThread:
    """The thread with its numbers as floats and integers; ``source`` is the name used in error messages.

    Raises:
        InputError: It is none, or a number is out of range.
    """
    if not isinstance(thread, MetricThread):
        mend = "give a MetricThread, such as MetricThread(16e-3, 2e-3) of an M16"
        raise InputError(source, "thread", f"is {excerpt(thread)}", mend)
    diameter, pitch = positive(source, "diameter", thread.diameter), positive(source, "pitch", thread.pitch)
    clearance = _share(source, "clearance", thread.clearance, pitch)
    chamfer = _share(source, "chamfer", thread.chamfer, diameter)
    segments = _segments(source, thread.segments)
    if segments % 16:
        problem = f"are {segments}, which the edges of a thread do not divide"
        raise InputError(source, "segments", problem, "give a multiple of 16")
    flank_rows = _whole_number(source, "flank_rows", thread.flank_rows, 1, MOST_FLANK_ROWS)
    if diameter < 4.0 * pitch:
        raise InputError(
            source, "pitch", f"of {pitch:g} m does not fit", "give a quarter of the diameter or less"
        )
    return MetricThread(diameter, pitch, clearance, chamfer, segments, flank_rows)


def metric_bolt(thread: MetricThread, length: float) -> Surface:
    """A rod with a thread, from z = 0 to its length.

    Args:
        thread: Its thread.
        length: Of the rod, m; a multiple of P / 16 leaves no slivers.

    Raises:
        InputError: A number is out of range.
    """
    source = "metric_bolt"
    thread = checked_thread(source, thread)
    wall = _wall(source, thread, length, inwards=True)
    cone = 0.5 * thread.diameter - thread.chamfer + wall.from_end
    wall = wall.with_radii(np.minimum(wall.radii, cone))
    low, high = len(wall.radii), len(wall.radii) + 1
    ends = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, wall.length]])
    caps = [_strip(np.array([low]), wall.lower), _strip(wall.upper, np.array([high]))]
    return _checked(source, np.vstack([wall.vertices, ends]), np.vstack([wall.triangles, *caps]))


def metric_nut(thread: MetricThread, height: float, width: float) -> Surface:
    """A hexagonal nut, from z = 0 to its height.

    Args:
        thread: Its thread.
        height: m; a multiple of P / 16 leaves no slivers.
        width: Across the flats, m; two of the corners are on the x axis.

    Raises:
        InputError: A number is out of range.
    """
    source = "metric_nut"
    wall, outside = nut_walls(source, checked_thread(source, thread), height, width)
    below = len(wall.radii) + np.arange(wall.segments)
    rings = [_around(outside, np.full(wall.segments, z)) for z in (0.0, wall.length)]
    # The bore is seen from the axis: its triangles turn the other way.
    triangles = [
        wall.triangles[:, ::-1],
        _strip(wall.lower, below),
        _strip(below, below + wall.segments),
        _strip(below + wall.segments, wall.upper),
    ]
    return _checked(source, np.vstack([wall.vertices, *rings]), np.vstack(triangles))


def nut_walls(source: str, thread: MetricThread, height: float, width: float) -> tuple[Wall, FloatArray]:
    """The thread of a nut, and radii (segments,) of its hexagon at the angles of the thread's columns, m.

    Arguments as for ``metric_nut``, with a thread of ``checked_thread``; ``source`` is the name used in error messages.

    Raises:
        InputError: A number is out of range.
    """
    height, width = positive(source, "height", height), positive(source, "width", width)
    if height < 2.0 * thread.chamfer:
        problem = f"of {height:g} m is all chamfer: both ends take {2.0 * thread.chamfer:g} m"
        raise InputError(source, "height", problem, "give a larger one, or a smaller chamfer")
    wall = _wall(source, thread, height, inwards=False)
    cone = float(wall.radii.min()) + thread.chamfer - wall.from_end
    wall = wall.with_radii(np.maximum(wall.radii, cone))
    if width <= 2.0 * wall.radii.max():
        raise InputError(
            source, "width", f"of {width:g} m is less than its thread", "give the width across flats"
        )
    segments = wall.segments
    if segments % 6:
        raise InputError(source, "segments", f"are {segments}: none at some corner", "give a multiple of 48")
    sixth = math.pi / 3.0
    angle = 2.0 * math.pi * np.arange(segments) / segments
    return wall, 0.5 * width / sines_cosines(angle % sixth - 0.5 * sixth)[1]


class Wall(NamedTuple):
    """The wall of a thread.

    Attributes:
        radii: (N,) of its vertices, m.
        columns: (N,) number of the half plane through the axis, counter-clockwise from the x axis.
        heights: (N,) m.
        length: Of the thread, m.
        segments: Columns a turn.
        triangles: (M, 3) counter-clockwise seen from away from the axis.
        lower: (segments,) vertices of the lower end, in their order around the axis.
        upper: (segments,) those of the upper end.
    """

    radii: FloatArray
    columns: IntArray
    heights: FloatArray
    length: float
    segments: int
    triangles: IntArray
    lower: IntArray
    upper: IntArray

    @property
    def from_end(self) -> FloatArray:
        """(N,) distances from the nearer end, m."""
        return np.minimum(self.heights, self.length - self.heights)

    @property
    def vertices(self) -> FloatArray:
        """(N, 3) m."""
        return self.at_radii(self.radii)

    def at_radii(self, radii: FloatArray) -> FloatArray:
        """Points (N, 3) at the angles and heights of the vertices, and at other radii, m."""
        sine, cosine = sines_cosines(2.0 * math.pi * self.columns / self.segments)
        return np.column_stack([radii * cosine, radii * sine, self.heights])

    def with_radii(self, radii: FloatArray) -> Wall:
        """The wall with other radii, m."""
        return self._replace(radii=radii)


def _wall(source: str, thread: MetricThread, length: float, *, inwards: bool) -> Wall:
    """A thread, cut off flat at both ends: rows of vertices rise by the pitch in a turn, then go on in the next."""
    pitch, flank_rows, segments = thread.pitch, thread.flank_rows, thread.segments
    length = positive(source, "length", length)
    mend = "give fewer segments or flank_rows, a larger pitch, or a shorter thread"
    count = 2.0 * segments * (length / pitch + 2.0) * (2 + 2 * flank_rows)
    element_budget(source, pitch / segments, count, mend)
    of_profile, radii = _basic_profile(thread.diameter, pitch, flank_rows)
    rows = (np.arange(-1, math.ceil(length / pitch) + 1)[:, None] * pitch + of_profile).ravel()
    rise = pitch * np.arange(segments) / segments
    z = rows[None, :] + rise[:, None]
    near = 1e-9 * pitch
    # Of what lies beyond an end, one vertex a column is left, on the end.
    first = np.count_nonzero(z <= near, axis=1) - 1
    last = z.shape[1] - np.count_nonzero(z >= length - near, axis=1)
    z = np.clip(np.where(np.abs(z) <= near, 0.0, z), 0.0, length)
    gap = -thread.clearance if inwards else thread.clearance
    r = np.interp(z - rise[:, None], of_profile, radii, period=pitch) + gap
    numbers = np.arange(z.shape[1])
    vertex = np.clip(numbers, first[:, None], last[:, None]) + z.shape[1] * np.arange(segments)[:, None]
    # After a turn a row is where the one was that is a pitch higher.
    shifted = np.minimum(numbers + len(of_profile), z.shape[1] - 1)
    beside = np.vstack([vertex[1:], vertex[0, shifted]])
    a, b, c, d = vertex[:, :-1], beside[:, :-1], beside[:, 1:], vertex[:, 1:]
    triangles = np.concatenate([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)]).reshape(-1, 3)
    distinct = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
    lower, upper = vertex[:, 0], vertex[:, -1]
    used, index = np.unique(np.concatenate([triangles[distinct].ravel(), lower, upper]), return_inverse=True)
    columns = np.repeat(np.arange(segments), z.shape[1])
    corners, lower, upper = np.split(index, [-2 * segments, -segments])
    triangles = corners.reshape(-1, 3)
    return Wall(r.ravel()[used], columns[used], z.ravel()[used], length, segments, triangles, lower, upper)


def _basic_profile(diameter: float, pitch: float, flank_rows: int) -> tuple[FloatArray, FloatArray]:
    """Heights within a pitch, rising from 0, and radii of the basic profile (ISO 68-1), m.

    A crest of P / 8, flanks at 30 degrees to the plane across the axis over 5 P / 16 each, and a root of P / 4.
    """
    major = 0.5 * diameter
    minor = major - 0.625 * (0.5 * math.sqrt(3.0) * pitch)
    along = np.arange(flank_rows) / flank_rows
    heights = np.concatenate([[0.0], 2.0 + 5.0 * along, [7.0], 11.0 + 5.0 * along]) * (pitch / 16.0)
    radii = np.concatenate(
        [[major], major + (minor - major) * along, [minor], minor + (major - minor) * along]
    )
    return heights, radii


def write_surface(surface: Surface, path: str | Path) -> None:
    """Write a surface to a Wavefront file (``.obj``) for a URDF.

    Args:
        surface: The surface.
        path: File to write; one that exists is replaced.

    Raises:
        InputError: It is no surface, or the file has another suffix or cannot be written.
    """
    path = Path(path)
    if not isinstance(surface, Surface):
        problem = f"a {type(surface).__name__} is no Surface"
        raise InputError(path, "", problem, "give what revolve makes, or Surface(vertices, triangles)")
    if path.suffix.lower() != ".obj":
        raise InputError(path, "", f"has the format '{path.suffix}'", "use .obj")
    points = "".join(
        "v " + " ".join(f"{x:.{DIGITS}g}" for x in point) + "\n" for point in surface.vertices.tolist()
    )
    faces = "".join(
        "f " + " ".join(str(v + 1) for v in corners) + "\n" for corners in surface.triangles.tolist()
    )
    try:
        path.write_text(f"# {path.stem}, m\n{points}{faces}")
    except OSError as error:
        raise InputError(path, "", f"cannot be written ({error.strerror})", "choose another place") from None


def _around(radii: FloatArray, heights: FloatArray) -> FloatArray:
    """Points (K, 3) evenly spaced around the z axis, the first above the x axis."""
    sine, cosine = sines_cosines(2.0 * math.pi * np.arange(len(radii)) / len(radii))
    return np.column_stack([radii * cosine, radii * sine, heights])


def _strip(lower: IntArray, upper: IntArray) -> IntArray:
    """Triangles between two rings of equal counts, of which one may be a point."""
    if len(lower) == 1:
        return np.column_stack([np.repeat(lower, len(upper)), np.roll(upper, -1), upper])
    if len(upper) == 1:
        return np.column_stack([lower, np.roll(lower, -1), np.repeat(upper, len(lower))])
    beside, above = np.roll(lower, -1), np.roll(upper, -1)
    return np.vstack([np.column_stack([lower, beside, above]), np.column_stack([lower, above, upper])])


def _segments(source: str, segments: int) -> int:
    return _whole_number(source, "segments", segments, LEAST_SEGMENTS, MOST_SEGMENTS)


def _whole_number(source: str, element: str, value: int, least: int, most: int) -> int:
    """A count, as Python or NumPy has them."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        mend = f"give a whole number from {least} to {most}"
        raise InputError(source, element, f"are {excerpt(value)}", mend)
    return int(value)


def _share(source: str, element: str, value: float, of: float) -> float:
    """A length (m) of at most an eighth of another."""
    length = non_negative(source, element, value)
    if length > of / 8.0:
        raise InputError(source, element, f"of {length:g} m is too large", f"give at most {of / 8.0:g} m")
    return length


def _checked(source: str, vertices: FloatArray, triangles: IntArray) -> Surface:
    """A surface that is closed and bounds a solid."""
    triangles = np.ascontiguousarray(triangles, dtype=np.int64)
    check_surface(source, vertices, triangles, open_surface=False)
    return Surface(vertices, triangles)
