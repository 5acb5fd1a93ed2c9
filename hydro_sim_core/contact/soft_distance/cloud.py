"""Surfaces as oriented point clouds, and their placement and division into blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import array_api_compat
import numpy as np

from hydro_sim_core.contact.soft_distance.checks import (
    AnyArray,
    as_number,
    check_libraries,
    check_numbers,
    checked_array,
    checked_indices,
    holds,
    is_traced,
)
from hydro_sim_core.contact.soft_distance.pytrees import pytree, register_pytrees
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.held_interrupts import held_interrupts

#: Point-plane pairs evaluated at once. A pair takes about ten numbers, so a block takes some 170 MB. With a quarter of
#: that NumPy and XLA on a processor are as fast or slower, and a GPU launches twice as many kernels.
_PAIRS_A_BLOCK = 1 << 21
_MAX_SPLITS = 12
#: Root of the temperature of planes that is taken if none is given, in spacings. The plane beyond a sharp edge presses
#: sideways on what lies on this one, the more the hotter: at a half a box slides off a box, at an eighth it stays.
SMOOTHED = 0.125
#: Fewer planes enclose no solid.
FEWEST_POINTS = 4


@pytree(traced=("points", "normals", "areas", "vertices"), fixed=("faces", "is_half_space"))
@dataclass(frozen=True, eq=False)
class OrientedCloud:
    """Points with normals (small planes) that cover a closed surface, in the frame G of the geometry.

    Values of arrays that JAX traces are not checked: they are not known then. Once JAX is imported, clouds are pytrees.

    Attributes:
        points: (N, 3) centres of the planes, m, an array of any array API library; sequences become NumPy arrays.
        normals: (N, 3) outward unit normals, an array of the same library.
        areas: (N,) areas of the cells, m^2, an array of the same library; None if they are not known.
        vertices: (V, 3) corners of the cells, m; None if they are not known.
        faces: (N, K) rows of ``vertices`` that are the corners of each cell, an array of NumPy.
        is_half_space: Whether it stands for the half space z <= 0: one plane, and no points that could be inside
            another body. Its distance is exact.

    Raises:
        InputError: Shapes differ, there are fewer than 4 points, a number is not finite, a normal is not of length 1,
            an area not above 0 or a face of corners that are not there, or arrays are of less than 64 bits or of
            several libraries.
    """

    points: AnyArray
    normals: AnyArray
    areas: AnyArray = None
    vertices: AnyArray = None
    faces: AnyArray = None
    is_half_space: bool = False

    def __post_init__(self) -> None:
        self._check_shapes()
        arrays = {name: getattr(self, name) for name in ("points", "normals", "areas", "vertices")}
        given = {name: array for name, array in arrays.items() if array is not None}
        check_libraries("OrientedCloud", **given)
        for name, array in given.items():
            check_numbers("OrientedCloud", name, array)
        register_pytrees()
        if is_traced(self.normals):
            return
        xp = array_api_compat.array_namespace(self.normals)
        error = xp.abs(xp.sum(self.normals * self.normals, axis=1) - 1.0)
        if not holds(xp.all(error < 1e-6)):
            raise InputError("OrientedCloud", "normals", "are not unit vectors", "normalise them")
        if self.areas is not None and not is_traced(self.areas) and not holds(xp.all(self.areas > 0.0)):
            raise InputError("OrientedCloud", "areas", "holds zero or less", "give areas above 0")

    def _check_shapes(self) -> None:
        """Make arrays of what is none, and refuse shapes that do not fit each other."""
        for name in ("points", "normals", "areas", "vertices"):
            value = getattr(self, name)
            if value is not None or name in ("points", "normals"):
                object.__setattr__(self, name, checked_array(value, "OrientedCloud", name))
        least = 1 if self.is_half_space else FEWEST_POINTS
        for name in ("points", "normals", "vertices"):
            rows = getattr(self, name)
            if rows is not None and (rows.ndim != 2 or rows.shape[1] != 3 or rows.shape[0] < least):
                mend = f"give shape (N, 3), N >= {least}"
                raise InputError("OrientedCloud", name, f"has shape {tuple(rows.shape)}", mend)
        if self.areas is not None and self.areas.ndim != 1:
            raise InputError(
                "OrientedCloud", "areas", f"has shape {tuple(self.areas.shape)}", "give shape (N,)"
            )
        if self.faces is not None:
            if self.vertices is None:
                raise InputError("OrientedCloud", "faces", "refers to no vertices", "give the vertices too")
            faces = checked_indices(self.faces, "OrientedCloud", "faces", self.vertices.shape[0])
            object.__setattr__(self, "faces", faces)
        count = self.points.shape[0]
        for name, one in (("normals", "normal"), ("areas", "area"), ("faces", "face")):
            rows = getattr(self, name)
            if rows is not None and rows.shape[0] != count:
                problem = f"has {rows.shape[0]} rows for {count} points"
                raise InputError("OrientedCloud", name, problem, f"give one {one} a point")

    @classmethod
    def half_space(cls) -> OrientedCloud:
        """The solid z <= 0 in its own frame, as NumPy arrays."""
        return cls(np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), is_half_space=True)

    @classmethod
    def from_geometry(cls, geometry: Geometry, resolution: float | None = None) -> OrientedCloud:
        """Make a cloud of the centroids and normals of all surface triangles, as NumPy arrays.

        ``cloud_of_geometry`` covers the surface with a wanted number of points more evenly.

        Args:
            geometry: A mesh without margin, since the margin's skirt lies off the true surface.
            resolution: Largest edge length, m, to which triangles are split; None takes them as they are. A box needs
                it, as its mesh may have two triangles per face.

        Raises:
            InputError: The geometry is a half space, is open or has a margin, or the resolution is not a positive
                number or asks for more than 2^12 pieces along an edge.
        """
        if geometry.is_half_space:
            problem = "is a half space, which has no mesh"
            raise InputError("OrientedCloud", "geometry", problem, "use OrientedCloud.half_space()")
        if geometry.margin > 0.0:
            problem = f"has a margin of {geometry.margin:g} m"
            raise InputError("OrientedCloud", "geometry", problem, "make it without a margin")
        if not geometry.has_inside:
            mend = "close its holes: a cloud bounds a solid"
            raise InputError("OrientedCloud", "geometry", "is open", mend)
        vertices, triangles = geometry.vertices, geometry.surface_triangles()
        if resolution is not None:
            vertices, triangles = _split(vertices, triangles, resolution)

        a, b, c = (vertices[triangles[:, i]] for i in range(3))
        area_vectors = np.cross(b - a, c - a)
        lengths = np.linalg.norm(area_vectors, axis=1)
        return cls(
            (a + b + c) / 3.0, area_vectors / lengths[:, None], 0.5 * lengths, np.array(vertices), triangles
        )

    def as_arrays_of(self, namespace: Any) -> OrientedCloud:
        """The cloud with arrays of another library, such as ``jax.numpy``."""
        arrays: dict[str, Any] = {
            name: None if getattr(self, name) is None else namespace.asarray(getattr(self, name))
            for name in ("points", "normals", "areas", "vertices")
        }
        return replace(self, **arrays)


class Planes(NamedTuple):
    """A cloud in some frame F.

    Attributes:
        points: (N, 3) m.
        normals: (N, 3) unit normals.
        is_half_space: As of ``OrientedCloud``.
    """

    points: AnyArray
    normals: AnyArray
    is_half_space: bool


def placed(cloud: OrientedCloud, R_FG: AnyArray, p_FG: AnyArray) -> Planes:
    """A cloud in frame F, by the pose of its frame in it."""
    return Planes(cloud.points @ R_FG.T + p_FG, cloud.normals @ R_FG.T, cloud.is_half_space)


def _split(vertices: np.ndarray, triangles: np.ndarray, resolution: float) -> tuple[np.ndarray, np.ndarray]:
    resolution = as_number(resolution, "OrientedCloud", "resolution")
    if not (np.isfinite(resolution) and resolution > 0.0):
        raise InputError("OrientedCloud", "resolution", f"is {resolution}", "give a positive number")
    edges = vertices[triangles] - vertices[np.roll(triangles, 1, axis=1)]
    longest = np.linalg.norm(edges, axis=2).max()
    if longest > resolution * 2**_MAX_SPLITS:
        problem = f"{resolution:g} m would split the edges of {longest:g} m into more than {2**_MAX_SPLITS}"
        raise InputError("OrientedCloud", "resolution", problem, "give a coarser one")
    with held_interrupts():
        import trimesh  # takes a third of a second

    return trimesh.remesh.subdivide_to_size(vertices, triangles, resolution, max_iter=_MAX_SPLITS + 1)


def inverse_times(X_WA: AnyArray, X_WB: AnyArray) -> AnyArray:
    """Pose (4, 4) of frame B in frame A."""
    xp = array_api_compat.array_namespace(X_WA, X_WB)
    R_AW = X_WA[:3, :3].T
    top = xp.concat([R_AW @ X_WB[:3, :3], (R_AW @ (X_WB[:3, 3] - X_WA[:3, 3]))[:, None]], axis=1)
    return xp.concat([top, X_WB[3:, :]], axis=0)


def blocks(num_rows: int, num_columns: int) -> Iterator[slice]:
    """Slices of the rows such that a block of rows times all columns stays within ``_PAIRS_A_BLOCK``."""
    size = max(1, _PAIRS_A_BLOCK // num_columns)
    for start in range(0, max(num_rows, 1), size):
        yield slice(start, min(start + size, num_rows))
