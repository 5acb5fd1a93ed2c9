"""Arguments and options that several commands share, and checks of their values; ``outputs`` has those for files."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hydro_sim_core.cli.completion import scenes_and_files, solver_settings
from hydro_sim_core.cli.outputs import optional
from hydro_sim_core.description.paths import is_xacro_argument
from hydro_sim_core.description.yaml_source import parse_value
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.durations import steps_of_run
from hydro_sim_core.errors import InputError
from hydro_sim_core.pictures.page_camera import LARGEST_SIDE, LEAST_SIDE, CameraName, PictureSize
from hydro_sim_core.viewer.token import NO_TOKEN, TOKEN_VARIABLE
from hydro_sim_core.viewer.viewer import DEFAULT_PORT, ViewerOptions

#: Largest number of steps of a run: eleven days at 1 kHz.
_MOST_STEPS = 1e9

SceneArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENE",
        help="Scene YAML, URDF or xacro file, or the name of a shipped scene.",
        autocompletion=scenes_and_files(".yaml", ".yml", ".urdf", ".xacro"),
    ),
]
PackageDirOption = Annotated[
    list[Path] | None,
    optional(
        "Package, or folder that holds packages, for package:// and $(find …) in a URDF or xacro file.",
        "DIR",
        "--package-dir",
    ),
]


def _assignments(values: list[str] | None) -> list[str] | None:
    for value in values or ():
        if not is_xacro_argument(value):
            raise typer.BadParameter(f"'{value}' is not NAME:=VALUE")
    return values


XacroArgOption = Annotated[
    list[str] | None,
    optional("Argument of a xacro file.", "NAME:=VALUE", "--xacro-arg", callback=_assignments),
]
GroundOption = Annotated[
    bool,
    typer.Option("--ground", help="Put a robot file on a ground: a robot stands, an object falls to it."),
]
SrdfOption = Annotated[
    Path | None,
    optional(
        "SRDF of a URDF or xacro file, or xacro of one: links that it disables do not touch.",
        "FILE",
        "--srdf",
    ),
]

RepairOption = Annotated[
    Literal["strict", "warn", "silent"],
    typer.Option(
        "--repair",
        help="Whether what cannot be in a robot file, such as an impossible inertia, is refused, or repaired with one "
        "warning or silently.",
    ),
]


def words(values: list[str] | None) -> tuple[str, ...]:
    """Words of options that take several, with commas between."""
    return tuple(word for value in values or () for word in value.split(",") if word)


IgnoreOption = Annotated[
    list[str] | None,
    optional(
        "What in a URDF or xacro file is ignored although it changes the physics, in the words of the error that "
        "refuses it; several with commas between.",
        "WORD",
        "--ignore",
    ),
]


def _settings(values: list[str] | None) -> list[str] | None:
    for value in values or ():
        path, equals, text = value.partition("=")
        if not path or not equals:
            raise typer.BadParameter(f"'{value}' is not PATH=VALUE")
        try:
            parse_value(text)
        except ValueError as error:
            raise typer.BadParameter(f"'{value}': {error}") from None
    return values


SetOption = Annotated[
    list[str] | None,
    optional(
        "Another value in the scene: models.ball.friction=0.4, solver.friction=sap, "
        "models.arm.joints.joint_1.damping=2.",
        "PATH=VALUE",
        "--set",
        callback=_settings,
        autocompletion=solver_settings,
    ),
]


def set_values(settings: list[str] | None) -> dict[str, Any]:
    """Values of all ``--set`` options, by path."""
    parts = (setting.partition("=") for setting in settings or ())
    return {path: parse_value(text) for path, _, text in parts}


def positive(value: float | None) -> float | None:
    """Check that a value is above 0; a ``callback`` of options."""
    if value is not None and not value > 0.0:
        raise typer.BadParameter(f"{value} is not above 0")
    return value


def positive_and_finite(value: float | None) -> float | None:
    """Check that a value is above 0 and finite; a ``callback`` of options."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not finite")
    return positive(value)


