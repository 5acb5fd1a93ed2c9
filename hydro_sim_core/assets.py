"""The scenes, robots and parameters that ship with the engine, wherever it is installed."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def folder(name: str) -> Path:
    """The folder of shipped files with this name: the installed package's own, or in a checkout the one at its top.

    Args:
        name: ``config``, ``launch`` or ``urdf``.

    Raises:
        FileNotFoundError: Neither is there.
    """
    installed, checkout = _PACKAGE / "shared" / name, _PACKAGE.parent / name
    if installed.is_dir():
        return installed
    # Beside an installed package lie the packages of others, of which ROS calls one 'launch'.
    if checkout.is_dir() and (_PACKAGE.parent / "pyproject.toml").is_file():
        return checkout
    raise FileNotFoundError(
        f"no folder '{name}' of shipped files: neither {installed} nor {checkout} is there"
    )
