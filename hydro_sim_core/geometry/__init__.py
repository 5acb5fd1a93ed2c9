"""Shapes become meshes with a pressure field and a bounding-volume tree.

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
from hydro_sim_core.geometry.shapes import make_geometry
from hydro_sim_core.geometry.spheres import ellipsoid, sphere
from hydro_sim_core.geometry.tetrahedral import tetrahedral_mesh

__all__ = [
    "Geometry",
    "GeometryKind",
    "box",
    "capsule",
    "compliant_mesh",
    "convex_mesh",
    "cylinder",
    "ellipsoid",
    "half_space",
    "load_surface",
    "make_collision_geometry",
    "make_geometry",
    "rigid_mesh",
    "sphere",
    "tetrahedral_mesh",
]
