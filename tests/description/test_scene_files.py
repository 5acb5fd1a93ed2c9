"""Scene files: what they become, and how bad ones are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pydantic
import pytest
import yaml

from hydro_sim_core.description import load_scene, load_scene_spec
from hydro_sim_core.description.poses import pose
from hydro_sim_core.description.scene import SceneSpec, SignalSpec
from hydro_sim_core.description.scene_drives import GripperSpec
from hydro_sim_core.description.spec import ProximitySpec
from hydro_sim_core.errors import InputError
from support.description.urdf_text import frame_pose, write_urdf

SCENES = sorted((Path(__file__).parents[2] / "config" / "scenes").glob("*.yaml"))


def joint(name, joint_type, parent, child, inner):
    links = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{joint_type}">{links}{inner}</joint>'


ARM = (
    *(f'<link name="{name}"/>' for name in ("base", "upper", "left", "right", "tool")),
    joint("elbow", "revolute", "base", "upper", '<limit lower="0.5" upper="2"/>'),
    joint("left", "prismatic", "upper", "left", '<limit lower="-1" upper="0"/>'),
    joint("right", "prismatic", "upper", "right", '<limit lower="0" upper="1"/>'),
    joint("tool", "continuous", "upper", "tool", '<mimic joint="elbow"/>'),
)

SCENE = """
name: test
time_step: 2e-3
models:
  - name: arm
    urdf: test.urdf
    positions: {elbow: 1}
  - {name: second, urdf: test.urdf, prefix: b_, base: fixed, attach_to: tool, pose: {xyz: [0, 0, 1]}}
environment:
  - {name: ground, shape: {half_space: {}}, proximity: {compliance: rigid}}
contact:
  exclude: [[upper, ground]]
actuators:
  - {joints: [elbow], mode: position, kp: 10, kd: 1, effort_limit: 5}
grippers:
  - {name: hand, joints: {left: 1, right: -1}, max_force: 40, kp: 100, kd: 1}
commands:
  - {gripper: hand, signal: {constant: 5}}
  - {joint: elbow, mode: position, signal: {sine: {amplitude: 0.1, offset: 1, period: 2}}}
report:
  wrenches: [[left, ground]]
