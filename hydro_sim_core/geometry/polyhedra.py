"""Convex polyhedra with whole faces: triangles of a convex hull that lie in one plane are one face."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.convex import hull
from hydro_sim_core.geometry.geometry import FloatArray, IntArray

#: Most vertices of a polyhedron. The search for contact looks at every pair of edges of two bodies.
MOST_VERTICES = 1024
#: Angle between normals (rad), and distance of planes as a share of the size, within which triangles are one face.
COPLANAR = 1e-7


@dataclass(frozen=True, eq=False)
class Polyhedron:
    """A convex polyhedron.

    Attributes:
        vertices: (V, 3) m.
        triangles: (T, 3) vertices of triangles that make up its surface, counter-clockwise from outside.
        planes: (F, 4) outward unit normal n and offset d of each face, which lies in ``n . x = d``, m.
        loops: Vertices of each face, counter-clockwise from outside.
        loop_edges: Edge from each vertex of a loop to the next one.
        edges: (E, 4) the two vertices of every edge, and the two faces that it joins.
    """

    vertices: FloatArray
    triangles: IntArray
    planes: FloatArray
    loops: tuple[IntArray, ...]
    loop_edges: tuple[IntArray, ...]
    edges: IntArray


def polyhedron(source: str, element: str, points: FloatArray) -> Polyhedron:
    """Convex hull of points.

    Args:
        source: File, for error messages.
        element: Place in it.
        points: (N, 3) m; those inside the hull are ignored.

    Raises:
        InputError: The points span no volume, or the hull has more than ``MOST_VERTICES`` vertices.
    """
    try:
        vertices, triangles = hull(source, points)
    except InputError:
        mend = "give it a shape with a volume"
        raise InputError(source, element, "is flat, and has an empty convex hull", mend) from None
    if len(vertices) > MOST_VERTICES:
        problem = (
            f"has a convex hull of {len(vertices)} vertices, and contact at one point takes {MOST_VERTICES}"
        )
        raise InputError(source, element, problem, "give it a simpler collision mesh")
    planes, face_of_triangle = _faces(vertices, triangles)
    loops = [_outline(triangles[face_of_triangle == face]) for face in range(len(planes))]
    loop_edges, edges = _edges(loops)
    return Polyhedron(vertices, triangles, planes, tuple(loops), loop_edges, edges)


def _faces(vertices: FloatArray, triangles: IntArray) -> tuple[FloatArray, IntArray]:
    """Planes (F, 4) of the faces, and the face (T,) of every triangle."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1)
    normals /= np.maximum(areas, np.finfo(float).tiny)[:, None]
    offsets = np.einsum("ij,ij->i", normals, a)
    size = float(np.ptp(vertices, axis=0).max())
    face = np.full(len(triangles), -1, dtype=np.int64)
    planes: list[FloatArray] = []
    # Large triangles first: their normals suffer least from round-off.
    for seed in np.argsort(-areas):
        if face[seed] >= 0:
            continue
        heights = vertices[triangles] @ normals[seed] - offsets[seed]
        is_in = (np.abs(heights).max(axis=1) <= COPLANAR * size) & (normals @ normals[seed] > 0.5)
        face[is_in & (face < 0)] = len(planes)
        planes.append(np.append(normals[seed], offsets[seed]))
    return np.array(planes), face


def _outline(triangles: IntArray) -> IntArray:
    """Vertices around a face: the sides of its triangles that have no other triangle beyond."""
    sides = {(int(t[i]), int(t[(i + 1) % 3])) for t in triangles for i in range(3)}
    following = {a: b for a, b in sides if (b, a) not in sides}
    first = min(following)
    loop = [first]
    while following[loop[-1]] != first:
        loop.append(following[loop[-1]])
    return np.array(loop, dtype=np.int64)


def _edges(loops: list[IntArray]) -> tuple[tuple[IntArray, ...], IntArray]:
    """Edge from each vertex of the loops to the next, and the edges (E, 4), see ``Polyhedron``."""
    number: dict[frozenset[int], int] = {}
    edges: list[list[int]] = []
    of_loops = []
    for face, loop in enumerate(loops):
        around = []
        for a, b in zip(loop.tolist(), np.roll(loop, -1).tolist(), strict=True):
            edge = number.setdefault(frozenset((a, b)), len(edges))
            if edge == len(edges):
                edges.append([a, b, face, face])
            edges[edge][3] = face
            around.append(edge)
        of_loops.append(np.array(around, dtype=np.int64))
    return tuple(of_loops), np.array(edges, dtype=np.int64)
