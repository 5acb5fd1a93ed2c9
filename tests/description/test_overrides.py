"""Values of a loaded scene are changed by path, in the file's words or the description's; wrong paths are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description import LoadedScene, load_scene
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import scene_of_robot

SCENE = Path(__file__).parents[2] / "config" / "scenes" / "spatula_slip.yaml"


@pytest.fixture(scope="module")
def scene() -> LoadedScene:
    return load_scene(SCENE)


def test_values_of_the_file_are_changed_and_nothing_else(scene: LoadedScene) -> None:
    changed = scene.with_(
        {
            "time_step": 0.002,
            "solver.model": "similar",
            "contact.defaults.modulus": 2e6,
            "models.spatula.pose.xyz": [0.36, 0.0, 0.25],
            "models.arm.positions.joint_2": 0.5,
            "actuators.joint_6.kp": 600,
            "grippers.gripper.max_force": 50.0,
            "commands.gripper.signal.square.high": 7.0,
            "report.wrenches.0": ["left_finger", "spatula"],
        }
    )
    spec = changed.spec
    assert (spec.time_step, spec.solver.model, spec.contact.defaults.modulus) == (0.002, "similar", 2e6)
    assert spec.models[2].pose.xyz == (0.36, 0.0, 0.25)
    assert changed.start_positions[1]["joint_2"] == 0.5
    assert [actuator.kp for actuator in spec.actuators] == [2000, 600]
    assert spec.grippers[0].max_force == 50.0
    assert spec.commands[0].signal.square is not None
    assert spec.commands[0].signal.square.high == 7.0
    # What is not named stays: the file's other values, and the robots themselves.
    assert spec.solver.tolerance == scene.spec.solver.tolerance
    assert all(a is b for a, b in zip(changed.robots, scene.robots, strict=True))
    assert scene.spec.time_step == 0.001


def test_one_number_of_a_list_that_the_file_leaves_out_is_set_beside_its_defaults(tmp_path: Path) -> None:
    (tmp_path / "brick.urdf").write_text(
        '<robot name="brick"><link name="brick"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
    )
    (tmp_path / "scene.yaml").write_text(
        "name: brick\n"
        "models: [{name: brick, urdf: brick.urdf, base: floating, pose: {xyz: [0, 0, 1]}}]\n"
        "environment: [{name: ground, shape: {half_space: {}}}]\n"
    )
    values = {"models.brick.pose.rpy.0": 0.3, "gravity.0": 1.0, "environment.ground.pose.xyz.2": -0.2}
    changed = load_scene(tmp_path / "scene.yaml").with_(values)
    assert list(changed.spec.models[0].pose.rpy) == [0.3, 0.0, 0.0]
    assert list(changed.spec.models[0].pose.xyz) == [0.0, 0.0, 1.0]
    assert list(changed.spec.gravity) == [1.0, 0.0, -9.81]
    assert list(changed.spec.environment[0].pose.xyz) == [0.0, 0.0, -0.2]


def test_changes_follow_each_other(scene: LoadedScene) -> None:
    twice = scene.with_({"models.spatula.links.spatula.mass": 0.2}).with_({"time_step": 0.002})
    assert twice.spec.time_step == 0.002
    assert twice.robots[2].links[0].inertial is not None
    assert twice.robots[2].links[0].inertial.mass == 0.2


def built_pair() -> LoadedScene:
    """Two balls of one line of a program."""
    builder = hs.SceneBuilder("pair")
    for name in ("left", "right"):
        builder.add_body(name, mass=1.0).add_shape("sphere", radius=0.1)
    return builder.build()


def test_a_model_is_renamed_and_stays_as_it_is() -> None:
    """Of one that was built, the line was looked for as a file; one of a file was read anew, without its values."""
    first = built_pair().with_({"models.right.links.right.mass": 3.0})
    renamed = first.with_({"models.right.name": "other"})
    assert all(a is b for a, b in zip(renamed.robots, first.robots, strict=True))
    assert World(renamed).entities.names == ("left", "other")
    swapped = first.with_({"models.0.name": "right", "models.1.name": "left"})
    both = {
        "models.left.links.left.mass": 2.0,
        "models.left.name": "tool",
        "models.tool.links.left.inertia": [1, 1, 1],
    }
    inertial = first.with_(both).robots[0].links[0].inertial
    assert inertial is not None
    assert (inertial.mass, inertial.I_LCo[2, 2]) == (2.0, 1.0)
    assert swapped.robots == (first.robots[1], first.robots[0])
    with pytest.raises(
        InputError, match=r"models.right.links.right.mass: another value takes the model away"
    ):
        first.with_({"models.right.links.right.mass": 2.0, "models": []})
    with pytest.raises(InputError, match="two have this name"):
        first.with_({"models.right.name": "left"})


def test_a_renamed_model_of_a_file_keeps_its_values(scene: LoadedScene) -> None:
    heavy = scene.with_({"models.spatula.links.spatula.mass": 0.2})
    assert heavy.with_({"models.spatula.name": "tool"}).robots[2] is heavy.robots[2]


@pytest.mark.parametrize(("key", "value"), [("prefix", "l_"), ("repair", "silent"), ("xacro_args", {"a": 1})])
def test_a_built_model_cannot_be_read_otherwise(key: str, value: object) -> None:
    told = r"models.0: 'left' was built by a program.*; build another one where test_overrides.py:\d+ does"
    with pytest.raises(InputError, match=told):
        built_pair().with_({f"models.left.{key}": value})


def test_links_and_joints_take_all_that_a_description_says(scene: LoadedScene) -> None:
    changed = scene.with_(
        {
            "models.spatula.links.spatula.center_of_mass": [0.01, 0.0, 0.02],
            "models.spatula.links.spatula.inertia": [2e-4, 2e-4, 3e-4],
            "models.spatula.links.spatula.friction": 0.3,
            "models.arm.joints.joint_2.axis": [0, 0, -2],
            "models.arm.joints.joint_3.xyz": [0.1, 0.2, 0.3],
            "models.arm.joints.joint_3.rpy": [0.0, 0.5, 0.0],
            "contact.defaults.friction": 0.7,
        }
    )
    spatula = changed.robots[2].links[0]
    assert spatula.inertial is not None
    np.testing.assert_array_equal(spatula.inertial.p_LCo, [0.01, 0.0, 0.02])
    np.testing.assert_array_equal(spatula.inertial.I_LCo, np.diag([2e-4, 2e-4, 3e-4]))
    assert {one.proximity.mu_dynamic for one in spatula.collisions} == {0.3}
    joints = {joint.name: joint for joint in changed.robots[1].joints}
    np.testing.assert_array_equal(joints["joint_2"].axis, [0, 0, -1])
    np.testing.assert_allclose(joints["joint_3"].X_PJ[:3, 3], [0.1, 0.2, 0.3])
    np.testing.assert_allclose(joints["joint_3"].X_PJ[0, 0], np.cos(0.5))
    assert changed.spec.contact.defaults.mu_dynamic == 0.7
    assert World(changed).frame_pose("spatula").shape == (4, 4)


def test_friction_of_a_model_reaches_its_contacts(scene: LoadedScene) -> None:
    def frictions(one: LoadedScene) -> dict[frozenset[str], float]:
        built = World(one).built
        return {
            frozenset((built.colliders[a].link, built.colliders[b].link)): float(mu)
            for (a, b), mu in zip(built.model.pairs, built.model.pair_friction, strict=True)
        }

    before = frictions(scene)
    after = frictions(scene.with_({"models.spatula.friction": 0.25}))
    held = [pair for pair in before if "spatula" in pair]
    assert held
    for pair in held:
        fingers = next(
            collider.proximity.mu_dynamic
            for collider in World(scene).built.colliders
            if collider.link in pair - {"spatula"}
        )
        assert fingers is not None
        assert after[pair] == pytest.approx(2.0 * fingers * 0.25 / (fingers + 0.25))
    assert all(after[pair] == before[pair] for pair in before if pair not in held)


def test_a_heavier_body_weighs_more_in_its_shape(scene: LoadedScene) -> None:
    link = scene.robots[2].links[0]
    assert link.inertial is not None
    heavier = scene.with_({f"models.spatula.links.{link.name}.mass": 3.0 * link.inertial.mass})
    changed = heavier.robots[2].links[0].inertial
    assert changed is not None
    np.testing.assert_allclose(changed.I_LCo, 3.0 * link.inertial.I_LCo)
    light, heavy = World(scene), World(heavier)
    v = slice(light.velocity_names.index("spatula_base/3"), light.velocity_names.index("spatula_base/5") + 1)
    np.testing.assert_allclose(heavy.mass_matrix()[v, v], 3.0 * light.mass_matrix()[v, v])


def test_values_of_joints_reach_the_model(scene: LoadedScene) -> None:
    changed = scene.with_(
        {"models.arm.joints.joint_3.damping": 4.5, "models.arm.joints.joint_3.limits.velocity": 0.7}
    )
    world = World(changed)
    i = world.velocity_names.index("joint_3")
    assert world.built.model.tree.damping[i] == 4.5
    assert world.built.model.tree.velocity_limit[i] == 0.7


def test_a_description_is_read_again_with_other_arguments(scene: LoadedScene) -> None:
    higher = scene.with_({"models.stand.xacro_args.height": 0.8})
    assert higher.robots[0] is not scene.robots[0]
    assert higher.robots[1] is scene.robots[1]


def test_a_lone_robot_is_read_again_with_all_that_it_was_read_with(tmp_path, monkeypatch) -> None:
    """Its arguments, packages, SRDF and words to ignore, and its path from where it was named."""
    robot = tmp_path / "robots" / "arm.urdf.xacro"
    for folder in (robot.parent, tmp_path / "packages" / "other"):
        folder.mkdir(parents=True)
    (tmp_path / "packages" / "other" / "mass.xacro").write_text(
        '<robot xmlns:xacro="http://ros.org/wiki/xacro"><xacro:property name="mass" value="$(arg mass)"/></robot>'
    )
    robot.write_text(
        '<robot name="arm" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:arg name="mass" default="1"/>'
        '<xacro:include filename="$(find other)/mass.xacro"/><link name="arm"><inertial><mass value="${mass}"/>'
        '<inertia ixx="1" iyy="1" izz="1"/></inertial></link><gazebo><static>true</static></gazebo></robot>'
    )
    (tmp_path / "arm.srdf").write_text(
        '<robot name="arm"><group name="all"><link name="arm"/></group></robot>'
    )
    monkeypatch.chdir(tmp_path)
    scene = scene_of_robot(
        "robots/arm.urdf.xacro",
        ["packages"],
        xacro_args={"mass": 5},
        srdf="arm.srdf",
        ignore=["gazebo:static"],
    )
    monkeypatch.chdir(robot.parent)
    changed = scene.with_({"models.arm.prefix": "left_"})
    (link,) = changed.robots[0].links
    assert (link.name, link.inertial.mass) == ("left_arm", 5.0)
    other = scene.with_({"models.arm.xacro_args.mass": 7})
    assert other.robots[0].links[0].inertial.mass == 7.0
    one = scene.with_({"models.arm.xacro_args.mass": 1})
    with pytest.raises(InputError, match="mass"):  # what xacro writes for it is no number
        one.with_({"models.arm.xacro_args.mass": True})


def test_a_robot_that_is_read_anew_keeps_the_values_of_its_links_and_joints() -> None:
    """They were lost without a word, also in a sweep over the arguments of a file with a --set for its links."""
    told = {
        "models.box.links.box.mass": 0.3,
        "models.box.links.box.inertia": [1e-3, 1e-3, 1e-3],
        "models.box.links.box.friction": 0.7,
    }
    given = load_scene(SCENE.with_name("drop_box.yaml")).with_(told).with_({"models.box.links.box.mass": 0.6})
    for changed in (
        given.with_({"models.box.xacro_args.x": 0.3}),
        given.with_({"models.box.xacro_args.x": 0.3}).with_({"models.box.prefix": "left_"}),
        given.with_({"models.box.prefix": "left_", "models.box.name": "left"}),
    ):
        (link,) = changed.robots[0].links
        assert link.name == changed.spec.models[0].prefix + "box"
        assert link.inertial is not None
        assert (link.inertial.mass, link.inertial.I_LCo[0, 0]) == (0.6, 2e-3)
        assert link.collisions[0].proximity.mu_dynamic == 0.7


def test_a_joint_that_is_read_anew_keeps_its_values(tmp_path: Path) -> None:
    wheel = (
        '<robot name="wheel"><link name="hub"/><link name="rim"/><joint name="spin" type="continuous">'
        '<parent link="hub"/><child link="rim"/></joint></robot>'
    )
    (tmp_path / "wheel.urdf").write_text(wheel)
    (tmp_path / "other.urdf").write_text(wheel.replace("spin", "turn"))
    scene = scene_of_robot(tmp_path / "wheel.urdf").with_({"models.wheel.joints.spin.damping": 2.0})
    (joint,) = scene.with_({"models.wheel.prefix": "left_"}).robots[0].joints
    assert (joint.name, joint.damping) == ("left_spin", 2.0)
    gone = r"models.wheel.joints.spin.damping, given before: 'spin' is not in the model; use one of 'turn'"
    with pytest.raises(InputError, match=gone):
        scene.with_({"models.wheel.urdf": str(tmp_path / "other.urdf")})


def test_values_that_are_given_again_and_again_are_kept_once() -> None:
    scene = load_scene(SCENE.with_name("drop_box.yaml"))
    for mass in (0.1, 0.2, 0.3, 0.4):
        scene = scene.with_({"models.box.links.box.mass": mass, "models.box.links.box.inertia": [mass] * 3})
    assert [(one.rest[-1], one.value) for one in scene.robots[0].overrides] == [
        ("mass", 0.4),
        ("inertia", [0.4] * 3),
    ]


def test_a_sweep_is_a_loop(scene: LoadedScene) -> None:
    """The less friction, the further it has slipped; geometry is not made again."""
    fallen, like = [], World(scene)
    for friction in (1.0, 0.4, 0.1):
        world = World(scene.with_({"models.spatula.friction": friction}), like=like)
        world.step(200)
        fallen.append(0.25 - world.frame_pose("spatula")[2, 3])
    assert fallen[0] < fallen[1] < fallen[2]


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("modells.spatula.friction", 0.4, "did you mean 'models'"),
        ("models.spatul.friction", 0.4, "'spatul' is none of models; did you mean 'spatula'"),
        ("models.spatula.frictoin", 0.4, "frictoin: unknown key 'frictoin'"),
        ("models.spatula.friction", -1.0, "models.spatula.friction: -1.0 is not accepted"),
        ("models.spatula.friction", "smooth", "'smooth' is not accepted"),
        ("models.spatula.links.spatla.mass", 1.0, "did you mean 'spatula'"),
        ("models.spatula.links.spatula.mass", 0.0, "is not above 0"),
        ("models.spatula.links.spatula.mass", float("nan"), "give a finite number"),
        ("models.spatula.links.spatula.inertia", 1.0, "or three principal moments"),
        ("models.spatula.links.spatula.inertia", [1.0, 1.0, 3.0], "triangle inequality"),
        ("models.spatula.links.spatula.mass", 1e300, "absurd"),
        ("models.spatula.links.spatula.weight", 1.0, "leads to no value of a link"),
        ("models.spatula.links.spatula.friction", -1.0, "not accepted"),
        ("models.arm.joints.joint_1.axis", [0, 0, 0], "axis"),
        ("models.arm.joints.joint_1.dampin", 1.0, "did you mean 'damping'"),
        ("models.arm.joints.joint_2.limits.lower", 3.0, "the lower limit is above the upper one"),
        ("models.arm.joints.joint_1.limits.lower", -1.0, "a continuous joint has no ends; leave it out"),
        ("models.arm.joints.end_effector.damping", 1.0, "a fixed joint does not move; leave it out"),
        ("models.arm.joints.end_effector.limits.effort", 1.0, "a fixed joint does not move; leave it out"),
        ("models.arm.joints.end_effector.axis", [0, 0, 1], "a fixed joint has no axis; leave it out"),
        ("actuators.joint_9.kp", 1.0, "'joint_9' is none of actuators"),
        ("solver.model", "nonsense", "'nonsense' is not accepted"),
        ("time_step.seconds", 1.0, "time_step"),
        ("models.arm.positions.joint_2", 99.0, "outside the joint's limits"),
        ("models.5.friction", 0.4, "'5' is none of models"),
        ("", 1.0, "unknown key ''"),
    ],
)
def test_what_leads_nowhere_is_told(scene: LoadedScene, path: str, value: object, told: str) -> None:
    with pytest.raises(InputError, match=told.replace("(", r"\(")):
        scene.with_({path: value})


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("models.spatula.frition", "unknown key 'frition'; did you mean 'friction'?"),
        ("models.spatula.modlus", "did you mean 'modulus'?"),
        ("models.arm.jonts.joint_1.damping", "unknown key 'jonts'; did you mean 'joints'?"),
        ("models.spatula.xyzzy", "'dissipation', 'drives', 'friction'"),
        ("models.spatula.restitution", "there is no restitution"),
        ("contact.defaults.frition", "did you mean 'friction'?"),
        ("contact.defaults.xyzzy", "'friction', "),
        ("defaults.xyzzy", "unknown key 'defaults'"),
        ("environment.table.frition", "did you mean 'friction'?"),
    ],
)
def test_short_names_are_among_what_is_suggested(scene: LoadedScene, path: str, told: str) -> None:
    """'frition' was taken for 'positions', and the list of keys had no friction."""
    if path.startswith("environment"):
        builder = hs.SceneBuilder("table")
        builder.add_static("table", "box", size=(1, 1, 1))
        scene = builder.build()
    with pytest.raises(InputError) as caught:
        scene.with_({path: 0.4})
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "path", ["models.spatula.frictoin", "models.spatul.friction", "models.arm.joints.joint_1.dampin"]
)
def test_an_error_is_of_the_override_whoever_asked_for_it(scene: LoadedScene, path: str) -> None:
    """Python's callers know no option ``--set``."""
    with pytest.raises(InputError) as caught:
        scene.with_({path: 0.4})
    assert caught.value.source == "override"
    assert "--set" not in str(caught.value)


