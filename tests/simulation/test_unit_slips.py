"""Lengths and inertias in millimetres are told with the number and the mend, and what may be as it is is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

import hydro_sim_core as hs
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.scenes import RobotOptions, open_world
from support.command_line import call
from support.description.urdf_text import write_urdf

MODELS = Path(__file__).parents[2] / "urdf"
RIGID = "<drake:proximity_properties><drake:rigid_hydroelastic/></drake:proximity_properties>"
SMALL = '<collision><geometry><box size="0.06 0.06 0.06"/></geometry></collision>'
STEEL = 7.8e3  #: kg/m^3.


def inertial(mass=0.5, moment=3e-4, xyz="0 0 0"):
    return (
        f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/>'
        f'<inertia ixx="{moment}" iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def mesh(what="collision", scale="", more=RIGID):
    attribute = f' scale="{scale}"' if scale else ""
    inner = more if what == "collision" else ""
    return f'<{what}><geometry><mesh filename="box.stl"{attribute}/></geometry>{inner}</{what}>'


def box(size, what="collision"):
    return f'<{what}><geometry><box size="{size}"/></geometry></{what}>'


def part(folder, *inner, sides=(60.0, 60.0, 60.0)):
    """A robot file of one link, and the mesh of a box next to it."""
    trimesh.creation.box(sides).export(folder / "box.stl")
    return write_urdf(folder, f'<link name="part">{"".join(inner)}</link>')


def told(caplog, path, **options):
    """Warnings of units that come with a world in which the robot of a file moves."""
    caplog.clear()
    hs.load_urdf(path, fixed_base=False, **options)
    return warnings(caplog)


def warnings(caplog):
    return [one.getMessage() for one in caplog.records if one.name.endswith("unit_slips")]


@pytest.mark.parametrize(
    ("sides", "mass", "length", "density"),
    [((60.0, 60.0, 60.0), 0.5, "60 m", "2.3e-06"), ((6.0, 6.0, 6.0), 0.5, "6 m", "0.0023")],
)
def test_a_rigid_mesh_in_millimetres_is_told(tmp_path, caplog, sides, mass, length, density):
    path = part(tmp_path, inertial(mass), mesh(), sides=sides)
    (warning,) = told(caplog, path)
    assert warning.startswith(f"{path}: collision shapes of moving bodies so large")
    assert f"link 'part', {tmp_path / 'box.stl'} is {length} long" in warning
    assert f"of 0.5 kg has {density} kg/m^3 of its box" in warning
    assert 'scale="0.001 0.001 0.001"' in warning
    right = part(tmp_path, inertial(mass), mesh(scale="0.001 0.001 0.001"), sides=sides)
    assert told(caplog, right) == []


@pytest.mark.parametrize("side", [1e-3, 0.05, 1.0])
@pytest.mark.parametrize("fill", [0.01, 1.0])
def test_parts_of_any_usual_size_and_weight_in_millimetres_are_told(tmp_path, caplog, side, fill):
    """Of steel, full, or of a hundredth of it; in metres they are not told."""
    mass = fill * STEEL * side**3
    heavy = inertial(mass, mass * side**2 / 6.0)
    assert told(caplog, part(tmp_path, heavy, mesh(), sides=(1e3 * side,) * 3))
    assert not told(caplog, part(tmp_path, heavy, mesh(), sides=(side,) * 3))


def test_plain_shapes_in_millimetres_are_told(tmp_path, caplog):
    (warning,) = told(caplog, part(tmp_path, inertial(), box("60 60 60")))
    assert "link 'part', part_collision_0 is 60 m long" in warning
    assert "write lengths in m" in warning


def test_check_and_run_tell_it_once(tmp_path, caplog):
    path = part(tmp_path, inertial(), mesh())
    assert call("check", path).exit_code == 0
    assert len(warnings(caplog)) == 1
    caplog.clear()
    assert call("run", path, "--headless", "--duration", 0.002).exit_code == 0
    assert len(warnings(caplog)) == 1
    caplog.clear()
    open_world(str(path), RobotOptions(ground=True))  # which makes two worlds of it
    assert len(warnings(caplog)) == 1


def test_what_is_told_is_not_told_again_of_a_world_that_follows(tmp_path, caplog):
    world = hs.load_urdf(part(tmp_path, inertial(), mesh()), fixed_base=False)
    assert len(warnings(caplog)) == 1
    World(world.scene.with_({"time_step": 2e-3}), like=world)
    assert len(warnings(caplog)) == 1


def test_silent_repairs_are_silent_of_units_too(tmp_path, caplog):
    assert told(caplog, part(tmp_path, inertial(), mesh()), repair="silent") == []


def test_a_visual_mesh_in_millimetres_is_told_by_check(tmp_path, caplog):
    path = part(tmp_path, inertial(), mesh("visual"), SMALL)
    assert call("check", path).exit_code == 0
    (warning,) = warnings(caplog)
    assert warning.startswith(f"{path}: visual shapes of moving bodies so large")
    assert f"link 'part', {tmp_path / 'box.stl'} is 60 m long" in warning
    caplog.clear()
    path = part(tmp_path, inertial(), mesh("visual", scale="0.001"), SMALL)
    assert call("check", path).exit_code == 0
    assert warnings(caplog) == []


def test_a_visual_mesh_that_cannot_be_read_is_not_told_by_check(tmp_path, caplog):
    path = part(tmp_path, inertial(), mesh("visual"), SMALL)
    (tmp_path / "box.stl").write_text("hello")
    assert call("check", path).exit_code == 0
    assert warnings(caplog) == []


def test_an_inertia_in_kg_mm2_is_told(tmp_path, caplog):
    path = part(tmp_path, inertial(moment=300), SMALL)
    (warning,) = told(caplog, path)
    assert warning.startswith(
        f"{path}: inertias that no body of this mass and size has: link 'part' with 0.5 kg"
    )
    assert "a radius of gyration of 24.5 m, and no shape farther than 0.0521 m from its centre" in warning
    assert "kg mm^2" in warning
    assert told(caplog, part(tmp_path, inertial(moment=300e-6), SMALL)) == []


def test_an_inertia_is_held_against_what_is_seen_too(tmp_path, caplog):
    """A body that touches with its feet alone, and one that touches nothing."""
    moment = 0.5 * 2.0**2
    assert told(caplog, part(tmp_path, inertial(moment=moment), box("0.02 0.02 0.02")))
    assert not told(
        caplog, part(tmp_path, inertial(moment=moment), box("0.02 0.02 0.02"), box("2 2 2", "visual"))
    )
    assert told(caplog, part(tmp_path, inertial(moment=300), box("0.06 0.06 0.06", "visual")))
    assert not told(caplog, part(tmp_path, inertial(moment=300)))


def test_a_centre_of_mass_in_millimetres_is_told(tmp_path, caplog):
    path = part(tmp_path, inertial(xyz="30 0 0"), SMALL)
    (warning,) = told(caplog, path)
    assert warning.startswith(f"{path}: centres of mass that are far from the shapes")
    assert "link 'part' has it 30 m from its shapes, 0.0602 m long; write xyz of <inertial> in m" in warning


def test_many_slips_are_one_warning(tmp_path, caplog):
    trimesh.creation.box((60.0, 60.0, 60.0)).export(tmp_path / "box.stl")
    links = [f'<link name="part_{i}">{inertial()}{mesh()}</link>' for i in range(6)]
    joints = [
        f'<joint name="j{i}" type="continuous"><parent link="part_{i}"/><child link="part_{i + 1}"/></joint>'
        for i in range(5)
    ]
    (warning,) = told(caplog, write_urdf(tmp_path, *links, *joints))
    assert "link 'part_2'" in warning
    assert "link 'part_3'" not in warning
    assert "; 3 more; give a mesh" in warning


def test_what_does_not_move_may_be_as_large_as_a_hall(tmp_path, caplog):
    """Whatever mass its file says; a room with a door, too."""
    hall = f'<link name="hall">{inertial(1.0)}{mesh()}</link>'
    door = f'<link name="door">{inertial(20.0, 5.0)}{box("1 0.05 2")}</link>'
    hinge = '<joint name="hinge" type="continuous"><parent link="hall"/><child link="door"/></joint>'
    trimesh.creation.box((60.0, 60.0, 60.0)).export(tmp_path / "box.stl")
    hs.load_urdf(write_urdf(tmp_path, hall, door, hinge))
    assert warnings(caplog) == []
    builder = hs.SceneBuilder("halls")
    builder.add_urdf(tmp_path / "test.urdf", base="kinematic")
    World(builder.build())
    assert warnings(caplog) == []


def test_light_and_thin_things_are_not_told(tmp_path, caplog):
    """A carbon pole that lies across its box, a kite, and a body of next to no mass that holds a chain together."""
    pole = trimesh.creation.cylinder(radius=0.005, height=2.0)
    pole.apply_transform(trimesh.geometry.align_vectors([0, 0, 1], np.ones(3)))
    pole.export(tmp_path / "pole.stl")
    for inner in (
        inertial(0.1, 0.03) + '<collision><geometry><mesh filename="pole.stl"/></geometry></collision>',
        inertial(0.3, 0.1) + box("2 1.5 0.02"),
        inertial(1e-6, 1e-9) + box("0.1 0.1 0.1"),
    ):
        assert told(caplog, write_urdf(tmp_path, f'<link name="part">{inner}</link>')) == []


def test_visual_shapes_that_cannot_be_read_are_counted(tmp_path, caplog):
    """As a body may reach as far as they do."""
    path = part(tmp_path, inertial(0.5, 300.0), box("0.06 0.06 0.06"), mesh("visual"), sides=(0.06,) * 3)
    (warning,) = told(caplog, path)
    assert "from its centre of mass; write" in warning
    (tmp_path / "box.stl").write_text("no mesh")
    (warning,) = told(caplog, path)
    assert "from its centre of mass (beside visual shapes that cannot be read: 1); write" in warning


@pytest.mark.parametrize("name", ["spatula_reference", "m16_nut", "kinova_gen3_7dof", "mug", "pancake"])
def test_shipped_models_are_not_told(caplog, name):
    """Nor is the inertia that Drake's example gives its spatula, a hundred times what a body of its size can have."""
    assert told(caplog, MODELS / f"{name}.urdf.xacro") == []
