"""The search for pushes, as far as it needs no derivatives; what it finds is in ``tests/cli/test_optimize.py``."""

from types import SimpleNamespace

import numpy as np
import pytest

from hydro_sim_core.experiments.planar_push.bodies import miss
from hydro_sim_core.optimisation import push
from hydro_sim_core.optimisation.push import GOALS, PushSearch


@pytest.fixture
def search(monkeypatch):
    monkeypatch.setattr(push, "SmoothPush", lambda *settings: SimpleNamespace(steps=500))
    return PushSearch()


@pytest.mark.parametrize(("informed", "pushes"), [(False, 1), (True, 2)])
def test_the_cross_entropy_method_counts_its_steps_and_tells_where_its_best_ends(search, informed, pushes):
    """The last goal takes two pushes at least where guesses are in closed form."""
    told = []
    found = search.by_cross_entropy(GOALS[4], 0, 4, informed, told.append)
    assert len(found.paths) == pushes
    assert found.effort[:3] == (0, 4, 4000)
    assert told[-1] == "cross-entropy, 4 pushes"
    assert found.poses.shape == (pushes + 1, 3)
    assert miss(found.poses[-1], GOALS[4]) == (found.distance, found.angle)
    # Played again it ends there, to the last bit.
    np.testing.assert_array_equal(search._play(found.paths, None), found.poses[-1])


def test_goals_are_beyond_the_tolerance_and_within_reach(search):
    for goal in GOALS:
        push.check_goal(goal, search.tolerance)
        assert np.hypot(*goal[:2]) > 0.1
