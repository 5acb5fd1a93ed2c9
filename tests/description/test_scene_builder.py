"""Scenes that programs build are those that files describe, and a mistake is told with the line that made it."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

import hydro_sim_core as hs
from hydro_sim_core.description import SceneBuilder, load_robot, load_scene
from hydro_sim_core.description.shape_types import shape_types
from hydro_sim_core.description.spec import RobotSpec

PENDULUM = """<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0 0 0.15"/><mass value="1.5"/>
      <inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision name="rod"><origin xyz="0 0 0.15" rpy="0.1 0 0"/><geometry><box size="0.1 0.2 0.3"/></geometry>
    </collision>
  </link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 1" rpy="0 0 0.5"/>
    <axis xyz="0 2 0"/><limit lower="-2" upper="1" effort="50" velocity="3"/><dynamics damping="0.1" friction="0.2"/>
  </joint>
</robot>"""

SCENE = """
name: pendulum
time_step: 0.002
gravity: [0, 0, -9.81]
models:
  - {name: arm, urdf: arm.urdf, pose: {xyz: [0, 0, 0.5]}, positions: {shoulder: 0.3}}
environment:
  - {name: ground, shape: {half_space: {}}, proximity: {compliance: rigid, mu_static: 0.4, mu_dynamic: 0.4}}
  - {name: step, shape: {box: {size: [1, 1, 0.1]}}, pose: {xyz: [1, 0, 0]}, proximity: {compliance: rigid}}
