"""Surfaces from mesh files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.geometry import FloatArray, IntArray
from hydro_sim_core.geometry.mesh import check_surface
from hydro_sim_core.geometry.simplices import enclosed_volume, is_closed
from hydro_sim_core.mesh_files import EmptyMesh, read_surface


def load_surface(
    path: str | Path, scale: float | Sequence[float] = 1.0, *, watertight: bool = False
) -> tuple[FloatArray, IntArray]:
    """Read a triangulated surface from an STL, OBJ, DAE, GLB or PLY file.

    All parts of a scene are merged in the frame of the file with their transforms applied; the unit of a DAE file is
    applied, its up axis is not (as in ROS tools). Coincident vertices are merged, triangles that become degenerate are
    dropped, and a closed surface that is inside out is reversed.

    Args:
        path: The file.
        scale: Factor on the coordinates: one number, or one per axis; negative ones mirror.
        watertight: Refuse a surface that is not closed.

    Returns:
        Vertices (N, 3), m, and triangles (M, 3), counter-clockwise seen from outside.

    Raises:
        InputError: The file is missing, of an unknown format, too large, unreadable or empty, names vertices that do
            not exist, has coordinates that are not finite, or is not closed although ``watertight``.
    """
    path = Path(path)
    vertices, triangles = read_surface(path)
    factors = scale_factors(path, scale)
    vertices = vertices * factors
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    if not len(triangles):
        raise EmptyMesh(path, "", "has only degenerate triangles", "export the mesh again")
    used, triangles = np.unique(triangles, return_inverse=True)
    vertices, triangles = vertices[used], triangles.reshape(-1, 3)
    # For an open surface the volume does not show the orientation, but a mirrored one has to be reversed.
    closed = is_closed(triangles)
    if enclosed_volume(vertices, triangles) < 0.0 if closed else factors.prod() < 0.0:
        triangles = triangles[:, ::-1]
    if watertight:
        check_surface(str(path), vertices, triangles, open_surface=False)
    return vertices, np.ascontiguousarray(triangles)


@contextlib.contextmanager
def named_after(path: str | Path) -> Iterator[None]:
    """Make an ``InputError`` name the file of the arrays."""
    try:
        yield
    except InputError as error:
        raise type(error)(path, error.element, error.problem, error.mend) from None


def scale_factors(path: Path, scale: float | Sequence[float]) -> FloatArray:
    """Return the factors on the coordinates (3,), or raise ``InputError``."""
    factors = np.asarray(scale, dtype=np.float64)
    if factors.shape not in ((), (3,)) or not np.isfinite(factors).all() or (factors == 0.0).any():
        raise InputError(path, "scale", f"is {scale}", "give one factor or three, finite and not zero")
    return np.broadcast_to(factors, 3)
