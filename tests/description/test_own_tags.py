"""Our own tags in URDFs and their like in SRDFs: what is misspelt or out of place is an error, not left out."""

from __future__ import annotations

from pathlib import Path

import pytest

import hydro_sim_core as hs
from hydro_sim_core.description import load_robot, parse_robot
from hydro_sim_core.errors import InputError
from support.description.urdf_text import HINGE, collision, robot_text, write_urdf

A, B = '<link name="a"/>', '<link name="b"/>'
PAIR = '<hydro:contact_pair link1="a" link2="b" law="none"/>'


def error_of(*elements: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_robot(robot_text(*elements), "r.urdf")
    return str(caught.value)


@pytest.mark.parametrize(
    ("element", "told"),
    [
        (
            f"<gazebo>{PAIR}</gazebo>",
            "<hydro:contact_pair> in <gazebo> is not read: it counts in <robot> only",
        ),
        (
            f'<ros2_control name="x" type="system">{PAIR}</ros2_control>',
            "<hydro:contact_pair> in <ros2_control>",
        ),
        ('<gazebo><hydro:srdf filename="none.srdf"/></gazebo>', "<hydro:srdf> in <gazebo>"),
        (
            f'<gazebo><plugin name="p" filename="f">{PAIR}</plugin></gazebo>',
            "<hydro:contact_pair> in <plugin>",
        ),
        (f'<link name="c">{PAIR}</link>', "<hydro:contact_pair> in <link>"),
        ("<sensor><hydro:grain value='0 0 0'/></sensor>", "<hydro:grain> in <sensor>"),
    ],
)
def test_tags_where_they_are_not_read_are_refused(element: str, told: str) -> None:
    """Blocks for other programs are not looked at, and a tag in them vanished without a word."""
    text = error_of(A, B, HINGE, element)
    assert "r.urdf: " in text
    assert "line 5" in text
    assert told in text
    assert "; move it into " in text


@pytest.mark.parametrize(
    ("element", "told"),
    [
        ('<hydro:contactpair link1="a" link2="b" law="none"/>', "did you mean 'hydro:contact_pair'?"),
        (
            '<hydro:exclude link1="a" link2="b"/>',
            'write <hydro:contact_pair link1="…" link2="…" law="none"/>',
        ),
        (
            '<contact_pair link1="a" link2="b" law="none"/>',
            "unknown tag <contact_pair>; write <hydro:contact_pair …>",
        ),
        (
            PAIR.replace("law=", 'margin="1" law='),
            "unknown attribute 'margin'; use one of 'friction_ellipsoid', 'law', 'link1', 'link2', 'pieces'",
        ),
        (PAIR.replace("law=", "hydro:law="), "unknown attribute 'hydro:law'; write law"),
        ('<joint name="x" hydro:typ="planar"/>', "unknown attribute 'hydro:typ'; did you mean 'hydro:type'?"),
        (
            '<link name="c" hydro:type="planar"/>',
            "attribute hydro:type in <link> is not read: it counts in the <joint>",
        ),
        (
            '<material name="m" hydro:gloss="1"><color rgba="1 0 0 1"/></material>',
            "attribute hydro:gloss in <material> is not read: it counts in the <color>",
        ),
    ],
)
def test_misspelt_tags_are_refused(element: str, told: str) -> None:
    text = error_of(A, B, HINGE, element)
    assert "line 5" in text
    assert told in text


@pytest.mark.parametrize(
    ("tag", "mend"),
    [
        ('<hydro:margin value="1"/>', "write <drake:hydroelastic_margin>"),
        ("<hydro:compliance/>", "write <drake:rigid_hydroelastic/> or <drake:compliant_hydroelastic/>"),
        ('<hydro:slab_thicknes value="1"/>', "did you mean 'hydro:slab_thickness'?"),
    ],
)
def test_misspelt_properties_are_refused(tag: str, mend: str) -> None:
    assert f"; {mend}" in error_of(collision('<box size="1 1 1"/>', tag))


@pytest.mark.parametrize(
    ("tag", "mend"),
    [
        (
            '<drake:mu_dinamic value="0.3"/>',
            "write <drake:mu_dynamic> in <drake:proximity_properties> of a <collision> if that is meant, or say that",
        ),
        ("<drake:complaint_hydroelastic/>", "write <drake:compliant_hydroelastic> in"),
        ('<drake:gear_ratio value="3"/>', "write <drake:gear_ratio> in <actuator> of a <transmission> if"),
        ("<drake:wobble/>", "leave it out, or say that it is to be ignored: --ignore drake:wobble"),
    ],
)
def test_misspelt_and_misplaced_tags_of_drake_tell_what_is_meant(tag: str, mend: str) -> None:
    assert f"is not used here; {mend}" in error_of(collision('<box size="1 1 1"/>', tag))


def test_ours_is_what_has_the_prefix_or_the_namespace() -> None:
    """Whatever the prefix is bound to, as with Drake's, and whichever prefix is bound to our namespace."""
    for prefixes, name in (
        ("", "hydro"),
        ('xmlns:hydro="urn:other"', "hydro"),
        ('xmlns:h="urn:hydro-sim"', "h"),
    ):
        elements = (A, B, HINGE, PAIR.replace("hydro:", f"{name}:"))
        robot = parse_robot(robot_text(*elements, prefixes=prefixes), "r.urdf")
        assert [law.links for law in robot.pair_laws] == [("a", "b")]
    hinge = HINGE.replace("<limit", '<limit h:stiffness="7"').replace("type=", 'h:type="universal" type=')
    text = robot_text(
        A, B, hinge.replace("<axis", "<!--").replace('1"/><limit', '1"--><limit'), prefixes=prefixes
    )
    assert parse_robot(text, "r.urdf").joints[0].type == "universal"
    with pytest.raises(InputError, match="unknown tag <hydro:exclude>"):
        parse_robot(robot_text(A, "<h:exclude/>", prefixes=prefixes), "r.urdf")


def test_a_modulus_beside_rigid_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Drake leaves it out with a warning too, and there are files that have both."""
    tags = '<drake:rigid_hydroelastic/><drake:hydroelastic_modulus value="1e6"/>'
    load_robot(write_urdf(tmp_path, collision('<box size="1 1 1"/>', tags)))
    (record,) = caplog.records
    assert "does nothing beside drake:rigid_hydroelastic: a; remove it, or write" in record.getMessage()


def test_a_slab_of_what_has_none_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_urdf(tmp_path, collision('<box size="1 1 1"/>', '<hydro:slab_thickness value="0.1"/>'))
    hs.load_urdf(path)
    (record,) = caplog.records
    assert f"{path}: a slab_thickness does nothing on what is no half space: 'a_collision_0' of link 'a'" in (
        record.getMessage()
    )


def test_a_slab_of_a_model_without_one_is_refused(tmp_path: Path) -> None:
    path = write_urdf(tmp_path, collision('<box size="1 1 1"/>'))
    text = f"{{name: s, models: [{{name: m, urdf: {path.name}, proximity: {{slab_thickness: 0.1}}}}]}}"
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(
        InputError, match=r"models\.0\.proximity\.slab_thickness: does nothing, as no shape of 'm'"
    ):
        hs.load_scene(tmp_path / "s.yaml")
    scene = hs.load_urdf(path).scene
    with pytest.raises(InputError, match="does nothing, as no shape of"):
        scene.with_({f"models.{scene.spec.models[0].name}.slab_thickness": 0.1})
