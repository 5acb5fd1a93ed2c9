"""What URDFs say to Gazebo, Drake, PyBullet and others: used, refused with the mend, or ignored in so many words."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydro_sim_core.description import load_robot, parse_robot
from hydro_sim_core.description.spec import RobotSpec
from hydro_sim_core.errors import InputError
from support.description.urdf_text import HINGE, collision, robot_text, write_urdf

BOX = '<box size="1 1 1"/>'
SOLID = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"


def link(name: str, tags: str = "") -> str:
    geometry = f"<collision><geometry>{BOX}</geometry>{tags}</collision>"
    return f'<link name="{name}">{SOLID}{geometry}</link>'


A, B = link("a"), link("b")
ABOVE = "<drake:mu_static value='0.9'/><drake:mu_dynamic value='0.5'/>"


def read(*elements: str, ignore: tuple[str, ...] = ()) -> RobotSpec:
    return parse_robot(robot_text(*elements), "r.urdf", ignore=ignore)


def of_gazebo(tags: str, reference: str = "b") -> RobotSpec:
    return read(A, B, HINGE, f'<gazebo reference="{reference}">{tags}</gazebo>')


def refusal(*elements: str, ignore: tuple[str, ...] = ()) -> InputError:
    with pytest.raises(InputError) as caught:
        read(*elements, ignore=ignore)
    return caught.value


# --- used


@given(mu=st.floats(0.0, 1e5), kp=st.floats(1e-2, 1e14), kd=st.floats(0.0, 1e4))
def test_friction_and_stiffness_of_gazebo(mu: float, kp: float, kd: float) -> None:
    """A damper beside a spring relaxes in kd / kp."""
    text = f"<mu1>{mu!r}</mu1><mu2 value='{mu!r}'/><kp>{kp!r}</kp><kd>{kd!r}</kd><fdir1>1 0 0</fdir1>"
    root, moving = of_gazebo(text).links
    proximity = moving.collisions[0].proximity
    assert (proximity.mu_dynamic, proximity.point_stiffness) == (mu, kp)
    assert proximity.relaxation_time == kd / kp
    assert root.collisions[0].proximity.mu_dynamic is None


def test_friction_without_end_is_as_much_as_there_may_be() -> None:
    """Files write 1e14 for wheels and feet that never slip."""
    _, moving = of_gazebo("<mu1>1e14</mu1><mu2>1e15</mu2>").links
    assert moving.collisions[0].proximity.mu_dynamic == 1e6


def test_a_geometry_s_own_properties_outrank_gazebo_s_and_these_bullet_s() -> None:
    own = (
        "<drake:proximity_properties><drake:mu_dynamic value='0.3'/><drake:hydroelastic_modulus value='1e6'/>"
        "</drake:proximity_properties>"
    )
    contact = "<contact><lateral_friction value='0.7'/><stiffness value='100'/><damping value='5'/></contact>"
    bullet = link("a").replace("</link>", f"{contact}</link>")
    block = '<gazebo reference="b"><mu1>0.9</mu1><mu2>0.9</mu2><kp>1e5</kp></gazebo>'
    robot = read(
        bullet, link("b", own), HINGE, block, block.replace('"b"', '"a"').replace("<kp>1e5</kp>", "")
    )
    a, b = (one.collisions[0].proximity for one in robot.links)
    assert (b.mu_dynamic, b.modulus, b.point_stiffness) == (0.3, 1e6, None)
    assert (a.mu_dynamic, a.point_stiffness, a.relaxation_time) == (0.9, 100.0, 0.05)


@pytest.mark.parametrize("place", ["</collision>", "</link>"])
def test_the_surface_of_sdf(place: str, caplog: pytest.LogCaptureFixture) -> None:
    """No other reader of URDFs looks at it; the driver of a well-known gripper has it on its finger tips."""
    ode = "<friction><ode><mu1>1e5</mu1><mu2>1e5</mu2></ode></friction>"
    ode += "<contact><ode><kp>1e+5</kp><kd>1</kd><soft_cfm>0</soft_cfm><maxVel>0</maxVel></ode></contact>"
    (one,) = read(link("a").replace(place, f"<surface>{ode}</surface>{place}")).links
    proximity = one.collisions[0].proximity
    assert (proximity.mu_dynamic, proximity.point_stiffness, proximity.relaxation_time) == (1e5, 1e5, 1e-5)
    assert caplog.records == []
    odd = link("a").replace(place, f"<surface>{ode.replace('<kd>1', '<kd>-1')}</surface>{place}")
    assert "<kd>, line 2: -1 is negative" in str(refusal(odd))


def test_springs_and_stops_of_joints() -> None:
    tags = "<springStiffness>4</springStiffness><springReference>-0.5</springReference><stopKp>1e4</stopKp>"
    (joint,) = of_gazebo(tags + "<implicitSpringDamper>1</implicitSpringDamper>", "hinge").joints
    assert (joint.spring_stiffness, joint.spring_reference, joint.limits.stiffness) == (4.0, -0.5, 1e4)
    own = HINGE.replace("</joint>", '<dynamics spring_stiffness="7" spring_reference="0.1"/></joint>')
    block = f'<gazebo reference="hinge">{tags}</gazebo>'
    (joint,) = read(A, B, own, block).joints
    assert (joint.spring_stiffness, joint.spring_reference, joint.limits.stiffness) == (7.0, 0.1, 1e4)
    lone = own.replace('spring_stiffness="7" ', "")
    assert "spring_reference without spring_stiffness" in str(refusal(A, B, lone))


@pytest.mark.parametrize(
    ("tags", "has_weight"),
    [
        ("<turnGravityOff>true</turnGravityOff>", False),
        ("<turnGravityOff>false</turnGravityOff>", True),
        ("<gravity>0</gravity>", False),
        ("<gravity>TRUE</gravity>", True),
    ],
)
def test_links_without_weight(tags: str, has_weight: bool) -> None:
    assert [one.has_weight for one in of_gazebo(tags).links] == [True, has_weight]


def test_links_that_touch_no_other_of_their_robot() -> None:
    links = (
        A,
        B,
        link("c"),
        HINGE,
        HINGE.replace("hinge", "second").replace('child link="b"', 'child link="c"'),
    )
    one = read(*links, '<gazebo reference="b"><selfCollide>false</selfCollide></gazebo>')
    pairs = {("a", "b"): "selfCollide false", ("b", "c"): "selfCollide false"}
    assert dict(one.apart) == pairs
    assert {pair for pair, _ in read(*links, "<gazebo><self_collide>0</self_collide></gazebo>").apart} == {
        *pairs,
        ("a", "c"),
    }
    assert read(*links, '<gazebo reference="b"><selfCollide>1</selfCollide></gazebo>').apart == ()


def test_filter_groups_of_drake() -> None:
    """Members of members count, a group may ignore itself, and an ignored group says nothing."""
    links = (
        A,
        B,
        link("c"),
        HINGE,
        HINGE.replace("hinge", "second").replace('child link="b"', 'child link="c"'),
    )
    group = "drake:collision_filter_group"
    text = (
        f'<{group} name="one"><drake:member link="a"/><drake:member_group name="two"/>'
        f'<drake:ignored_collision_filter_group name="one"/></{group}>'
        f'<{group} name="two"><drake:member link="c"/><drake:member_group name="one"/></{group}>'
        f'<{group} name="off" ignore="true"><drake:member link="b"/>'
        f'<drake:ignored_collision_filter_group name="two"/></{group}>'
    )
    assert read(*links, text).apart == ((("a", "c"), "collision_filter_group"),)
    old = text.replace("drake:", "").replace(
        'filter_group name="one"/>', 'filter_group collision_filter_group="one"/>'
    )
    assert read(*links, old).apart == ((("a", "c"), "collision_filter_group"),)
    assert "unknown link 'd'; use one of" in str(refusal(*links, text.replace('link="c"', 'link="d"')))
    assert "unknown group 'twa'" in str(
        refusal(*links, text.replace('_group name="two"/>', '_group name="twa"/>', 1))
    )
    assert "a second group 'two'" in str(refusal(*links, text.replace('"off"', '"two"')))


def test_mimics_of_drake_outrank_the_standard_ones() -> None:
    second = HINGE.replace("hinge", "second").replace('child link="b"', 'child link="c"')
    mimics = '<mimic joint="nobody"/><drake:mimic joint="hinge" multiplier="-2" offset="0.5"/>'
    robot = read(A, B, link("c"), HINGE, second.replace("</joint>", f"{mimics}</joint>"))
    assert robot.joints[1].mimic is not None
    assert (robot.joints[1].mimic.joint, robot.joints[1].mimic.multiplier) == ("hinge", -2.0)


def test_static_friction_alone_is_friction() -> None:
    """As in Drake; and the same number twice is no two."""
    for tags in (
        "<drake:mu_static value='0.4'/>",
        "<drake:mu_static value='0.4'/><drake:mu_dynamic value='0.4'/>",
    ):
        (one,) = read(collision(BOX, tags)).links
        assert one.collisions[0].proximity.mu_dynamic == 0.4


# --- quiet: changes no physics


@pytest.mark.parametrize(
    "block",
    [
        "<gazebo reference='b'><material>Gazebo/Red</material><sensor type='imu' name='i'/></gazebo>",
        "<gazebo><plugin name='p' filename='f.so'><x>1</x></plugin></gazebo>",
        "<gazebo><plugin name='p' filename='m.so'><mimicJoint>other</mimicJoint></plugin></gazebo>",
        "<gazebo reference='b'><maxVel>0.1</maxVel><minDepth>0.001</minDepth><maxContacts>4</maxContacts></gazebo>",
        "<gazebo reference='b'><sensor:camera name='c'><hfov>50</hfov></sensor:camera></gazebo>",
        "<gazebo reference='hinge'><provideFeedback>1</provideFeedback><fudgeFactor>1</fudgeFactor></gazebo>",
        "<gazebo><static>false</static></gazebo><gazebo reference='b'><dampingFactor>0.0</dampingFactor></gazebo>",
        "<gazebo reference='b'><gravity>true</gravity><kinematic>0</kinematic></gazebo>",
        "<mujoco><compiler balanceinertia='true'/></mujoco>",
        "<drake:frame name='f' link='b'/>",
        "<transmission name='t'><joint name='hinge'><mechanicalReduction>50</mechanicalReduction></joint>"
        "<actuator name='m'/></transmission>",
    ],
)
def test_what_changes_no_physics_is_passed_over(block: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        robot = read(A, B, HINGE, block)
    assert caplog.records == []
    assert robot.apart == ()
    assert all(one.has_weight for one in robot.links)


def test_limits_for_controllers_are_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    read(
        A,
        B,
        HINGE.replace("<limit", "<limit acceleration='1' jerk='2' drake:acceleration='3' drake:jerk='4'"),
    )
    soft = "<safety_controller k_velocity='1' soft_lower_limit='0'/><calibration rising='0'/></joint>"
    read(A, B, HINGE.replace("</joint>", soft))
    assert caplog.records == []


def test_a_block_for_nobody_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Gazebo leaves it out without a word."""
    load_robot(write_urdf(tmp_path, A, B, HINGE, "<gazebo reference='handle'><kp>1</kp></gazebo>"))
    (record,) = caplog.records
    assert (
        "<gazebo> is for neither a link nor a joint of the robot, and left out: handle" in record.getMessage()
    )


