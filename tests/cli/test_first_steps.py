"""What a stranger tries first: a file of one's own, of another program, or one in which nothing moves."""

from __future__ import annotations

import re
import shutil

import pytest

from hydro_sim_core import World, load_scene
from hydro_sim_core.assets import folder
from hydro_sim_core.simulation.scenes import RobotOptions, open_world
from support.command_line import call, refused

BALL = """<robot name="ball"><link name="ball">
  <inertial><mass value="0.1"/><inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0 0 -0.1"/><geometry><sphere radius="0.03"/></geometry></collision>
</link></robot>"""
FINGER = """<robot name="pinch"><link name="palm"/>
  <link name="finger">
    <inertial><mass value="0.1"/><inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.02 0.02 0.02"/></geometry></collision></link>
  <joint name="slide" type="prismatic"><parent link="palm"/><child link="finger"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.1" effort="10" velocity="1"/></joint></robot>"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", [("check",), ("run", "--headless", "--duration", 0.002)])
def test_a_robot_file_in_which_nothing_moves_says_so(here, command):
    (here / "stand.urdf").write_text(re.sub(r"<inertial>.*</inertial>", "", BALL, flags=re.DOTALL))
    result = call(*command, "stand.urdf")
    assert result.exit_code == 0
    (told,) = (line for line in result.stdout.splitlines() if "nothing moves" in line)
    assert "<inertial>" in told


def test_an_object_alone_falls_and_is_told_of(here, caplog):
    """Onto a ground, if one is asked for, from a little above it."""
    (here / "ball.urdf").write_text(BALL)
    falling, resting = (open_world("ball.urdf", RobotOptions(ground=ground)) for ground in (False, True))
    assert [("--ground" in record.getMessage()) for record in caplog.records] == [True, False]
    for world in (falling, resting):
        world.step(300)
    assert falling.frame_pose("ball")[2, 3] == pytest.approx(-0.5 * 9.81 * 0.3**2, rel=1e-2)
    assert resting.frame_pose("ball")[2, 3] - 0.1 == pytest.approx(0.03, abs=2e-3)
    assert call("run", "ball.urdf", "--ground", "--headless", "--duration", 0.01).exit_code == 0


def test_a_robot_alone_stands_beside_what_is_on_the_ground(here):
    (here / "pinch.urdf").write_text(FINGER)
    world = open_world("pinch.urdf", RobotOptions(ground=True))
    world.step(100)
    assert world.q == pytest.approx([0.0], abs=1e-9)
    assert not world.contacts
    assert "for robot files" in refused(call("run", "drop_box", "--ground", "--headless"))


def test_a_scene_in_which_nothing_moves_says_so(here):
    (here / "ball.urdf").write_text(BALL)
    (here / "scene.yaml").write_text("name: s\nmodels: [{name: ball, urdf: ball.urdf}]\n")
    assert "nothing moves: no model has joints" in call("check", "scene.yaml").stdout


def test_a_scene_that_moves_says_nothing_of_that():
    assert "nothing moves" not in call("check", "drop_box").stdout


def test_an_object_gets_a_scene_in_which_it_falls_to_the_ground(here):
    (here / "ball.urdf").write_text(BALL)
    result = call("init", "ball.urdf")
    assert result.exit_code == 0, result.stderr
    assert "hydro-sim run ball.yaml --view" in result.stdout
    world = load_scene("ball.yaml")
    height = world.frame_pose("ball")[2, 3] - 0.1
    assert 0.03 + 0.015 < height < 0.03 + 0.025
    world.step(300)
    assert world.frame_pose("ball")[2, 3] - 0.1 == pytest.approx(0.03, abs=2e-3)
    (patch,) = world.contacts
    assert patch.normal_force_on_b[2] != 0.0


@pytest.mark.parametrize(
    "name", ["kinova_gen3_7dof.urdf.xacro", "spatula.urdf.xacro", "wsg50_soft_bubble.urdf.xacro"]
)
def test_shipped_robots_and_objects_get_scenes_that_run(here, name):
    shutil.copytree(folder("urdf"), here / "urdf")
    assert call("init", f"urdf/{name}", "--out", "scene.yaml").exit_code == 0
    result = call("run", "scene.yaml", "--headless", "--duration", 0.1)
    assert result.exit_code == 0, result.stderr
    assert "no contact" not in call("check", "scene.yaml").stdout


def test_what_the_comments_suggest_works(here):
    """Without the signs of comments, joints are driven and the finger grips."""
    (here / "pinch.urdf").write_text(FINGER)
    assert call("init", "pinch.urdf").exit_code == 0
    text = (here / "pinch.yaml").read_text()
    for key in ("actuators", "grippers"):
        found = re.search(rf"^# {key}:\n#   .*\n", text, re.MULTILINE)
        one = text.replace(found[0], re.sub(r"^# ", "", found[0], flags=re.MULTILINE))
        (here / "driven.yaml").write_text(one)
        world = load_scene("driven.yaml")
        assert list(world.actuated_joint_names) == ["slide"] or list(world.gripper_names) == ["gripper"]


def test_arguments_and_packages_go_into_the_scene(here):
    root = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    package = here / "shelf" / "parts"
    package.mkdir(parents=True)
    (package / "part.xacro").write_text(f'{root}<link name="$(arg side)_part"/></robot>')
    (here / "robots").mkdir()
    (here / "robots" / "r.urdf.xacro").write_text(
        f'{root}<xacro:include filename="$(find parts)/part.xacro"/></robot>'
    )
    result = call("init", "robots/r.urdf.xacro", "--xacro-arg", "side:=left", "--package-dir", "shelf")
    assert result.exit_code == 0, result.stderr
    assert load_scene("robots/r.yaml").frame_names == ("left_part",)


def test_an_srdf_goes_into_the_scene(here):
    for name in ("robots", "moveit", "scenes"):
        (here / name).mkdir()
    (here / "robots" / "pinch.urdf").write_text(FINGER)
    (here / "moveit" / "pinch.srdf").write_text(
        '<robot name="pinch"><disable_collisions link1="palm" link2="finger" reason="Never"/></robot>'
    )
    result = call("init", "robots/pinch.urdf", "--srdf", "moveit/pinch.srdf", "--out", "scenes/pinch.yaml")
    assert result.exit_code == 0, result.stderr
    assert 'srdf: "../moveit/pinch.srdf"' in (here / "scenes" / "pinch.yaml").read_text()
    (robot,) = load_scene("scenes/pinch.yaml").scene.robots
    assert robot.srdf.disabled == ((("palm", "finger"), "Never"),)


def test_an_srdf_of_another_robot_gets_no_scene(here):
    (here / "pinch.urdf").write_text(FINGER)
    (here / "other.srdf").write_text('<robot name="other"><disable_default_collisions link="arm"/></robot>')
    assert "robot 'pinch' has no link 'arm'" in refused(call("init", "pinch.urdf", "--srdf", "other.srdf"))
    assert not (here / "pinch.yaml").exists()


def test_what_is_no_robot_gets_no_scene(here):
    (here / "a.sdf").write_text("<sdf/>")
    assert "a.sdf: is an SDF file, as Gazebo reads, which is not read; give the URDF" in refused(
        call("init", "a.sdf")
    )
    (here / "a.txt").write_text("none")
    assert "a.txt: is no URDF; name a .urdf or .xacro file" in refused(call("init", "a.txt"))
    assert "gone.urdf" in refused(call("init", "gone.urdf"))
    assert sorted(path.name for path in here.iterdir()) == ["a.sdf", "a.txt"]


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("m.xml", "<mujoco/>", "MuJoCo"),
        ("m.sdf", "<sdf/>", "SDF"),
        ("m.usda", "#usda 1.0", "USD"),
        ("m.usd", "PXR-USDC", "USD"),
        ("m.urdf", "<mujoco/>", "MuJoCo"),
    ],
)
def test_files_of_other_programs_are_named_with_a_way_to_a_urdf(here, command, name, text, says):
    (here / name).write_text(text)
    line = refused(call(command, name))
    assert says in line
    assert "give the URDF that it was made from, or make one with " in line


@pytest.mark.parametrize("name", ["[/nope]", "[bold red]x[/]", "a\\", "[link=x]y"])
def test_markup_in_names_is_printed_as_it_is(here, name):
    """In scenes, links, joints and files, and in what reports say of them."""
    urdf = BALL.replace('"ball"', f'"{name}"')
    (here / "ball.urdf").write_text(urdf)
    scene = f"name: '{name}'\nmodels: [{{name: '{name}', urdf: ball.urdf, base: floating}}]\n"
    ground = "environment: [{name: ground, shape: {half_space: {}}, proximity: {compliance: rigid}}]\n"
    (here / "scene.yaml").write_text(scene + ground)
    for command in (
        ("check", "scene.yaml"),
        ("run", "scene.yaml", "--headless", "--duration", 0.2, "--out", "run.mcap", "--overwrite"),
        ("replay", "run.mcap"),
        ("converge", "scene.yaml", "--duration", 0.004),
    ):
        result = call(*command)
        assert result.exit_code == 0, (command, result.output)
        assert name in result.stdout or command[0] == "replay", command


def test_control_characters_in_names_do_not_reach_the_terminal(here):
    line = refused(call("check", "a\x1b[31m\rb"))
    assert "\x1b" not in line
    assert "\r" not in line


@pytest.mark.parametrize("suffix", ["", ".yaml", ".urdf", ".mcap", ".stl", ".json"])
@pytest.mark.parametrize(
    "command",
    [
        ("check", "NAME"),
        ("snapshot", "NAME"),
        ("replay", "NAME"),
        ("mesh", "NAME"),
        ("hil-report", "NAME"),
        ("compile", "NAME"),
        ("init", "NAME"),
        ("run", "drop_box", "--from-state", "NAME"),
        ("run", "drop_box", "--out", "NAME"),
        ("check", "drop_box", "--json", "NAME"),
    ],
    ids=" ".join,
)
def test_a_name_too_long_for_a_file_is_one_line(command, suffix):
    refused(call(*("a" * 5000 + suffix if argument == "NAME" else argument for argument in command)))


@pytest.mark.parametrize("name", ["~nobody_here/x.yaml", "~nobody_here/x.urdf"])
def test_a_home_folder_of_nobody_is_one_line(name):
    assert f"{name}: names no user with a home folder" in refused(call("check", name))


def test_a_report_nested_too_deep_is_one_line(here):
    (here / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    assert "is not JSON" in refused(call("hil-report", "deep.json"))


def test_a_file_system_that_takes_no_file_is_told_before_the_run(monkeypatch):
    monkeypatch.setattr(World, "step", lambda *_: pytest.fail("stepped"))
    assert "/proc/report.json: " in refused(call("run", "drop_box", "--json", "/proc/report.json"))
