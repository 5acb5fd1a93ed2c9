"""Files that cannot be written are refused before the run that they would tell of."""

from __future__ import annotations

import os

import pytest
from typer.testing import CliRunner

from hydro_sim_core.cli import app
from hydro_sim_core.cli.outputs import check_writable
from hydro_sim_core.errors import InputError


@pytest.mark.parametrize("file", ["/dev/full", "/proc/report.json", "/proc/self/report.json"])
def test_run_does_not_begin_where_its_report_cannot_be_written(file, monkeypatch):
    """Rights do not tell: root may do anything."""
    monkeypatch.setattr("hydro_sim_core.cli.run.run_world", lambda *_: pytest.fail("it has run"))
    result = CliRunner().invoke(app, ["run", "drop_box", "--duration", "0.01", "--headless", "--json", file])
    assert result.exit_code == 1
    assert result.output.startswith(f"error: {file}: cannot be written: ")


def test_what_is_there_stays_as_it_is(tmp_path):
    path = tmp_path / "old.json"
    path.write_text("precious")
    check_writable(path, overwrite=True)
    assert path.read_text() == "precious"
    check_writable(tmp_path / "new.json")
    assert os.listdir(tmp_path) == ["old.json"]


def test_a_pipe_is_refused_and_stays(tmp_path):
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    for overwrite in (False, True):
        with pytest.raises(InputError, match=r"pipe\.json: is a pipe; give another file"):
            check_writable(pipe, overwrite)
    assert pipe.is_fifo()


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hydro_sim_core.cli.outputs.tempfile.TemporaryFile", full)
    with pytest.raises(
        InputError, match=r"r\.json: cannot be written: no space left on device; give another"
    ):
        check_writable(tmp_path / "r.json")
