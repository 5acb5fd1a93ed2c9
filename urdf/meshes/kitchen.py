"""Writes the meshes of things in a kitchen beside this file: a pancake, a stove, a mug, a plate, two spatulas,
a rack, a table's top.

They are seen, not touched.
"""

from __future__ import annotations

import numpy as np
from lofting import (
    Array,
    Surface,
    lofted,
    rounded,
    slotted,
    spline,
    superellipse,
    swept,
    together,
    turned,
    write,
)

#: The ellipsoid that is touched where a pancake is seen: radius and half thickness, m.
PANCAKE = (0.050, 0.0075)
#: Radius and height of a stove, m.
STOVE = (0.12, 0.06)


# --- pancake


def _uneven(angle: Array, turn: float, depth: float) -> Array:
    """A factor around 1 - depth that varies around a rim: batter runs where it likes."""
    waves = ((2, 0.9, 0.4), (3, 0.7, 1.9), (5, 0.45, 4.0), (8, 0.25, 2.6), (13, 0.12, 0.8))
    total = sum(size * np.cos(number * (angle + turn) + phase) for number, size, phase in waves)
    return 1.0 - depth * (1.0 + total / 2.42)


def _disc(profile: Array, turn: float, depth: float, count: int) -> Surface:
    """A profile of radii and heights turned about z, with an uneven rim."""
    angle = 2.0 * np.pi * np.arange(count) / count
    factor = _uneven(angle, turn, depth)
    rings = []
    for radius, height in profile:
        around = np.column_stack([factor * np.cos(angle), factor * np.sin(angle)]) * radius
        ring = np.column_stack([around, np.full(count, height)])
        rings.append(ring if radius > 0.0 else ring[:1])
    return lofted(rings)


def _mirrored(surface: Surface) -> Surface:
    return Surface(surface.vertices * [1.0, 1.0, -1.0], surface.triangles[:, ::-1])


def _browned(share: float, height: float, turn: float, depth: float) -> Surface:
    """The upper face of a pancake out to a share of its radius: a lens that stands out a little."""
    radius = share * PANCAKE[0]
    profile = np.array(
        [(0.0, 0.004), (0.97 * radius, 0.004), (radius, height - 0.0004), (0.94 * radius, height - 0.0001),
         (0.6 * radius, height), (0.0, height)]
    )  # fmt: skip
    return _disc(profile, turn, depth, 80)


def pancake() -> dict[str, Surface]:
    """Crumb, golden faces unlike each other, and what is browner on the lower one: a look tells which is up."""
    radius, half = PANCAKE
    flat = 0.0064
    golden = flat + 0.0005
    # Lower in the middle of the rim's height it bulges: batter spreads before it sets.
    rim = [(0.0, -flat), (0.93 * radius, -flat, 0.004), (radius, -0.002, 0.006), (radius, 0.001, 0.006),
           (0.93 * radius, flat, 0.004), (0.0, flat)]  # fmt: skip
    return {
        "pancake_crumb": _disc(rounded(rim, steps=5), 0.0, 0.012, 72),
        "pancake_golden": together(
            [_browned(0.915, golden, 0.0, 0.018), _mirrored(_browned(0.915, golden, 2.0, 0.018))]
        ),
        "pancake_brown": _mirrored(_browned(0.84, half - 0.0002, 2.9, 0.050)),
    }


# --- stove


def stove() -> dict[str, Surface]:
    """A body of enamel, a steel ring, and a plate of cast iron with grooves, whose top is the stove's."""
    radius, top = STOVE
    ledge, plate = top - 0.005, 0.088
    body = [(0.0, 0.004), (0.82 * radius, 0.004), (0.82 * radius, 0.0), (0.90 * radius, 0.0),
            (0.90 * radius, 0.006), (radius, 0.008, 0.003), (radius, ledge, 0.007), (0.0, ledge)]  # fmt: skip
    ring = [(0.0, ledge - 0.002), (plate + 0.012, ledge - 0.002), (plate + 0.012, ledge + 0.0015, 0.001),
            (plate + 0.005, top - 0.0015, 0.001), (plate + 0.001, top - 0.0015, 0.0006), (plate, top - 0.004),
            (0.0, top - 0.004)]  # fmt: skip
    hob: list[tuple[float, ...]] = [(0.0, ledge - 0.001), (plate, ledge - 0.001), (plate, top, 0.0015)]
    for groove in (0.080, 0.068, 0.056, 0.044, 0.032):
        hob += [
            (groove, top),
            (groove - 0.0008, top - 0.0009),
            (groove - 0.0022, top - 0.0009),
            (groove - 0.003, top),
        ]
    hob += [(0.020, top, 0.001), (0.019, top - 0.002, 0.0005), (0.0, top - 0.002)]
    return {
        "stove_body": turned(rounded(body, steps=4), 72),
        "stove_ring": turned(rounded(ring, steps=3), 72),
        "stove_plate": turned(rounded(hob, steps=2), 54),
    }


