"""Point contact: one contact point, normal and depth for a pair of rigid geometries."""

from hydro_sim_core.contact.point.contact import PointContact, point_contact

__all__ = ["PointContact", "point_contact"]
