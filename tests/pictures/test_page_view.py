"""What fills a picture of the page, and whether bodies are open at their contacts."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from hydro_sim_core.drawing.patch_surface import PatchFaces
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.pictures.page_camera import PageCamera, PictureSize
from hydro_sim_core.viewer.frame import ViewFrame, ViewPatch
from hydro_sim_core.viewer.scene import scene_of_urdf

TWO = """<robot name="two">
  <link name="a"><visual><geometry><box size="0.2 0.2 0.2"/></geometry></visual></link>
  <link name="b"><visual><geometry><box size="0.2 0.2 0.2"/></geometry></visual></link>
  <joint name="between" type="fixed"><parent link="a"/><child link="b"/><origin xyz="2 0 0"/></joint>
</robot>"""


def test_links_fill_the_picture_and_solid_bodies_hide_their_contacts():
    """Of two boxes far apart one, with a contact inside, is seen alone; as it looks, or open at its contact."""
    scale = PressureScale(20e3)
    scene = scene_of_urdf(TWO, scale)
    poses = np.array([np.eye(4), np.eye(4)])
    poses[1, 0, 3] = 2.0
    corners = 0.09 * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    faces = PatchFaces(corners, np.full(4, 20e3), np.array([4]))
    inside = ViewPatch("a", "b", faces, np.zeros(3), np.zeros(3), np.zeros(3), 0.0324, 20e3)
    shown = ViewFrame(0.0, 0, 0, poses, np.zeros(0), patches=(inside,))
    middle = {}
    for links, solid in (((), True), (("a",), False), (("a",), True)):
        with PageCamera(PictureSize(320, 240), "top", links, solid) as camera:
            drawn = np.asarray(Image.open(BytesIO(camera.picture(scene, shown))).convert("RGB")).astype(int)
        middle[links, solid] = drawn[100:140, 140:180].reshape(-1, 3)
    yellow = 255.0 * scale.colours(np.array([20e3]))[0, :3]

    def share(view, colour):
        return (np.abs(middle[view] - colour).max(axis=1) <= 5.0).mean()

    assert share((("a",), False), yellow) > 0.1
    assert share((("a",), True), yellow) == 0.0
    # Between the two is ground, which is brighter than a body.
    wide, close = (np.median(middle[links, True], axis=0) for links in ((), ("a",)))
    assert np.all(wide > close + 15.0), (wide, close)


def test_bodies_throw_shadows_on_bodies():
    """A cube of 4 cm over a plate: where its shadow is, and how large, follows from where the lamp is."""
    over = """<robot name="over">
      <link name="world"><visual><geometry><box size="0.2 0.2 0.02"/></geometry>
        <material name="grey"><color rgba="0.6 0.6 0.6 1"/></material></visual></link>
      <link name="cube"><visual><geometry><box size="0.04 0.04 0.04"/></geometry>
        <material name="red"><color rgba="1 0 0 1"/></material></visual></link>
      <joint name="above" type="fixed"><parent link="world"/><child link="cube"/></joint>
    </robot>"""
    scene = scene_of_urdf(over, PressureScale())
    poses, place = np.tile(np.eye(4), (2, 1, 1)), np.array([0.04, -0.03, 0.1])
    poses[scene.links.index("cube"), :3, 3] = place
    with PageCamera(PictureSize(320, 240), "top") as camera:
        png = camera.picture(scene, ViewFrame(0.0, 0, 0, poses, np.zeros(0)))
    drawn = np.asarray(Image.open(BytesIO(png)).convert("RGB")).astype(int)
    red, _, blue = drawn[:130].transpose(2, 0, 1)  # above the legend
    grey = (np.abs(red - blue) < 12) & (red < 200)
    # From above, x is to the right and y up. Left, right and upper edge of the plate tell the scale.
    rows, columns = np.nonzero(grey)
    top, left, right = rows.min(), columns.min(), columns.max()
    scale = 0.2 / (right - left)
    inside = np.zeros_like(grey)
    inside[top + 4 :, left + 4 : right - 4] = True  # no lines along the edges
    plate = np.median(red[grey])
    rows, columns = np.nonzero(inside & grey & (red < 0.93 * plate) & (red > 0.7 * plate))
    middle = scale * np.array([columns.mean() - left, top - rows.mean()]) + [-0.1, 0.1]
    slope = np.array([0.4, -0.62]) / 0.68
    expected = place[:2] - (place[2] - 0.01) * slope
    assert np.allclose(middle, expected, atol=2e-3)
    area = 0.04**2 * (1.0 + np.abs(slope).sum())
    assert scale**2 * len(rows) == pytest.approx(area, rel=0.15)
