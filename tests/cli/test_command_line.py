"""The command line in this process: what it prints, writes and returns, for good and for bad input."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import pytest
from typer.main import get_command

from hydro_sim_core import World, load_scene
from hydro_sim_core.assets import folder, shipped_scenes
from hydro_sim_core.cli import app, run_report
from hydro_sim_core.cli.run_report import RunRecorder
from hydro_sim_core.description import load_scene as read_scene
from hydro_sim_core.experiments import EXPERIMENTS, Comparison, Experiment, ExperimentReport
from hydro_sim_core.experiments.page import read_record
from hydro_sim_core.recording import read_messages
from support.command_line import call, commands, refused

WELDED = shipped_scenes()["spatula_slip_welded"]
URDF = Path(__file__).parents[2] / "urdf"


@pytest.fixture
def report(tmp_path):
    """Run a scene and read the report it wrote."""

    def run(*arguments):
        path = tmp_path / "report.json"
        result = call("run", *arguments, "--json", path, "--overwrite")
        assert result.exit_code == 0, result.stderr
        return json.loads(path.read_text()), result.stdout

    return run


def test_help_names_every_command_and_the_exit_statuses():
    result = call("--help")
    assert result.exit_code == 0
    for word in (*get_command(app).list_commands(None), "Exit status"):
        assert word in result.stdout


def test_help_says_of_every_command_what_the_command_says():
    overview = " ".join(call("--help").stdout.replace("│", " ").split())
    for name in get_command(app).list_commands(None):
        told, _, _ = call(name, "--help").stdout.replace("│", " ").partition("\n╭")
        usage, line, *_ = re.split(r"\n\s*\n", told.strip())
        assert f" {name} " in usage
        assert f" {name} {' '.join(line.split())}" in overview


def test_one_kind_of_file_has_one_option_in_every_command():
    """What a command writes goes to --out; --json is short for the report, and two say what they write."""
    options = {
        option
        for command in commands().values()
        for param in command.params
        if param.param_type_name == "option" and re.match("FILE|DIR", param.metavar or "")
        for option in param.opts
    }
    written = {"--out", "--json", "--save-failed", "--repaired"}
    assert options == written | {"--from-state", "--package-dir", "--srdf"}


def test_a_command_has_commands_of_its_own_only_where_they_are_several():
    whole = get_command(app)
    for name in whole.list_commands(None):
        assert len(getattr(whole.get_command(None, name), "commands", "two")) > 1, name


def test_help_of_run_names_every_option():
    result = call("run", "--help")
    for option in ("SCENE", "--headless", "--duration", "--rate", "--out", "--json"):
        assert option in result.stdout


def test_a_headless_run_reports_what_the_world_does(report):
    data, printed = report("spatula_slip_welded", "--headless", "--duration", "0.2")
    world = load_scene(WELDED)
    world.step(200)
    assert data["steps"] == 200
    assert data["simulated_time"] == pytest.approx(0.2)
    assert data["grip_forces"] == {"gripper": pytest.approx(world.grip_force(), rel=1e-12)}
    assert [c["faces"] for c in data["contacts"]] == [patch.num_faces for patch in world.contacts]
    for contact, patch in zip(data["contacts"], world.contacts, strict=True):
        assert contact["force_on_b"] == pytest.approx(patch.force_on_b.tolist(), rel=1e-12)
    assert data["unconverged_steps"] == 0
    assert 0.0 < data["max_residual"] <= 1e-8
    assert data["pace"]["late_steps"] is None
    assert "hydro_sim_core" in data["versions"]
    assert "real-time factor" in printed
    assert "grip force of gripper" in printed


def test_a_report_warns_of_coarse_contact_only(report):
    """The bubbles of Drake's example are coarse, those of the shipped scene are not; a box is exact in any mesh."""
    coarse = {"models.gripper.xacro_args.bubble_hint": 0.04}
    settings = [part for path, value in coarse.items() for part in ("--set", f"{path}={value}")]
    data, printed = report("spatula_slip_welded", "--headless", "--duration", "0.2", *settings)
    world = World(read_scene(WELDED).with_(coarse))
    world.step(200)
    for contact, patch in zip(data["contacts"], world.contacts, strict=True):
        assert contact["quality"]["force_error"] == pytest.approx(patch.quality.force_error, rel=1e-12)
        assert contact["quality"]["num_faces"] == patch.num_faces
    assert data["contact_warnings"] == [str(warning) for warning in world.contact_summary().warnings]
    assert len(data["contact_warnings"]) == 2
    assert printed.count("force at this depth off by about") == 2

    for name in ("spatula_slip_welded", "drop_box"):
        data, printed = report(name, "--headless", "--duration", "0.5")
        assert data["contacts"]
        assert data["contact_warnings"] == []
        assert "force at this depth off by about" not in printed


