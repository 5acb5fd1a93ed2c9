"""What a good robot description becomes."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from hydro_sim_core.description import load_robot
from hydro_sim_core.description.scene_urdf import robot_urdf
from hydro_sim_core.description.spec import ProximitySpec, ShapeSpec
from hydro_sim_core.errors import InputError
from support.description.urdf_text import HINGE, collision, inertial, write_urdf

A, B, C, D = (f'<link name="{name}"/>' for name in "abcd")


def joint_text(name: str, joint_type: str, parent: str, child: str, inner: str = "") -> str:
    links = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{joint_type}">{links}{inner}</joint>'


@pytest.mark.parametrize(
    ("geometry", "shape"),
    [
        ('<sphere radius="0.1"/>', ShapeSpec("sphere", (0.1,))),
        ('<box size="1 2 3"/>', ShapeSpec("box", (1.0, 2.0, 3.0))),
        ('<cylinder radius="0.1" length="2"/>', ShapeSpec("cylinder", (0.1, 2.0))),
        ('<capsule radius="0.1" length="2"/>', ShapeSpec("capsule", (0.1, 2.0))),
        ('<drake:capsule radius="0.1" length="2"/>', ShapeSpec("capsule", (0.1, 2.0))),
        ('<drake:ellipsoid a="1" b="2" c="3"/>', ShapeSpec("ellipsoid", (1.0, 2.0, 3.0))),
    ],
)
def test_shapes(tmp_path, geometry, shape):
    robot = load_robot(write_urdf(tmp_path, collision(geometry)))
    assert robot.links[0].collisions[0].shape == shape


@pytest.mark.parametrize(
    "extension", [".stl", ".obj", ".dae", ".glb", ".ply", ".vtk", ".vtu", ".msh", ".STL"]
)
def test_mesh_formats(tmp_path, extension):
    mesh = tmp_path / f"part{extension}"
    mesh.touch()
    text = f'<mesh filename="{mesh.name}" scale="1 -2 0.5"><drake:declare_convex/></mesh>'
    shape = load_robot(write_urdf(tmp_path, collision(text))).links[0].collisions[0].shape
    assert shape == ShapeSpec("mesh", (), mesh, (1.0, -2.0, 0.5), True)


def test_one_scale_for_all_axes(tmp_path):
    (tmp_path / "part.stl").touch()
    robot = load_robot(write_urdf(tmp_path, collision('<mesh filename="part.stl" scale="0.001"/>')))
    assert robot.links[0].collisions[0].shape.scale == (0.001, 0.001, 0.001)


def test_every_proximity_tag(tmp_path):
    tags = """<drake:compliant_hydroelastic/>
        <drake:hydroelastic_modulus value="1e5"/><drake:mesh_resolution_hint value="0.04"/>
        <drake:hydroelastic_margin value="0"/><drake:hunt_crossley_dissipation value="5"/>
        <drake:relaxation_time value="0.2"/><drake:mu_dynamic value="0.7"/><drake:mu_static value="0.7"/>
        <drake:point_contact_stiffness value="1e4"/><hydro:slab_thickness value="0.3"/>
        <hydro:pressure_field value="laplace"/><hydro:surface_velocity value="0.1 0 -0.2"/>"""
    robot = load_robot(write_urdf(tmp_path, collision('<sphere radius="1"/>', tags)))
    assert robot.links[0].collisions[0].proximity == ProximitySpec(
        compliance="compliant", modulus=1e5, resolution_hint=0.04, margin=0.0, dissipation=5.0,
        relaxation_time=0.2, mu_dynamic=0.7, mu_static=0.7, point_stiffness=1e4, slab_thickness=0.3,
        pressure_field="laplace", surface_velocity=(0.1, 0.0, -0.2),
    )  # fmt: skip


def test_no_proximity_tag_means_nothing_given(tmp_path):
    robot = load_robot(write_urdf(tmp_path, collision('<sphere radius="1"/>')))
    assert robot.links[0].collisions[0].proximity == ProximitySpec()


def test_prefixes_without_their_namespace(tmp_path):
    """Other simulators do not ask for xmlns:drake, so files go without it."""
    path = tmp_path / "test.urdf"
    tag = "<drake:proximity_properties><drake:rigid_hydroelastic/></drake:proximity_properties>"
    box = '<geometry><box size="1 1 1"/></geometry>'
    path.write_text(f'<robot name="r"><link name="a"><collision>{box}{tag}</collision></link></robot>')
    assert load_robot(path).links[0].collisions[0].proximity.compliance == "rigid"


def test_several_geometries_a_link(tmp_path):
    box = '<geometry><box size="1 1 1"/></geometry>'
    ball = '<origin xyz="0 0 1"/><geometry><sphere radius="1"/></geometry>'
    link = f'<link name="a"><collision>{box}</collision><collision name="ball">{ball}</collision>'
    link += f"<visual>{box}</visual><visual>{ball}</visual></link>"
    robot = load_robot(write_urdf(tmp_path, link))
    assert [c.name for c in robot.links[0].collisions] == ["a_collision_0", "ball"]
    assert [v.shape.kind for v in robot.links[0].visuals] == ["box", "sphere"]
    np.testing.assert_array_equal(robot.links[0].collisions[1].X_LG[:3, 3], [0, 0, 1])


def test_colours(tmp_path):
    def visual(material: str) -> str:
        return f'<visual><geometry><sphere radius="1"/></geometry>{material}</visual>'

    inline = '<material name="blue"><color rgba="0 0 1 0.5" hydro:gloss="0.7"/></material>'
    visuals = [
        visual('<material name="red"/>'),
        visual(inline),
        visual('<material name="blue"/>'),
        visual(""),
    ]
    red = '<material name="red"><color rgba="1 0 0 1"/><texture filename="ignored.png"/></material>'
    robot = load_robot(write_urdf(tmp_path, f'<link name="a">{"".join(visuals)}</link>', red, red))
    assert [v.rgba for v in robot.links[0].visuals] == [(1, 0, 0, 1), (0, 0, 1, 0.5), (0, 0, 1, 0.5), None]
    assert [v.gloss for v in robot.links[0].visuals] == [0.0, 0.7, 0.7, 0.0]
    written = tmp_path / "written.urdf"
    written.write_text(robot_urdf(robot))
    again = load_robot(written)
    assert [v.gloss for v in again.links[0].visuals] == [0.0, 0.7, 0.7, 0.0]


def test_joint_fields(tmp_path):
    inner = """<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><axis xyz="0 0 -2"/>
        <limit lower="-1" upper="2" effort="3" velocity="4" hydro:stiffness="500"/>
        <dynamics damping="0.5" friction="0.25"/>
        <calibration rising="0"/><safety_controller k_velocity="1"/>"""
    joint = load_robot(write_urdf(tmp_path, A, B, joint_text("j", "revolute", "a", "b", inner))).joints[0]
    np.testing.assert_array_equal(joint.axis, [0, 0, -1])
    np.testing.assert_allclose(
        joint.X_PJ, [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]], atol=1e-15
    )
    limits = joint.limits
    assert (limits.lower, limits.upper, limits.effort, limits.velocity, limits.stiffness) == (
        -1,
        2,
        3,
        4,
        500,
    )
    assert (joint.damping, joint.friction, joint.rotor_inertia) == (0.5, 0.25, 0.0)


def test_roll_pitch_yaw_turn_about_fixed_axes(tmp_path):
    """R = Rz(yaw) Ry(pitch) Rx(roll), multiplied out here."""
    roll, pitch, yaw = 0.3, -0.7, 1.9
    origin = f'<origin rpy="{roll} {pitch} {yaw}"/>'
    joint = load_robot(write_urdf(tmp_path, A, B, joint_text("j", "fixed", "a", "b", origin))).joints[0]
    (cr, cp, cy), (sr, sp, sy) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    expected = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    np.testing.assert_allclose(joint.X_PJ[:3, :3], expected, atol=1e-15)


def test_joints_that_need_no_limits(tmp_path):
    names = "abcde"
    types = ["continuous", "planar", "floating", "fixed"]
    joints = [joint_text(f"j{i}", kind, names[i], names[i + 1]) for i, kind in enumerate(types)]
    robot = load_robot(write_urdf(tmp_path, *(f'<link name="{name}"/>' for name in names), *joints))
    assert [joint.type for joint in robot.joints] == types
    assert all(joint.limits.lower == -np.inf and joint.limits.effort == np.inf for joint in robot.joints)


def test_one_missing_limit_is_zero(tmp_path):
    robot = load_robot(
        write_urdf(tmp_path, A, B, joint_text("j", "prismatic", "a", "b", '<limit upper="2"/>'))
    )
    assert (robot.joints[0].limits.lower, robot.joints[0].limits.upper) == (0.0, 2.0)


@pytest.mark.parametrize("kind", ["continuous", "planar"])
def test_ends_of_a_joint_without_ends_mean_nothing(tmp_path, kind):
    text = joint_text("j", kind, "a", "b", '<limit lower="0" upper="0" effort="5" velocity="1"/>')
    limits = load_robot(write_urdf(tmp_path, A, B, text)).joints[0].limits
    assert (limits.lower, limits.upper, limits.effort) == (-np.inf, np.inf, 5.0)


def test_rotor_inertia_is_reflected_through_the_gear(tmp_path):
    transmission = """<transmission name="t"><type>transmission_interface/SimpleTransmission</type>
        <joint name="hinge"><hardwareInterface>x</hardwareInterface></joint>
        <actuator name="m"><drake:rotor_inertia value="2e-5"/><drake:gear_ratio value="160"/></actuator>
        </transmission>"""
    robot = load_robot(write_urdf(tmp_path, A, B, HINGE, transmission))
    assert robot.joints[0].rotor_inertia == pytest.approx(2e-5 * 160**2, rel=1e-15)


def test_mimic_chains_end_at_the_master(tmp_path):
    """c = 3 b - 1 and b = 2 a + 0.5, so c = 6 a + 0.5, whatever the order in the file."""
    text = [
        joint_text("jc", "continuous", "c", "d", '<mimic joint="jb" multiplier="3" offset="-1"/>'),
        joint_text("jb", "continuous", "b", "c", '<mimic joint="ja" multiplier="2" offset="0.5"/>'),
        joint_text("ja", "continuous", "a", "b"),
    ]
    robot = load_robot(write_urdf(tmp_path, A, B, C, D, *text))
    mimics = {joint.name: joint.mimic for joint in robot.joints}
    assert mimics["ja"] is None
    assert (mimics["jb"].joint, mimics["jb"].multiplier, mimics["jb"].offset) == ("ja", 2.0, 0.5)
    assert (mimics["jc"].joint, mimics["jc"].multiplier, mimics["jc"].offset) == ("ja", 6.0, 0.5)


def test_inertia_is_turned_into_link_axes(tmp_path):
    text = inertial(ixx="1", iyy="2", izz="2.5").replace(
        "<mass", '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass'
    )
    read = load_robot(write_urdf(tmp_path, f'<link name="a">{text}</link>')).links[0].inertial
    np.testing.assert_array_equal(read.p_LCo, [1, 2, 3])
    np.testing.assert_allclose(read.I_LCo, np.diag([2.0, 1.0, 2.5]), atol=1e-15)


def test_inertia_of_a_flat_body_survives_rounding(tmp_path):
    """A plate has izz = ixx + iyy; in a file of six digits the sum is a little off."""
    text = inertial(ixx="0.333333", iyy="0.333333", izz="0.666667")
    assert load_robot(write_urdf(tmp_path, f'<link name="a">{text}</link>')).links[0].inertial.mass == 1.0


@pytest.mark.parametrize(
    "moments", [{"ixx": "0", "iyy": "0", "izz": "0"}, {"ixx": "0"}], ids=["point mass", "thin rod"]
)
def test_moments_of_zero(tmp_path, moments):
    robot = load_robot(write_urdf(tmp_path, f'<link name="a">{inertial("2", **moments)}</link>'))
    assert robot.links[0].inertial is not None
    assert robot.links[0].inertial.I_LCo[0, 0] == 0.0


def test_welded_links_of_zeros_are_frames(tmp_path, caplog):
    zeros = inertial("0", ixx="0", iyy="0", izz="0")
    path = write_urdf(
        tmp_path,
        f'<link name="a">{inertial()}</link><link name="b">{zeros}</link><link name="c">{zeros}</link>{D}',
        joint_text("j", "fixed", "a", "b"),
        joint_text("k", "fixed", "b", "c"),
        joint_text("l", "fixed", "c", "d"),
    )
    with caplog.at_level(logging.WARNING):
        robot = load_robot(path)
    assert [link.name for link in robot.links if link.inertial is None] == ["b", "c", "d"]
    (record,) = caplog.records
    assert "links of mass 0 are taken for frames: b, c; remove their <inertial>" in record.getMessage()


def test_losses_and_limits_of_fixed_joints_are_told(tmp_path, caplog):
    """They were read, and nothing was said; zeros are what exporters write."""
    path = write_urdf(
        tmp_path,
        A, B, C, D,
        joint_text("j", "fixed", "a", "b", '<dynamics damping="0.1"/><limit effort="5" velocity="2"/>'),
        joint_text("k", "fixed", "b", "c", '<dynamics damping="0" friction="0.0"/><limit lower="0" upper="0"/>'),
        joint_text("l", "fixed", "c", "d", '<limit lower="-1" upper="1"/>'),
    )  # fmt: skip
    with caplog.at_level(logging.WARNING):
        load_robot(path)
    (record,) = caplog.records
    told = "ignored, as fixed joints do not move: <dynamics> of j, <limit> of j, <limit> of l; remove it, or correct"
    assert told in record.getMessage()


def test_parents_come_first(tmp_path):
    joints = [
        joint_text("jcd", "fixed", "c", "d"),
        joint_text("jbc", "fixed", "b", "c"),
        joint_text("jab", "fixed", "a", "b"),
    ]
    robot = load_robot(write_urdf(tmp_path, D, C, B, A, *joints))
    assert [link.name for link in robot.links] == ["a", "b", "c", "d"]
    assert [joint.name for joint in robot.joints] == ["jab", "jbc", "jcd"]


def test_world_need_not_be_declared(tmp_path):
    robot = load_robot(write_urdf(tmp_path, A, joint_text("j", "fixed", "world", "a")))
    assert robot.root == "world"
    assert robot.links[0].inertial is None


def test_prefix_goes_before_links_joints_and_masters(tmp_path):
    text = [
        joint_text("j", "continuous", "a", "b"),
        joint_text("k", "continuous", "b", "c", '<mimic joint="j"/>'),
    ]
    robot = load_robot(write_urdf(tmp_path, A, B, C, *text), prefix="left_")
    assert [link.name for link in robot.links] == ["left_a", "left_b", "left_c"]
    assert [(j.name, j.parent, j.child) for j in robot.joints] == [
        ("left_j", "left_a", "left_b"), ("left_k", "left_b", "left_c"),
    ]  # fmt: skip
    assert robot.joints[1].mimic.joint == "left_j"


def test_known_blocks_are_ignored_quietly(tmp_path, caplog):
    blocks = [
        '<gazebo reference="a"><material>Gazebo/Red</material></gazebo>',
        '<ros2_control name="c" type="system"><hardware><plugin>x/Y</plugin></hardware></ros2_control>',
        '<transmission name="t"><joint name="hinge"/><actuator name="m"/></transmission>',
    ]
    with caplog.at_level(logging.WARNING):
        robot = load_robot(write_urdf(tmp_path, A, B, HINGE, *blocks))
    assert len(robot.links) == 2
    assert caplog.records == []


def test_what_is_not_understood_is_named_once(tmp_path, caplog):
    odd = '<link name="a" colour="red"><inertail><mass value="1"/></inertail></link>'
    with caplog.at_level(logging.WARNING):
        load_robot(write_urdf(tmp_path, odd, "<looped/>", "<looped/>"))
    assert len(caplog.records) == 1
    message = caplog.records[0].getMessage()
    assert str(tmp_path / "test.urdf") in message
    assert "<inertail> (line 2)" in message
    assert "colour= on <link> (line 2)" in message
    assert message.count("looped") == 1


def test_bounce_of_other_simulators_is_told_what_there_is_instead(tmp_path):
    properties = '<drake:proximity_properties><drake:restitution value="0.5"/></drake:proximity_properties>'
    ball = f'<collision><geometry><sphere radius="1"/></geometry>{properties}</collision>'
    with pytest.raises(
        InputError, match="<drake:restitution>, line 2: is Drake's, and is not used"
    ) as caught:
        load_robot(write_urdf(tmp_path, f'<link name="a">{inertial()}{ball}</link>'))
    assert "there is no restitution: " in caught.value.mend
    assert "drake:hunt_crossley_dissipation" in caught.value.mend
    assert "--ignore drake:restitution (in a scene, ignore: [drake:restitution])" in caught.value.mend


def test_paths_are_absolute(tmp_path, monkeypatch):
    write_urdf(tmp_path, A)
    monkeypatch.chdir(tmp_path)
    assert load_robot(Path("test.urdf")).source == str(tmp_path / "test.urdf")