# --- tableware


def tableware() -> dict[str, Surface]:
    """A mug, its handle grown into the wall, and a plate; both stand on a foot ring."""
    mug = [(0.0, 0.002), (0.029, 0.002), (0.030, 0.0), (0.035, 0.0, 0.001), (0.040, 0.006, 0.008),
           (0.040, 0.090, 0.0019), (0.036, 0.090, 0.0019), (0.036, 0.006, 0.010), (0.0, 0.006)]  # fmt: skip
    knots = [(0.0377, 0.072), (0.050, 0.0735), (0.0625, 0.068), (0.0675, 0.055), (0.0655, 0.041), (0.056, 0.031),
             (0.046, 0.028), (0.0377, 0.028)]  # fmt: skip
    bow = np.insert(spline(knots, 25), 1, 0.0, axis=1)
    # Wider where it grows out of the wall.
    widths = 0.0055 + 0.0015 * np.linspace(-1.0, 1.0, len(bow)) ** 4
    handle = swept(bow, [superellipse(width, 0.0040, 2.4, 16) for width in widths], (0.0, 1.0, 0.0))
    plate = [(0.0, 0.002), (0.056, 0.002), (0.057, 0.0), (0.063, 0.0, 0.001), (0.068, 0.0040, 0.008),
             (0.1098, 0.0170, 0.0017), (0.1092, 0.0206, 0.0017), (0.078, 0.0106, 0.010), (0.069, 0.006, 0.012),
             (0.0, 0.006)]  # fmt: skip
    return {
        "mug": together([turned(rounded(mug, steps=4), 44), handle]),
        "plate": turned(rounded(plate, steps=4), 64),
    }


# --- spatula


def spatula() -> dict[str, Surface]:
    """Handle, about its own axis; steel: the blade with slots, and the neck that runs from it into the handle."""
    outline = [(-0.040, -0.050, 0.010), (0.040, -0.050, 0.010), (0.034, 0.030, 0.016), (0.012, 0.050, 0.010),
               (-0.012, 0.050, 0.010), (-0.034, 0.030, 0.016)]  # fmt: skip
    slot = [
        (-0.0038, -0.024, 0.0037),
        (0.0038, -0.024, 0.0037),
        (0.0038, 0.024, 0.0037),
        (-0.0038, 0.024, 0.0037),
    ]
    middles = np.array([(x, -0.010) for x in (-0.015, 0.0, 0.015)])
    blade = slotted(
        rounded(outline, closed=True), middles, rounded(slot, closed=True), (0.015, 0.056), thickness=0.001
    )
    knots = [(0.026, 0.0008), (0.036, 0.0009), (0.048, 0.0018), (0.058, 0.0070), (0.0700, 0.0177), (0.080, 0.0252),
             (0.093, 0.0327)]  # fmt: skip
    spine = np.insert(spline(knots, 36), 0, 0.0, axis=1)
    along = np.linspace(0.0, 1.0, len(spine))
    widths = np.interp(along, (0.0, 0.06, 0.35, 0.6, 1.0), (0.004, 0.008, 0.0075, 0.0045, 0.0045))
    heights = np.interp(along, (0.0, 0.06, 0.35, 0.6, 1.0), (0.0005, 0.0009, 0.0013, 0.0022, 0.0030))
    sections = [superellipse(a, b, 2.6, 20) for a, b in zip(widths, heights, strict=True)]
    handle = [(0.0, -0.055), (0.0125, -0.055, 0.007), (0.0148, -0.036, 0.05), (0.0148, 0.0, 0.08),
              (0.0128, 0.030, 0.06), (0.0105, 0.055, 0.003), (0.0, 0.055)]  # fmt: skip
    return {
        "spatula_handle": turned(rounded(handle, steps=8), 36),
        "spatula_steel": together([blade, swept(spine, sections, (1.0, 0.0, 0.0))]),
    }


