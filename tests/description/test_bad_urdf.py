"""Every kind of bad robot description is refused with its file, its element and a way to mend it."""

from __future__ import annotations

import pytest

from hydro_sim_core.description import load_robot
from hydro_sim_core.errors import InputError
from support.description.urdf_text import HINGE, collision, inertial, robot_text, write_urdf

A, B, C = '<link name="a"/>', '<link name="b"/>', '<link name="c"/>'
BOX = '<box size="1 1 1"/>'


def weld(name: str, parent: str, child: str) -> str:
    return f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{child}"/></joint>'


NOTHING = inertial(mass="0", ixx="0", iyy="0", izz="0")


def rotor(joint: str, inertia: str) -> str:
    actuator = f'<actuator><drake:rotor_inertia value="{inertia}"/></actuator>'
    return f'<transmission><joint name="{joint}"/>{actuator}</transmission>'


def hinge(inner: str = "", joint_type: str = "revolute", name: str = "hinge") -> str:
    return f'<joint name="{name}" type="{joint_type}"><parent link="a"/><child link="b"/>{inner}</joint>'


LIMIT = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'
MODULUS = "drake:hydroelastic_modulus"

#: elements (the first in line 2), then what the error must say: element, problem, mend.
BAD = {
    "mass is zero": (
        [f'<link name="a">{inertial(mass="0")}</link>'],
        "link 'a', <mass>, line 2", "mass 0 kg is not above 0", "positive mass",
    ),
    "mass is zero on a moving link": (
        ['<link name="a"/>', f'<link name="b">{NOTHING}</link>', HINGE],
        "link 'b', <mass>, line 3", "mass 0 kg is not above 0", "positive mass",
    ),
    "mass and inertia are zero on the root": (
        [f'<link name="a">{NOTHING}</link>', '<link name="b"/>', weld("j", "a", "b")],
        "link 'a', <mass>, line 2", "mass 0 kg is not above 0", "positive mass",
    ),
    "mass is zero but inertia is not": (
        ['<link name="a"/>', f'<link name="b">{inertial(mass="0")}</link>', weld("j", "a", "b")],
        "link 'b', <mass>, line 3", "mass 0 kg is not above 0", "positive mass",
    ),
    "mass is absurd": (
        [f'<link name="a">{inertial(mass="1e308")}</link>'],
        "link 'a', <mass>, line 2", "mass 1e+308 kg is absurd", "below 1e+12 kg",
    ),
    "inertia is absurd": (
        [f'<link name="a">{inertial(ixx="1e300", iyy="1e300", izz="1e300")}</link>'],
        "link 'a', <inertia>, line 2", "inertia 1e+300 kg m^2 is absurd", "below 1e+12 kg m^2",
    ),
    "mass is negative": (
        [f'<link name="a">{inertial(mass="-2")}</link>'],
        "link 'a', <mass>, line 2", "mass -2 kg", "positive mass",
    ),
    "mass is not a number": (
        [f'<link name="a">{inertial(mass="heavy")}</link>'],
        "link 'a', <mass>, line 2", "'heavy' is not a number", "decimal number",
    ),
    "mass has a digit group": (
        [f'<link name="a">{inertial(mass="1_0")}</link>'],
        "link 'a', <mass>, line 2", "'1_0' is not a finite number", "finite number",
    ),
    "mass is missing": (
        ['<link name="a"><inertial><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'],
        "link 'a', <inertial>, line 2", "has no <mass>", "add <mass>",
    ),
    "inertia is indefinite": (
        [f'<link name="a">{inertial(ixy="1.5")}</link>'],
        "link 'a', <inertia>, line 2", "a principal moment is negative", "correct the six numbers",
    ),
    "inertia violates the triangle inequality": (
        [f'<link name="a">{inertial(izz="2.1")}</link>'],
        "link 'a', <inertia>, line 2", "triangle inequality", "correct the six numbers",
    ),
    "inertia is NaN": (
        [f'<link name="a">{inertial(izz="nan")}</link>'],
        "link 'a', <inertia>, line 2", "izz: 'nan' is not a finite number", "finite number",
    ),
    "no link": (["<!-- empty -->"], "<robot>, line 1", "no link", "add a link"),
    "disconnected": ([A, B], "<robot>, line 1", "disconnected: 2 links", "join"),
    "two roots": ([A, B, C, weld("j", "a", "c")], "<robot>, line 1", "('a', 'b')", "join"),
    "cycle of all links": (
        [A, B, weld("j", "a", "b"), weld("k", "b", "a")],
        "<robot>, line 1", "form a cycle", "remove one",
    ),
    "cycle beside the tree": (
        [A, B, C, weld("j", "b", "c"), weld("k", "c", "b")],
        "<robot>, line 1", "'b', 'c' form a cycle", "remove one",
    ),
    "joint to itself": ([A, weld("j", "a", "a")], "joint 'j', line 3", "'a' to itself", "parent or child"),
    "two parents": (
        [A, B, C, weld("j", "a", "b"), weld("i", "a", "c"), weld("k", "b", "c")],
        "joint 'k', line 7", "'c' already hangs on joint 'i'", "one parent",
    ),
    "two links of one name": ([A, A], "link 'a', line 3", "second link", "its own name"),
    "two joints of one name": (
        [A, B, C, weld("j", "a", "b"), weld("j", "b", "c")],
        "joint 'j', line 6", "second joint", "its own name",
    ),
    "xacro in a plain file": (
        ['<link name="a"><collision><geometry><sphere radius="${r}"/></geometry></collision></link>'],
        "<sphere>, line 2", "'${r}' is not a number", "name the file .xacro",
    ),
    "link without a name": (["<link/>"], "<link>, line 2", "'name' of <link> is missing", 'write name="…"'),
    "joint without a name": ([A, '<joint type="fixed"/>'], "<joint>, line 3", "'name'", 'write name="…"'),
    "unknown child link": (
        [A, B, weld("j", "a", "bb")], "joint 'j', line 4", "unknown child link 'bb'", "did you mean 'b'?",
    ),
    "unknown parent link": (
        [A, B, weld("j", "zzz", "b")],
        "joint 'j', line 4", "unknown parent link 'zzz'", "use one of 'a', 'b'",
    ),
    "joint without a parent": (
        [A, B, '<joint name="j" type="fixed"><child link="b"/></joint>'],
        "joint 'j', line 4", "has no <parent>", "add <parent>",
    ),
    "unknown joint type": (
        [A, B, hinge("", "ball")],
        "joint 'hinge', line 4", "type 'ball'", "use one of 'continuous'",
    ),
    "misspelt joint type": (
        [A, B, hinge("", "revolut")],
        "joint 'hinge', line 4", "type 'revolut'", "did you mean 'revolute'?",
    ),
    "revolute without limits": ([A, B, hinge()], "joint 'hinge', line 4", "without <limit>", "add <limit"),
    "prismatic without limits": (
        [A, B, hinge('<limit effort="1" velocity="1"/>', "prismatic")],
        "joint 'hinge', <limit>, line 4", "without lower and upper", "add lower",
    ),
    "limits swapped": (
        [A, B, hinge('<limit lower="1" upper="-1"/>')],
        "joint 'hinge', <limit>, line 4", "lower limit 1 is above upper limit -1", "swap",
    ),
    "infinite limit": (
        [A, B, hinge('<limit lower="-inf" upper="1"/>')],
        "joint 'hinge', <limit>, line 4", "'-inf' is not a finite", "finite number",
    ),
    "negative effort": (
        [A, B, hinge('<limit lower="0" upper="1" effort="-1"/>')],
        "joint 'hinge', <limit>, line 4", "effort=-1 is negative", "at least 0",
    ),
    "negative velocity": (
        [A, B, hinge('<limit lower="0" upper="1" velocity="-1"/>')],
        "joint 'hinge', <limit>, line 4", "velocity=-1 is negative", "at least 0",
    ),
    "limit stiffness of zero": (
        [A, B, hinge('<limit lower="0" upper="1" hydro:stiffness="0"/>')],
        "joint 'hinge', <limit>, line 4", "hydro:stiffness=0 is not above 0", "positive",
    ),
    "zero axis": (
        [A, B, hinge(f'<axis xyz="0 0 0"/>{LIMIT}')],
        "joint 'hinge', <axis>, line 4", "no direction", "other than 0 0 0",
    ),
    "axis of two numbers": (
        [A, B, hinge(f'<axis xyz="0 1"/>{LIMIT}')],
        "joint 'hinge', <axis>, line 4", "2 numbers, not 3", "write 3 numbers",
    ),
    "negative damping": (
        [A, B, hinge(f'<dynamics damping="-0.1"/>{LIMIT}')],
        "joint 'hinge', <dynamics>, line 4", "damping=-0.1 is negative", "at least 0",
    ),
    "negative friction": (
        [A, B, hinge(f'<dynamics friction="-0.1"/>{LIMIT}')],
        "joint 'hinge', <dynamics>, line 4", "friction=-0.1 is negative", "at least 0",
    ),
    "NaN in an origin": (
        [A, B, hinge(f'<origin xyz="0 nan 0"/>{LIMIT}')],
        "joint 'hinge', <origin>, line 4", "xyz: 'nan'", "finite number",
    ),
    "two origins": (
        [A, B, hinge(f"<origin/><origin/>{LIMIT}")],
        "joint 'hinge', <origin>, line 4", "second <origin>", "keep one",
    ),
    "mimic of an unknown joint": (
        [A, B, hinge(f'<mimic joint="hing"/>{LIMIT}')],
        "joint 'hinge', line 4", "unknown joint 'hing'", "did you mean 'hinge'?",
    ),
    "mimic of itself": (
        [A, B, hinge(f'<mimic joint="hinge"/>{LIMIT}')],
        "joint 'hinge', line 4", "mimics itself", "remove one of the mimics",
    ),
    "mimic cycle": (
        [A, B, C, hinge(f'<mimic joint="other"/>{LIMIT}'),
         '<joint name="other" type="continuous"><parent link="b"/><child link="c"/>'
         '<mimic joint="hinge"/></joint>'],
        "joint 'hinge', line 5", "hinge -> other -> hinge", "remove one of the mimics",
    ),
    "mimic of a weld": (
        [A, B, C, hinge(f'<mimic joint="w"/>{LIMIT}'), weld("w", "b", "c")],
        "joint 'hinge', line 5", "mimics the fixed joint 'w'", "one coordinate",
    ),
    "a weld that mimics": (
        [A, B, hinge('<mimic joint="hinge"/>', "fixed")],
        "joint 'hinge', <mimic>, line 4", "fixed joint cannot mimic", "remove its mimic",
    ),
    "mimic multiplier of zero": (
        [A, B, hinge(f'<mimic joint="hinge" multiplier="0"/>{LIMIT}')],
        "joint 'hinge', <mimic>, line 4", "couples nothing", "another multiplier",
    ),
    "rotor of an unknown joint": (
        [A, rotor("nope", "1")],
        "<transmission>, line 3", "unknown joint 'nope'", "correct its name",
    ),
    "negative rotor inertia": (
        [A, B, HINGE, rotor("hinge", "-1")],
        "<drake:rotor_inertia>, line 5", "value=-1 is negative", "at least 0",
    ),
    "collision without geometry": (
        ['<link name="a"><collision/></link>'],
        "link 'a', <collision>, line 2", "no <geometry>", "add <geometry>",
    ),
    "unknown shape": (
        [collision("<torus/>")], "link 'a', <geometry>, line 2", "has no <sphere> or <box>", "add <sphere>",
    ),
    "negative radius": (
        [collision('<sphere radius="-1"/>')],
        "link 'a', <sphere>, line 2", "radius=-1 is not above 0", "positive",
    ),
    "cylinder of no length": (
        [collision('<cylinder radius="1" length="0"/>')],
        "link 'a', <cylinder>, line 2", "length=0 is not above 0", "positive",
    ),
    "ellipsoid with a missing axis": (
        [collision('<drake:ellipsoid a="1" b="1"/>')],
        "link 'a', <drake:ellipsoid>, line 2", "'c' of <drake:ellipsoid> is missing", 'write c="…"',
    ),
    "negative box": (
        [collision('<box size="1 -1 1"/>')],
        "link 'a', <box>, line 2", "is not above 0", "write positive lengths",
    ),
    "rigid and compliant": (
        [collision(BOX, "<drake:rigid_hydroelastic/><drake:compliant_hydroelastic/>")],
        "link 'a', <drake:proximity_properties>, line 2", "both rigid and compliant", "keep one",
    ),
    "modulus of zero": (
        [collision(BOX, f'<{MODULUS} value="0"/>')],
        f"link 'a', <{MODULUS}>, line 2", "value=0 is not above 0", "positive",
    ),
    "resolution hint of zero": (
        [collision(BOX, '<drake:mesh_resolution_hint value="0"/>')],
        "<drake:mesh_resolution_hint>, line 2", "not above 0", "positive",
    ),
    "negative margin": (
        [collision(BOX, '<drake:hydroelastic_margin value="-1e-4"/>')],
        "<drake:hydroelastic_margin>, line 2", "value=-0.0001 is negative", "at least 0",
    ),
    "negative friction coefficient": (
        [collision(BOX, '<drake:mu_dynamic value="-0.5"/>')],
        "<drake:mu_dynamic>, line 2", "is negative", "at least 0",
    ),
    "static below dynamic friction": (
        [collision(BOX, '<drake:mu_dynamic value="0.5"/><drake:mu_static value="0.4"/>')],
        "<drake:proximity_properties>, line 2", "0.4 is below dynamic friction 0.5",
        "at least drake:mu_dynamic",
    ),
    "unknown pressure field": (
        [collision(BOX, '<hydro:pressure_field value="soft"/>')],
        "<hydro:pressure_field>, line 2", "'soft' is no pressure field", "write distance or laplace",
    ),
    "missing mesh": (
        [collision('<mesh filename="gone.stl"/>')],
        "link 'a', <mesh>, line 2", "names no file", "correct the path",
    ),
    "unknown mesh format": (
        [collision('<mesh filename="part.step"/>')],
        "link 'a', <mesh>, line 2", "unknown mesh format '.step'", "convert the mesh to one of .stl",
    ),
    "mesh without extension": (
        [collision('<mesh filename="part"/>')],
        "link 'a', <mesh>, line 2", "no file extension", "convert the mesh",
    ),
    "colour out of range": (
        ['<material name="m"><color rgba="2 0 0 1"/></material>', A],
        "<color>, line 2", "outside 0 … 1", "from 0 to 1",
    ),
    "gloss out of range": (
        ['<material name="m"><color rgba="1 0 0 1" hydro:gloss="1.5"/></material>', A],
        "<color>, line 2", "gloss is outside 0 … 1", "1 for polished",
    ),
    "undefined material": (
        [f'<link name="a"><visual><geometry>{BOX}</geometry><material name="m"/></visual></link>'],
        "link 'a', <material>, line 2", "'m' is defined nowhere", "add a <color>",
    ),
    "material of two colours": (
        ['<material name="m"><color rgba="1 0 0 1"/></material>',
         '<material name="m"><color rgba="0 0 0 1"/></material>', A],
        "<material>, line 3", "second material 'm'", "another name",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_names_file_element_and_mend(tmp_path, case):
    elements, element, problem, mend = BAD[case]
    path = write_urdf(tmp_path, *elements)
    with pytest.raises(InputError) as caught:
        load_robot(path, repair="strict")
    assert caught.value.source == str(path)
    assert element in caught.value.element
    assert problem in caught.value.problem
    assert mend in caught.value.mend


def test_the_snippets_are_bad_only_in_one_thing(tmp_path):
    """The same elements without the fault load, so the errors above have the cause they name."""
    good = [
        f'<link name="a">{inertial()}</link>',
        B,
        hinge(f'<axis xyz="0 0 1"/><dynamics damping="0.1"/>{LIMIT}'),
    ]
    assert load_robot(write_urdf(tmp_path, *good)).root == "a"


def test_scale_to_nothing(tmp_path):
    (tmp_path / "part.stl").touch()
    path = write_urdf(tmp_path, collision('<mesh filename="part.stl" scale="1 0 1"/>'))
    with pytest.raises(InputError, match=r"line 2: the mesh is scaled to nothing; write a scale"):
        load_robot(path, repair="strict")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("test.urdf", '<robot name="r">\n<link name="a">\n</robot>', "line 3: malformed XML"),
        ("test.urdf", "", "malformed XML"),
        ("test.urdf", "not XML", "malformed XML"),
        ("test.urdf", '<robot name="r"><link name="a" name="b"/></robot>', "malformed XML"),
        ("test.urdf", '<sdf version="1.7"/>', "<sdf>, line 1: is an SDF file, as Gazebo reads, and no URDF"),
        ("test.urdf", "<robo/>", "outermost element is <robo>"),
        (
            "test.sdf",
            '<sdf version="1.7"/>',
            "is an SDF file, as Gazebo reads, and no URDF; give the URDF that it was made from",
        ),
        ("test.xml", "<mujoco/>", "make one with mjcf_urdf_simple_converter"),
        ("test.usda", "#usda 1.0", "make one with usd_to_urdf"),
        ("test.urdf", '<robot><link name="a"/></robot>', "'name' of <robot> is missing"),
        ("test.sdf", "<robot/>", "unknown file type '.sdf'"),
    ],
)
def test_file_that_is_no_urdf(tmp_path, name, text, problem):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_robot(path, repair="strict")
    assert caught.value.source == str(path)
    assert problem in str(caught.value)


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match=r"gone\.urdf: no such file; check the path"):
        load_robot(tmp_path / "gone.urdf")


