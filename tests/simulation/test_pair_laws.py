"""What does not touch and why: neighbours, SRDFs, overlaps at the start, and what scenes and URDFs ask for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import hydro_sim_core as hs
from hydro_sim_core.description.scene_edits import without
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.assembly.silent_pairs import inner_forces, silent_pairs

_INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
#: Cubes of 0.1 m that slide on a rail along x, one on the other; a bolt is fixed to the last, and cap mimics slide_b.
#: Of b and d, 2 mm overlap; c and a, 198 mm apart, do not.
_TRAIN = """<robot name="train" xmlns:hydro="urn:hydro-sim">
<link name="a">{cube}</link><link name="b">{cube}</link><link name="c">{cube}</link><link name="d">{cube}</link>
<link name="bolt">{bolt}</link>
{joints}
{tags}
</robot>"""


def train(folder: Path, tags: str = "", srdf: str | None = None, name: str = "train") -> hs.SceneBuilder:
    """A scene with a robot of links a - b - c - d, of which c hangs on b and d on c, and a bolt welded to d."""
    cube = f'{_INERTIAL}<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
    bolt = f'{_INERTIAL}<collision><geometry><sphere radius="0.01"/></geometry></collision>'
    rail = '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
    joints = "".join(
        f'<joint name="to_{child}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x} 0 0"/>{more}</joint>'
        for child, parent, kind, x, more in (
            ("b", "a", "prismatic", 0.3, rail),
            ("c", "b", "prismatic", 0.3, f'{rail}<mimic joint="to_b"/>'),
            ("d", "c", "prismatic", -0.202, rail),
            ("bolt", "d", "fixed", 0, ""),
        )
    )
    urdf = folder / f"{name}.urdf"
    urdf.write_text(_TRAIN.format(cube=cube, bolt=bolt, joints=joints, tags=tags))
    path = None
    if srdf is not None:
        path = folder / f"{name}.srdf"
        path.write_text(f'<robot name="train">{srdf}</robot>')
    return hs.SceneBuilder("train", gravity=(0, 0, 0)).add_urdf(urdf, srdf=path, modulus=1e6)


def tag(a: str, b: str, law: str) -> str:
    return f'<hydro:contact_pair link1="{a}" link2="{b}" law="{law}"/>'


def disable(a: str, b: str, reason: str = "Never") -> str:
    return f'<disable_collisions link1="{a}" link2="{b}" reason="{reason}"/>'


def touching(world: hs.World) -> set[tuple[str, str]]:
    links = [collider.link for collider in world.built.colliders]
    return {tuple(sorted((links[i], links[j]))) for i, j in world.built.model.pairs.tolist()}


def reasons(world: hs.World) -> dict[tuple[str, ...], str]:
    return {tuple(sorted(row.links)): row.reason for row in silent_pairs(world.built)}


#: Reasons without an SRDF and without a tag.
_JOINED = {
    ("a", "b"): "neighbours: prismatic joint to_b",
    ("b", "c"): "neighbours: prismatic mimic joint to_c",
    ("c", "d"): "neighbours: prismatic joint to_d",
    ("bolt", "c"): "neighbours: prismatic joint to_d",
    ("bolt", "d"): "fixed to each other",
}


def test_every_pair_touches_or_has_a_reason(tmp_path: Path) -> None:
    """Neighbours through sliding, mimic and fixed joints, and what overlaps at the start."""
    world = hs.World(train(tmp_path).build())
    assert reasons(world) == {**_JOINED, ("b", "d"): "overlap at the start"}
    assert touching(world) == {("a", "c"), ("a", "d"), ("a", "bolt"), ("b", "bolt")}


def test_links_of_which_some_geometries_overlap_are_not_told_to_be_silent(tmp_path: Path) -> None:
    """A pair stood among those that touch and among those that do not."""
    more = '<collision><origin xyz="0 0.3 0"/><geometry><sphere radius="0.01"/></geometry></collision></link>'
    train(tmp_path)
    urdf = tmp_path / "train.urdf"
    urdf.write_text(urdf.read_text().replace('</link><link name="c">', f'{more}<link name="c">'))
    world = hs.World(hs.SceneBuilder("t").add_urdf(urdf, modulus=1e6).build())
    assert ("b", "d") in touching(world)
    assert reasons(world)["b", "d"] == "overlap at the start, 1 of 2 pairs of geometries"


def test_an_srdf_is_told_beside_the_joints(tmp_path: Path) -> None:
    """Of a pair that a joint connects anyway, the joint; of another that overlaps, the SRDF, with depth and force."""
    srdf = disable("a", "b", "Adjacent") + disable("d", "b", "Default") + disable("c", "a")
    world = hs.World(train(tmp_path, srdf=srdf).build())
    assert reasons(world) == {**_JOINED, ("b", "d"): "SRDF: Default", ("a", "c"): "SRDF: Never"}
    assert touching(world) == {("a", "d"), ("a", "bolt"), ("b", "bolt")}
    (row,) = [row for row in silent_pairs(world.built) if row.links == ("d", "b")]
    without_srdf = hs.World(train(tmp_path).build())
    (overlap,) = without_srdf.built.overlaps
    # The SRDF names the links the other way round, and so are forces summed.
    assert (row.depth, row.force) == pytest.approx((overlap.depth, overlap.force), rel=1e-12)
    assert row.force == pytest.approx(
        1e-3 / 0.05 * 1e6 * 0.01, rel=0.03
    )  # 1 mm in each, narrowing to its edges
    for each in (world, without_srdf):
        (forces,) = inner_forces(each.built, silent_pairs(each.built))
        assert (forces.acting, forces.most) == (0.0, None)
        assert forces.silenced == pytest.approx(overlap.force, rel=1e-12)


@pytest.mark.parametrize("pair", [("b", "d"), ("a", "b"), ("b", "c"), ("a", "c")])
def test_every_pair_can_be_turned_on_by_name(tmp_path: Path, pair: tuple[str, str]) -> None:
    """Whatever keeps it apart: an overlap, neighbours, a mimic joint, an SRDF; in the URDF as in the scene."""
    srdf = disable("a", "b") + disable("a", "c")
    by_tag = hs.World(train(tmp_path, tag(*pair, "pressure_field"), srdf).build())
    by_scene = hs.World(train(tmp_path, srdf=srdf).set_contact_law(*pair, "pressure_field").build())
    for world in (by_tag, by_scene):
        assert pair in touching(world)
        assert pair not in reasons(world)
    (forces,) = inner_forces(by_scene.built, silent_pairs(by_scene.built))
    assert (forces.most in (("b", "d"), ("d", "b"))) == (forces.acting > 1.0) == (pair == ("b", "d"))


def test_a_scene_outranks_a_urdf_and_that_an_srdf(tmp_path: Path) -> None:
    tagged = tag("a", "c", "pressure_field") + tag("a", "d", "none")
    world = hs.World(train(tmp_path, tagged, disable("a", "c")).build())
    assert ("a", "c") in touching(world)
    assert reasons(world)["a", "d"] == "asked for in the URDF"
    scene = train(tmp_path, tagged, disable("a", "c"))
    scene.set_contact_law("c", "a", "none").set_contact_law("d", "a", "pressure_field")
    world = hs.World(scene.build())
    assert reasons(world)["a", "c"] == "asked for in the scene"
    assert ("a", "d") in touching(world)


def test_a_quiet_link_touches_what_it_is_enabled_for(tmp_path: Path) -> None:
    """Nothing else, the ground included, and what is disabled by name in addition stays so: as in MoveIt."""
    srdf = (
        '<disable_default_collisions link="a"/><disable_default_collisions link="c"/>'
        '<enable_collisions link1="a" link2="d"/><enable_collisions link1="a" link2="bolt"/>'
        + disable("bolt", "a")
    )
    scene = train(tmp_path, srdf=srdf)
    scene.add_body("ball", 1.0, xyz=(0, 0, 1)).add_shape("sphere", radius=0.1)
    world = hs.World(scene.build())
    assert touching(world) == {("a", "d"), ("b", "bolt")} | {("ball", link) for link in ("bolt", "d")} | {
        ("b", "ball")
    }
    told = reasons(world)
    assert told["a", "all others"] == "SRDF: disabled by default, but for d"
    assert told["all others", "c"] == "SRDF: disabled by default"
    assert told["a", "bolt"] == "SRDF: Never"
    world = hs.World(scene.set_contact_law("a", "ball", "pressure_field").build())
    assert ("a", "ball") in touching(world)


def test_rigid_links_that_an_srdf_keeps_apart_are_measured_too(tmp_path: Path) -> None:
    """They have no skins, as they touch nothing."""
    scene = train(tmp_path, srdf=disable("b", "d")).build()
    world = hs.World(scene.with_({"models.train.compliance": "rigid"}))
    (row,) = [row for row in silent_pairs(world.built) if row.links == ("b", "d")]
    assert row.depth == pytest.approx(2e-3, rel=1e-6)
    assert (row.force or 0.0) > 1e6


def test_links_of_unlike_stiffness_overlap_as_deep_as_they_are_drawn(tmp_path: Path) -> None:
    """The surface of equal pressure lies in the softer one; the depth is that of both."""
    scene = train(tmp_path).build()
    world = hs.World(scene.with_({"models.train.links.b.modulus": 1e5}))
    (overlap,) = world.built.overlaps
    assert overlap.depth == pytest.approx(2e-3, rel=1e-6)


# --- laws that cannot serve


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        (("d", "bolt"), "are fixed to each other: contact would move neither"),
        (("a", "table"), "neither moves freely: contact would move neither"),
        (("c", "frame"), "'frame' has no collision geometry"),
    ],
)
def test_a_law_that_cannot_serve_is_an_error(tmp_path: Path, pair: tuple[str, str], problem: str) -> None:
    frame = '<link name="frame"/><joint name="f" type="fixed"><parent link="b"/><child link="frame"/></joint>'
    scene = train(tmp_path, frame)
    scene.add_static("table", "box", size=3 * (0.1,), xyz=(0, 0, -1))
    scene.set_contact_law(*pair, "pressure_field")
    with pytest.raises(InputError) as caught:
        hs.World(scene.build())
    told = f"contact.pairs.0: law pressure_field for '{pair[0]}' and '{pair[1]}': {problem}"
    assert told in str(caught.value)


def test_a_tag_that_cannot_serve_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"train.urdf: <hydro:contact_pair>, line 5: law pressure_field for 'd'"
    ):
        hs.World(train(tmp_path, tag("d", "bolt", "pressure_field")).build())


def test_a_law_of_what_was_taken_out_is_no_error(tmp_path: Path) -> None:
    scene = train(tmp_path).add_static("table", "box", size=3 * (0.1,), xyz=(0, 0, -1))
    loaded = scene.set_contact_law("b", "table", "pressure_field").build()
    world = hs.World(without(loaded, "table"), hs.World(loaded))
    assert ("b", "table") not in touching(world)


# --- deep starts


def heap(depth: float, compliance: str = "compliant") -> hs.SceneBuilder:
    """Two cubes of 0.1 m of different models that overlap by ``depth``."""
    scene = hs.SceneBuilder("heap", contact={"modulus": 1e6, "compliance": compliance})
    scene.add_static("table", "box", size=3 * (0.1,))
    scene.add_body("cube", 1.0, xyz=(0, 0, 0.1 - depth)).add_shape("box", size=3 * (0.1,))
    return scene


@pytest.mark.parametrize(("compliance", "depth"), [("rigid", 1e-3), ("compliant", 0.06)])
def test_a_deep_start_is_told_with_names_and_depth(
    caplog: pytest.LogCaptureFixture, compliance: str, depth: float
) -> None:
    hs.World(heap(depth, compliance).build())
    (record,) = caplog.records
    told = f"starts in deep overlap: 'cube' and 'table' by {1e3 * depth:.3g} mm; move them apart, or give them law none"
    assert told in record.getMessage()


@pytest.mark.parametrize(("ground", "cube"), [(1e6, 1e7), (1e7, 1e6), (1e6, 1e6)])
def test_the_depth_is_that_of_both_bodies(
    caplog: pytest.LogCaptureFixture, ground: float, cube: float
) -> None:
    """Whichever is the softer, and though the sides of the cube stand upright in the ground."""
    scene = hs.SceneBuilder("s")
    scene.add_ground(compliance="compliant", modulus=ground)
    scene.add_body("cube", 1.0, xyz=(0, 0, 0.02)).add_shape("box", size=3 * (0.1,), modulus=cube)
    hs.World(scene.build())
    (record,) = caplog.records
    assert "'cube' and 'ground' by 30 mm" in record.getMessage()


@pytest.mark.parametrize(("compliance", "depth"), [("rigid", 5e-5), ("compliant", 0.005), ("rigid", -0.01)])
def test_a_pressed_start_is_none(caplog: pytest.LogCaptureFixture, compliance: str, depth: float) -> None:
    """A soft body may start pressed, as fingers on what they hold, and what lies may overlap by round-off."""
    hs.World(heap(depth, compliance).build())
    assert caplog.records == []


def test_an_excluded_deep_start_is_none_and_worlds_that_go_on_tell_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hs.World(heap(0.06).set_contact_law("table", "cube", "none").build())
    assert caplog.records == []
    scene = heap(0.06).build()
    world = hs.World(scene)
    caplog.clear()
    hs.World(replace(scene), world)
    assert caplog.records == []


@pytest.mark.parametrize("depth", [0.01, 0.03, 0.12])
@pytest.mark.parametrize("rod_first", [True, False])
def test_a_rod_deep_in_a_block_is_told_whichever_has_the_skin(
    caplog: pytest.LogCaptureFixture, rod_first: bool, depth: float
) -> None:
    """A rod with a skin is crossed by the block's top only, along which its pressure falls, but not across."""
    scene = hs.SceneBuilder("rod", contact={"compliance": "rigid"})
    sizes = {"rod": ((0.04, 0.04, 0.3), 0.2 - depth), "block": (3 * (0.1,), 0.0)}
    for name in sizes if rod_first else reversed(sizes):
        size, height = sizes[name]
        scene.add_body(name, 1.0, xyz=(0, 0, height)).add_shape("box", size=size)
    hs.World(scene.build())
    (record,) = caplog.records
    assert "starts in deep overlap" in record.getMessage()


