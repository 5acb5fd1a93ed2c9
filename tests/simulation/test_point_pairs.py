"""Links that are told to touch at equivalent points: what is told of them, and that what cannot serve is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.cli.check import contents
from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.contact.laws import EQUIVALENT_POINT
from hydro_sim_core.description.scene_edits import without
from hydro_sim_core.description.spec import ContactLaw
from hydro_sim_core.drawing.patch_surface import drawn_faces
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.contact_frames import contact_wrench, pressed_patches
from hydro_sim_core.pictures.plot_footprint import footprint, grip_force
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from hydro_sim_core.viewer.frame import view_patch
from support.command_line import call

#: Half the width of the box, m, and its weight, N.
HALF, WEIGHT = 0.05, 9.81
#: Roll and pitch of a cube that stands flat, on an edge, and on a corner; and how high its middle is then, m.
STANDS = {
    "flat": ((0.0, 0.0, 0.3), HALF),
    "edge": ((np.pi / 4, 0.0, 0.4), HALF * 2**0.5),
    "corner": ((np.pi / 4, np.arctan(2**-0.5), 0.0), HALF * 3**0.5),
}


def scene(stand: str = "flat", law: ContactLaw = "equivalent_point", **options: Any) -> hs.SceneBuilder:
    """A rigid cube of 1 kg on rigid ground."""
    made = hs.SceneBuilder("box", contact={"compliance": "rigid", "friction": 0.5}, time_step=1e-3)
    rpy, height = STANDS[stand]
    made.add_ground()
    made.add_body("box", 1.0, xyz=(0, 0, height), rpy=rpy).add_shape("box", size=3 * (2 * HALF,))
    return made.set_contact_law("ground", "box", law, **options)


def standing(stand: str) -> tuple[hs.World, ContactPatch]:
    world = hs.World(scene(stand).build())
    world.step(2)
    (patch,) = world.contacts
    return world, patch


# --- what is told


@pytest.mark.parametrize(
    ("stand", "corners", "area"), [("flat", 4, 0.01), ("edge", 2, 0.0), ("corner", 1, 0.0)]
)
def test_a_patch_is_told_and_drawn_with_or_without_area(stand: str, corners: int, area: float) -> None:
    """The hull of what touches, the weight, and the point in its middle; the mean pressure where there is an area."""
    world, patch = standing(stand)
    assert patch.law == EQUIVALENT_POINT
    assert patch.quality.force_error == 0.0
    assert (patch.area, patch.faces.num_vertices.tolist()) == (pytest.approx(area), [corners])
    assert patch.peak_pressure == pytest.approx(WEIGHT / area if area else 0.0, rel=1e-4)
    assert patch.centroid == pytest.approx(np.zeros(3), abs=1e-6)
    faces = drawn_faces(patch)
    assert faces.counts.tolist() == [corners]
    assert len(faces.triangles) == max(corners - 2, 0)
    assert len(faces.outline) == {4: 4, 2: 1, 1: 0}[corners]
    shown = view_patch(patch)
    assert shown is not None
    assert (shown.area, shown.max_pressure) == (patch.area, pytest.approx(patch.peak_pressure))
    assert shown.point == pytest.approx(patch.centroid)
    # Frames and wrenches at the centre of pressure, with names in the order of the patch.
    pair = (patch.name_a, patch.name_b)
    assert pressed_patches(world.contacts, pair)
    assert np.linalg.norm(contact_wrench(take_snapshot(world, 0), pair)[:3]) == pytest.approx(
        WEIGHT, rel=1e-6
    )


def test_the_outline_of_a_fan_of_faces_is_that_of_its_hull() -> None:
    """A can has more corners than a face may have; sides between two of its faces are no part of the outline."""
    made = hs.SceneBuilder("can", contact={"compliance": "rigid"}).add_ground()
    made.add_body("can", 1.0, xyz=(0, 0, 0.05)).add_shape("cylinder", radius=0.06, length=0.1)
    world = hs.World(made.set_contact_law("ground", "can", "equivalent_point").build())
    world.step(2)
    (patch,) = world.contacts
    faces = drawn_faces(patch)
    assert len(faces.counts) > 1
    corners = len(np.unique(faces.vertices, axis=0))
    assert len(faces.outline) == corners
    lengths = np.linalg.norm(np.diff(faces.vertices[faces.outline], axis=1)[:, 0], axis=1)
    assert lengths == pytest.approx(2 * 0.06 * np.sin(np.pi / corners), rel=0.02)


def test_force_of_several_points_between_two_links_meets_in_the_middle_of_all() -> None:
    """Of a line and a patch with area under one link, each counts by its force."""
    made = hs.SceneBuilder("feet", contact={"compliance": "rigid"}, time_step=1e-3).add_ground()
    body = made.add_body("stool", 1.0, xyz=(0, 0, 0.1))
    body.add_shape("box", size=(0.04, 0.04, 0.2), xyz=(-0.1, 0, 0))
    body.add_shape("cylinder", radius=0.05, length=0.04, xyz=(0.1, 0, -0.05), rpy=(np.pi / 2, 0, 0))
    made.set_contact_law("stool", "ground", "equivalent_point", pieces=True)
    world = hs.World(made.build())
    world.step(2)
    assert sorted(patch.area > 0.0 for patch in world.contacts) == [False, True]
    (name,) = {(patch.name_a, patch.name_b) for patch in world.contacts}
    wrench = contact_wrench(take_snapshot(world, 0), name)
    # About the common centre the normal forces have no moment.
    assert wrench[3:] == pytest.approx(np.zeros(3), abs=1e-9)


def test_laws_are_told_with_their_friction() -> None:
    """In the tables of the page and of `hydro-sim check`; the latter's JSON keeps law and numbers apart."""
    told = "equivalent point, e_t 1, e_o 1, e_r"
    for options, words, axes in (
        ({}, f"{told} from the patch", (1.0, 1.0, None)),
        ({"friction_ellipsoid": (1, 1, 0.02)}, f"{told} 0.02 m", (1.0, 1.0, 0.02)),
    ):
        world = hs.World(scene(**options).build())
        assert [law for _, _, law in world.contact_laws.told(5)] == [words]
        counts = {"pressure field": 0, "rigid skin": 0, "equivalent point": 1, "soft minimum": 0}
        assert world.contact_laws.counts == counts
        (row,) = contents(world)["pairs"]
        assert (row["law"], row["friction_ellipsoid"]) == (EQUIVALENT_POINT, axes)
    (row,) = contents(hs.World(scene(law="pressure_field").build()))["pairs"]
    assert (row["law"], row["friction_ellipsoid"]) == ("rigid skin", None)


