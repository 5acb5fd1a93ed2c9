"""Scenes of many bodies: equal shapes are made once, and memory follows what touches, not what might."""

from __future__ import annotations

import itertools
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.contact.pressure_field.query import canonical_order
from hydro_sim_core.description import scene_loader
from hydro_sim_core.description.model_builder import ModelBuilder
from hydro_sim_core.dynamics import TreeEvaluator
from hydro_sim_core.dynamics.inertia import velocity_without_inertia
from hydro_sim_core.simulation.stepping import machine
from support.simulation.made_scenes import GROUND, Robot, add_solid, box, fixed, free, make_world

SIZE = (0.1, 0.1, 0.1)


def chain(count: int) -> Robot:
    """Cubes on hinges, one behind the other."""

    def describe(model: ModelBuilder) -> None:
        for i in range(count + 1):
            add_solid(model, f"l{i}", "box", 1.0, size=SIZE, inertia=3 * (0.01,))
        for i in range(count):
            model.add_joint(f"j{i}", "continuous", f"l{i}", f"l{i + 1}", xyz=(0, 0, 0.2), axis=(0, 1, 0))

    return Robot("chain", describe)


def row_of_cubes(count: int = 5) -> hs.World:
    """Cubes that overlap a little, each with the next, and all with the ground."""
    cubes = [free(box(f"b{i}", SIZE, 1.0), (0.099 * i, 0.0, 0.0499)) for i in range(count)]
    return make_world(*cubes, environment=[GROUND])


def test_equal_shapes_are_made_once_and_others_are_not() -> None:
    """Neither another size nor another modulus is equal; where a shape is makes no difference."""
    models = [
        free(box(name, size, 1.0, modulus=modulus), (i, 0.0, 1.0))
        for i, (name, size, modulus) in enumerate(
            [("a", SIZE, 1e6), ("b", SIZE, 1e6), ("c", SIZE, 2e6), ("d", (0.1, 0.1, 0.2), 1e6)]
        )
    ]
    world = make_world(*models)
    model, row_of = world.built.model, [0, 0, 1, 2]
    assert model.pair_rows.tolist() == [[row_of[a], row_of[b]] for a, b in model.pairs]
    a, b, c, d = (collider.geometry for collider in world.built.colliders)
    assert a is b
    assert c.modulus == 2.0 * a.modulus
    assert d.body_points[:, 2].max() == pytest.approx(2.0 * a.body_points[:, 2].max(), rel=1e-14)
    assert len(world.built.model.geometries.vertices) == sum(len(g.vertices) for g in (a, c, d))


def test_bodies_that_share_a_shape_touch_as_any_others() -> None:
    """A hair of a difference makes two shapes of one; what the contact does changes as little."""
    worlds = []
    for side in (0.1, 0.1 * (1.0 + 1e-9)):
        low, high = box("low", SIZE, 1.0), box("high", (side, side, side), 1.0)
        worlds.append(
            make_world(free(low, (0, 0, 0.05)), free(high, (0.03, 0.02, 0.149)), environment=[GROUND])
        )
        worlds[-1].step(50)
    assert [len(world.built.model.geometries.kind) for world in worlds] == [2, 3]
    assert len(worlds[0].contacts) == 2
    for mine, other in zip(worlds[0].contacts, worlds[1].contacts, strict=True):
        np.testing.assert_allclose(mine.force_on_b, other.force_on_b, rtol=1e-5, atol=1e-5)