def test_the_time_series_samples_the_run(report):
    data, _ = report("spatula_slip_welded", "--headless", "--duration", "0.1")
    series = data["series"]
    assert series["time"] == pytest.approx([0.01 * i for i in range(1, 11)])
    world = load_scene(WELDED)
    for faces, force in zip(series["faces"], series["grip_force"]["gripper"], strict=True):
        world.step(10)
        assert faces == world.diagnostics()["faces"]
        assert force == pytest.approx(world.grip_force(), rel=1e-12)


def test_a_long_time_series_keeps_every_other_row(monkeypatch):
    monkeypatch.setattr(run_report, "_MAX_ROWS", 8)
    world = load_scene((folder("config") / "scenes") / "drop_box.yaml")
    recorder = RunRecorder(world)
    for _ in range(200):
        world.step()
        recorder.observe(world)
    pace = run_report.Pace(1.0, 0.0, 0.0, 0.0, 0.0)
    times = recorder.report(world, pace, interrupted=False).series["time"]
    assert times == pytest.approx([0.04 * i for i in range(1, len(times) + 1)])
    assert times[-1] == pytest.approx(0.2)


def test_a_run_at_a_rate_takes_its_time_and_the_same_steps(report):
    data, _ = report("spatula_slip_welded", "--duration", "0.2", "--rate", "0.5")
    free, _ = report("spatula_slip_welded", "--duration", "0.2", "--headless")
    assert data["steps"] == free["steps"] == 200
    assert data["pace"]["wall_time"] >= 0.99 * 0.4
    assert data["pace"]["late_steps"] is not None
    assert data["contacts"] == free["contacts"]
    assert data["series"] == free["series"]


def test_a_robot_file_runs_too(report):
    data, _ = report(URDF / "kinova_gen3_7dof.urdf.xacro", "--headless", "--duration", "0.05")
    assert data["steps"] == 50
    assert data["contacts"] == []


@pytest.fixture
def packaged_xacro(tmp_path):
    """A xacro file that needs an argument and a package; the folder that holds the package."""
    shelf = tmp_path / "shelf"
    package = shelf / "parts"
    package.mkdir(parents=True)
    root = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    (package / "part.xacro").write_text(f'{root}<link name="$(arg side)_part"/></robot>')
    path = tmp_path / "robot.xacro"
    path.write_text(f'{root}<xacro:include filename="$(find parts)/part.xacro"/></robot>')
    return path, shelf


@pytest.mark.parametrize("command", [("check",), ("run", "--headless", "--duration", "0.002")])
def test_arguments_and_packages_of_a_xacro_file(packaged_xacro, command):
    path, shelf = packaged_xacro
    result = call(*command, path, "--xacro-arg", "side:=a:=b", "--package-dir", shelf)
    assert result.exit_code == 0, result.stderr