SCENE = """
name: box
time_step: 0.001
contact:
  defaults: {{compliance: rigid}}
  pairs:
    - {{links: [ground, box], law: {law}{options}}}
environment: [{{name: ground, shape: {{half_space: {{}}}}}}]
models:
  - name: box
    urdf: box.urdf
    base: floating
    pose: {{xyz: [0, 0, {height}], rpy: [0.7853981633974483, 0, 0]}}
"""
URDF = """<robot name="box" xmlns:hydro="urn:hydro-sim">
<link name="box"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
{tags}
</robot>"""


def written(folder: Path, law: str = "equivalent_point", options: str = "", tags: str = "") -> Path:
    """A scene file of a box on its edge, whose robot may have tags."""
    (folder / "box.urdf").write_text(URDF.format(tags=tags))
    path = folder / "box.yaml"
    path.write_text(SCENE.format(law=law, options=options, height=HALF * 2**0.5))
    return path


def test_a_run_tells_no_pressure_of_what_has_no_area(tmp_path: Path) -> None:
    path = written(tmp_path, options=", friction_ellipsoid: [1, 1, 0.02]")
    report = tmp_path / "report.json"
    printed = call("run", path, "--duration", "0.002", "--json", report).stdout
    assert "9.810 N normal, no area, equivalent point" in " ".join(printed.split())
    (contact,) = json.loads(report.read_text())["contacts"]
    assert (contact["law"], contact["area"], contact["peak_pressure"]) == (EQUIVALENT_POINT, 0.0, 0.0)
    printed = " ".join(call("check", path).stdout.split())
    assert "equivalent point, e_t 1, e_o 1, e_r 0.02 m" in printed


