"""Cross-section of a pressure field as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hydro_sim_core.drawing.figures import figure, pressure_colours
from hydro_sim_core.drawing.pressure_scale import unit_of
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.geometry.geometry import FloatArray, IntArray

AXES = "xyz"
#: Size of the picture, inches; the height follows from the section's shape within these limits.
_WIDTH, _LEAST_HEIGHT, _LARGEST_HEIGHT = 7.0, 2.4, 9.0
_MARGIN_COLOUR = "#c9c9c9"
_BANDS = 100


@dataclass(frozen=True)
class Section:
    """The tetrahedra of a compliant mesh that a plane cuts, as triangles with linear pressure.

    Attributes:
        points: (N, 3) m; neighbouring tetrahedra do not share points.
        pressure: (N,) Pa.
        triangles: (T, 3) rows of ``points``; the four corners of a quadrangle make two.
        outlines: (S, 2) rows of ``points``: edges of the cut tetrahedra in the plane.
    """

    points: FloatArray
    pressure: FloatArray
    triangles: IntArray
    outlines: IntArray


def cut(geometry: Geometry, axis: int, place: float) -> Section:
    """Cut a compliant mesh with the plane where coordinate ``axis`` is ``place``, m."""
    height = geometry.vertices[:, axis] - place
    # A vertex in the plane counts as above it, consistently in all its tetrahedra.
    above = height[geometry.elements] >= 0.0
    number_above = above.sum(axis=1)
    order = np.argsort(~above, axis=1, kind="stable")
    sorted_elements = np.take_along_axis(geometry.elements, order, axis=1)
    # Edges that the plane crosses, in order around the section: three at a vertex that is cut off, or four between two
    # pairs of vertices.
    crossed = {1: ((0, 1), (0, 2), (0, 3)), 2: ((0, 2), (0, 3), (1, 3), (1, 2)), 3: ((3, 0), (3, 1), (3, 2))}
    ends, triangles, outlines = [], [], []
    count = 0
    for inside, edges in crossed.items():
        cells = sorted_elements[number_above == inside]
        corners = count + np.arange(len(cells) * len(edges)).reshape(len(cells), len(edges))
        count += corners.size
        ends.append(cells[:, np.array(edges)].reshape(-1, 2))
        triangles += [corners[:, [0, i, i + 1]] for i in range(1, len(edges) - 1)]
        outlines.append(np.stack([corners, np.roll(corners, -1, axis=1)], axis=2).reshape(-1, 2))
    start, end = np.concatenate(ends).T
    share = height[start] / (height[start] - height[end])
    points = geometry.vertices[start] + share[:, None] * (geometry.vertices[end] - geometry.vertices[start])
    pressure = geometry.pressure[start] + share * (geometry.pressure[end] - geometry.pressure[start])
    return Section(points, pressure, np.concatenate(triangles), np.concatenate(outlines))


def telling_plane(geometry: Geometry, axis: int | None) -> tuple[int, float]:
    """Axis and coordinate, m, of a section through the largest pressure; without an axis, along the shortest side."""
    if axis is None:
        axis = int(np.argmin(np.ptp(geometry.vertices, axis=0)))
    return axis, float(geometry.vertices[geometry.pressure.argmax(), axis])


def draw_section(geometry: Geometry, axis: int, place: float, title: str, path: Path) -> None:
    """Draw the pressure where a plane cuts a compliant mesh, with the edges of the cut tetrahedra.

    Args:
        geometry: A compliant mesh.
        axis: Index of the axis perpendicular to the plane.
        place: Coordinate of the plane along that axis, m.
        title: Title above the picture.
        path: PNG file.

    Raises:
        InputError: The plane misses the body, or the figure cannot be drawn or written.
    """
    lower, upper = geometry.vertices[:, axis].min(), geometry.vertices[:, axis].max()
    section = cut(geometry, axis, place)
    if not len(section.triangles):
        problem = f"{AXES[axis]} = {place:g} m misses the body"
        raise InputError(path, "section", problem, f"choose a place between {lower:g} and {upper:g} m")
    across, up = (i for i in range(3) if i != axis)
    x, y = 1e3 * section.points[:, across], 1e3 * section.points[:, up]
    aspect = np.ptp(y) / np.ptp(x)
    most = float(geometry.pressure.max())
    unit, size = unit_of(most)
    with figure(
        path, _WIDTH, float(np.clip(_WIDTH * 0.8 * aspect + 1.0, _LEAST_HEIGHT, _LARGEST_HEIGHT))
    ) as canvas:
        axes = canvas.subplots()
        from matplotlib.collections import LineCollection
        from matplotlib.ticker import MaxNLocator
        from matplotlib.tri import Triangulation

        # Contour bands have exact edges, as the pressure is linear in each triangle; shading would blend colours, also
        # across zero.
        bands = axes.tricontourf(
            Triangulation(x, y, section.triangles),
            section.pressure / size,
            levels=np.linspace(0.0, most / size, _BANDS + 1),
            cmap=pressure_colours().with_extremes(under=_MARGIN_COLOUR),
            extend="min" if geometry.margin > 0.0 else "neither",
        )
        lines = np.stack([x, y], axis=1)[section.outlines]
        axes.add_collection(LineCollection(list(lines), colors="white", linewidths=0.25, alpha=0.5))
        bar = canvas.colorbar(bands, ax=axes)
        bar.locator = MaxNLocator(6)
        bar.set_label(f"pressure [{unit}]" + (", grey: margin" if geometry.margin > 0.0 else ""))
        axes.set_xlabel(f"{AXES[across]} [mm]")
        axes.set_ylabel(f"{AXES[up]} [mm]")
        axes.set_aspect("equal")
        axes.use_sticky_edges = False
        axes.margins(0.04)
        axes.set_title(f"{title}, {AXES[axis]} = {1e3 * place:.4g} mm")
