"""Writes the meshes of a pepper beside this file: ``pepper.vtk`` to touch, ``pepper.obj`` to see.

A sweet pepper of three lobes, 74 mm wide and 82 mm high with its stem, that dips at both ends. It is not convex: its
hull is a sixth larger, lies 6 mm above the furrows and 15 mm above the foot of the stem. Every point of the surface is
seen from the middle, so that its distance from there is a function of the direction, and tetrahedra follow: prisms, and
cones inside them. Edges are about 1 cm long. Lengths in m.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

LOBES = 3
#: Angle of each ring from the stem's end of the axis, degrees, and vertices in it: two rings make the stem.
RINGS = ((7, 6), (11, 6), (24, 6), *((angle, 18) for angle in (40, 56, 72, 88, 105, 122, 140)), (159, 6))
#: Half the width and half the height of the body without dents.
WIDTH, HEIGHT = 0.038, 0.042
#: Depth of the dents at the stem and at the tip, and how wide they are, rad.
STEM_DENT, TIP_DENT, DENT_WIDTH = 0.016, 0.008, 0.55
#: How much less the surface reaches between the lobes, relative.
FURROW = 0.3
#: Distance of the stem's end from the middle.
STEM = 0.048
#: Share of the distance from the middle at which cones begin.
CORE = 0.6
#: Decimals that are written, of m.
DIGITS = 6
FOLDER = Path(__file__).parent


def distance(polar: Array, azimuth: Array) -> Array:
    """From the middle to the body's surface in a direction (rad); the stem is not counted in."""
    ellipsoid = 1.0 / np.hypot(np.sin(polar) / WIDTH, np.cos(polar) / HEIGHT)
    dents = STEM_DENT * np.exp(-((polar / DENT_WIDTH) ** 2))
    dents = dents + TIP_DENT * np.exp(-(((np.pi - polar) / DENT_WIDTH) ** 2))
    # Sharp furrows between round lobes, which end in the dents.
    furrow = FURROW * np.sin(polar) * (1.0 - np.abs(np.sin(0.5 * LOBES * azimuth))) ** 2
    return (ellipsoid - dents) * (1.0 - furrow)


def surface() -> tuple[Array, Indices]:
    """Vertices (N, 3) and outward triangles (M, 3): two poles, and rings between them."""
    tip = float(distance(np.array(np.pi), np.array(0.0)))
    vertices, rings, first = [np.array([[0.0, 0.0, STEM]])], [np.zeros(1, dtype=np.int64)], 1
    for number, (degrees, count) in enumerate(RINGS):
        polar, azimuth = np.full(count, np.radians(degrees)), 2.0 * np.pi * np.arange(count) / count
        reach = distance(polar, azimuth) if number else STEM / np.cos(polar)
        around = [np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)]
        vertices.append(reach[:, None] * np.column_stack(around))
        rings.append(np.arange(first, first + count))
        first += count
    vertices.append(np.array([[0.0, 0.0, -tip]]))
    rings.append(np.array([first]))
    strips = [_strip(upper, lower) for upper, lower in pairwise(rings)]
    return _rounded(np.vstack(vertices)), np.vstack(strips)


def _strip(upper: Indices, lower: Indices) -> Indices:
    """Triangles between two rings, of which one has a multiple of the other's vertices."""
    if len(upper) > len(lower):
        return _strip(lower, upper)[:, ::-1]
    share = len(lower) // len(upper)
    own = np.repeat(upper, share)
    fans = np.column_stack([own, lower, np.roll(lower, -1)])
    if len(upper) == 1:
        return fans
    ends = np.roll(lower, -share)[::share]
    return np.vstack([fans, np.column_stack([upper, ends, np.roll(upper, -1)])])


def _rounded(vertices: Array) -> Array:
    """As written; without negative zeros, whose sign depends on the machine."""
    return np.round(vertices, DIGITS) + 0.0


def solid() -> tuple[Array, Indices]:
    """Vertices (N, 3), those of the surface first, and tetrahedra (M, 4): prisms around cones to the middle."""
    outer, triangles = surface()
    inner = len(outer)
    vertices = _rounded(np.vstack([outer, CORE * outer, np.zeros(3)]))
    # Diagonals that start at the lowest number of a prism's corners are those of its neighbours too.
    a, b, c = np.sort(triangles, axis=1).T
    prisms = [(a, b, c, inner + c), (a, b, inner + b, inner + c), (a, inner + a, inner + b, inner + c)]
    cones = np.column_stack([inner + triangles, np.full(len(triangles), len(vertices) - 1)])
    tetrahedra = np.vstack([*map(np.column_stack, prisms), cones])
    edges = vertices[tetrahedra[:, 1:]] - vertices[tetrahedra[:, :1]]
    inside_out = np.linalg.det(edges) < 0.0
    tetrahedra[inside_out] = tetrahedra[inside_out][:, [0, 1, 3, 2]]
    return vertices, tetrahedra


def write_vtk(path: Path, vertices: Array, tetrahedra: Indices) -> None:
    """Tetrahedra as a text file of VTK."""
    points = "\n".join(" ".join(f"{x:.{DIGITS}f}" for x in vertex) for vertex in vertices)
    cells = "\n".join(f"4 {a} {b} {c} {d}" for a, b, c, d in tetrahedra)
    count = len(tetrahedra)
    path.write_text(
        f"# vtk DataFile Version 4.2\npepper, m\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS {len(vertices)} double\n"
        f"{points}\n\nCELLS {count} {5 * count}\n{cells}\n\nCELL_TYPES {count}\n" + "10\n" * count
    )


def write_obj(path: Path, vertices: Array, triangles: Indices) -> None:
    """Triangles as a Wavefront file."""
    points = "".join("v " + " ".join(f"{x:.{DIGITS}f}" for x in vertex) + "\n" for vertex in vertices)
    faces = "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in triangles)
    path.write_text(f"# pepper, m\n{points}{faces}")


if __name__ == "__main__":
    write_vtk(FOLDER / "pepper.vtk", *solid())
    write_obj(FOLDER / "pepper.obj", *surface())
