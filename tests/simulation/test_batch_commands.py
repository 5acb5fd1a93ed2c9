"""Commands by name to the worlds of a batch do what the same command does to a ``World``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from support.simulation.side_by_side import MAKERS, Maker, host

N = 4


@pytest.fixture(params=MAKERS)
def maker(request: pytest.FixtureRequest) -> Maker:
    return MAKERS[request.param]


def scene_of(kp: float = 40.0, commands: Any = ()) -> Any:
    scene = hs.SceneBuilder("hand", gravity=(0, 0, 0))
    hand = scene.add_model("hand", xyz=(0, 0, 0.5))
    hand.add_link("palm")
    hand.add_link("wrist", mass=0.3).add_shape("sphere", radius=0.02, collision=False)
    hand.add_joint(
        "turn", "revolute", "palm", "wrist", axis=(0, 0, 1), lower=-1, upper=1, effort=5, velocity=0.5
    )
    for side, sign in (("left", 1), ("right", -1)):
        hand.add_link(side, mass=0.1).add_shape("box", size=(0.02, 0.01, 0.04), collision=False)
        hand.add_joint(
            side + "_slide", "prismatic", "wrist", side, xyz=(0, 0.03 * sign, 0.05),
            axis=(0, -sign, 0), lower=0, upper=0.03, effort=20,
        )  # fmt: skip
    scene.add_actuators(["turn"], kp=kp, kd=1.0)
    scene.add_gripper(
        "grip", {"left_slide": 1, "right_slide": 1}, max_force=8, kp=500, kd=5,
        closed={"left_slide": 0.03, "right_slide": 0.03},
    )  # fmt: skip
    for command in commands:
        scene.add_command(**command)
    return scene.build()


SCENES = [scene_of(), scene_of(kp=90.0)]


def alone(batch: hs.BatchWorld, tell: Callable[[hs.World, int], Any], told: Any = range(N)) -> list[hs.World]:
    """Worlds of the batch's scenes, some of which are told something."""
    worlds = [hs.World(SCENES[k]) for k in batch.scene_of]
    for i in told:
        tell(worlds[i], i)
    return worlds


def assert_alike(batch: hs.BatchWorld, worlds: list[hs.World]) -> None:
    """The drives of a batch are those of worlds, and so are its states some steps later."""
    for name, rows in zip(batch.drives._fields, batch.drives, strict=True):
        expected = [getattr(world.drive_bank.arrays, name) for world in worlds]
        np.testing.assert_array_equal(host(rows), expected, err_msg=name)
    batch.step(5)
    for world in worlds:
        world.step(5)
    np.testing.assert_array_equal(host(batch.q), [world.q for world in worlds])


@pytest.mark.parametrize("mode", ["position", "velocity", "effort"])
def test_a_command_does_what_it_does_to_a_world(maker: Maker, mode: str) -> None:
    """Of each world's own scene: its gains; a velocity beyond the limit of the joint is cut to it."""
    batch, values = maker(SCENES, N), [0.3, -0.9, 0.0, 0.7]
    batch.set_command({"turn": values, "left_slide": 0.01}, "effort")
    batch.set_command({"turn": batch.numpy.asarray(values)}, mode)

    def tell(world: hs.World, i: int) -> None:
        world.set_command({"left_slide": 0.01})
        world.set_command({"turn": values[i]}, mode)

    assert_alike(batch, alone(batch, tell))


@pytest.mark.parametrize("worlds", [[3, 0], [True, False, False, True]])
def test_some_worlds_are_commanded_by_numbers_or_a_mask(maker: Maker, worlds: Any) -> None:
    batch = maker(SCENES, N)
    batch.set_command({"turn": [0.1, 0.2]}, "position", worlds=worlds)
    told = {3: 0.1, 0: 0.2} if worlds[0] == 3 else {0: 0.1, 3: 0.2}
    assert_alike(batch, alone(batch, lambda world, i: world.set_command({"turn": told[i]}, "position"), told))


def test_an_array_has_a_column_for_each_joint(maker: Maker) -> None:
    batch = maker(SCENES, N)
    values = np.arange(3.0 * N).reshape(N, 3)
    batch.set_command(values)
    assert_alike(batch, alone(batch, lambda world, i: world.set_command(values[i])))
    batch = maker(SCENES, N)
    batch.set_command([0.2, 0.4], "effort", ["right_slide", "turn"])
    tell = {"right_slide": 0.2, "turn": 0.4}
    assert_alike(batch, alone(batch, lambda world, i: world.set_command(tell)))


@pytest.mark.parametrize(
    "given",
    [
        {"force": [1.0, 2.0, 3.0, 8.0]},
        {"position": [0.0, 0.01, 0.02, 0.03]},
        {"position": 0.02, "max_force": [1.0, 2.0, 3.0, 4.0]},
    ],
)
def test_a_gripper_does_what_it_does_in_a_world(maker: Maker, given: dict[str, Any]) -> None:
    batch = maker(SCENES, N)
    batch.set_gripper(**given)
    each = [{key: np.broadcast_to(one, N)[i] for key, one in given.items()} for i in range(N)]
    assert_alike(batch, alone(batch, lambda world, i: world.set_gripper(**each[i])))


