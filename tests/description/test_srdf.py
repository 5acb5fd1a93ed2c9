"""Pairs of links that SRDF files and URDF tags give a contact law, as descriptions read them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import hydro_sim_core as hs
from hydro_sim_core.description import load_robot, load_scene, parse_robot
from hydro_sim_core.errors import InputError
from support.description.urdf_text import HINGE, robot_text, write_urdf, write_xacro

A, B = '<link name="a"/>', '<link name="b"/>'


def write_srdf(folder: Path, *elements: str, name: str = "test", file: str = "test.srdf") -> Path:
    path = folder / file
    space = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    path.write_text("\n".join([f'<robot name="{name}" {space}>', *elements, "</robot>"]))
    return path


def disable(a: str = "a", b: str = "b", reason: str = "Never") -> str:
    return f'<disable_collisions link1="{a}" link2="{b}" reason="{reason}"/>'


def test_it_says_which_links_do_not_touch_and_why(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The rest of the file is about planning, and no reason for a warning."""
    srdf = write_srdf(
        tmp_path,
        '<group name="arm"><chain base_link="a" tip_link="b"/></group>',
        '<group_state name="home" group="arm"><joint name="hinge" value="0"/></group_state>',
        '<virtual_joint name="v" type="fixed" parent_frame="world" child_link="a"/>',
        disable(),
        '<disable_default_collisions link="b"/>',
        '<enable_collisions link1="b" link2="a"/>',
    )
    robot = load_robot(write_urdf(tmp_path, A, B, HINGE), srdf=srdf)
    assert robot.srdf.disabled == ((("a", "b"), "Never"),)
    assert (robot.srdf.quiet, robot.srdf.enabled) == (("b",), (("b", "a"),))
    assert caplog.records == []


def test_the_prefix_goes_before_its_links_too(tmp_path: Path) -> None:
    tag = '<hydro:contact_pair link1="a" link2="b" law="pressure_field"/>'
    srdf = write_srdf(
        tmp_path,
        disable(),
        '<disable_default_collisions link="b"/>',
        '<enable_collisions link1="b" link2="a"/>',
    )
    robot = load_robot(write_urdf(tmp_path, A, B, HINGE, tag), prefix="left_", srdf=srdf)
    assert robot.srdf.disabled == ((("left_a", "left_b"), "Never"),)
    assert (robot.srdf.quiet, robot.srdf.enabled) == (("left_b",), (("left_b", "left_a"),))
    assert [(law.links, law.law) for law in robot.pair_laws] == [(("left_a", "left_b"), "pressure_field")]


def test_scenes_name_it_as_they_name_the_urdf(tmp_path: Path) -> None:
    """Relative to the scene and by package; two models of one file may have different ones."""
    package = tmp_path / "arm_config"
    package.mkdir()
    (package / "package.xml").write_text("<package><name>arm_config</name></package>")
    write_srdf(package, disable())
    write_srdf(tmp_path, disable(reason="Adjacent"), file="near.srdf")
    write_urdf(tmp_path, A, B, HINGE)
    scene = tmp_path / "scene.yaml"
    scene.write_text(
        "name: s\nmodels:\n"
        "  - {name: x, urdf: test.urdf, prefix: x_, srdf: near.srdf}\n"
        "  - {name: y, urdf: test.urdf, prefix: y_, package_dirs: [arm_config], srdf: 'package://arm_config/test.srdf'}\n"
        "  - {name: z, urdf: test.urdf, prefix: z_}\n"
    )
    loaded = load_scene(scene)
    pairs = [robot.srdf.disabled for robot in loaded.robots]
    assert pairs == [((("x_a", "x_b"), "Adjacent"),), ((("y_a", "y_b"), "Never"),), ()]
    other = loaded.with_({"models.z.srdf": "near.srdf"})
    assert other.robots[2].srdf.disabled == ((("z_a", "z_b"), "Adjacent"),)


def test_a_program_names_it_too(tmp_path: Path) -> None:
    srdf, urdf = write_srdf(tmp_path, disable()), write_urdf(tmp_path, A, B, HINGE)
    scene = hs.SceneBuilder("s").add_urdf(urdf, srdf=srdf).build()
    assert scene.robots[0].srdf.disabled == ((("a", "b"), "Never"),)
    assert scene.spec.models[0].srdf == str(srdf)


def test_xacro_gets_those_arguments_that_it_declares(tmp_path: Path) -> None:
    urdf = tmp_path / "arm.urdf.xacro"
    arguments = '<xacro:arg name="tool" default="b"/><xacro:arg name="side" default="left"/>'
    hinge = HINGE.replace('link="b"', 'link="$(arg tool)"')
    urdf.write_text(
        f'<robot name="test" xmlns:xacro="http://www.ros.org/wiki/xacro">{arguments}{A}'
        f'<link name="$(arg tool)"/>{hinge}</robot>'
    )
    srdf = write_srdf(
        tmp_path, '<xacro:arg name="tool" default="b"/>', disable(b="$(arg tool)"), file="test.srdf.xacro"
    )
    robot = load_robot(urdf, xacro_args={"tool": "hook", "side": "right"}, srdf=srdf)
    assert robot.srdf.disabled == ((("a", "hook"), "Never"),)