def step_count(option: str, time: float, time_step: float) -> int:
    """Number of steps until a simulated time.

    Args:
        option: Option that gave the time, for error messages.
        time: Simulated time, s.
        time_step: s.

    Raises:
        InputError: The time is not a number, or is too long.
    """
    longest = _MOST_STEPS * time_step
    if not time <= longest:
        problem = f"{time:g} s take more than {_MOST_STEPS:g} steps of {time_step:g} s"
        raise InputError(option, "", problem, f"give at most {longest:g}")
    return round(time / time_step)


def steps_of_duration(duration: float, time_step: float) -> int:
    """Number of steps of ``--duration`` (s), with a ``time_step`` (s).

    Raises:
        InputError: As for ``step_count`` and ``steps_of_run``.
    """
    step_count("--duration", duration, time_step)
    return steps_of_run(duration, time_step, "--duration")


def refuse_without(needed: str, context: typer.Context, *names: str) -> None:
    """Refuse options on the command line that have no effect without another one.

    Args:
        needed: Name of the missing option.
        context: Context of the command.
        names: Parameters of the command that need the missing option.
    """
    sources = {name: context.get_parameter_source(name) for name in names}
    given = [
        f"--{name.replace('_', '-')}"
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"  # the enumeration is typer's or click's
    ]
    if given:
        verb = "needs" if len(given) == 1 else "need"
        raise typer.BadParameter(f"{' and '.join(given)} {verb} {needed}")


ViewPortOption = Annotated[
    int | None,
    optional(
        f"Port of the page; the next free one if it is in use (default: {DEFAULT_PORT})",
        "PORT",
        "--view-port",
        min=0,
        max=65535,
    ),
]
ViewAddressOption = Annotated[
    str | None,
    optional(
        "Serve the page at another address than 127.0.0.1, to whoever has the token in the printed URL.",
        "ADDRESS",
        "--view-address",
    ),
]
ViewTokenOption = Annotated[
    str | None,
    typer.Option(
        "--view-token",
        metavar="TOKEN",
        help=f"Token of the page's address, better given as {TOKEN_VARIABLE}, which other users cannot read; "
        f"'{NO_TOKEN}' lets every user of this machine in (default: your own)",
        show_default=False,
    ),
]
FullScaleOption = Annotated[
    float | None,
    typer.Option(
        "--full-scale",
        metavar="KPA",
        help="Pressure at the upper end of the colours (default: chosen from the contacts of the scene)",
        callback=positive_and_finite,
        show_default=False,
    ),
]


def _picture_size(text: str) -> PictureSize:
    match = re.fullmatch(r"(\d{2,4})[xX×](\d{2,4})", text)
    if match is None or not all(LEAST_SIDE <= int(side) <= LARGEST_SIDE for side in match.groups()):
        sides = f"{LEAST_SIDE} to {LARGEST_SIDE}"
        raise typer.BadParameter(f"'{text}' is not WxH, such as 1280x720, each of {sides} pixels")
    return PictureSize(*map(int, match.groups()))


FrameRateOption = Annotated[
    float, typer.Option("--fps", metavar="N", help="Frames a second of a film.", callback=positive_and_finite)
]
SizeOption = Annotated[
    PictureSize,
    typer.Option("--size", metavar="WxH", help="Pixels of a picture or film.", parser=_picture_size),
]
PICTURE_SIZE = "1280x720"
FRAME_RATE = 30.0
CameraOption = Annotated[
    CameraName, typer.Option("--camera", help="Where the camera of a picture or film stands.")
]


def given_scale(full_scale: float | None) -> PressureScale | None:
    """The colour scale of ``--full-scale``, kPa; None if it is to be chosen.

    Raises:
        InputError: There is no such scale.
    """
    return None if full_scale is None else PressureScale(1e3 * full_scale)


def viewer_options(port: int | None, address: str | None, token: str | None) -> ViewerOptions:
    """Options of the viewer's page, from those of the command line."""
    defaults = ViewerOptions(token=token)
    return replace(defaults, host=address or defaults.host, port=defaults.port if port is None else port)
