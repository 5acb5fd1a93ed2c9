"""Our side of the benchmark."""

from __future__ import annotations

from typing import Any

import numpy as np

from hydro_sim_core.contact.geometry_set import make_geometry_set
from hydro_sim_core.contact.pressure_field.faces import make_face_buffer
from hydro_sim_core.contact.pressure_field.query import find_faces, make_query_scratch
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.geometry.geometry import FloatArray
from hydro_sim_core.jit import kernel

_FIRST_CAPACITY = 512


class OurPair:
    """Queries of a canonical pair, many poses in one compiled call, as a World queries its pairs."""

    def __init__(self, a: Geometry, b: Geometry, X_BA: FloatArray) -> None:
        """Prepare for poses whose faces are about as many as at ``X_BA`` (4, 4)."""
        self._geometries = make_geometry_set((a, b))
        capacity, count = 0, _FIRST_CAPACITY
        while count > capacity:
            capacity = 2 * count
            self._scratch = make_query_scratch(self._geometries, capacity)
            self._faces = make_face_buffer(capacity)
            count = self.count_faces(X_BA[None])

    def count_faces(self, X_BA: FloatArray) -> int:
        """Number of contact faces over all poses (n, 4, 4)."""
        R_BA = np.ascontiguousarray(X_BA[:, :3, :3])
        p_BA = np.ascontiguousarray(X_BA[:, :3, 3])
        return int(_query_poses(self._geometries, R_BA, p_BA, self._scratch, self._faces))


@kernel
def _query_poses(geometries: Any, R_BA: Any, p_BA: Any, scratch: Any, faces: Any) -> Any:
    total = 0
    for i in range(p_BA.shape[0]):
        total += find_faces(geometries, 0, 1, R_BA[i], p_BA[i], scratch, faces, 0)
    return total
