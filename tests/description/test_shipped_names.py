"""Names of shipped robots and objects in scene files."""

from pathlib import Path

import pytest

from hydro_sim_core.description import load_scene
from hydro_sim_core.errors import InputError


def test_a_scene_anywhere_may_name_what_is_shipped(tmp_path):
    """As one of another package, which knows no path to it."""
    path = tmp_path / "scene.yaml"
    text = "name: table\nmodels:\n  - {name: dish, urdf: %s, base: floating}\n"
    path.write_text(text % "plate")
    (robot,) = load_scene(path).robots
    assert Path(robot.source).name == "plate.urdf.xacro"
    path.write_text(text % "plte")
    with pytest.raises(
        InputError, match=r"models\.0\.urdf: 'plte' is neither a file, .*; did you mean 'plate'\?"
    ):
        load_scene(path)
