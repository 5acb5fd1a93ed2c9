"""Rigid multibody simulation with pressure-field (hydroelastic) contact.

Subpackages are imported on first use, so that a program which needs one of them does not wait for all.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hydro_sim_core.errors import InputError

if TYPE_CHECKING:
    from hydro_sim_core import contact, geometry
    from hydro_sim_core.description import SceneBuilder
    from hydro_sim_core.simulation import BatchWorld, World, load_scene, load_urdf

__all__ = [
    "BatchWorld",
    "InputError",
    "SceneBuilder",
    "World",
    "contact",
    "geometry",
    "load_scene",
    "load_urdf",
]

_ROOM_OF = {
    "BatchWorld": "simulation",
    "SceneBuilder": "description",
    "World": "simulation",
    "load_scene": "simulation",
    "load_urdf": "simulation",
}


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        value = getattr(import_module(f"hydro_sim_core.{_ROOM_OF[name]}"), name)
        globals()[name] = value
        return value
    if not name.startswith("_") and find_spec(f"hydro_sim_core.{name}") is not None:
        return import_module(f"hydro_sim_core.{name}")
    if name == "__version__":  # of the installed package
        return import_module("importlib.metadata").version("hydro-sim-core")
    raise AttributeError(f"module 'hydro_sim_core' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Names of the public interface, without helpers of this module."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
