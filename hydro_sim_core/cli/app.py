"""Commands and their options; what they do is in the other files of this package."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from hydro_sim_core.cli import output
from hydro_sim_core.cli.bench import bench_geometry
from hydro_sim_core.cli.check import print_world
from hydro_sim_core.cli.hil_report import plot_report, print_report, read_report
from hydro_sim_core.cli.mesh import MeshRequest, mesh_file
from hydro_sim_core.cli.run import run_world
from hydro_sim_core.cli.validate import list_experiments, validate_all, validate_one
from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments.scenes import open_world, shipped_scenes
from hydro_sim_core.recording import Recorder, check_new_file


class _Group(TyperGroup):
    """Turns errors that a user can mend, and a diverging run, into one red line and exit status 1."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (InputError, FloatingPointError) as error:
            line = " ".join(str(error).split())
            Console(stderr=True).print(f"[red]error:[/red] {escape(line)}", highlight=False, soft_wrap=True)
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=_Group,
    help="Simulate robots with pressure-field contact.",
    epilog="Exit status: 0 done, 1 bad input or a failed comparison, 2 wrong usage.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

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


def main() -> None:
    """Entry point of ``hydro-sim``."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hydro-sim {output.versions()['hydro_sim_core']}")
        raise typer.Exit()


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Options of the command itself."""


def _positive(value: float | None) -> float | None:
    if value is not None and not value > 0.0:
        raise typer.BadParameter(f"{value} is not above 0")
    return value


def _positive_and_finite(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not finite")
    return _positive(value)


@app.command()
def run(
    scene: SceneArgument,
    duration: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Simulated seconds to run; without it, until Ctrl-C.",
            callback=_positive_and_finite,
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Simulated seconds a wall-clock second; inf for as fast as possible "
            "(default: 1; inf with --headless)",
            callback=_positive,
            show_default=False,
        ),
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="No live line, and as fast as possible unless --rate is given.")
    ] = False,
    from_state: Annotated[
        Path | None,
        typer.Option(
            "--from-state",
            metavar="FILE",
            help="Go on from a state saved of this scene.",
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    save_failed: Annotated[
        Path | None,
        typer.Option(
            "--save-failed",
            metavar="FILE",
            help="Save the state before the first step that does not converge.",
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="Record the run as MCAP.", show_default=False),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Let --record replace a file.")] = False,
    json: JsonOption = None,
    package_dir: PackageDirOption = None,
    xacro_arg: XacroArgOption = None,
) -> None:
    """Run a scene and report on it; Ctrl-C ends the run early, with the report."""
    for path in (json, save_failed):
        if path is not None:
            output.check_writable(path)
    if record is not None:
        check_new_file(record, overwrite)
    console = output.make_console()
    world = open_world(scene, package_dir or (), xacro_arg or ())
    if rate is None:
        rate = math.inf if headless else 1.0
    # Without deadlines nothing is gained by leaving steps out.
    recording = (
        Recorder(record, overwrite=overwrite, complete=math.isinf(rate), drives=True) if record else None
    )
    result = run_world(
        world, duration, rate, console, live=not headless, from_state=from_state, recording=recording
    )
    console.print(result.table())
    if world.failed_step is not None and save_failed is not None:
        world.failed_step.write(save_failed)
        console.print(f"the state before the first step that failed is in {save_failed}", markup=False)
    if json is not None:
        output.write_json(json, result.as_dict())
    if result.error is not None:
        raise FloatingPointError(result.error)


@app.command()
def check(
    scene: SceneArgument,
    package_dir: PackageDirOption = None,
    xacro_arg: XacroArgOption = None,
) -> None:
    """Load a scene and print what was found in it, without running it."""
    print_world(open_world(scene, package_dir or (), xacro_arg or ()), output.make_console())


@app.command()
def scenes() -> None:
    """List the shipped scenes."""
    found = shipped_scenes()
    if not found:
        raise InputError(
            "scenes", "config/scenes", "is not there", "run from a source checkout, or name a file"
        )
    for name, path in found.items():
        print(f"{name:24s} {path}")


@app.command()
def validate(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Experiment to run; without it, list them.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run every experiment; needs --out.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --all: write each experiment's numbers and picture to DIR, and a page of them to DIR.md.",
            file_okay=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A short form that takes seconds and compares less.")
    ] = False,
    json: JsonOption = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the result as PNG.", dir_okay=False)
    ] = None,
) -> None:
    """Run an experiment with known results and compare; exit status 0 only if all of it agrees."""
    console = output.make_console()
    if every != (out is not None):
        raise typer.BadParameter("--all and --out DIR go together")
    if every and not (name is json is plot is None):
        raise typer.BadParameter(
            "--all runs every experiment and writes its own files: leave NAME and FILE out"
        )
    if name is None and not every:
        if json is not None or plot is not None:
            raise typer.BadParameter("name the experiment to run")
        list_experiments(console)
        return
    agrees = (
        validate_all(quick, out, console)
        if out is not None
        else validate_one(str(name), quick, json, plot, console)
    )
    if not agrees:
        raise typer.Exit(1)


