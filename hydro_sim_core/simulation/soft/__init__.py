"""Bodies under Beker's smooth contact as functions of arrays: dynamics, steps and rollouts with derivatives."""

from hydro_sim_core.simulation.soft.from_world import soft_system
from hydro_sim_core.simulation.soft.system import SoftPair, SoftSystem

__all__ = ["SoftPair", "SoftSystem", "soft_system"]