# --- refused, or ignored in so many words

REFUSED = {
    "gazebo:static": "<gazebo><static>true</static></gazebo>",
    "gazebo:kinematic": "<gazebo reference='b'><kinematic>1</kinematic></gazebo>",
    "gazebo:enable_wind": "<gazebo reference='b'><enable_wind>yes</enable_wind></gazebo>",
    "gazebo:dampingFactor": "<gazebo reference='b'><dampingFactor>0.01</dampingFactor></gazebo>",
    "gazebo:gravity": "<gazebo><gravity>false</gravity></gazebo>",
    "gazebo:joint": "<gazebo><joint name='loop' type='revolute'><parent>a</parent></joint></gazebo>",
    "gazebo:link": "<gazebo><link name='more'/></gazebo>",
    "gazebo:gripper": "<gazebo><gripper name='g'><grasp_check/></gripper></gazebo>",
    "gazebo:mimicJoint": "<gazebo><plugin name='p' filename='libmimic.so'><joint>x</joint><mimicJoint>hinge"
    "</mimicJoint></plugin></gazebo>",
    "gazebo:mu2": "<gazebo reference='b'><mu1>0.5</mu1><mu2>0.2</mu2></gazebo>",
    "gazebo:unheard": "<gazebo reference='b'><unheard>1</unheard></gazebo>",
    "drake:linear_bushing_rpy": "<drake:linear_bushing_rpy><drake:bushing_frameA name='f'/></drake:linear_bushing_rpy>",
    "drake:ball_constraint": "<drake:ball_constraint/>",
    "drake:weld_constraint": "<drake:weld_constraint/>",
    "drake:distance_constraint": "<drake:distance_constraint/>",
    "drake:tendon_constraint": "<drake:tendon_constraint/>",
    "drake:coupler_constraint": "<drake:coupler_constraint/>",
    "drake:linear_spring_damper": "<drake:linear_spring_damper/>",
    "drake:unheard": "<drake:unheard/>",
    "drake:controller_gains": "<transmission name='t'><joint name='hinge'/>"
    "<actuator name='m'><drake:controller_gains p='1' d='1'/></actuator></transmission>",
    "drake:mu_static": link("c", f"<drake:proximity_properties>{ABOVE}</drake:proximity_properties>")
    + HINGE.replace("hinge", "second").replace('child link="b"', 'child link="c"'),
    "loop_joint": "<loop_joint name='l'/>",
    "force_element": "<force_element name='f'/>",
    "cable": "<cable name='c'/>",
}