def test_models_of_one_file_read_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two with the same arguments and different prefixes do; one with other arguments does not."""
    inertia = '<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/>'
    (tmp_path / "cube.urdf.xacro").write_text(
        '<robot name="cube" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="x" default="1"/>'
        f'<link name="cube"><inertial><mass value="1"/>{inertia}</inertial></link></robot>'
    )
    (tmp_path / "scene.yaml").write_text(
        "name: twins\ntime_step: 0.001\nmodels:\n"
        + "".join(
            f"  - {{name: m{i}, urdf: cube.urdf.xacro, prefix: p{i}_, base: floating, "
            f"pose: {{xyz: [{i}, 0, 1]}}, xacro_args: {{x: {x}}}}}\n"
            for i, x in enumerate(("1", "1", "true"))
        )
    )
    read = []
    load = scene_loader.load_robot
    monkeypatch.setattr(
        scene_loader, "load_robot", lambda *given, **named: read.append(given) or load(*given, **named)
    )
    world = hs.load_scene(tmp_path / "scene.yaml")
    assert world.frame_names == ("p0_cube", "p1_cube", "p2_cube")
    assert len(read) == 2


def test_pairs_are_those_that_the_rules_name() -> None:
    """Every two geometries are asked one by one, in the order in which pairs stand."""
    arm = fixed(chain(3))
    rigid = [free(box(f"rigid{i}", SIZE, 1.0, modulus=None), (i, 2.0, 1.0)) for i in range(2)]
    world = make_world(
        arm,
        *rigid,
        free(box("soft", SIZE, 1.0), (3.0, 0.0, 1.0)),
        environment=[GROUND, {**GROUND, "name": "other"}],
        exclude=[("soft", "ground"), ("l3", "l1")],
    )
    colliders = world.built.colliders
    expected, rigid_pairs = [], []
    beside = [{"l0", "l1"}, {"l1", "l2"}, {"l2", "l3"}, {"soft", "ground"}, {"l1", "l3"}]
    for (i, a), (j, b) in itertools.combinations(enumerate(colliders), 2):
        if (a.body < 0 and b.body < 0) or {a.link, b.link} in beside:
            continue
        order = canonical_order(a.geometry.kind, b.geometry.kind)
        if order is not None:
            expected.append([i, j] if order else [j, i])
        else:
            # Of two rigid ones the half space, or else the first, has a skin and is B.
            expected.append([i, j] if b.geometry.is_half_space else [j, i])
            rigid_pairs.append(b.geometry.is_half_space)
    assert world.built.model.pairs.tolist() == expected
    assert rigid_pairs == [False, True, True, True, True]  # each with the other and with both grounds
    assert len(expected) > 10


def test_a_step_finds_as_many_patches_as_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory for patches grows with that for faces, and changes no bit of the result."""
    worlds = [row_of_cubes()]
    monkeypatch.setattr(machine, "INITIAL_FACES", 1)
    worlds.append(row_of_cubes())
    assert worlds[1]._scratch.patches.pair.shape == (2,)
    for world in worlds:
        world.step()
    assert len(worlds[0].contacts) == len(worlds[1].contacts) == 9
    for world in worlds:
        world.step(20)
    np.testing.assert_array_equal(worlds[0].v, worlds[1].v)
    for mine, other in zip(*(world.contacts for world in worlds), strict=True):
        np.testing.assert_array_equal(mine.force_on_b, other.force_on_b)


def test_memory_for_patches_is_not_one_for_every_pair() -> None:
    """2850 pairs of 75 velocities would need 10 MB for their Jacobians alone."""
    world = make_world(fixed(chain(75)))
    assert len(world.built.model.pairs) == 76 * 75 // 2 - 75
    assert len(world._scratch.problem.jacobian) == machine.INITIAL_FACES + 1


def test_looking_for_inertia_takes_memory_by_the_body() -> None:
    """Twice the bodies take twice the memory: a dense matrix would take four times as much."""
    peaks = []
    for count in (100, 200):
        tree = make_world(fixed(chain(count))).built.model.tree
        TreeEvaluator(tree)
        tracemalloc.start()
        try:
            assert velocity_without_inertia(tree, np.zeros(count)) == -1
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 2.3 * peaks[0]


@pytest.mark.parametrize(("fast", "steps"), [(1.0, 1), (0.1, 200)])
def test_what_spins_elsewhere_leaves_a_body_its_steps(fast: float, steps: int) -> None:
    """Only the other one is solved again for Coriolis forces, and each has a guess of its own.

    Pieces of a step are of all bodies, so the other one is slow enough for whole steps where there are many.
    """
    ends = []
    for elsewhere in (False, True):
        boxes = [free(box("slow", (0.1, 0.06, 0.04), 1.0, modulus=1e6), (0.0, 0.0, 0.0199))]
        if elsewhere:
            boxes.append(free(box("fast", (0.1, 0.06, 0.04), 1.0, modulus=1e6), (3.0, 0.0, 0.0199)))
        world = make_world(*boxes, environment=[GROUND])
        v = np.zeros(len(world.v))
        v[:6] = 0.02, 0.03, 0.05, 0.2, 0.0, -0.1
        v[6:] = fast * np.array([20.0, 30.0, 10.0, 0.0, 0.0, -1.0])[: len(v) - 6]
        world.set_state(world.q, v)
        world.step(steps)
        ends.append(np.append(world.q[:7], world.v[:6]))
    assert np.array_equal(*ends)