def test_a_deep_start_that_a_robot_asks_for_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Of its own links those that overlap do not touch; two that are told to are left to burst, as those of others."""
    train(tmp_path, tag("b", "d", "pressure_field"))
    hs.World(hs.SceneBuilder("t", contact={"compliance": "rigid"}).add_urdf(tmp_path / "train.urdf").build())
    (record,) = caplog.records
    assert "starts in deep overlap: 'b' and 'd' by 2 mm" in record.getMessage()


# --- what is taken out


def test_links_taken_out_are_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With depth and mend; who has told the pair, either way, hears nothing."""
    scene = train(tmp_path)
    world = hs.World(scene.build())
    (record,) = caplog.records
    told = "links of a robot that overlap where it starts do not touch: 'b' and 'd' by 2 mm; tell them law"
    assert told in record.getMessage()
    caplog.clear()
    hs.World(replace(world.scene), world)
    for law in ("none", "pressure_field"):
        hs.World(train(tmp_path).set_contact_law("b", "d", law).build())
    assert caplog.records == []


def on_free_joint(depth: float) -> hs.SceneBuilder:
    """A box that hangs on a fixed one by a floating joint, and starts ``depth`` deep in its top."""
    scene = hs.SceneBuilder("s", contact={"compliance": "rigid"})
    model = scene.add_model("pair")
    model.add_link("below").add_shape("box", size=3 * (0.1,))
    model.add_link("above", mass=1.0).add_shape("box", size=3 * (0.1,))
    model.add_joint("free", "floating", "below", "above", xyz=(0, 0, 0.1 - depth))
    return scene


