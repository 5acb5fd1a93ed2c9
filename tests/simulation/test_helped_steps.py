"""Steps that several threads share: the same bits, whoever does what."""

from __future__ import annotations

import multiprocessing
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.compilation import prepare
from hydro_sim_core.compilation.teams import (
    CAME,
    DELIVERIES,
    JOB,
    NUMBER,
    PRESENT,
    TAKEN,
    join,
    make_team,
    must_deliver,
)
from hydro_sim_core.simulation.stepping import collision, helpers, machine
from hydro_sim_core.solvers import options
from hydro_sim_core.threads import threads_allowed

KINDS: tuple[dict[str, Any], ...] = (
    {"kind": "box", "size": (0.05, 0.05, 0.05)},
    {"kind": "sphere", "radius": 0.03},
    {"kind": "cylinder", "radius": 0.025, "length": 0.05},
)


@pytest.fixture(autouse=True)
def helped(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Two threads, however few cores there are, which help from the first step on with everything.

    Steps do not wait for helpers that are still being compiled, so that the tests would count steps that nobody helped.
    """
    prepare([helpers.help_along])
    monkeypatch.setenv("HYDRO_SIM_THREADS", "2")
    monkeypatch.setattr(machine, "LEAST_TIME", -1.0)
    monkeypatch.setattr(options, "FACES_TO_SHARE", 1)
    monkeypatch.setattr(options, "BLOCKS_TO_SHARE", 1)


def heap(n: int, spacing: float = 0.0, **options: Any) -> hs.World:
    """Bodies that fall onto each other in a crate, or side by side onto a table with a ``spacing``, m."""
    contact = {"friction": 0.4, "modulus": 1e6, **options.pop("contact", {})}
    scene = hs.SceneBuilder("heap", time_step=2e-3, contact=contact, **options)
    scene.add_ground()
    for k, (x, y, dx, dy) in enumerate(
        ((-1, 0, 0.02, 0.5), (1, 0, 0.02, 0.5), (0, -1, 0.5, 0.02), (0, 1, 0.5, 0.02))
    ):
        if not spacing:
            scene.add_static(f"wall{k}", "box", size=(dx, dy, 0.4), xyz=(0.12 * x, 0.12 * y, 0.2))
    rng = np.random.default_rng(0)
    for i in range(n):
        a, b, layer = i % 2, i // 2 % 2, i // 4
        xyz = (0.09 * a - 0.045, 0.09 * b - 0.045, 0.045 + 0.075 * layer)
        if spacing:
            xyz = (spacing * (i % 4), spacing * (i // 4), 0.033)
        body = scene.add_body(
            f"b{i}", mass=0.1, xyz=xyz, rpy=tuple(rng.uniform(-1, 1, 3) if not spacing else (0, 0, i))
        )
        body.add_shape(**KINDS[1 if spacing else i % 3], resolution_hint=0.006)
    return hs.World(scene.build())


def told(world: hs.World) -> list[Any]:
    """Everything that a world tells of its last step, bit by bit."""
    patches = [
        (p.name_a, p.name_b, p.force_on_b.tolist(), p.moment_on_b_at_reference.tolist(), p.normal_force_on_b.tolist(),
         p.dropped_force, p.faded_force, p.apart, p.areas.tolist(), p.pressures.tolist(), p.centroids.tolist(),
         [polygon.tolist() for polygon in p.polygons])
        for p in world.contacts
    ]  # fmt: skip
    return [world.q.tolist(), world.v.tolist(), patches, world.diagnostics()]


def check(world: hs.World, steps: int) -> None:
    """Step a world with helpers and a copy without, at least so often and until helpers have done something."""
    alone, words = world.copy(), world.machine.scratch.solver.team.words
    alone.machine.is_helped = False
    for tries in range(1000):
        if tries * 5 >= steps and words[TAKEN] > 0:
            break
        world.step(5)
        alone.step(5)
        assert told(world) == told(alone)
        words = world.machine.scratch.solver.team.words  # of a larger memory, maybe
    assert words[TAKEN] > 0
    assert alone.machine.scratch.solver.team.words[JOB] == 0


@pytest.mark.parametrize("method", ["newton", "pgs"])
def test_a_heap_falls_as_with_one_thread(method):
    world = heap(8, solver={"method": method})
    world.step(55)
    check(world, 10)
    assert world.diagnostics()["patches"] > 6


@pytest.mark.parametrize("choice", [{}, {"method": "tamsi"}, {"method": "pgs"}, {"friction": "sap"}])
def test_islands_are_shared(choice):
    world = heap(6, spacing=0.2, solver=choice)
    v = world.v.copy()
    v[:] = np.random.default_rng(1).normal(size=len(v)) * 0.3
    world.set_state(world.q, v)
    check(world, 10)
    assert world.machine.scratch.problem.islands.num[0] == 6


@pytest.mark.parametrize("representation", ["polygon", "triangle"])
def test_memory_grows_while_helpers_are_there(monkeypatch, representation):
    monkeypatch.setattr(machine, "INITIAL_FACES", 20)
    monkeypatch.setattr(machine, "TRIANGLES_A_POLYGON", 1)
    world = hs.World(heap(4).scene.with_({"contact.representation": representation}))
    check(world, 60)
    assert len(world.machine.scratch.faces.num_vertices) > 100


def test_points_beside_faces_are_shared():
    """Contacts at equivalent points are listed behind pairs with faces, and evaluated by several threads at once."""
    contact = {"friction": 0.4, "modulus": 1e6}
    scene = hs.SceneBuilder("row", time_step=2e-3, contact=contact)
    scene.add_ground()
    rng = np.random.default_rng(0)
    for i in range(6):
        xyz = (0.0504 * (i % 3), 0.0504 * (i // 3), 0.02502)
        body = scene.add_body(f"b{i}", mass=0.2, xyz=xyz, rpy=(0.0, 0.0, 0.003 * rng.normal()))
        body.add_shape("box", size=(0.05, 0.05, 0.05), compliance="rigid", resolution_hint=0.003)
        for j in range(i):
            scene.set_contact_law(f"b{j}", f"b{i}", "equivalent_point")
    world = hs.World(scene.build())
    v = world.v.copy()
    for i in range(6):
        spin, (x, y) = 2.0 * rng.normal(), 0.05 * rng.normal(size=2)
        v[6 * i : 6 * i + 6] = 0.0, 0.0, spin, x - 0.2 * (i % 3 - 1), y - 0.2 * (i // 3 - 0.5), 0.0
    world.set_state(world.q, v)
    alone = world.copy()
    alone.step(5)
    assert sum(patch.name_a.startswith("b") for patch in alone.contacts) > 1
    check(world, 10)


def test_what_is_found_is_not_delivered_before_it_is_asked_for(monkeypatch):
    """A helper may be held up between looking whether to deliver and taking a part of the next search."""
    monkeypatch.setattr(collision, "begin_pass", lambda kept: None)
    monkeypatch.setattr(collision, "_find_part", lambda *part: None)
    team = make_team(1, 1)
    finder = SimpleNamespace(query=SimpleNamespace(kept=SimpleNamespace(now=np.zeros(8, dtype=np.int64))))
    join(team)
    team.words[DELIVERIES] += 1  # of a search in which it had no part
    team.task[NUMBER] = 7
    collision.help_to_find.function(None, None, finder, team)
    assert not must_deliver(team)
    team.words[DELIVERIES] += 1
    assert must_deliver(team)


def test_what_is_pushed_through_is_told_the_same():
    """Deep and faceless pairs are counted in parts."""
    world = heap(8)
    world.step(40)
    q = world.q.copy()
    q[6::14] -= 0.04
    world.set_state(q, world.v)
    check(world, 5)
    assert world.diagnostics()["deep_steps"] > 0


def test_copies_pickles_and_forks_have_helpers_of_their_own():
    world = heap(8)
    world.step(60)
    assert world.machine.scratch.solver.team.words[CAME] > 0
    for other in (world.copy(), pickle.loads(pickle.dumps(world))):
        assert other.machine.scratch.solver.team.words[PRESENT] == 0
        other.step(20)
    forked = multiprocessing.get_context("fork").Pool(1)
    try:
        there = forked.apply_async(_stepped, (world.save_state(),)).get(timeout=120)
    finally:
        forked.terminate()
    world.step(20)
    assert np.array_equal(world.q, other.q)
    assert np.array_equal(world.q, there)


def _stepped(saved: Any) -> np.ndarray:
    world = heap(8)
    world.restore_state(saved)
    world.step(20)
    return np.array(world.q)


def test_worlds_of_a_batch_have_no_helpers():
    batch = hs.BatchWorld(heap(8), 2, "cpu")
    batch.step(60)
    copy = batch.copy_of(1)
    assert copy.machine.is_helped
    copy.machine.is_helped = False
    copy.step(5)
    batch.step(5)
    assert np.array_equal(batch.q[1], copy.q)
    assert all(world.machine.scratch.solver.team.words[CAME] == 0 for world in batch._worlds._worlds)


@pytest.mark.parametrize(("time", "faces"), [(1e3, 1), (-1.0, 10**6)])
def test_what_takes_little_is_not_helped(monkeypatch, time, faces):
    monkeypatch.setattr(machine, "LEAST_TIME", time)
    monkeypatch.setattr(options, "FACES_TO_SHARE", faces)
    world = hs.load_scene("cylinder_grasp")
    for _ in range(20):
        world.step()
    assert world.machine.scratch.solver.team.words[CAME] == 0


@pytest.mark.parametrize(
    ("own", "of_all", "threads"),
    [
        ("3", "1", 3),
        ("900", None, 64),
        (None, "2", 2),
        ("two", "5", 5),
        ("0", None, 1),
        (None, None, None),
        ("-3", "x", None),
    ],
)
def test_the_environment_says_how_many_threads(monkeypatch, own, of_all, threads):
    for name, value in (("HYDRO_SIM_THREADS", own), ("OMP_NUM_THREADS", of_all)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    if threads is None:
        assert 1 <= threads_allowed() <= 8
    else:
        assert threads_allowed() == threads


def test_helpers_have_no_priority(monkeypatch):
    calls = []
    monkeypatch.setattr(helpers.os, "sched_setscheduler", lambda *how: calls.append(how), raising=False)
    helpers._pool.cache_clear()
    heap(8).step(30)
    helpers._pool.cache_clear()
    assert calls
    assert calls[0][1] == helpers.os.SCHED_OTHER
