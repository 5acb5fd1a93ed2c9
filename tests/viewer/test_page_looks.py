"""What a person sees on the page: bodies and patches in front of each other, labels, and the same order everywhere."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from hydro_sim_core.drawing.patch_surface import PatchFaces
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.viewer.frame import ViewFrame, ViewPatch
from hydro_sim_core.viewer.scene import ViewLaws, scene_of_urdf
from support.viewer.browser import box, is_visible, look, opened, picture, show_patches_alone, text
from support.viewer.pages import wait_until

SCALE = PressureScale(1000.0)
#: Seen from the front, ``near`` covers the patch at the origin and ``far`` is behind it.
LINKS = {"near": 0.4, "far": -0.4}
RED = (220, 30, 30)


def urdf(links):
    parts = [
        f'<link name="{name}"><visual><geometry><box size="0.1 0.6 0.6"/></geometry>'
        '<material name="red"><color rgba="0.86 0.12 0.12 1"/></material></visual></link>'
        f'<joint name="to_{name}" type="fixed"><parent link="world"/><child link="{name}"/></joint>'
        for name in links
    ]
    return f'<robot name="looks"><link name="world"/>{"".join(parts)}</robot>'


def patch(a, b, pressure=500.0, force=(0.0, 3.0, 4.0), y=0.0):
    """A square at the origin, across the line of sight."""
    corners = np.array([[0, y - 0.1, -0.1], [0, y + 0.1, -0.1], [0, y + 0.1, 0.1], [0, y - 0.1, 0.1]])
    faces = PatchFaces(corners, np.full(4, pressure), np.array([4]))
    return ViewPatch(a, b, faces, np.array(force), np.zeros(3), np.array([0.0, y, 0.0]), 0.04, pressure)


@pytest.fixture
def stage(scripted):
    """Shows patches between boxes."""
    scene = scene_of_urdf(urdf(LINKS), SCALE)
    poses = np.tile(np.eye(4), (len(scene.links), 1, 1))
    for name, x in LINKS.items():
        poses[scene.links.index(name), 0, 3] = x
    scripted.show_scene(scene)

    def show(*patches, step=0):
        frame = ViewFrame(1e-3 * step, step, 0, poses, np.zeros(0), patches=patches)
        return scripted.show(frame)

    scripted.show_patches = show
    return scripted


def url(stage):
    return f"{stage.url}&view=front&theme=light"


def pixel(page, x, y):
    return picture(page, {"x": x, "y": y, "width": 4, "height": 4})[1, 1].astype(int)


def middle(page):
    """Colour where both boxes and the patch are behind each other, beside the arrow."""
    return pixel(page, 420, 430)


def colour_of(pressure):
    return (255 * SCALE.colours(np.array([pressure]))[0, :3]).round().astype(int)


def test_a_patch_shows_its_colour_through_the_bodies_that_make_it(browser, stage):
    stage.show_patches(patch("near", "far"))
    with opened(browser, url(stage)) as page:
        show_patches_alone(page)
        wait_until(lambda: (middle(page) == colour_of(500.0)).all())


def test_a_patch_behind_another_body_is_behind_it(browser, stage):
    """Also behind one that is in contact elsewhere, such as a mug on a plate that stands on the ground."""
    stage.show_patches(patch("world", "far"))
    with opened(browser, url(stage)) as page:
        show_patches_alone(page)
        wait_until(lambda: abs(middle(page) - RED).max() < 40)
        stage.show_patches(patch("world", "far"), patch("near", "world", y=2.0), step=1)
        wait_until(lambda: look(page, "seq") is not None and text(page, "#clock") == "0.001 s")
        seen = middle(page)
        assert abs(seen - colour_of(500.0)).max() > 40
        assert seen[0] > seen[1] + 40  # the red body is plain to see


def test_a_body_in_contact_stays_visible(browser, stage):
    stage.show_patches()
    with opened(browser, url(stage)) as page:
        solid = middle(page)
        background = pixel(page, 60, 300)
        stage.show_patches(patch("near", "world", y=2.0), step=1)
        wait_until(lambda: text(page, "#clock") == "0.001 s")
        assert abs(middle(page) - background).max() > 0.5 * abs(solid - background).max()


def test_solid_bodies_hide_their_patches_and_clear_ones_none(browser, stage):
    stage.show_patches(patch("near", "far"), patch("world", "far", pressure=900.0))
    with opened(browser, url(stage)) as page:
        show_patches_alone(page)
        page.locator("#bodies").select_option("solid")
        wait_until(lambda: abs(middle(page) - RED).max() < 40)
        page.locator("#bodies").select_option("clear")
        stage.show_patches(patch("world", "far", pressure=900.0), step=1)
        wait_until(lambda: (middle(page) == colour_of(900.0)).all())


def test_many_bodies_in_contact_share_what_tells_them_apart(browser, scripted):
    """More than the stencil has bits: patches between them are all seen."""
    names = [f"body_{i}" for i in range(12)]
    scene = scene_of_urdf(urdf(names), SCALE)
    poses = np.tile(np.eye(4), (len(scene.links), 1, 1))
    for i, name in enumerate(names):
        poses[scene.links.index(name), 0, 3] = 0.5 + 0.01 * i
    scripted.show_scene(scene)
    patches = tuple(patch(a, b, y=0.0) for a, b in pairwise(names))
    scripted.show(ViewFrame(0.0, 0, 0, poses, np.zeros(0), patches=patches[-1:]))
    with opened(browser, url(scripted)) as page:
        show_patches_alone(page)
        scripted.show(ViewFrame(1e-3, 1, 0, poses, np.zeros(0), patches=patches))
        wait_until(lambda: text(page, "#clock") == "0.001 s")
        assert page.locator("#contacts tbody tr").count() > 0


def test_laws_of_pairs_are_told(browser, stage):
    """Beside contacts of rigid bodies, whose pressure is no measure for the legend, and in a list that opens."""
    pairs = (("near", "far", "pressure field"), ("far", "world", "rigid skin"), ("near", "world", "none"))
    counts = {"pressure field": 250, "rigid skin": 1, "none": 1}
    scene = replace(scene_of_urdf(urdf(LINKS), SCALE), laws=ViewLaws(counts, pairs))
    stage.show_scene(scene)
    rigid = replace(patch("far", "world", pressure=3e9), law="rigid skin")
    stage.show_patches(patch("near", "far", pressure=250.0), rigid)
    with opened(browser, url(stage)) as page:
        wait_until(lambda: "rigid" in text(page, "#contacts"))
        rows = page.locator("#contacts tbody tr")
        assert [row.split("\t")[0] for row in rows.all_inner_texts()] == ["far on worldrigid", "near on far"]
        assert rows.first.get_attribute("title").startswith("Contact by rigid skin")
        wait_until(lambda: text(page, "#legend output") == "max 0.25")
        assert text(page, "#laws summary") == "Pairs of links: 250 pressure field, 1 rigid skin, 1 silent"
        assert not is_visible(page, "#laws table")
        page.locator("#laws summary").click()
        listed = page.locator("#laws tbody tr").all_inner_texts()
        assert listed[0].split("\t") == ["near, world", "none"]
        assert listed[-1].strip() == "and 249 more"
        stage.show_scene(replace(scene, laws=None))
        wait_until(lambda: not is_visible(page, "#laws"))


def test_ticks_of_the_legend_are_at_their_pressures(browser, stage):
    stage.show_patches(patch("near", "far", pressure=750.0))
    with opened(browser, url(stage)) as page:
        bar, mark = box(page, "#legend .bar"), box(page, "#legend .mark")
        tick = page.locator("#legend .ticks span").nth(3)
        assert tick.inner_text() == "0.75"
        place = tick.bounding_box()
        assert place["x"] + place["width"] / 2 == pytest.approx(bar["x"] + 0.75 * bar["width"], abs=1.5)
        assert mark["x"] + mark["width"] / 2 == pytest.approx(bar["x"] + 0.75 * bar["width"], abs=1.5)
        assert "kPa" in text(page, "#legend h2")
        assert text(page, "#legend output") == "max 0.75"


def test_a_page_may_choose_another_scale_for_itself(browser, stage):
    stage.show_patches(patch("near", "far"))
    with opened(browser, url(stage)) as page, opened(browser, url(stage)) as other:
        show_patches_alone(page)
        show_patches_alone(other)
        assert page.locator("#full-scale option").first.inner_text() == "of the scene, 1 kPa"
        page.locator("#full-scale").select_option("500")
        wait_until(lambda: (middle(page) == SCALE.table()[-1]).all())
        assert text(page, "#legend h2") == "Contact pressure, Pa"
        assert text(page, "#pressure-unit") == "Pa"
        assert (middle(other) == colour_of(500.0)).all()
        stage.show_patches(patch("near", "far", pressure=250.0), step=1)
        wait_until(lambda: (middle(other) == colour_of(250.0)).all())
        wait_until(lambda: (middle(page) == colour_of(500.0)).all())
        page.locator("#full-scale").select_option("")
        wait_until(lambda: (middle(page) == colour_of(250.0)).all())


def keys(page):
    """Names in the charts of contact force, with their colours."""
    rows = page.locator("#chart-section .key li")
    return [
        (rows.nth(i).inner_text().split("\n")[0], rows.nth(i).get_attribute("style"))
        for i in range(rows.count())
    ]


def test_contacts_have_the_same_order_and_colour_on_every_page(browser, stage):
    """However strong they are, and whenever the page was opened."""
    first, second = patch("near", "far"), patch("world", "far", force=(0.0, 0.0, 1.0))
    stage.show_patches(first, second)
    with opened(browser, url(stage)) as page:
        wait_until(lambda: len(keys(page)) == 2)
        before = keys(page)
        assert [name for name, _ in before] == ["near on far", "world on far"]
        weaker = replace(first, force_on_b=np.array([0.1, 0.0, 0.0]))
        stage.show_patches(second, weaker, step=1)
        with opened(browser, url(stage)) as later:
            wait_until(lambda: len(keys(later)) == 2)
            assert keys(later) == keys(page) == before
            for one in (page, later):
                cells = one.locator("#contacts tbody td:first-child")
                wait_until(lambda cells=cells: cells.count() == 2)
                assert cells.all_inner_texts() == ["near on far", "world on far"]
    assert len({style for _, style in before}) == 2


def labels(page, kind):
    return page.locator(f"#labels .{kind}:visible").all_inner_texts()


def test_arrows_have_numbers_and_bodies_and_frames_names(browser, stage):
    stage.show_patches(patch("near", "far"))
    with opened(browser, url(stage)) as page:
        wait_until(lambda: labels(page, "force") == ["5 N"])
        assert labels(page, "body") == labels(page, "frame") == []
        page.locator("#show-names").check()
        page.locator("[data-view=side]").click()
        wait_until(lambda: set(labels(page, "body")) == {"near", "far"})
        page.locator("#show-names").uncheck()
        page.locator("#show-frames").check()
        wait_until(lambda: "near" in labels(page, "frame"))
        doubtful = replace(patch("near", "far"), problem="too few faces")
        stage.show_patches(doubtful, step=1)
        wait_until(lambda: labels(page, "force") == ["≈ 5 N"])
        page.locator("#show-wrenches").uncheck()
        wait_until(lambda: labels(page, "force") == [])


def test_nothing_is_drawn_while_nothing_changes(browser, stage):
    stage.show_patches(patch("near", "far"))
    with opened(browser, url(stage)) as page:
        time.sleep(1.0)
        before = look(page, "frames")
        time.sleep(0.5)
        assert look(page, "frames") == before
