"""A scene that runs."""

from hydro_sim_core.simulation.world.world import World

__all__ = ["World"]
