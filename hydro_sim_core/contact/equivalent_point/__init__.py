"""Contact of a rigid body with a plane at one equivalent contact point (Xie and Chakraborty 2019)."""

from hydro_sim_core.contact.equivalent_point.body import FrictionEllipsoid, RigidBody
from hydro_sim_core.contact.equivalent_point.hull import ClosestPoints, SupportHull, closest_points
from hydro_sim_core.contact.equivalent_point.step import EquivalentPointStep, step_on_plane

__all__ = [
    "ClosestPoints",
    "EquivalentPointStep",
    "FrictionEllipsoid",
    "RigidBody",
    "SupportHull",
    "closest_points",
    "step_on_plane",
]