def test_what_a_xacro_file_needs_is_named_with_its_option(packaged_xacro, monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    path, shelf = packaged_xacro
    assert "--package-dir" in refused(call("check", path, "--xacro-arg", "side:=a"))
    assert "--xacro-arg side:=VALUE" in refused(call("check", path, "--package-dir", shelf))
    assert "did you mean 'side'?" in refused(
        call("check", path, "--package-dir", shelf, "--xacro-arg", "side:=a", "--xacro-arg", "sid:=b")
    )


def test_a_scene_takes_no_options_for_robots(tmp_path):
    line = refused(call("check", "drop_box", "--package-dir", tmp_path))
    assert "--package-dir: for robot files only; write it to the models" in line


def test_version():
    result = call("--version")
    assert result.exit_code == 0
    assert result.stdout == f"hydro-sim {version('hydro-sim-core')}\n"


def test_check_cuts_no_name_without_a_terminal(tmp_path):
    name = "a_link_with_a_name_that_no_column_of_a_narrow_terminal_would_hold_in_one_line"
    path = tmp_path / "robot.urdf"
    path.write_text(
        f'<robot name="r"><link name="{name}"><collision name="{name}_collision">'
        f'<geometry><box size="1 1 1"/></geometry></collision></link></robot>'
    )
    printed = call("check", path, columns=40).stdout
    assert f" {name} " in printed
    assert f" {name}_collision " in printed
    assert "…" not in printed


@pytest.mark.parametrize(
    ("scene", "says"),
    [
        ("spatula_slipp", "did you mean 'spatula_slip'?"),
        ("missing.yaml", "missing.yaml: no such file"),
        ("missing.urdf", "missing.urdf"),
        (".", "neither a file nor a shipped scene"),
    ],
)
@pytest.mark.parametrize("command", ["run", "check"])
def test_a_scene_that_is_not_there_is_one_line(command, scene, says):
    assert says in refused(call(command, scene))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: [", "line 1"),
        ("name: a\nmodles: []\n", "modles"),
        ("name: a\ntime_step: -1\n", "time_step"),
        ("name: a\nmodels: [{name: b, urdf: none.urdf}]\n", "none.urdf"),
    ],
)
def test_a_malformed_scene_is_one_line_that_names_the_place(tmp_path, text, says):
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    line = refused(call("run", path, "--headless", "--duration", "0.01"))
    assert says in line
    assert "scene.yaml" in line


def test_markup_in_a_name_is_printed_as_it_is():
    assert "[red]x[/red]" in refused(call("check", "[red]x[/red]"))


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("fly",),
        ("run",),
        ("run", "drop_box", "--duration", "nan"),
        ("run", "drop_box", "--duration", "inf"),
        ("run", "drop_box", "--duration", "0"),
        ("run", "drop_box", "--duration", "soon"),
        ("run", "drop_box", "--rate", "0"),
        ("run", "drop_box", "--rate", "nan"),
        ("run", "drop_box", "--wings"),
        ("check", "robot.xacro", "--xacro-arg", "side=left"),
        ("check", "robot.xacro", "--xacro-arg", ":=left"),
    ],
)
def test_wrong_usage_is_exit_status_2(arguments):
    assert call(*arguments).exit_code == 2


def test_a_report_that_cannot_be_written_is_refused_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(World, "step", lambda *_: pytest.fail("stepped"))
    assert "no folder" in refused(
        call("run", "drop_box", "--headless", "--json", tmp_path / "no" / "report.json")
    )


@pytest.mark.parametrize("pace", [("--headless",), ("--rate", "1")])
def test_a_diverging_run_reports_and_fails_with_one_line(monkeypatch, tmp_path, pace):
    path = tmp_path / "report.json"
    step = World.step

    def diverge_at_step_20(world, n=1):
        if world.step_count == 20:
            raise FloatingPointError("step 20 is not finite")
        step(world, n)

    monkeypatch.setattr(World, "step", diverge_at_step_20)
    result = call("run", "drop_box", "--duration", "1", *pace, "--json", path)
    assert "step 20 is not finite" in refused(result)
    data = json.loads(path.read_text())
    assert data["steps"] == 20
    assert data["pace"]["error"] == "step 20 is not finite"


STUBBORN = """
name: stubborn
time_step: 0.01
models:
  - {name: spatula, urdf: URDF/spatula_reference.urdf.xacro, base: floating, pose: {xyz: [0, 0, 0.02]}}
environment:
  - {name: ground, shape: {half_space: {}}}
solver: {max_iterations: 1, relag: false}
"""


