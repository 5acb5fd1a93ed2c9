"""Angles that look as if they were in degrees are told."""

from __future__ import annotations

import logging

import pytest

from hydro_sim_core import SceneBuilder
from hydro_sim_core.description import load_robot, load_scene
from support.description.urdf_text import write_urdf

PARTS = (
    '<link name="base"/>',
    '<link name="hand"><visual><origin rpy="0 0 6.2832"/><geometry><sphere radius="1"/></geometry></visual>'
    '<collision><origin rpy="0 {0} 0"/><geometry><sphere radius="1"/></geometry></collision></link>',
    '<joint name="wrist" type="fixed"><origin rpy="{0} 0 0"/><parent link="base"/><child link="hand"/></joint>',
)
SCENE = """
name: turned
models: [{name: arm, urdf: test.urdf, pose: {rpy: [0, 0, -90]}}]
environment: [{name: ground, shape: {half_space: {}}, pose: {rpy: [3.1416, 0, 0]}}]
"""


def test_a_file_with_degrees_is_told_in_one_warning(tmp_path, caplog: pytest.LogCaptureFixture) -> None:
    """MuJoCo's angles are in degrees; they were taken for radians without a word."""
    path = write_urdf(tmp_path, *(part.format(90) for part in PARTS))
    with caplog.at_level(logging.WARNING):
        load_robot(path)
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{path}: angles of more than once round: link 'hand': rpy 0 90 0; joint 'wrist': rpy 90 0 0; "
        "write them in rad, not in degrees"
    )
    caplog.clear()
    load_robot(write_urdf(tmp_path, *(part.format(6.2832) for part in PARTS)))
    assert not caplog.records


def test_a_scene_with_degrees_is_told(tmp_path, caplog: pytest.LogCaptureFixture) -> None:
    write_urdf(tmp_path, *(part.format(1.57) for part in PARTS))
    (tmp_path / "scene.yaml").write_text(SCENE)
    load_scene(tmp_path / "scene.yaml")
    (record,) = caplog.records
    assert (
        "scene.yaml: angles of more than once round: models 'arm': rpy 0 0 -90; write" in record.getMessage()
    )


def test_a_program_with_degrees_is_told_with_its_line(caplog: pytest.LogCaptureFixture) -> None:
    scene = SceneBuilder()
    scene.add_body("ball", mass=1.0).add_shape("sphere", radius=0.1, rpy=(45, 0, 0))
    (record,) = caplog.records
    assert "test_degrees.py:" in record.getMessage()
    assert "link 'ball', sphere: rpy 45 0 0" in record.getMessage()


@pytest.mark.parametrize(
    ("lower", "upper", "told"),
    [
        (-180, 180, True),
        (0, 45, True),
        (-360, 90, True),
        (-12.566, 12.566, False),
        (-3, 5, False),
        (-10, 10, False),
    ],
)
def test_limits_in_degrees_are_told(tmp_path, caplog: pytest.LogCaptureFixture, lower, upper, told) -> None:
    """A wrist may turn twice, and a wheel as often as it likes; their ends are other numbers than those of degrees."""
    links = '<parent link="base"/><child link="hand"/>'
    limit = f'<limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/>'
    load_robot(
        write_urdf(
            tmp_path,
            *PARTS[:1],
            '<link name="hand"/>',
            f'<joint name="j" type="revolute">{links}{limit}</joint>',
        )
    )
    arm = SceneBuilder().add_model("arm")
    arm.add_joint("j", "revolute", "base", "hand", lower=lower, upper=upper)
    words = f"angles of more than once round: joint 'j': limits {lower:g} {upper:g}; write them in rad"
    assert [words in record.getMessage() for record in caplog.records] == [True, True] * told
