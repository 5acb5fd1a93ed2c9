"""Searches for parameters, on functions whose answer is known."""

import numpy as np
import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.optimisation.search import by_cross_entropy, by_gradient, by_secants, least_step

SLOPES = np.random.default_rng(0).standard_normal((3, 12))
OFFSET = np.array([2.0, -1.0, 0.5])


def linear(x):
    return OFFSET + SLOPES @ x


def bent(x):
    """Linear but for a square along one direction, with its derivatives."""
    along = np.eye(12)[3]
    curve = np.array([0.5, 0.0, -0.3])
    return linear(x) + curve * (along @ x) ** 2, SLOPES + 2.0 * np.outer(curve, along) * (along @ x)


def test_a_step_is_the_shortest_that_takes_the_miss_off():
    step = least_step(OFFSET, SLOPES, 0.0, np.inf)
    np.testing.assert_allclose(step, np.linalg.lstsq(SLOPES, -OFFSET, rcond=None)[0], rtol=1e-12)
    assert np.abs(least_step(OFFSET, SLOPES, 0.0, 0.1)).max() == pytest.approx(0.1, rel=1e-12)
    assert np.linalg.norm(least_step(OFFSET, SLOPES, 1.0, np.inf)) < np.linalg.norm(step)


def test_gradients_find_the_root_of_a_bent_function():
    found = by_gradient(bent, np.zeros(12), 1e-6, 20, 1.0)
    np.testing.assert_allclose(bent(found.parameters)[0], 0.0, atol=1e-6)
    assert found.rollouts < 10
    np.testing.assert_array_equal(found.slopes, bent(found.parameters)[1])


def test_gradients_keep_the_best_and_stop_after_the_most_rollouts():
    """Derivatives of the wrong sign: every step makes the miss longer."""
    found = by_gradient(lambda x: (linear(x), -SLOPES), np.zeros(12), 1e-6, 7, 1.0)
    assert found.rollouts == 7
    np.testing.assert_array_equal(found.parameters, np.zeros(12))


def test_secants_mend_derivatives_that_are_off():
    """Of a linear function, on which Broyden's method ends within twice as many steps as there are parameters."""
    wrong = SLOPES * np.random.default_rng(1).uniform(0.7, 1.4, SLOPES.shape)
    found = by_secants(linear, np.zeros(12), wrong, 1e-9, 20, np.inf)
    np.testing.assert_allclose(linear(found.parameters), 0.0, atol=1e-9)
    assert found.rollouts <= 1 + 2 * 12
    right = by_secants(linear, np.zeros(12), SLOPES, 1e-2, 20, np.inf)
    assert right.rollouts == 2


def within(length):
    return lambda miss: np.linalg.norm(miss) <= length


def test_the_cross_entropy_method_counts_what_it_tries():
    tried = []

    def evaluate(x):
        tried.append(x)
        return linear(x)

    found = by_cross_entropy(evaluate, np.zeros(12), 0.5, within(0.1), 5000, np.random.default_rng(2))
    assert np.linalg.norm(linear(found.parameters)) <= 0.1
    assert found.rollouts == len(tried)
    few = by_cross_entropy(evaluate, np.zeros(12), 0.5, within(0.0), 100, np.random.default_rng(2))
    assert few.rollouts == 100


def test_the_cross_entropy_method_ends_with_the_first_draw_that_is_near_enough():
    """Near in each part counts, though the whole be longer than that of one that is not."""
    misses = [np.array(miss) for miss in ([3.0, 0.0, 0.0], [1.05, 0.0, 0.0], [0.9, 0.9, 0.9])]
    told = iter([*misses, np.zeros(3)])
    tried = []

    def evaluate(x):
        tried.append(x)
        return next(told)

    def is_near(miss):
        return bool(np.abs(miss).max() <= 1.0)

    found = by_cross_entropy(evaluate, np.zeros(2), 0.5, is_near, 100, np.random.default_rng(2))
    assert found.rollouts == len(tried) == 3
    np.testing.assert_array_equal(found.miss, misses[2])
    np.testing.assert_array_equal(found.parameters, tried[2])


def blows_up(beyond):
    """A motion that ends at no number where the first parameter is large."""
    return lambda x: np.full(3, np.nan) if x[0] > beyond else OFFSET + np.array([-2.0, 0.0, 0.0]) * x[0]


def test_a_motion_that_blows_up_is_worse_than_any_other():
    slopes = np.zeros((3, 2))
    slopes[0, 0] = -1.0  # by half too little, so that every first step goes too far
    motion = blows_up(1.5)
    ways = (
        by_gradient(lambda x: (motion(x), slopes), np.zeros(2), 0.0, 12, 5.0),
        by_secants(motion, np.zeros(2), slopes, 0.0, 12, 5.0),
        by_cross_entropy(motion, np.array([9.0, 0.0]), 5.0, within(0.0), 200, np.random.default_rng(2)),
    )
    for found in ways:
        assert np.isfinite(found.parameters).all()
        np.testing.assert_allclose(found.miss[0], 0.0, atol=0.3)


@pytest.mark.parametrize(
    ("search", "words"),
    [
        (
            lambda: by_gradient(lambda x: (x * np.nan, np.eye(2)), np.zeros(2), 0.1, 9, 1.0),
            "start: the miss or its",
        ),
        (
            lambda: by_secants(lambda x: x, np.zeros(2), np.full((2, 2), np.nan), 0.1, 9, 1.0),
            "start: the miss or",
        ),
        (lambda: by_gradient(bent, np.zeros(12), np.nan, 9, 1.0), "near: is nan; give a number, 0 or more"),
        (
            lambda: by_secants(linear, np.zeros(12), SLOPES, 0.1, 9, np.nan),
            "longest: is nan; give a number above 0",
        ),
        (
            lambda: by_cross_entropy(linear, np.zeros(12), np.nan, within(1.0), 9, np.random.default_rng(0)),
            "deviation: is nan",
        ),
    ],
)
def test_what_is_no_number_is_refused_and_is_no_goal_that_is_reached(search, words):
    with pytest.raises(InputError, match=words):
        search()
