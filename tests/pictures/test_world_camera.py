"""A world that a program steps can be looked at: as a picture, and on a page."""

from __future__ import annotations

import urllib.request

import numpy as np
import pytest
from PIL import Image

import hydro_sim_core as hs


@pytest.fixture
def world():
    scene = hs.SceneBuilder()
    scene.add_ground()
    scene.add_static(
        "post", "box", size=(0.05, 0.05, 1.0), xyz=(0, 0.2, 0.5)
    )  # the camera looks at all there is
    scene.add_body("ball", mass=0.2, xyz=(0, 0, 0.55)).add_shape("sphere", radius=0.05, rgba=(1, 0, 0, 1))
    return hs.World(scene.build())


def red(picture):
    """(n, 2) columns and rows of what is clearly red."""
    r, g, b = np.moveaxis(picture.astype(int), 2, 0)
    rows, columns = np.nonzero((r > g + 60) & (r > b + 60))
    return np.column_stack([columns, rows])


def test_a_picture_shows_the_world_as_it_is_then(world, tmp_path):
    before = world.render(tmp_path / "before.png", camera="front", size=(320, 240))
    assert before.shape == (240, 320, 3)
    np.testing.assert_array_equal(before, np.asarray(Image.open(tmp_path / "before.png").convert("RGB")))
    assert len(red(before)) > 50
    world.place("ball", np.block([[np.eye(3), np.array([[0.0], [0.0], [0.9]])], [np.zeros(3), 1.0]]))
    after = world.render(camera="front", size=(320, 240))
    assert abs(red(after).mean(axis=0) - red(before).mean(axis=0)).max() > 10.0


def test_a_page_shows_the_world_when_it_is_told_to(world):
    with world.view() as view:
        assert view.is_open
        assert b"hydro-sim" in urllib.request.urlopen(view.url).read()
        world.step(10)
        view.sync()
        assert repr(view) == f"<WorldView of 'scene' at {view.url}>"
    assert not view.is_open


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"camera": "isso"}, "camera: 'isso' is none; did you mean 'iso'"),
        ({"size": 3}, "size: 3 is none"),
        ({"size": (10, 480)}, "size: 10 is too small"),
        ({"size": (640, 1e4)}, "is not a whole number"),
        ({"size": (640, 10000)}, "10000 is too large"),
        ({"path": "picture.jpg"}, "end it in .png"),
        ({"full_scale": -1.0}, "pressure scale"),
    ],
)
def test_what_no_picture_can_be_is_refused(world, wrong, says):
    with pytest.raises(hs.InputError) as caught:
        world.render(**wrong)
    assert says in str(caught.value)
