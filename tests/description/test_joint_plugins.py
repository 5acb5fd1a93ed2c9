"""Joint types of other packages are joints like ours; those that do not work are told in one line."""

from __future__ import annotations

import pytest

from support.packaging.plugin_packages import install, run

#: A package with a screw and a ball joint in one module, which imports at its top whatever it uses.
JOINTS = """
from hydro_sim_core.compilation import kernel
from hydro_sim_core.description.joint_types import Coordinate, JointType
from hydro_sim_core.dynamics.joint_kernels import (
    JointKernels, along_axis, rotate_quaternion, set_rotation_about, turn_about,
)

LEAD = 0.05  # m/rad


@kernel
def place_screw(q, scale, offset, axis, R, p, S):
    angle = scale * q[0] + offset
    direction = along_axis(R, axis)
    for r in range(3):
        p[r] += LEAD * angle * direction[r]
    set_rotation_about(scale * direction[0], scale * direction[1], scale * direction[2], p, S[0])
    for r in range(3):
        S[0, 3 + r] += scale * LEAD * direction[r]
    turn_about(axis, angle, R)


@kernel
def place_ball(q, scale, offset, axis, R, p, S):
    for k in range(3):
        set_rotation_about(R[0, k], R[1, k], R[2, k], p, S[k])
    w, x, y, z = q[0], q[1], q[2], q[3]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    for r in range(3):
        a, b, c = R[r, 0], R[r, 1], R[r, 2]
        R[r, 0] = a * (1.0 - s * (y * y + z * z)) + b * s * (x * y + w * z) + c * s * (x * z - w * y)
        R[r, 1] = a * s * (x * y - w * z) + b * (1.0 - s * (x * x + z * z)) + c * s * (y * z + w * x)
        R[r, 2] = a * s * (x * z + w * y) + b * s * (y * z - w * x) + c * (1.0 - s * (x * x + y * y))


@kernel
def ball_rates(q, v, out):
    e, f, g, h = q[0], q[1], q[2], q[3]
    b, c, d = 0.5 * v[0], 0.5 * v[1], 0.5 * v[2]
    out[0] = -b * f - c * g - d * h
    out[1] = b * e + c * h - d * g
    out[2] = c * e + d * f - b * h
    out[3] = d * e + b * g - c * f


SCREWING = JointKernels(place_screw)
ROLLING = JointKernels(place_ball, rates=ball_rates, integrate=rotate_quaternion)
screw = JointType("screw", "A screw.", (Coordinate("rad"),), kernels="joints:SCREWING", axis="direction")
ball = JointType("ball", "A ball in a socket.", num_velocities=3, kernels="joints:ROLLING")
"""
POINTS = "[hydro_sim.joints]\nscrew = joints:screw\nball = joints:ball\n"

