"""Grippers that robots' descriptions have: found by their joints, or named in an SRDF."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hydro_sim_core as hs
from hydro_sim_core.description import load_robot
from hydro_sim_core.description.scene_drives import GripperSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.loading import scene_of_robot
from support.simulation.linkage_gripper import EFFORT, gripper_urdf

KNUCKLE = "knuckle_joint"


def found(tmp_path: Path, text: str, srdf: str = "", **options: str) -> tuple[GripperSpec, ...]:
    path = tmp_path / "hand.urdf"
    path.write_text(text)
    named = None
    if srdf:
        named = tmp_path / "hand.srdf"
        named.write_text(f'<robot name="hand">{srdf}</robot>')
    return scene_of_robot(path, srdf=named, **{"drives": "all", **options}).grippers


def linkage(
    name: str = "gripper", joint: str = KNUCKLE, closes: int = 1, effort: float = EFFORT
) -> GripperSpec:
    return GripperSpec(name=name, kind="linkage", joints={joint: closes}, max_force=effort)


def group(*members: str, name: str = "gripper") -> str:
    return f'<group name="{name}">{"".join(members)}</group>'


def effector(name: str = "hand_tool", group: str = "gripper") -> str:
    return f'<end_effector name="{name}" parent_link="palm" group="{group}"/>'


def test_a_driven_joint_with_mimic_joints_is_a_gripper(tmp_path: Path) -> None:
    """Its effort is that of its own limit: each mimic joint's limit is no further actuator's."""
    assert found(tmp_path, gripper_urdf()) == (linkage(),)


@pytest.mark.parametrize(
    ("joint", "name"),
    [
        ("left_robotiq_85_left_knuckle_joint", "left_robotiq_gripper"),
        ("right_finger_bottom_joint", "gen3_lite_2f_gripper"),
    ],
)
def test_its_name_is_that_of_its_drivers_controller(tmp_path: Path, joint: str, name: str) -> None:
    assert found(tmp_path, gripper_urdf(joint)) == (linkage(name, joint),)


def test_its_name_may_come_from_the_link_on_which_it_sits(tmp_path: Path) -> None:
    text = gripper_urdf().replace('"palm"', '"right_robotiq_140_base_link"')
    assert found(tmp_path, text) == (linkage("right_robotiq_gripper"),)


def test_two_of_one_robot_have_the_names_of_their_joints(tmp_path: Path) -> None:
    text = gripper_urdf()
    own = text.partition('<link name="world"/>')[2].removesuffix("</robot>")
    other = re.sub(r'(name|link|joint)="(?!world)(\w+)"', r'\1="other_\2"', own)
    names = [KNUCKLE, f"other_{KNUCKLE}"]
    two = found(tmp_path, text.replace("</robot>", f"{other}</robot>"))
    assert two == tuple(linkage(name, name) for name in names)


def test_it_closes_where_its_ends_meet(tmp_path: Path) -> None:
    """Turning the other way the same pads meet at the lower one."""
    turned = re.sub(
        r'lower="(\S+)" upper="(\S+)"',
        lambda ends: f'lower="{-float(ends[2])}" upper="{-float(ends[1])}"',
        gripper_urdf().replace('axis xyz="0 -1 0"', 'axis xyz="0 1 0"'),
    )
    assert found(tmp_path, turned) == (linkage(closes=-1),)


NO_GRIPPER = {
    "nothing drives it": ({"drives": "none"}, gripper_urdf()),
    "no effort limit": ({}, gripper_urdf(effort=0.0)),
    "slides without ends": (
        {},
        '<robot name="s"><link name="base"/><link name="l"/><link name="r"/>'
        '<joint name="left" type="prismatic"><parent link="base"/><child link="l"/><origin xyz="0.1 0 0"/>'
        '<limit effort="5" velocity="1"/></joint><joint name="right" type="prismatic"><parent link="base"/>'
        '<child link="r"/><mimic joint="left" multiplier="-1"/><limit effort="5" velocity="1"/></joint></robot>',
    ),
    "it carries a joint of its own": (
        {},
        gripper_urdf(
            extra='<link name="nail"><inertial><mass value="0.01"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" '
            'ixz="0" iyz="0"/></inertial></link><joint name="nail_joint" type="prismatic"><parent link="left_tip"/>'
            '<child link="nail"/><axis xyz="0 0 1"/><limit lower="0" upper="0.01" effort="5" velocity="1"/></joint>'
        ),
    ),
}


@pytest.mark.parametrize("case", NO_GRIPPER)
def test_what_is_no_gripper(tmp_path: Path, case: str) -> None:
    options, text = NO_GRIPPER[case]
    assert found(tmp_path, text, **options) == ()


def test_joints_of_one_chain_are_no_gripper(tmp_path: Path) -> None:
    """As those of a telescope or a finger of a hand."""

    def joint(name: str, parent: str, child: str, law: str = "") -> str:
        inertia = '<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/>'
        return (
            f'<link name="{child}"><inertial><mass value="1"/>{inertia}</inertial></link>'
            f'<joint name="{name}" type="prismatic"><parent link="{parent}"/><child link="{child}"/>'
            f'<axis xyz="0 0 1"/>{law}<limit lower="0" upper="0.5" effort="100" velocity="1"/></joint>'
        )

    boom = joint("first", "world", "a") + joint("second", "a", "b", '<mimic joint="first"/>')
    assert found(tmp_path, f'<robot name="boom"><link name="world"/>{boom}</robot>') == ()


def test_an_end_effector_of_an_srdf_gives_its_name_and_its_closed_state(tmp_path: Path) -> None:
    """However its group names the joint: here by links, which mean the joints that carry them."""
    members = [group('<link name="left_knuckle"/>', '<link name="right_tip"/>')]
    assert found(tmp_path, gripper_urdf(), "".join([*members, effector()])) == (linkage("hand_tool"),)
    state = f'<group_state name="closed" group="gripper"><joint name="{KNUCKLE}" value="0.1"/></group_state>'
    text = "".join([*members, state, effector()])
    assert found(tmp_path, gripper_urdf(), text) == (linkage("hand_tool", closes=-1),)


def test_groups_name_chains_and_groups(tmp_path: Path) -> None:
    """And virtual joints, which the URDF does not have."""
    text = (
        '<virtual_joint name="v" type="fixed" parent_frame="map" child_link="world"/>'
        + group('<joint name="v"/>', '<chain base_link="palm" tip_link="left_tip"/>', name="left")
        + group('<group name="left"/>')
        + effector()
    )
    path = tmp_path / "hand.urdf"
    path.write_text(gripper_urdf())
    srdf = tmp_path / "hand.srdf"
    srdf.write_text(f'<robot name="hand">{text}</robot>')
    (one,) = load_robot(path, prefix="p_", srdf=srdf).srdf.end_effectors
    assert one.joints == ("p_knuckle_joint", "p_left_finger_joint", "p_left_tip_joint")


BAD_GROUPS = {
    "joint": (group('<joint name="knuckle"/>'), "no joint 'knuckle'", "did you mean 'knuckle_joint'?"),
    "link": (group('<link name="left_tipp"/>'), "no link 'left_tipp'", "did you mean 'left_tip'?"),
    "group": (group('<group name="grippers"/>'), "no group 'grippers'", "did you mean 'gripper'?"),
    "itself": (group('<group name="gripper"/>'), "is part of itself", "remove one"),
    "chain": (
        group('<chain base_link="left_tip" tip_link="palm"/>'),
        "no chain leads from 'left_tip' to 'palm'",
        "name a base_link",
    ),
    "effector": (group() + effector(group="gripperr"), "no group 'gripperr'", "did you mean 'gripper'?"),
}


@pytest.mark.parametrize("case", BAD_GROUPS)
def test_what_an_srdf_names_and_the_robot_lacks_is_refused(tmp_path: Path, case: str) -> None:
    text, problem, mend = BAD_GROUPS[case]
    with pytest.raises(InputError, match=r"hand\.srdf") as error:
        found(tmp_path, gripper_urdf(), text)
    assert problem in str(error.value)
    assert mend in str(error.value)
    assert "line 1" in error.value.element


def test_groups_of_strangers_end_the_reader_nowhere(tmp_path: Path) -> None:
    """Neither by doubling at every level nor by their depth."""

    def nested(depth: int) -> str:
        inner = "".join(group(*[f'<group name="g{i + 1}"/>'] * 2, name=f"g{i}") for i in range(depth))
        return inner + group('<joint name="knuckle_joint"/>', name=f"g{depth}") + effector(group="g0")

    assert found(tmp_path, gripper_urdf(), nested(40)) == (linkage("hand_tool"),)
    with pytest.raises(InputError, match="more than 50 groups are inside each other"):
        found(tmp_path, gripper_urdf(), nested(3000))


def test_limits_that_exclude_each_other_are_repaired_or_refused(tmp_path: Path) -> None:
    """The knuckle goes from 0 up, and its mimic joint would have it below -0.1."""
    text = gripper_urdf().replace(
        'multiplier="-1"/><limit lower="-0.8" upper="-0.0"',
        'multiplier="-1"/><limit lower="0.1" upper="0.8"',
        1,
    )
    assert text != gripper_urdf()
    path = tmp_path / "hand.urdf"
    path.write_text(text)
    world = hs.load_urdf(path, drives="all")
    assert [limit[world.joint_names.index("knuckle_joint")] for limit in world.joint_limits()] == [0.0, 0.8]
    with pytest.raises(InputError, match="leave no room to 'knuckle_joint'") as error:
        hs.load_urdf(path, drives="all", repair="strict")
    assert "hand.urdf" in str(error.value)
    assert "make the limits of the two joints overlap" in error.value.mend


def scene(tmp_path: Path, *lines: str) -> hs.World:
    (tmp_path / "hand.urdf").write_text(gripper_urdf())
    path = tmp_path / "scene.yaml"
    path.write_text(
        "\n".join(["name: s", "models:", "  - {name: hand, urdf: hand.urdf}", "grippers:", *lines])
    )
    return hs.load_scene(path)


def test_scenes_name_linkages_themselves(tmp_path: Path) -> None:
    """Gains follow from inertia where none are given, and hold at the start."""
    world = scene(tmp_path, f"  - {{name: g, kind: linkage, joints: {{{KNUCKLE}: 1}}, max_force: 7}}")
    assert world.drives[KNUCKLE].kp > 100.0
    assert world.drives[KNUCKLE].effort_limit == 7.0
    assert world.gripper_joint_names == (KNUCKLE,)
    gains = "max_force: 7, kp: 40, kd: 2"
    world = scene(tmp_path, f"  - {{name: g, kind: linkage, joints: {{{KNUCKLE}: 1}}, {gains}}}")
    assert world.drives[KNUCKLE] == ("position", 40.0, 2.0, 7.0)
    world.set_gripper(position=0.2)
    world.step(500)
    assert world.joint_positions()[world.joint_names.index(KNUCKLE)] == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize(("force", "told"), [(1.5 * EFFORT, True), (EFFORT, False)])
def test_a_force_beyond_the_limits_of_the_file_holds_and_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, force: float, told: bool
) -> None:
    """It took their place without a word; actuators say in their own words that they do."""
    world = scene(tmp_path, f"  - {{name: g, kind: linkage, joints: {{{KNUCKLE}: 1}}, max_force: {force}}}")
    assert world.drives[KNUCKLE].effort_limit == force
    line = f"gripper 'g': max_force {force:g} holds in place of lower effort limits in the robot's file: "
    lines = [record.getMessage() for record in caplog.records if line in record.getMessage()]
    assert len(lines) == told
    assert all(f"{KNUCKLE} {EFFORT:g}" in one for one in lines)


BAD_LINKAGES = {
    "mimic": ("{left_tip_joint: 1}", "", "the mimic joint 'left_tip_joint' cannot be driven"),
    "fixed": ("{palm_joint: 1}", "", "the fixed joint 'palm_joint' cannot be driven"),
    "unknown": ("{knuckle: 1}", "", "no joint 'knuckle' in the scene; did you mean 'knuckle_joint'?"),
    "two": ("{lift: 1, knuckle_joint: 1}", "", "a linkage with 2 joints"),
    "one gain": ("{knuckle_joint: 1}", "kp: 4, ", "a gripper without kp or kd; give both"),
    "closed": ("{knuckle_joint: 1}", "closed: {knuckle_joint: 0}, ", "closed beside kind: linkage"),
}


@pytest.mark.parametrize("case", BAD_LINKAGES)
def test_linkages_that_cannot_be_served_are_refused(tmp_path: Path, case: str) -> None:
    joints, more, problem = BAD_LINKAGES[case]
    with pytest.raises(InputError) as error:
        scene(tmp_path, f"  - {{name: g, kind: linkage, joints: {joints}, {more}max_force: 7}}")
    assert problem in str(error.value)
    assert "scene.yaml" in str(error.value)
    assert "grippers.0" in str(error.value)
