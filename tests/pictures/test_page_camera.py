"""Pictures of the page in a real browser: what is in the scene is in them, in the colours of the scale."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from hydro_sim_core.drawing.patch_surface import PatchFaces
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.pictures import page_camera
from hydro_sim_core.pictures.page_camera import PageCamera, PictureSize
from hydro_sim_core.viewer.frame import ViewFrame, ViewPatch
from hydro_sim_core.viewer.scene import scene_of_urdf

BOX = """<robot name="one">
  <link name="world"><visual><geometry><box size="0.2 0.2 0.1"/></geometry></visual></link>
</robot>"""
SIZE = PictureSize(320, 240)


@pytest.fixture(scope="module")
def camera():
    with PageCamera(SIZE, "top") as opened:
        yield opened


def frame(*patches):
    return ViewFrame(0.0, 0, 0, np.eye(4)[None], np.zeros(0), patches=patches)


def plate(pressure):
    """A square just above the box, with the same pressure everywhere and a force too small to be drawn over it."""
    corners = 0.09 * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) + [0.0, 0.0, 0.06]
    faces = PatchFaces(corners, np.full(4, pressure), np.array([4]))
    return ViewPatch("a", "b", faces, np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 0.06]), 0.0324, pressure)


def pixels(png):
    return np.asarray(Image.open(BytesIO(png)).convert("RGB")).astype(int)


def test_the_scene_is_in_the_picture(camera):
    scene = scene_of_urdf(BOX, PressureScale())
    with_box = pixels(camera.picture(scene, frame()))
    without = pixels(camera.picture(replace(scene, visuals=()), frame()))
    assert with_box.shape == (SIZE.height, SIZE.width, 3)
    differs = np.abs(with_box - without).max(axis=2) > 20
    assert differs.mean() > 0.05
    assert differs[SIZE.height // 2, SIZE.width // 2]


@pytest.mark.parametrize("full_scale", [20e3, 50e3])
def test_pressures_have_the_colours_of_the_scale(camera, full_scale):
    """A plate, above the legend, at pressures across the scale and beyond it."""
    scale = PressureScale(full_scale)
    scene = scene_of_urdf(BOX, scale)
    for pressure in (0.05 * full_scale, 0.4 * full_scale, 0.8 * full_scale, 2.0 * full_scale):
        drawn = pixels(camera.picture(scene, frame(plate(pressure))))[50:65, 160]
        expected = 255.0 * scale.colours(np.array([pressure]))[0, :3]
        assert np.abs(drawn - expected).max() <= 3.0, (pressure, drawn[0], expected)


def test_a_page_that_does_not_draw_is_told_in_one_line(camera, monkeypatch):
    monkeypatch.setattr(page_camera, "_FRAME_TIMEOUT", 0.1)
    monkeypatch.setattr(page_camera, "_SHOWN", "() => false")
    with pytest.raises(InputError, match=r"pictures: browser: the page was not drawn: .*Timeout") as error:
        camera.picture(scene_of_urdf(BOX, PressureScale()), frame())
    assert "\n" not in str(error.value)