# --- bad SRDFs


def error_of(folder: Path, *elements: str, **options: str) -> str:
    with pytest.raises(InputError) as caught:
        load_robot(write_urdf(folder, A, B, HINGE), srdf=write_srdf(folder, *elements, **options))
    return str(caught.value)


def test_unknown_links_are_told_at_once(tmp_path: Path) -> None:
    told = error_of(tmp_path, disable(), disable(b="bb"))
    assert "test.srdf: <disable_collisions>, line 3: robot 'test' has no link 'bb'; did you mean 'b'?" in told
    many = [disable(f"link{i}", "b") for i in range(7)]
    told = error_of(tmp_path, *many, '<disable_default_collisions link="x"/>', name="other")
    assert (
        "has no link 'link0', 'link1', 'link2', 'link3', 'link4' and 3 more; the file is for 'other'" in told
    )


def test_another_name_alone_is_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Robots are renamed, and the SRDFs of many files go with several URDFs."""
    srdf = write_srdf(tmp_path, disable(), name="renamed")
    assert load_robot(write_urdf(tmp_path, A, B, HINGE), srdf=srdf).srdf.disabled
    assert caplog.records == []


@pytest.mark.parametrize(
    ("element", "told"),
    [
        ('<disable_collisions link1="a"/>', "attribute 'link2' of <disable_collisions> is missing"),
        (disable("a", "a"), "pairs 'a' with itself"),
        ("<disable_default_collisions/>", "attribute 'link' of <disable_default_collisions> is missing"),
        ('<link name="a"/>', "describes links: it is a URDF, and no SRDF"),
    ],
)
def test_elements_about_contact_have_to_be_whole(tmp_path: Path, element: str, told: str) -> None:
    assert told in error_of(tmp_path, element)


def test_elements_about_contact_do_not_get_lost_among_those_about_planning(tmp_path: Path) -> None:
    """A group left open swallows what follows; planning is not read, and the pairs would touch without a word."""
    srdf = write_srdf(tmp_path, '<group name="arm"><link name="a"/>', disable(), "</group>")
    with pytest.raises(InputError, match=r"<group>, line 2: holds <disable_collisions> \(line 3\)"):
        load_robot(write_urdf(tmp_path, A, B, HINGE), srdf=srdf)


@pytest.mark.parametrize(
    ("tag", "meant"),
    [
        ("disable_collision", "disable_collisions"),
        ("Disable_Collisions", "disable_collisions"),
        ("disablecollisions", "disable_collisions"),
        ("enable_collision", "enable_collisions"),
        ("disable_default_collision", "disable_default_collisions"),
    ],
)
def test_misspelt_elements_about_contact_are_refused(tmp_path: Path, tag: str, meant: str) -> None:
    """Left out with a warning, the pair would touch."""
    told = error_of(tmp_path, f'<{tag} link1="a" link2="b"/>')
    assert f"line 2: unknown tag <{tag}>; did you mean '{meant}'?" in told


def test_elements_about_contact_count_in_the_robot_only(tmp_path: Path) -> None:
    told = error_of(tmp_path, disable().replace("/>", f">{disable()}</disable_collisions>"))
    assert "<disable_collisions>, line 2: holds <disable_collisions> (line 2)" in told
    assert "move <disable_collisions> out of <planner>" in error_of(
        tmp_path, f"<planner>{disable()}</planner>"
    )
    tag = '<hydro:contact_pair xmlns:hydro="urn:hydro-sim" link1="a" link2="b" law="none"/>'
    assert "unknown tag <hydro:contact_pair>; write <disable_collisions>" in error_of(tmp_path, tag)


def test_elements_that_nobody_knows_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    srdf = write_srdf(tmp_path, '<joint_limits joint="hinge"/>')
    load_robot(write_urdf(tmp_path, A, B, HINGE), srdf=srdf)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "test.srdf: not understood and ignored: <joint_limits> (line 2)" in record.getMessage()


def test_it_is_read_as_safely_as_a_urdf(tmp_path: Path) -> None:
    srdf = tmp_path / "evil.srdf"
    srdf.write_text('<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><robot name="test">&e;</robot>')
    urdf = write_urdf(tmp_path, A, B, HINGE)
    with pytest.raises(InputError, match="entity definitions are not allowed"):
        load_robot(urdf, srdf=srdf)
    with pytest.raises(InputError, match=r"unknown file type '\.urdf'; name a \.srdf or \.xacro file"):
        load_robot(urdf, srdf=urdf)
    with pytest.raises(InputError, match="no such file"):
        load_robot(urdf, srdf=tmp_path / "none.srdf")


# --- named by the URDF itself, for where nothing else has a place for it


def naming(uri: str) -> str:
    return f'<hydro:srdf filename="{uri}"/>'


def test_a_urdf_names_its_srdf(tmp_path: Path) -> None:
    write_srdf(tmp_path, disable())
    robot = load_robot(write_urdf(tmp_path, A, B, HINGE, naming("test.srdf")), prefix="left_")
    assert robot.srdf.disabled == ((("left_a", "left_b"), "Never"),)


def test_a_text_names_its_srdf_where_it_names_meshes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "arm_moveit"
    package.mkdir()
    (package / "package.xml").write_text("<package><name>arm_moveit</name></package>")
    srdf = write_srdf(package, disable())
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    for uri in (srdf.as_uri(), "package://arm_moveit/test.srdf"):
        robot = parse_robot(robot_text(A, B, HINGE, naming(uri)), "request")
        assert robot.srdf.disabled == ((("a", "b"), "Never"),)
    with pytest.raises(InputError, match=r"<hydro:srdf>, line 5: 'test\.srdf' is relative to no file"):
        parse_robot(robot_text(A, B, HINGE, naming("test.srdf")), "request")


def test_xacro_arguments_reach_the_srdf_that_a_urdf_names(tmp_path: Path) -> None:
    argument = '<xacro:arg name="tool" default="b"/>'
    hinge = HINGE.replace('link="b"', 'link="$(arg tool)"')
    tag = naming("test.srdf.xacro").replace("<hydro:srdf", '<hydro:srdf xmlns:hydro="urn:hydro-sim"')
    urdf = write_xacro(tmp_path, argument, A, '<link name="$(arg tool)"/>', hinge, tag)
    write_srdf(tmp_path, argument, disable(b="$(arg tool)"), file="test.srdf.xacro")
    robot = load_robot(urdf, xacro_args={"tool": "hook"})
    assert robot.srdf.disabled == ((("a", "hook"), "Never"),)


def test_who_names_another_has_the_last_word(tmp_path: Path) -> None:
    """That of the URDF need not even be there."""
    urdf = write_urdf(tmp_path, A, B, HINGE, naming("none.srdf"))
    other = write_srdf(tmp_path, disable(reason="Adjacent"))
    assert load_robot(urdf, srdf=other).srdf.disabled == ((("a", "b"), "Adjacent"),)


@pytest.mark.parametrize(
    ("tags", "told"),
    [
        ([naming("none.srdf")], "<hydro:srdf>, line 5: 'none.srdf' names no file"),
        ([naming("../../test.srdf")], "is a path outside the package"),
        ([naming("test.txt")], "unknown file type '.txt'; name a .srdf or .xacro file"),
        (["<hydro:srdf/>"], "attribute 'filename' of <hydro:srdf> is missing"),
        (2 * [naming("test.srdf")], "line 6: a second <hydro:srdf>; keep one of the two"),
    ],
)
def test_an_srdf_that_is_not_there_or_not_one_is_told(tmp_path: Path, tags: list[str], told: str) -> None:
    folder = tmp_path / "robot" / "urdf"
    folder.mkdir(parents=True)
    for place in (tmp_path, folder):
        write_srdf(place, disable())
    (folder / "test.txt").touch()
    path = write_urdf(folder, A, B, HINGE, *tags)
    with pytest.raises(InputError) as caught:
        load_robot(path)
    assert told in str(caught.value)


# --- the tag of a URDF


@pytest.mark.parametrize(
    ("tags", "told"),
    [
        (['link1="a" link2="c" law="none"'], "line 5: unknown link 'c'"),
        (
            ['link1="a" link2="b" law="soft"'],
            "unknown law 'soft'; use one of 'equivalent_point', 'none', 'pressure_field'",
        ),
        (['link1="a" link2="b"'], "attribute 'law' of <hydro:contact_pair> is missing"),
        (['link1="a" link2="a" law="none"'], "pairs 'a' with itself"),
        (
            ['link1="a" link2="b" law="none"', 'link1="b" link2="a" law="pressure_field"'],
            "line 6: 'b' and 'a' have two laws; keep one; the other is in <hydro:contact_pair>, line 5",
        ),
    ],
)
def test_a_wrong_tag_is_told(tmp_path: Path, tags: list[str], told: str) -> None:
    path = write_urdf(tmp_path, A, B, HINGE, *(f"<hydro:contact_pair {tag}/>" for tag in tags))
    with pytest.raises(InputError) as caught:
        load_robot(path)
    assert told in str(caught.value)
