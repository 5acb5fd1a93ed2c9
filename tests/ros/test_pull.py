"""Pulls as messages: what they say is done, also what a recording of the command line has, and nonsense is refused."""

from __future__ import annotations

import pytest
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

import hydro_sim_core as hs
from hydro_sim.controllers.pull import PullController, let_go_message, pull_message
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.pulls import encode_pulls
from hydro_sim_core.simulation.world.pulls import Pull

SPRING = Pull("b", (0.1, 0.0, 0.0), (0.0, 0.5, 1.0), 70.0, 3.0)


@pytest.fixture(scope="module")
def made():
    scene = hs.SceneBuilder()
    for i, name in enumerate("ab"):
        scene.add_body(name, mass=1.0, xyz=(i, 0, 0)).add_shape("sphere", radius=0.05)
    scene.add_ground()
    return hs.World(scene.build())


@pytest.fixture
def world(made):
    made.reset()
    return made


def message(*links, data=()):
    message = Float64MultiArray(data=list(data))
    message.layout.dim = [MultiArrayDimension(label=link, size=size) for link, size in links]
    return message


def test_a_message_pulls_by_the_default_spring_and_lets_go(world):
    controller = PullController(world)
    controller.check(pull_message("a", (0.0, 0.0, 0.01), (1.0, 2.0, 3.0)))(world)
    (pull,) = world.pulls
    world.pull("b", pull.point, pull.target)  # the other has the same mass
    assert pull.target == (1.0, 2.0, 3.0)
    like = world.pulls[1]
    assert [pull.stiffness, pull.damping] == pytest.approx([like.stiffness, like.damping], rel=1e-12)
    controller.check(let_go_message("a"))(world)
    assert [pull.link for pull in world.pulls] == ["b"]


def test_what_the_command_line_records_is_what_the_node_takes(world):
    world.pull("a", (0, 0, 0), (0, 0, 1))
    recorded = deserialize_message(encode_pulls([SPRING], ["a"]), Float64MultiArray)
    PullController(world).check(recorded)(world)
    assert world.pulls == (SPRING,)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (message(), "has 0 numbers for links with none"),
        (message(data=[0.0] * 6), "has 6 numbers for links with none"),
        (message(("a", 6), data=[0.0] * 5), "has 5 numbers for links with [6]"),
        (message(("a", 7), data=[0.0] * 7), "has 7 numbers for links with [7]"),
        (message(("a", 6), ("c", 6), data=[0.0] * 12), "link 'c'"),
        (message(("ground", 6), data=[0.0] * 6), "link 'ground'"),
        (message(("a", 8), data=[0.0] * 8), "stiffness: is 0"),
        (message(("a", 6), data=[float("nan")] * 6), "NaN"),
        (message(("a", 6), data=[1e9] * 6), "farther than"),
    ],
)
def test_nonsense_is_refused_and_nothing_pulls(world, wrong, says):
    with pytest.raises(InputError) as caught:
        PullController(world).check(wrong)
    assert says in str(caught.value)
    assert world.pulls == ()
