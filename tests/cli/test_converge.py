"""``hydro-sim converge``: the table, the file, the picture and what it refuses."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from hydro_sim_core.cli import app

FIXED = ("--set", "solver.accuracy=null")


def call(*arguments):
    return CliRunner().invoke(app, ["converge", *map(str, arguments)], env={"COLUMNS": "200"})


def test_table_file_and_picture_say_the_same(tmp_path):
    path, picture = tmp_path / "report.json", tmp_path / "steps.png"
    result = call("drop_box", "--duration", 0.5, "--levels", 4, *FIXED, "--json", path, "--out", picture)
    assert result.exit_code == 0, result.stderr
    data = json.loads(path.read_text())
    assert [level["time_step"] for level in data["levels"]] == [1e-3, 5e-4, 2.5e-4, 1.25e-4]
    position = next(q for q in data["quantities"] if q["kind"] == "position")
    assert position["name"] == "box"
    (row,) = (line for line in result.stdout.splitlines() if "box, position" in line)
    assert f"{1e3 * position['error']:.3g}" in row
    assert data["verdict"] in result.stdout
    assert data["good"] is data["verdict"].startswith("good")
    assert picture.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (("nowhere",), 1, "is neither a file nor a shipped scene"),
        (("drop_box", "--levels", 2), 2, "Invalid value for '--levels'"),
        (("drop_box", "--duration", "nan"), 2, "not finite"),
        (("drop_box", "--duration", 1e9), 1, "--duration"),
        (("drop_box", "--duration", 1e-4), 1, "less than one step"),
        (("drop_box", "--levels", 12, "--set", "time_step=1e-4"), 1, "give fewer"),
        (("drop_box", "--json", "nowhere/a.json"), 1, "there is no folder"),
        (("drop_box", "--out", "nowhere/a.png"), 1, "there is no folder"),
        (("drop_box", "--set", "time_stp=1"), 1, "time_step"),
    ],
)
def test_bad_input_ends_with_a_line_that_names_it(arguments, status, complaint):
    result = call(*arguments)
    assert result.exit_code == status
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr


def test_a_run_that_diverges_says_in_which_steps(tmp_path):
    links = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    (tmp_path / "stone.urdf").write_text(f'<robot name="stone"><link name="stone">{links}</link></robot>')
    (tmp_path / "a.yaml").write_text(
        "name: a\ngravity: [0, 0, -1.0e308]\nmodels: [{name: stone, urdf: stone.urdf, base: floating}]\n"
    )
    result = call(tmp_path / "a.yaml")
    assert result.exit_code == 1
    assert "in steps of 1 ms" in result.stderr or "gravity" in result.stderr
    assert "Traceback" not in result.stderr
