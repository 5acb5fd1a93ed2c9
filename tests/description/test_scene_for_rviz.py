"""The scene as RViz gets it: one colour a link, glass around contact patches, and nothing else changed."""

import numpy as np
import pytest

from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.description.scene_for_rviz import added_links, scene_for_rviz
from hydro_sim_core.simulation.loading import find_scene

SCENES = sorted(shipped_scenes())


def _links(scene):
    return {link.name: link for robot in scene.robots for link in robot.links}


@pytest.mark.parametrize("name", SCENES)
def test_every_visual_keeps_place_and_colour_in_a_link_of_its_colour(name):
    """RViz paints a link in the colour of its first visual."""
    scene = find_scene(name)
    drawn = scene_for_rviz(scene)
    after = _links(drawn)
    parents = {child: parent for parent, child in added_links(scene)}
    kept = {}
    for link in after.values():
        assert len({visual.rgba for visual in link.visuals}) <= 1
        kept.setdefault(parents.get(link.name, link.name), []).extend(link.visuals)
    for link_name, link in _links(scene).items():
        assert {id(visual.shape) for visual in kept[link_name]} == {
            id(visual.shape) for visual in link.visuals
        }
        for visual in kept[link_name]:
            (before,) = [one for one in link.visuals if one.shape is visual.shape and one.X_LG is visual.X_LG]
            assert visual.rgba[:3] == (before.rgba or (0.6, 0.6, 0.6))[:3]


@pytest.mark.heavy(3)
@pytest.mark.parametrize("name", SCENES)
def test_added_links_are_welded_where_they_belong(name):
    scene = find_scene(name)
    drawn = scene_for_rviz(scene)
    joints = {joint.child: joint for robot in drawn.robots for joint in robot.joints}
    for parent, child in added_links(scene):
        assert joints[child].type == "fixed"
        assert joints[child].parent == parent
        assert (np.eye(4) == joints[child].X_PJ).all()
    assert set(_links(drawn)) == set(_links(scene)) | {child for _, child in added_links(scene)}


def test_soft_fingers_are_glass_and_the_spatula_is_not():
    links = _links(scene_for_rviz(find_scene("spatula_slip")))
    opacities = {name: {v.rgba[3] for v in link.visuals} for name, link in links.items() if link.visuals}
    for name, found in opacities.items():
        assert (max(found) < 0.5) == ("finger" in name), name
    assert {name for name in opacities if name.startswith("spatula")} == {"spatula", "spatula/colour_1"}