def test_folder_instead_of_file(tmp_path):
    folder = tmp_path / "folder.urdf"
    folder.mkdir()
    with pytest.raises(InputError, match=r"folder\.urdf: is a folder"):
        load_robot(folder)


def test_arguments_for_a_plain_urdf(tmp_path):
    path = write_urdf(tmp_path, A)
    with pytest.raises(InputError, match="a plain URDF takes no arguments"):
        load_robot(path, xacro_args={"prefix": "x"})


BILLION_LAUGHS = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
HOSTILE = {
    "billion laughs": f'<!DOCTYPE robot [<!ENTITY e0 "ha">{BILLION_LAUGHS}]>'
    '<robot name="&e9;"><link name="a"/></robot>',
    "file through an entity": '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
    '<robot name="r"><link name="a">&x;</link></robot>',
    "network through an entity": '<!DOCTYPE robot [<!ENTITY x SYSTEM "http://127.0.0.1:9/x">]>'
    '<robot name="r"><link name="a">&x;</link></robot>',
    "external DTD": '<!DOCTYPE robot SYSTEM "http://127.0.0.1:9/robot.dtd">'
    '<robot name="r"><link name="a"/></robot>',
}


@pytest.mark.parametrize("suffix", [".urdf", ".urdf.xacro"])
@pytest.mark.parametrize("attack", HOSTILE)
def test_entities_are_refused(tmp_path, attack, suffix):
    path = tmp_path / f"test{suffix}"
    path.write_text(HOSTILE[attack])
    with pytest.raises(InputError, match="DOCTYPE: entity definitions are not allowed"):
        load_robot(path, repair="strict")


def test_entities_are_refused_in_included_files(tmp_path):
    (tmp_path / "inner.xacro").write_text(
        '<!DOCTYPE robot [<!ENTITY x "y">]><robot><link name="a&x;"/></robot>'
    )
    path = tmp_path / "test.xacro"
    path.write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:include filename="inner.xacro"/></robot>'
    )
    with pytest.raises(InputError, match=r"inner\.xacro: DOCTYPE: entity definitions are not allowed"):
        load_robot(path, repair="strict")


def test_deep_nesting_is_refused(tmp_path):
    path = tmp_path / "test.urdf"
    path.write_text("<robot>" + "<link>" * 100_000)
    with pytest.raises(InputError, match="malformed XML"):
        load_robot(path, repair="strict")


def test_every_text_here_is_one_robot():
    """Guards the helper: an element lands on the line that the table above expects."""
    assert robot_text(A, B).splitlines()[1:3] == [A, B]
