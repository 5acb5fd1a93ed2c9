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
from support.viewer.browser import is_visible, look, opened
from support.viewer.pages import open_page, wait_until

GROUND = """name: floor
environment: [{name: ground, shape: {half_space: {}}, proximity: {compliance: rigid}}]
models: []
"""
PROGRAM = (sys.executable, "-c", "from hydro_sim_core.cli import main; main()")


@contextmanager
def viewed(*options, scene="drop_box"):
    """A run, and a viewer's address to open pages of; what it prints is ``run.communicate()``."""
    run = subprocess.Popen(
        [*PROGRAM, "run", str(scene), "--view", "--view-port", "0", *options],
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


def test_a_page_loads_another_scene_of_which_the_report_is(tmp_path):
    path = tmp_path / "report.json"
    with viewed("--json", str(path)) as (run, viewer):
        with open_page(viewer) as page:
            page.wait_for_frame(lambda frame: frame["step"] > 20)
            (first,) = page.scenes
            assert first["chosen"] == "drop_box"
            assert ["Shipped scenes", "mug_on_plate"] in first["choices"]
            page.send(type="choose", name="mug_on_plate")
            page.wait_for(lambda: page.loadings)
            page.send(type="choose", name="drop_box")
            page.wait_for(lambda: page.rejections)
            assert "'mug_on_plate' is being loaded" in page.rejections[-1]["reason"]
            page.wait_for(lambda: len(page.scenes) > 1)
            assert (page.scenes[-1]["name"], page.scenes[-1]["chosen"]) == ("mug_on_plate", "mug_on_plate")
            assert page.scenes[-1]["scale"]["maximum"] != first["scale"]["maximum"]
            assert page.wait_for_frame(lambda frame: frame["step"] > 5)["epoch"] == 1
            page.wait_for(lambda: len(page.loadings) == 2)
            assert page.loadings[-1] == {"type": "loading", "name": None, "problem": None}
            run.send_signal(signal.SIGINT)
            page.wait_for(lambda: page.statuses[-1]["simulation"] == "gone")
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 0, errors
    report = json.loads(path.read_text())
    assert report["scene"] == "mug_on_plate"
    assert 5 < report["steps"] == round(report["simulated_time"] / report["time_step"])


def test_a_page_has_a_task_tried_and_tried_again_after_a_reset():
    with viewed() as (_, viewer), open_page(viewer) as page:
        page.wait_for_frame()
        assert ["Tasks", "pancake_flip (task)"] in page.scenes[0]["choices"]
        page.send(type="choose", name="pancake_flip (task)")
        page.wait_for(lambda: len(page.scenes) > 1)
        assert (page.scenes[-1]["name"], page.scenes[-1]["chosen"]) == ("pancake_flip", "pancake_flip (task)")
        page.wait_for(lambda: page.told)
        assert page.told[-1]["text"] == "take the spatula …"
        page.send(type="reset")
        page.wait_for(lambda: len(page.told) == 2)
        assert page.told[0] == page.told[1]


def test_a_scene_that_cannot_be_loaded_leaves_the_one_that_runs(tmp_path):
    """Those beside the scene's file may be chosen by their names, and nothing else on the disk."""
    for name in ("good.yaml", "other.yaml"):
        (tmp_path / name).write_text(GROUND)
    (tmp_path / "bad.yaml").write_text("name: bad\nmodels: 7\n")
    (tmp_path / "notes.txt").write_text("")
    (tmp_path.parent / "outside.yaml").write_text(GROUND)
    with viewed(scene=tmp_path / "good.yaml") as (_, viewer), open_page(viewer) as page:
        page.wait_for_frame()
        groups = {}
        for group, name in page.scenes[0]["choices"]:
            groups.setdefault(group, []).append(name)
        assert list(groups) == ["Shipped scenes", f"Folder {tmp_path.name}", "Tasks"]
        assert groups[f"Folder {tmp_path.name}"] == ["bad.yaml", "good.yaml", "other.yaml"]
        assert page.scenes[0]["chosen"] == "good.yaml"
        for name in ("../outside.yaml", str(tmp_path / "other.yaml"), "notes.txt", "/etc/passwd", "other"):
            page.send(type="choose", name=name)
            told = len(page.rejections)
            page.wait_for(lambda told=told: len(page.rejections) > told)
            assert "is not in the list" in page.rejections[-1]["reason"]
        page.send(type="choose", name="bad.yaml")
        page.wait_for(lambda: len(page.loadings) == 2)
        (problem,) = page.loadings[-1]["problem"].splitlines()
        assert "bad.yaml" in problem
        assert "models" in problem
        step = page.frames[-1]["step"]
        assert page.wait_for_frame(lambda frame: frame["step"] > step)["epoch"] == 0
        page.send(type="choose", name="other.yaml")
        page.wait_for(lambda: page.scenes[-1]["chosen"] == "other.yaml")


@pytest.mark.heavy(2)
@pytest.mark.parametrize("option", ["--duration=9", "--out=run.mcap"])
def test_a_run_with_an_end_or_a_file_keeps_its_scene(tmp_path, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    with viewed(option) as (_, viewer), open_page(viewer) as page:
        page.wait_for_frame()
        assert page.scenes[0]["choices"] == []
        page.send(type="choose", name="drop_box")
        page.wait_for(lambda: page.rejections)
        assert "keeps its scene" in page.rejections[0]["reason"]


def test_the_list_loads_a_scene_in_place(browser, tmp_path):
    (tmp_path / "good.yaml").write_text(GROUND)
    (tmp_path / "bad.yaml").write_text("name: bad\nmodels: 7\n")
    with viewed(scene=tmp_path / "good.yaml") as (_, viewer), opened(browser, viewer.url) as page:
        choice = page.locator("#scene-choice")
        assert choice.input_value() == "good.yaml"
        choice.select_option("bad.yaml")
        wait_until(lambda: "models" in page.locator(".toast").last.inner_text())
        assert choice.input_value() == "good.yaml"
        choice.select_option("drop_box")
        wait_until(lambda: page.locator("#scene-name").inner_text() == "drop_box")
        wait_until(lambda: not is_visible(page, "#scene-loading"))
        wait_until(lambda: look(page, "seq") is not None)
        assert choice.input_value() == "drop_box"
        assert choice.is_enabled()


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
