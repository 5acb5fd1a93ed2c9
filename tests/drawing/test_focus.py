"""Where a viewer looks: poses at the start without a compiled model, and the region that is handled."""

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.description.start_poses import start_poses
from hydro_sim_core.drawing.focus import focus_of
from hydro_sim_core.simulation.loading import find_scene, scene_of_robot


@pytest.mark.heavy(3)
@pytest.mark.parametrize("name", sorted(shipped_scenes()))
def test_start_poses_are_those_of_the_world(name):
    """Of every link, mimic joints and prefixes included."""
    world = hs.load_scene(name)
    poses = start_poses(world.scene)
    for link in world.frame_names:
        assert poses[link] == pytest.approx(world.frame_pose(link), abs=1e-12)


def test_focus_holds_what_floats_and_the_gripper_beside_it():
    scene = find_scene("spatula_slip")
    focus = focus_of(scene)
    poses = start_poses(scene)
    for name in ("left_finger", "right_finger"):
        assert focus.distances(poses[name][None, :3, 3])[0] < 1e-12
    assert focus.distances(poses["base_link"][None, :3, 3])[0] > focus.size
    assert 0.1 < focus.size < 0.4


def test_focus_of_a_robot_alone_holds_its_links():
    scene = find_scene("gen3_7dof")
    focus = focus_of(scene)
    assert focus.distances(start_poses(scene)["end_effector_link"][None, :3, 3])[0] < 1e-12
    assert 0.4 < focus.size < 1.5


def test_focus_of_nothing_that_moves_has_a_size(tmp_path):
    """Everybody divides by it."""
    path = tmp_path / "post.urdf"
    path.write_text('<robot name="post"><link name="post"/></robot>')
    focus = focus_of(scene_of_robot(path))
    assert focus.size > 0.0
    assert np.isfinite(focus.centre).all()
