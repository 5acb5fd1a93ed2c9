"""The command line in this process."""

from __future__ import annotations

from typer.main import get_command
from typer.testing import CliRunner

from hydro_sim_core.cli import app


def call(*arguments, columns=200):
    """Run ``hydro-sim`` with arguments of any type, beside a terminal of so many columns."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": str(columns)})


def refused(result):
    """The one red line of a refusal."""
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line


def commands():
    """Every command by its name, those of ``plot`` too."""
    whole = get_command(app)
    found = {name: whole.get_command(None, name) for name in whole.list_commands(None)}
    return found | {f"plot {name}": one for name, one in found.pop("plot").commands.items()}
