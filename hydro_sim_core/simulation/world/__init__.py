"""``World``: a scene that can be stepped, commanded and read."""

from hydro_sim_core.simulation.world.world import World

__all__ = ["World"]