def turner() -> dict[str, Surface]:
    """A spatula for pancakes: handle, about its own axis; steel: the blade, bent up at its heel, and the neck."""
    outline = [(-0.050, -0.055, 0.012), (0.050, -0.055, 0.012), (0.050, 0.030, 0.020), (0.030, 0.055, 0.012),
               (-0.030, 0.055, 0.012), (-0.050, 0.030, 0.020)]  # fmt: skip
    slot = [
        (-0.0032, -0.027, 0.0031),
        (0.0032, -0.027, 0.0031),
        (0.0032, 0.027, 0.0031),
        (-0.0032, 0.027, 0.0031),
    ]
    middles = np.array([(x, -0.006) for x in (-0.030, -0.015, 0.0, 0.015, 0.030)])
    flat = slotted(
        rounded(outline, closed=True), middles, rounded(slot, closed=True), (0.015, 0.062), thickness=0.001
    )
    # Drawn with its tip along -y, and lying under z = 0.
    blade = Surface(flat.vertices @ [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]] + [0.0, 0.0, 0.0005],
                    flat.triangles)  # fmt: skip
    bends = [(-0.038, 0.0011), (-0.0541, 0.0011, 0.004), (-0.0541, 0.0165, 0.008), (-0.098, 0.0320, 0.10),
             (-0.1502, 0.0568, 0.10), (-0.1638, 0.0631)]  # fmt: skip
    spine = np.insert(_evenly(rounded(bends, steps=24), 56), 1, 0.0, axis=1)
    along = np.linspace(0.0, 1.0, len(spine))
    widths = np.interp(
        along, (0.0, 0.08, 0.22, 0.30, 0.52, 1.0), (0.012, 0.019, 0.020, 0.018, 0.0058, 0.0050)
    )
    heights = np.interp(along, (0.0, 0.08, 0.30, 0.52, 1.0), (0.0007, 0.0009, 0.0010, 0.0024, 0.0034))
    sections = [superellipse(a, b, 2.8, 20) for a, b in zip(widths, heights, strict=True)]
    handle = [(0.0, -0.055), (0.0088, -0.055, 0.0015), (0.0098, -0.043, 0.03), (0.0120, -0.022, 0.06),
              (0.0120, 0.020, 0.06), (0.0108, 0.038, 0.04), (0.0120, 0.055, 0.0075), (0.0, 0.055)]  # fmt: skip
    return {
        "turner_handle": turned(rounded(handle, steps=8), 36),
        "turner_steel": together([blade, swept(spine, sections, (0.0, -1.0, 0.0))]),
    }


def _evenly(curve: Array, count: int) -> Array:
    """Points (count, 2) at equal distances along a curve of straight pieces."""
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    places = np.linspace(0.0, lengths[-1], count)
    return np.column_stack([np.interp(places, lengths, coordinate) for coordinate in curve.T])


# --- table


def worktop() -> dict[str, Surface]:
    """Boards along x in two tones, side by side in turn: 1 m by 1 m, to be stretched, and 40 mm thick under z = 0."""
    count, bevel = 8, 0.0012
    corners = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    boards = []
    for middle in (np.arange(count) + 0.5) / count - 0.5:
        rings = [
            np.column_stack(
                [[0.0, middle] + corners * ([0.5, 0.5 / count] - inset * np.ones(2)), np.full(4, height)]
            )
            for inset, height in ((0.0, -0.040), (0.0, -bevel), (bevel, 0.0))
        ]
        boards.append(lofted(rings))
    return {"worktop_light": together(boards[::2]), "worktop_dark": together(boards[1::2])}


# --- rack


def rack() -> dict[str, Surface]:
    """What a spatula rests on: a foot, a waist and a flat top, 0.10 m by 0.08 m and 0.15 m high, around z = 0."""
    shares = [(0.90, -0.0750), (0.94, -0.0735), (0.94, -0.0680), (0.90, -0.0650), (0.60, -0.0560), (0.52, -0.0400),
              (0.50, -0.0100), (0.52, 0.0250), (0.60, 0.0480), (0.90, 0.0620), (0.985, 0.0660), (1.0, 0.0680),
              (1.0, 0.0735), (0.985, 0.0750)]  # fmt: skip
    rings = []
    for share, height in shares:
        outline = superellipse(0.050 * share, 0.040 * share, 6.0, 64)
        rings.append(np.column_stack([outline, np.full(len(outline), height)]))
    return {"rack": lofted(rings)}


def surfaces() -> dict[str, Surface]:
    """All of them by the names of their files."""
    return {**pancake(), **stove(), **tableware(), **spatula(), **turner(), **rack(), **worktop()}


if __name__ == "__main__":
    write(surfaces())