SCREW = """
import joints  # first, as its own tests would
import numpy as np
import hydro_sim_core as hs
from hydro_sim_core.description import load_robot
from hydro_sim_core.description.scene_urdf import scene_urdf
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.viewer.scene import scene_of_urdf, scene_of_world

# A screw that drives another one twice as fast, in the same steps as a turn and a slide tied to it.
def made(screws):
    scene = hs.SceneBuilder()
    model = scene.add_model("press")
    inertia = {"mass": 0.5, "inertia": (0.01, 0.02, 0.03), "center_of_mass": (0.1, 0.0, 0.02)}
    model.add_link("frame")
    place = {"xyz": (0.1, 0.2, 0.3), "rpy": (0.3, 0.2, 0.1), "axis": (0.0, 0.6, 0.8)}
    if screws:
        model.add_link("a", **inertia).add_shape("sphere", radius=0.01)
        model.add_joint("a", "screw", "frame", "a", damping=0.1, **place)
        model.add_link("b", **inertia)
        model.add_joint("b", "screw", "a", "b", mimic="a", multiplier=2.0, offset=0.3, **place)
    else:
        for name, parent, factor, shift in (("a", "frame", 1.0, 0.0), ("b", "a", 2.0, 0.3)):
            follow = {"mimic": "a"} if name == "b" else {"damping": 0.1}
            model.add_link(f"{name}_nut").add_shape("sphere", radius=0.01, collision=False)
            turned = {} if name == "a" else {"multiplier": factor, "offset": shift}
            model.add_joint(name, "continuous", parent, f"{name}_nut", **place, **follow, **turned)
            model.add_link(name, **inertia)
            slid = {"multiplier": factor * joints.LEAD, "offset": shift * joints.LEAD}
            slide = {"axis": place["axis"], "lower": -9, "upper": 9}
            model.add_joint(f"{name}_slide", "prismatic", f"{name}_nut", name, mimic="a", **slide, **slid)
    return hs.World(scene.build())

screws, pairs = made(True), made(False)
for world in (screws, pairs):
    world.set_command({"a": 5.0})
    world.step(400)
assert abs(screws.q[0]) > 0.3
assert screws.velocity_names == ("a",)
np.testing.assert_allclose(screws.q, pairs.q, rtol=1e-11)
np.testing.assert_allclose(screws.v, pairs.v, rtol=1e-11)
for name in "ab":
    np.testing.assert_allclose(screws.frame_pose(name), pairs.frame_pose(name), atol=1e-12)
copy = screws.copy()
for world in (screws, copy):
    world.step(10)
assert screws.q.tobytes() == copy.q.tobytes()

text = scene_urdf(screws.scene, "map")
assert text.count('type="floating" hydro:type="screw"') == 2
open("press.urdf", "w").write(text)
read = {joint.name: joint for joint in load_robot("press.urdf").joints}
assert (read["a"].type, read["b"].mimic.multiplier) == ("screw", 2.0)
np.testing.assert_allclose(read["a"].axis, [0.0, 0.6, 0.8])
scale = PressureScale(1e3)
for scene in (scene_of_world(screws, scale), scene_of_urdf(text, scale)):
    assert [(joint.name, joint.type, joint.unit) for joint in scene.joints] == [
        ("a", "continuous", "rad"), ("b", "continuous", "rad")
    ]
"""

BALL = """
import numpy as np
import hydro_sim_core as hs

def made(kind, **solver):
    scene = hs.SceneBuilder(solver=solver)
    model = scene.add_model("pendulum")
    model.add_link("post")
    model.add_link("bob", mass=2.0, inertia=(0.02, 0.03, 0.01), center_of_mass=(0.0, 0.0, -0.4))
    axis = {} if kind == "ball" else {"axis": (0, 1, 0)}
    model.add_joint("pivot", kind, "post", "bob", xyz=(0.1, 0.2, 1.0), **axis)
    return hs.World(scene.build())

# In a plane it swings as on a hinge.
hinge, ball = made("continuous"), made("ball")
assert ball.velocity_names == ("pivot/0", "pivot/1", "pivot/2") and ball.joint_names == ()
hinge.set_state([0.8], [0.5])
ball.set_state([2.0 * np.cos(0.4), 0.0, 2.0 * np.sin(0.4), 0.0], [0.0, 0.5, 0.0])
for world in (hinge, ball):
    world.step(1000)
np.testing.assert_allclose(ball.frame_pose("bob"), hinge.frame_pose("bob"), atol=1e-12)
assert abs(np.linalg.norm(ball.q) - 1.0) < 1e-14

# In space it keeps its energy, and its spin about the vertical.
spun = made("ball", model="continuous", accuracy=1e-8)
spun.set_state([0.9, 0.3, -0.2, 0.1], [0.5, -1.0, 3.0])
evaluator = spun.built.model.tree
from hydro_sim_core.dynamics import TreeEvaluator
def kept():
    at = TreeEvaluator(spun.built.model.tree).update(spun.q)
    about_pivot = at.momentum(spun.v)[:3] - np.cross([0.1, 0.2, 1.0], at.momentum(spun.v)[3:])
    return at.kinetic_energy(spun.v) + at.potential_energy(), about_pivot[2], at.kinetic_energy(spun.v)
before = kept()
spun.step(1000)
after = kept()
np.testing.assert_allclose(after[:2], before[:2], rtol=1e-6)
assert abs(after[2] - before[2]) > 0.1
state = spun.save_state()
spun.step(5)
spun.restore_state(state)
try:
    spun.set_state([0.0] * 4, [0.0] * 3)
except hs.InputError as error:
    assert "zero quaternion" in str(error)
else:
    raise AssertionError
"""


