"""Shapes and streams of other packages are known everywhere; those that do not work are told in one line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description.shape_types import Length, shape_types
from hydro_sim_core.description.spec import ProximitySpec, ShapeSpec
from hydro_sim_core.geometry import make_geometry, shapes
from support.packaging.plugin_packages import install, run

#: A package with a shape and a stream in one module, which imports at its top whatever it uses.
CONE = """
import math

import numpy as np

from hydro_sim_core.description.shape_types import Length, ShapeType
from hydro_sim_core.geometry import convex_mesh
from hydro_sim_core.messages.cdr import CdrWriter
from hydro_sim_core.messages.stream import Stream, StreamKind


def make(radius, height, *, modulus, margin, resolution):
    turns = 2.0 * np.pi * np.arange(max(6, math.ceil(2.0 * np.pi * radius / resolution)))[:, None]
    rim = turns / len(turns) + [0.0, 0.5 * np.pi]
    base = np.hstack([radius * np.sin(rim), np.full((len(rim), 1), -0.25 * height)])
    return convex_mesh(np.vstack([base, [0.0, 0.0, 0.75 * height]]), modulus=modulus, margin=margin)


def solid(radius, height):
    across = 0.15 * radius**2 + 0.0375 * height**2
    return np.pi * radius**2 * height / 3.0, np.diag([across, across, 0.3 * radius**2])


def steps(world, view):
    def encode(snapshot):
        writer = CdrWriter()
        writer.string(f"{snapshot.time:.3f} s")
        return writer.bytes()

    yield Stream("~/told", "std_msgs/msg/String", encode)


lengths = (Length("radius", "Of the base.", is_radius=True), Length("height", "Along z."))
cone = ShapeType("cone", "A cone about its centre of mass.", lengths, "cones:make", solid=solid, urdf_tags=("cone",))
told = StreamKind("told", steps, rate=10.0)
"""

URDF = """<robot name="cap"><link name="cap"><inertial><mass value="0.1"/>
  <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><cone radius="0.05" height="0.1"/></geometry></collision></link></robot>"""
SCENE = """
name: cones
models: [{name: cap, urdf: cap.urdf, base: floating, pose: {xyz: [0, 0, 0.5]}}]
environment: [{name: tip, shape: {cone: {radius: 0.05, height: 0.1}}, proximity: {compliance: rigid}}]
"""
USE = """
import math, pickle
import cones  # first, as its own tests would
import numpy as np
import hydro_sim_core as hs
from hydro_sim_core.description.scene_urdf import scene_urdf
from hydro_sim_core.messages.streams import stream_kinds