def test_the_command_line_takes_them_too(capsys: pytest.CaptureFixture[str]) -> None:
    from typer.testing import CliRunner

    from hydro_sim_core.cli import app

    def invoke(*settings: str):
        return CliRunner().invoke(app, ["check", "drop_box", *settings])

    assert invoke("--set", "models.box.friction=0.3", "--set", "time_step=2e-3").exit_code == 0
    wrong = invoke("--set", "models.box.frictoin=0.3")
    assert wrong.exit_code == 1
    assert "frictoin" in wrong.output + wrong.stderr
    assert invoke("--set", "time_step").exit_code == 2


def test_worlds_take_what_is_left_of_names(scene: LoadedScene) -> None:
    """By place in the list, for what has no name of its own."""
    assert scene.with_({"actuators.1.kd": 60.0}).spec.actuators[1].kd == 60.0
    assert hs.load_scene("drop_box").scene.with_({"environment.ground.friction": 0.2})


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (
            "models.spatula.friction",
            "nan",
            "models.spatula.friction: 'nan' is not accepted; it should",
        ),
        ("contact.defaults.friction", -1, "contact.defaults.friction: -1 is not accepted; it should"),
        ("models.spatula.pose.xyz", [1.0, 2.0], "models.spatula.pose.xyz.2: is missing; add it"),
        ("models.2.pose.xyz", [1.0], "models.2.pose.xyz.1: is missing (and 1 more of the values); add it"),
        ("models.spatula.pose", {"yxz": [0, 0, 0]}, "models.spatula.pose.yxz: unknown key"),
        ("actuators.joint_6", {"kp": "much"}, "actuators.joint_6"),
        ("time_step", "soon", "time_step: 'soon' is not accepted"),
    ],
)
def test_a_value_that_does_not_fit_is_told_by_the_path_as_it_was_given(
    scene: LoadedScene, path: str, value: object, told: str
) -> None:
    with pytest.raises(InputError) as caught:
        scene.with_({path: value})
    assert str(caught.value).startswith(f"override: {told}")
