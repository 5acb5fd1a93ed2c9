"""The contact of two geometries from all pairs of their elements: slow, plain NumPy, no code shared with the query.

It has no rule for ties, so poses in which elements are aligned must be perturbed first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hydro_sim_core.geometry import Geometry, GeometryKind

MIN_COSINE = np.cos(5.0 * np.pi / 8.0)
#: Cosine below which a face is upright.
UPRIGHT = 0.02
#: Faces below this fraction of a patch's area are round-off.
SLIVER = 1e-12


@dataclass(frozen=True)
class Contact:
    """What the faces of a patch transmit, in the world frame.

    Attributes:
        force: (3,) on B, N.
        moment: (3,) on B about its origin, each face's force at its centroid, N m.
        area: Of the faces that carry pressure, m^2.
        load: Sum of the sizes of the faces' forces, N: what round-off is measured by.
        num_faces: Faces, those with negative pressure too, but for those that round-off makes and unmakes: slivers, and
            faces without pressure, which lie in the surface of one body where the other's field is constantly zero.
    """

    force: np.ndarray
    moment: np.ndarray
    area: float
    load: float
    num_faces: int


@dataclass(frozen=True)
class Cells:
    """Elements of a geometry in some frame.

    Attributes:
        corners: (M, k, 3) vertices, m; none for a half space.
        walls: (M, w, 4) rows (b, c): b . x + c is not negative inside.
        fields: (M, 4) pressure g . x + c, Pa; NaN where rigid.
        normals: (M, 3) outward unit normals of a rigid surface, NaN otherwise.
    """

    corners: np.ndarray
    walls: np.ndarray
    fields: np.ndarray
    normals: np.ndarray


def contact_by_all_pairs(a: Geometry, X_WA: np.ndarray, b: Geometry, X_WB: np.ndarray) -> Contact:
    """Contact of two geometries of which at most one is a half space and at most one rigid.

    Rows of padding in polygons repeat vertices that were there before, so they are always finite.
    """
    if a.is_half_space or (b.is_rigid and not b.is_half_space):
        turned = contact_by_all_pairs(b, X_WB, a, X_WA)
        moment = -turned.moment + np.cross(X_WB[:3, 3] - X_WA[:3, 3], turned.force)
        return Contact(-turned.force, moment, turned.area, turned.load, turned.num_faces)
    R_BW = X_WB[:3, :3].T
    cells_a = cells(a, R_BW @ X_WA[:3, :3], R_BW @ (X_WA[:3, 3] - X_WB[:3, 3]))
    cells_b = cells(b, np.eye(3), np.zeros(3))
    i, j = candidates(cells_a, cells_b)
    polygons, counts, normals, fields, upright = faces(cells_a, i, cells_b, j)
    if a.margin > 0.0 or b.margin > 0.0:
        polygons, counts, normals, fields = by_sign(polygons, counts, normals, fields, upright)
    areas, centroids = area_and_centroid(polygons, counts)
    found = areas > 0.0
    areas, centroids, normals, fields = areas[found], centroids[found], normals[found], fields[found]
    pressures = np.einsum("ij,ij->i", fields[:, :3], centroids) + fields[:, 3]
    forces = (areas * np.maximum(pressures, 0.0))[:, None] * normals
    return Contact(
        force=R_BW.T @ forces.sum(axis=0),
        moment=R_BW.T @ np.cross(centroids, forces).sum(axis=0),
        area=float(areas[pressures >= 0.0].sum()),
        load=float(np.linalg.norm(forces, axis=1).sum()),
        num_faces=count_faces(areas, pressures),
    )


def by_sign(
    polygons: np.ndarray, counts: np.ndarray, normals: np.ndarray, fields: np.ndarray, upright: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The parts of faces with positive and those with negative pressure; upright ones are whole, in the first part."""
    everywhere = np.array([0.0, 0.0, 0.0, 1.0])
    parts = [
        clipped(polygons, counts, sign * np.where(upright[:, None], everywhere, fields))
        for sign in (1.0, -1.0)
    ]
    width = max(part.shape[1] for part, _ in parts)
    padded = [np.pad(part, ((0, 0), (0, width - part.shape[1]), (0, 0)), mode="edge") for part, _ in parts]
    return (
        np.concatenate(padded),
        np.concatenate([number for _, number in parts]),
        np.tile(normals, (2, 1)),
        np.tile(fields, (2, 1)),
    )


