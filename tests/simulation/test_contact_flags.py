"""What a world makes of the flags of its search for faces: lost force, and overlap without any face."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from support.simulation.made_scenes import GROUND, free, make_world, sphere


@pytest.fixture
def two_balls() -> hs.World:
    """Two balls that press on the ground and on each other, stepped once."""
    first = free(sphere("first", 0.1, 1.0), (0, 0, 0.099))
    second = free(sphere("second", 0.1, 1.0), (0.199, 0, 0.099))
    world = make_world(first, second, environment=[GROUND])
    world.step()
    assert len(world.contacts) == 3
    return world


def set_flags(world: hs.World, dropped: dict[int, float], faceless: list[int]) -> None:
    """Write what a step would leave: dropped forces by patch, N, and pairs without faces."""
    patches = world._scratch.patches
    patches.dropped_force[:] = 0.0
    for patch, force in dropped.items():
        patches.dropped_force[patch] = force
    patches.num_faceless[0] = len(faceless)
    patches.faceless_pair[: len(faceless)] = faceless


def test_dropped_force_reaches_its_patch(two_balls: hs.World) -> None:
    set_flags(two_balls, {1: 1e3}, [])
    patches = two_balls.contacts
    assert [patch.dropped_force for patch in patches] == [0.0, 1e3, 0.0]
    assert [patch.quality.is_deep for patch in patches] == [False, True, False]
    carried = float(patches[1].areas @ np.maximum(patches[1].pressures, 0.0))
    assert patches[1].quality.lost_force_share == pytest.approx(1e3 / (1e3 + carried), rel=1e-12)
    summary = two_balls.contact_summary()
    assert [(p.name_a, p.name_b) for p in summary.deep] == [(patches[1].name_a, patches[1].name_b)]


def test_overlaps_without_faces_are_named(two_balls: hs.World) -> None:
    """In the same order of links as patches are."""
    names = [(patch.name_a, patch.name_b) for patch in two_balls.contacts]
    pairs = two_balls.record_contacts().pair
    set_flags(two_balls, {}, [int(pairs[2]), int(pairs[0])])
    assert two_balls.contact_summary().faceless_overlaps == (names[2], names[0])
    assert two_balls.diagnostics()["faceless_overlaps"] == 2
    snapshot = take_snapshot(two_balls, 0)
    set_flags(two_balls, {}, [])
    assert snapshot.contact_summary.faceless_overlaps == (names[2], names[0])
    assert two_balls.contact_summary().faceless_overlaps == ()


@pytest.mark.parametrize("stiffness", [None, 1e7])
def test_rigid_bodies_that_are_pressed_into_each_other_are_told(stiffness: float | None) -> None:
    """A press that goes where it is told takes a cube between it and the ground, at forces of 100 MN.

    One that was told to yield, by a point_stiffness, does as it was told.
    """
    values = {} if stiffness is None else {"point_stiffness": stiffness}
    scene = hs.SceneBuilder("press", contact={"compliance": "rigid", **values})
    scene.add_ground()
    scene.add_body("cube", 1.0, xyz=(0, 0, 0.05)).add_shape("box", size=3 * (0.1,))
    press = scene.add_model("press", base="kinematic", xyz=(0, 0, 0.15))
    press.add_link("press").add_shape("box", size=(0.3, 0.3, 0.1))
    scene.add_command(-0.05, model="press", mode="vz")
    world = hs.World(scene.build())
    world.step(21)
    summary = world.contact_summary()
    if stiffness is not None:
        assert summary.warnings == ()
        return
    # Faces are those of where the last step, or a piece of it, began.
    assert 0.999e-3 < sum(depth for _, depth in summary.rigid_overlaps) < 1.05e-3
    told = [str(warning) for warning in summary.warnings]
    assert [line[: line.index(", and 0.")] for line in told] == [
        "cube on press: both are rigid",
        "cube on ground: both are rigid",
    ]


def test_counts_are_reported_and_reset(two_balls: hs.World) -> None:
    two_balls._state.deep[0], two_balls._state.faceless[0] = 3, 5
    set_flags(two_balls, {}, [0])
    report = two_balls.diagnostics()
    assert (report["deep_steps"], report["faceless_steps"], report["faceless_overlaps"]) == (3, 5, 1)
    two_balls.reset()
    report = two_balls.diagnostics()
    assert (report["deep_steps"], report["faceless_steps"], report["faceless_overlaps"]) == (0, 0, 0)


def test_sound_contact_sets_no_flag(two_balls: hs.World) -> None:
    runner = FixedRateRunner(two_balls, float("inf"), start_paused=True)
    runner.start()
    try:
        snapshot = runner.step(50)
    finally:
        runner.stop()
    assert len(snapshot.contacts) == 3
    assert all(patch.dropped_force == 0.0 for patch in snapshot.contacts)
    assert snapshot.contact_summary.faceless_overlaps == ()
    assert snapshot.diagnostics["deep_steps"] == snapshot.diagnostics["faceless_steps"] == 0
