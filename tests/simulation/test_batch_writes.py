"""What is written to a batch acts, or is refused; what no step can use is told, and who steps it is not disturbed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from support.simulation.made_scenes import GROUND, G, box, free, make_scene, sphere
from support.simulation.side_by_side import MAKERS, Maker, host

N = 3


@pytest.fixture(params=MAKERS)
def maker(request: pytest.FixtureRequest) -> Maker:
    return MAKERS[request.param]


def two_balls(**solver: Any) -> Any:
    return make_scene(
        free(sphere("one", 0.05, 0.3, modulus=1e6), (0, 0, 1.0)),
        free(sphere("other", 0.05, 0.3, modulus=1e6), (1.0, 0, 1.0)),
        environment=[GROUND],
        solver=solver or {"integrator": "fixed"},
    )


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("mass", 0.0, "mass is 0; give one above 0 to a body that floats"),
        ("mass", -1.0, "mass is -1; give one above 0 to a body that floats"),
        ("inertia", 0.0, "inertia has no moment about some axis, of a body that floats"),
        (
            "inertia",
            np.diag([1e-4, 1e-4, 0.0]),
            "inertia has no moment about some axis, of a body that floats",
        ),
    ],
)
def test_a_body_that_nothing_can_move_is_told(maker: Maker, name: str, value: Any, told: str) -> None:
    """It would hover, as its equations have no solution; the others fall on."""
    batch = maker(two_balls(), N)
    batch.parameters[name][1, 0] = batch.numpy.asarray(value)
    batch.step(10)
    assert list(batch.failures) == [1]
    assert batch.failures[1].startswith(told)
    np.testing.assert_allclose(host(batch.v)[[0, 2]][:, [5, 11]], -10 * G * batch.time_step)


@pytest.mark.parametrize("share", [1.0, 1e-6, 1e3])
def test_inertias_of_flat_and_long_bodies_are_taken(maker: Maker, share: float) -> None:
    batch = maker(two_balls(), N)
    batch.parameters["inertia"][0, 0] = batch.numpy.asarray(share * np.diag([1e-4, 1e-4, 2e-4]))
    batch.parameters["inertia"][1, 0] = batch.numpy.asarray(share * np.diag([1e-3, 1e-3, 1e-7]))
    batch.step()
    assert not batch.failures


def test_parameters_that_no_step_reads_are_refused() -> None:
    soft = hs.BatchWorld(two_balls(model="soft"), N, "cpu")
    for name in ("friction", "dissipation"):
        assert name not in soft.parameters
        with pytest.raises(InputError, match=f"parameter '{name}': is read when a scene of smooth contact"):
            soft.parameters[name] = 0.3
    linear = hs.BatchWorld(two_balls(friction="sap"), N, "cpu")
    linear.parameters["friction"] = 0.3
    with pytest.raises(InputError, match="parameter 'dissipation': is read by no step where the scene has"):
        linear.parameters["dissipation"][...] = 3.0
    assert set(soft.parameters) < set(linear.parameters)


def test_steps_that_went_wrong_are_counted_for_all_worlds(maker: Maker) -> None:
    """A box that starts below the ground has no faces, and falls; one above it lands."""
    scene = make_scene(
        free(box("box", (0.1, 0.1, 0.1), 1.0, modulus=1e6), (0, 0, 0.1)),
        environment=[GROUND],
        solver={"integrator": "fixed"},
    )
    batch = maker(scene, N)
    q = host(batch.q)
    q[1, 6] = -0.1
    batch.set_state(q, host(batch.v))
    batch.step(20)
    told = batch.diagnostics()
    alone = [batch.copy_of(i).diagnostics() for i in range(N)]
    assert set(told) == {"unconverged_steps", "unsettled_steps", "deep_steps", "faceless_steps"}
    for name, counts in told.items():
        assert host(counts).tolist() == [one[name] for one in alone]
    assert host(told["faceless_steps"])[1] > 10
    assert host(told["faceless_steps"])[0] == 0


def test_a_reset_takes_back_what_was_written_for_velocities_without_a_drive(maker: Maker) -> None:
    """A floating body takes efforts as well; one that is left over would push it, and NaN keep its world for good."""
    batch = maker(two_balls(), N)
    start = [host(rows).copy() for rows in batch.drives]
    batch.drives.effort[0, 5] = 50.0
    batch.drives.effort[1, 5] = np.nan
    batch.drives.kp = 3.0
    batch.drives.limit = 7.0
    batch.step()
    assert list(batch.failures) == [1]
    batch.reset([0, 1])
    for rows, first in zip(batch.drives, start, strict=True):
        np.testing.assert_array_equal(host(rows)[:2], first[:2])
    batch.step(10)
    assert not batch.failures
    np.testing.assert_allclose(host(batch.v)[:2, [5, 11]], -10 * G * batch.time_step)


def test_who_steps_a_batch_is_not_disturbed() -> None:
    """By nothing that writes to the worlds, or would read a world in the middle of a step."""
    batch = hs.BatchWorld(two_balls(), N, "cpu")
    saved = batch.save(0)
    calls: dict[str, Callable[[], Any]] = {
        "reset": lambda: batch.reset([0]),
        "set_state": lambda: batch.set_state(batch.q.copy(), batch.v.copy()),
        "apply_wrench": lambda: batch.apply_wrench("one", np.zeros((N, 6))),
        "save": lambda: batch.save(0),
        "load": lambda: batch.load(0, saved),
        "copy_of": lambda: batch.copy_of(0),
    }
    thread = threading.Thread(target=batch.step, args=(40_000,))
    thread.start()
    try:
        while not batch.step_counts.any():
            time.sleep(0.001)
        for name, call in calls.items():
            with pytest.raises(InputError, match=f"{name}: batch: is stepped by another thread"):
                call()
        assert thread.is_alive()
    finally:
        thread.join()
    assert batch.step_counts.tolist() == N * [40_000]
    for call in calls.values():
        call()


def test_lists_of_several_lengths_are_refused_in_words() -> None:
    batch = hs.BatchWorld(two_balls(), N, "cpu")
    with pytest.raises(InputError, match="set_state: q: is not an array of real numbers"):
        batch.set_state([[1.0], [1.0, 2.0]], batch.v)
    ragged: Any = [0, [0, 1], 0]
    with pytest.raises(InputError, match="scene_of: is"):
        hs.BatchWorld([two_balls(), two_balls()], N, "cpu", scene_of=ragged)


def test_nothing_and_too_much_are_refused_in_words() -> None:
    batch = hs.BatchWorld(two_balls(), N, "cpu")
    before = batch.parameters["mass"].copy()
    with pytest.raises(InputError, match="parameter 'mass': None does not fit"):
        batch.parameters["mass"] = None
    np.testing.assert_array_equal(batch.parameters["mass"], before)
    for many in (10**18, 10**19, 10**400):
        with pytest.raises(InputError, match="BatchWorld: n"):
            hs.BatchWorld(two_balls(), many, "cpu")
