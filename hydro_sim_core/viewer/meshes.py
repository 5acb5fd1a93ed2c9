"""Render meshes of shapes: triangles with normals, sharp at edges and smooth elsewhere."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description.shape_types import shape_types
from hydro_sim_core.description.spec import ShapeSpec
from hydro_sim_core.geometry import load_surface
from hydro_sim_core.geometry.files import scale_factors
from hydro_sim_core.geometry.volume_files import load_volume
from hydro_sim_core.held_interrupts import held_interrupts
from hydro_sim_core.mesh_files import VOLUME_SUFFIXES, Part, boundary_triangles, read_coloured_parts

with held_interrupts():
    import trimesh

Array = NDArray[np.float64]
Rgba = tuple[float, float, float, float]

#: Angle between neighbouring triangles below which they are shaded smoothly.
SMOOTH_BELOW = np.radians(40.0)
GREY: Rgba = (0.6, 0.6, 0.6, 1.0)
#: File types whose surfaces may have colours of their own.
_COLOURED = (".dae", ".obj", ".glb")


@dataclass(frozen=True)
class Mesh:
    """A mesh in the format of the page.

    Attributes:
        key: Hash of ``data``, by which the page asks for it.
        data: Little-endian: numbers of vertices V and triangles T (uint32), positions, m, and unit normals (V, 3)
            (float32), vertex indices (T, 3) (uint32).
    """

    key: str
    data: bytes


def encode_mesh(vertices: Array, triangles: NDArray[np.int64]) -> Mesh:
    """Vertices (N, 3), m, and triangles (M, 3) as a mesh with normals.

    Normals are averaged over a vertex's triangles, weighted by their angles there, where the surface turns by less than
    ``SMOOTH_BELOW``; at sharper edges the vertices are doubled.
    """
    surface = trimesh.Trimesh(vertices, triangles, process=False)
    corner_vertex, corner = _split_at_edges(surface)
    points = vertices[corner_vertex]
    weighted = surface.face_angles[:, :, None] * surface.face_normals[:, None, :]
    normals = np.zeros_like(points)
    np.add.at(normals, corner, weighted)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals /= np.where(lengths > 0.0, lengths, 1.0)
    data = b"".join(
        (
            np.array([len(points), len(corner)], dtype="<u4").tobytes(),
            points.astype("<f4").tobytes(),
            normals.astype("<f4").tobytes(),
            corner.astype("<u4").tobytes(),
        )
    )
    return Mesh(hashlib.sha1(data, usedforsecurity=False).hexdigest(), data)


def _split_at_edges(surface: trimesh.Trimesh) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Vertex behind each new vertex, and the triangles (M, 3) in new vertices.

    Triangles share vertices if they are connected without a sharp edge between them.
    """
    triangles = np.asarray(surface.faces, dtype=np.int64)
    round_pairs = surface.face_adjacency[surface.face_adjacency_angles < SMOOTH_BELOW]
    region = trimesh.graph.connected_component_labels(round_pairs, node_count=len(triangles))
    keys = region[:, None].astype(np.int64) * len(surface.vertices) + triangles
    unique, corner = np.unique(keys, return_inverse=True)
    return unique % len(surface.vertices), corner.reshape(-1, 3)


def shape_meshes(shape: ShapeSpec, rgba: Rgba | None) -> tuple[tuple[Mesh, Rgba], ...]:
    """Meshes of a shape, in its frame, and their colours.

    Args:
        shape: Any but a half space.
        rgba: Colour; None for the file's own colours, or grey if it has none.

    Raises:
        InputError: A mesh file is missing, unreadable or empty.
    """
    if shape.kind == "mesh":
        assert shape.path is not None
        if rgba is None and shape.path.suffix.lower() in _COLOURED:
            return _coloured_parts(shape.path, shape.scale)
    return ((encode_mesh(*_surface(shape)), rgba or GREY),)


def _surface(shape: ShapeSpec) -> tuple[Array, NDArray[np.int64]]:
    if shape.kind == "mesh":
        assert shape.path is not None
        if shape.path.suffix.lower() in VOLUME_SUFFIXES:
            volume = load_volume(shape.path, shape.scale)
            return volume.vertices, boundary_triangles(volume.vertices, volume.tetrahedra)
        return load_surface(shape.path, shape.scale)
    return shape_types()[shape.kind].surface(shape.size)


def _coloured_parts(path: Path, scale: tuple[float, float, float]) -> tuple[tuple[Mesh, Rgba], ...]:
    """The parts of a mesh file by colour, each placed in the file's frame.

    Raises:
        InputError: As ``load_surface``.
    """
    by_colour: dict[Rgba, list[Part]] = {}
    for part in read_coloured_parts(path):
        by_colour.setdefault(_colour(part), []).append(part)
    return tuple((_merged(group, scale_factors(path, scale)), colour) for colour, group in by_colour.items())


def _merged(parts: list[Part], factors: Array) -> Mesh:
    offsets = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    mesh = trimesh.Trimesh(
        np.vstack([part.vertices for part in parts]),
        np.vstack([part.triangles + offset for part, offset in zip(parts, offsets, strict=True)]),
        process=False,
    )
    mesh.merge_vertices()
    triangles = np.asarray(mesh.faces)
    # Mirroring reverses the orientation of triangles.
    triangles = triangles[:, ::-1] if factors.prod() < 0.0 else triangles
    return encode_mesh(np.asarray(mesh.vertices) * factors, triangles)


def _colour(part: Part) -> Rgba:
    if part.colour is None:
        return GREY
    red, green, blue, alpha = (round(channel, 4) for channel in part.colour)
    return red, green, blue, alpha
