"""What `hydro-sim check` tells of links that do not touch."""

from __future__ import annotations

import json

from support.command_line import call, refused


def test_check_sums_up_what_an_srdf_keeps_apart_and_what_that_would_push_with(tmp_path):
    """A row for all partners of a link that overlap with it nowhere; the report has a row for each pair."""
    names = "abcd"
    link = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    link += '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
    joint = '<origin xyz="{} 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
    (tmp_path / "r.urdf").write_text(
        '<robot name="r">'
        + "".join(f'<link name="{name}">{link}</link>' for name in names)
        + "".join(
            f'<joint name="{a}{b}" type="prismatic"><parent link="{a}"/><child link="{b}"/>{joint.format(x)}</joint>'
            for a, b, x in (("a", "b", 0.3), ("b", "c", 0.3), ("c", "d", -0.202))
        )
        + "</robot>"
    )
    pairs = [("a", "c"), ("a", "d"), ("b", "d")]
    (tmp_path / "r.srdf").write_text(
        "".join(
            [
                '<robot name="r">',
                *(f'<disable_collisions link1="{a}" link2="{b}"/>' for a, b in pairs),
                "</robot>",
            ]
        )
    )
    printed = call(
        "check", tmp_path / "r.urdf", "--srdf", tmp_path / "r.srdf", "--json", tmp_path / "r.json"
    ).stdout
    rows = [line.split() for line in printed.splitlines()]
    assert ["a", "c,", "d", "SRDF"] in rows
    (row,) = [row for row in rows if row[:3] == ["b", "d", "SRDF"]]
    assert row[3:] == ["2", *row[4:]]
    assert ["r", "0", row[4]] in rows
    report = json.loads((tmp_path / "r.json").read_text())
    assert [(one["a"], one["b"]) for one in report["silent_pairs"] if one["reason"] == "SRDF"] == pairs
    (forces,) = report["inner_forces"]
    assert (forces["acting"], forces["most"]) == (0.0, None)
    assert forces["silenced"] > 100.0


def test_a_scene_names_its_srdfs_itself(tmp_path):
    line = refused(call("check", "drop_box", "--srdf", tmp_path / "r.srdf"))
    assert "--srdf: for robot files only" in line


def rod_in_block(folder, law):
    """What check tells of a rod that is drawn 30 mm into the block on which it slides, both rigid."""
    link = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    link += '<collision><geometry><box size="{}"/></geometry></collision>'
    joint = '<origin xyz="0 0 0.17"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
    (folder / "r.urdf").write_text(
        '<robot name="r" xmlns:hydro="urn:hydro-sim">'
        f'<link name="block">{link.format("0.1 0.1 0.1")}</link><link name="rod">{link.format("0.04 0.04 0.3")}</link>'
        f'<joint name="j" type="prismatic"><parent link="block"/><child link="rod"/>{joint}</joint>'
        f'<hydro:contact_pair link1="block" link2="rod" law="{law}"/></robot>'
    )
    (folder / "s.yaml").write_text(
        "name: s\nmodels: [{name: r, urdf: r.urdf}]\ncontact: {defaults: {compliance: rigid}}\n"
    )
    call("check", folder / "s.yaml", "--json", folder / "s.json")
    return json.loads((folder / "s.json").read_text())


def test_check_tells_the_force_of_a_rigid_pair_as_a_step_finds_it(tmp_path):
    """Of two bodies that are alike the skin is on the same side: a rod in a block pushes with one of them only."""
    (forces,) = rod_in_block(tmp_path, "pressure_field")["inner_forces"]
    assert forces["most"] == ["block", "rod"]
    assert abs(forces["acting"] / (1e13 * 0.03 * 0.04**2) - 1.0) < 1e-9


def test_neighbours_that_are_kept_apart_by_name_too_would_push_with_nothing(tmp_path):
    """They are drawn into each other, and the sum of forces that do not act leaves neighbours out."""
    report = rod_in_block(tmp_path, "none")
    assert [(row["reason"], row["force"]) for row in report["silent_pairs"]] == [
        ("asked for in the URDF", None)
    ]
    assert [row for row in report["inner_forces"] if row["silenced"]] == []


def test_check_tells_margins_and_which_of_two_rigid_bodies_has_the_skin(tmp_path):
    (tmp_path / "s.yaml").write_text(
        "name: s\ncontact: {defaults: {compliance: rigid}}\nenvironment:\n"
        "  - {name: g, shape: {half_space: {}}, proximity: {point_stiffness: 2.0e+6}}\nmodels:\n"
        "  - {name: r, urdf: r.urdf, base: floating, pose: {xyz: [0, 0, 0.06]}, proximity: {margin: 0.002}}\n"
    )
    inertia = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    shape = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
    (tmp_path / "r.urdf").write_text(
        f'<robot name="r"><link name="b"><inertial>{inertia}</inertial>{shape}</link></robot>'
    )
    printed = call("check", tmp_path / "s.yaml", "--json", tmp_path / "s.json").stdout
    assert "skin on" in printed
    assert "margin, mm" in printed
    report = json.loads((tmp_path / "s.json").read_text())
    (pair,) = report["pairs"]
    assert pair["skin"] == ["g"]
    ground = next(row for row in report["geometries"] if row["link"] == "g")
    assert ground["point_stiffness"] == 2e6
    assert ground["margin"] > 0.0
    assert [row["point_stiffness"] for row in report["geometries"] if row["link"] == "b"] == [None]