@app.command("hil-report")
def hil_report(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="JSON file that the node wrote to its parameter report_file."),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it as PNG.", dir_okay=False, show_default=False)
    ] = None,
) -> None:
    """Show how well a node kept its rate and what became of the commands."""
    report = read_report(file)
    console = output.make_console()
    print_report(report, console)
    if out is not None:
        plot_report(report, out)
        console.print(f"drawn to {out}", markup=False, highlight=False)


@app.command()
def mesh(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Closed surface (STL, OBJ, DAE, GLB, PLY) or tetrahedra (VTK, VTU, MSH), in m.",
            show_default=False,
        ),
    ],
    resolution: Annotated[
        float | None,
        typer.Option(
            metavar="M",
            help="Wanted edge length of the tetrahedra, m (default: a twentieth of the body's diagonal)",
            callback=_positive_and_finite,
            show_default=False,
        ),
    ] = None,
    modulus: Annotated[
        float,
        typer.Option(
            metavar="PA",
            help="Hydroelastic modulus, Pa.",
            callback=_positive_and_finite,
            show_default="1e7",
        ),
    ] = 1e7,
    field: Annotated[
        Literal["distance", "laplace"] | None,
        typer.Option(
            help="Pressure by distance to the surface or by Laplace's equation "
            "(default: what the file holds, else distance)",
            show_default=False,
        ),
    ] = None,
    margin: Annotated[float, typer.Option(metavar="M", help="Skin of negative pressure, m.", min=0.0)] = 0.0,
    scale: Annotated[
        float,
        typer.Option(
            metavar="X", help="Factor on the coordinates: 0.001 for mm.", callback=_positive_and_finite
        ),
    ] = 1.0,
    output_file: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="Write tetrahedra and pressures as VTK, VTU or MSH.",
            dir_okay=False,
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw a cross-section of the pressure field as PNG.", dir_okay=False
        ),
    ] = None,
    axis: Annotated[
        Literal["x", "y", "z"] | None,
        typer.Option(
            help="Normal of the cross-section (default: the body's shortest side)", show_default=False
        ),
    ] = None,
    at: Annotated[
        float | None,
        typer.Option(
            metavar="M",
            help="Where the cross-section lies on its axis, m (default: where the pressure is largest)",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Make a compliant solid of a mesh file and report on its quality."""
    if json is not None:
        output.check_writable(json)
    request = MeshRequest(
        file, resolution, modulus, field, margin, scale, output_file, picture, axis, place=at
    )
    result = mesh_file(request, output.make_console())
    if json is not None:
        output.write_json(json, {**output.versions(), **result})


bench = typer.Typer(help="Measure speed.", no_args_is_help=True)
app.add_typer(bench, name="bench")


@bench.command()
def geometry(
    quick: Annotated[
        bool, typer.Option("--quick", help="A few poses each, without the finest meshes.")
    ] = False,
    json: JsonOption = None,
) -> None:
    """Time contact faces of moving pairs, beside Drake where it is installed."""
    if json is not None:
        output.check_writable(json)
    result = bench_geometry(quick, output.make_console())
    if json is not None:
        output.write_json(json, {**output.versions(), **result})