def test_a_step_that_does_not_converge_is_kept_and_repeated(tmp_path, report):
    """One Newton iteration is not enough to land: the first such step is in the file, and fails again from there."""
    scene, kept = tmp_path / "stubborn.yaml", tmp_path / "kept.json"
    scene.write_text(STUBBORN.replace("URDF", str(URDF)))
    first, shown = report(scene, "--headless", "--duration", 1, "--save-failed", kept)
    assert first["unconverged_steps"] > 0
    assert first["stepping"]["cut_steps"] == 0
    assert str(kept) in shown.replace("\n", "")
    again, _ = report(scene, "--headless", "--duration", 0.01, "--from-state", kept)
    assert again["steps"] == again["unconverged_steps"] == 1


def test_without_a_failed_step_no_file_is_written(tmp_path, report):
    kept = tmp_path / "kept.json"
    report(WELDED, "--headless", "--duration", 0.01, "--save-failed", kept)
    assert not kept.exists()


def test_a_state_of_another_scene_is_refused_before_anything_is_compiled(tmp_path, monkeypatch):
    state = tmp_path / "state.json"
    load_scene(WELDED).save_state().write(state)
    monkeypatch.setattr(World, "step", None)
    line = refused(call("run", "spatula_slip", "--headless", "--from-state", state))
    assert "state.json" in line
    assert "use the scene, unchanged" in line


def test_check_shows_bodies_colliders_and_pairs():
    result = call("check", "spatula_slip_welded")
    assert result.exit_code == 0
    world = load_scene(WELDED)
    for collider in world.built.colliders:
        (row,) = [line for line in result.stdout.splitlines() if f" {collider.name} " in line]
        assert str(len(collider.geometry.elements)) in row.split()
    for text in ("left_finger_joint", "spatula_base", "8 degrees of freedom", "4 pairs that can touch"):
        assert text in result.stdout


def test_check_ends_long_tables_unless_all_is_asked_for(tmp_path):
    statics = "".join(
        f"  - {{name: 's{i:03}', shape: {{sphere: {{radius: 0.1}}}}, pose: {{xyz: [{i}, 0, 0]}}}}\n"
        for i in range(120)
    )
    path = tmp_path / "many.yaml"
    path.write_text(f"name: many\nenvironment:\n{statics}")
    short, whole = call("check", path).stdout, call("check", path, "--all").stdout
    assert "s099" in short
    assert "s100" not in short
    assert "… and 20 more; --all prints them" in short
    assert "s119" in whole
    assert "more;" not in whole


def test_check_tells_the_law_of_each_pair_and_which_do_not_touch(tmp_path):
    path = tmp_path / "scene.yaml"
    gripper = URDF / "wsg50_soft_bubble.urdf.xacro"
    path.write_text(
        f"name: a\nmodels: [{{name: g, urdf: {gripper}, base: floating}}]\n"
        "environment: [{name: ground, shape: {half_space: {}}, proximity: {compliance: rigid}}]\n"
        "contact: {pairs: [{links: [ground, left_finger], law: none}]}\n"
    )
    rows = [line.split() for line in call("check", path).stdout.splitlines()]
    assert ["gripper", "ground", "rigid", "skin"] in [row[:4] for row in rows]
    assert ["right_finger", "ground", "pressure", "field"] in [row[:4] for row in rows]
    assert ["ground", "left_finger", "asked", "for", "in", "the", "scene"] in [row[:7] for row in rows]


def test_scenes_lists_every_shipped_scene():
    listed = [line.split()[0] for line in call("scenes").stdout.splitlines()]
    assert listed == sorted(path.stem for path in (folder("config") / "scenes").glob("*.yaml"))


def test_validate_without_a_name_lists_the_experiments():
    printed = call("validate").stdout
    assert all(name in printed for name in EXPERIMENTS)


def test_validate_lists_how_long_each_takes(monkeypatch):
    """From its record; an experiment that is new has none."""
    monkeypatch.setitem(EXPERIMENTS, "new", Experiment("Nobody ran it.", lambda _: None, lambda *_: None))
    lines = {line.split()[0]: line for line in call("validate").stdout.splitlines()}
    for name in EXPERIMENTS.keys() - {"new"}:
        record = read_record(folder("validation"), name)
        assert f" {record.about} " in lines[name]
    assert lines["new"].split() == ["new", "Nobody", "ran", "it."]


