"""Words that the shell completes: names of scenes, files, and choices of a scene's solver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.errors import InputError


def scenes_and_files(*suffixes: str) -> Callable[[str], list[str]]:
    """Completion of an argument that takes a shipped scene, or a file with one of these suffixes.

    Where no scene and no file of the working folder begins so, there is nothing, and the shell completes any path.
    """

    def complete(incomplete: str) -> list[str]:
        files = sorted(path.name for path in Path().iterdir() if path.suffix.lower() in suffixes)
        return [word for word in (*shipped_scenes(), *files) if word.startswith(incomplete)]

    return complete


def solver_settings(incomplete: str) -> list[str]:
    """Completion of ``--set``: what a scene's solver may be, with the names that plug-ins add."""
    from hydro_sim_core.description.solver_choices import friction_laws, integrators, solver_methods

    tables = {"friction": friction_laws, "method": solver_methods, "integrator": integrators}
    try:
        words = [f"solver.{key}={name}" for key, table in tables.items() for name in table()]
    except InputError:  # a plug-in is broken, which `hydro-sim doctor` tells
        return []
    return [word for word in words if word.startswith(incomplete)]
