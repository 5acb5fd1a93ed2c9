"""Locations of the scenes, robots and other files that ship with the package.

They stand at the top of the repository, where people look for them; a wheel carries copies of the same folders.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

#: Location of each folder in a checkout, by name; ``wheel_files.py`` copies them into wheels.
FOLDERS = {
    "config": "config",
    "urdf": "urdf",
    "validation": "docs/validation",
    "msg": "ros2_ws/src/hydro_sim_msgs/msg",
}
#: Folder inside the package that holds a wheel's copies.
SHARED = "shared"


def folder(name: str) -> Path:
    """Path of a folder that ships with the package.

    Args:
        name: One of ``FOLDERS``.

    Raises:
        FileNotFoundError: The installation is incomplete.
    """
    package = Path(str(files("hydro_sim_core")))
    installed, checkout = package / SHARED / name, package.parent / FOLDERS[name]
    if installed.is_dir():
        return installed
    # An installed package stands beside packages of others, which may have the same names as these folders.
    if checkout.is_dir() and (package.parent / "pyproject.toml").is_file():
        return checkout
    raise FileNotFoundError(f"{name}: is neither {installed} nor {checkout}; install hydro-sim-core again")


def shipped_robots() -> dict[str, Path]:
    """Path of every shipped robot and object by its name."""
    return {path.name.partition(".")[0]: path for path in sorted(folder("urdf").glob("*.urdf.xacro"))}


def shipped_scenes() -> dict[str, Path]:
    """Path of every shipped scene by its name."""
    return {path.stem: path for path in sorted((folder("config") / "scenes").glob("*.yaml"))}
