"""Scenes of the pancake task on coarser and finer meshes, as in Masterjohn 2022, figures 8 and 9."""

from __future__ import annotations

from typing import Any

#: Edge lengths of the meshes of bubbles, handle and pancake, m, by their approximate contact faces on average.
MESHES = {
    "240": (0.06, 0.02, 0.03),
    "440": (0.02, 0.012, 0.03),
    "610": (0.014, 0.009, 0.015),
    "1110": (0.01, 0.006, 0.015),
    "1530": (0.008, 0.005, 0.01),
}
REPRESENTATIONS = ("polygon", "triangle")
TIME_STEPS = (1e-3, 2e-3)


def values_of(mesh: str, representation: str = "polygon", time_step: float = 1e-3) -> dict[str, Any]:
    """Values of the scene by path."""
    bubble, handle, pancake = MESHES[mesh]
    return {
        "models.arm.xacro_args.bubble_hint": bubble,
        "models.spatula.xacro_args.handle_hint": handle,
        "models.pancake.xacro_args.hint": pancake,
        "contact.representation": representation,
        "time_step": time_step,
    }
