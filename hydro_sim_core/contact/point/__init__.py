"""One contact point, normal and depth for a pair of rigid geometries, which have no pressure field to share."""

from hydro_sim_core.contact.point.contact import PointContact, point_contact

__all__ = ["PointContact", "point_contact"]
