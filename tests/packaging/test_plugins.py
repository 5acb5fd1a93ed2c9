"""The plug-in of docs/extending.md, outside of the tree: its shape, joint, topic and sensor are known everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from hydro_sim_core.cli import checkup
from hydro_sim_core.cli.choosing import task_choices
from support.command_line import call, refused
from support.packaging.plugin_page import FILES, install, install_page, python_path


@pytest.fixture
def plugin(tmp_path):
    """The folder of the installed plug-in."""
    install_page(tmp_path)
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": python_path(folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_page_has_all_files():
    modules = tomllib.loads(FILES["pyproject.toml"])["tool"]["setuptools"]["py-modules"]
    others = {
        "cone.yaml",
        "drop_cone.py",
        "drop_nut.py",
        "put.py",
        "put.yaml",
        "slide.py",
        "rocker.yaml",
        "rocker.urdf",
        "test_nod.py",
    }
    assert set(FILES) == others | {"pyproject.toml"} | {f"{name}.py" for name in modules}


def test_programs_know_the_shape_and_the_sensor(plugin):
    """It stands on its base, a quarter of its length below its centre of mass, has a cone's inertia, and is upright."""
    done = run(plugin, "drop_cone.py")
    assert done.returncode == 0, done.stderr
    height, moment, tilt, lowest = map(float, done.stdout.split())
    assert height - 1e-3 < lowest <= height
    assert tilt == pytest.approx(0.2 + 0.1, abs=1e-3)
    assert height == pytest.approx(0.025, abs=1e-4)
    assert moment == pytest.approx(0.3 * 0.3 * 0.05**2, rel=1e-12)


def test_a_module_of_a_plugin_may_be_imported_first(plugin):
    """As its own tests would; the table then holds what the module does."""
    for module, row, table in (
        ("tilt", "TILT", "description.sensor_types:sensor_types"),
        ("cones", "CONE", "description.shape_types:shape_types"),
    ):
        room, _, function = table.partition(":")
        done = run(
            plugin,
            "-c",
            f"import {module}\nimport hydro_sim_core as hs\nhs.SceneBuilder()\n"
            f"from hydro_sim_core.{room} import {function}\n"
            f"assert {module}.{row} in {function}().values()",
        )
        assert done.returncode == 0, done.stderr


def test_bad_settings_of_its_sensor_are_told(plugin):
    (plugin / "rocker.yaml").write_text(FILES["rocker.yaml"].replace("rate: 100", "offst: 1"))
    done = run(plugin, "-m", "hydro_sim_core", "check", "rocker.yaml")
    assert done.returncode != 0
    assert "sensors.0.offst, line 7: unknown key 'offst'; did you mean 'offset'?" in " ".join(
        done.stderr.split()
    )


def test_scene_files_and_urdfs_know_the_shape(plugin):
    done = run(plugin, "-m", "hydro_sim_core", "check", "cone.yaml")
    assert done.returncode == 0, done.stderr
    assert "hat" in done.stdout
    (plugin / "cone.urdf").write_text(
        '<robot name="cone" xmlns:cones="http://example.org/cones"><link name="cone">'
        '<visual><geometry><cones:cone radius="0.05" length="0.1"/></geometry></visual>'
        '<collision><geometry><cones:cone radius="0.05" length="0.1"/></geometry></collision></link></robot>'
    )
    done = run(
        plugin,
        "-c",
        "import hydro_sim_core as hs\n"
        "from hydro_sim_core.description.scene_urdf import scene_urdf\n"
        "from hydro_sim_core.viewer.meshes import shape_meshes\n"
        "world = hs.load_urdf('cone.urdf')\n"
        "collider, = world.built.colliders\n"
        "print(collider.collision.shape.kind, len(shape_meshes(collider.collision.shape, None)))\n"
        "print(scene_urdf(world.scene, 'world').count('cone-'))",
    )
    assert done.stdout.split() == ["cone", "1", "1"], done.stderr


def test_the_arm_of_the_page_puts_its_brick_on_the_shelf(plugin):
    done = run(plugin, "put.py")
    assert done.returncode == 0, done.stderr
    assert "off, mm" in done.stdout


def test_programs_know_the_joint(plugin):
    """With x = lead, (I + m x^2) a = effort - m g x: the nut turns and falls at constant accelerations."""
    done = run(plugin, "drop_nut.py")
    assert done.returncode == 0, done.stderr
    (angle, height), (name, speed) = (line.rsplit(maxsplit=1) for line in done.stdout.splitlines())
    lead, mass, moment, g, dt = 2e-3 / (2.0 * np.pi), 0.03, 4e-6, 9.81, 1e-3
    inertia = moment + mass * lead**2
    fall, drive = -mass * g * lead / inertia, 0.01 / inertia
    assert float(angle) == pytest.approx(0.5 * fall * 0.5 * (0.5 + dt), rel=1e-9)
    assert float(height) == pytest.approx(lead * float(angle), rel=1e-12)
    assert name == "('turn',)"
    assert float(speed) == pytest.approx(fall + 0.5 * drive, rel=1e-9)