def test_a_body_on_a_free_joint_lies_on_its_parent(caplog: pytest.LogCaptureFixture) -> None:
    """50 um deep it was taken out as if drawn into it, and fell through without a word."""
    world = hs.World(on_free_joint(5e-5).build())
    assert touching(world) == {("above", "below")}
    world.step(200)
    assert world.frame_pose("above")[2, 3] == pytest.approx(0.1, abs=1e-4)
    assert caplog.records == []
    hs.World(on_free_joint(1e-3).build())
    (record,) = caplog.records
    assert "starts in deep overlap: 'below' and 'above' by 1 mm" in record.getMessage()


# --- how deep


@pytest.mark.parametrize("compliance", ["rigid", "compliant"])
@pytest.mark.parametrize(("depth", "told"), [(0.05, "by 50 mm"), (0.06, "by 60 mm")])
def test_the_depth_is_told_beyond_the_middle_of_bodies(
    caplog: pytest.LogCaptureFixture, compliance: str, depth: float, told: str
) -> None:
    """Half overlapping boxes had 16.7 mm, or were 'one inside the other'."""
    hs.World(heap(depth, compliance).build())
    (record,) = caplog.records
    assert f"'cube' and 'table' {told};" in record.getMessage()


def test_what_is_inside_is_told_so(caplog: pytest.LogCaptureFixture) -> None:
    scene = hs.SceneBuilder("s", contact={"compliance": "rigid"})
    scene.add_static("table", "box", size=3 * (0.1,))
    scene.add_body("ball", 1.0).add_shape("sphere", radius=0.02)
    hs.World(scene.build())
    (record,) = caplog.records
    assert (
        "'ball', one inside the other" in record.getMessage() or "'table', one inside" in record.getMessage()
    )