def test_a_command_ends_that_of_the_script_until_a_reset(maker: Maker) -> None:
    scene = scene_of(commands=[{"signal": {"constant": 0.5}, "joint": "turn"}])
    batch = maker(scene, N)
    batch.set_command({"turn": -0.5}, "position")
    batch.step(3)
    assert (host(batch.drives.q_target)[:, 0] == -0.5).all()
    assert (host(batch.q)[:, 0] < 0.0).all()
    batch.reset()
    batch.step(3)
    assert (host(batch.drives.q_target)[:, 0] == 0.5).all()
    assert (host(batch.q)[:, 0] > 0.0).all()


def test_a_gpu_refuses_to_end_a_script_in_some_worlds() -> None:
    scene = scene_of(commands=[{"signal": {"constant": 0.5}, "joint": "turn"}])
    batch = MAKERS["side by side"](scene, N)
    before = host(batch.drives.effort)
    with pytest.raises(InputError, match="worlds: are some only, and a GPU scripts 'turn' in all"):
        batch.set_command({"turn": 0.1}, worlds=[1])
    np.testing.assert_array_equal(host(batch.drives.effort), before)
    batch.set_command({"left_slide": 0.1}, worlds=[1])
    batch.set_command({"turn": 0.1})
    batch.set_command({"turn": 0.2}, worlds=[1])


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (lambda b: b.set_command({"turn": [0.0, 0.0, 2.0, 3.0]}, "position"), "world 2, joint 'turn': 2 is outside"),
        (lambda b: b.set_command({"turn": 2.0}, "position", worlds=[3]), "world 3, joint 'turn': 2 is outside"),
        (lambda b: b.set_command({"turn": [0.0, np.nan, 0.0, 0.0]}), "world 1, joint 'turn': nan is not finite"),
        (lambda b: b.set_command({"left_slide": 0.0, "turn": np.inf}), "world 0, joint 'turn': inf is not finite"),
        (lambda b: b.set_command({"turn": "0.1"}), "joint 'turn': '0.1' is not a number; give a finite number, or 4"),
        (lambda b: b.set_command({"turn": None}), "joint 'turn': None is not a number"),
        (lambda b: b.set_command({"turn": [1.0, 2.0]}), r"joint 'turn': has shape \(2,\); give a finite number, or 4"),
        (lambda b: b.set_command({"trun": 0.1}), "joint 'trun': cannot be driven; did you mean 'turn'"),
        (lambda b: b.set_command({"turn": 0.1}, "torque"), "mode 'torque': is unknown"),
        (lambda b: b.set_command({"turn": 0.1}, joints=["turn"]), "are named by the values already"),
        (lambda b: b.set_command(np.zeros((N, 2))), r"effort: has shape \(4, 2\); give one of shape \(4, 3\)"),
        (lambda b: b.set_command(np.zeros((N, 2)), joints=["turn", "turn"]), "names a joint twice"),
        (lambda b: b.set_command(np.zeros((N, 1)), joints="turn"), "'turn' is not a list"),
        (lambda b: b.set_command({"turn": 0.1}, worlds=[9]), "give numbers below 4"),
        (lambda b: b.set_gripper(force=[1.0, 2.0, 9.0, 1.0]), "world 2, gripper 'grip': force 9 N is out of range"),
        (lambda b: b.set_gripper(force=[1.0, np.nan, 1.0, 1.0]), "world 1, gripper 'grip': nan is not finite"),
        (lambda b: b.set_gripper(position="wide"), "gripper 'grip', position: 'wide' is not a number"),
        (lambda b: b.set_gripper(), "gripper 'grip': needs one of force and position"),
        (lambda b: b.set_gripper("hand", force=1.0), "gripper 'hand': is not in the scene"),
    ],
)  # fmt: skip
def test_what_a_world_refuses_is_refused_and_nothing_is_written(command: Any, told: str) -> None:
    batch = hs.BatchWorld(SCENES, N, "cpu")
    before = [host(rows) for rows in batch.drives]
    with pytest.raises(InputError, match=told):
        command(batch)
    for rows, kept in zip(batch.drives, before, strict=True):
        np.testing.assert_array_equal(rows, kept)


def test_nobody_may_be_commanded() -> None:
    batch = hs.BatchWorld(SCENES, N, "cpu")
    batch.set_command({"turn": []}, "position", worlds=[])
    batch.set_gripper(force=1.0, worlds=np.zeros(N, dtype=bool))
    with pytest.raises(InputError, match="joint 'trun': cannot be driven"):
        batch.set_command({"trun": 0.1}, worlds=[])
    assert_alike(batch, alone(batch, lambda world, i: None))