@pytest.mark.parametrize(("word", "block"), REFUSED.items(), ids=REFUSED)
def test_what_would_change_the_physics_is_refused_with_the_words_that_ignore_it(
    word: str, block: str, caplog: pytest.LogCaptureFixture
) -> None:
    error = refusal(A, B, HINGE, block)
    assert re.search(r"<[\w:]+>, line [567]$", error.element), error.element
    assert error.mend.endswith(
        f", or say that it is to be ignored: --ignore {word} (in a scene, ignore: [{word}])"
    )
    robot = read(A, B, HINGE, block, ignore=(word,))
    assert {one.name for one in robot.links} >= {"a", "b"}
    assert caplog.records == []


@pytest.mark.parametrize("tag", ["restitution", "rolling_friction", "spinning_friction", "inertia_scaling"])
def test_numbers_of_bullet(tag: str, caplog: pytest.LogCaptureFixture) -> None:
    def contact(value: float) -> str:
        quiet = "<contact_cfm value='0'/><contact_erp value='1'/><friction_anchor/>"
        return link("a").replace("</link>", f"<contact>{quiet}<{tag} value='{value}'/></contact></link>")

    assert f"--ignore contact:{tag} (in a scene, ignore: [contact:{tag}])" in refusal(contact(0.5)).mend
    read(contact(0.5), ignore=(f"contact:{tag}",))
    read(contact(1.0 if tag == "inertia_scaling" else 0.0))
    assert caplog.records == []


