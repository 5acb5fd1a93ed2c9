"""A picture of a scene or of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hydro_sim_core.cli import output
from hydro_sim_core.cli.completion import scenes_and_files
from hydro_sim_core.cli.options import (
    PICTURE_SIZE,
    CameraOption,
    FullScaleOption,
    IgnoreOption,
    PackageDirOption,
    SetOption,
    SizeOption,
    SrdfOption,
    XacroArgOption,
    given_scale,
    refuse_without,
    step_count,
)
from hydro_sim_core.cli.outputs import PICTURE, OverwriteOption, files_to_write, optional
from hydro_sim_core.cli.status import bar
from hydro_sim_core.cli.worlds import opened
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.drawing.chosen_scale import scale_of_world
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.pictures.files import write_picture
from hydro_sim_core.pictures.page_camera import PageCamera
from hydro_sim_core.recording import run_files
from hydro_sim_core.replay import Recording, TimeLine
from hydro_sim_core.simulation import World
from hydro_sim_core.viewer.frame import ViewFrame
from hydro_sim_core.viewer.scene import ViewScene, scene_of_world
from hydro_sim_core.viewer.world_view import frame_of_world

#: File name suffixes that a picture's name leaves out.
_SUFFIXES = (".yaml", ".yml", ".urdf", ".xacro", ".mcap")


def snapshot(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SCENE|FILE.mcap",
            help="Scene YAML, URDF or xacro file, the name of a shipped scene, or a recording.",
            autocompletion=scenes_and_files(*_SUFFIXES),
        ),
    ],
    out: Annotated[
        Path | None,
        optional(
            "Where to write it, as PNG; by default a file here, named after the scene or recording.",
            "FILE",
            "--out",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    time: Annotated[
        float, typer.Option("--time", metavar="T", help="Simulated time of the picture, s.", min=0.0)
    ] = 0.0,
    size: SizeOption = PICTURE_SIZE,  # type: ignore[assignment]  # the option's parser reads it
    camera: CameraOption = "iso",
    full_scale: FullScaleOption = None,
    package_dir: PackageDirOption = None,
    xacro_arg: XacroArgOption = None,
    srdf: SrdfOption = None,
    ignore: IgnoreOption = None,
    setting: SetOption = None,
) -> None:
    """Draw a picture of a scene after a simulated time, or of a recording at that time; needs no screen."""
    out = out or _file_for(source)
    files_to_write([out], overwrite, {"picture": PICTURE})
    console = output.make_console()
    scale = given_scale(full_scale)
    if Path(source).suffix.lower() == ".mcap":
        refuse_without("a scene", context, "xacro_arg", "srdf", "ignore")
        scene, frame = _of_recording(Path(source), time, scale, package_dir or ())
        with PageCamera(size, camera) as page:
            picture = page.picture(scene, frame)
    else:
        world = opened(source, package_dir, xacro_arg, srdf, setting, console, ignore=ignore)
        with compile_progress(console):
            scale = scale or scale_of_world(world)
        with PageCamera(size, camera) as page:  # opened first: if it fails, the run would be wasted
            run_until(world, time, console)
            scene = scene_of_world(world, scale, takes_commands=False)
            frame = frame_of_world(world, scene)
            picture = page.picture(scene, frame)
    write_picture(out, picture)
    console.print(f"{output.shown(out)}: t = {frame.time:g} s", highlight=False)


def _file_for(source: str) -> Path:
    """Path of a picture in the working folder, named after a scene or recording."""
    path = Path(source)
    while path.suffix.lower() in _SUFFIXES:
        path = path.with_suffix("")
    return Path(f"{path.name}.png")


def run_until(world: World, time: float, console: Console) -> None:
    """Step a world from its start as fast as possible, with a progress bar on a terminal.

    Raises:
        InputError: The time is too long.
        FloatingPointError: A step is not finite.
    """
    steps = range(step_count("--time", time, world.time_step))
    with compile_progress(console):
        world.step()
        world.reset()
    for _ in bar(steps, f"running {output.shown(world.name)}", console):
        world.step()


def _of_recording(
    path: Path, time: float, scale: PressureScale | None, package_dirs: Sequence[Path]
) -> tuple[ViewScene, ViewFrame]:
    """Scene and frame of the instant nearest to ``time``."""
    with TimeLine([Recording(part, scale, package_dirs) for part in run_files(path)]) as line:
        line.check(time)
        return line.scene(time), line.frame(time)
