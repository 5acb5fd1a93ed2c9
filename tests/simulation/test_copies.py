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


# --- Another scene's world goes on


def lift(drives=True):
    """2 kg on a vertical drive, and two fingers that a gripper moves."""
    scene = hs.SceneBuilder("lift", time_step=2e-3)
    model = scene.add_model("lift")
    for name in ("base", "load", "left", "right"):
        model.add_link(name, mass=2.0, inertia=3 * (1e-3,))
    model.add_joint("rail", "prismatic", "base", "load", axis=(0, 0, 1), lower=-1, upper=1, effort=500)
    for name, side in (("left", 1), ("right", -1)):
        model.add_joint(name, "prismatic", "base", name, axis=(0, side, 0), lower=0, upper=0.1, effort=500)
    if drives:
        scene.add_actuators(["rail"], kp=20000.0, kd=400.0)
    scene.add_gripper("grip", joints={"left": -1, "right": -1}, max_force=40.0, kp=4000.0, kd=50.0)
    return hs.World(scene.build())


def with_other(world, **settings):
    """A world of the same scene with other settings that goes on from this one."""
    other = hs.World(
        world.scene.with_({name.replace("__", "."): value for name, value in settings.items()}), like=world
    )
    other.take_over(world)
    return other


def test_a_world_that_goes_on_does_so_at_the_same_time():
    world = lift()
    world.step(50)
    for time_step in (1e-3, 4e-3):
        assert with_other(world, time_step=time_step).time == world.time == 0.1
    world.step()
    with pytest.raises(InputError, match=r"0\.102 s, which is no whole number of time steps of 0\.004 s"):
        with_other(world, time_step=4e-3)
    with pytest.raises(InputError, match="take_over: 3: is no world"):
        world.take_over(3)


def test_a_drive_that_is_new_holds_what_it_drives():
    world = lift(drives=False)
    world.set_joint_positions({"rail": 0.3})
    other = hs.World(lift().scene, like=world)
    other.take_over(world)
    other.step(500)
    assert 0.3 - other.joint_positions()[0] == pytest.approx(2 * 9.81 / 20000, rel=1e-3)


def test_counters_are_those_of_the_run():
    """Not those of the run in which a state was saved."""
    world = lift()
    world.machine.state.unconverged[0] = 7
    saved = world.save_state()
    world.machine.state.unconverged[0] = 3
    world.restore_state(saved)
    assert world.diagnostics()["unconverged_steps"] == 3


def test_a_world_that_goes_on_has_the_gains_of_its_own_scene():
    """The load hangs m g / kp below its target, which stays; damping, and the limit of an effort, are its own, too."""
    world = lift()
    world.set_command({"rail": 0.2}, "position")
    world.step(1000)
    assert 0.2 - world.joint_positions()[0] == pytest.approx(2 * 9.81 / 20000, rel=1e-6)
    softer = with_other(world, actuators__rail__kp=500.0)
    softer.step(12000)  # kd / kp is 0.8 s
    assert 0.2 - softer.joint_positions()[0] == pytest.approx(2 * 9.81 / 500, rel=1e-6)
    same = with_other(world)
    same.step(100)
    world.step(100)
    np.testing.assert_array_equal(same.q, world.q)


def test_a_velocity_is_held_with_the_damping_of_the_scene_that_goes_on():
    """A drive that is told a speed falls behind by m g / kd."""
    world = lift()
    world.set_command({"rail": 0.05}, "velocity")
    world.step(500)
    stiffer = with_other(world, actuators__rail__kd=4000.0)
    stiffer.step(200)
    assert 0.05 - stiffer.joint_velocities()[0] == pytest.approx(2 * 9.81 / 4000, rel=1e-6)


def test_a_gripper_presses_no_more_than_the_scene_that_goes_on_allows():
    """A force, and a position with a force of its own, which stays where it is the smaller one."""
    world = lift()
    world.set_gripper(force=30.0)
    world.step(5)
    weaker = with_other(world, grippers__grip__max_force=5.0)
    weaker.step()
    np.testing.assert_allclose(np.abs(weaker.joint_efforts()[1:]), 5.0)
    world.set_gripper(position=0.02, max_force=3.0)
    held = with_other(world, grippers__grip__max_force=5.0)
    np.testing.assert_allclose(held._drives.arrays.limit[1:], 3.0)
