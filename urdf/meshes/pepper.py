"""Writes the meshes of a pepper beside this file: ``pepper.vtk`` to touch, ``pepper.obj`` to see.

A sweet pepper of three lobes, 73 mm wide and 63 mm high, that dips at both ends. It is not convex: its hull is larger
by 7 % and lies 3.6 mm above the furrows. It is round everywhere, so that tetrahedra of 7 mm give forces to a few
percent; the stem, too thin for that, is only seen. Every point of the surface is seen from the middle, so that its
distance from there is a function of the direction, and tetrahedra follow: prisms, and cones inside them. Lengths in m.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

LOBES = 3
#: Angle of each ring from the upper end of the axis, degrees, and its vertices: of the tetrahedra, and of the picture.
COARSE = ((9, 5), (18, 15), *((angle, 30) for angle in range(30, 151, 10)), (162, 15), (171, 5))
FINE = ((5, 10), (10, 30), *((angle, 60) for angle in range(15, 166, 5)), (170, 30), (175, 10))
#: Half the width and half the height of the body without dents.
WIDTH, HEIGHT = 0.038, 0.042
#: Depth of the dents at the stem and at the tip, and how wide they are, rad.
STEM_DENT, TIP_DENT, DENT_WIDTH = 0.018, 0.008, 0.55
#: How much less the surface reaches between the lobes, relative.
FURROW = 0.3
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
    # Round furrows, narrower than the lobes, which end in the dents.
    furrow = FURROW * np.sin(polar) * (0.5 + 0.5 * np.cos(LOBES * azimuth)) ** 2
    return (ellipsoid - dents) * (1.0 - furrow)


def surface(table: Sequence[tuple[int, int]]) -> tuple[Array, Indices]:
    """Vertices (N, 3) and outward triangles (M, 3): two poles, and rings between them, each ring in the table."""
    top, tip = (float(distance(np.array(polar), np.array(0.0))) for polar in (0.0, np.pi))
    vertices, rings, first = [np.array([[0.0, 0.0, top]])], [np.zeros(1, dtype=np.int64)], 1
    for degrees, count in table:
        polar, azimuth = np.full(count, np.radians(degrees)), 2.0 * np.pi * np.arange(count) / count
        around = [np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)]
        vertices.append(distance(polar, azimuth)[:, None] * np.column_stack(around))
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
    outer, triangles = surface(COARSE)
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
    write_obj(FOLDER / "pepper.obj", *surface(FINE))
