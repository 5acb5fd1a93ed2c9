"""Arguments and options that several commands share, and checks of their values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

SceneArgument = Annotated[
    str,
    typer.Argument(metavar="SCENE", help="Scene YAML, URDF or xacro file, or the name of a shipped scene."),
]
JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the report as JSON.", dir_okay=False)
]
PackageDirOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--package-dir",
        metavar="DIR",
        help="Package, or folder that holds packages, for package:// and $(find …) in a URDF or xacro file.",
        show_default=False,
    ),
]


def _assignments(values: list[str] | None) -> list[str] | None:
    for value in values or ():
        if not value.partition(":=")[0] or ":=" not in value:
            raise typer.BadParameter(f"'{value}' is not NAME:=VALUE")
    return values


XacroArgOption = Annotated[
    list[str] | None,
    typer.Option(
        "--xacro-arg",
        metavar="NAME:=VALUE",
        help="Argument of a xacro file.",
        callback=_assignments,
        show_default=False,
    ),
]


def positive(value: float | None) -> float | None:
    """Refuse 0 and less, for an option's ``callback``."""
    if value is not None and not value > 0.0:
        raise typer.BadParameter(f"{value} is not above 0")
    return value


def positive_and_finite(value: float | None) -> float | None:
    """Refuse 0, less, infinity and NaN, for an option's ``callback``."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not finite")
    return positive(value)
