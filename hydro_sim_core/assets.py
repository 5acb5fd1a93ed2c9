"""Where the scenes, robots and other files are that ship with the package.

They stand at the top of the repository, where people look for them; a wheel carries copies of the same folders.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

#: Folders by name, and where they are in a checkout; ``wheel_files.py`` copies them into wheels.
FOLDERS = {
    "config": "config",
    "urdf": "urdf",
    "validation": "docs/validation",
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
    installed, checkout = package / SHARED / name, package.parent / FOLDERS[name]
    if installed.is_dir():
        return installed
    # Beside an installed package lie the packages of others, which may have such names.
    if checkout.is_dir() and (package.parent / "pyproject.toml").is_file():
        return checkout
    raise FileNotFoundError(f"{name}: is neither {installed} nor {checkout}; install hydro-sim-core again")