def count_faces(areas: np.ndarray, pressures: np.ndarray) -> int:
    """Number of faces whose area and pressure are more than round-off."""
    pressed = np.abs(pressures) > 1e-9 * np.abs(pressures).max(initial=0.0)
    return int(np.count_nonzero(pressed & (areas > SLIVER * areas.sum())))


def cells(geometry: Geometry, R: np.ndarray, p: np.ndarray) -> Cells:
    """Elements of a geometry whose frame has rotation R and origin p."""
    if geometry.is_half_space:
        up = R[:, 2]
        top = np.r_[-up, geometry.margin + up @ p][None, None]
        compliant = geometry.kind == GeometryKind.COMPLIANT_HALF_SPACE
        fields = moved(geometry.fields, R, p) if compliant else np.full((1, 4), np.nan)
        # A rigid half space is met in its plane, where nothing else bounds the face.
        return Cells(np.zeros((1, 0, 3)), top if compliant else np.zeros((1, 0, 4)), fields, up[None])
    corners = (geometry.vertices @ R.T + p)[geometry.elements]
    count = len(corners)
    if geometry.is_rigid:
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        return Cells(corners, np.zeros((count, 0, 4)), np.full((count, 4), np.nan), normals)
    walls = np.zeros((count, 4, 4))
    for k in range(4):
        first, second, third = (corners[:, (k + step) % 4] for step in (1, 2, 3))
        inward = np.cross(second - first, third - first)
        inward *= np.sign(np.einsum("ij,ij->i", inward, corners[:, k] - first))[:, None]
        inward /= np.linalg.norm(inward, axis=1, keepdims=True)
        walls[:, k] = np.column_stack([inward, -np.einsum("ij,ij->i", inward, first)])
    return Cells(corners, walls, moved(geometry.fields, R, p), np.full((count, 3), np.nan))


def moved(fields: np.ndarray, R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Linear fields (M, 4) of a frame with rotation R and origin p as functions of positions outside it."""
    gradients = fields[:, :3] @ R.T
    return np.column_stack([gradients, fields[:, 3] - gradients @ p])


def candidates(a: Cells, b: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (P,), (P,) of elements whose bounding boxes meet."""
    if not b.corners.shape[1]:
        i = np.arange(len(a.corners))
        return i, np.zeros_like(i)
    lower_a, upper_a = a.corners.min(axis=1), a.corners.max(axis=1)
    lower_b, upper_b = b.corners.min(axis=1), b.corners.max(axis=1)
    near = np.ones((len(lower_a), len(lower_b)), dtype=bool)
    for axis in range(3):
        near &= lower_a[:, None, axis] <= upper_b[None, :, axis]
        near &= upper_a[:, None, axis] >= lower_b[None, :, axis]
    return np.nonzero(near)


def faces(
    a: Cells, i: np.ndarray, b: Cells, j: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Faces of pairs of elements.

    Returns:
        Polygons, their numbers of vertices, normals from A into B, pressure fields, and whether they are upright: the
        field that gives the pressure falls along them.
    """
    field_a, field_b = a.fields[i], b.fields[j]
    if np.isnan(field_a).any():
        normals, plane, field = a.normals[i], None, field_b
    elif np.isnan(field_b).any():
        normals = -b.normals[j]
        plane, field = np.column_stack([normals, np.zeros(len(normals))]), field_a
    else:
        plane = field_b - field_a
        with np.errstate(invalid="ignore", divide="ignore"):
            plane = plane / np.linalg.norm(plane[:, :3], axis=1, keepdims=True)
        normals = plane[:, :3]
        size_a, size_b = (np.linalg.norm(f[:, :3], axis=1, keepdims=True) for f in (field_a, field_b))
        field = np.where(size_a < size_b, field_a, field_b)
    kept = np.isfinite(normals).all(axis=1)
    rigid_plane = np.isnan(field_b).any() and b.corners.shape[1] == 0
    if not rigid_plane:
        kept &= falls(-field_a, normals) & falls(field_b, normals)
    if plane is not None:
        kept &= crosses(plane, a.corners[i])
        if b.corners.shape[1]:
            kept &= crosses(plane, b.corners[j])
    with np.errstate(invalid="ignore"):
        slopes = [np.einsum("ij,ij->i", f[:, :3], normals) for f in (-field_a, field_b)]
    slope = np.nanmin(np.where(np.isnan(slopes), np.inf, slopes), axis=0)
    upright = (slope < UPRIGHT * np.linalg.norm(field[:, :3], axis=1))[kept]
    i, j, normals, field = i[kept], j[kept], normals[kept], field[kept]
    polygons = a.corners[i] if plane is None else squares(plane[kept], a.corners[i])
    counts = np.full(len(i), polygons.shape[1])
    for walls in (a.walls[i], b.walls[j]):
        for k in range(walls.shape[1]):
            polygons, counts = clipped(polygons, counts, walls[:, k])
    return polygons, counts, normals, field, upright


def falls(field: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Whether gradients lie within the angle of normals for which faces count: all where rigid or zero."""
    gradient = field[:, :3]
    slope = np.einsum("ij,ij->i", gradient, normals)
    return np.isnan(slope) | (slope >= MIN_COSINE * np.linalg.norm(gradient, axis=1))


def crosses(plane: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Whether each plane has corners on both sides."""
    heights = np.einsum("pkx,px->pk", corners, plane[:, :3]) + plane[:, 3:]
    return (heights.min(axis=1) <= 0.0) & (heights.max(axis=1) >= 0.0)


def squares(plane: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """In each plane a square (P, 4, 3) around an element that contains the element's section."""
    normals = plane[:, :3]
    centres = corners.mean(axis=1)
    centres = centres - (np.einsum("ij,ij->i", centres, normals) + plane[:, 3])[:, None] * normals
    reach = 4.0 * np.linalg.norm(corners - corners[:, :1], axis=2).max(axis=1)
    u = np.cross(normals, np.eye(3)[np.abs(normals).argmin(axis=1)])
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = np.cross(normals, u)
    signs = np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)])
    arms = signs[None, :, :1] * u[:, None] + signs[None, :, 1:] * v[:, None]
    return centres[:, None] + reach[:, None, None] * arms