contact: {defaults: {modulus: 1.0e+6, mu_static: 0.3, mu_dynamic: 0.3}, exclude: [[ground, base]]}
solver: {model: similar}
actuators: [{joints: [shoulder], kp: 100, kd: 10}]
commands: [{joint: shoulder, signal: {sine: {amplitude: 0.4, period: 1.0}}}]
"""


def build_pendulum() -> SceneBuilder:
    scene = SceneBuilder(
        "pendulum", time_step=0.002, solver="similar", contact={"modulus": 1e6, "friction": 0.3}
    )
    scene.add_ground(friction=0.4)
    scene.add_static("step", "box", size=(1, 1, 0.1), xyz=(1, 0, 0), compliance="rigid")
    arm = scene.add_model("arm", xyz=(0, 0, 0.5), positions={"shoulder": 0.3})
    arm.add_link("base")
    upper = arm.add_link("upper", mass=1.5, center_of_mass=(0, 0, 0.15), inertia=(0.02, 0.03, 0.01))
    upper.add_shape("box", name="rod", size=(0.1, 0.2, 0.3), xyz=(0, 0, 0.15), rpy=(0.1, 0, 0), visual=False)
    arm.add_joint(
        "shoulder", "revolute", "base", "upper", xyz=(0, 0, 1), rpy=(0, 0, 0.5), axis=(0, 2, 0),
        lower=-2, upper=1, effort=50, velocity=3, damping=0.1, friction=0.2,
    )  # fmt: skip
    scene.add_actuators(["shoulder"], kp=100, kd=10)
    scene.add_command({"sine": {"amplitude": 0.4, "period": 1.0}}, joint="shoulder")
    return scene.exclude_contact("ground", "base")


def described(robot: RobotSpec) -> str:
    """All that a robot is, but for where it was described."""
    plain = repr([robot.name, robot.links, robot.joints])
    for link in robot.links:
        for collision in link.collisions:
            plain = plain.replace(repr(collision.source), "''").replace(repr(collision.element), "''")
    return plain


def test_a_built_scene_is_that_of_the_files(tmp_path):
    (tmp_path / "arm.urdf").write_text(PENDULUM)
    (tmp_path / "scene.yaml").write_text(SCENE)
    read, built = load_scene(tmp_path / "scene.yaml"), build_pendulum().build()
    assert described(built.robots[0]) == described(read.robots[0])
    assert built.start_positions == read.start_positions
    file, program = read.spec.model_dump(), built.spec.model_dump()
    assert program["models"][0].pop("urdf").startswith("test_scene_builder.py:")
    assert file["models"][0].pop("urdf") == "arm.urdf"
    assert (program["models"][0].pop("repair"), file["models"][0].pop("repair")) == ("strict", "warn")
    assert program == file
    ours, theirs = hs.World(built), hs.World(read)
    ours.step(200)
    theirs.step(200)
    np.testing.assert_array_equal(ours.q, theirs.q)


def test_values_of_built_scenes_are_overridden_by_path():
    scene = (
        build_pendulum().build().with_({"models.arm.links.upper.mass": 3.0, "environment.step.friction": 0.1})
    )
    assert scene.robots[0].links[1].inertial.mass == 3.0
    assert scene.environment[1].proximity.mu_dynamic == 0.1


def test_urdf_files_are_added_to_a_scene(tmp_path):
    (tmp_path / "arm.urdf").write_text(PENDULUM)
    scene = SceneBuilder()
    scene.add_urdf(tmp_path / "arm.urdf", "left", prefix="l_", xyz=(0, 1, 0), modulus=3e5)
    scene.add_urdf(tmp_path / "arm.urdf", prefix="r_", attach_to="l_upper", base="fixed")
    world = hs.World(scene.build())
    assert world.joint_names == ("l_shoulder", "r_shoulder")
    assert {collider.proximity.modulus for collider in world.built.colliders} == {3e5, 1e7}
    # The same description is read again when a value that it depends on changes.
    assert hs.World(
        world.scene.with_({"models.left.prefix": "x_", "models.arm.attach_to": "x_upper"})
    ).joint_names == (
        "x_shoulder",
        "r_shoulder",
    )


# --- Inertia --------------------------------------------------------------------------------------------------------

SOLIDS = {
    "sphere": {"radius": 0.1},
    "box": {"size": (0.1, 0.2, 0.3)},
    "cylinder": {"radius": 0.1, "length": 0.3},
    "capsule": {"radius": 0.1, "length": 0.3},
    "ellipsoid": {"semi_axes": (0.1, 0.2, 0.3)},
}


def test_every_solid_of_the_table_is_tried():
    assert {kind for kind, shape in shape_types().items() if shape.solid} == set(SOLIDS)


@pytest.mark.parametrize("kind", SOLIDS)
def test_inertia_of_a_shape_is_that_of_its_surface(kind):
    """Against the integrals over a fine closed surface, which only the closed forms of smooth shapes differ from."""
    shape = shape_types()[kind]
    size = np.concatenate([np.atleast_1d(value) for value in SOLIDS[kind].values()])
    errors = []
    for segments in (60, 120):
        surface = trimesh.Trimesh(*shape.surface(size, segments), process=False)
        volume, inertia = shape.solid(*size)
        errors.append(
            [
                surface.volume / volume - 1.0,
                *(np.diag(surface.moment_inertia) / (volume * np.diag(inertia)) - 1.0),
            ]
        )
    if kind == "box":
        np.testing.assert_allclose(errors, 0.0, atol=1e-12)
    else:  # a finer surface is nearer, by the square of its edges
        assert np.abs(errors[1]).max() < 0.012
        ratio = np.divide(*errors)
        assert ((ratio > 3.0) & (ratio < 5.5)).all()


@given(mass=st.floats(0.01, 100.0), x=st.floats(0.0, 1.0))
def test_inertia_of_two_halves_is_that_of_the_whole(mass, x):
    whole, halves = (SceneBuilder().add_body("body", mass, xyz=(x, 0, 0)) for _ in range(2))
    whole.add_shape("box", size=(0.4, 0.2, 0.1), xyz=(0.3, x, 0), rpy=(0.2, x, 0))
    X = whole.build().collisions[0].X_LG
    for side in (-0.1, 0.1):
        middle = X[:3, :3] @ [side, 0, 0] + X[:3, 3]
        halves.add_shape("box", size=(0.2, 0.2, 0.1), xyz=middle, rpy=(0.2, x, 0))
    one, two = whole.build().inertial, halves.build().inertial
    assert one.mass == two.mass == mass
    np.testing.assert_allclose(two.p_LCo, one.p_LCo, atol=1e-14)
    np.testing.assert_allclose(two.I_LCo, one.I_LCo, rtol=1e-12, atol=1e-15 * mass)


def test_a_mesh_may_be_named_by_a_path(tmp_path):
    trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "cube.stl")
    found = []
    for path in (tmp_path / "cube.stl", str(tmp_path / "cube.stl")):
        builder = hs.SceneBuilder("cubes")
        builder.add_static("table", "mesh", path=path)
        builder.add_body("cube", 1.0, xyz=(0, 0, 0.1)).add_shape("mesh", path=path)
        scene = builder.build()
        found.append([scene.spec.environment[0].shape, scene.robots[0].links[0].collisions[0].shape])
    assert found[0] == found[1]
    with pytest.raises(hs.InputError, match=r"link 'b', mesh, path: .*no.stl' names no file"):
        hs.SceneBuilder("s").add_body("b", 1.0).add_shape("mesh", path=tmp_path / "no.stl")


def test_mass_follows_from_the_density(tmp_path):
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "box.stl")
    scene = SceneBuilder()
    box = scene.add_body("box", density=500.0).add_shape("box", size=(0.2, 0.4, 0.6)).build().inertial
    assert box.mass == pytest.approx(24.0)
    inside_out = trimesh.creation.box((0.1, 0.2, 0.3))
    inside_out.invert()
    inside_out.export(tmp_path / "inside_out.stl")
    for name in ("box", "inside_out"):
        mesh = scene.add_body(f"mesh_{name}", density=500.0)
        mesh.add_shape("mesh", path=str(tmp_path / f"{name}.stl"), scale=(2.0, 2.0, -2.0))
        np.testing.assert_allclose(mesh.build().inertial.I_LCo, box.I_LCo, rtol=1e-6, atol=1e-9)


def test_a_world_has_the_inertia_of_a_solid_ball():
    scene = SceneBuilder()
    scene.add_body("ball", mass=0.2, xyz=(0, 0, 0.05)).add_shape("sphere", radius=0.05)
    np.testing.assert_allclose(
        hs.World(scene.build()).mass_matrix(),
        np.diag(3 * [0.4 * 0.2 * 0.05**2] + 3 * [0.2]),
        rtol=1e-14,
        atol=1e-18,
    )


# --- Mistakes -------------------------------------------------------------------------------------------------------

MISTAKES = {
    "a slab of a rigid ground": (
        lambda scene: scene.add_ground("g", slab_thickness=0.1), "'g'", "a slab_thickness does nothing on a rigid body",
    ),
    "a slab of a box": (
        lambda scene: scene.add_body("b", 1.0).add_shape("box", size=(1, 1, 1), slab_thickness=0.1),
        "link 'b', box", "a slab_thickness does nothing on a box",
    ),
    "two of one name": (lambda scene: scene.add_body("ball", 1.0), "model 'ball'", "two have this name"),
    "a name of the ground": (lambda scene: scene.add_body("ground", 1.0), "model 'ground'", "two have this name"),
    "a negative mass": (lambda scene: scene.add_body("b", -1.0), "link 'b'", "mass -1 kg is not above 0"),
    "a mass of NaN": (lambda scene: scene.add_body("b", np.nan), "link 'b'", "mass: nan does not fit"),
    "a mass of text": (lambda scene: scene.add_body("b", "1"), "link 'b'", "mass: '1' does not fit"),
    "mass and density": (lambda scene: scene.add_body("b", 1.0, 1.0), "link 'b'", "are both given"),
    "inertia alone": (lambda scene: scene.add_body("b", inertia=(1, 1, 1)), "link 'b'", "without a mass"),
    "an impossible inertia": (lambda scene: scene.add_body("b", 1.0, inertia=(1, 1, 3)), "link 'b'", "triangle"),
    "an unsymmetric inertia": (
        lambda scene: scene.add_body("b", 1.0, inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), "link 'b'",
        "not symmetric",
    ),
    "an unknown shape": (lambda scene: scene.add_static("s", "bxo"), "'s'", "'bxo' is no shape"),
    "an unknown keyword": (
        lambda scene: scene.add_static("s", "box", sise=(1, 1, 1)), "'s'", "'sise' is neither a length nor",
    ),
    "a length of zero": (lambda scene: scene.add_static("s", "sphere", radius=0), "'s', sphere.radius", "0 is not"),
    "no length": (lambda scene: scene.add_static("s", "sphere"), "'s', sphere.radius", "is missing"),
    "a pose of the ground": (lambda scene: scene.add_ground("g", xyz=(0, 0)), "'g'", "'xyz' is no contact property"),
    "a pose of two numbers": (
        lambda scene: scene.add_static("s", "half_space", xyz=(0, 0)), "'s', pose.xyz.2", "is missing",
    ),
    "no mesh file": (
        lambda scene: scene.add_body("b", 1.0).add_shape("mesh", path="no.stl"), "link 'b', mesh, path",
        "names no file",
    ),
    "a moving half space": (
        lambda scene: scene.add_body("b", 1.0).add_shape("half_space"), "link 'b', half_space", "cannot move",
    ),
    "two shapes of one name": (
        lambda scene: scene.add_body("b", 1.0).add_shape("sphere", radius=1, name="x").add_shape(
            "sphere", radius=1, name="x"
        ),
        "link 'b', sphere", "two collisions are named 'x'",
    ),
    "a colour of three numbers": (
        lambda scene: scene.add_body("b", 1.0).add_shape("sphere", radius=1, rgba=(1, 0, 0)),
        "link 'b', sphere", "rgba: (1, 0, 0) does not fit",
    ),
    "a joint without limits": (
        lambda scene: scene.add_model("m").add_joint("j", "revolute", "a", "b"), "joint 'j'", "without limits",
    ),
    "limits of a hinge that turns on": (
        lambda scene: scene.add_model("m").add_joint("j", "continuous", "a", "b", lower=0), "joint 'j'",
        "has no limits",
    ),
    "limits the wrong way": (
        lambda scene: scene.add_model("m").add_joint("j", "prismatic", "a", "b", lower=1, upper=0),
        "joint 'j'", "lower limit 1 is above upper limit 0",
    ),
    "an unknown type of joint": (
        lambda scene: scene.add_model("m").add_joint("j", "hinge", "a", "b"), "joint 'j'", "unknown joint type 'hinge'",
    ),
    "an axis of zeros": (
        lambda scene: scene.add_model("m").add_joint("j", "continuous", "a", "b", axis=(0, 0, 0)),
        "joint 'j'", "has no direction",
    ),
    "negative damping": (
        lambda scene: scene.add_model("m").add_joint("j", "continuous", "a", "b", damping=-1),
        "joint 'j'", "damping: -1 does not fit",
    ),
    "a mimic of nothing": (
        lambda scene: scene.add_model("m").add_joint("j", "continuous", "a", "b", mimic="k", multiplier=0.0),
        "joint 'j'", "multiplier 0",
    ),
    "losses of a joint that does not move": (
        lambda scene: scene.add_model("m").add_joint("j", "fixed", "a", "b", damping=1, effort=5), "joint 'j'",
        "a fixed joint does not move, so damping, effort limit would do nothing",
    ),
    "a spring of a joint that does not move": (
        lambda scene: scene.add_model("m").add_joint("j", "fixed", "a", "b").add_spring("j", 5), "spring of 'j'",
        "a fixed joint does not move, so spring would do nothing",
    ),
    "stops without ends": (
        lambda scene: scene.add_model("m").add_joint("j", "continuous", "a", "b", stiffness=5), "joint 'j'",
        "a stiffness of stops without ends",
    ),
    "a multiplier without a mimic": (
        lambda scene: scene.add_model("m").add_joint("j", "continuous", "a", "b", multiplier=-1), "joint 'j'",
        "multiplier and offset are of a mimic joint",
    ),
    "two links of one name": (
        lambda scene: [model := scene.add_model("m"), model.add_link("a"), model.add_link("a")],
        "link 'a'", "a second link",
    ),
    "an actuator without gain": (lambda scene: scene.add_actuators(["j"]), "actuators",
        "a position actuator without kp"),
    "a gripper without force": (
        lambda scene: scene.add_gripper("g", {"j": 1}, kp=1, kd=1), "gripper 'g', max_force", "is missing",
    ),
    "a command to nothing": (lambda scene: scene.add_command(1.0), "command to 'None'", "needs one target"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_told_where_they_are_made(case):
    mistake, element, problem = MISTAKES[case]
    scene = SceneBuilder()
    scene.add_ground()
    scene.add_body("ball", 1.0).add_shape("sphere", radius=0.1)
    before = scene.build().spec
    with pytest.raises(hs.InputError) as caught:
        mistake(scene)
    first, last = (lines := inspect.getsourcelines(mistake))[1], lines[1] + len(lines[0])
    file, line = caught.value.source.split(":")
    assert file == Path(__file__).name
    assert first <= int(line) <= last
    assert caught.value.element == element
    assert problem in caught.value.problem
    if "add_model" not in inspect.getsource(mistake) and "add_body" not in inspect.getsource(mistake):
        assert scene.build().spec == before  # nothing of it stays


LATER = {
    "two roots": (lambda scene: scene.add_model("m").add_link("a").model.add_link("b"), "model 'm'", "disconnected"),
    "no link": (lambda scene: scene.add_model("m"), "model 'm'", "no link"),
    "no inertia": (lambda scene: scene.add_body("b", 1.0), "link 'b'", "no inertia and no shape"),
    "an unknown frame": (
        lambda scene: scene.add_model("m", attach_to="tabel").add_link("a"), "model 'm', attach_to", "no earlier model",
    ),
    "an unknown parent": (
        lambda scene: scene.add_model("m").add_link("a").model.add_joint("j", "fixed", "b", "a"),
        "joint 'j'", "unknown parent link 'b'",
    ),
    "an unknown joint": (lambda scene: scene.add_actuators(["j"], kp=1), "actuators, joints", "no joint 'j'"),
    "an unknown finger": (
        lambda scene: scene.add_gripper("g", {"j": 1}, max_force=1, kp=1, kd=1), "gripper 'g', joints", "no joint 'j'",
    ),
    "a command to an unknown joint": (
        lambda scene: scene.add_command(1.0, joint="j"), "command to 'j', joint", "no actuator drives 'j'",
    ),
    "an unknown position": (
        lambda scene: scene.add_model("m", positions={"j": 1.0}).add_link("a"), "model 'm', positions.j", "no joint",
    ),
    "an unknown body": (
        lambda scene: scene.exclude_contact("ground", "x"), "excluded contact of 'ground' and 'x'", "no link or",
    ),
    "a law of an unknown body": (
        lambda scene: scene.set_contact_law("ground", "x", "none"), "contact law of 'ground' and 'x'", "no link or",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LATER)
def test_what_only_the_whole_shows_is_told_with_the_line_that_added_it(case):
    mistake, element, problem = LATER[case]
    scene = SceneBuilder()
    scene.add_ground()
    mistake(scene)
    with pytest.raises(hs.InputError) as caught:
        scene.build()
    lines, first = inspect.getsourcelines(mistake)
    file, line = caught.value.source.split(":")
    assert (file, first <= int(line) <= first + len(lines)) == (Path(__file__).name, True)
    assert caught.value.element == element
    assert problem in caught.value.problem


@pytest.mark.parametrize("first", ["exclude_contact", "set_contact_law"])
def test_a_pair_with_two_laws_is_refused_as_in_a_file(first):
    """The later law won without a word; both lines are told."""
    scene = SceneBuilder()
    scene.add_ground()
    scene.add_body("ball", mass=1).add_shape("sphere", radius=0.1)
    getattr(scene, first)(*(("ball", "ground") if first == "exclude_contact" else ("ball", "ground", "none")))
    scene.set_contact_law("ground", "ball", "pressure_field")
    with pytest.raises(hs.InputError) as caught:
        scene.build()
    assert caught.value.element == "contact law of 'ground' and 'ball'"
    assert caught.value.problem == "'ground' and 'ball' have two laws, none and pressure_field"
    other = "excluded contact" if first == "exclude_contact" else "contact law"
    assert caught.value.mend.startswith(f"keep one; the other is in {Path(__file__).name}:")
    assert caught.value.mend.endswith(f", {other} of 'ball' and 'ground'")


def test_an_error_in_a_file_names_the_file(tmp_path):
    (tmp_path / "arm.urdf").write_text(PENDULUM.replace("1.5", "-1"))
    with pytest.raises(hs.InputError, match=r"arm\.urdf: link 'upper'"):
        SceneBuilder().add_urdf(tmp_path / "arm.urdf", repair="strict")
    with pytest.raises(hs.InputError, match=r"arm\.urdf: link 'upper'"):
        load_robot(tmp_path / "arm.urdf", repair="strict")