def test_one_error_names_them_all_and_its_flag_is_copied() -> None:
    blocks = [
        REFUSED[word] for word in ("gazebo:joint", "gazebo:joint", "cable", "gazebo:link", "gazebo:static")
    ]
    error = refusal(A, B, HINGE, *blocks, ignore=("gazebo:static",))
    assert error.element == "<gazebo>, <joint>, line 5"
    assert error.problem == (
        "adds a joint to the robot, and is not used here (and 1 more alike); also: <link> (line 8) adds a link to the "
        "robot, and is not used here; <cable> (line 7) is a tendon, and is not used here"
    )
    found = re.search(r"--ignore (\S+) \(in a scene, ignore: \[(.*)\]\)$", error.mend)
    assert found is not None
    assert (
        found[1].split(",")
        == found[2].split(", ")
        == ["gazebo:static", "gazebo:joint", "gazebo:link", "cable"]
    )
    read(A, B, HINGE, *blocks, ignore=tuple(found[1].split(",")))


def test_a_word_that_ignores_nothing_is_told(caplog: pytest.LogCaptureFixture) -> None:
    read(A, B, HINGE, REFUSED["cable"], ignore=("cable", "gazebo:jiont"))
    (record,) = caplog.records
    assert (
        "r.urdf: ignore: nothing in the file is ignored by gazebo:jiont; leave it out" in record.getMessage()
    )
    with pytest.raises(InputError, match="adds a joint"):
        read(A, B, HINGE, REFUSED["gazebo:joint"], ignore=("gazebo:jiont",))


