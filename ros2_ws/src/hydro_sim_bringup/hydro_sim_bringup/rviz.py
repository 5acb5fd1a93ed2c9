"""RViz configuration for a scene: the shipped one with the scene's point of view, grid and names.

Imports no launch packages, which are not installed everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import yaml

from hydro_sim_core import assets
from hydro_sim_core.description.paths import is_robot_file
from hydro_sim_core.drawing.focus import focus_of
from hydro_sim_core.simulation.loading import find_scene, scene_of_robot

#: Distance of the camera in sizes of what it looks at.
_DISTANCE = 2.0
_NEAR = 0.01  # of the distance, up to which nothing is drawn


def rviz_config(scene: str, namespace: str = "") -> str:
    """Write the configuration for a scene, as YAML.

    The camera looks at what the scene handles, from a distance that follows from its size; cells of the grid are of
    that size, in steps of 1, 2 and 5. Displays are called after the scene, and their topics are below the namespace.

    Args:
        scene: Scene or robot file, or name of a shipped scene.
        namespace: Namespace of the simulation.

    Raises:
        InputError: The scene is invalid.
    """
    loaded = scene_of_robot(scene) if is_robot_file(scene) else find_scene(scene)
    focus = focus_of(loaded)
    config = yaml.safe_load((assets.folder("config") / "rviz" / "hydro_sim.rviz").read_text())
    manager = config["Visualization Manager"]
    prefix = f"/{namespace.strip('/')}" if namespace.strip("/") else ""
    for display in manager["Displays"]:
        _place(display, prefix)
        kind = display["Class"].rpartition("/")[2]
        if kind == "RobotModel":
            display["Name"] = f"Scene {loaded.spec.name}"
        elif kind == "Grid":
            display["Cell Size"] = _round(focus.size)
        elif kind == "TF":
            display["Marker Scale"] = 2.0 * _round(focus.size)
    distance = _DISTANCE * focus.size
    x, y, z = (float(value) for value in focus.centre)
    manager["Views"]["Current"].update(
        {
            "Distance": distance,
            "Near Clip Distance": _NEAR * distance,
            "Focal Point": {"X": x, "Y": y, "Z": z},
        }
    )
    return yaml.safe_dump(config, sort_keys=False)


def _place(display: dict[str, Any], prefix: str) -> None:
    """Put a display's topic below a namespace."""
    for key in ("Topic", "Description Topic"):
        if key in display:
            display[key]["Value"] = prefix + display[key]["Value"]


def _round(size: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten up to ``size``."""
    power = 10.0 ** np.floor(np.log10(size))
    return float(max(digit * power for digit in (1.0, 2.0, 5.0) if digit * power <= size * (1.0 + 1e-9)))
