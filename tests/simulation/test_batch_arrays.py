"""Arrays of batches in other libraries: the same memory, states read and commands written where they are."""

import numpy as np
import pytest

import hydro_sim_core as hs
from support.simulation.made_scenes import make_scene, slider

jax = pytest.importorskip("jax", reason="JAX is not installed: it needs NumPy 2")

#: No multiple of anything, so that arrays would not begin at round addresses by chance.
N = 7
SCENE = make_scene(
    {"robot": slider(), "base": "fixed"},
    actuators=[{"joints": ["rail_joint"], "mode": "effort"}],
    solver={"integrator": "fixed"},
)


@pytest.fixture
def batch():
    """Sliders at different places."""
    made = hs.BatchWorld(SCENE, N, "cpu")
    made.set_state(np.linspace(-0.3, 0.3, N)[:, None], np.zeros((N, 1)))
    return made


@pytest.fixture
def double():
    """JAX with numbers of 64 bits."""
    with jax.enable_x64(True):
        yield


def arrays_of(batch):
    return {"q": batch.q, "v": batch.v, **batch.drives._asdict(), **batch.parameters}


def test_jax_takes_over_all_arrays_without_a_copy(batch, double):
    for name, array in arrays_of(batch).items():
        if array.size:
            taken = jax.dlpack.from_dlpack(array, copy=False)  # raises if it could not
            assert (taken.shape, taken.dtype) == (array.shape, array.dtype), name
            assert taken.unsafe_buffer_pointer() == array.ctypes.data, name


def test_numpy_takes_over_all_arrays_by_both_protocols(batch):
    for name, array in arrays_of(batch).items():
        taken = np.from_dlpack(array)
        assert np.shares_memory(taken, array) or not array.size, name
        assert array.__array_interface__["data"] == (array.ctypes.data, False), name  # not for reading alone


def test_arrays_stay_where_they_are(batch):
    """What has taken them over follows the worlds through steps, resets and loaded states."""
    places = {name: array.ctypes.data for name, array in arrays_of(batch).items()}
    seen = np.from_dlpack(batch.q)
    batch.drives.effort[...] = 1.0
    batch.step(20)
    assert np.array_equal(seen, np.array([batch.copy_of(i).q for i in range(N)]))
    assert np.all(seen[:, 0] > np.linspace(-0.3, 0.3, N))
    saved = batch.save(3)
    batch.reset()
    assert not np.any(seen)
    batch.load(5, saved)
    assert seen[5] == saved.state.q
    assert {name: array.ctypes.data for name, array in arrays_of(batch).items()} == places


def test_a_policy_in_jax_sees_and_commands_the_worlds(batch, double):
    """To the bits of one in NumPy, world by world."""
    alone = [batch.copy_of(i) for i in range(N)]

    @jax.jit
    def policy(q, v):
        return -64.0 * q - 8.0 * v

    for _ in range(10):
        q, v = (jax.dlpack.from_dlpack(array) for array in (batch.q, batch.v))
        batch.drives.effort[...] = policy(q, v)
        batch.step(5)
        for world in alone:
            world.set_command({"rail_joint": float(-64.0 * world.q[0] - 8.0 * world.v[0])})
            world.step(5)
    assert np.array_equal(batch.q[:, 0], [world.q[0] for world in alone])
    assert np.all(np.abs(batch.q[:, 0]) <= np.abs(np.linspace(-0.3, 0.3, N)))


def test_states_and_wrenches_come_as_arrays_of_jax(batch, double):
    q = jax.numpy.linspace(0.0, 0.1, N)[:, None]
    batch.set_state(q, jax.numpy.zeros((N, 1)))
    assert np.array_equal(batch.q, np.asarray(q))
    link = batch.world.frame_names[-1]
    batch.apply_wrench(link, jax.numpy.zeros((N, 6)).at[2, 3].set(5.0))
    batch.step(10)
    assert np.flatnonzero(np.abs(batch.v[:, 0]) > 1e-9).tolist() == [2]
