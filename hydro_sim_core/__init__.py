"""Rigid multibody simulation with pressure-field (hydroelastic) contact."""

from hydro_sim_core import contact, geometry
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World, load_scene, load_urdf

__all__ = ["InputError", "World", "contact", "geometry", "load_scene", "load_urdf"]
