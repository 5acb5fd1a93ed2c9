"""What cannot be in a robot file is repaired by a rule, told, or refused where a user says so."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import scipy

from hydro_sim_core.description import load_robot
from hydro_sim_core.description.inertia import nearest_inertia
from hydro_sim_core.description.repaired_file import repaired_urdf
from hydro_sim_core.description.spec import ShapeSpec
from hydro_sim_core.errors import InputError
from support.description.urdf_text import HINGE, collision, inertial, robot_text, write_urdf

A, B = '<link name="a"/>', '<link name="b"/>'
BOX = '<box size="1 1 1"/>'
WITHOUT_LIMITS = HINGE.replace('<limit lower="-1" upper="1" effort="5" velocity="2"/>', "")
SQUARE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
#: Goes from 0 to -1 while the hinge goes from 0 to 1, says its mimic, and from 1 to 2, say its limits.
FOLLOWER = (
    '<joint name="follower" type="revolute"><parent link="a"/><child link="c"/><axis xyz="0 0 1"/>'
    '<limit lower="1" upper="2" effort="5" velocity="2"/><mimic joint="hinge" multiplier="-1"/></joint>'
)


def limits(**given):
    return HINGE.replace(
        'lower="-1" upper="1"', " ".join(f'{name}="{value}"' for name, value in given.items())
    )


def visual(geometry, name="seen", material=""):
    return f'<visual name="{name}"><geometry>{geometry}</geometry>{material}</visual>'


#: elements, place of the repair, what became of it, and what the robot then has.
REPAIRED = {
    "mass of zero": (
        [f'<link name="a">{inertial(mass="0")}</link>'],
        "link 'a', <mass>, line 2", "took it for a frame", lambda robot: robot.links[0].inertial, None,
    ),
    "mass below zero": (
        [f'<link name="a">{inertial(mass="-2")}</link>'],
        "link 'a', <mass>, line 2", "took it for a frame", lambda robot: robot.links[0].inertial, None,
    ),
    "triangle inequality": (
        [f'<link name="a">{inertial(izz="2.3")}</link>'],
        "link 'a', <inertia>, line 2", "1.1, 1.1, 2.2 kg m^2",
        lambda robot: np.round(robot.links[0].inertial.I_LCo, 12).tolist(), np.diag([1.1, 1.1, 2.2]).tolist(),
    ),
    "two collisions of one name": (
        [f'<link name="a"><collision name="x"><geometry>{BOX}</geometry></collision>'
         f'<collision name="x_2"><geometry>{BOX}</geometry></collision>'
         f'<collision name="x"><geometry>{BOX}</geometry></collision></link>'],
        "link 'a', <collision>, line 2", "took 'x_3' for the second",
        lambda robot: [one.name for one in robot.links[0].collisions], ["x", "x_2", "x_3"],
    ),
    "box of no size": (
        [collision('<box size="0 0 0"/>')],
        "link 'a', <box>, line 2", "left it out", lambda robot: robot.links[0].collisions, (),
    ),
    "cylinder of no length": (
        [collision('<cylinder radius="2" length="0"/>')],
        "link 'a', <cylinder>, line 2", "took 0.02 m for 0",
        lambda robot: robot.links[0].collisions[0].shape, ShapeSpec("cylinder", (2.0, 0.02)),
    ),
    "sphere of no size that is seen": (
        [f'<link name="a">{visual("<sphere radius="+chr(34)+"0"+chr(34)+"/>")}</link>'],
        "link 'a', <sphere>, line 2", "left it out", lambda robot: robot.links[0].visuals, (),
    ),
    "revolute without limits": (
        [A, B, WITHOUT_LIMITS],
        "joint 'hinge', line 4", "took it for continuous", lambda robot: robot.joints[0].type, "continuous",
    ),
    "revolute without ends": (
        [A, B, limits()],
        "joint 'hinge', <limit>, line 4", "took it for continuous",
        lambda robot: (robot.joints[0].type, robot.joints[0].limits.effort), ("continuous", 5.0),
    ),
    "prismatic without limits": (
        [A, B, WITHOUT_LIMITS.replace("revolute", "prismatic")],
        "joint 'hinge', line 4", "took -10000 m and 10000 m",
        lambda robot: (robot.joints[0].limits.lower, robot.joints[0].limits.upper), (-1e4, 1e4),
    ),
    "limits swapped": (
        [A, B, limits(lower=1, upper=-1)],
        "joint 'hinge', <limit>, line 4", "swapped them",
        lambda robot: (robot.joints[0].limits.lower, robot.joints[0].limits.upper), (-1.0, 1.0),
    ),
    "planar joint with ends": (
        [A, B, limits(lower=-1, upper=1).replace("revolute", "planar")],
        "joint 'hinge', <limit>, line 4", "took none",
        lambda robot: (robot.joints[0].limits.lower, robot.joints[0].limits.upper), (-np.inf, np.inf),
    ),
    "mimic joint that locks the one that it follows": (
        [A, B, HINGE, '<link name="c"/>', FOLLOWER],
        "joint 'follower', <limit>, line 6", "took -1 to 1",
        lambda robot: (robot.joints[1].limits.lower, robot.joints[1].limits.upper), (-1.0, 1.0),
    ),
    "velocity below zero": (
        [A, B, HINGE.replace('velocity="2"', 'velocity="-1"')],
        "joint 'hinge', <limit>, line 4", "took none", lambda robot: robot.joints[0].limits.velocity, np.inf,
    ),
    "effort below zero": (
        [A, B, HINGE.replace('effort="5"', 'effort="-1"')],
        "joint 'hinge', <limit>, line 4", "took none", lambda robot: robot.joints[0].limits.effort, np.inf,
    ),
    "axis without numbers": (
        [A, B, HINGE.replace('xyz="0 0 1"', "")],
        "joint 'hinge', <axis>, line 4", "took 1 0 0",
        lambda robot: robot.joints[0].axis.tolist(), [1.0, 0.0, 0.0],
    ),
    "a weld that mimics": (
        [A, B, HINGE.replace("revolute", "fixed").replace("<limit", '<mimic joint="hinge"/><limit')],
        "joint 'hinge', <mimic>, line 4", "left its mimic out", lambda robot: robot.joints[0].mimic, None,
    ),
    "material that is nowhere": (
        [f'<link name="a">{visual(BOX, material="<material name=" + chr(34) + "m" + chr(34) + "/>")}</link>'],
        "link 'a', <material>, line 2", "took grey", lambda robot: robot.links[0].visuals[0].rgba, None,
    ),
    "two materials": (
        ['<link name="a">' + visual(BOX, material="".join(
            f'<material name="m{i}"><color rgba="{i} 0 0 1"/></material>' for i in (1, 0))) + "</link>"],
        "link 'a', <material>, line 2", "took the first",
        lambda robot: robot.links[0].visuals[0].rgba, (1.0, 0.0, 0.0, 1.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "followed", [WITHOUT_LIMITS, WITHOUT_LIMITS.replace("revolute", "prismatic")], ids=["turns", "slides"]
)
def test_limits_of_a_mimic_joint_bound_one_without_ends(tmp_path, followed):
    """The joint that is followed gets ends far away or none, of which any range is a small part."""
    path = write_urdf(tmp_path, A, B, followed, '<link name="c"/>', FOLLOWER)
    robot = load_robot(path, repair="silent")
    limits = robot.joints[1].limits
    assert (limits.lower, limits.upper) == (1.0, 2.0)
    assert [repair.element for repair in robot.repairs] == ["joint 'hinge', line 4"]


def test_a_mimic_joint_whose_own_limits_are_none_is_written_with_numbers(tmp_path):
    """It follows a joint without ends from 0 to 0, so they are repaired to those of that joint, which are none."""
    follower = FOLLOWER.replace('lower="1" upper="2"', 'lower="0" upper="0"')
    path = write_urdf(tmp_path, A, B, HINGE.replace("revolute", "continuous"), '<link name="c"/>', follower)
    robot = load_robot(path, repair="silent")
    (tmp_path / "whole.urdf").write_text(repaired_urdf(robot))
    again = load_robot(tmp_path / "whole.urdf", repair="strict")
    assert again.joints[1].limits == robot.joints[1].limits
    assert robot.joints[1].limits.upper >= 1e6


@pytest.mark.parametrize("case", REPAIRED)
def test_what_cannot_be_is_repaired_and_told_or_refused(tmp_path, case):
    elements, place, became, found, expected = REPAIRED[case]
    path = write_urdf(tmp_path, *elements)
    robot = load_robot(path, repair="silent")
    assert found(robot) == expected
    (repair,) = robot.repairs
    assert repair.element == place
    assert became in repair.became
    with pytest.raises(InputError) as refused:
        load_robot(path, repair="strict")
    assert (refused.value.element, refused.value.problem) == (repair.element, repair.was)


def test_a_robot_without_a_name_has_that_of_its_file(tmp_path):
    (tmp_path / "arm.urdf").write_text(f"<robot>{A}</robot>")
    robot = load_robot(tmp_path / "arm.urdf")
    assert (robot.name, robot.repairs[0].became) == ("arm", "took 'arm'")


def test_a_file_without_faults_has_no_repairs(tmp_path, caplog):
    assert load_robot(write_urdf(tmp_path, f'<link name="a">{inertial()}</link>')).repairs == ()
    assert not caplog.records


def nearest_by_search(inertia):
    """Search over second moments S = L L^T, of which every physical inertia is tr(S) - S, from several starts."""

    def of_factor(numbers):
        L = np.zeros((3, 3))
        L[np.tril_indices(3)] = numbers
        S = L @ L.T
        return np.trace(S) * np.eye(3) - S

    def distance(numbers):
        return ((of_factor(numbers) - inertia) ** 2).sum()

    starts = np.random.default_rng(1).normal(size=(8, 6))
    found = [
        scipy.optimize.minimize(distance, start, method="BFGS", options={"gtol": 1e-10}) for start in starts
    ]
    return of_factor(min(found, key=lambda one: one.fun).x)


@pytest.mark.parametrize("seed", range(12))
def test_the_inertia_that_is_taken_is_the_nearest_that_there_is(seed):
    """Independently: a search over mass distributions finds none that is nearer, and the same one."""
    draws = np.random.default_rng(seed)
    half = draws.normal(size=(3, 3))
    inertia = half + half.T + (seed % 3) * np.eye(3)  # some are negative, some nearly possible
    found, searched = nearest_inertia(inertia), nearest_by_search(inertia)
    np.testing.assert_allclose(found, searched, atol=2e-4)
    assert np.linalg.norm(found - inertia) <= np.linalg.norm(searched - inertia) + 1e-9
    small, middle, large = np.linalg.eigvalsh(found)
    assert large <= small + middle + 1e-12


def test_a_possible_inertia_stays(tmp_path):
    inertia = np.array([[2.0, 0.1, -0.2], [0.1, 1.5, 0.05], [-0.2, 0.05, 1.0]])
    np.testing.assert_allclose(nearest_inertia(inertia), inertia, atol=1e-15)


def faulty(count):
    return [f'<link name="l{i}">{inertial(izz="3")}</link>' for i in range(count)] + [
        f'<joint name="j{i}" type="fixed"><parent link="l0"/><child link="l{i}"/></joint>'
        for i in range(1, count)
    ]


def test_one_warning_tells_of_many_repairs(tmp_path, caplog):
    path = write_urdf(tmp_path, *faulty(5))
    load_robot(path)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    line = record.getMessage()
    assert line.startswith(
        f"{path}: 5 repairs (repair: strict refuses them, and hydro-sim check lists them): link 'l0'"
    )
    assert line.endswith("2 more")
    assert line.count("triangle inequality") == 3


def test_silent_repairs_are_not_told(tmp_path, caplog):
    assert len(load_robot(write_urdf(tmp_path, *faulty(2)), repair="silent").repairs) == 2
    assert not caplog.records


@pytest.mark.parametrize("repair", ["no", None, 3])
def test_an_unknown_policy_is_refused(tmp_path, repair):
    with pytest.raises(InputError, match=r"repair: .* does not fit; give strict, warn or silent"):
        load_robot(write_urdf(tmp_path, A), repair=repair)


def test_what_is_no_number_or_absurd_has_no_repair(tmp_path):
    for attributes in ({"izz": "nan"}, {"izz": "1e300"}, {"mass": "heavy"}):
        with pytest.raises(InputError):
            load_robot(write_urdf(tmp_path, f'<link name="a">{inertial(**attributes)}</link>'))


@pytest.mark.parametrize("uri", ["gone.stl", "package://nowhere/part.stl", "part.step"])
@pytest.mark.parametrize("repair", ["strict", "warn"])
def test_a_link_whose_visual_mesh_cannot_be_had_looks_like_its_collision_shape(tmp_path, caplog, uri, repair):
    seen = visual(f'<mesh filename="{uri}"/>')
    touches = f'<collision name="shell"><geometry>{BOX}</geometry></collision>'
    robot = load_robot(write_urdf(tmp_path, f'<link name="a">{seen}{touches}</link>'), repair=repair)
    (drawn,) = robot.links[0].visuals
    assert (drawn.name, drawn.shape) == ("shell", ShapeSpec("box", (1.0, 1.0, 1.0)))
    assert robot.repairs == ()
    (record,) = caplog.records
    assert (
        "visual shapes of 1 link cannot be had, and are drawn as the collision shapes" in record.getMessage()
    )


def test_a_collision_mesh_that_cannot_be_had_has_the_shape_that_is_seen(tmp_path):
    seen = visual('<mesh filename="gone.stl"/>', "first") + visual('<sphere radius="0.2"/>', "ball")
    path = write_urdf(
        tmp_path,
        f'<link name="a">{seen}<collision><geometry><mesh filename="gone.stl"/></geometry></collision></link>',
    )
    robot = load_robot(path)
    assert robot.links[0].collisions[0].shape == ShapeSpec("sphere", (0.2,))
    (repair,) = robot.repairs
    assert "names no file" in repair.was
    assert repair.became == "took the shape of the visual 'ball'"
    with pytest.raises(InputError, match="names no file"):
        load_robot(path, repair="strict")


def test_a_collision_mesh_that_cannot_be_had_is_refused_where_nothing_is_seen(tmp_path):
    """A forgotten --package-dir must not make a robot that passes through things."""
    with pytest.raises(
        InputError, match=r"no package 'nowhere'; pass the folder that holds it in package_dirs"
    ):
        load_robot(write_urdf(tmp_path, collision('<mesh filename="package://nowhere/part.stl"/>')))


@pytest.mark.parametrize(
    "uri",
    [
        "package://vendor/arms/blue_arm/meshes/part.obj",
        "package://other_name/meshes/part.obj",
        "package://beside/part.obj",
    ],
)
def test_a_mesh_is_found_where_the_end_of_its_path_is(tmp_path, uri):
    for folder in (tmp_path / "blue_arm" / "meshes", tmp_path / "beside"):
        folder.mkdir(parents=True)
        (folder / "part.obj").write_text(SQUARE)
    (tmp_path / "blue_arm" / "urdf").mkdir()
    path = write_urdf(tmp_path / "blue_arm" / "urdf", collision(f'<mesh filename="{uri}"/>'))
    (repair,) = load_robot(path).repairs
    found = load_robot(path).links[0].collisions[0].shape.path
    assert found.is_file()
    assert repair.became == f"took {found}"
    with pytest.raises(InputError):
        load_robot(path, repair="strict")


def test_a_visual_mesh_in_another_folder_is_not_taken_and_refuses_nothing_where_nothing_is_repaired(tmp_path):
    (tmp_path / "arm" / "meshes").mkdir(parents=True)
    (tmp_path / "arm" / "urdf").mkdir()
    (tmp_path / "arm" / "meshes" / "part.obj").write_text(SQUARE)
    seen = visual('<mesh filename="package://other/meshes/part.obj"/>')
    path = write_urdf(tmp_path / "arm" / "urdf", f'<link name="a">{seen}</link>')
    assert load_robot(path, repair="strict").links[0].visuals == ()
    assert load_robot(path).links[0].visuals[0].shape.path.name == "part.obj"


def test_a_mesh_is_found_in_the_one_folder_of_meshes_that_has_it(tmp_path):
    for robot in ("small", "large"):
        (tmp_path / "arm" / "meshes" / robot / "collision").mkdir(parents=True)
    (tmp_path / "arm" / "urdf").mkdir()
    part = tmp_path / "arm" / "meshes" / "small" / "collision" / "part.obj"
    part.write_text(SQUARE)
    path = write_urdf(tmp_path / "arm" / "urdf", collision('<mesh filename="package://collision/part.obj"/>'))
    assert load_robot(path).links[0].collisions[0].shape.path == part
    (tmp_path / "arm" / "meshes" / "large" / "collision" / "part.obj").write_text(SQUARE)
    with pytest.raises(InputError, match="no package 'collision'"):  # nobody knows which of the two
        load_robot(path)
    namesake = path.rename(path.with_name("large.urdf"))
    assert load_robot(namesake).links[0].collisions[0].shape.path.parts[-3] == "large"


def test_a_mesh_is_not_looked_for_at_the_root_of_the_disk_or_by_its_name_alone(tmp_path):
    (tmp_path / "part.obj").write_text(SQUARE)
    outside = tmp_path / "outside" / "part.obj"
    outside.parent.mkdir()
    outside.write_text(SQUARE)
    (tmp_path / "a" / "b" / "c" / "d" / "e" / "f" / "g").mkdir(parents=True)
    far = tmp_path / "a" / "b" / "c" / "d" / "e" / "f" / "g"
    for uri in (
        f"package://nowhere/{outside}",
        "package://part.obj",
        "package://nowhere/../outside/part.obj",
    ):
        with pytest.raises(InputError):
            load_robot(write_urdf(far, collision(f'<mesh filename="{uri}"/>')))


def test_text_has_repairs_too():
    from hydro_sim_core.description import parse_robot

    text = robot_text(f'<link name="a">{inertial(izz="3")}</link>')
    assert len(parse_robot(text, "text").repairs) == 1
    with pytest.raises(InputError, match="triangle inequality"):
        parse_robot(text, "text", repair="strict")
