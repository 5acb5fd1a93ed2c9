"""Smooth distances and contact forces from oriented point clouds (Beker 2025)."""

from hydro_sim_core.contact.soft_distance.cloud import OrientedCloud
from hydro_sim_core.contact.soft_distance.distance import separation, soft_distance, soft_distance_gradient
from hydro_sim_core.contact.soft_distance.force import SoftContactModel, contact_wrench

__all__ = [
    "OrientedCloud",
    "SoftContactModel",
    "contact_wrench",
    "separation",
    "soft_distance",
    "soft_distance_gradient",
]
