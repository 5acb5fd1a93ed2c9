"""What a world tells of itself is not assigned: it would change nothing, or half of what it says."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import hydro_sim_core as hs


def scene() -> hs.LoadedScene:
    built = hs.SceneBuilder("falling")
    built.add_body("ball", mass=1.0, xyz=(0, 0, 1)).add_shape("sphere", radius=0.05)
    return built.build()


#: Worlds by how they come.
MADE: dict[str, Callable[[], Any]] = {
    "World": lambda: hs.World(scene()),
    "copy": lambda: hs.World(scene()).copy(),
    "deep copy": lambda: copy.deepcopy(hs.World(scene())),
    "pickle": lambda: pickle.loads(pickle.dumps(hs.World(scene()))),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("time_step", 0.01, r"World: time_step: cannot be assigned; .*scene\.with_\(\{\"time_step\": …\}\)"),
        ("gravity", [0, 0, 0], r"World: gravity: is no attribute of a World; .*with_\(\{\"gravity\": …\}\)"),
        ("q", [0.0], r"World: q: cannot be assigned; call set_state"),
        ("v", [0.0], r"World: v: cannot be assigned; call set_state"),
        ("time", 1.0, r"World: time: cannot be assigned; call reset"),
        ("joint_names", (), r"World: joint_names: cannot be assigned; it tells what the scene says"),
        ("contcats", (), r"World: contcats: is no attribute of a World; did you mean 'contacts'"),
        ("xyzzy", 1, r"World: xyzzy: is no attribute of a World; keep it in a variable of your own"),
    ],
)
def test_an_assignment_to_a_world_names_what_to_use(make: Any, name: str, value: Any, told: str) -> None:
    """Nothing is changed then, and the world steps as before."""
    world = make()
    with pytest.raises(AttributeError, match=told):
        setattr(world, name, value)
    assert world.time_step == 0.001
    world.step(10)
    assert world.time == pytest.approx(0.01)
    assert world.v[5] == pytest.approx(-9.81 * 0.01)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("q", r"BatchWorld: q: cannot be assigned; write to its rows"),
        ("drives", r"BatchWorld: drives: cannot be assigned; write to one of them"),
        ("time_step", r"BatchWorld: time_step: cannot be assigned; .*scene\.with_\(\{\"time_step\": …\}\)"),
        ("gravity", r"BatchWorld: gravity: is no attribute of a BatchWorld; .*with_\(\{\"gravity\": …\}\)"),
        ("n", r"BatchWorld: n: cannot be assigned"),
        ("faliures", r"BatchWorld: faliures: is no attribute of a BatchWorld; did you mean 'failures'"),
    ],
)
def test_an_assignment_to_a_batch_names_what_to_use(name: str, told: str) -> None:
    batch = hs.BatchWorld(scene(), 2, backend="cpu")
    with pytest.raises(AttributeError, match=told):
        setattr(batch, name, 0.01)
    batch.parameters["friction"] = 0.4
    batch.v[1, 5] = -1.0
    batch.step()
    assert batch.v[1, 5] < -1.0 < batch.v[0, 5]


def test_the_drives_that_a_world_tells_are_not_assigned() -> None:
    """It would change no drive."""
    world = hs.load_scene("spatula_slip")
    joint = world.actuated_joint_names[0]
    drives: Any = world.drives
    told = drives[joint]
    with pytest.raises(TypeError, match="assignment"):
        drives[joint] = told._replace(kp=0.0)
    assert world.drives[joint] == told


def test_methods_may_be_replaced() -> None:
    """By who counts their calls, say."""
    world, steps = hs.World(scene()), []
    world.step = steps.append  # type: ignore[method-assign,assignment]
    world.step(3)
    assert steps == [3]