def test_a_pressure_map_of_a_line_is_refused_and_its_grip_force_is_known() -> None:
    world, _ = standing("edge")
    with pytest.raises(InputError, match=r"'box': bears its force along a line or at a point"):
        footprint(world.contacts, "box", world.frame_pose("box"))
    assert grip_force(world.contacts, "box") == pytest.approx(WEIGHT, rel=1e-6)
    assert grip_force(world.contacts, "box", (0, 0, 1)) == pytest.approx(WEIGHT, rel=1e-6)


# --- pairs that cannot touch like that


def refused(made: hs.SceneBuilder, *changes: dict[str, Any]) -> str:
    """What a world says in one line of a scene, which ``with_`` may have changed."""
    loaded = made.build()
    for change in changes:
        loaded = loaded.with_(change)
    with pytest.raises(InputError) as caught:
        hs.World(loaded)
    line = str(caught.value)
    assert "\n" not in line
    assert "contact.pairs.0: " in line
    return line


def test_a_compliant_link_is_refused() -> None:
    made = scene()
    made.add_body("pad", 1.0, xyz=(0, 0, 1)).add_shape(
        "box", size=3 * (0.1,), compliance="compliant", modulus=1e6
    )
    made.set_contact_law("pad", "box", "equivalent_point")
    with pytest.raises(
        InputError, match=r"contact.pairs.1: law equivalent_point for 'pad' and 'box': 'pad' is comp"
    ):
        hs.World(made.build())


def bare() -> hs.SceneBuilder:
    return hs.SceneBuilder("bare", contact={"compliance": "rigid"}).add_ground()


def test_a_link_without_geometry_is_refused() -> None:
    made = bare()
    made.add_body("ghost", 1.0, xyz=(0, 0, 1), inertia=(1, 1, 1))
    made.set_contact_law("ghost", "ground", "equivalent_point")
    assert (
        "for 'ghost' and 'ground': 'ghost' has no collision geometry; give it one, or leave the pair out"
        in refused(made)
    )


def test_links_that_do_not_move_are_refused() -> None:
    """Two half spaces, two static boxes, a box that is led, and what is fixed to each other."""
    made = (
        bare()
        .add_static("wall", "half_space", rpy=(1.5, 0, 0))
        .set_contact_law("ground", "wall", "equivalent_point")
    )
    assert "both are half spaces; leave the pair out" in refused(made)
    made = (
        bare()
        .add_static("table", "box", size=(1, 1, 1))
        .set_contact_law("ground", "table", "equivalent_point")
    )
    assert "are fixed to each other: contact would move neither" in refused(made)
    made = bare()
    made.add_body("led", 1.0, xyz=(0, 0, 1)).add_shape("box", size=3 * (0.1,))
    made.set_contact_law("led", "ground", "equivalent_point")
    assert "neither moves freely: contact would move neither" in refused(
        made, {"models.led.base": "kinematic"}
    )


def ring(body: Any) -> None:
    """Two boxes with a hollow between them."""
    for x in (-0.1, 0.1):
        body.add_shape("box", size=3 * (0.05,), xyz=(x, 0, 0))


def test_two_links_with_hollows_are_refused_but_not_their_pieces() -> None:
    made = bare()
    for name, z in (("a", 1.0), ("b", 2.0)):
        ring(made.add_body(name, 1.0, xyz=(0, 0, z)))
    assert "neither is convex" in refused(made.set_contact_law("a", "b", "equivalent_point"))
    assert "set pieces: true" in refused(made)
    made = bare()
    for name, z in (("a", 1.0), ("b", 2.0)):
        ring(made.add_body(name, 1.0, xyz=(0, 0, z)))
    laws = hs.World(made.set_contact_law("a", "b", "equivalent_point", pieces=True).build()).contact_laws
    assert laws.geometries[[laws.law(i) for i in range(len(laws.pairs))].index(EQUIVALENT_POINT)] == 4


