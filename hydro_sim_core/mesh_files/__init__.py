"""Mesh files of any accepted format as plain arrays, read so that a stranger's file can do no harm."""

from hydro_sim_core.mesh_files.allowance import shared_allowance
from hydro_sim_core.mesh_files.boundaries import boundary_triangles
from hydro_sim_core.mesh_files.reading import (
    MAX_ELEMENTS,
    MAX_FILE_BYTES,
    SURFACE_SUFFIXES,
    VOLUME_SUFFIXES,
    EmptyMesh,
    Part,
    Volume,
    mesh_file,
    read_coloured_parts,
    read_surface,
    read_volume,
)

__all__ = [
    "MAX_ELEMENTS",
    "MAX_FILE_BYTES",
    "SURFACE_SUFFIXES",
    "VOLUME_SUFFIXES",
    "EmptyMesh",
    "Part",
    "Volume",
    "boundary_triangles",
    "mesh_file",
    "read_coloured_parts",
    "read_surface",
    "read_volume",
    "shared_allowance",
]
