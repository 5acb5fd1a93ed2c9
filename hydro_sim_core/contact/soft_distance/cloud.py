"""Surfaces as oriented point clouds, and their placement and division into blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from hydro_sim_core.contact.poses import as_pose
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.held_interrupts import held_interrupts

#: An array of any library that follows the array API standard: NumPy, CuPy, JAX.
AnyArray = Any

#: Point-plane pairs evaluated at once. A pair takes about ten numbers, so a block takes some tens of megabytes.
_PAIRS_A_BLOCK = 1 << 19
_MAX_SPLITS = 12


@dataclass(frozen=True, eq=False)
class OrientedCloud:
    """Points with normals (small planes) that cover a closed surface, in the frame G of the geometry.

    Attributes:
        points: (N, 3) centres of the planes, m, an array of any array API library; sequences become NumPy arrays.
        normals: (N, 3) outward unit normals, an array of the same library.

    Raises:
        InputError: Shapes differ, there are no points, a number is not finite or a normal is not of length 1.
    """

    points: AnyArray
    normals: AnyArray

    def __post_init__(self) -> None:
        for name in ("points", "normals"):
            object.__setattr__(self, name, as_array(getattr(self, name)))
        xp = array_api_compat.array_namespace(self.points, self.normals)
        for name, rows in (("points", self.points), ("normals", self.normals)):
            if rows.ndim != 2 or rows.shape[1] != 3 or rows.shape[0] == 0:
                raise InputError(
                    "OrientedCloud", name, f"has shape {rows.shape}", "give shape (N, 3), N >= 1"
                )
            if not bool(xp.all(xp.isfinite(rows))):
                raise InputError("OrientedCloud", name, "holds NaN or infinity", "give finite numbers")
        if self.points.shape != self.normals.shape:
            problem = f"has {self.normals.shape[0]} rows for {self.points.shape[0]} points"
            raise InputError("OrientedCloud", "normals", problem, "give one normal a point")
        error = xp.abs(xp.sum(self.normals * self.normals, axis=1) - 1.0)
        if bool(xp.any(error > 1e-6)):
            raise InputError("OrientedCloud", "normals", "are not unit vectors", "normalise them")

    @classmethod
    def from_geometry(cls, geometry: Geometry, resolution: float | None = None) -> OrientedCloud:
        """Make a cloud of the centroids and normals of all surface triangles, as NumPy arrays.

        Args:
            geometry: A mesh without margin, since the margin's skirt lies off the true surface.
            resolution: Largest edge length, m, to which triangles are split; None takes them as they are. A box needs
                it, as its mesh may have two triangles per face.

        Raises:
            InputError: The geometry is a half space or has a margin, or the resolution is not a positive
                number or asks for more than 2^12 pieces along an edge.
        """
        if geometry.is_half_space:
            raise InputError(
                "OrientedCloud", "geometry", "is a half space, which has no mesh", "use a large flat box"
            )
        if geometry.margin > 0.0:
            problem = f"has a margin of {geometry.margin:g} m"
            raise InputError("OrientedCloud", "geometry", problem, "make it without a margin")
        vertices, triangles = geometry.vertices, geometry.surface_triangles()
        if resolution is not None:
            vertices, triangles = _split(vertices, triangles, resolution)

        a, b, c = (vertices[triangles[:, i]] for i in range(3))
        area_vectors = np.cross(b - a, c - a)
        normals = area_vectors / np.linalg.norm(area_vectors, axis=1, keepdims=True)
        return cls((a + b + c) / 3.0, normals)


def _split(vertices: np.ndarray, triangles: np.ndarray, resolution: float) -> tuple[np.ndarray, np.ndarray]:
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


def placed(cloud: OrientedCloud, X_FG: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Points and normals of a cloud in frame F."""
    R_FG = X_FG[:3, :3]
    return cloud.points @ R_FG.T + X_FG[:3, 3], cloud.normals @ R_FG.T


def inverse_times(X_WA: AnyArray, X_WB: AnyArray) -> AnyArray:
    """Pose (4, 4) of frame B in frame A."""
    xp = array_api_compat.array_namespace(X_WA, X_WB)
    R_AW = X_WA[:3, :3].T
    top = xp.concat([R_AW @ X_WB[:3, :3], (R_AW @ (X_WB[:3, 3] - X_WA[:3, 3]))[:, None]], axis=1)
    return xp.concat([top, X_WB[3:, :]], axis=0)


def as_array(values: AnyArray) -> AnyArray:
    """Convert anything but an array of an array API library to a NumPy array."""
    return values if array_api_compat.is_array_api_obj(values) else np.asarray(values, dtype=float)


def checked_pose(X: AnyArray, source: str, element: str) -> AnyArray:
    """Return ``X`` after checks: all checks for a NumPy array or sequence, only the shape for other arrays.

    Values of other libraries may be on a device or traced for differentiation, so that reading them is slow or
    impossible.
    """
    if not array_api_compat.is_array_api_obj(X) or array_api_compat.is_numpy_array(X):
        return as_pose(X, source, element)
    if X.shape != (4, 4):
        raise InputError(source, element, f"has shape {X.shape}", "give a (4, 4) homogeneous transform")
    return X


def blocks(num_rows: int, num_columns: int) -> Iterator[slice]:
    """Slices of the rows such that a block of rows times all columns stays within ``_PAIRS_A_BLOCK``."""
    size = max(1, _PAIRS_A_BLOCK // num_columns)
    for start in range(0, max(num_rows, 1), size):
        yield slice(start, min(start + size, num_rows))
