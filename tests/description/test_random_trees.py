"""Any tree that can be written as a URDF is read back as it was."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pydrake.math
from hypothesis import given, settings
from hypothesis import strategies as st

from hydro_sim_core.description import load_robot
from support.description.urdf_text import write_urdf

NUMBER = st.floats(-10.0, 10.0, allow_subnormal=False)
ANGLE = st.floats(-3.1, 3.1)
POSITIVE = st.floats(1e-3, 1e3)
TYPES = st.sampled_from(["revolute", "continuous", "prismatic", "fixed", "floating", "planar", "universal"])


@st.composite
def random_joint(draw, index):
    """Joint ``j<index>`` that hangs link ``l<index>`` on an earlier link."""
    axis = draw(st.tuples(NUMBER, NUMBER, NUMBER).filter(lambda a: np.linalg.norm(a) > 1e-3))
    lower = draw(NUMBER)
    return {
        "name": f"j{index}",
        "type": draw(TYPES),
        "parent": f"l{draw(st.integers(0, index - 1))}",
        "child": f"l{index}",
        "xyz": draw(st.tuples(NUMBER, NUMBER, NUMBER)),
        "rpy": draw(st.tuples(ANGLE, ANGLE, ANGLE)),
        "axis": axis,
        "lower": lower,
        "upper": lower + draw(POSITIVE),
        "effort": draw(POSITIVE),
        "velocity": draw(POSITIVE),
        "damping": draw(POSITIVE),
        "friction": draw(POSITIVE),
    }


@st.composite
def random_tree(draw):
    count = draw(st.integers(1, 12))
    joints = [draw(random_joint(index)) for index in range(1, count)]
    radii = draw(st.lists(POSITIVE, min_size=count, max_size=count))
    masses = draw(st.lists(POSITIVE, min_size=count, max_size=count))
    return joints, radii, masses, draw(st.permutations(range(2 * count - 1)))


def words(values):
    return " ".join(repr(float(value)) for value in values)


def link_text(index, radius, mass):
    moment = 0.4 * mass * radius**2
    return (
        f'<link name="l{index}"><inertial><mass value="{mass!r}"/>'
        f'<inertia ixx="{moment!r}" iyy="{moment!r}" izz="{moment!r}"/></inertial>'
        f'<collision><geometry><sphere radius="{radius!r}"/></geometry></collision></link>'
    )


def joint_text(joint):
    axis = "" if joint["type"] == "universal" else f'<axis xyz="{words(joint["axis"])}"/>'
    return (
        f'<joint name="{joint["name"]}" type="{joint["type"]}"><parent link="{joint["parent"]}"/>'
        f'<child link="{joint["child"]}"/><origin xyz="{words(joint["xyz"])}" rpy="{words(joint["rpy"])}"/>'
        f'{axis}<limit lower="{joint["lower"]!r}" upper="{joint["upper"]!r}" '
        f'effort="{joint["effort"]!r}" velocity="{joint["velocity"]!r}"/>'
        f'<dynamics damping="{joint["damping"]!r}" friction="{joint["friction"]!r}"/></joint>'
    )


@settings(max_examples=60, deadline=None)
@given(random_tree())
def test_round_trip(tree):
    joints, radii, masses, order = tree
    elements = [link_text(i, r, m) for i, (r, m) in enumerate(zip(radii, masses, strict=True))]
    elements += [joint_text(joint) for joint in joints]
    with tempfile.TemporaryDirectory() as folder:
        robot = load_robot(write_urdf(Path(folder), *(elements[i] for i in order)))

    assert robot.root == "l0"
    placed = {robot.root}
    for joint in robot.joints:
        assert joint.parent in placed
        placed.add(joint.child)
    links = {link.name: link for link in robot.links}
    for i, (radius, mass) in enumerate(zip(radii, masses, strict=True)):
        assert links[f"l{i}"].inertial.mass == mass
        assert links[f"l{i}"].collisions[0].shape.size == (radius,)
    read = {joint.name: joint for joint in robot.joints}
    assert len(read) == len(joints)
    for written in joints:
        check_joint(read[written["name"]], written)


def check_joint(read, written):
    """Fields come back bit by bit; the rotation is Drake's for the same angles."""
    for name in ("type", "parent", "child", "damping", "friction"):
        assert getattr(read, name) == written[name]
    assert (read.limits.effort, read.limits.velocity) == (written["effort"], written["velocity"])
    if read.type in ("revolute", "prismatic", "universal"):
        assert (read.limits.lower, read.limits.upper) == (written["lower"], written["upper"])
    if read.type not in ("fixed", "floating", "universal"):
        axis = np.array(written["axis"])
        np.testing.assert_allclose(read.axis, axis / np.linalg.norm(axis), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(read.X_PJ[:3, 3], written["xyz"])
    expected = pydrake.math.RotationMatrix(pydrake.math.RollPitchYaw(written["rpy"])).matrix()
    np.testing.assert_allclose(read.X_PJ[:3, :3], expected, rtol=0, atol=1e-14)
