"""Plot a recording: grip force, pitch, pressure on a finger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from hydro_sim_core.cli import output
from hydro_sim_core.cli.options import FullScaleOption, given_scale
from hydro_sim_core.cli.outputs import PICTURE, OverwriteOption, files_to_write, optional, out_option
from hydro_sim_core.cli.plot_series import RecordedMotion
from hydro_sim_core.drawing.figures import require_matplotlib
from hydro_sim_core.pictures.plots import plot_grip_force, plot_pitch, plot_pressure_map

commands = typer.Typer(help=__doc__, no_args_is_help=True)

Array = NDArray[np.float64]

RecordingArgument = Annotated[
    Path, typer.Argument(metavar="FILE.mcap", help="Recording of hydro-sim run or of the node.")
]
OutOption = Annotated[Path, out_option({"picture": PICTURE})]


def _body_option(help_text: str) -> Any:
    return optional(help_text, "NAME", "--body")


_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@commands.command("grip-force")
def grip_force(
    recording: RecordingArgument,
    out: OutOption,
    body: Annotated[
        list[str] | None,
        _body_option("Finger, or any other body; may be repeated (default: the links on prismatic joints)."),
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Contact force on fingers over time, and the commanded force.

    The component along the joint for a finger on a prismatic joint, otherwise the component normal to the touched
    surface.
    """
    _check_picture(out, overwrite)
    with RecordedMotion(recording, output.make_console()) as motion:
        bodies = list(dict.fromkeys(body or motion.fingers()))
        time, forces = motion.grip_forces(bodies)
        if body is None:
            forces = {name: values for name, values in forces.items() if np.any(values)} or forces
        commanded = motion.commanded_forces(list(forces), time)
    plot_grip_force(time, forces, out, _told_once(commanded), f"Grip force, {recording.name}")
    _say_written(out)


@commands.command()
def pitch(
    recording: RecordingArgument,
    out: OutOption,
    body: Annotated[
        str | None,
        _body_option("Link (default: the one that is joined to nothing)."),
    ] = None,
    axis: Annotated[
        str | None,
        optional(
            "Axis in the world: x, y, z or three numbers (default: the one about which it turns most).",
            "X,Y,Z",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Rotation of a body since the start."""
    _check_picture(out, overwrite)
    about = None if axis is None else _axis(axis)
    with RecordedMotion(recording, output.make_console()) as motion:
        name = body or motion.free_body()
        time, X_WB = motion.poses(name)
    plot_pitch(time, X_WB, out, about, name)
    _say_written(out)


@commands.command("pressure-map")
def pressure_map(
    recording: RecordingArgument,
    out: OutOption,
    body: Annotated[
        str | None,
        _body_option("Finger, or any other body that touches something (default: the first finger)."),
    ] = None,
    time: Annotated[
        float | None,
        optional("Recorded time (default: when it is pressed hardest).", "S"),
    ] = None,
    full_scale: FullScaleOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Pressure on a body, projected along an axis of its frame, in the colours of RViz and the viewer."""
    _check_picture(out, overwrite)
    given = given_scale(full_scale)
    with RecordedMotion(recording, output.make_console()) as motion:
        scale = given or motion.scale
        name = body or motion.fingers()[0]
        instant = motion.pressed_hardest(name) if time is None else motion.instant(time)
    X_WB = instant.poses.get(name, np.eye(4))  # static bodies have no pose in the recording
    plot_pressure_map(instant.patches, name, X_WB, out, scale, f"at {instant.time:.3f} s")
    _say_written(out)


def _check_picture(path: Path, overwrite: bool) -> None:
    """Refuse a picture that cannot be drawn or written, before the recording is read."""
    require_matplotlib()
    files_to_write([path], overwrite, {"picture": PICTURE})


def _axis(text: str) -> tuple[float, ...]:
    if text in _AXES:
        return _AXES[text]
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != 3:
        raise typer.BadParameter(
            f"'{text}' is not x, y, z or three numbers such as 0,1,0", param_hint="--axis"
        )
    return numbers


def _told_once(commanded: dict[str, Array]) -> dict[str, Array]:
    """Commands by their labels in a plot: a single one where all bodies have the same command."""
    values = list(commanded.values())
    if values and all(np.array_equal(values[0], other, equal_nan=True) for other in values):
        return {"commanded": values[0]}
    return {f"commanded, {name}": told for name, told in commanded.items()}


def _say_written(path: Path) -> None:
    output.make_console().print(f"{output.shown(path)} written", highlight=False)
