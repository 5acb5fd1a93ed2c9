"""What a robot file says and is not used: one error, whose flag is copied into commands, scenes and the node."""

from __future__ import annotations

import json
import re

import pytest

import hydro_sim_core as hs
from hydro_sim_core.simulation.loading import load_scene
from hydro_sim_core.simulation.scenes import RobotOptions, open_world
from support.command_line import call, refused

LOOP = "<gazebo><joint name='loop' type='revolute'/></gazebo><cable name='c'/>"
BALL = (
    '<robot name="ball"><link name="ball"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    f'<collision><geometry><sphere radius="0.1"/></geometry></collision></link>{LOOP}</robot>'
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ball.urdf").write_text(BALL)
    return tmp_path


def test_the_flag_of_the_error_is_what_the_next_call_needs(here):
    line = refused(call("check", "ball.urdf"))
    assert "<gazebo>, <joint>, line 1: adds a joint to the robot, and is not used here" in line
    flags = re.search(r"(--ignore \S+) \(in a scene, (ignore: .*)\)$", line.strip())
    assert flags is not None
    assert call("check", "ball.urdf", *flags[1].split()).exit_code == 0
    (here / "scene.yaml").write_text(f"name: s\nmodels:\n  - {{name: ball, urdf: ball.urdf, {flags[2]}}}\n")
    assert load_scene("scene.yaml").scene.spec.models[0].ignore == ("gazebo:joint", "cable")
    assert call("check", "ball.urdf", "--ignore", "cable", "--ignore", "gazebo:joint").exit_code == 0


def test_check_tells_what_was_used(here):
    tags = (
        "<gazebo reference='j'><springStiffness>7.5</springStiffness><springReference>0.25</springReference></gazebo>"
        "<gazebo reference='ball'><turnGravityOff>true</turnGravityOff><mu1>0.875</mu1><mu2>0.875</mu2></gazebo>"
    )
    base = "<link name='base'/><joint name='j' type='continuous'><parent link='base'/><child link='ball'/></joint>"
    (here / "ball.urdf").write_text(BALL.replace(LOOP, base + tags))
    found = json.loads(call("check", "ball.urdf", "--json", "-").stdout)
    (joint,), (body,), (geometry,) = found["joints"], found["bodies"], found["geometries"]
    assert (joint["spring"], joint["slack_at"], geometry["friction"]) == (7.5, 0.25, 0.875)
    assert (body["mass"], body["weightless"]) == (1.0, 1.0)
    printed = call("check", "ball.urdf").stdout
    assert "slack at" in printed
    assert "without weight, kg" in printed


def test_a_first_scene_says_what_was_ignored(here):
    refused(call("init", "ball.urdf"))
    result = call("init", "ball.urdf", "--ignore", "gazebo:joint,cable")
    assert result.exit_code == 0, result.stderr
    assert load_scene("ball.yaml").scene.spec.models[0].ignore == ("gazebo:joint", "cable")


def test_programs_say_it_too(here):
    words = ["gazebo:joint", "cable"]
    assert hs.load_urdf("ball.urdf", ignore=words).scene.spec.models[0].ignore == tuple(words)
    built = hs.SceneBuilder("s").add_urdf("ball.urdf", ignore=words).build()
    assert built.with_({"models.ball.friction": 0.3}).spec.models[0].ignore == tuple(words)
    with pytest.raises(hs.InputError, match="is a tendon"):
        built.with_({"models.ball.ignore": ["gazebo:joint"]})
    open_world("ball.urdf", RobotOptions(ignore=words))
    hs.load_urdf("ball.urdf", ignore=["gazebo:joint,cable"])  # as the flag of the error has them


def test_a_scene_says_itself_what_its_models_ignore():
    assert "--ignore: for robot files only" in refused(call("check", "drop_box", "--ignore", "cable"))
