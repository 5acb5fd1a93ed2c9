"""Mesh files of shapes that the URDF of other programs lacks: written once, named by a digest of what they hold."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import cache_root, make_private_folder
from hydro_sim_core.description.shape_types import shape_types
from hydro_sim_core.description.spec import ShapeSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.held_interrupts import held_interrupts
from hydro_sim_core.mesh_files import VOLUME_SUFFIXES, boundary_triangles, read_volume


def surface_of_shape(shape: ShapeSpec) -> Path:
    """Mesh file of a shape that URDF does not have, m."""
    return _written(shape.kind, *shape_types()[shape.kind].surface(shape.size))


def readable_mesh(path: Path) -> Path:
    """A mesh file, or the surface of one with tetrahedra, which RViz, MoveIt and others cannot read.

    One that cannot be read here either is left as it is.
    """
    if path.suffix.lower() not in VOLUME_SUFFIXES:
        return path
    try:
        status = path.stat()
        return _surface_of_volume(path, status.st_mtime_ns, status.st_size)
    except (OSError, InputError):
        return path


@cache
def _surface_of_volume(path: Path, mtime_ns: int, size: int) -> Path:
    """Surface of the file as it was at a time, in its own unit."""
    volume = read_volume(path)
    return _written(path.stem, volume.points, boundary_triangles(volume.points, volume.tetrahedra))


def _written(name: str, vertices: NDArray[np.float64], triangles: NDArray[np.int64]) -> Path:
    with held_interrupts():
        import trimesh  # takes a third of a second

    data = bytes(trimesh.exchange.stl.export_stl(trimesh.Trimesh(vertices, triangles, process=False)))
    path = cache_root() / "meshes" / f"{name}-{hashlib.sha256(data).hexdigest()[:16]}.stl"
    if path.is_file():
        return path
    folder: Path | None = path.parent
    try:
        make_private_folder(path.parent)
    except OSError:
        folder = None  # use the folder for temporary files
    # Written under another name and renamed, as another node may be reading it.
    with NamedTemporaryFile(dir=folder, suffix=".stl", delete=False) as file:
        file.write(data)
    return Path(file.name) if folder is None else Path(file.name).replace(path)