def test_hollows_that_are_filled_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """Of a ring that two bodies could reach into. Planes, and pieces, miss nothing of it."""

    def load(pieces: bool) -> None:
        made = bare()
        ring(made.add_body("ring", 1.0, xyz=(0, 0, 1.0)))
        made.set_contact_law("ring", "ground", "equivalent_point")
        for name, z in (("peg", 2.0), ("rod", 3.0)):
            made.add_body(name, 1.0, xyz=(0, 0, z)).add_shape("box", size=3 * (0.04,))
            made.set_contact_law("ring", name, "equivalent_point", pieces=pieces)
        hs.World(made.build())

    load(pieces=True)
    assert caplog.messages == []
    load(pieces=False)
    (message,) = caplog.messages
    assert "'ring' touches at equivalent points as its convex hull, so that nothing gets into its" in message
    assert "contact.pairs." in message


def test_a_box_without_volume_is_told_as_one() -> None:
    """And not by a tetrahedron that nobody has given."""
    made = bare()
    made.add_body("sheet", 1.0, inertia=3 * (0.1,), xyz=(0, 0, 1)).add_shape("box", size=(0.1, 0.1, 1e-7))
    made.set_contact_law("sheet", "ground", "equivalent_point")
    with pytest.raises(InputError, match=r"'sheet'.*is so thin beside its length of 0.1 m.*make it thicker"):
        hs.World(made.build())


def cross(body: Any) -> None:
    """Two boxes through each other, whose volumes together are more than that of their hull."""
    body.add_shape("box", size=(0.3, 0.2, 0.1)).add_shape("box", size=(0.2, 0.3, 0.1))


def test_a_cross_of_boxes_is_not_convex() -> None:
    """What both have counted twice, and it passed as convex."""
    made = bare()
    for name, z in (("a", 1.0), ("b", 2.0)):
        cross(made.add_body(name, 1.0, xyz=(0, 0, z)))
    assert "neither is convex" in refused(made.set_contact_law("a", "b", "equivalent_point"))


@pytest.mark.parametrize("halves", [(0.2, 0.2), (0.3, 0.25)])
def test_halves_of_a_box_are_convex_beside_or_in_each_other(halves: tuple[float, float]) -> None:
    made = bare()
    for name, z in (("a", 1.0), ("b", 2.0)):
        body = made.add_body(name, 1.0, xyz=(0, 0, z))
        for sign, length in zip((-1, 1), halves, strict=True):
            body.add_shape("box", size=(length, 0.1, 0.1), xyz=(sign * (0.2 - length / 2), 0, 0))
    hs.World(made.set_contact_law("a", "b", "equivalent_point").build())


def test_the_lever_of_a_cross_is_that_of_what_it_stands_on() -> None:
    """Mean distance from the middle of the cross, and not of its hull, or with the middle counted twice."""
    made = hs.SceneBuilder(
        "cross", contact={"compliance": "rigid", "friction": 0.5}, time_step=1e-3
    ).add_ground()
    cross(made.add_body("cross", 1.0, inertia=3 * (0.01,), xyz=(0, 0, 0.05)))
    world = hs.World(made.set_contact_law("cross", "ground", "equivalent_point").build())
    world.place("cross", V_WB=[0, 0, 5.0, 0, 0, 0])
    world.step(50)
    x = 0.3 * (np.arange(1500) + 0.5) / 1500 - 0.15
    X, Y = np.meshgrid(x, x)
    stands = np.minimum(np.abs(X), np.abs(Y)) < 0.1
    lever = np.hypot(X, Y)[stands].mean()
    assert world.v[2] == pytest.approx(5.0 - 0.5 * WEIGHT * lever / 0.01 * 0.05, rel=1e-3)


