"""Collision meshes of robots and scenes that are no convex solids, and geometry errors that name their place."""

from __future__ import annotations

import itertools
import logging

import pytest
import trimesh

import hydro_sim_core as hs

TAGS = "<drake:proximity_properties><drake:{}_hydroelastic/></drake:proximity_properties>"


@pytest.fixture
def ring(tmp_path):
    path = tmp_path / "ring.stl"
    trimesh.creation.torus(0.2, 0.05, major_sections=12, minor_sections=8).export(path)
    return path


def write_robot(folder, *collisions):
    """Links ``a``, ``b``, …, each with one of the collisions, welded into a chain."""
    names = "abcdef"[: len(collisions)]
    links = [
        f'<link name="{name}"><collision>{inner}</collision></link>'
        for name, inner in zip(names, collisions, strict=True)
    ]
    joints = [
        f'<joint name="to_{child}" type="fixed"><parent link="{parent}"/><child link="{child}"/></joint>'
        for parent, child in itertools.pairwise(names)
    ]
    path = folder / "robot.urdf"
    path.write_text("\n".join(['<robot name="r" xmlns:drake="urn:d">', *links, *joints, "</robot>"]))
    return path


def geometry(inner, compliance=None):
    return f"<geometry>{inner}</geometry>{TAGS.format(compliance) if compliance else ''}"


def test_untagged_meshes_become_hulls_with_one_warning(tmp_path, ring, caplog):
    mesh = geometry('<mesh filename="ring.stl"/>')
    box = geometry('<box size="1 1 1"/>')
    path = write_robot(tmp_path, mesh, box, mesh, geometry('<mesh filename="ring.stl"/>', "rigid"))
    with caplog.at_level(logging.WARNING):
        world = hs.load_urdf(path)
    assert [c.is_hull for c in world.built.colliders] == [True, False, True, False]
    (record,) = caplog.records
    assert record.getMessage().startswith(f"{path}: collision meshes that are not closed and convex")
    assert ": a, c; declare_convex" in record.getMessage()


def test_rigid_meshes_that_are_not_closed_are_told_with_one_warning(tmp_path, ring, caplog):
    """What a user takes for a solid lets through what comes from behind."""
    sheet = trimesh.load(ring)
    sheet.update_faces(sheet.triangles_center[:, 2] > 0.0)
    sheet.export(tmp_path / "sheet.stl")
    closed, opened = (geometry(f'<mesh filename="{name}.stl"/>', "rigid") for name in ("ring", "sheet"))
    path = write_robot(tmp_path, opened, closed, opened)
    with caplog.at_level(logging.WARNING):
        world = hs.load_urdf(path)
    assert [c.geometry.has_inside for c in world.built.colliders] == [False, True, False]
    (record,) = caplog.records
    assert record.getMessage().startswith(
        f"{path}: rigid collision meshes that are not closed hold on their front only"
    )
    assert ": a, c; close them" in record.getMessage()


@pytest.mark.parametrize(
    ("collision", "problem"),
    [
        (
            geometry('<mesh filename="ring.stl" scale="1000"/>', "compliant"),
            "ring.stl: vertices: are 714 m across, too large",
        ),
        (geometry('<mesh filename="empty.stl"/>'), "empty.stl: "),
        (
            geometry('<sphere radius="1"/>').replace(
                "</geometry>",
                "</geometry><drake:proximity_properties>"
                '<drake:mesh_resolution_hint value="1e-5"/></drake:proximity_properties>',
            ),
            "sphere: resolution: 1e-05 m would make",
        ),
    ],
)
def test_geometry_errors_name_file_link_and_line(tmp_path, ring, collision, problem):
    (tmp_path / "empty.stl").touch()
    path = write_robot(tmp_path, geometry('<box size="1 1 1"/>'), collision)
    with pytest.raises(hs.InputError) as caught:
        hs.load_urdf(path)
    assert caught.value.source == str(path)
    assert caught.value.element == "link 'b', <collision>, line 3"
    assert problem in caught.value.problem


def test_geometry_errors_of_the_environment_name_the_scene(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(
        "name: s\nenvironment: [{name: ball, shape: {sphere: {radius: 1}}, proximity: {resolution_hint: 1.0e-5}}]\n"
    )
    with pytest.raises(
        hs.InputError, match=r"scene\.yaml: environment\.0 'ball': sphere: resolution: 1e-05 m"
    ):
        hs.load_scene(path)


def test_solids_through_each_other_in_one_rigid_mesh_are_refused_with_its_name(tmp_path):
    """All their vertices lie at no depth: the refusal was that of a function that nobody had called."""
    bars = [
        trimesh.creation.box(extents) for extents in ((0.2, 0.04, 0.04), (0.04, 0.2, 0.04), (0.04, 0.04, 0.2))
    ]
    cross, tray = tmp_path / "cross.stl", tmp_path / "tray.stl"
    trimesh.util.concatenate(bars).export(cross)
    trimesh.creation.torus(0.2, 0.05, major_sections=12, minor_sections=8).export(tray)
    scene = hs.SceneBuilder("s", contact={"compliance": "rigid"})
    scene.add_static("tray", "mesh", path=str(tray), compliance="rigid")
    body = scene.add_body("cross", 1.0, inertia=[1e-3, 1e-3, 1e-3], xyz=(0, 0, 0.3))
    body.add_shape("mesh", path=str(cross), compliance="rigid")
    with pytest.raises(hs.InputError) as caught:
        hs.World(scene.build())
    assert caught.value.element == "link 'cross', mesh"
    assert caught.value.problem.startswith(f"{cross}: its triangles pass through each other everywhere")