def clipped(polygons: np.ndarray, counts: np.ndarray, walls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The parts of convex polygons (P, n, 3), padded, on the inner side of walls (P, 4)."""
    width = polygons.shape[1]
    if not len(polygons):
        return polygons, counts
    used = np.arange(width)[None] < counts[:, None]
    heights = np.einsum("pnx,px->pn", polygons, walls[:, :3]) + walls[:, 3:]
    following = np.where(np.arange(width)[None] + 1 < counts[:, None], np.arange(width)[None] + 1, 0)
    next_heights = np.take_along_axis(heights, following, axis=1)
    next_corners = np.take_along_axis(polygons, following[:, :, None], axis=1)
    inside, next_inside = heights >= 0.0, next_heights >= 0.0
    cut = used & (inside != next_inside)
    share = np.where(cut, heights, 0.0) / np.where(cut, heights - next_heights, 1.0)
    crossings = polygons + share[:, :, None] * (next_corners - polygons)

    both = np.stack([polygons, crossings], axis=2).reshape(len(polygons), -1, 3)
    keep = np.stack([used & inside, cut], axis=2).reshape(len(polygons), -1)
    counts = keep.sum(axis=1)
    order = np.argsort(~keep, axis=1, kind="stable")[:, : max(int(counts.max()), 3)]
    return np.take_along_axis(both, order[:, :, None], axis=1), counts


def area_and_centroid(polygons: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Areas (P,) and centroids (P, 3) of padded planar polygons; no area below three vertices."""
    if not len(polygons):
        return np.zeros(0), np.zeros((0, 3))
    apex = polygons[:, 0]
    arms = polygons - apex[:, None]
    triangle = np.arange(1, polygons.shape[1] - 1)[None] + 1 < counts[:, None]
    parts = 0.5 * np.linalg.norm(np.cross(arms[:, 1:-1], arms[:, 2:]), axis=2)
    parts = np.where(triangle, parts, 0.0)
    areas = parts.sum(axis=1)
    first_moments = np.einsum(
        "pn,pnx->px", parts, np.where(triangle[:, :, None], arms[:, 1:-1] + arms[:, 2:], 0.0)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        return areas, apex + first_moments / (3.0 * areas[:, None])