def test_a_hull_with_too_many_vertices_is_refused() -> None:
    """A sphere alone is exact; beside another shape it counts with its mesh."""
    made = bare()
    body = made.add_body("ball", 1.0, xyz=(0, 0, 1))
    body.add_shape("sphere", radius=0.1, resolution_hint=0.004).add_shape("box", size=3 * (0.01,))
    line = refused(made.set_contact_law("ball", "ground", "equivalent_point"))
    assert "has a convex hull of " in line
    assert "vertices, and contact at one point takes 1024; give it a simpler collision mesh" in line


def test_a_flat_mesh_has_an_empty_hull_and_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sheet.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n")
    made = bare()
    body = made.add_body("sheet", 1.0, inertia=3 * (0.1,), xyz=(0, 0, 0.5))
    body.add_shape("mesh", path=str(tmp_path / "sheet.obj"))
    line = refused(made.set_contact_law("sheet", "ground", "equivalent_point"))
    assert "'sheet'" in line
    assert line.endswith("is flat, and has an empty convex hull; give it a shape with a volume")


def test_belts_and_grains_are_refused() -> None:
    """They act on faces, and a point has none."""
    made = bare()
    made.add_body("belt", 1.0, xyz=(0, 0, 0.05)).add_shape(
        "box", size=3 * (0.1,), surface_velocity=(0.1, 0, 0)
    )
    line = refused(made.set_contact_law("belt", "ground", "equivalent_point"))
    assert "'belt' has a surface velocity in " in line
    assert line.endswith("which acts on faces; take law pressure_field")
    made = hs.SceneBuilder("g", contact={"compliance": "rigid"}, solver={"friction": "elliptic"}).add_ground()
    made.add_body("board", 1.0, xyz=(0, 0, 0.05)).add_shape("box", size=3 * (0.1,), grain=(0.5, 0, 0))
    assert "'board' has a grain in " in refused(made.set_contact_law("board", "ground", "equivalent_point"))


def test_the_continuous_integrator_is_refused() -> None:
    """It has no steps, and would let the pair fall through each other; the others have them."""
    line = refused(scene(), {"solver.integrator": "continuous"})
    assert "integrator continuous has no steps at whose ends" in line
    assert line.endswith("take integrator fixed or error_controlled, or law pressure_field")
    hs.World(scene().build().with_({"solver.integrator": "error_controlled", "solver.accuracy": 1e-4}))


def test_a_law_of_what_was_taken_out_is_no_error() -> None:
    loaded = scene().build()
    world = hs.World(without(loaded, "box"), hs.World(loaded))
    assert world.contact_laws.counts[EQUIVALENT_POINT] == 0


# --- keys


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("friction_ellipsoid: [1, 1, 0]", "friction_ellipsoid.2"),
        ("friction_ellipsoid: [1, -1, 0.1]", "friction_ellipsoid.1"),
        ("friction_ellipsoid: [1, 1]", "friction_ellipsoid"),
        ("friction_ellipsoid: [1, 1, .nan]", "friction_ellipsoid.2"),
        ("friction_ellipsoid: [1, 1, .inf]", "friction_ellipsoid.2"),
        ("friction_ellipsoid: round", "friction_ellipsoid"),
        ("pieces: maybe", "pieces"),
        ("pieces: 1", "pieces"),
        ("ellipsoid: [1, 1, 1]", "ellipsoid"),
    ],
)
def test_wrong_values_in_a_scene_file_are_named(tmp_path: Path, options: str, problem: str) -> None:
    path = written(tmp_path, options=f", {options}")
    with pytest.raises(InputError) as caught:
        hs.load_scene(path)
    line = str(caught.value)
    assert line.startswith(str(path))
    assert f"contact.pairs.0.{problem}" in line
    assert "\n" not in line


