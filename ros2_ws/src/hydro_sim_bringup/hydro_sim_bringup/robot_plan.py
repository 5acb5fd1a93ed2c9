"""Plan of the launch file for any robot: what the node is told.

Imports no launch packages, which are not installed everywhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hydro_sim_core.description.paths import PackageResolver, is_robot_file
from hydro_sim_core.errors import InputError

_SOURCE = "launch arguments"


def plan_robot(
    description_file: str,
    description_package: str = "",
    xacro_args: str = "",
    package_dirs: str = "",
    srdf: str = "",
    ignore: str = "",
    repair: str = "warn",
    ground: bool = True,
) -> dict[str, Any]:
    """Parameters of the node ``hydro_sim`` for a robot alone.

    Args:
        description_file: URDF or xacro file: a path, or relative to the package.
        description_package: ROS package that holds it; empty for a path.
        xacro_args: Its arguments, ``NAME:=VALUE`` with blanks between.
        package_dirs: Folders of packages beside those of ROS, with colons between.
        srdf: Its SRDF; empty for none.
        ignore: What in it is ignored although it changes the physics, with commas between.
        repair: Whether what cannot be in it is refused (``strict``), or repaired with one warning or ``silent``.
        ground: Whether it stands on a ground.

    Raises:
        InputError: There is no such package or file, or it is no robot file.
    """
    if not description_file:
        mend = "write description_file:=FILE, and description_package:=PACKAGE if it is relative to one"
        raise InputError(_SOURCE, "description_file", "is not set", mend)
    folders = [folder for folder in package_dirs.split(":") if folder]
    file = Path(description_file)
    if description_package:
        resolver = PackageResolver(Path(_SOURCE), folders, placeless=True)
        file = resolver.find_package(description_package, "description_package") / description_file
    if not file.is_file():
        raise InputError(_SOURCE, "description_file", f"'{file}' is no file", "correct the path")
    if not is_robot_file(file):
        raise InputError(
            _SOURCE, "description_file", f"'{file}' is no robot file", "name a .urdf or .xacro file"
        )
    return {
        "scene": str(file.absolute()),
        "xacro_args": [xacro_args],
        "package_dirs": folders or [""],
        "srdf": srdf,
        "ignore": [ignore],
        "repair": repair,
        "ground": ground,
    }
