"""Depths of a layer below a surface, such that it does not fold over what lies opposite."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.geometry.geometry import FloatArray, Geometry, IntArray
from hydro_sim_core.geometry.margin_layers import outward_directions
from hydro_sim_core.geometry.thickness import thickness_along
from hydro_sim_core.geometry.tree import build_tree

#: Largest depth as a share of the thickness: two layers that meet in a wall keep a fifth of it apart.
SHARE = 0.4
#: A layer this many times as deep must not cross the surface: two layers without a crossing then do not meet.
_TWICE = 2.0
#: How often the depth is halved where the layer crosses the surface, before there is none.
_HALVINGS = 6
#: Share of an edge at its end that may lie in a triangle: round-off.
_END = 1e-9


def layer_depths(surface: Geometry, triangles: IntArray, most: float) -> FloatArray:
    """Depths (N,) at the vertices of a layer below a surface, m; zero where there is room for none.

    Rays from vertices and centroids tell how thick the solid is. They miss what lies below a large triangle between
    them, as the bottom of a blind hole does, so the layer is then made thinner where it would reach through the
    surface.

    Args:
        surface: A rigid surface.
        triangles: (M, 3) its triangles, counter-clockwise seen from above the layer: its own for a layer inside the
            body, turned ones for one outside.
        most: Largest depth, m.
    """
    used, numbered = np.unique(triangles, return_inverse=True)
    points, faces = surface.vertices[used], numbered.reshape(-1, 3)
    downwards = outward_directions(points, np.ascontiguousarray(faces[:, ::-1]))
    boxes, links = surface.tree_boxes, surface.tree_links
    corners = points[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    origins, directions = np.vstack([points, corners.mean(axis=1)]), np.vstack([downwards, -normals])
    room, _ = _first_exits(points, faces, boxes, links, origins, directions, most / SHARE)
    depth = room[: len(points)]
    np.minimum.at(depth, faces, room[len(points) :, None])
    depth *= SHARE
    for halvings in range(_HALVINGS + 1):
        crossing = _crossings(points, faces, boxes, links, _TWICE * depth[:, None] * downwards)
        if not crossing.any():
            break
        depth[crossing] *= 0.5 if halvings < _HALVINGS else 0.0
    depths = np.zeros(len(surface.vertices))
    depths[used] = depth
    return depths


def _first_exits(
    points: FloatArray,
    faces: IntArray,
    boxes: FloatArray,
    links: IntArray,
    origins: FloatArray,
    directions: FloatArray,
    most: float,
) -> tuple[FloatArray, IntArray]:
    """Where rays leave a surface (R,), at most ``most``, and through which triangle (R,), -1 for none."""
    reach, hit = np.full(len(origins), most), np.zeros(len(origins), dtype=np.int64)
    stack = np.zeros(len(links), dtype=np.int64)
    thickness_along(points, np.ascontiguousarray(faces), boxes, links, origins, directions, stack, reach, hit)
    return reach, hit


def _crossings(
    points: FloatArray, faces: IntArray, boxes: FloatArray, links: IntArray, shifts: FloatArray
) -> np.ndarray:
    """Vertices (N,) where a layer whose lower side is shifted crosses the surface."""
    lower = points + shifts
    found = np.zeros(len(points), dtype=bool)
    edges = np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    edges = np.vstack([edges, edges[:, ::-1]])  # they are told where they leave, and so looked at both ways
    _, hit = _first_exits(points, faces, boxes, links, points, shifts, 1.0 - _END)
    found[hit >= 0] = True
    starts, ends = lower[edges[:, 0]], lower[edges[:, 1]]
    _, hit = _first_exits(points, faces, boxes, links, starts, ends - starts, 1.0 - _END)
    found[edges[hit >= 0]] = True
    starts, ends = points[edges[:, 0]], points[edges[:, 1]]
    _, hit = _first_exits(lower, faces, *build_tree(lower, faces), starts, ends - starts, 1.0 - _END)
    rows = np.flatnonzero(hit >= 0)
    apart = (edges[rows][:, :, None] != faces[hit[rows]][:, None, :]).all(axis=(1, 2))
    found[faces[hit[rows[apart]]]] = True
    return found
