"""Repairs that only a world can tell the need of: masses for what moves none, and mesh files that hold nothing."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from support.command_line import call, refused
from support.description.urdf_text import robot_text, write_urdf

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: it needs NumPy 2")

BOX = '<collision><origin xyz="0 0 0.1"/><geometry><box size="0.1 0.2 0.3"/></geometry></collision>'
#: Of a box of 6 kg.
BOX_INERTIA = np.diag([0.065, 0.05, 0.025])


def joint(name, parent, child, kind="revolute", axis="0 1 0", extra=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.1 0 0.2"/><axis xyz="{axis}"/>'
        f'<limit lower="-3" upper="3" effort="50" velocity="5"/>{extra}</joint>'
    )


def inertial(mass, *moments, origin="0 0 0"):
    values = " ".join(f'i{name}="{moment}"' for name, moment in zip(("xx", "yy", "zz"), moments, strict=True))
    return (
        f'<inertial><origin xyz="{origin}"/><mass value="{mass}"/>'
        f'<inertia {values} ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def link(name, *inner):
    return f'<link name="{name}">{"".join(inner)}</link>'


def inertial_of(world, name):
    (found,) = (one.inertial for robot in world.scene.robots for one in robot.links if one.name == name)
    return found


@pytest.mark.parametrize(
    ("frame", "part", "repaired", "mass"),
    [
        ((), (BOX,), "part", 6.0),
        ((), (inertial(3, 0, 0, 0, origin="-0.1 0 -0.2"), BOX), "part", 3.0),  # a point of the axis
        ((BOX,), (BOX,), "frame", 6.0),
        ((inertial(3, 0, 0, 0),), (BOX,), "frame", 3.0),  # a second mass would make it heavier
    ],
    ids=["shape", "point and shape", "shapes", "point beside shape"],
)
def test_what_is_welded_to_a_frame_behind_a_joint_tells_its_inertia(tmp_path, frame, part, repaired, mass):
    path = write_urdf(
        tmp_path,
        link("base"), link("frame", *frame), link("part", *part), link("other", inertial(1, 1, 1, 1)),
        joint("a", "base", "frame"), joint("b", "frame", "part", "fixed"), joint("c", "base", "other"),
    ).rename(tmp_path / "arm.urdf")  # fmt: skip
    world = hs.load_urdf(path)
    (repair,) = world.scene.robots[0].repairs
    assert repair.element == f"link '{repaired}'"
    assert world.built.assembly.tree.mass[0] == pytest.approx(mass)
    assert call("check", path, "--repaired", tmp_path / "whole.urdf").exit_code == 0
    again = hs.load_urdf(tmp_path / "whole.urdf", repair="strict")
    np.testing.assert_allclose(again.built.assembly.tree.I_BCo, world.built.assembly.tree.I_BCo, rtol=1e-12)


def test_a_robot_without_any_mass_gets_that_of_its_shapes(tmp_path):
    path = write_urdf(
        tmp_path,
        link("base", BOX), link("upper", BOX), link("lower", BOX), link("frame"),
        joint("a", "base", "upper"), joint("b", "upper", "lower"), joint("c", "lower", "frame", "fixed"),
    )  # fmt: skip
    world = hs.load_urdf(path)
    for name in ("upper", "lower"):
        found = inertial_of(world, name)
        assert found.mass == pytest.approx(6.0)
        np.testing.assert_allclose(found.p_LCo, [0.0, 0.0, 0.1], atol=1e-15)
        np.testing.assert_allclose(found.I_LCo, BOX_INERTIA, atol=1e-12)
    assert inertial_of(world, "base") is None
    assert inertial_of(world, "frame") is None
    assert [repair.element for repair in world.scene.robots[0].repairs] == ["link 'upper'", "link 'lower'"]
    assert "took 6 kg, 1000 kg/m^3 of its shapes" in str(world.scene.robots[0].repairs[0])


def test_only_the_link_that_needs_a_mass_gets_one_beside_others_that_have_some(tmp_path, caplog):
    path = write_urdf(
        tmp_path,
        link("base"), link("upper", BOX, inertial(1, 1, 1, 1)), link("lower", BOX), link("tip"),
        joint("a", "base", "upper"), joint("b", "upper", "lower"), joint("c", "lower", "tip"),
    )  # fmt: skip
    world = hs.load_urdf(path)
    assert inertial_of(world, "lower") is None  # what carries a mass moves some
    tip = inertial_of(world, "tip")
    assert tip.mass == pytest.approx(1e-3)
    np.testing.assert_allclose(tip.I_LCo, 0.4 * 1e-3 * 0.01**2 * np.eye(3), rtol=1e-12)
    (line,) = [record.getMessage() for record in caplog.records if "1 repair " in record.getMessage()]
    assert (
        "link 'tip': joint 'c' moves no inertia, so its acceleration has no bound: took 0.001 kg, a ball"
        in line
    )
    world.step(10)
    assert np.isfinite(world.v).all()


@pytest.mark.parametrize(("start", "repaired"), [(0.8, []), (0.0, ["link 'roll'"])])
def test_a_wrist_gets_mass_where_it_has_none_at_its_start(tmp_path, start, repaired):
    """Bent, it got some for zero, where the axes of its first joint and its last are one."""
    hinges = joint("a", "base", "roll", axis="0 0 1"), joint("b", "roll", "pitch", axis="1 0 0")
    hinges += (joint("c", "pitch", "tool", axis="0 0 1"),)
    path = write_urdf(
        tmp_path,
        link("base"), link("roll"), link("pitch"), link("tool", BOX, inertial(1, 1, 1, 1)),
        *(hinge.replace('xyz="0.1 0 0.2"', 'xyz="0 0 0"') for hinge in hinges),
    )  # fmt: skip
    world = hs.World(hs.SceneBuilder("s").add_urdf(path, positions={"b": start}, repair="silent").build())
    assert [repair.element for repair in world.scene.robots[0].repairs] == repaired
    world.step(10)
    assert np.isfinite(world.v).all()


def test_a_mass_in_a_point_on_its_axis_is_spread_over_the_shapes(tmp_path):
    point = inertial(3, 0, 0, 0)
    path = write_urdf(tmp_path, link("base"), link("wheel", BOX, point), joint("a", "base", "wheel"))
    found = inertial_of(hs.load_urdf(path), "wheel")
    assert found.mass == 3.0
    np.testing.assert_array_equal(found.p_LCo, np.zeros(3))
    np.testing.assert_allclose(found.I_LCo, 0.5 * BOX_INERTIA, atol=1e-12)


def test_strict_refuses_and_silent_is_silent(tmp_path, caplog):
    path = write_urdf(tmp_path, link("base"), link("wheel", BOX), joint("a", "base", "wheel"))
    with pytest.raises(hs.InputError, match=r"link 'wheel': joint 'a' moves no inertia"):
        hs.load_urdf(path, repair="strict")
    hs.load_urdf(path, repair="silent")
    assert not caplog.records


def test_scenes_say_for_each_model_whether_it_is_repaired(tmp_path):
    write_urdf(tmp_path, link("base"), link("wheel", BOX), joint("a", "base", "wheel"))
    scene = "name: two\nmodels:\n- {name: one, urdf: test.urdf, prefix: l_}\n"
    scene += "- {name: other, urdf: test.urdf, repair: %s}\n"
    (tmp_path / "scene.yaml").write_text(scene % "silent")
    world = hs.load_scene(tmp_path / "scene.yaml")
    assert inertial_of(world, "l_wheel").mass == inertial_of(world, "wheel").mass == pytest.approx(6.0)
    (tmp_path / "scene.yaml").write_text(scene % "strict")
    with pytest.raises(hs.InputError, match="link 'wheel': joint 'a' moves no inertia"):
        hs.load_scene(tmp_path / "scene.yaml")


def test_a_collision_mesh_that_holds_nothing_is_left_out(tmp_path):
    """Of two shapes in one line of the file the other one stays."""
    (tmp_path / "nothing.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 0 0\nf 1 2 3\n")
    mesh = '<collision><geometry><mesh filename="nothing.obj"/></geometry></collision>'
    path = write_urdf(
        tmp_path, link("base", mesh, BOX), link("wheel", inertial(1, 1, 1, 1)), joint("a", "base", "wheel")
    )
    with pytest.raises(hs.InputError, match=r"link 'base', <collision>, line 2: .*nothing\.obj: has "):
        hs.load_urdf(path, repair="strict")
    world = hs.load_urdf(path)
    (robot,) = world.scene.robots
    assert [one.shape.kind for one in robot.links[0].collisions] == ["box"]
    (repair,) = robot.repairs
    assert (repair.element, repair.became) == ("link 'base', <collision>, line 2", "left it out")
    assert call("check", path, "--repaired", tmp_path / "whole.urdf").exit_code == 0
    assert hs.load_urdf(tmp_path / "whole.urdf", repair="strict").scene.robots[0].links[0].collisions


def test_a_massless_body_that_floats_gets_a_mass(tmp_path):
    world = hs.load_urdf(write_urdf(tmp_path, link("block", BOX)), fixed_base=False)
    assert inertial_of(world, "block").mass == pytest.approx(6.0)
    world.step(100)
    assert world.v[5] == pytest.approx(-0.981)


FAULTY = robot_text(
    link("base", inertial(0, 1, 1, 1)),
    link("upper", BOX, inertial(2, 0.1, 0.1, 0.5, origin="0.05 0.02 0.1")),
    link(
        "fore", '<collision><geometry><box size="0 0 0"/></geometry></collision>', inertial(1, -0.1, 0.2, 0.2)
    ),
    link("hand", BOX),
    link("eye"),
    joint("a", "base", "upper"),
    joint("b", "upper", "fore", axis="1 2 0").replace('lower="-3" upper="3"', 'lower="3" upper="-3"'),
    joint("c", "fore", "hand", axis="0 0 1").replace('velocity="5"', 'velocity="-5"'),
    joint("d", "hand", "eye", "fixed", extra='<mimic joint="a"/>'),
    '<transmission name="t"><joint name="a"/><hardwareInterface>kept</hardwareInterface></transmission>',
)


def test_the_file_that_check_writes_has_the_same_dynamics_in_pinocchio(tmp_path):
    """Pinocchio reads it with its own parser; it repairs nothing."""
    (tmp_path / "arm.urdf").write_text(FAULTY)
    printed = call("check", tmp_path / "arm.urdf", "--repaired", tmp_path / "whole.urdf").stdout
    assert "Repairs of robot files" in printed
    model = pin.buildModelFromUrdf(str(tmp_path / "whole.urdf"))
    data = model.createData()
    world = hs.load_urdf(tmp_path / "arm.urdf")
    assert world.velocity_names == tuple(model.names[1:])
    draws = np.random.default_rng(0)
    for _ in range(20):
        q, v = draws.uniform(-2, 2, model.nq), draws.normal(size=model.nv)
        world.set_state(q, v)
        M = pin.crba(model, data, q)
        np.testing.assert_allclose(world.mass_matrix(), np.triu(M) + np.triu(M, 1).T, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(world.bias_forces(), pin.nle(model, data, q, v), rtol=1e-9, atol=1e-9)


def test_the_file_that_check_writes_needs_no_repair_and_keeps_the_rest(tmp_path):
    (tmp_path / "arm.urdf").write_text(FAULTY)
    assert call("check", tmp_path / "arm.urdf", "--repaired", tmp_path / "whole.urdf").exit_code == 0
    before, after = (
        hs.load_urdf(tmp_path / "arm.urdf"),
        hs.load_urdf(tmp_path / "whole.urdf", repair="strict"),
    )
    assert before.scene.robots[0].repairs
    assert after.scene.robots[0].repairs == ()
    np.testing.assert_allclose(after.mass_matrix(), before.mass_matrix(), rtol=1e-12)
    text = (tmp_path / "whole.urdf").read_text()
    assert "<hardwareInterface>kept</hardwareInterface>" in text
    assert text.startswith("<!--")
    for repair in before.scene.robots[0].repairs:
        assert str(repair) in text


def test_check_refuses_a_faulty_file_where_it_shall_and_a_scene_has_no_repaired_file(tmp_path):
    (tmp_path / "arm.urdf").write_text(FAULTY)
    line = refused(call("check", tmp_path / "arm.urdf", "--repair", "strict"))
    assert "joint 'b', <limit>, line 8: lower limit 3 is above upper limit -3" in line
    assert "for robot files only" in refused(call("check", "drop_box", "--repaired", tmp_path / "x.urdf"))
    changed = "--set", "models.0.prefix=left_", "--repaired", tmp_path / "x.urdf"
    assert "leave one of the two out" in refused(call("check", tmp_path / "arm.urdf", *changed))
    assert not (tmp_path / "x.urdf").exists()
    (tmp_path / "x.urdf").touch()
    assert "exists already" in refused(
        call("check", tmp_path / "arm.urdf", "--repaired", tmp_path / "x.urdf")
    )