@pytest.mark.parametrize("words", ["gazebo:kp", ["a b"], [""], [7], {"gazebo:kp"}])
def test_words_are_a_list_of_words(tmp_path: Path, words: object) -> None:
    with pytest.raises(InputError, match=r"ignore: .* does not fit; give a list of words"):
        load_robot(write_urdf(tmp_path, A), ignore=words)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tags", "told"),
    [
        ("<mu1>-1</mu1>", "<gazebo> of 'b', <mu1>, line 5: -1 is negative; write a number of at least 0"),
        ("<mu1>much</mu1>", "<mu1>, line 5: <mu1>: 'much' is not a number"),
        ("<mu1>nan</mu1>", "'nan' is not a finite number"),
        ("<kp>0</kp>", "<kp>, line 5: 0 is not above 0; write a positive number"),
        ("<kp>1e300</kp>", "point stiffness"),
        ("<selfCollide>perhaps</selfCollide>", "<selfCollide> is 'perhaps'; write true or false"),
        ("<static>maybe</static>", "<static> is 'maybe'; write true or false"),
        ("<kp>1</kp><kp>2</kp>", "a second <kp> of another value; keep one of the two"),
    ],
)
def test_bad_values_in_gazebo_s_blocks(tags: str, told: str) -> None:
    assert told in str(refusal(A, B, HINGE, f'<gazebo reference="b">{tags}</gazebo>'))


@pytest.mark.parametrize("by", ["flag", "group", "groups of groups"])
def test_a_small_file_cannot_keep_pairs_without_number_apart(by: str) -> None:
    names = [f"l{i}" for i in range(1100)]
    shape = "<collision><geometry><sphere radius='1'/></geometry></collision>"
    links = [f'<link name="{name}">{shape}</link>' for name in names]
    joints = [
        HINGE.replace("hinge", f"j{one}").replace('"b"', f'"{one}"').replace('"a"', '"l0"')
        for one in names[1:]
    ]
    group = "drake:collision_filter_group"
    members = "".join(f'<drake:member link="{name}"/>' for name in names)
    block = {
        "flag": "<gazebo><self_collide>false</self_collide></gazebo>",
        "group": f'<{group} name="g">{members}<drake:ignored_collision_filter_group name="g"/></{group}>',
        "groups of groups": "".join(
            f'<{group} name="g{i}"><drake:member_group name="g{i + 1}"/></{group}>' for i in range(1500)
        )
        + f'<{group} name="g1500"/>',
    }[by]
    assert "keeps more than 1e+06 pairs of links apart; name fewer" in str(refusal(*links, *joints, block))


def test_the_same_value_twice_is_one() -> None:
    twice = '<gazebo reference="b"><kp>100</kp></gazebo>' * 2
    assert read(A, B, HINGE, twice).links[1].collisions[0].proximity.point_stiffness == 100.0