@pytest.mark.parametrize("law", ["pressure_field", "none"])
@pytest.mark.parametrize(("option", "value"), [("friction_ellipsoid", "[1, 1, 1]"), ("pieces", "true")])
def test_options_with_another_law_are_refused(tmp_path: Path, law: str, option: str, value: str) -> None:
    mend = f"leave {option} out, or take law equivalent_point"
    with pytest.raises(
        InputError, match=rf"box.yaml: contact.pairs.0, line 7: {option} with law {law}; {mend}"
    ):
        hs.load_scene(written(tmp_path, law, f", {option}: {value}"))
    tag_value = "1 1 1" if option == "friction_ellipsoid" else value
    tag = f'<hydro:contact_pair link1="box" link2="box2" law="{law}" {option}="{tag_value}"/>'
    with pytest.raises(
        InputError, match=rf"box.urdf: <hydro:contact_pair>, line 4: {option} with law {law}; {mend}"
    ):
        hs.load_scene(written(tmp_path, tags=tag))
    with pytest.raises(InputError, match=rf"{option} with law {law}; {mend}"):
        scene(law=law, **{option: (1, 1, 1) if option == "friction_ellipsoid" else True})


@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        ('friction_ellipsoid="1 1 0"', "friction_ellipsoid is not positive; give three semi-axes above 0"),
        ('friction_ellipsoid="1 1"', 'friction_ellipsoid="1 1" has 2 numbers, not 3; write 3 numbers'),
        ('friction_ellipsoid="1 1 nan"', "friction_ellipsoid"),
        ('friction_ellipsoid="1 1 inf"', "friction_ellipsoid"),
        ('friction_ellipsoid=""', "friction_ellipsoid"),
        ('pieces="yes"', "pieces is 'yes'; give true or false"),
    ],
)
def test_wrong_values_in_a_tag_name_its_line(tmp_path: Path, attributes: str, problem: str) -> None:
    tag = f'<hydro:contact_pair link1="box" link2="box2" law="equivalent_point" {attributes}/>'
    with pytest.raises(InputError) as caught:
        hs.load_scene(written(tmp_path, tags=tag))
    assert "box.urdf: <hydro:contact_pair>, line 4: " in str(caught.value)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("axes", [(1, 1, 0), (1, 1), (1, 1, float("nan")), "round", 1.0])
def test_wrong_values_in_a_builder_name_its_line(axes: Any) -> None:
    with pytest.raises(
        InputError, match=r"test_point_pairs.py:\d+: contact law of 'ground' and 'box'.*friction_ellip"
    ):
        scene(friction_ellipsoid=axes)


def test_one_pair_with_two_sets_of_options_is_refused(tmp_path: Path) -> None:
    """In a scene, whichever way round the links are named, and in a URDF; twice the same is none."""
    again: dict[str, Any] = {"friction_ellipsoid": (1, 1, 0.1)}
    scene(**again).set_contact_law("box", "ground", "equivalent_point", **again).build()
    with pytest.raises(
        InputError, match=r"contact law of 'box' and 'ground'.*have law equivalent_point with two sets of"
    ):
        scene(**again).set_contact_law("box", "ground", "equivalent_point").build()
    pair = "{links: [box, ground], law: equivalent_point, pieces: true}"
    with pytest.raises(
        InputError, match=r"box.yaml: contact.*have law equivalent_point with two sets of options; keep"
    ):
        hs.load_scene(written(tmp_path, options="}\n    - " + pair[:-1]))
    tag = '<hydro:contact_pair link1="box" link2="foot" law="equivalent_point" {}/>'
    foot = (
        '<link name="foot"/><joint name="j" type="fixed"><parent link="box"/><child link="foot"/></joint>'
        + tag.format("")
        + tag.format('pieces="true"')
    )
    with pytest.raises(
        InputError, match=r"'box' and 'foot' have law equivalent_point with two sets of options; keep"
    ):
        hs.load_scene(written(tmp_path, tags=foot))


def test_unknown_links_are_refused() -> None:
    with pytest.raises(InputError, match=r"boxx"):
        bare().set_contact_law("boxx", "ground", "equivalent_point").build()
