"""Drake's side of the benchmark, with the same meshes, which it reads from files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddRigidHydroelasticProperties,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    HydroelasticContactRepresentation,
    Mesh,
    ProximityProperties,
    SceneGraph,
)
from pydrake.math import RigidTransform

from hydro_sim_core.geometry import Geometry, write_vtk
from hydro_sim_core.geometry.geometry import FloatArray

#: Drake requires a resolution hint even for a given mesh, where it has no effect.
_NO_HINT = 1.0


class DrakePair:
    """Queries of Drake's geometry engine for two geometries.

    Drake gives a tetrahedral mesh the pressure ``E depth / (largest depth)``, which our geometries must have too.
    """

    def __init__(self, a: Geometry, b: Geometry) -> None:
        self._scene_graph = SceneGraph()
        self._source = self._scene_graph.RegisterSource("benchmark")
        with tempfile.TemporaryDirectory() as folder:
            self._frames = [
                self._add(geometry, Path(folder), name) for name, geometry in (("a", a), ("b", b))
            ]
            # Drake reads the files only here.
            self._context = self._scene_graph.CreateDefaultContext()

    def _add(self, geometry: Geometry, folder: Path, name: str) -> Any:
        properties = ProximityProperties()
        if geometry.is_rigid:
            path = folder / f"{name}.obj"
            write_obj(path, geometry)
            AddRigidHydroelasticProperties(_NO_HINT, properties)
        else:
            path = folder / f"{name}.vtk"
            write_vtk(geometry, path)
            AddCompliantHydroelasticProperties(_NO_HINT, geometry.modulus, properties)
        frame = self._scene_graph.RegisterFrame(self._source, GeometryFrame(name))
        instance = GeometryInstance(RigidTransform(), Mesh(path), name)
        instance.set_proximity_properties(properties)
        self._scene_graph.RegisterGeometry(self._source, frame, instance)
        return frame

    def count_faces(self, X_BA: FloatArray) -> int:
        """Number of contact faces over all poses (n, 4, 4)."""
        port = self._scene_graph.get_source_pose_port(self._source)
        output = self._scene_graph.get_query_output_port()
        poses = FramePoseVector()
        poses.set_value(self._frames[1], RigidTransform())
        total = 0
        for X in X_BA:
            poses.set_value(self._frames[0], RigidTransform(X))
            port.FixValue(self._context, poses)
            query: Any = output.Eval(self._context)
            surfaces = query.ComputeContactSurfaces(HydroelasticContactRepresentation.kPolygon)
            total += sum(surface.num_faces() for surface in surfaces)
        return total


def write_obj(path: Path, geometry: Geometry) -> None:
    """Write a triangulated surface with all digits of its coordinates."""
    with path.open("w") as file:
        np.savetxt(file, geometry.vertices, fmt="v %.17g %.17g %.17g")
        np.savetxt(file, geometry.elements + 1, fmt="f %d %d %d")
