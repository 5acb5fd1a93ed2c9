"""The convex hulls of a scene's bodies in one struct of arrays, the input of the compiled search for contact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hydro_sim_core.compilation import (
    ConstFloat1D,
    ConstFloat2D,
    ConstFloat3D,
    ConstInt1D,
    ConstInt2D,
    Float3D,
    Int2D,
)
from hydro_sim_core.geometry.geometry import FloatArray, IntArray
from hydro_sim_core.geometry.polyhedra import Polyhedron


@dataclass(frozen=True, eq=False)
class Hull:
    """Convex body: a polyhedron, a half space, or all points within a radius of a point or a segment.

    Attributes:
        solid: The polyhedron; None for the others.
        core: (K, 3) the point, or the two ends of the segment, m; empty for the others.
        radius: Of a sphere or a capsule, m; 0 for the others.
        plane: (4,) outward unit normal and offset of a half space, m; None for the others.
        tiles: For each face of a polyhedron, (T, 3, 3) corners of the triangles of the body that are in it, m; none
            where they fill it.
    """

    solid: Polyhedron | None = None
    core: FloatArray | None = None
    radius: float = 0.0
    plane: FloatArray | None = None
    tiles: tuple[FloatArray, ...] = ()

    @property
    def points(self) -> FloatArray:
        """(V, 3) vertices, or the core, m."""
        if self.solid is not None:
            return self.solid.vertices
        return self.core if self.core is not None else np.zeros((0, 3))


class HullSet(NamedTuple):
    """Concatenated hulls, each in the frame of its body. Indices are global; arrays of offsets have H + 1 entries.

    Attributes:
        vertex_start: (H + 1,) first vertex of each hull; half spaces have none.
        vertices: (V, 3) m.
        radius: (H,) distance of the surface from the hull of the vertices, m.
        face_start: (H + 1,) first face of each hull; rounded hulls have none.
        planes: (F, 4) outward unit normal and offset, m.
        loop_start: (F + 1,) first entry of each face in the loops.
        loop_vertices: Vertices of the faces, counter-clockwise from outside.
        loop_edges: Edge from each of them to the next.
        edge_start: (H + 1,) first edge of each hull.
        edges: (E, 4) two vertices, two faces.
        tile_start: (F + 1,) first tile of each face.
        tiles: (T, 3, 3) corners of the triangles of a body that does not fill a face of its hull, m.
    """

    vertex_start: ConstInt1D
    vertices: ConstFloat2D
    radius: ConstFloat1D
    face_start: ConstInt1D
    planes: ConstFloat2D
    loop_start: ConstInt1D
    loop_vertices: ConstInt1D
    loop_edges: ConstInt1D
    edge_start: ConstInt1D
    edges: ConstInt2D
    tile_start: ConstInt1D
    tiles: ConstFloat3D


class HullScratch(NamedTuple):
    """Memory of the search for contact of two hulls.

    Attributes:
        vertices: (2, V, 3) vertices of both hulls in the world, m.
        planes: (2, F, 4) their planes in the world, m.
        polygon: (2, N, 3) a face before and after a clip, m.
        labels: (2 * 2, N) for both: the vertex that a corner is, or -1; and the edge that begins there.
    """

    vertices: Float3D
    planes: Float3D
    polygon: Float3D
    labels: Int2D


def make_hull_set(hulls: Sequence[Hull]) -> HullSet:
    """Concatenate hulls; hull i of the set is ``hulls[i]``."""
    vertex_start = _starts([len(hull.points) for hull in hulls])
    solids = [hull.solid for hull in hulls]
    planes = [_planes(hull) for hull in hulls]
    face_start = _starts([len(of_hull) for of_hull in planes])
    edge_start = _starts([0 if solid is None else len(solid.edges) for solid in solids])
    nothing = np.zeros((0, 3, 3))
    tiles = [
        of_face
        for hull, own in zip(hulls, planes, strict=True)
        for of_face in (hull.tiles or [nothing] * len(own))
    ]
    loops, loop_edges, edges = [], [], []
    for i, hull in enumerate(hulls):
        if hull.solid is None:
            loops += [np.zeros(0, dtype=np.int64)] * len(planes[i])
            continue
        loops += [loop + vertex_start[i] for loop in hull.solid.loops]
        loop_edges += [around + edge_start[i] for around in hull.solid.loop_edges]
        edges.append(hull.solid.edges + np.array([vertex_start[i]] * 2 + [face_start[i]] * 2))
    arrays = HullSet(
        vertex_start=vertex_start,
        vertices=_joined([hull.points for hull in hulls], (-1, 3), float),
        radius=np.array([hull.radius for hull in hulls], dtype=float),
        face_start=face_start,
        planes=_joined(planes, (-1, 4), float),
        loop_start=_starts([len(loop) for loop in loops]),
        loop_vertices=_joined(loops, (-1,), np.int64),
        loop_edges=_joined(loop_edges, (-1,), np.int64),
        edge_start=edge_start,
        edges=_joined(edges, (-1, 4), np.int64),
        tile_start=_starts([len(of_face) for of_face in tiles]),
        tiles=_joined(tiles, (-1, 3, 3), float),
    )
    for array in arrays:
        array.flags.writeable = False
    return arrays


def make_hull_scratch(hulls: HullSet) -> HullScratch:
    """Allocate the memory for any two of the hulls."""
    vertices, faces = (int(np.max(np.diff(s), initial=1)) for s in (hulls.vertex_start, hulls.face_start))
    corners = 2 * int(np.max(np.diff(hulls.loop_start), initial=1)) + 2
    return HullScratch(
        vertices=np.zeros((2, vertices, 3)),
        planes=np.zeros((2, faces, 4)),
        polygon=np.zeros((2, corners, 3)),
        labels=np.zeros((4, corners), dtype=np.int64),
    )


def most_points(hulls: HullSet, a: int, b: int) -> int:
    """Largest number of points at which two hulls touch."""
    sizes = np.diff(hulls.vertex_start)[[a, b]]
    if sizes.min() == 0:
        return int(sizes.max())
    corners = [np.diff(hulls.loop_start)[hulls.face_start[i] : hulls.face_start[i + 1]] for i in (a, b)]
    return int(sum(np.max(of_hull, initial=1) for of_hull in corners)) + 3


def _planes(hull: Hull) -> FloatArray:
    if hull.solid is not None:
        return hull.solid.planes
    return np.zeros((0, 4)) if hull.plane is None else hull.plane[None]


def _starts(counts: Sequence[int]) -> IntArray:
    return np.concatenate(([0], np.cumsum(np.asarray(counts, dtype=np.int64)))).astype(np.int64)


def _joined(parts: Sequence[np.ndarray], shape: tuple[int, ...], dtype: type) -> np.ndarray:
    empty: np.ndarray = np.zeros(tuple(max(n, 0) for n in shape), dtype=dtype)
    return np.ascontiguousarray(np.concatenate([empty, *parts]), dtype=dtype)
