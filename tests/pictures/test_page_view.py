"""What fills a picture of the page, and whether bodies are open at their contacts."""

from __future__ import annotations

from io import BytesIO

import numpy as np
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
