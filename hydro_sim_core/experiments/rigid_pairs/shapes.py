"""Surfaces that are not convex: a ring, a hook, a mug."""

from __future__ import annotations

import math

import numpy as np
import trimesh
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]


def ring(inner: float, outer: float, height: float, sections: int = 64) -> trimesh.Trimesh:
    """A ring around z with straight walls.

    Args:
        inner: Radius of the hole at its corners, m.
        outer: Radius outside, m.
        height: Height, m.
        sections: Number of sides.
    """
    half = 0.5 * height
    profile = [(inner, -half), (outer, -half), (outer, half), (inner, half), (inner, -half)]
    return _turned(profile, sections)


def _turned(profile: ArrayLike, sections: int) -> trimesh.Trimesh:
    """The surface that a profile of (radius, height), m, leaves when it turns about z."""
    surface = trimesh.creation.revolve(np.array(profile), sections=sections)
    if surface.volume < 0.0:
        surface.invert()
    return surface


def tube(path: Array, radius: float, sections: int) -> trimesh.Trimesh:
    """A round bar along a plane path.

    Args:
        path: Corners (N, 3) of its middle line, in a plane of constant x, m.
        radius: m.
        sections: Number of its sides.
    """
    steps = np.diff(path, axis=0)
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    along = np.vstack([steps[:1], steps[:-1] + steps[1:], steps[-1:]])
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    # Mitred: a section at a bend is wider, so that the sides are straight.
    stretch = 1.0 / np.einsum("ij,ij->i", along, np.vstack([steps[:1], steps]))
    across = np.array([1.0, 0.0, 0.0])
    up = np.cross(along, across) * stretch[:, None]
    # A side, not a corner, is on top.
    angles = 2.0 * np.pi * (np.arange(sections) + 0.5) / sections
    circle = radius * (np.cos(angles)[:, None, None] * across + np.sin(angles)[:, None, None] * up)
    vertices = (path + circle).transpose(1, 0, 2).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(len(path) - 1), np.arange(sections), indexing="ij")
    a, b = i * sections + j, i * sections + (j + 1) % sections
    c, d = a + sections, b + sections
    sides = np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, d), (a, d, c))])
    fan = np.arange(1, sections - 1)
    first = np.stack([np.zeros_like(fan), fan + 1, fan], axis=1)
    last = (len(path) - 1) * sections + first[:, ::-1]
    surface = trimesh.Trimesh(vertices, np.concatenate([sides, first, last]), process=False)
    if surface.volume < 0.0:
        surface.invert()
    return surface


def hook(radius: float, bend: float, sections: int = 8) -> trimesh.Trimesh:
    """A bar that comes along y, dips through half a circle with its lowest point at the origin, and ends upwards.

    Args:
        radius: Radius of the bar, m; the origin is on its middle line.
        bend: Radius of the half circle of the middle line, m.
        sections: Number of its sides, and of the bends.
    """
    # An odd number of pieces around the circle: the lowest one is level.
    angles = np.pi * (np.arange(sections) - 0.5 * (sections - 1)) / (sections - 1)
    y, z = np.array([np.sin(angles), -np.cos(angles)]) / math.cos(0.5 * np.pi / (sections - 1))
    arc = bend * np.stack([np.zeros_like(y), y, 1.0 + z], axis=1)
    bar = arc[0] + [[0.0, -3.0 * bend, 0.5 * bend], [0.0, -0.5 * bend, 0.5 * bend]]
    end = arc[-1] + [[0.0, 0.0, 0.75 * bend]]
    return tube(np.vstack([bar, arc, end]), radius, sections)


def mug() -> tuple[list[trimesh.Trimesh], Array]:
    """A mug, 80 mm wide and 90 mm high, with a round handle towards +x.

    The handle is a ring of flat pieces, one of which lies across the line from the centre of mass through the ring's
    centre: there it lies flat on what it hangs from.

    Returns:
        Cup and handle in a frame with the centre of mass as its origin, z up; and the centre (3,) of the handle's ring,
        m.
    """
    wall, base, radius, height = 0.005, 0.006, 0.04, 0.09
    profile = [
        (0.0, 0.0),
        (radius, 0.0),
        (radius, height),
        (radius - wall, height),
        (radius - wall, base),
        (0.0, base),
    ]
    cup = _turned(profile, 32)
    centre = np.array([radius + HANDLE_RING - 0.4 * wall, 0.0, 0.5 * height])
    # Turning the ring about its own axis leaves the centre of mass where it is.
    volume = trimesh.creation.torus(HANDLE_RING, HANDLE_BAR, HANDLE_PIECES, HANDLE_SIDES).volume
    c = (cup.volume * cup.center_mass + volume * centre) / (cup.volume + volume)
    handle = _flat_ring(math.atan2(centre[2] - c[2], centre[0] - c[0]))
    handle.apply_translation(centre)
    for part in (cup, handle):
        part.apply_translation(-c)
    return [cup, handle], centre - c


def pieces_in() -> float:
    """Distance of the middle of a piece of the handle's ring from its centre, as a share of that of its corners."""
    return math.cos(math.pi / HANDLE_PIECES)


def _flat_ring(angle: float) -> trimesh.Trimesh:
    """The handle's ring about y, with the middle of a piece at an angle from x towards z, rad."""
    piece, side = 2.0 * np.pi / HANDLE_PIECES, 2.0 * np.pi / HANDLE_SIDES
    across = side * (np.arange(HANDLE_SIDES + 1) + 0.5)
    profile = np.stack([HANDLE_RING + HANDLE_BAR * np.cos(across), HANDLE_BAR * np.sin(across)], axis=1)
    about_z = _turned(profile, HANDLE_PIECES)
    turn = np.eye(4)
    turn[:3, :3] = Rotation.from_euler("zx", [angle + 0.5 * piece, 0.5 * np.pi]).as_matrix()
    return about_z.apply_transform(turn)


#: Radii of the handle of the mug, of the corners of the ring's middle line and of its bar, m; pieces and sides of both.
HANDLE_RING, HANDLE_BAR, HANDLE_PIECES, HANDLE_SIDES = 0.022, 0.005, 12, 8
