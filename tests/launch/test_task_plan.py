"""What the launch file of a task tells both programs: everything about it that needs no launch package."""

import ast
import re
from dataclasses import replace

import pytest

from hydro_sim.loading import parse_scene_values
from hydro_sim.parameters import Parameters
from hydro_sim.publishing.streams import view_of
from hydro_sim.task_control.__main__ import PARAMETERS
from hydro_sim_bringup import task_plan
from hydro_sim_bringup.task_plan import plan_task
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.schedule import Schedule
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, find_task
from hydro_sim_core.tasks.trial import scene_of
from support.ros.node_process import ROOT


def test_both_programs_have_these_parameters():
    bringup = plan_task("pancake_flip", "3", "result.json")
    for name, value in bringup.node.items():
        assert isinstance(value, list) or type(value) is type(getattr(Parameters(), name)), name
    assert bringup.controller == {"task": "pancake_flip", "seed": 3, "json": "result.json"}
    replacing = plan_task("pancake_flip", json_file="result.json", overwrite=True)
    assert replacing.controller == {"task": "pancake_flip", "json": "result.json", "overwrite": True}
    assert bringup.controller.keys() <= PARAMETERS.keys()
    assert plan_task("pancake_flip").controller == {"task": "pancake_flip"}
    assert "scene_values" not in plan_task("pancake_flip").node


def test_a_task_that_looks_has_the_images_of_its_bubbles():
    bringup = plan_task("slip_control", settings="feedback=membrane pitch=-0.4")
    for name, value in bringup.node.items():
        assert isinstance(value, list) or type(value) is type(getattr(Parameters(), name)), name
    seen = {name: value for name, value in bringup.node.items() if name.startswith("bubble")}
    assert seen["bubbles"] == ["left_finger", "right_finger"]
    view = view_of(Parameters(**{name: tuple(v) if isinstance(v, list) else v for name, v in seen.items()}))
    assert view.bubbles == find_task("slip_control", {"feedback": "membrane"}).bubbles
    assert seen["bubble_rate"] == bringup.node["wrench_rate"]
    assert bringup.controller["settings"] == "feedback=membrane pitch=-0.4"
    assert not any(name.startswith("bubble") for name in plan_task("slip_control").node)


def test_bubbles_of_two_kinds_are_refused(monkeypatch):
    """The node has one kind of camera in all fingers."""
    task = find_task("slip_control", {"feedback": "membrane"})
    left, right = task.bubbles
    other = replace(task, bubbles=(left, replace(right, image_size=(80, 60), depth_noise=1e-3)))
    monkeypatch.setattr(task_plan, "find_task", lambda name, settings: other)
    told = "bubbles 'left_finger' and 'right_finger': differ in image_size, depth_noise"
    with pytest.raises(InputError, match=told):
        plan_task("slip_control")


@pytest.mark.parametrize("seed", [0, 7])
def test_the_node_simulates_the_scene_of_the_seed_to_the_last_bit(seed):
    given = plan_task("pancake_flip", str(seed)).node
    values = parse_scene_values(given["scene_values"])
    scene = find_scene(given["scene"]).with_(values)
    assert scene.spec == scene_of(TASKS["pancake_flip"], seed).spec


def test_both_programs_are_told_what_is_set_beside_what_is_drawn():
    bringup = plan_task("peg_in_hole", "3", values="models.block.pose.xyz=[0.45,0,0.055] time_step=2e-3")
    told = bringup.controller["scene_values"]
    assert told == ["models.block.pose.xyz=[0.45, 0, 0.055]", "time_step=0.002"]
    assert bringup.node["lock_step_steps"] == 2
    judge = scene_of(TASKS["peg_in_hole"], 3, parse_scene_values(told))
    values = parse_scene_values(bringup.node["scene_values"])
    assert find_scene("peg_in_hole").with_(values).spec == judge.spec
    assert "models.block.pose.rpy" in values  # as drawn


@pytest.mark.parametrize("task", TASKS)
def test_every_instant_that_is_answered_is_told_by_all_topics(task):
    """Steps of lock-step are those of a period, and rates hit the ends of the periods."""
    given = plan_task(task).node
    time_step = find_scene(given["scene"]).spec.time_step
    steps = given["lock_step_steps"]
    assert steps * time_step == pytest.approx(TASKS[task].period)
    for rate in (given["wrench_rate"], given["joint_state_rate"]):
        schedule = Schedule()
        due = [step for step in range(round(100.0 / time_step)) if schedule.due(step * time_step, rate)]
        assert set(range(0, due[-1], steps)) <= set(due)


@pytest.mark.parametrize("period", [0.002, 0.01, 0.02, 0.033])
def test_rates_are_what_the_node_takes(monkeypatch, period):
    monkeypatch.setattr(
        task_plan, "find_task", lambda name, settings: replace(TASKS["pancake_flip"], period=period)
    )
    rate = plan_task("pancake_flip").node["joint_state_rate"]
    assert 100.0 - 1e-9 <= rate <= 1000.0
    assert rate * period == pytest.approx(round(rate * period))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("pancake_flop",), "did you mean 'pancake_flip'"),
        (("pancake_flip", "-1"), "seed: '-1' is no whole number from 0 on"),
        (("slip_control", "", "", "feedback"), "settings: 'feedback': it has no name, or no value"),
        (("slip_control", "", "", "pitch=["), "settings: 'pitch=['"),
        (("pancake_flip", "", "", "pitch=1"), "controller.pitch: is no setting of its controller"),
        (("pancake_flip", "three"), "seed: 'three' is no whole number from 0 on"),
    ],
)
def test_wrong_arguments_are_told(arguments, told):
    with pytest.raises(InputError, match=re.escape(told)):
        plan_task(*arguments)


def test_a_period_of_half_a_step_is_told(monkeypatch):
    monkeypatch.setattr(
        task_plan, "find_task", lambda name, settings: replace(TASKS["pancake_flip"], period=0.0105)
    )
    with pytest.raises(InputError, match=r"of 0\.001 s does not divide the controller's period of 0\.0105 s"):
        plan_task("pancake_flip")


@pytest.mark.parametrize("setting", ["models.pancake", "=3", "a={"])
def test_values_of_the_scene_that_are_none_are_told(setting):
    with pytest.raises(InputError, match="scene_values"):
        parse_scene_values([setting])


def test_the_launch_file_is_python_and_passes_on_every_argument():
    """The real one runs where launch is installed."""
    path = ROOT / "ros2_ws" / "src" / "hydro_sim_bringup" / "launch" / "task.launch.py"
    text = path.read_text()
    (table,) = (
        node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "ARGUMENTS"
    )
    names = {key.value for key in table.keys}
    assert names == {"task", "settings", "values", "seed", "json", "overwrite", "viewer"}
    assert set(re.findall(r'given\["(\w+)"\]', text)) == names
