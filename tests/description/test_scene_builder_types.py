"""Values of the wrong type are told in one line wherever a program that builds a scene may give them."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description import load_robot
from hydro_sim_core.description.model_builder import LinkBuilder, ModelBuilder
from hydro_sim_core.description.scene_builder import SceneBuilder

URDF = '<robot name="stand"><link name="stand"/></robot>'
HINGE = {"name": "j", "type": "revolute", "parent": "a", "child": "b", "lower": -1, "upper": 1}
SLIDE = HINGE | {"type": "prismatic"}


def hinge(**joint: object) -> SceneBuilder:
    scene = SceneBuilder()
    model = scene.add_model("m")
    model.add_link("a")
    model.add_link("b", mass=1.0, inertia=(1, 1, 1))
    model.add_joint(**(HINGE | joint))
    return scene


def arm(**joint: object) -> SceneBuilder:
    model = (scene := SceneBuilder()).add_model("m")
    for name in ("a", "b", "c"):
        model.add_link(name, mass=1.0, inertia=(1, 1, 1))
    model.add_joint(**HINGE)
    model.add_joint("k", "continuous", "b", "c", **joint)
    return scene


def ball(**shape: object) -> SceneBuilder:
    scene = SceneBuilder()
    scene.add_body("ball", 1.0).add_shape(**({"kind": "sphere", "radius": 0.1} | shape))
    return scene


def body(**values: object) -> SceneBuilder:
    scene = SceneBuilder()
    scene.add_body(**({"name": "ball"} | values)).add_shape("sphere", radius=0.1)
    return scene


def driven(**values: object) -> SceneBuilder:
    return hinge().add_actuators(**({"joints": ["j"], "kp": 1.0} | values))


def commanded(**values: object) -> SceneBuilder:
    return driven().add_command(**({"signal": 0.5, "joint": "j"} | values))


def sprung(**values: object) -> SceneBuilder:
    scene = SceneBuilder()
    arm = scene.add_model("m")
    arm.add_link("a")
    arm.add_link("b", mass=1.0, inertia=(1, 1, 1))
    arm.add_joint("j", "continuous", "a", "b")
    arm.add_spring(**({"joint": "j", "stiffness": 1.0} | values))
    return scene


def gripping(**values: object) -> SceneBuilder:
    given = {"name": "g", "joints": {"j": 1}, "max_force": 1.0, "kp": 1.0, "kd": 1.0}
    return hinge(type="prismatic").add_gripper(**(given | values))


def apart(**values: object) -> SceneBuilder:
    return hinge().exclude_contact(**({"a": "a", "b": "b"} | values))


def touching(**values: object) -> SceneBuilder:
    return hinge().set_contact_law(**({"a": "a", "b": "b", "law": "equivalent_point"} | values))


def sensing(**values: object) -> SceneBuilder:
    return hinge().add_sensor(**({"name": "s", "kind": "imu", "link": "b"} | values))


def static(**values: object) -> SceneBuilder:
    return SceneBuilder().add_static(**({"name": "t", "kind": "box", "size": (1, 1, 1)} | values))


def file(**values: object) -> SceneBuilder:
    return SceneBuilder().add_urdf(**({"path": "stand.urdf"} | values))


def model(**values: object) -> SceneBuilder:
    scene = SceneBuilder()
    scene.add_model(**({"name": "m", "base": "fixed"} | values)).add_link("a")
    return scene


def link(**values: object) -> SceneBuilder:
    scene = SceneBuilder()
    scene.add_model("m").add_link(**({"name": "a", "mass": 1.0, "inertia": (1, 1, 1)} | values))
    return scene


def heavy(**values: object) -> SceneBuilder:
    return body(**{"mass": 1.0} | values)


KEYWORDS: dict[str, tuple[Callable[..., SceneBuilder], str]] = {
    "SceneBuilder": (SceneBuilder, "name time_step gravity solver contact damping representation"),
    "add_model": (model, "name base xyz rpy attach_to positions drives gravity_compensation"),
    "add_link": (link, "name mass center_of_mass inertia"),
    "add_body": (body, "name mass density xyz rpy"),
    "set_inertia": (heavy, "center_of_mass inertia"),
    "add_shape": (
        ball,
        "kind name xyz rpy rgba visual collision radius friction compliance surface_velocity",
    ),
    "add_joint": (
        hinge,
        "name type parent child xyz rpy axis lower upper velocity effort stiffness damping friction rotor_inertia "
        "mimic",
    ),
    "add_spring": (sprung, "joint stiffness reference"),
    "mimic": (lambda **values: arm(**{"mimic": "j"} | values), "mimic multiplier offset"),
    "add_static": (static, "name kind xyz rpy size margin"),
    "add_ground": (
        lambda **values: SceneBuilder().add_ground(**values),
        "name height friction slab_thickness",
    ),
    "add_actuators": (driven, "joints mode kp kd effort_limit"),
    "add_gripper": (gripping, "name joints max_force kp kd closed"),
    "add_command": (commanded, "signal joint mode gripper model"),
    "exclude_contact": (apart, "a b"),
    "set_contact_law": (touching, "a b law friction_ellipsoid pieces"),
    "add_sensor": (sensing, "name kind link xyz rpy rate seed gyroscope_bias"),
    "add_urdf": (
        file,
        "path name base xyz attach_to positions drives prefix package_dirs xacro_args srdf repair ignore friction",
    ),
}
#: What fits none of them.
WRONG = {
    "an object": Path,
    "a complex number": 1j,
    "a set of numbers": {1, 2},
    "no numbers": [None],
    "a number as key": {1: 2},
    "a whole number that is no float": 10**400,
    "a matrix": np.eye(4),
    "half a letter": "\ud800",
    "many numbers": list(range(10000)),
}


@pytest.mark.parametrize("call", KEYWORDS)
def test_wrong_types_are_told_in_one_line(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stand.urdf").write_text(URDF)
    make, keywords = KEYWORDS[call]
    make().build()
    for keyword in keywords.split():
        for value in WRONG.values():
            with pytest.raises(hs.InputError) as caught:
                make(**{keyword: value}).build()
            assert len(str(caught.value)) < 700, keyword
            assert "\n" not in str(caught.value), keyword


def test_numbers_of_numpy_are_numbers():
    for number in (np.float32, np.float64, np.int64):
        scene = SceneBuilder(time_step=np.float32(0.5e-3), gravity=np.zeros(3))
        ball = scene.add_body("ball", number(2), xyz=np.ones(3, number))
        ball.add_shape("sphere", radius=number(1), resolution_hint=number(1))
        built = scene.build().with_(
            {"models.ball.pose.xyz": np.arange(3.0), "models.ball.friction": number(1)}
        )
        world = hs.World(built)
        assert world.mass_matrix()[5, 5] == 2.0
        np.testing.assert_array_equal(world.frame_pose("ball")[:3, 3], [0.0, 1.0, 2.0])


PATHS = {"None": None, "a number": 3, "bytes": b"scene"}


@pytest.mark.parametrize("value", PATHS.values(), ids=PATHS)
def test_what_is_no_path_is_told(value):
    world = hs.World(body(mass=1.0).build())
    for read in (hs.load_scene, hs.load_urdf, load_robot, world.load_state):
        with pytest.raises(hs.InputError, match="is no path"):
            read(value)


def test_a_world_of_something_else_tells_what_it_is_made_of():
    with pytest.raises(hs.InputError, match=r"is no scene; give scene\.build\(\)"):
        hs.World(body(mass=1.0))
    with pytest.raises(hs.InputError, match="is no scene; use load_scene"):
        hs.World("drop_box")
    with pytest.raises(hs.InputError, match="is no world"):
        hs.World(body(mass=1.0).build(), like="drop_box")


OVERRIDES = {"None": None, "text": "models.ball.friction", "a number": {1: 2}, "half a letter": {"\ud800": 1}}


@pytest.mark.parametrize("values", OVERRIDES.values(), ids=OVERRIDES)
def test_overrides_that_are_none_are_told(values):
    with pytest.raises(hs.InputError, match="override"):
        body(mass=1.0).build().with_(values)


# --- What failed leaves nothing -------------------------------------------------------------------------------------


def test_a_shape_that_fails_leaves_nothing():
    made = SceneBuilder().add_body("ball", 1.0).add_shape("sphere", radius=0.1)
    before = made.build()
    for wrong in (
        {"rgba": (1, 0, 0)},
        {"friction": -1.0},
        {"visual": "no"},
        {"visual": False, "collision": False},
    ):
        with pytest.raises(hs.InputError):
            made.add_shape("sphere", radius=0.2, **wrong)
        after = made.build()
        assert (len(after.collisions), len(after.visuals)) == (1, 1)
        np.testing.assert_array_equal(after.inertial.I_LCo, before.inertial.I_LCo)


def test_an_inertia_that_fails_leaves_nothing():
    made = SceneBuilder().add_body("ball", 1.0).add_shape("sphere", radius=0.1)
    for wrong in ({"inertia": (1, 1, 3)}, {"center_of_mass": (0, 0)}):
        with pytest.raises(hs.InputError):
            made.set_inertia(mass=2.0, **wrong)
        assert made.build().inertial.mass == 1.0


def test_a_density_takes_the_place_of_a_mass():
    made = SceneBuilder().add_body("cube", 1.0).add_shape("box", size=(0.1, 0.1, 0.1))
    assert made.set_inertia(density=500.0).build().inertial.mass == pytest.approx(0.5, rel=1e-14)
    assert made.set_inertia(mass=3.0).build().inertial.mass == 3.0


def test_names_are_compared_without_the_spaces_around_them():
    scene = SceneBuilder().add_ground()
    for add in (
        lambda: scene.add_static(" ground", "sphere", radius=1),
        lambda: scene.add_body("ground ", 1.0),
    ):
        with pytest.raises(hs.InputError, match="two have this name"):
            add()


# --- Absurd lengths -------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("length", [1e-300, 1e200])
def test_bodies_without_a_volume_that_is_a_number_are_told(length):
    with pytest.raises(hs.InputError, match="has no mass; correct its lengths"):
        body(mass=1.0).add_body("cube", 1.0).add_shape("box", size=(length, length, length)).build()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e200])
def test_the_length_of_an_axis_does_not_matter(scale):
    axis = hinge(axis=(0.0, 3.0 * scale, 4.0 * scale)).build().robots[0].joints[0].axis
    np.testing.assert_allclose(axis, [0.0, 0.6, 0.8], rtol=1e-15)


# --- Copies ---------------------------------------------------------------------------------------------------------


def test_built_scenes_and_their_worlds_are_copied_and_sent():
    world = hs.World(commanded().build())
    world.step(20)
    for other in (copy.deepcopy(world), pickle.loads(pickle.dumps(world)), hs.World(world.scene)):
        if other.step_count == 0:
            other.step(20)
        np.testing.assert_array_equal(other.q, world.q)
    assert pickle.loads(pickle.dumps(world.scene)).spec == world.scene.spec


def test_every_keyword_that_builders_have_is_tried():
    """But for those that say nothing by themselves, and contact properties, of which one or two stand for all."""
    tried = {keyword for _, keywords in KEYWORDS.values() for keyword in keywords.split()} | {"joints"}
    for kind in (SceneBuilder, ModelBuilder, LinkBuilder):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if name.startswith(("add_", "set_", "exclude_")):
                known = set(inspect.signature(method).parameters) - {"self", "values", "contact"}
                assert known <= tried, name
