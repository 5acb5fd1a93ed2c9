"""The command line: its commands, what they have in common, and how it ends."""

from __future__ import annotations

import logging
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from hydro_sim_core.cli import bench, output, plot
from hydro_sim_core.cli.check import check
from hydro_sim_core.cli.compile_kernels import compile_kernels
from hydro_sim_core.cli.hil_report import hil_report
from hydro_sim_core.cli.mesh import mesh
from hydro_sim_core.cli.replay import replay
from hydro_sim_core.cli.run import run
from hydro_sim_core.cli.scenes import scenes
from hydro_sim_core.cli.snapshot import snapshot
from hydro_sim_core.cli.validate import validate
from hydro_sim_core.errors import InputError


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
app.command()(run)
app.command()(replay)
app.command()(snapshot)
app.command()(check)
app.command()(scenes)
app.command()(validate)
app.command()(hil_report)
app.command()(mesh)
app.command("compile")(compile_kernels)
app.add_typer(plot.commands, name="plot")
app.add_typer(bench.commands, name="bench")


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
