"""A world is a value: copies, pickles and restored states go on by themselves, to the same bits."""

from __future__ import annotations

import copy
import hashlib
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description import load_scene as read_scene
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.world import world as world_module
from support.simulation.made_scenes import CONFIG

#: A script and a gripper; many faces; friction on three bodies.
SCENES = ["spatula_slip", "mug_on_plate", "cylinder_grasp"]
SOLVERS = [{"model": "tamsi"}, {"accuracy": 1e-5}, {"model": "continuous"}]


def pickled(world: World) -> World:
    return pickle.loads(pickle.dumps(world))


WAYS: dict[str, Callable[[World], World]] = {
    "copy method": World.copy,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickled,
}


def bits(world: World) -> str:
    """Digest of everything that a world tells of itself."""
    digest = hashlib.sha256()
    for array in (world.q, world.v, world.joint_efforts(), world.drive_targets()):
        digest.update(array.tobytes())
    for patch in world.contacts:
        digest.update(patch.force_on_b.tobytes() + patch.centroids.tobytes())
    return f"{world.time} {world.diagnostics()} {digest.hexdigest()}"


@pytest.fixture(scope="module", params=SCENES)
def running(request: pytest.FixtureRequest) -> World:
    """A world in contact."""
    world = hs.load_scene(request.param)
    world.step(60)
    assert world.contacts
    return world


@pytest.mark.heavy(3)
def test_a_thousand_forks_go_on_as_their_original(running: World, full_run: bool) -> None:
    """Each forked from the one before, so that nothing is shared that a step of one changes for another.

    Two hundred, if the run is not a full one.
    """
    original = running.copy()
    forks = [original]
    for _ in range(1000 if full_run else 200):
        forks.append(forks[-1].copy())
    for fork in forks:
        fork.step(2)
    assert len({fork.q.tobytes() + fork.v.tobytes() for fork in forks}) == 1
    assert {fork.step_count for fork in forks} == {running.step_count + 2}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_copy_goes_on_as_its_original_would(running: World, way: Callable[[World], World]) -> None:
    """From the same contacts; and the original stays where it is meanwhile."""
    original = running.copy()
    before = bits(original)
    other = way(original)
    assert bits(other) == before
    other.step(50)
    assert bits(original) == before
    original.step(50)
    assert bits(other) == bits(original)


@pytest.mark.heavy(3)
@pytest.mark.parametrize("solver", SOLVERS, ids=["tamsi", "error control", "continuous"])
@pytest.mark.parametrize("way", [World.copy, pickled], ids=["copy", "pickle"])
def test_other_integrators_are_copied_too(solver: dict, way: Callable[[World], World]) -> None:
    """With the length of the next sub-step, and what was counted."""
    scene = read_scene(CONFIG / "spatula_slip_welded.yaml")
    settings = scene.spec.solver.model_copy(update=solver)
    world = World(replace(scene, spec=scene.spec.model_copy(update={"solver": settings})))
    world.step(5)
    other = way(world)
    world.step(5)
    other.step(5)
    assert bits(other) == bits(world)


@pytest.mark.heavy(2)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_a_copy_is_told_its_original_does_not_hear(way: Callable[[World], World]) -> None:
    """Commands, states and scripts are each one's own."""
    world = hs.load_scene("spatula_slip")
    world.step(20)
    told = bits(world)
    other = way(world)
    other.set_gripper(force=1.0)
    other.set_state(other.q, np.zeros(len(other.v)))
    assert bits(world) == told
    world.step(20)
    other.step(20)
    undisturbed = hs.load_scene("spatula_slip")
    undisturbed.step(40)
    assert bits(world) == bits(undisturbed)
    assert bits(other) != bits(world)
    # The start is still the same.
    other.reset()
    world.reset()
    assert bits(other) == bits(world)


def test_a_copy_makes_room_for_faces_by_itself() -> None:
    """The memory of one grows and that of the other does not."""
    world = hs.load_scene("mug_on_plate")
    world.step(30)
    other = world.copy()
    other._machine.make_room(5000)
    world.step(30)
    other.step(30)
    assert bits(other) == bits(world)


PROGRAM = """
import pickle, sys
world = pickle.load(sys.stdin.buffer)
world.step(50)
print(world.time, world.q.tobytes().hex(), world.v.tobytes().hex(), len(world.contacts))
"""


@pytest.mark.heavy(3)
def test_another_process_goes_on_with_a_pickle(running: World) -> None:
    world = running.copy()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=pickle.dumps(world), capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    world.step(50)
    expected = f"{world.time} {world.q.tobytes().hex()} {world.v.tobytes().hex()} {len(world.contacts)}"
    assert done.stdout.decode().strip() == expected


def test_forks_of_a_running_world_step_beside_each_other() -> None:
    """In threads, to the bits of the original."""
    world = hs.load_scene("spatula_slip")
    world.step(100)

    def go_on(fork: World) -> str:
        fork.step(20)
        return bits(fork)

    forks = [world.copy() for _ in range(100)]
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(go_on, forks))
    world.step(20)
    assert found == {bits(world)}


def test_what_is_read_of_a_copy_is_its_own() -> None:
    """The mass matrix is computed in memory that must not be shared."""
    world = hs.load_scene("spatula_slip")
    mass = world.mass_matrix()
    other = world.copy()
    q = other.q.copy()
    q[:3] += 0.3
    other.set_state(q, other.v)
    assert not np.allclose(other.mass_matrix(), mass)
    assert np.array_equal(world.mass_matrix(), mass)


def test_unpacked_models_cannot_be_written_either(running: World) -> None:
    for world in (running.copy(), pickled(running)):
        with pytest.raises(ValueError, match="read-only"):
            world.built.model.pair_friction[0] = 0.0


def test_pickles_of_another_version_are_refused(running: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything of them is unpacked, naming both versions."""
    monkeypatch.setattr(world_module, "version", lambda _: "0.0.7")
    stale = pickle.dumps(running)
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"made by hydro-sim-core 0\.0\.7, and this is \d"):
        pickle.loads(stale)


def test_a_saved_state_is_gone_back_to_as_often_as_one_likes(running: World) -> None:
    """Commands included; a copy may take it too."""
    world = running.copy()
    saved = world.save_state()
    world.step(30)
    expected = bits(world)
    for other in (world, world, world.copy(), pickled(world)):
        other.restore_state(saved)
        other.step(30)
        assert other.q.tobytes() == world.q.tobytes()
        assert bits(other).split(" ", 1)[0] == expected.split(" ", 1)[0]


def test_a_state_of_another_scene_is_not_restored(running: World) -> None:
    other = hs.load_scene("drop_box")
    before = bits(other)
    with pytest.raises(InputError, match="restore_state: scene: is of"):
        other.restore_state(running.save_state())
    assert bits(other) == before
