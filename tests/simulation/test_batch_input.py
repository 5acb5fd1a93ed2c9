"""What users write to batches and no step can use, who may step them, and how the columns of q are called."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from support.simulation.made_scenes import box, fixed, free, make_scene, slider
from support.simulation.side_by_side import host, made_side_by_side

MAKERS = {"cpu": lambda of, n: hs.BatchWorld(of, n, "cpu"), "side by side": made_side_by_side}


def scene() -> Any:
    return make_scene(
        fixed(slider(), xyz=(1.0, 0.0, 1.0)),
        free(box("brick", (0.1, 0.08, 0.06), 0.5), xyz=(0.0, 0.0, 0.2)),
        environment=[{"name": "ground", "kind": "half_space"}],
        solver={"integrator": "fixed"},
    )


@pytest.fixture(params=MAKERS)
def batch(request: pytest.FixtureRequest) -> hs.BatchWorld:
    return MAKERS[request.param](scene(), 3)


NOT_POSITIVE = [
    np.diag([-1.0, 1.0, 1.0]),
    -np.eye(3),
    np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    np.array([[1.0, -0.9, -0.9], [-0.9, 1.0, -0.9], [-0.9, -0.9, 1.0]]),
]


@pytest.mark.parametrize("matrix", NOT_POSITIVE)
def test_what_is_no_inertia_is_told(batch, matrix):
    """Such a body would hover; the third has one negative eigenvalue, the fourth positive minors but the last."""
    assert np.linalg.eigvalsh(matrix).min() < 0.0
    batch.parameters["inertia"][1, -1] = batch.numpy.asarray(1e-3 * matrix)
    batch.step(5)
    told = "inertia has a moment below 0 about some axis; give a positive definite matrix"
    assert batch.failures == {1: told}
    assert host(batch.step_counts).tolist() == [5, 0, 5]


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), np.diag([1.0, 1.0, 0.0]), np.ones((3, 3))])
def test_inertia_without_a_moment_about_some_axis_is_none_of_those(batch, matrix):
    """As thin rods have it, and bodies that only pass on what others weigh."""
    for scale in (1e-9, 1.0, 1e6):
        batch.parameters["inertia"][1, 0] = batch.numpy.asarray(scale * matrix)
        batch.step()
    assert not batch.failures


@pytest.mark.parametrize("name", ["kp", "kd", "limit"])
def test_drives_with_negative_gains_are_told(batch, name):
    getattr(batch.drives, name)[2, 0] = -1.0
    batch.step()
    assert batch.failures == {2: f"{name} is -1; give a number of at least 0"}


def test_drives_are_assigned_in_all_worlds_as_parameters_are(batch):
    batch.drives.effort = 0.5
    batch.drives.effort[1] = 0.0
    batch.drives.effort += 0.25
    assert host(batch.drives.effort)[:, 0].tolist() == [0.75, 0.25, 0.75]
    for values in (None, "a", [1.0, 2.0]):
        with pytest.raises(InputError, match=r"drives\.kp: .* does not fit; give numbers of shape \(3, 7\)"):
            batch.drives.kp = values
    with pytest.raises(AttributeError, match=r"drives\.efort: is none; did you mean 'effort'\?"):
        batch.drives.efort = 0.5


def test_every_world_has_its_time(batch):
    batch.step(4)
    batch.reset([1])
    batch.step(2)
    np.testing.assert_allclose(host(batch.time), batch.time_step * np.array([6, 2, 6]), rtol=1e-15)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (
            lambda batch: batch.apply_wrench("brick", "abc"),
            "wrench on 'brick': is not an array of real numbers",
        ),
        (lambda batch: batch.apply_wrench("brick", np.zeros(6)), "has shape (6,); give (3, 6)"),
        (lambda batch: batch.set_state(1j * batch.q, batch.v), "q: is not an array of real numbers"),
        (lambda batch: batch.contact_wrench("grund"), "contact_wrench: link 'grund': is not in the scene"),
        (lambda batch: batch.contact_wrench("brick", ["ground"]), "cannot touch"),
    ],
)
def test_what_is_no_number_is_told(batch, ask, told):
    with pytest.raises(InputError) as caught:
        ask(batch)
    assert told in str(caught.value)


def test_one_thread_steps_a_batch():
    batch = hs.BatchWorld(scene(), 3, "cpu")
    batch._stepping.acquire()  # as another thread does
    with pytest.raises(InputError, match="is stepped by another thread"):
        batch.step(2)
    assert batch.step_counts.tolist() == [0, 0, 0]
    batch._stepping.release()
    thread = threading.Thread(target=batch.step, args=(2,))
    thread.start()
    thread.join()
    assert batch.step_counts.tolist() == [2, 2, 2]


def test_a_forked_process_steps_a_batch():
    batch = hs.BatchWorld(scene(), 3, "cpu")
    batch.step(2)
    there = multiprocessing.get_context("fork").Process(target=batch.step, args=(2,))
    there.start()
    there.join(60)
    assert there.exitcode == 0


def test_columns_of_q_have_names():
    world = hs.load_scene("cylinder_grasp")
    assert len(world.coordinate_names) == len(world.q) == len(set(world.coordinate_names))
    for name, position in (("joint_3", 0.4), ("joint_6", -0.3)):
        world.set_joint_positions({name: position})
        assert world.q[world.coordinate_names.index(name)] == position
    place = [world.coordinate_names.index(f"cylinder_base/{part}") for part in "xyz"]
    np.testing.assert_allclose(world.q[place], world.frame_pose("cylinder")[:3, 3], atol=1e-15)
    turn = [world.coordinate_names.index(f"cylinder_base/q{part}") for part in "wxyz"]
    assert np.linalg.norm(world.q[turn]) == pytest.approx(1.0)


def test_a_pickled_batch_goes_on_to_the_last_bit():
    """With its commands, wrenches and parameters; a world that cannot go on stays so."""
    batch = hs.BatchWorld([scene(), scene()], 4, "cpu")
    batch.parameters["friction"][...] *= np.linspace(0.5, 1.5, 4)[:, None]
    batch.drives.effort[...] = 2.0
    batch.apply_wrench("cart", np.outer(np.arange(4.0), np.ones(6)))
    batch.drives.effort[3] = np.nan
    batch.step(20)
    other = pickle.loads(pickle.dumps(batch))
    assert other.failures == batch.failures
    assert list(other.failures) == [3]
    for one in (batch, other):
        one.step(20)
    for name in ("q", "v", "step_counts", "scene_of"):
        assert np.array_equal(getattr(batch, name), getattr(other, name)), name


def test_worlds_on_a_gpu_are_not_pickled():
    with pytest.raises(InputError, match="has its worlds on a GPU; pickle the states that save gives"):
        pickle.dumps(made_side_by_side(scene(), 2))


class Subclass(hs.BatchWorld):
    """A batch that somebody has made their own."""


def test_a_pickle_needs_no_file_and_keeps_its_class(tmp_path):
    (tmp_path / "tetrahedron.obj").write_text(
        "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
    )
    builder = hs.SceneBuilder("one", solver={"integrator": "fixed"})
    builder.add_body("one", 1.0, xyz=(0, 0, 1)).add_shape("mesh", path=str(tmp_path / "tetrahedron.obj"))
    builder.add_static("ground", "half_space")
    batch = Subclass(builder.build(), 2, "cpu")
    batch.step(3)
    (tmp_path / "tetrahedron.obj").unlink()
    other = pickle.loads(pickle.dumps(batch))
    assert type(other) is Subclass
    for one in (batch, other):
        one.step(3)
    assert np.array_equal(batch.q, other.q)


def test_what_another_thread_steps_is_not_pickled():
    batch = hs.BatchWorld(scene(), 2, "cpu")
    with batch._alone("step"), pytest.raises(InputError, match="pickle: batch: is stepped by another thread"):
        pickle.dumps(batch)
