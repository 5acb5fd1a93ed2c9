"""The search for pushes, as far as it needs no derivatives; what it finds is in ``tests/cli/test_optimize.py``."""

from types import SimpleNamespace

import numpy as np
import pytest

from hydro_sim_core.experiments.planar_push.bodies import miss
from hydro_sim_core.optimisation import push
from hydro_sim_core.optimisation.push import GOALS, PushSearch, Tolerance


@pytest.fixture
def make_search(monkeypatch):
    """A search without derivatives, for a tolerance."""
    monkeypatch.setattr(push, "SmoothPush", lambda *settings: SimpleNamespace(steps=500))
    return PushSearch


@pytest.fixture
def search(make_search):
    return make_search()


@pytest.mark.parametrize(("informed", "pushes", "rollouts"), [(False, 1, 4), (True, 2, 2)])
def test_the_cross_entropy_method_counts_its_steps_and_tells_where_its_best_ends(
    make_search, informed, pushes, rollouts
):
    """The last goal takes two pushes where guesses are in closed form, and these alone end about a centimetre off."""
    told, search = [], make_search(Tolerance(distance=0.012))
    found = search.by_cross_entropy(GOALS[4], 0, 4, informed, told.append)
    assert len(found.paths) == pushes
    assert found.is_reached == informed
    assert found.effort[:3] == (0, rollouts, 1000 * rollouts)
    assert told[-1] == f"cross-entropy, {rollouts} pushes"
    assert found.poses.shape == (pushes + 1, 3)
    assert miss(found.poses[-1], GOALS[4]) == (found.distance, found.angle)
    # Played again it ends there, to the last bit.
    np.testing.assert_array_equal(search._play(found.paths, None), found.poses[-1])


def test_the_cross_entropy_method_ends_as_soon_as_the_goal_is_reached(search, monkeypatch):
    """By the tolerance that results are judged by, with which a miss may be 1.4 tolerances long in all."""
    goal = GOALS[0]
    off = [np.array([0.02, 0.0, 0.0]), np.array([0.009, 0.0, np.radians(4.5)]), np.zeros(3)]
    ends = iter([goal + part for part in off])
    played = []

    def play(paths, before):
        if any(np.array_equal(paths[0], path) for path in played):
            return goal + off[1]  # played again for the record
        played.append(paths[0])
        search._rollouts += 1
        return next(ends)

    monkeypatch.setattr(search, "_play", play)
    found = search.by_cross_entropy(goal, 0, 2000, False)
    assert found.is_reached
    assert found.effort.rollouts == 2
    assert (found.distance, found.angle) == pytest.approx((0.009, np.radians(4.5)))


def test_goals_are_beyond_the_tolerance_and_within_reach(search):
    for goal in GOALS:
        push.check_goal(goal, search.tolerance)
        assert np.hypot(*goal[:2]) > 0.1