@pytest.mark.heavy(2)
@pytest.mark.parametrize("program", [SCREW, BALL], ids=["screw", "ball"])
def test_joints_of_a_package_move_as_ours(program, tmp_path):
    install(tmp_path, "joints", JOINTS, POINTS)
    used = run(tmp_path, "-c", program)
    assert used.returncode == 0, used.stderr


def test_a_description_is_shown_where_the_package_is_not(tmp_path):
    """Poses come with a recording, so a joint of any type will do."""
    urdf = (
        '<robot name="r" xmlns:hydro="urn:hydro-sim"><link name="map"/><link name="nut"/>'
        '<joint name="j" type="floating" hydro:type="screw"><parent link="map"/><child link="nut"/></joint></robot>'
    )
    program = f"""
from hydro_sim_core.description import parse_robot
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.viewer.scene import scene_of_urdf
assert scene_of_urdf({urdf!r}, PressureScale(1e3)).links == ("map", "nut")
parse_robot({urdf!r}, "text")
"""
    used = run(tmp_path, "-c", program)
    assert used.returncode == 1
    assert "joint 'j', line 1: unknown joint type 'screw'" in used.stderr.splitlines()[-1]


ROW = (
    "from hydro_sim_core.compilation import kernel\n"
    "from hydro_sim_core.description.joint_types import Coordinate, JointType\n"
    "from hydro_sim_core.dynamics.joint_kernels import TURN, FLOAT, JointKernels\n"
    "turn = (Coordinate('rad'),)\n"
)
BROKEN = {
    "no package": (
        "from nowhere import row",
        "cannot be loaded (ModuleNotFoundError: No module named 'nowhere')",
    ),
    "something else": ("row = 3", "is no JointType"),
    "a type that is there": (
        ROW + "row = JointType('planar', 'A plane.', turn, kernels='pins:TURN')",
        "a second 'planar'",
    ),
    "a name that is no word": (
        ROW + "row = JointType('my-pin', 'A pin.', turn, kernels='pins:TURN')",
        "'my-pin' does not fit",
    ),
    "kernels that are nowhere": (
        ROW + "row = JointType('pin', 'A pin.', turn, kernels='pins:PIN')",
        "pins:PIN: joint 'pin': cannot be found (AttributeError",
    ),
    "kernels in no module": (
        ROW + "row = JointType('pin', 'A pin.', turn, kernels='needles:PIN')",
        "needles:PIN: joint 'pin': cannot be found (ModuleNotFoundError",
    ),
    "kernels that are none": (
        ROW + "row = JointType('pin', 'A pin.', turn, kernels='pins:turn')",
        "pins:turn: joint 'pin': is no JointKernels",
    ),
    "a quaternion without rates": (
        ROW + "row = JointType('pin', 'A pin.', num_velocities=3, kernels='pins:TURN')",
        "pins:TURN: joint 'pin': lacks rates",
    ),
    "rates of coordinates": (
        ROW + "row = JointType('pin', 'A pin.', turn, kernels='pins:FLOAT')",
        "pins:FLOAT: joint 'pin': has no use for rates",
    ),
    "a kernel of other parameters": (
        ROW + "@kernel\ndef place(q, S):\n    pass\n"
        "PIN = JointKernels(place)\nrow = JointType('pin', 'A pin.', turn, kernels='pins:PIN')",
        "pins:PIN: joint 'pin': place is no kernel of 7 parameters",
    ),
    "a function that is no kernel": (
        ROW + "PIN = JointKernels(lambda q, scale, offset, axis, R, p, S: None)\n"
        "row = JointType('pin', 'A pin.', turn, kernels='pins:PIN')",
        "pins:PIN: joint 'pin': place is no kernel of 7 parameters",
    ),
}


@pytest.mark.heavy(4)
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_package_is_told_in_one_line(case, tmp_path):
    text, problem = BROKEN[case]
    install(tmp_path, "pins", text, "[hydro_sim.joints]\npin = pins:row\n")
    told = run(tmp_path, "-m", "hydro_sim_core", "check", "drop_box")
    assert told.returncode == 1
    assert "Traceback" not in told.stderr
    assert problem in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1
