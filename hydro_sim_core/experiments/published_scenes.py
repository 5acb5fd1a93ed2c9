"""The shipped slip scenes with the meshes that Drake's example publishes, for comparison with it.

The shipped scenes have finer meshes, whose forces are right to a tenth; those of the example are wrong by up to a half,
in Drake as here.
"""

from __future__ import annotations

from hydro_sim_core.description import LoadedScene, load_scene
from hydro_sim_core.simulation.scenes import shipped_scene

#: Edge length of the example's meshes, m, by the xacro argument that gives it.
_EDGE_LENGTHS = {"bubble_hint": 0.04, "handle_hint": 0.005}
#: The same by model of the shipped scenes.
_HINTS = {"arm": "bubble_hint", "gripper": "bubble_hint", "spatula": "handle_hint"}


def published_scene(name: str) -> LoadedScene:
    """A shipped slip scene with the meshes of Drake's example, which has no margins.

    Args:
        name: Name of the shipped scene.

    Raises:
        InputError: The scene is missing.
    """
    scene = load_scene(shipped_scene(name))
    hints = {model.name: _HINTS[model.name] for model in scene.spec.models if model.name in _HINTS}
    values: dict[str, object] = {
        f"models.{model}.xacro_args.{hint}": _EDGE_LENGTHS[hint] for model, hint in hints.items()
    }
    return scene.with_({**values, "contact.defaults.margin": 0.0})
