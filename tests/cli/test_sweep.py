"""``hydro-sim sweep``: what it prints, writes and exits with."""

import pytest
from typer.testing import CliRunner

from hydro_sim_core.cli.app import app
from hydro_sim_core.workers import Lost

SLIP = ("slip_control", "--task", "--vary")
VARY = ("--vary", "models.box.friction=0.1:0.9:2")
LIFTED = {"succeeded": True, "phase": "hold", "reason": "", "time": 2.0, "error": None}
MEASURE = ("--measure", "x:box")


def call(*words):
    result = CliRunner().invoke(app, ["sweep", *map(str, words)])
    assert "Traceback" not in result.output
    return result.exit_code, " ".join(result.output.split())


def test_a_sweep_writes_its_table_and_picture_and_tells_both_ends(tmp_path):
    table, picture = tmp_path / "t.parquet", tmp_path / "t.png"
    words = ("drop_box", *VARY, *MEASURE, "--duration", 0.01, "--jobs", 1, "--out", table)
    status, told = call(*words, "--out", picture, "--measure", "fallen=z:box<0.2")
    assert status == 0, told
    assert "100.0 %" in told
    assert table.read_bytes()[:4] == table.read_bytes()[-4:] == b"PAR1"
    assert picture.stat().st_size > 10_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.parquet", "t.png"]
    status, told = call(*words)
    assert status == 1
    assert "exists already; give another name, or --overwrite" in told


def test_samples_without_measures_are_told_with_their_reasons(tmp_path, monkeypatch):
    def one_by_one(work, samples, jobs):
        return ((index, work(sample)) for index, sample in enumerate(samples))

    monkeypatch.setattr("hydro_sim_core.sweeps.sweep.completed", one_by_one)
    words = ("drop_box", "--vary", "models.box.friction=0.1,-1", *MEASURE, "--duration", 0.01, "--jobs", 1)
    status, told = call(*words, "--out", tmp_path / "t.parquet")
    assert status == 0
    assert "1 without measures: override: models.box.friction: -1 is not accepted" in told


def test_trials_that_could_not_begin_count_as_failed_and_are_told(tmp_path, monkeypatch):
    """As one whose process is lost, or with a value that was drawn and is none."""

    def one_lost(work, samples, jobs):
        return ((index, Lost(-9) if index else LIFTED) for index in range(len(samples)))

    monkeypatch.setattr("hydro_sim_core.sweeps.sweep.completed", one_lost)
    status, told = call(*SLIP, "seed=0,1", "--out", tmp_path / "t.parquet")
    assert status == 1
    assert "succeeded 50.0 % 2" in told
    assert "1 could not begin, and count as failed: its process was lost 2 times with status -9" in told


def test_a_sweep_without_any_measure_fails(tmp_path, monkeypatch):
    def lost(work, samples, jobs):
        return ((index, Lost(-9)) for index in range(len(samples)))

    monkeypatch.setattr("hydro_sim_core.sweeps.sweep.completed", lost)
    status, told = call("drop_box", *VARY, *MEASURE, "--out", tmp_path / "t.parquet")
    assert status == 1
    assert "2 without measures: its process was lost 2 times with status -9" in told
    assert (tmp_path / "t.parquet").exists()


def test_measures_are_listed():
    status, told = call("--measures")
    assert status == 0
    assert "rotation LINK[/LINK] the angle" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name the scene"),
        (("drop_box", *VARY, *MEASURE), "--out FILE.parquet"),
        (("drop_box", *VARY, *MEASURE, "--out", "t.png"), "--out FILE.parquet"),
        (("drop_box", *VARY, *MEASURE, "--out", "t.csv"), "end it in .parquet"),
        (("drop_box", *VARY, "--out", "t.parquet"), "nothing is measured"),
        (("drop_box", *MEASURE, "--out", "t.parquet"), "nothing is varied"),
        (("drop_box", *VARY, *MEASURE, "--samples", 3), "--samples needs a value that is drawn"),
        (("drop_box", *VARY, *MEASURE, "--sampling", "latin"), "--sampling needs a value that is drawn"),
        (("drop_box", *VARY, *MEASURE, "--sampling", "sobol"), "sobol"),
        (("drop_box", *VARY, "--measure", "x:bax", "--out", "t.parquet"), "did you mean 'box'?"),
        (
            ("drop_box", "--vary", "models.bax.friction=1", *MEASURE, "--out", "t.parquet"),
            "'bax' is none of models",
        ),
        (("drop_bax", *VARY, *MEASURE, "--out", "t.parquet"), "drop_bax"),
        (
            ("drop_box", *VARY, *MEASURE, "--duration", 4e-4, "--out", "t.parquet"),
            "--duration: 0.0004 s are less than one step; give at least 0.001",
        ),
        (
            ("drop_box", *VARY, *MEASURE, "--jobs", 2, "--ray", "auto"),
            "--jobs is for processes of this machine",
        ),
        (("drop_box", *VARY, *MEASURE, "--ray", "x", "--out", "t.parquet"), "x: is no address"),
        (
            ("pancake_flip", "--task", "--vary", "seed=1", *MEASURE),
            "--measure needs a scene (leave out --task)",
        ),
        (("drop_box", "--task", "--vary", "seed=1", "--out", "t.parquet"), "task: is unknown"),
        (
            (*SLIP, "controller.pitch=-0.4,nan", "--out", "t.parquet"),
            "controller.pitch: 'nan' is no pitch to set",
        ),
        ((*SLIP, "controller.pitch=-0.4,9", "--out", "t.parquet"), "controller.pitch: 9 is no pitch to set"),
        (
            (*SLIP, "controller.feedback=wrench,membrne", "--out", "t.parquet"),
            "controller.feedback: 'membrne' is none",
        ),
        (
            (*SLIP, "time_step=1e-3,3e-3", "--out", "t.parquet"),
            "time_step: of 0.003 s does not divide",
        ),
        (
            (*SLIP, "models.spatula.friction=0.3,nan", "--out", "t.parquet"),
            "models.spatula.friction: 'nan' is",
        ),
        (
            (*SLIP, "seed=0:1:3", "--out", "t.parquet"),
            "seed: 0.5 is no seed; give whole numbers, as in seed=0:19:20",
        ),
    ],
)
def test_what_makes_no_sense_is_one_line(words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, output = call(*words)
    assert status in (1, 2)
    assert told in output
    assert not list(tmp_path.iterdir())


def test_without_duckdb_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("hydro_sim_core.sweeps.table.find_spec", lambda name: None)
    status, told = call("drop_box", *VARY, *MEASURE, "--out", "t.parquet")
    assert status == 1
    assert "duckdb: is not installed; install it: pip install 'hydro-sim-core[sweep]'" in told
