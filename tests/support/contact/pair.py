"""Two geometries whose faces a query finds in many poses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hydro_sim_core.compilation import Float1D, Float2D, Handle, entry
from hydro_sim_core.contact import FaceArrays, GeometrySet, make_geometry_set, world_faces
from hydro_sim_core.contact.poses import relative_pose
from hydro_sim_core.contact.pressure_field.faces import FaceBuffer, make_face_buffer
from hydro_sim_core.contact.pressure_field.kept_pairs import NOTHING_KEPT
from hydro_sim_core.contact.pressure_field.late_polygons import complete_polygons
from hydro_sim_core.contact.pressure_field.query import canonical_order, find_faces_again, make_query_scratch
from hydro_sim_core.contact.pressure_field.scratch import QueryScratch
from hydro_sim_core.contact.pressure_field.tree_query import find_faces_by_tree
from hydro_sim_core.contact.pressure_field.walk import walk_surface
from hydro_sim_core.geometry import Geometry
from support.contact.all_pairs import Contact, count_faces


# Entries are kept on disk, while a kernel that is called alone is compiled in every process.
@entry
def by_query(
    geometries: GeometrySet,
    a: int,
    b: int,
    R_BA: Float2D,
    p_BA: Float1D,
    scratch: QueryScratch,
    faces: FaceBuffer,
    count: int,
) -> int:
    """Find the faces as the step does."""
    return find_faces_again(geometries, a, b, NOTHING_KEPT, R_BA, p_BA, scratch, faces, count)


@entry
def by_walk(
    geometries: GeometrySet,
    a: int,
    b: int,
    R_BA: Float2D,
    p_BA: Float1D,
    scratch: QueryScratch,
    faces: FaceBuffer,
    count: int,
) -> int:
    """Find them by a walk, however few elements there are."""
    return walk_surface(geometries, a, b, R_BA, p_BA, False, scratch, faces, count)


@entry
def by_tree(
    geometries: GeometrySet,
    a: int,
    b: int,
    R_BA: Float2D,
    p_BA: Float1D,
    scratch: QueryScratch,
    faces: FaceBuffer,
    count: int,
) -> int:
    """Find them by the reference search."""
    return find_faces_by_tree(geometries, a, b, R_BA, p_BA, scratch, faces, count)


class Pair:
    """Keeps the query's memory between poses, as a simulation does."""

    def __init__(self, a: Geometry, b: Geometry) -> None:
        canonical = canonical_order(a.kind, b.kind)
        assert canonical is not None
        self._first, self._second = (0, 1) if canonical else (1, 0)
        self._geometries = make_geometry_set((a, b))
        self._set = Handle(self._geometries)
        self._allocate(1024)

    def _allocate(self, capacity: int) -> None:
        scratch = make_query_scratch(self._geometries, capacity)
        self._scratch, self._work = Handle(scratch), scratch.work
        self._buffer = make_face_buffer(capacity)
        self._faces = Handle(self._buffer)

    def faces(self, X_WA: np.ndarray, X_WB: np.ndarray, find: Callable[..., int] = by_query) -> FaceArrays:
        """Faces in the world frame, found by ``find``: ``by_query``, ``by_walk`` or ``by_tree``."""
        poses = (X_WA, X_WB)
        X_W2 = poses[self._second]
        R_BA, p_BA = relative_pose(poses[self._first], X_W2)
        pair = (self._set, self._first, self._second, R_BA, p_BA)
        while (count := find(*pair, self._scratch, self._faces, 0)) > len(self._buffer.num_vertices):
            self._allocate(2 * count)
        complete_polygons(*pair, self._work, self._faces, 0, count)
        return world_faces(self._buffer, 0, count, X_W2[:3, :3], X_W2[:3, 3], swapped=self._first == 1)

    def contact(self, X_WA: np.ndarray, X_WB: np.ndarray, find: Callable[..., int] = by_query) -> Contact:
        """What the faces transmit."""
        return transmitted(self.faces(X_WA, X_WB, find), X_WB[:3, 3])


def transmitted(faces: FaceArrays, p_WB: np.ndarray) -> Contact:
    """Sum of the faces' forces; the moment is about ``p_WB`` (3,), m."""
    pressed = faces.areas * np.maximum(faces.pressures, 0.0)
    forces = pressed[:, None] * faces.normals
    return Contact(
        force=forces.sum(axis=0),
        moment=np.cross(faces.centroids - p_WB, forces).sum(axis=0),
        area=float(faces.areas[faces.pressures >= 0.0].sum()),
        load=float(pressed.sum()),
        num_faces=count_faces(faces.areas, faces.pressures),
    )
