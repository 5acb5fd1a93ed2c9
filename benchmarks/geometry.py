"""Contact faces of two spheres at several resolutions, ours against Drake's, on the same meshes.

Spheres of radius 0.1 m overlap by 20 % of it and move at 0.1 m/s with 1 ms between queries. Both sides take turns
over the same poses. Drake's figure includes one Python call and one list of results a query; its cost on spheres that
do not touch is measured too and printed as overhead.
"""

from __future__ import annotations

import time

import numba
import numpy as np
from measure import output_argument, write
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    FrameId,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    HydroelasticContactRepresentation,
    ProximityProperties,
    SceneGraph,
    Sphere,
)
from pydrake.math import RigidTransform
from rich.console import Console
from rich.table import Table

from hydro_sim_core.contact.geometry_set import make_geometry_set
from hydro_sim_core.contact.pressure_field.faces import make_face_buffer
from hydro_sim_core.contact.pressure_field.query import canonical_order, find_faces, make_query_scratch
from hydro_sim_core.geometry import Geometry, rigid_mesh, sphere

RADIUS = 0.1
MODULUS = 1e5
HINTS = (0.08, 0.04, 0.02, 0.01)
STEP = 1e-4  # m between two queries: 0.1 m/s at 1 kHz
TURNS = 6
POSES_A_TURN = 50
MAX_FACES = 20_000


def poses() -> np.ndarray:
    """Origins (n, 3) of the moving sphere: along a line that keeps the overlap within a few percent."""
    travel = STEP * np.arange(TURNS * POSES_A_TURN)
    start = np.array([1.8 * RADIUS, 0.013 * RADIUS, 0.007 * RADIUS])
    direction = np.array([0.05, 0.8, 0.6])
    return start + travel[:, None] * direction / np.linalg.norm(direction)


class OurSpheres:
    """Queries of two of our geometries in one compiled loop."""

    def __init__(self, a: Geometry, b: Geometry) -> None:
        if not canonical_order(a.kind, b.kind):
            a, b = b, a
            self._sign = -1.0
        else:
            self._sign = 1.0
        self._geometries = make_geometry_set((a, b))
        self._scratch = make_query_scratch(self._geometries)
        self._buffer = make_face_buffer(MAX_FACES)
        self.query(np.array([[1.8 * RADIUS, 0.0, 0.0]]))

    def query(self, p_WB: np.ndarray) -> int:
        """Number of faces over all origins (n, 3) of the moving sphere."""
        return _query_all(self._geometries, self._scratch, self._buffer, -self._sign * p_WB, np.eye(3))


@numba.njit
def _query_all(geometries, scratch, buffer, p_BA, R_BA):
    total = 0
    for i in range(p_BA.shape[0]):
        total += find_faces(geometries, 0, 1, R_BA, p_BA[i], scratch, buffer, 0)
    return total


class DrakeSpheres:
    """Queries of Drake's geometry engine."""

    def __init__(self, hint: float, rigid: bool) -> None:
        self._scene_graph = SceneGraph()
        self._source = self._scene_graph.RegisterSource("spheres")
        self._frames = [self._add_sphere(i, hint, rigid and i == 0) for i in range(2)]
        self._context = self._scene_graph.CreateDefaultContext()

    def _add_sphere(self, i: int, hint: float, rigid: bool) -> FrameId:
        properties = ProximityProperties()
        if rigid:
            AddRigidHydroelasticProperties(hint, properties)
        else:
            AddCompliantHydroelasticProperties(hint, MODULUS, properties)
        AddContactMaterial(properties=properties)
        frame = self._scene_graph.RegisterFrame(self._source, GeometryFrame(f"frame{i}"))
        instance = GeometryInstance(RigidTransform(), Sphere(RADIUS), f"sphere{i}")
        instance.set_proximity_properties(properties)
        self._scene_graph.RegisterGeometry(self._source, frame, instance)
        return frame

    def query(self, p_WB: np.ndarray) -> int:
        """Number of faces over all origins (n, 3) of the moving sphere."""
        port = self._scene_graph.get_source_pose_port(self._source)
        output = self._scene_graph.get_query_output_port()
        total = 0
        for p in p_WB:
            X = FramePoseVector()
            X.set_value(self._frames[0], RigidTransform())
            X.set_value(self._frames[1], RigidTransform(p))
            port.FixValue(self._context, X)
            surfaces = output.Eval(self._context).ComputeContactSurfaces(
                HydroelasticContactRepresentation.kPolygon
            )
            total += sum(surface.num_faces() for surface in surfaces)
        return total


def measure(hint: float, rigid: bool) -> dict[str, float | str]:
    """Time both sides over the same poses, in turns."""
    ball = sphere(RADIUS, resolution=hint, modulus=MODULUS)
    first = rigid_mesh(ball.vertices, ball.surface_triangles()) if rigid else ball
    sides = {"ours": OurSpheres(first, ball), "drake": DrakeSpheres(hint, rigid)}
    cpu = dict.fromkeys(sides, 0.0)
    faces = dict.fromkeys(sides, 0)
    origins = poses()
    for turn in np.split(origins, TURNS):
        for name, side in sides.items():
            began = time.thread_time()
            faces[name] += side.query(turn)
            cpu[name] += time.thread_time() - began
    apart = origins + np.array([RADIUS, 0.0, 0.0])
    began = time.thread_time()
    sides["drake"].query(apart)
    overhead = time.thread_time() - began
    n = len(origins)
    return {
        "pair": "rigid-compliant" if rigid else "compliant-compliant",
        "hint": hint,
        "faces": faces["ours"] / n,
        "drake_faces": faces["drake"] / n,
        "us_per_query": 1e6 * cpu["ours"] / n,
        "drake_us_per_query": 1e6 * cpu["drake"] / n,
        "drake_overhead_us": 1e6 * overhead / n,
        "ns_per_face": 1e9 * cpu["ours"] / faces["ours"],
        "drake_ns_per_face": 1e9 * (cpu["drake"] - overhead) / faces["drake"],
        "ratio": (cpu["drake"] - overhead) / cpu["ours"],
    }


def main() -> None:
    """Measure all pairs, print the table, write the results."""
    output = output_argument(__doc__.splitlines()[0], "geometry")
    rows = [measure(hint, rigid) for rigid in (False, True) for hint in HINTS]
    table = Table(
        title="two spheres, 0.1 m/s", caption="ratio: Drake without the overhead of its call, over ours"
    )
    for heading in ("pair", "hint, m", "faces", "Drake's", "ns a face", "Drake's", "overhead, µs", "ratio"):
        table.add_column(heading, justify="left" if heading == "pair" else "right")
    for row in rows:
        table.add_row(
            str(row["pair"]),
            f"{row['hint']:g}",
            f"{row['faces']:.1f}",
            f"{row['drake_faces']:.1f}",
            f"{row['ns_per_face']:.0f}",
            f"{row['drake_ns_per_face']:.0f}",
            f"{row['drake_overhead_us']:.1f}",
            f"{row['ratio']:.2f}",
        )
    Console(width=110).print(table)
    write(output, {"rows": rows})


if __name__ == "__main__":
    main()
