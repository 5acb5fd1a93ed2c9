"""Smooth distances and contact forces from oriented point clouds (Beker 2025)."""

from hydro_sim_core.contact.soft_distance.cloud import OrientedCloud
from hydro_sim_core.contact.soft_distance.distance import (
    anisotropic_gaussians,
    general_distance,
    separation,
    soft_distance,
    soft_distance_gradient,
)
from hydro_sim_core.contact.soft_distance.force import (
    PointForces,
    SoftContactModel,
    contact_wrench,
    point_forces,
)
from hydro_sim_core.contact.soft_distance.quality import CloudQuality, check_cloud, cloud_quality
from hydro_sim_core.contact.soft_distance.sampling import cloud_of_geometry, cloud_of_mesh
from hydro_sim_core.contact.soft_distance.top_k import collision_points, soft_top_k

__all__ = [
    "CloudQuality",
    "OrientedCloud",
    "PointForces",
    "SoftContactModel",
    "anisotropic_gaussians",
    "check_cloud",
    "cloud_of_geometry",
    "cloud_of_mesh",
    "cloud_quality",
    "collision_points",
    "contact_wrench",
    "general_distance",
    "point_forces",
    "separation",
    "soft_distance",
    "soft_distance_gradient",
    "soft_top_k",
]
