"""Control characters of strangers' files never reach a terminal or a log."""

from __future__ import annotations

import io
import logging

import pytest
from rich.table import Table
from typer.testing import CliRunner

from hydro_sim_core.cli import app
from hydro_sim_core.cli.status import StatusLine
from hydro_sim_core.console import PrintableConsole, PrintableFormatter
from hydro_sim_core.errors import InputError, printable
from hydro_sim_core.failures import in_one_line

HOSTILE = "a\x1b[31mb\x9b2Jc\u202ed\x07\x7f"
HARMLESS = r"a\x1b[31mb\x9b2Jc\u202ed\x07\x7f"


def test_characters_are_escaped_and_others_stay():
    assert printable(HOSTILE) == HARMLESS
    assert printable("ends\nof lines, ü, 机器人, 🙂, e\u0301") == "ends\nof lines, ü, 机器人, 🙂, e\u0301"


def test_an_input_error_is_one_harmless_line_also_in_parts():
    error = InputError(f"{HOSTILE}.yaml", f"link '{HOSTILE}'", f"is\r\nWARNING: forged {HOSTILE}", "mend\tit")
    assert str(error) == f"{HARMLESS}.yaml: link '{HARMLESS}': is WARNING: forged {HARMLESS}; mend it"
    assert error.problem == f"is WARNING: forged {HARMLESS}"
    assert in_one_line(FloatingPointError(f"joint\n{HOSTILE}")) == f"joint {HARMLESS}"


@pytest.mark.parametrize("terminal", [True, False])
def test_console_escapes_texts_and_tables(terminal):
    stream = io.StringIO()
    console = PrintableConsole(file=stream, force_terminal=terminal, width=200)
    console.print(HOSTILE, markup=False, highlight=False)
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(f"[bold]{HOSTILE.replace('[', chr(92) + '[')}[/bold]")
    console.print(table)
    text = stream.getvalue()
    assert text.count(r"\x1b[31mb\x9b2Jc\u202ed") == 4
    # What is left are colours of the console itself, and only on a terminal.
    assert "\x1b[31m" not in text
    assert not {"\x9b", "\u202e", "\x07", "\x7f"} & set(text)
    assert ("\x1b" in text) is terminal


def test_log_lines_cannot_be_forged():
    formatter = PrintableFormatter("%(levelname)s: %(message)s")
    record = logging.LogRecord("x", logging.WARNING, "x.py", 1, "%s\nERROR: forged", (HOSTILE,), None)
    assert formatter.format(record) == f"WARNING: {HARMLESS} ERROR: forged"


def test_status_line_escapes_names():
    stream = io.StringIO()
    line = StatusLine(PrintableConsole(file=stream, force_terminal=True))
    line.update(1.0, 2, {HOSTILE: 3.0})
    assert stream.getvalue().startswith("\r")
    assert HARMLESS in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize(
    "arguments",
    [["\x1b[31m"], ["check", "drop_box", "--\x1b[31m"], ["check", "drop_box", "--set", "name=\x1b[31m"]],
)
def test_errors_of_usage_quote_arguments_harmlessly(arguments):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "\\x1b[31m" in result.output
    assert "\x1b" not in result.output