scene = hs.SceneBuilder().add_ground()
scene.add_body("hat", density=500.0, xyz=(0, 0, 0.025)).add_shape("cone", radius=0.05, height=0.1)
world = hs.World(scene.build())
world.step(300)
(patch,) = world.contacts
weight = 9.81 * 500.0 * math.pi * 0.05**2 * 0.1 / 3.0
np.testing.assert_allclose(patch.force_on_b, [0, 0, -weight], atol=1e-6 * weight)
assert pickle.loads(pickle.dumps(world)).frame_names == ("hat",)
assert "cone-" in scene_urdf(world.scene, "world")  # a mesh, as others do not know it
assert len(hs.load_scene("cones.yaml").built.colliders) == 2
assert stream_kinds()["told"] is cones.told
"""


def test_a_module_with_a_shape_and_a_stream_is_known_everywhere(tmp_path):
    points = "[hydro_sim.shapes]\ncone = cones:cone\n[hydro_sim.streams]\ntold = cones:told\n"
    install(tmp_path, "cones", CONE, points)
    (tmp_path / "cap.urdf").write_text(URDF)
    (tmp_path / "cones.yaml").write_text(SCENE)
    used = run(tmp_path, "-c", USE)
    assert used.returncode == 0, used.stderr


BROKEN = {
    "no package": (
        "from nowhere import shape",
        "cannot be loaded (ModuleNotFoundError: No module named 'nowhere')",
    ),
    "something else": ("shape = 3", "is no ShapeType"),
    "a shape that is there": (
        "from dataclasses import replace\n"
        "from hydro_sim_core.description.shape_types import _SHAPES\n"
        "shape = _SHAPES[1]",
        "a second 'sphere'",
    ),
    "a tag that is there": (
        "from hydro_sim_core.description.shape_types import ShapeType\n"
        "shape = ShapeType('ball', 'A ball.', (), 'balls:make', urdf_tags=('sphere',))",
        "<sphere> describes a sphere already",
    ),
    "a kind that is no word": (
        "from hydro_sim_core.description.shape_types import ShapeType\n"
        "shape = ShapeType('my-ball', 'A ball.', (), 'balls:make')",
        "'my-ball' does not fit",
    ),
}


@pytest.mark.heavy(2)
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_package_is_told_in_one_line(case, tmp_path):
    text, problem = BROKEN[case]
    install(tmp_path, "balls", text, "[hydro_sim.shapes]\nball = balls:shape\n")
    told = run(tmp_path, "-m", "hydro_sim_core", "check", "drop_box")
    assert told.returncode == 1
    assert "Traceback" not in told.stderr
    assert "balls:" in told.stderr
    assert problem in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1


SPHERE = shape_types()["sphere"]
WRONG = {
    "a number as kind": {"kind": 3},
    "a kind of two words": {"kind": "two words"},
    "the kind of files": {"kind": "mesh"},
    "lengths that are none": {"lengths": 3},
    "lengths that are names": {"lengths": ("radius",)},
    "two lengths of one name": {"lengths": (Length("a", "A."), Length("a", "B."))},
    "no function": {"make": "sphere"},
    "an option that no geometry has": {"options": ("colour",)},
    "the tag of files": {"urdf_tags": ("mesh",)},
    "text as tags": {"urdf_tags": "ball"},
    "too many attributes": {"urdf_attributes": ("a", "b")},
}


@pytest.mark.parametrize("values", WRONG.values(), ids=WRONG)
def test_types_of_shapes_that_cannot_be_are_refused(values):
    with pytest.raises(hs.InputError, match="does not fit"):
        replace(SPHERE, **values)


def test_lengths_that_cannot_be_are_refused():
    for name in ("xyz", "friction", "margin", "two words", "_radius", "class", 3):
        with pytest.raises(hs.InputError, match="cannot be the key of a length"):
            Length(name, "A length.")
    with pytest.raises(hs.InputError, match="has 0 numbers"):
        Length("radius", "A length.", count=0)


def fails(*_: object, **__: object) -> None:
    raise KeyError("radius")


def gives_nothing(*_: object, **__: object) -> None:
    return None


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        ("nowhere:make", r"cannot be found \(ModuleNotFoundError"),
        (f"{__name__}:nothing", r"cannot be found \(AttributeError"),
        (f"{__name__}:fails", r"does not work \(KeyError: 'radius'\)"),
        (f"{__name__}:gives_nothing", "gave None; let it return a Geometry"),
    ],
)
def test_functions_that_do_not_work_are_told(make, problem, monkeypatch):
    monkeypatch.setattr(shapes, "shape_types", lambda: {"sphere": replace(SPHERE, make=make)})
    with pytest.raises(hs.InputError, match=problem) as caught:
        make_geometry(
            ShapeSpec("sphere", (0.1,)),
            ProximitySpec("compliant", modulus=1e5, resolution_hint=0.1, margin=0.0),
        )
    assert caught.value.source == make


@pytest.mark.parametrize("solid", [fails, gives_nothing, lambda radius: (radius, np.zeros(3))])
def test_inertia_that_does_not_work_is_told(solid):
    with pytest.raises(hs.InputError, match="shape 'sphere': does not work"):
        replace(SPHERE, solid=solid).volume_and_inertia((0.1,))
