"""The side of hydro-sim in the benchmark."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hydro_sim_core.compilation import Float2D, Float3D, entry, kernel
from hydro_sim_core.contact.geometry_set import GeometrySet, make_geometry_set
from hydro_sim_core.contact.pressure_field.elements import tie_distance
from hydro_sim_core.contact.pressure_field.faces import FaceBuffer, make_face_buffer
from hydro_sim_core.contact.pressure_field.kept_pairs import NOTHING_KEPT, begin_pass
from hydro_sim_core.contact.pressure_field.peaks import push_pairs_at_peak
from hydro_sim_core.contact.pressure_field.query import QueryScratch, find_faces_again, make_query_scratch
from hydro_sim_core.contact.pressure_field.visits import begin_visits
from hydro_sim_core.contact.pressure_field.wide_trees import list_meetings
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.geometry.geometry import FloatArray

_FIRST_CAPACITY = 512


class OurPair:
    """Queries of a canonical pair, many poses in one compiled call, as a World queries its pairs."""

    def __init__(self, a: Geometry, b: Geometry, X_BA: FloatArray) -> None:
        """Prepare for poses with about as many faces as at ``X_BA`` (4, 4)."""
        self._geometries = make_geometry_set((a, b))
        self._make_room(_FIRST_CAPACITY)
        self._make_room(2 * self.count_faces(X_BA[None]))

    def _make_room(self, capacity: int) -> None:
        self._scratch = make_query_scratch(self._geometries, capacity, 1)
        self._faces = make_face_buffer(capacity)

    def count_faces(self, X_BA: FloatArray) -> int:
        """Number of contact faces over all poses (n, 4, 4)."""
        return self.run(_query_poses, X_BA)

    def stages(self, X_BA: FloatArray) -> dict[str, float]:
        """CPU time per query of each stage over all poses (n, 4, 4), s.

        ``trees``: the descent of both shells to pairs of elements that may meet. ``peaks``: the search for closed
        surfaces. ``walk``: everything else, that is visiting pairs and making their faces. The first two are repeated
        alone, because reading a clock inside a query would cost more than they do. Nothing is kept from pose to pose.
        """
        seconds = {}
        for name, run in (("trees", _descend_shells), ("peaks", _try_peaks), ("walk", _query_poses_anew)):
            began = time.thread_time()
            self.run(run, X_BA)
            seconds[name] = (time.thread_time() - began) / len(X_BA)
        seconds["walk"] -= seconds["trees"] + seconds["peaks"]
        return seconds

    def run(self, function: Callable[..., Any], X_BA: FloatArray) -> int:
        """Result of an entry point for all poses (n, 4, 4); if it is negative there was no room, and it runs again."""
        R_BA = np.ascontiguousarray(X_BA[:, :3, :3])
        p_BA = np.ascontiguousarray(X_BA[:, :3, 3])
        while (found := int(function(self._geometries, R_BA, p_BA, self._scratch, self._faces))) < 0:
            self._make_room(max(_FIRST_CAPACITY, 2 * len(self._faces.num_vertices)))
        return found


@kernel
def _query(
    geometries: GeometrySet, pair: int, R_BA: Float3D, p_BA: Float2D, scratch: QueryScratch, faces: FaceBuffer
) -> int:
    """Number of faces over all poses, with what is kept in row ``pair``; -1 if there is no room for those of one."""
    total = 0
    for i in range(p_BA.shape[0]):
        begin_pass(scratch.kept)
        found = find_faces_again(geometries, 0, 1, pair, R_BA[i], p_BA[i], scratch, faces, 0)
        if found > faces.num_vertices.shape[0]:
            return -1
        total += found
    return total


@entry
def _query_poses(
    geometries: GeometrySet, R_BA: Float3D, p_BA: Float2D, scratch: QueryScratch, faces: FaceBuffer
) -> int:
    """Number of faces."""
    return _query(geometries, 0, R_BA, p_BA, scratch, faces)


@entry
def _query_poses_anew(
    geometries: GeometrySet, R_BA: Float3D, p_BA: Float2D, scratch: QueryScratch, faces: FaceBuffer
) -> int:
    """Number of faces, without pairs kept from one pose to the next."""
    return _query(geometries, NOTHING_KEPT, R_BA, p_BA, scratch, faces)


@entry
def _descend_shells(
    geometries: GeometrySet, R_BA: Float3D, p_BA: Float2D, scratch: QueryScratch, faces: FaceBuffer
) -> int:
    """Number of pairs at which walks start; -1 if there is no room for them."""
    total, candidates = 0, scratch.kept.candidates[0]
    for i in range(p_BA.shape[0]):
        tie, of_a, of_b = (
            tie_distance(geometries, 0, 1, p_BA[i]),
            geometries.wide_shell[0],
            geometries.wide_rim[1],
        )
        num = list_meetings(geometries, of_a, of_b, R_BA[i], p_BA[i], tie, scratch, candidates, 0)
        if num < 0:
            return -1
        total += num
    return total


@entry
def _try_peaks(
    geometries: GeometrySet, R_BA: Float3D, p_BA: Float2D, scratch: QueryScratch, faces: FaceBuffer
) -> int:
    """Number of pairs at which walks over closed surfaces start."""
    total = 0
    for i in range(p_BA.shape[0]):
        begin_visits(scratch)
        for side in range(2):
            for peak in range(geometries.peak_start[side], geometries.peak_start[side + 1]):
                total += push_pairs_at_peak(geometries, 0, 1, peak, side == 0, R_BA[i], p_BA[i], scratch)
    return total