def test_validate_writes_report_and_figure(tmp_path):
    numbers, picture = tmp_path / "slip.json", tmp_path / "slip.png"
    result = call("validate", "slip_control", "--json", numbers, "--out", picture)
    assert result.exit_code == 0
    data = json.loads(numbers.read_text())
    assert data["agrees"] is True
    comparisons = {c["quantity"]: c for c in data["comparisons"]}
    assert abs(comparisons["pitch at 6 s"]["deviation"]) <= 0.02
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "pitch at 6 s" in result.stdout


def test_validate_fails_where_the_numbers_disagree(monkeypatch):
    wrong = ExperimentReport("t", "s", (Comparison("x", "m", 1.0, 2.0, 0.1, "relative"),))
    monkeypatch.setitem(EXPERIMENTS, "wrong", Experiment("", lambda _: wrong, lambda *_: None))
    result = call("validate", "wrong")
    assert result.exit_code == 1
    assert "does not agree" in result.stdout


@pytest.mark.parametrize(("measured", "status"), [(1.0, 0), (2.0, 1)])
def test_validate_all_writes_a_page_with_numbers_and_pictures(tmp_path, measured, status):
    outcome = ExperimentReport("t", "s", (Comparison("x", "m", 1.0, measured, 0.1, "relative"),))
    experiment = Experiment("", lambda _: outcome, lambda _, path: path.write_bytes(b"drawn"))
    with mock.patch.dict(EXPERIMENTS, {"only": experiment}, clear=True):
        result = call("validate", "--all", "--quick", "--out", tmp_path / "new" / "found")
    assert result.exit_code == status, result.stderr
    data = json.loads((tmp_path / "new" / "found" / "only.json").read_text())
    assert data["comparisons"][0]["measured"] == measured
    assert data["quick"] is True
    assert 0.0 <= data["seconds"] < 1.0
    assert data["machine"].endswith(" cores")
    assert (tmp_path / "new" / "found" / "only.png").read_bytes() == b"drawn"
    assert "found/only.png" in (tmp_path / "new" / "found.md").read_text()
    assert f"{1 - status} of 1 agree" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--all",),
        ("--out", "folder"),
        ("incline", "--all", "--out", "folder"),
        ("--all", "--out", "folder", "--json", "file"),
        ("--json", "file"),
    ],
)
def test_validate_refuses_options_that_do_not_go_together(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("validate", *arguments).exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_validate_all_refuses_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    assert "Not a directory" in refused(call("validate", "--all", "--out", tmp_path / "file" / "found"))


def test_validate_refuses_an_unknown_experiment():
    assert "did you mean 'incline'?" in refused(call("validate", "inclin"))


@pytest.mark.parametrize("rate", ["inf", "10"])
def test_a_recorded_run_has_every_step_and_says_so(report, tmp_path, rate):
    path = tmp_path / "run.mcap"
    data, printed = report(
        "spatula_slip_welded", "--headless", "--duration", "0.1", "--rate", rate, "--out", path
    )
    times = [message.time for message in read_messages(path, ["/joint_states"])]
    assert times == [10**6 * i for i in range(101)]
    assert data["recording"]["paths"] == [str(path)]
    assert data["recording"]["messages"] == len(list(read_messages(path)))
    assert data["recording"]["size"] == path.stat().st_size
    assert f"{path}: {data['recording']['messages']} messages" in printed


def test_a_recording_replaces_a_file_only_on_purpose(tmp_path):
    path = tmp_path / "run.mcap"
    path.write_text("precious")
    arguments = ("run", "drop_box", "--headless", "--duration", "0.01", "--out", path)
    assert "exists already" in refused(call(*arguments))
    assert path.read_text() == "precious"
    assert call(*arguments, "--overwrite").exit_code == 0
    assert len(list(read_messages(path, ["/clock"]))) == 11


def test_check_lists_sensors():
    sensor = "{type: imu, name: wrist, link: gripper, rate: 200}"
    result = call("check", WELDED, "--set", f"sensors=[{sensor}]")
    assert result.exit_code == 0, result.stderr
    assert re.search(r"Sensors\s.*\n.*\n.*\bwrist\s+imu\s+gripper\s+200\b", result.stdout, re.DOTALL)
    assert "Sensors" not in call("check", WELDED).stdout
