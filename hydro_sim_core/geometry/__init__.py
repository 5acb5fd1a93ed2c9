"""Geometries of shapes: meshes with a pressure field and a bounding-volume tree.

A compliant shape is a tetrahedral mesh whose pressure is zero on the surface and reaches the hydroelastic
modulus deep inside; a rigid shape is the triangulated surface alone. Every constructor returns a
``Geometry``.
"""

from __future__ import annotations

from hydro_sim_core.geometry.boxes import box
from hydro_sim_core.geometry.capsules import capsule
from hydro_sim_core.geometry.collisions import make_collision_geometry
from hydro_sim_core.geometry.convex import convex_mesh
from hydro_sim_core.geometry.cylinders import cylinder
from hydro_sim_core.geometry.files import load_surface
from hydro_sim_core.geometry.geometry import Geometry, GeometryKind
from hydro_sim_core.geometry.half_spaces import half_space
from hydro_sim_core.geometry.mesh import compliant_mesh, rigid_mesh
from hydro_sim_core.geometry.quality import MeshQuality, Spread, mesh_quality
from hydro_sim_core.geometry.shapes import make_geometry
from hydro_sim_core.geometry.solids import Field, compliant_solid, pressurised
from hydro_sim_core.geometry.spheres import ellipsoid, sphere
from hydro_sim_core.geometry.tetrahedral import stored_geometry, tetrahedral_mesh
from hydro_sim_core.geometry.tetrahedralisation import Progress, SolidMesh, tetrahedralise
from hydro_sim_core.geometry.threaded_solids import compliant_nut
from hydro_sim_core.geometry.turned_surfaces import (
    MetricThread,
    Surface,
    metric_bolt,
    metric_nut,
    revolve,
    segments_for,
    write_surface,
)
from hydro_sim_core.geometry.volume_files import write_vtk

__all__ = [
    "Field",
    "Geometry",
    "GeometryKind",
    "MeshQuality",
    "MetricThread",
    "Progress",
    "SolidMesh",
    "Spread",
    "Surface",
    "box",
    "capsule",
    "compliant_mesh",
    "compliant_nut",
    "compliant_solid",
    "convex_mesh",
    "cylinder",
    "ellipsoid",
    "half_space",
    "load_surface",
    "make_collision_geometry",
    "make_geometry",
    "mesh_quality",
    "metric_bolt",
    "metric_nut",
    "pressurised",
    "revolve",
    "rigid_mesh",
    "segments_for",
    "sphere",
    "stored_geometry",
    "tetrahedral_mesh",
    "tetrahedralise",
    "write_surface",
    "write_vtk",
]