@pytest.mark.long
def test_a_pickled_world_needs_the_packages_that_it_was_made_with(plugin):
    """Its joint would move as another one, or not at all; its sensor could not be found."""
    make = (
        "import pickle\nimport hydro_sim_core as hs\nscene = hs.SceneBuilder('s')\n"
        "model = scene.add_model('m')\nmodel.add_link('a')\nmodel.add_link('b', mass=1, inertia=(1, 1, 1))\n"
        "model.add_joint('j', '{joint}', 'a', 'b')\n{more}\n"
        "pickle.dump(hs.World(scene.build()), open('world.pickle', 'wb'))\n"
    )
    load = f"import pickle\nprint(pickle.load(open({str(plugin / 'world.pickle')!r}, 'rb')).name)"
    for joint, more, told in (
        ("m16_screw", "", "has joints of type 'm16_screw'"),
        ("continuous", "scene.add_sensor('lean', 'tilt', 'b')", "needs what is not here"),
    ):
        done = run(plugin, "-c", make.format(joint=joint, more=more))
        assert done.returncode == 0, done.stderr
        assert run(plugin, "-c", load).stdout == "s\n"
        elsewhere = subprocess.run(
            [sys.executable, "-c", load], cwd="/", capture_output=True, text=True, timeout=300
        )
        assert elsewhere.stderr.splitlines()[-1].startswith(
            "hydro_sim_core.errors.InputError: pickle: world: " + told
        )


def test_scenes_choose_its_law_method_and_integrator(plugin):
    """On the wet floor v' = -mu g (1 + v / 0.5), in implicit steps of Euler; on the dry one v falls evenly."""
    done = run(plugin, "slide.py")
    assert done.returncode == 0, done.stderr
    rows = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
    wet, dry, cold, halves = (row[0] for row in rows)
    mu_g = 0.2 * 9.81
    assert wet == pytest.approx(1.5 / (1.0 + 1e-3 * mu_g / 0.5) ** 200 - 0.5, abs=1e-5)
    assert halves == pytest.approx(1.5 / (1.0 + 0.5e-3 * mu_g / 0.5) ** 400 - 0.5, abs=1e-5)
    assert dry == pytest.approx(1.0 - mu_g * 0.2, abs=1e-5)
    assert cold == pytest.approx(dry, abs=1e-7)
    assert rows[2][2] > rows[1][2]  # a guess saves iterations
    assert {row[1] for row in rows} == {rows[0][1]}


@pytest.mark.heavy(3)
@pytest.mark.parametrize(
    ("file", "before", "after", "told"),
    [
        ("choices.py", '"wet_law:WET"', '"dry_law:WET"', "dry_law:WET: friction law 'wet': cannot be found"),
        (
            "choices.py",
            '"wet_law:WET"',
            '"wet_law:SPEED"',
            "wet_law:SPEED: friction law 'wet': is no FaceLaw",
        ),
        ("choices.py", '"wet"', '"sap"', "a second 'sap'; give it another name"),
        (
            "choices.py",
            '"wet"',
            '"very wet"',
            "'very wet' does not fit; give a name of letters, digits and _",
        ),
        ("choices.py", "lags=True", "damping=()", "name hunt_crossley, linear or both"),
        ("choices.py", '"cold_start:solve_cold"', '"cold_start"', "write module:NAME"),
        (
            "choices.py",
            '"cold_start:solve_cold"',
            '"cold_start:kernels"',
            "solver method 'cold': cannot be found",
        ),
        (
            "choices.py",
            '"halves:Halves"',
            '"halves:count_as_one"',
            "integrator 'halves': is no class of steppers",
        ),
    ],
)
def test_broken_choices_are_told_in_one_line(plugin, file, before, after, told):
    (plugin / file).write_text(FILES[file].replace(before, after, 1))
    (plugin / "wet.yaml").write_text("name: wet\nsolver: {friction: wet, method: cold, integrator: halves}\n")
    done = run(plugin, "-m", "hydro_sim_core", "check", "wet.yaml")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert told in " ".join(done.stderr.split())


def test_recordings_hold_the_topic(plugin):
    """The top speed of a ball that falls is that of its centre."""
    done = run(
        plugin,
        "-m",
        "hydro_sim_core",
        "run",
        "drop_box",
        "--headless",
        "--duration",
        "0.1",
        "--out",
        "run.mcap",
    )
    assert done.returncode == 0, done.stderr
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    with open(plugin / "run.mcap", "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        found = [
            (message.log_time / 1e9, decoded.data)
            for _, _, message, decoded in reader.iter_decoded_messages(topics="/hydro_sim/top_speed")
        ]
    assert len(found) == 6
    times, speeds = np.array(found).T
    fell = speeds[1:] - speeds[0]
    assert np.all(np.diff(times) > 0.0)
    assert np.all(fell != 0.0)


