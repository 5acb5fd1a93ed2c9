"""What a seed draws, and what other values leave of it."""

import numpy as np
import pytest

from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS
from hydro_sim_core.tasks.trial import draw, drawn_in
from hydro_sim_core.tasks.variation import Draws

FRICTION = {"friction of block, %", "friction of peg, %"}
PLACE = {"off towards, deg", "higher, mm"}


@pytest.mark.parametrize(
    ("values", "gone"),
    [
        ({}, set()),
        ({"models.block.pose.xyz": [0.45, 0.0, 0.055]}, PLACE),
        ({"models.block.pose": {"xyz": [0.45, 0.0, 0.055]}}, {*PLACE, "tilted about, deg"}),
        ({"models.block.friction": 0.9}, {"friction of block, %"}),
        ({"models.block.proximity.mu_dynamic": 0.9}, {"friction of block, %"}),
        ({"models.block.links.block.friction": 0.9}, {"friction of block, %"}),
        ({"models.arm.links.peg.mu_dynamic": 0.9}, {"friction of peg, %"}),
        ({"models.arm.links.peg.mu_static": 0.9}, set()),
        ({"models.arm.links.peg.modulus": 1e9, "time_step": 2e-3}, set()),
    ],
)
def test_what_is_set_is_not_told_as_drawn(values, gone):
    task, scene = TASKS["peg_in_hole"], find_scene("peg_in_hole")
    drawn = draw(task, 1, scene).drawn
    assert drawn.keys() == {*PLACE, *FRICTION, "tilted about, deg"}
    left = drawn_in(task, 1, scene, values)
    assert left == {name: value for name, value in drawn.items() if name not in gone}


def test_what_a_task_notes_under_another_name_goes_with_all_that_it_was_drawn_for():
    """The bubbles of slip control have one modulus."""
    task, scene = TASKS["slip_control"], find_scene(TASKS["slip_control"].scene)
    name = "modulus of the bubbles, %"
    one = {"models.arm.links.left_finger.modulus": 1e5}
    assert name in drawn_in(task, 1, scene, one)
    assert name not in drawn_in(task, 1, scene, {**one, "models.arm.links.right_finger.modulus": 1e5})


@pytest.mark.parametrize("name", TASKS)
def test_every_draw_is_of_something_in_the_scene(name):
    """Mirrored, each changes a value; the other ones stay to the last bit."""
    task, scene = TASKS[name], find_scene(TASKS[name].scene)
    draws = draw(task, 2, scene)
    changed = set()
    for number in range(draws.count):
        other = draw(task, 2, scene, mirrored=number)
        assert other.values.keys() == draws.values.keys()
        (drawn,) = [one for one, value in draws.drawn.items() if other.drawn[one] != value]
        assert [path for path, value in draws.values.items() if other.values[path] != value], drawn
        changed.add(drawn)
    assert changed == draws.drawn.keys()


def test_friction_that_a_scene_gives_twice_stays_one():
    """The scene that is drawn has both alike."""
    twice = {"compliance": "rigid", "mu_static": 0.5, "mu_dynamic": 0.5}
    scene = find_scene("drop_box").with_({"models.box.proximity": twice})
    draws = Draws(np.random.default_rng(3), scene)
    draws.properties("friction", "mu_dynamic", [("box", "box")], 0.2)
    (share,) = draws.drawn.values()
    assert share != 0.0
    drawn = scene.with_(draws.values).spec.models[0].proximity
    assert drawn.mu_static == drawn.mu_dynamic == pytest.approx(0.5 * (1.0 + share / 100.0))
    assert draws.count == 1
