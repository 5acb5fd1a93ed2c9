"""Where the scenes, robots and other files are that ship with the package.

They stand at the top of the repository, where people look for them; a wheel carries copies of the same folders.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

#: Folders by name, and where they are in a checkout; ``setup.py`` copies them into wheels.
FOLDERS = {
    "config": "config",
    "launch": "launch",
    "urdf": "urdf",
    "msg": "ros2_ws/src/hydro_sim_msgs/msg",
}
#: Folder of a wheel's copies in the package.
SHARED = "shared"


def folder(name: str) -> Path:
    """A folder that ships with the package.

    Args:
        name: One of ``FOLDERS``.

    Raises:
        FileNotFoundError: The installation is incomplete.
    """
    package = Path(str(files("hydro_sim_core")))
    places = (package / SHARED / name, package.parent / FOLDERS[name])
    for place in places:
        if place.is_dir():
            return place
    raise FileNotFoundError(f"{name}: is neither {places[0]} nor {places[1]}; install hydro-sim-core again")
