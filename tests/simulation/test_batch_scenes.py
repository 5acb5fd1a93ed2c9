"""Batches of several scenes: every world has the bits of a world of its scene, whatever the others are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.contact.pressure_field.kept_pairs import NOTED
from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.errors import InputError
from support.simulation.made_scenes import box, free, make_scene, slider
from support.simulation.side_by_side import host, host_program, made_side_by_side

N = 6


def bricks() -> list[Any]:
    """Bodies of other shapes, masses, moduli and places on the ground."""
    return [
        brick((0.10, 0.08, 0.06), 0.5),
        brick((0.20, 0.08, 0.06), 0.5, modulus=2e4),
        brick((0.05, 0.05, 0.12), 2.0, mu=0.1),
    ]


def brick(
    size: tuple[float, float, float], mass: float, mu: float = 0.4, modulus: float = 1e6, **more: Any
) -> Any:
    """A box that slides."""
    body = free(
        box("brick", size, mass, mu=mu, modulus=modulus),
        xyz=(0.01 * mass, 0.0, 0.5 * size[2] - 1e-4),
    )
    ground = [{"name": "ground", "kind": "half_space"}]
    return make_scene(body, environment=ground, solver={"integrator": "fixed"}, **more)


MAKERS = {
    "cpu": lambda: hs.BatchWorld(bricks(), N, "cpu"),
    "side by side": lambda: made_side_by_side(bricks(), N),
}


@pytest.fixture(params=MAKERS)
def batch(request: pytest.FixtureRequest) -> hs.BatchWorld:
    """Worlds of three scenes in turns, thrown."""
    made = MAKERS[request.param]()
    v = host(made.v)
    v[:, 3] = np.linspace(0.1, 0.6, N)
    made.set_state(host(made.q), v)
    return made


def alone(i: int) -> hs.World:
    """The world that is number ``i``."""
    world = hs.World(bricks()[i % 3])
    v = world.v.copy()
    v[3] = np.linspace(0.1, 0.6, N)[i]
    world.set_state(world.q, v)
    return world


def test_each_world_has_the_bits_of_its_scene(batch):
    assert batch.scene_of.tolist() == [0, 1, 2, 0, 1, 2]
    batch.step(1)
    batch.step(60)
    for i in range(N):
        world = alone(i)
        world.step(61)
        assert np.array_equal(host(batch.q)[i], world.q), i
        told, own = batch.copy_of(i).contacts, world.contacts
        assert [p.force_on_b.tolist() for p in told] == [p.force_on_b.tolist() for p in own] != []


@pytest.mark.long
def test_the_program_for_a_gpu_steps_worlds_of_several_scenes():
    batch = made_side_by_side(bricks(), N, host_program)
    v = batch.v.copy()
    v[:, 3] = np.linspace(0.1, 0.6, N)
    batch.set_state(batch.q.copy(), v)
    batch.step(100)
    for i in range(N):
        world = alone(i)
        world.step(100)
        assert np.array_equal(batch.q[i], world.q), i
        assert np.array_equal(batch.v[i], world.v), i


def stack(kinds: tuple[str, ...]) -> Any:
    """Soft bodies that stand flush on each other, on rigid ground."""
    shapes = {
        "cylinder": {"radius": 0.05, "length": 0.06},
        "box": {"size": (0.1, 0.1, 0.06)},
        "sphere": {"radius": 0.03},
    }
    scene = SceneBuilder("stack", time_step=2e-3, solver="lagged")
    for i, kind in enumerate(kinds):
        body = scene.add_body(
            f"part{i}", 0.3, inertia=np.array([3e-4, 3.1e-4, 2.9e-4]), xyz=(0.004 * i, 0.0, 0.03 + 0.0599 * i)
        )
        body.add_shape(
            kind,
            name=kind,
            **shapes[kind],
            compliance="compliant",
            modulus=1e6,
            resolution_hint=0.01,
            friction=0.5,
        )
    scene.add_ground(compliance="rigid", friction=0.5)
    return scene.build().with_({"solver.integrator": "fixed"})


@pytest.mark.long
def test_the_program_for_a_gpu_has_the_bits_where_round_off_decides():
    """It takes pairs of elements in another order, and meets other doubtful ones first."""
    scenes = [
        stack(("cylinder",) * 3),
        stack(("box", "cylinder", "sphere")),
        stack(("box", "box", "cylinder")),
    ]
    batches = [made_side_by_side(scenes, N, host_program), hs.BatchWorld(scenes, N, "cpu")]
    v = np.random.default_rng(4).normal(size=batches[1].v.shape) * np.repeat((0.0, 0.3), 3)[:, None]
    for batch in batches:
        batch.set_state(batch.q.copy(), v)
        batch.step(60)
    assert np.array_equal(batches[0].q, batches[1].q)
    assert np.array_equal(batches[0].v, batches[1].v)
    doubts = [batches[1].copy_of(i)._machine.scratch.query.kept.doubts for i in range(N)]
    assert sum(np.count_nonzero(of_world[:, NOTED] > 0) for of_world in doubts) > N


def test_softer_worlds_sink_deeper():
    """The modulus of the second scene is 50 times smaller, and its side twice as large."""
    batch = hs.BatchWorld(bricks(), 3, "cpu")
    batch.step(1500)
    forces = [sum(p.force_on_b[2] for p in batch.copy_of(i).contacts) for i in range(3)]
    assert np.abs(forces) == pytest.approx(9.81 * np.array([0.5, 0.5, 2.0]), rel=1e-4)
    depth = np.array([0.03, 0.03, 0.06]) - batch.q[:, 6]
    assert 15.0 < depth[1] / depth[0] < 25.0


def test_worlds_go_back_to_the_start_of_their_scene(batch):
    start = [hs.World(scene).q for scene in bricks()]
    batch.step(10)
    batch.reset([1, 2])
    for i in (1, 2):
        assert np.array_equal(host(batch.q)[i], start[i])
    batch.reset()
    assert np.array_equal(host(batch.q), np.array(2 * start))


def test_a_state_goes_into_worlds_of_its_scene_alone(batch):
    batch.step(20)
    saved = batch.save(1)
    batch.load(4, saved)
    assert np.array_equal(host(batch.q)[4], host(batch.q)[1])
    world = hs.World(bricks()[1])
    world.restore_state(saved)
    batch.step(10)
    world.step(10)
    assert np.array_equal(host(batch.q)[4], world.q)
    with pytest.raises(InputError, match=r"is of 'made \w+' where 'made \w+' is run"):
        batch.load(0, saved)


def test_parameters_start_as_their_scene_says(batch):
    assert host(batch.parameters["mass"])[:, 0].tolist() == [0.5, 0.5, 2.0] * 2
    friction = host(batch.parameters["friction"])[:3, 0]
    assert friction[2] < friction[0] == friction[1]
    batch.parameters["mass"][1] = 1.0
    batch.step(3)
    assert not batch.failures


def test_which_scene_a_world_is_of_may_be_chosen():
    chosen = hs.BatchWorld(bricks(), 4, "cpu", scene_of=[2, 2, 0, 1])
    assert host(chosen.parameters["mass"])[:, 0].tolist() == [2.0, 2.0, 0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        chosen.scene_of[0] = 1


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: hs.BatchWorld([], 2), "scene: is an empty list; give one scene or more"),
        (
            lambda: hs.BatchWorld(bricks(), 2, "cpu", scene_of=[0, 3]),
            r"is \[0, 3\]; give 2 numbers from 0 to 2",
        ),
        (lambda: hs.BatchWorld(bricks(), 2, "cpu", scene_of=[0.0, 1.0]), "scene_of: is"),
        (lambda: hs.BatchWorld(bricks(), 2, "cpu", scene_of=[0]), "scene_of: is"),
        (lambda: hs.BatchWorld([bricks()[0], "drop_box"], 2), "is no scene"),
        (
            lambda: hs.BatchWorld([bricks()[0], brick((0.1, 0.1, 0.1), 1.0, time_step=2e-3)], 2),
            r"scene 1 \('\w+'\): has other time step than scene 0",
        ),
        (
            lambda: hs.BatchWorld([bricks()[0], make_scene({"robot": slider(), "base": "fixed"})], 2),
            "has other joints than scene 0; give scenes that differ in shapes, moduli, masses",
        ),
        (
            lambda: hs.BatchWorld([bricks()[0], bricks()[1].with_({"solver.friction": "sap"})], 2, "cpu"),
            "has other solver than scene 0",
        ),
        (
            lambda: made_side_by_side([bricks()[0], other_solver()], 2),
            "is not the same in all scenes, as a GPU needs it; give backend='cpu'",
        ),
    ],
)
def test_scenes_that_are_not_alike_are_refused(ask, told):
    with pytest.raises(InputError, match=told):
        ask()


def other_solver() -> Any:
    """The first brick with another tolerance."""
    return bricks()[0].with_({"solver.tolerance": 1e-4})
