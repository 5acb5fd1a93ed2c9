"""Patches of two geometries at one pose after another, on the processor or, where they are large, on an NVIDIA GPU."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.compilation.gpu_programs import cupy_with_gpu, processor_of
from hydro_sim_core.compilation.grids import CudaGrid, stored_code
from hydro_sim_core.contact.face_arrays import FaceArrays
from hydro_sim_core.contact.patch import (
    ContactPatch,
    compute_patch,
    is_canonical,
    set_of_pair,
    world_faces,
)
from hydro_sim_core.contact.poses import as_pose, relative_pose
from hydro_sim_core.contact.pressure_field.faces import (
    AREA,
    CENTROID,
    GRADIENT,
    NORMAL,
    NUM_ROWS,
    PRESSURE,
    SLOPE_A,
    FaceBuffer,
)
from hydro_sim_core.contact.pressure_field.grid.programs import grid_of
from hydro_sim_core.contact.pressure_field.grid.search import GridFaces, GridSearch, on_host
from hydro_sim_core.contact.pressure_field.grid.sums import SUM_AREA, SUM_FALLING, SUM_FORCE, SUM_MOMENT
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import Geometry

Array = NDArray[np.float64]

_SOURCE = "PatchQuery"
_BACKENDS = ("auto", "cpu", "cuda")
_CPU_ONLY = "give backend='cpu'"
#: Elements of both geometries together from which a GPU is faster than one core.
PAYS = 10_000


@dataclass(frozen=True, eq=False)
class LargePatch(ContactPatch):
    """A patch whose faces may be in the memory of a GPU; see ``ContactPatch`` for all else.

    Number of faces, area and wrench are known. What else is asked for copies the faces to the processor, once.
    """

    _found: GridFaces | None = field(default=None, repr=False)
    _X_WB: Array = field(default_factory=lambda: np.eye(4), repr=False)
    _swapped: bool = field(default=False, repr=False)
    _numpy: Any = field(default=np, repr=False)

    @property
    def num_faces(self) -> int:
        """Number of faces."""
        return super().num_faces if self._found is None else len(self._found.num_vertices)

    @cached_property
    def area(self) -> float:
        """Area of the faces that carry pressure, m^2; the margin skirt does not count."""
        if self._found is None:
            return float(np.sum(self.faces.areas[self.faces.pressures >= 0.0]))
        return float(self._found.sums[SUM_AREA])

    @cached_property
    def arrays(self) -> FaceArrays:
        """The faces in the world frame where they were found: arrays of CuPy on a GPU, else of NumPy."""
        found, numpy = self._found, self._numpy
        if found is None:
            return self.faces
        R, p, data = self._X_WB[:3, :3], self._X_WB[:3, 3], found.data
        sign = -1.0 if self._swapped else 1.0

        def turned(rows: Any, factor: float = 1.0) -> list[Any]:
            turn = factor * R
            return [sum(float(turn[i, j]) * rows[j] for j in range(3)) for i in range(3)]

        corners = turned([found.polygons[:, :, axis] for axis in range(3)])
        centroids = turned(data[CENTROID : CENTROID + 3])
        slopes = data[SLOPE_A : SLOPE_A + 2]
        return FaceArrays(
            centroids=numpy.stack([x + float(shift) for x, shift in zip(centroids, p, strict=True)], axis=1),
            normals=numpy.stack(turned(data[NORMAL : NORMAL + 3], sign), axis=1),
            areas=data[AREA],
            pressures=data[PRESSURE],
            gradients=numpy.stack(
                [slopes[1], slopes[0]] if self._swapped else [slopes[0], slopes[1]], axis=1
            ),
            field_gradients=numpy.stack(turned(data[GRADIENT : GRADIENT + 3]), axis=1),
            vertices=numpy.stack([x + float(shift) for x, shift in zip(corners, p, strict=True)], axis=2),
            num_vertices=found.num_vertices,
        )


class PatchQuery:
    """Contact patches of two geometries, at one pose after another.

    On a GPU the geometries stay in its memory; patches of 10^5 to 10^6 faces take milliseconds there. Faces are those
    that the processor finds, to the last bit, in another order; that order is fixed, and a query that is repeated gives
    the same bits.

    Args:
        a: Geometry A.
        b: Geometry B.
        every_polygon: As of ``compute_patch``.
        backend: ``"cpu"``; ``"cuda"``, an NVIDIA GPU; or ``"auto"``: the GPU if there is one and the geometries have so
            many elements that it pays.

    Attributes:
        backend: Where patches are found: ``"cpu"`` or ``"cuda"``.

    Raises:
        InputError: An argument is not a geometry, both are rigid or both are half spaces, the backend is unknown, or it
            is ``"cuda"`` and there is no usable GPU.
    """

    def __init__(
        self, a: Geometry, b: Geometry, *, every_polygon: bool = True, backend: str = "auto"
    ) -> None:
        if backend not in _BACKENDS:
            problem, mend = f"{backend!r} is unknown", f"give one of {', '.join(map(repr, _BACKENDS))}"
            raise InputError(_SOURCE, "backend", problem, mend)
        self._canonical = is_canonical(a, b)
        self._geometries, self._every = (a, b), bool(every_polygon)
        self._search: GridSearch | None = None
        self.backend = "cpu"
        cupy = self._cupy(backend)
        if cupy is not None:
            self._search_on_gpu(cupy)

    def _cupy(self, backend: str) -> Any:
        """CuPy if a GPU is to be used, else None."""
        elements = sum(len(geometry.elements) for geometry in self._geometries)
        if backend == "cpu" or (backend == "auto" and elements < PAYS):
            return None
        try:
            return cupy_with_gpu(_SOURCE, backend, _CPU_ONLY)
        except InputError:
            if backend == "cuda":
                raise
        return None

    def _search_on_gpu(self, cupy: Any) -> None:
        self.backend, self._numpy = "cuda", cupy
        self._set = set_of_pair(*self._geometries)
        grid = grid_of(self._set, *self._order)
        program = CudaGrid(cupy, grid, stored_code(grid, processor_of(cupy)))
        self._search = GridSearch(self._set, *self._order, program, cupy, every=self._every, source=_SOURCE)

    @property
    def _order(self) -> tuple[int, int]:
        return (0, 1) if self._canonical else (1, 0)

    def at(self, X_WA: ArrayLike, X_WB: ArrayLike) -> LargePatch:
        """The patch at these poses, and its static wrench.

        Args:
            X_WA: (4, 4) pose of A in the world.
            X_WB: (4, 4) pose of B in the world.

        Raises:
            InputError: A pose is not a rigid transform, or the patch has more faces than fit into the GPU's memory.
        """
        poses = (as_pose(X_WA, _SOURCE, "X_WA"), as_pose(X_WB, _SOURCE, "X_WB"))
        if self._search is not None:
            first, second = self._order
            R_BA, p_BA = relative_pose(poses[first], poses[second])
            found = self._search.find(R_BA, p_BA)
            if len(found.num_vertices):
                return self._patch(found, poses, (R_BA, p_BA))
        # Whether bodies overlap that have no faces, a processor finds out.
        (a, b), (X_A, X_B) = self._geometries, poses
        patch = compute_patch(a, X_A, b, X_B, every_polygon=self._every)
        return LargePatch(**{one.name: getattr(patch, one.name) for one in fields(ContactPatch)})

    def _patch(self, found: GridFaces, poses: tuple[Array, Array], pose: tuple[Array, Array]) -> LargePatch:
        first, second = self._order
        X_WS, p_WR = poses[second], poses[1][:3, 3]
        force = _turned(X_WS[:3, :3], found.sums[SUM_FORCE : SUM_FORCE + 3])
        moment = _turned(X_WS[:3, :3], found.sums[SUM_MOMENT : SUM_MOMENT + 3])
        moment = moment + np.cross(X_WS[:3, 3] - p_WR, force)
        sign = 1.0 if self._canonical else -1.0
        return LargePatch(
            face_source=lambda: _world_faces(found, X_WS, not self._canonical),
            p_WR=p_WR,
            force_on_b=sign * force,
            normal_force_on_b=sign * force,
            moment_on_b_at_reference=sign * moment,
            dropped_force=float(found.sums[SUM_FALLING] + found.dropped),
            _overlap=(self._set, first, second, *pose),
            _found=found,
            _X_WB=X_WS,
            _swapped=not self._canonical,
            _numpy=self._numpy,
        )


def _turned(R: Array, v: Array) -> Array:
    """R v in a fixed order: a library's product may differ between processors."""
    return R[:, 0] * v[0] + R[:, 1] * v[1] + R[:, 2] * v[2]


def _world_faces(found: GridFaces, X_WB: Array, swapped: bool) -> FaceArrays:
    """The faces in the world frame, in the processor's memory."""
    data = on_host(found.data)
    rows = np.concatenate([data, np.zeros((NUM_ROWS - len(data), data.shape[1]))])
    num_vertices = on_host(found.num_vertices)
    buffer = FaceBuffer(rows, on_host(found.polygons), num_vertices, on_host(found.elements).T)
    return world_faces(buffer, 0, len(num_vertices), X_WB[:3, :3], X_WB[:3, 3], swapped)