@pytest.mark.heavy(3)
@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("nowhere:CONE", "nowhere:CONE: hydro_sim.shapes: cannot be loaded (ModuleNotFoundError"),
        ("cones:solid_cone", "cones:solid_cone: hydro_sim.shapes: is no ShapeType"),
        ("again:SPHERE", "again:SPHERE: hydro_sim.shapes: a second 'sphere'"),
        ("greedy:SPHERE", "a row's module may import at its top only what docs/extending.md lists"),
    ],
)
def test_a_plugin_that_is_none_is_told_of_in_one_line(tmp_path, value, says):
    (tmp_path / "cones.py").write_text(FILES["cones.py"])
    (tmp_path / "again.py").write_text(
        "from hydro_sim_core.description.shape_types import ShapeType\n"
        "SPHERE = ShapeType('sphere', 'Another.', (), 'again:make')\n"
    )
    (tmp_path / "greedy.py").write_text("from hydro_sim_core.sweeps.measures import Gauge as SPHERE\n")
    install(tmp_path, {"hydro_sim.shapes": {"cone": value}})
    done = run(tmp_path, "-m", "hydro_sim_core", "check", "drop_box")
    assert done.returncode != 0
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.fixture
def with_task(tmp_path, monkeypatch):
    """Install the page's task, or another object in its place, for this process."""

    def install_task(value="nod:TASK", name="nod"):
        (tmp_path / "nod.py").write_text(FILES["nod.py"])
        install(tmp_path, {"hydro_sim.tasks": {name: value}})
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "nod", raising=False)

    yield install_task
    sys.modules.pop("nod", None)


def test_the_command_line_knows_the_task(with_task):
    with_task()
    assert "nod" in call("task").output
    result = call("task", "nod", "--headless", "--seed", 1)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("succeeded after ")
    assert "nod (task)" in [choice.name for choice in task_choices()]
    (found,) = (one for one in checkup.findings() if one.part == "plug-in of hydro_sim.tasks")
    assert (found.state, found.found) == ("ok", "nod = nod:TASK, of cones 1.0")


@pytest.mark.parametrize(
    ("value", "name", "told"),
    [
        ("nod:NOD", "nod", "nod:NOD: hydro_sim.tasks: is no Task; let the entry point name one"),
        ("nod:TASK", "mug_pick", "nod:TASK: hydro_sim.tasks: a second 'mug_pick'; give it another name"),
        ("nod:SHAKE", "nod", "nod:SHAKE: hydro_sim.tasks: cannot be loaded (AttributeError"),
    ],
)
def test_a_task_that_is_none_is_told_of_in_one_line(with_task, value, name, told):
    with_task(value, name)
    assert told in refused(call("task", "nod", "--headless"))


def test_rates_of_recordings_name_streams():
    from hydro_sim_core.errors import InputError
    from hydro_sim_core.messages.streams import recorded_streams
    from hydro_sim_core.messages.view import View

    with pytest.raises(InputError, match="rate 'wrench': is of no stream; did you mean 'wrenches'"):
        recorded_streams(None, {"wrench": 10.0}, View())


@pytest.mark.heavy(3)
@pytest.mark.parametrize(
    ("file", "before", "after", "told"),
    [
        (
            "top_speed.py",
            "return template",
            "return 1 / 0 * template",
            "topic '~/top_speed': encode: does not work (ZeroDivisionError",
        ),
        (
            "top_speed.py",
            "return template.fill((0, 0), [max(speeds, default=0.0)])",
            "return 'text'",
            "encode: gives 'text', which are no bytes",
        ),
        ("top_speed.py", '"~/top_speed"', '"my speed"', "topic: 'my speed' does not fit"),
        ("top_speed.py", '"~/top_speed"', '"/clock"', "topic '/clock': is that of two streams"),
        ("top_speed.py", "std_msgs/msg/Float64", "std_msgs.Float64", "write PACKAGE/msg/TYPE"),
        ("top_speed.py", "rate=50.0", "rate=-1.0", "rate: -1.0 does not fit"),
        ("top_speed.py", "yield Stream", "yield 3\n    Stream", "gives 3, which is no Stream"),
        (
            "top_speed.py",
            "def speed_streams(world, view)",
            "def speed_streams(world)",
            "stream 'speed': streams: does not work",
        ),
        (
            "cones.py",
            "import math\n",
            "import math\nraise SystemExit(3)\n",
            "cannot be loaded (SystemExit: 3)",
        ),
    ],
)
def test_broken_packages_leave_recordings_alone(plugin, file, before, after, told):
    """And are told of in one line."""
    record = (
        "-m",
        "hydro_sim_core",
        "run",
        "drop_box",
        "--headless",
        "--duration",
        "0.02",
        "--out",
        "run.mcap",
    )
    kept = b"an earlier recording"
    (plugin / "run.mcap").write_bytes(kept)
    assert before in FILES[file], FILES[file]
    (plugin / file).write_text(FILES[file].replace(before, after, 1))
    done = run(plugin, *record, "--overwrite")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert told in " ".join(done.stderr.split())
    if "encode" not in told:  # which is called when there is a file
        assert (plugin / "run.mcap").read_bytes() == kept
