"""Numbers far outside of what robots have are refused, by one table that a page shows."""

from __future__ import annotations

import pytest

from hydro_sim_core.description import load_robot, load_scene
from hydro_sim_core.description.limits import RANGES
from hydro_sim_core.errors import InputError
from support.description.urdf_text import HINGE, collision, inertial, write_urdf
from support.packaging.files import ROOT


@pytest.mark.parametrize(
    ("elements", "problem"),
    [
        (['<link name="a">' + inertial("1e-300") + "</link>"], r"link 'a'.*mass 1e-300 kg is absurd; write"),
        ([collision('<box size="1e20 1 1"/>')], r"link 'a'.*'a_collision_0': box length 1e\+20 m is absurd"),
        ([collision('<box size="1 1 1"/>', '<drake:hydroelastic_margin value="1000"/>')], r"margin 1000 m is absurd"),
        (
            ['<link name="a"/><link name="b"/>', HINGE.replace("<limit", '<dynamics damping="1e300"/><limit')],
            r"joint 'hinge'.*damping 1e\+300 N m s/rad or N s/m is absurd",
        ),
        (
            [
                '<link name="a"/><link name="b"/><link name="c"/>',
                HINGE,
                HINGE.replace('"hinge"', '"follower"')
                .replace('"b"', '"c"')
                .replace("</joint>", '<mimic joint="hinge" multiplier="1e300"/></joint>'),
            ],
            r"joint 'follower'.*mimic multiplier 1e\+300 is absurd; write one of 1e-06 to 1e\+06",
        ),
    ],
)  # fmt: skip
def test_absurd_numbers_of_a_robot(tmp_path, elements, problem):
    with pytest.raises(InputError, match=problem):
        load_robot(write_urdf(tmp_path, *elements), repair="strict")


def test_a_centre_of_mass_far_away(tmp_path):
    link = (
        '<link name="a">'
        + inertial().replace("<inertial>", '<inertial><origin xyz="1e300 0 0"/>')
        + "</link>"
    )
    with pytest.raises(InputError, match=r"centre of mass 1e\+300 m is absurd"):
        load_robot(write_urdf(tmp_path, link))


@pytest.mark.parametrize("height", ["1.0e+7", "1.0e+15", "-1.0e+300"])
def test_a_pose_far_away_is_named(tmp_path, height):
    write_urdf(tmp_path, collision('<box size="1 1 1"/>').replace("<coll", inertial() + "<coll"))
    path = tmp_path / "scene.yaml"
    path.write_text(
        f"name: s\nmodels: [{{name: m, urdf: test.urdf, base: floating, pose: {{xyz: [0, 0, {height}]}}}}]"
    )
    with pytest.raises(
        InputError, match=r"scene\.yaml: models\.0: pose .* m is absurd; write one of 0 to 100000 m"
    ):
        load_scene(path)


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ("shape: {sphere: {radius: 1.0e+20}}", r"environment\.0 'e': sphere length 1e\+20 m is absurd"),
        ("shape: {half_space: {}}, proximity: {margin: 1000}", r"environment\.0: margin 1000 m is absurd"),
        (
            "shape: {half_space: {}}, proximity: {surface_velocity: [0, 1.0e+9, 0]}",
            r"environment\.0: surface velocity 1e\+09 m/s is absurd; write one of 0 to 1e\+06 m/s",
        ),
        ("shape: {half_space: {}}, pose: {xyz: [1.0e+6, 0, 0]}", r"environment\.0: pose 1e\+06 m is absurd"),
    ],
)
def test_absurd_numbers_of_a_scene(tmp_path, item, problem):
    path = tmp_path / "scene.yaml"
    path.write_text(f"name: s\nenvironment: [{{name: e, {item}}}]")
    with pytest.raises(InputError, match=problem):
        load_scene(path)


def test_the_page_shows_the_table():
    page = (ROOT / "docs" / "strangers_files.md").read_text()
    for name, bounds in RANGES.items():
        row = f"| {name.replace('_', ' ')} | {bounds.least:g} | {bounds.most:g} | {bounds.unit} |"
        assert row in page, row