"""


@pytest.fixture
def write_scene(tmp_path):
    write_urdf(tmp_path, *ARM)

    def write(text):
        path = tmp_path / "scene.yaml"
        path.write_text(text)
        return path

    return write


def test_a_whole_scene(write_scene):
    scene = load_scene(write_scene(SCENE))
    assert scene.spec.time_step == 0.002
    assert scene.spec.gravity == (0.0, 0.0, -9.81)
    assert [robot.root for robot in scene.robots] == ["base", "b_base"]
    assert scene.start_positions == (
        {"elbow": 1.0, "left": 0.0, "right": 0.0},
        {"b_elbow": 0.5, "b_left": 0.0, "b_right": 0.0},
    )
    assert scene.environment[0].shape.kind == "half_space"
    assert scene.environment[0].proximity == ProximitySpec(compliance="rigid")
    assert scene.spec.actuators[0].effort_limit == 5.0
    assert scene.spec.grippers[0].joints == {"left": 1, "right": -1}
    assert scene.spec.contact.exclude == (("upper", "ground"),)


#: What is replaced in SCENE by what; then the place and the words of the error.
BAD = {
    "unknown key": ("time_step", "time_stp", "time_stp, line 3", "did you mean 'time_step'?"),
    "a key of a section below": (
        "{name: ground, shape",
        "{name: ground, modulus: 1.0e6, shape",
        "environment.0.modulus, line 10",
        "unknown key 'modulus'; write modulus under 'proximity'",
    ),
    "friction of a model": (
        "prefix: b_,",
        "friction: 0.3, prefix: b_,",
        "models.1.friction, line 8",
        "write mu_dynamic under 'proximity'",
    ),
    "friction of all": (
        "  exclude: [[",
        "  defaults: {friction: 0.3}\n  exclude: [[",
        "contact.defaults.friction, line 12",
        "unknown key 'friction'; write mu_dynamic",
    ),
    "a place of a model": (
        "prefix: b_,",
        "xyz: [0, 0, 1], prefix: b_,",
        "models.1.xyz, line 8",
        "write xyz under 'pose'",
    ),
    "bounce of other simulators": (
        "compliance: rigid",
        "compliance: rigid, restitution: 0.5",
        "environment.0.proximity.restitution, line 10",
        "there is no restitution: what a bounce loses follows from dissipation",
    ),
    "unknown key deep inside": (
        "half_space: {}",
        "halfspace: {}",
        "environment.0.shape.halfspace, line 10",
        "half_space",
    ),
    "key stands twice": ("name: test", "name: test\nname: more", "name, line 3", "stands twice"),
    "key stands twice deep inside": ("kp: 10", "kp: 10, kp: 11", "kp, line 14", "stands twice"),
    "missing name": ("name: test\n", "", "name, line 2", "is missing; add it"),
    "syntax": ("[[upper, ground]]", "[[upper, ground]", "line 1", "not YAML"),
    "time step too large": ("2e-3", "0.5", "time_step, line 3", "less than or equal to 0.1"),
    "gravity too large": (
        "time_step: 2e-3",
        "time_step: 2e-3\ngravity: [0, 0, -1.0e7]",
        "gravity.2, line 4",
        "greater than or equal to -1000000",
    ),
    "time step NaN": ("2e-3", ".nan", "time_step, line 3", "finite number"),
    "time step of text": ("2e-3", "fast", "time_step, line 3", "valid number"),
    "a truth value is no number": ("2e-3", "true", "time_step, line 3", "valid number"),
    "infinite position": ("elbow: 1}", "elbow: .inf}", "models.0.positions.elbow, line 7", "finite number"),
    "two numbers for three": ("[0, 0, 1]", "[0, 0]", "models.1.pose.xyz.2, line 8", "is missing"),
    "unknown base": (
        "base: fixed",
        "base: flying",
        "models.1.base, line 8",
        "'fixed', 'floating' or 'kinematic'",
    ),
    "attached and floating": (
        "base: fixed",
        "base: floating",
        "models.1, line 8",
        "an attached model cannot float",
    ),
    "a slab of a mesh": (
        "half_space: {}}, proximity: {compliance: rigid}",
        "mesh: {path: a.stl}}, proximity: {slab_thickness: 0.1}",
        "environment.0, line 10",
        "a slab_thickness does nothing on a mesh",
    ),
    "a slab of a rigid ground": (
        "compliance: rigid",
        "compliance: rigid, slab_thickness: 0.1",
        "environment.0, line 10",
        "a slab_thickness does nothing on a rigid body",
    ),
    "two shapes": (
        "half_space: {}",
        "half_space: {}, sphere: {radius: 1}",
        "environment.0.shape",
        "exactly one of",
    ),
    "no shape": ("half_space: {}", "", "environment.0.shape", "nothing is given"),
    "negative gain": ("kp: 10", "kp: -1", "actuators.0.kp, line 14", "greater than or equal to 0"),
    "position without a gain": ("kp: 10", "kp: 0", "actuators.0, line 14", "without kp; add kp above 0"),
    "velocity without a gain": ("position, kp: 10, kd: 1", "velocity", "actuators.0, line 14", "without kd"),
    "closing direction": ("right: -1}", "right: 2}", "grippers.0.joints.right, line 16", "1 or -1"),
    "two targets": (
        "{gripper: hand,",
        "{gripper: hand, joint: elbow,",
        "commands.0",
        "one of gripper, joint and model",
    ),
    "gripper mode": ("{gripper: hand,", "{gripper: hand, mode: effort,", "commands.0", "no mode 'effort'"),
    "two signals": (
        "constant: 5",
        "constant: 5, sine: {amplitude: 1, period: 1}",
        "commands.0.signal",
        "exactly one",
    ),
    "period of zero": ("period: 2", "period: 0", "commands.1.signal.sine.period", "greater than 0"),
    "unknown solver": (
        "name: test",
        "name: test\nsolver: {model: magic}",
        "solver.model, line 3",
        "'lagged'",
    ),
    "missing model file": ("urdf: test.urdf\n", "urdf: gone.urdf\n", "models.0.urdf", "names no file"),
    "same names twice": (", prefix: b_", "", "models, link 'base'", "give one of the models a prefix"),
    "two models of one name": ("name: second", "name: arm", "models 'arm'", "another name"),
    "environment named as a model": ("name: ground", "name: second", "environment 'second'", "another name"),
    "a line break in the name": (
        "name: test",
        'name: "a\\nb"',
        "name, line 2",
        r"'a\nb' does not fit; give one line",
    ),
    "a line break in a name": (
        "name: ground",
        'name: "a\\nb"',
        "environment.0.name, line 10",
        "give one line of text",
    ),
    "environment named as a link": ("name: ground", "name: upper", "environment 'upper'", "another name"),
    "environment named world": ("name: ground", "name: world", "environment 'world'", "another name"),
    "attached to nothing": (
        "attach_to: tool",
        "attach_to: toll",
        "models.1.attach_to",
        "did you mean 'tool'?",
    ),
    "attached to a later link": (
        "attach_to: tool",
        "attach_to: b_tool",
        "models.1.attach_to",
        "no earlier model",
    ),
    "position outside limits": ("elbow: 1}", "elbow: 3}", "models.0.positions.elbow", "limits 0.5 … 2"),
    "position of an unknown joint": (
        "elbow: 1}",
        "elbw: 1}",
        "models.0.positions.elbw",
        "did you mean 'elbow'?",
    ),
    "position of a mimic joint": (
        "elbow: 1}",
        "tool: 1}",
        "models.0.positions.tool",
        "no start position of its own",
    ),
    "actuator of an unknown joint": ("[elbow]", "[elbw]", "actuators.0.joints", "did you mean 'elbow'?"),
    "actuator of a mimic joint": (
        "[elbow]",
        "[tool]",
        "actuators.0.joints",
        "mimic joint 'tool' cannot be driven",
    ),
    "joint driven twice": (
        "[elbow]",
        "[elbow, left]",
        "grippers.0.joints",
        "driven by actuators.0.joints too",
    ),
    "gripper of an unknown joint": ("{left: 1,", "{lefft: 1,", "grippers.0.joints", "did you mean 'left'?"),
    "gripper of a hinge": ("{left: 1,", "{b_elbow: 1,", "grippers.0.joints.b_elbow", "no opening in metres"),
    "closed position of a stranger": (
        "max_force",
        "closed: {elbow: 0}, max_force",
        "grippers.0.closed.elbow",
        "use one of",
    ),
    "command of an unknown gripper": (
        "gripper: hand",
        "gripper: hnad",
        "commands.0.gripper",
        "did you mean 'hand'?",
    ),
    "command of an idle joint": (
        "joint: elbow",
        "joint: b_elbow",
        "commands.1.joint",
        "no actuator drives 'b_elbow'; list it in one",
    ),
    "two commands for one": (
        "{constant: 5}}",
        "{constant: 5}}\n  - {gripper: hand, signal: {constant: 1}}",
        "commands.1",
        "two commands",
    ),
    "excluding a stranger": ("[[upper,", "[[uper,", "contact.exclude.0", "did you mean 'upper'?"),
    "excluding one body": ("[[upper, ground]]", "[[upper, upper]]", "contact.exclude.0", "with itself"),
    "reporting a stranger": ("[[left,", "[[lift,", "report.wrenches.0", "did you mean 'left'?"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_scenes(write_scene, case):
    old, new, element, words = BAD[case]
    assert SCENE.count(old) >= 1
    path = write_scene(SCENE.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_scene(path)
    assert caught.value.source == str(path)
    assert caught.value.element.startswith(element)
    assert words in str(caught.value)


def test_a_velocity_command_needs_a_velocity_gain(write_scene):
    text = SCENE.replace("kd: 1, effort", "kd: 0, effort").replace(
        "elbow, mode: position", "elbow, mode: velocity"
    )
    with pytest.raises(InputError, match=r"commands\.1\.mode: a velocity command needs the actuator's kd"):
        load_scene(write_scene(text))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty"),
        ("- a list", "mapping of keys"),
        ("{" * 1000, r"scene\.yaml: its values nest too deeply; flatten it$"),
        ("name: " + "[" * 1000, "nest too deeply"),
        ("name: \x00", "not YAML"),
        ("name: !!python/object/apply:os.system ['true']", "not YAML"),
        ("&a [*a]", "an alias is part of what it stands for"),
    ],
)
def test_file_that_is_no_scene(write_scene, text, problem):
    path = write_scene(text)
    with pytest.raises(InputError, match=problem):
        load_scene_spec(path)


def test_a_value_that_aliases_make_astronomical_is_refused(write_scene):
    """Twenty-five lists of ten, each of the one before: 10^25 elements to write out."""
    levels = [f"&l{i} [{', '.join([f'*l{i - 1}' if i else '1'] * 10)}]" for i in range(25)]
    with pytest.raises(InputError, match=r"its aliases expand to more than 100000 values; shorten"):
        load_scene_spec(write_scene(f"name: [{', '.join(levels)}]"))


def test_a_long_value_is_quoted_in_part(write_scene):
    with pytest.raises(InputError, match=r"^\S+: name, line 1: \[.* is not accepted") as caught:
        load_scene_spec(write_scene(f"name: [{', '.join(['[1, 2]'] * 10000)}]"))
    assert len(str(caught.value)) < 500


def test_missing_scene(tmp_path):
    with pytest.raises(InputError, match=r"gone\.yaml: no such file"):
        load_scene(tmp_path / "gone.yaml")


def test_a_bad_robot_is_named_by_its_own_file(write_scene, tmp_path):
    path = write_scene("name: test\nmodels: [{name: arm, urdf: bad.urdf}]")
    (tmp_path / "bad.urdf").write_text('<robot name="r">')
    with pytest.raises(InputError, match=r"bad\.urdf: line 1: malformed XML"):
        load_scene(path)


def test_spec_is_frozen(write_scene):
    spec = load_scene_spec(write_scene(SCENE))
    with pytest.raises(pydantic.ValidationError):
        spec.time_step = 1.0


def test_a_spec_survives_being_written_and_read(write_scene):
    spec = load_scene_spec(write_scene(SCENE))
    assert SceneSpec.model_validate(yaml.safe_load(yaml.safe_dump(spec.model_dump(mode="json")))) == spec


def test_numbers_in_exponent_form(write_scene):
    """YAML 1.2 numbers that PyYAML reads as text."""
    text = "name: test\ncontact: {defaults: {modulus: 1e7, margin: 1e-4, mu_dynamic: +2E-1}}"
    defaults = load_scene_spec(write_scene(text)).contact.defaults
    assert (defaults.modulus, defaults.margin, defaults.mu_dynamic) == (1e7, 1e-4, 0.2)


def test_defaults_fill_only_what_is_not_given(write_scene):
    defaults = load_scene_spec(write_scene("name: test")).contact.defaults
    complete = defaults.complete(ProximitySpec(compliance="rigid", margin=0.0, mu_dynamic=0.9))
    assert (complete.compliance, complete.margin, complete.mu_dynamic) == ("rigid", 0.0, 0.9)
    assert (complete.modulus, complete.dissipation, complete.resolution_hint) == (1e7, 50.0, 0.02)


def test_environment_shapes(write_scene, tmp_path):
    (tmp_path / "part.obj").touch()
    shapes = [
        ("sphere: {radius: 1}", "sphere", (1.0,)),
        ("box: {size: [1, 2, 3]}", "box", (1.0, 2.0, 3.0)),
        ("cylinder: {radius: 1, length: 2}", "cylinder", (1.0, 2.0)),
        ("capsule: {radius: 1, length: 2}", "capsule", (1.0, 2.0)),
        ("ellipsoid: {semi_axes: [1, 2, 3]}", "ellipsoid", (1.0, 2.0, 3.0)),
        ("mesh: {path: part.obj, declare_convex: true}", "mesh", ()),
    ]
    items = [
        f"- {{name: item{i}, shape: {{{text}}}, pose: {{xyz: [0, 0, {i}]}}}}"
        for i, (text, *_) in enumerate(shapes)
    ]
    scene = load_scene(write_scene("name: test\nenvironment:\n" + "\n".join(items)))
    assert [(item.shape.kind, item.shape.size) for item in scene.environment] == [
        shape[1:] for shape in shapes
    ]
    assert [item.X_LG[2, 3] for item in scene.environment] == [0, 1, 2, 3, 4, 5]
    assert scene.environment[5].shape.path == tmp_path / "part.obj"


@pytest.mark.parametrize(
    ("signal", "values"),
    [
        ({"constant": 2.5}, {0.0: 2.5, 7.3: 2.5}),
        (
            {"square": {"high": 6.5, "low": 1.5, "period": 3.0}},
            {0.0: 6.5, 1.49: 6.5, 1.5: 1.5, 2.99: 1.5, 3.0: 6.5},
        ),
        (
            {"square": {"high": 16.0, "low": 1.0, "period": 6.0, "duty": 0.75, "phase": 0.5}},
            {0.0: 16.0, 1.49: 16.0, 1.51: 1.0, 3.01: 16.0},
        ),
        ({"sine": {"amplitude": 2.0, "offset": 1.0, "period": 4.0}}, {0.0: 1.0, 1.0: 3.0, 3.0: -1.0}),
        ({"sine": {"amplitude": 2.0, "period": 4.0, "phase": 0.25}}, {0.0: 2.0, 1.0: 0.0, 2.0: -2.0}),
    ],
)
def test_signals(signal, values):
    spec = SignalSpec.model_validate(signal)
    for time, value in values.items():
        assert spec.at(time) == pytest.approx(value, abs=1e-12)


def test_gap_and_positions_are_inverse():
    gripper = GripperSpec(
        name="g", joints={"left": 1, "right": -1}, closed={"left": -0.001}, max_force=1.0, kp=1.0, kd=0.0
    )
    assert gripper.gap({"left": -0.011, "right": 0.01}) == pytest.approx(0.02)
    assert gripper.positions(0.03) == pytest.approx({"left": -0.016, "right": 0.015})
    assert gripper.gap(gripper.positions(0.03)) == pytest.approx(0.03)


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_shipped_scenes_load(path):
    scene = load_scene(path)
    assert scene.spec.name == path.stem
    assert scene.source == path


def world_pose(scene, model_name, link):
    index = [model.name for model in scene.spec.models].index(model_name)
    return scene.spec.models[index].pose.X @ frame_pose(
        scene.robots[index], scene.start_positions[index], link
    )


@pytest.mark.parametrize("name", ["spatula_slip_welded", "spatula_slip_physical", "spatula_slip"])
def test_slip_scenes_start_as_published(name):
    """Gripper and spatula are exactly where the published scene has them, the gap is 20 mm."""
    scene = load_scene(next(path for path in SCENES if path.stem == name))
    holder = "arm" if name == "spatula_slip" else "gripper"
    X_WG = world_pose(scene, holder, "gripper")
    np.testing.assert_allclose(X_WG, pose((0, 0, 0.25), (0, -1.57, 0)), rtol=0, atol=2e-15)
    np.testing.assert_array_equal(
        world_pose(scene, "spatula", "spatula"), pose((0.35, 0, 0.25), (-0.4, 0, 1.57))
    )
    start = {joint: q for positions in scene.start_positions for joint, q in positions.items()}
    assert scene.spec.grippers[0].gap(start) == pytest.approx(0.02, abs=1e-15)


def test_slip_scene_holds_the_arm():
    """Every arm joint is under position control, so that nothing but the grip lets the spatula move."""
    scene = load_scene(next(path for path in SCENES if path.stem == "spatula_slip"))
    held = {
        name for actuator in scene.spec.actuators if actuator.mode == "position" for name in actuator.joints
    }
    assert held == {f"joint_{i}" for i in range(1, 8)}
    assert [model.gravity_compensation for model in scene.spec.models] == [None, True, None]


def test_a_pair_with_two_laws_names_both_entries(tmp_path: Path) -> None:
    contact = "contact: {exclude: [[g, h]], pairs: [{links: [h, g], law: pressure_field}]}"
    with pytest.raises(InputError) as caught:
        load_scene(write_grounds(tmp_path, contact))
    assert "contact.pairs.0: 'h' and 'g' have two laws, none and pressure_field; keep one" in str(
        caught.value
    )
    assert str(caught.value).endswith("the other is in contact.exclude.0")


def test_a_wrench_of_what_does_not_touch_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    load_scene(write_grounds(tmp_path, "contact: {exclude: [[g, h]]}\nreport: {wrenches: [[h, g]]}"))
    (record,) = caplog.records
    assert "report.wrenches.0: 'h' and 'g' do not touch, and their wrench stays 0" in record.getMessage()


def test_nothing_is_told_in_words_of_yaml(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="null is not accepted"):
        load_scene(write_grounds(tmp_path, "contact: {pairs: [{links: [h, g], law: null}]}"))


def write_grounds(folder: Path, *lines: str) -> Path:
    """Write a scene of two planes."""
    plane = "shape: {half_space: {}}"
    path = folder / "grounds.yaml"
    path.write_text(
        "\n".join(["name: s", f"environment: [{{name: g, {plane}}}, {{name: h, {plane}}}]", *lines])
    )
    return path
