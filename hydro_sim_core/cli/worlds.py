"""Worlds that commands load, and what is worth saying of them before they run."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from hydro_sim_core.cli import output
from hydro_sim_core.cli.options import set_values, words
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.description.paths import is_robot_file
from hydro_sim_core.description.repair import Policy
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.scenes import RobotOptions, open_world


def opened(
    scene: str,
    package_dir: list[Path] | None,
    xacro_arg: list[str] | None,
    srdf: Path | None,
    setting: list[str] | None,
    console: Console,
    ground: bool = False,
    repair: Policy = "warn",
    ignore: list[str] | None = None,
) -> World:
    """World of a command's scene and of its options for it; says what is compiled meanwhile.

    Raises:
        InputError: There is no such scene, or it or an option is invalid.
    """
    with compile_progress(console):
        robot = RobotOptions(
            tuple(package_dir or ()), tuple(xacro_arg or ()), srdf, ground, repair, words(ignore)
        )
        return open_world(scene, robot, set_values(setting))


def tell_of_rest(world: World, scene: str, console: Console) -> None:
    """Say that nothing can move, where that is so, and how it would."""
    if len(world.velocity_names):
        return
    if is_robot_file(scene):
        what = "it has neither joints that move nor a mass, so it is welded to the world"
        mend = "give a link an <inertial> to let it fall"
    else:
        what = "no model has joints that move or base: floating"
        mend = "give a model base: floating to let it fall"
    console.print(
        f"[yellow]nothing moves:[/yellow] {what}; {output.shown(mend)}", highlight=False, soft_wrap=True
    )
