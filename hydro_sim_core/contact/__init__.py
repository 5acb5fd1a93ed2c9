"""Contact patches of two geometries at given poses."""

from hydro_sim_core.contact.face_arrays import FaceArrays
from hydro_sim_core.contact.geometry_set import GeometrySet, make_geometry_set
from hydro_sim_core.contact.patch import ContactPatch, compute_patch, world_faces
from hydro_sim_core.contact.patch_query import LargePatch, PatchQuery
from hydro_sim_core.contact.quality import PatchQuality

__all__ = [
    "ContactPatch",
    "FaceArrays",
    "GeometrySet",
    "LargePatch",
    "PatchQuality",
    "PatchQuery",
    "compute_patch",
    "make_geometry_set",
    "world_faces",
]
