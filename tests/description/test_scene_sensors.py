"""Sensors in scene files and builders: what they become, and how bad ones are refused."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description import load_scene
from hydro_sim_core.description.poses import pose
from hydro_sim_core.description.scene_edits import without
from hydro_sim_core.description.scene_sensors import SENSOR_SECTIONS, SensorSpec
from hydro_sim_core.description.sensor_types import SensorType, Setting

URDF = """<robot name="arm"><link name="base"/><link name="tool"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="wrist" type="revolute"><parent link="base"/><child link="tool"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
BASE = "{type: imu, name: base_imu, link: base, gyroscope_bias: [0, 0, 0.1], seed: 3}"
SCENE = (
    """
name: test
time_step: 2e-3
models: [{name: arm, urdf: arm.urdf}]
environment:
  - {name: ground, shape: {half_space: {}}, proximity: {compliance: rigid}}
sensors:
  - {type: imu, name: tool_imu, link: tool, pose: {xyz: [0, 0, 0.1], rpy: [0, 1, 0]}, rate: 200}
"""
    f"  - {BASE}\n"
)


@pytest.fixture
def write_scene(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)

    def write(text):
        path = tmp_path / "scene.yaml"
        path.write_text(text)
        return path

    return write


def test_a_file_says_what_a_builder_says(write_scene):
    scene = hs.SceneBuilder("test", time_step=2e-3)
    scene.add_sensor("tool_imu", "imu", "tool", xyz=(0, 0, 0.1), rpy=(0, 1, 0), rate=200)
    scene.add_sensor("base_imu", "imu", "base", gyroscope_bias=np.array([0, 0, 0.1]), seed=3)
    scene.add_urdf(write_scene(SCENE).parent / "arm.urdf")
    sensors = load_scene(write_scene(SCENE)).spec.sensors
    assert scene.build().spec.sensors == sensors
    assert sensors[0].rate == 200.0
    np.testing.assert_array_equal(sensors[0].X_LS, pose((0, 0, 0.1), (0, 1, 0)))
    assert sensors[1].rate == 0.0
    assert all(isinstance(sensor, SensorSpec) for sensor in sensors)


