"""``hydro-sim run --view``: a page that may pause and reset the run, and a report that still adds up."""

import json
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from hydro_sim_core.cli.app import app
from hydro_sim_core.viewer.viewer import Viewer
from support.late_runs import faults_in
from support.viewer.pages import open_page

PROGRAM = (sys.executable, "-c", "from hydro_sim_core.cli import main; main()")


@contextmanager
def viewed(*options):
    """A run, and a viewer's address to open pages of; what it prints is ``run.communicate()``."""
    run = subprocess.Popen(
        [*PROGRAM, "run", "drop_box", "--view", "--view-port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    while (words := run.stdout.readline().split())[:3] != ["watch", "it", "at"]:
        assert words, run.communicate()[1]
    viewer = Viewer()
    viewer.url = words[3]
    try:
        yield run, viewer
    finally:
        run.kill()
        run.communicate()


def test_a_page_pauses_and_resets_a_run_that_ctrl_c_ends(tmp_path):
    path = tmp_path / "report.json"
    with viewed("--json", str(path), "--full-scale", "5") as (run, viewer):
        with open_page(viewer) as page:
            page.wait_for_frame(lambda frame: frame["step"] > 100)
            assert page.scenes[0]["scale"]["maximum"] == 5000.0
            page.send(type="pause", paused=True)
            stood = page.wait_for_frame(lambda frame: frame["paused"])
            page.send(type="step", steps=10)
            before = page.wait_for_frame(lambda frame: frame["step"] >= stood["step"] + 10)["step"]
            page.send(type="reset")
            assert page.wait_for_frame(lambda frame: frame["epoch"] == 1)["step"] == 0
            page.send(type="step", steps=25)
            page.wait_for_frame(lambda frame: frame["step"] == 25)
            run.send_signal(signal.SIGINT)
            page.wait_for(lambda: page.statuses[-1]["simulation"] == "gone")
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 0, errors
    assert faults_in(errors) == ""
    report = json.loads(path.read_text())
    assert report["interrupted"]
    assert report["steps"] == before + 25  # those of both epochs, and no reset


def test_the_scale_is_that_of_the_scene():
    """The box rests with 65 Pa, which would be black at 20 kPa."""
    with viewed() as (_, viewer), open_page(viewer) as page:
        page.wait_for_frame()
        assert page.scenes[0]["scale"]["maximum"] == 100.0
        assert page.scenes[0]["scale"]["unit"] == ["Pa", 1.0]


def test_a_run_with_an_end_ends_although_nobody_watches(tmp_path):
    path = tmp_path / "report.json"
    options = ["--view", "--view-port", "0", "--headless", "--duration", "0.05", "--json", str(path)]
    result = CliRunner().invoke(app, ["run", "drop_box", *options])
    assert result.exit_code == 0, result.output
    assert "watch it at http://127.0.0.1:" in result.output
    assert json.loads(path.read_text())["steps"] == 50


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--view-port", "8008"), "needs --view"),
        (("--view-address", "::1"), "needs --view"),
        (("--view", "--view-port", "99999"), "65535"),
        (("--view", "--full-scale", "nan"), "not finite"),
        (("--view", "--full-scale", "0"), "not above 0"),
        (("--view", "--view-address", "192.0.2.1"), "cannot be served"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words):
    result = CliRunner().invoke(app, ["run", "drop_box", *options])
    assert result.exit_code in (1, 2)
    assert words in " ".join(result.output.split())
