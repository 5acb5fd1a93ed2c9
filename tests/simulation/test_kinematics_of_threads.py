"""Kinematics of a world at states that several threads ask for at once."""

from __future__ import annotations

import pickle
import sys
import threading

import numpy as np
import pytest

import hydro_sim_core as hs


@pytest.fixture
def chain():
    scene = hs.SceneBuilder()
    model = scene.add_model("chain")
    model.add_link("link_0")
    for i in range(6):
        model.add_link(f"link_{i + 1}", 1.0, inertia=(0.1, 0.1, 0.1))
        axis = np.roll((1, 0, 0), i)
        model.add_joint(
            f"joint_{i}", "continuous", f"link_{i}", f"link_{i + 1}", xyz=(0.1, 0.2, 0.3), axis=axis
        )
    return hs.World(scene.build())


def kinematics(world, seed):
    """Poses and twists at a state that the seed draws."""
    q, v = np.random.default_rng(seed).normal(size=(2, 6))
    return world.frame_poses(q), world.frame_twists(q, v)


def test_each_thread_is_told_of_the_state_that_it_asks_for(chain):
    expected = [kinematics(chain.copy(), seed) for seed in range(4)]
    wrong = []

    def ask(seed):
        for _ in range(300):
            for found, right in zip(kinematics(chain, seed), expected[seed], strict=True):
                if not np.array_equal(found, right):
                    wrong.append(seed)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_asking_about_another_state_leaves_the_world_where_it_is(chain):
    chain.step(100)
    before, mass = chain.frame_poses(), chain.mass_matrix()
    for world in (chain, chain.copy(), pickle.loads(pickle.dumps(chain))):
        kinematics(world, 1)
        np.testing.assert_array_equal(world.frame_poses(), before)
        np.testing.assert_array_equal(world.mass_matrix(), mass)