#: A part of the scene, what stands there instead, what the error names, and what it says.
BAD = {
    "no type": ("type: imu, name: tool", "name: tool", "sensors.0.type, line 8", "is missing"),
    "unknown type": ("type: imu", "type: imo", "sensors.0.type, line 8", "did you mean 'imu'?"),
    "type of another kind": ("type: imu", "type: [imu]", "sensors.0.type", "is no sensor"),
    "no mapping": (
        BASE,
        "imu",
        "sensors.1, line 9",
        "should be a mapping",
    ),
    "no name": ("name: tool_imu, ", "", "sensors.0.name", "is missing"),
    "name with a slash": ("tool_imu", "tool/imu", "sensors.0.name", "should match pattern"),
    "name of a sensor": ("base_imu", "tool_imu", "sensors.1.name", "has the name 'tool_imu'"),
    "name of a link": ("base_imu", "tool", "sensors.1.name", "has the name 'tool'; give the sensor another"),
    "name of static geometry": ("base_imu", "ground", "sensors.1.name", "has the name 'ground'"),
    "unknown link": (
        "link: tool",
        "link: tol",
        "sensors.0.link",
        "no link 'tol' in the scene; did you mean 'tool'",
    ),
    "static geometry": ("link: tool", "link: ground", "sensors.0.link", "no link 'ground'"),
    "negative rate": ("rate: 200", "rate: -1", "sensors.0.rate, line 8", "greater than or equal to 0"),
    "rate above the steps'": ("rate: 200", "rate: 501", "sensors.0.rate", "more than the 500 steps a second"),
    "rate that is none": ("rate: 200", "rate: .nan", "sensors.0.rate", "finite"),
    "unknown key": ("seed", "sed", "sensors.1.sed, line 9", "did you mean 'seed'?"),
    "setting of the wrong kind": ("[0, 0, 0.1], seed", "0.1, seed", "sensors.1.gyroscope_bias", "0.1"),
    "negative noise": (
        "seed: 3",
        "accelerometer_noise_density: -1",
        "sensors.1.accelerometer_noise_density",
        "greater",
    ),
    "seed that is no number": ("seed: 3", "seed: 1.5", "sensors.1.seed", "1.5"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_sensors(write_scene, case):
    old, new, element, words = BAD[case]
    assert old in SCENE
    with pytest.raises(hs.InputError) as caught:
        load_scene(write_scene(SCENE.replace(old, new, 1)))
    assert caught.value.element.startswith(element)
    assert words in str(caught.value)


def test_a_rate_of_every_step_may_be_told_in_numbers(write_scene):
    for step, rate in ((1e-3, 1000), (3e-3, 1.0 / 3e-3), (0.7e-3, 1.0 / 0.7e-3)):
        text = SCENE.replace("2e-3", repr(step)).replace("rate: 200", f"rate: {rate!r}")
        assert load_scene(write_scene(text)).spec.sensors[0].rate == rate


def test_values_of_sensors_are_overridden_by_path(write_scene):
    scene = load_scene(write_scene(SCENE)).with_({"sensors.tool_imu.rate": 50, "sensors.1.seed": 4})
    assert [sensor.rate for sensor in scene.spec.sensors] == [50.0, 0.0]
    assert scene.spec.sensors[1].model_dump()["seed"] == 4
    with pytest.raises(hs.InputError, match="'tol_imu' is none of sensors; did you mean 'tool_imu'"):
        scene.with_({"sensors.tol_imu.rate": 50})


def test_a_model_takes_its_sensors_along(write_scene):
    assert without(load_scene(write_scene(SCENE)), "arm").spec.sensors == ()
    assert len(without(load_scene(write_scene(SCENE)), "ground").spec.sensors) == 2


def test_sensors_of_a_world_are_named(write_scene):
    world = hs.load_scene(write_scene(SCENE))
    assert list(world.sensors) == ["tool_imu", "base_imu"]
    assert len(world.sensors) == 2
    assert "tool_imu" in world.sensors
    assert "tol_imu" not in world.sensors
    with pytest.raises(
        hs.InputError, match="sensors: 'tol_imu': is not in the scene; did you mean 'tool_imu'"
    ):
        world.sensors["tol_imu"]


@pytest.mark.parametrize("name", ["rate", "link", "class", "_own", "two words", 3])
def test_settings_cannot_take_what_all_sensors_have(name):
    with pytest.raises(hs.InputError, match="cannot be the key of a setting"):
        Setting(name, "Something.", float)


def test_types_that_cannot_be_are_told():
    one = Setting("one", "One.", float)
    for values, told in (
        ({"name": "in between"}, "'in between', name"),
        ({"make": "nowhere"}, "write module:class"),
        ({"settings": [one]}, "give a tuple of Setting"),
        ({"settings": (one, one)}, "give each its own name"),
    ):
        with pytest.raises(hs.InputError, match=told):
            SensorType(**{"name": "s", "description": "A sensor.", "make": "m:C", **values})


def test_a_sensor_that_does_not_work_is_told_in_one_line():
    spec = SENSOR_SECTIONS["imu"](type="imu", name="one", link="base")
    for make, told in (
        ("nowhere:Imu", r"^nowhere:Imu: sensor 'one': cannot be found \(ModuleNotFoundError"),
        ("math:Imu", r"^math:Imu: sensor 'one': cannot be found \(AttributeError"),
        ("math:sqrt", r"^math:sqrt: sensor 'one': does not work \(TypeError"),
    ):
        with pytest.raises(hs.InputError, match=told):
            SensorType("s", "A sensor.", make).sensor(spec, None)
