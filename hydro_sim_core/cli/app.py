"""The command line: table of commands, common options, error reporting and exit status."""

from __future__ import annotations

import ast
import logging
import signal
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from importlib.resources import files
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from hydro_sim_core.console import PrintableConsole, PrintableFormatter
from hydro_sim_core.errors import printable
from hydro_sim_core.failures import in_one_line

#: Module and name of each command: a function, or a ``Typer`` for a command with subcommands. Modules are imported on
#: demand, so that no command waits for imports that only another one needs.
_PLACES = {
    "run": "run:run",
    "replay": "replay:replay",
    "snapshot": "snapshot:snapshot",
    "check": "check:check",
    "converge": "converge:converge",
    "scenes": "scenes:scenes",
    "validate": "validate:validate",
    "task": "task:task",
    "sweep": "sweep:sweep",
    "optimize": "optimize:commands",
    "hil-report": "hil_report:hil_report",
    "mesh": "mesh:mesh",
    "compile": "compile_kernels:compile_kernels",
    "plot": "plot:commands",
    "bench": "bench:bench",
    "init": "init:init",
    "doctor": "doctor:doctor",
}
#: Base of all errors of usage, which typer gives no public name.
_UsageError: Any = typer.BadParameter.__base__
_STYLE: dict[str, Any] = {
    "no_args_is_help": True,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": "rich",
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class _Commands(MutableMapping[str, Any]):
    """Commands by name, imported on first access."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load(name, _PLACES[name])
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


def _load(name: str, place: str) -> Any:
    module, _, attribute = place.partition(":")
    try:
        found = getattr(import_module(f"hydro_sim_core.cli.{module}"), attribute)
    except KeyboardInterrupt:  # importing takes seconds on a busy machine
        raise SystemExit(130) from None
    except KeyError as error:  # a KeyError would be reported as an unknown command
        raise RuntimeError(f"{name} cannot be imported") from error
    if isinstance(found, typer.Typer):
        group = get_group(found)
        group.name = name
        return group
    alone = typer.Typer(**{**_STYLE, "no_args_is_help": False}, add_completion=False)
    alone.command(name)(found)
    return get_command(alone)


def _help(place: str) -> str:
    """Help text of a command, read from its source: the docstring of the function, or else of the module."""
    module, _, attribute = place.partition(":")
    tree = ast.parse((files("hydro_sim_core.cli") / f"{module}.py").read_text(encoding="utf-8"))
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    return ast.get_docstring(functions.get(attribute, tree)) or ""


class _Group(TyperGroup):
    """Command group that turns expected errors into one red line and exit status 1."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._list_without_imports()
        super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        self._list_without_imports()
        return super().shell_complete(ctx, incomplete)

    def _list_without_imports(self) -> None:
        """Replace the commands by their names and help: importing all modules for a list would take seconds."""
        self.commands = {name: TyperCommand(name, help=_help(place)) for name, place in _PLACES.items()}

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except _UsageError as error:  # its text may quote what a stranger's script gave as an argument
            error.message = printable(error.message)
            raise
        except Exception as error:
            line = in_one_line(error)
            if line is None:
                raise
            from hydro_sim_core.cli.output import shown

            PrintableConsole(stderr=True, emoji=False).print(
                f"[red]error:[/red] {shown(line)}", highlight=False, soft_wrap=True
            )
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=_Group,
    help="Simulate robots with pressure-field contact.",
    epilog="Exit status: 0 done, 1 bad input or a failed comparison, 2 wrong usage.",
    **_STYLE,
)


def main() -> None:
    """Entry point of ``hydro-sim``."""
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    try:
        app(
            prog_name="hydro-sim"
        )  # `python -m hydro_sim_core` too, or completion would be installed for python
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # all is done: Ctrl-C has nothing to tell of


def _print_version(wanted: bool) -> None:
    if wanted:
        from hydro_sim_core.cli.output import versions

        print(f"hydro-sim {versions()['hydro_sim_core']}")
        raise typer.Exit()


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Options of the command itself."""
