"""Expensive tests take turns, and what they cost is measured."""

import itertools
import json
from pathlib import Path

import pytest

from support.turns import CHEAP, COSTS, LONGEST_WAIT, function_of, has_turn

pytest_plugins = ["pytester"]
TESTS = Path(__file__).parents[1]
TEST = """
import time
import pytest

def burn(seconds):
    begin = time.process_time()
    while time.process_time() - begin < seconds: ...

def test_cheap(): ...

@pytest.mark.parametrize("part", [1, 2])
def test_expensive(part):
    burn(0.3)
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run those tests and return how many passed and how many were left out."""
    pytester.makepyfile(test_both=TEST)
    pytester.makeini("[pytest]\n")
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(*options):
        common = ("-p", "support.turns", "-p", "no:cacheprovider", "--costs", "costs.json")
        done = pytester.runpytest_subprocess(*common, *options)
        outcomes = done.parseoutcomes()
        return outcomes.get("passed", 0), outcomes.get("deselected", 0)

    return run


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "--numprocesses", "2")])
def test_costs_are_measured_and_left_out_at_other_commits(run, pytester, workers):
    assert run("--measure-costs", *workers) == (3, 0)
    costs = json.loads((pytester.path / "costs.json").read_text())
    assert list(costs) == ["test_both.py::test_expensive"]  # of all its cases
    assert costs["test_both.py::test_expensive"] >= CHEAP
    assert run() == (3, 0)
    # No repository here: it is the commit of number 0.
    expected = (3, 0) if has_turn("test_both.py::test_expensive", costs, 0) else (1, 2)
    assert run("--turns", *workers) == (expected if not workers else (expected[0], 0))


@pytest.mark.parametrize("cost", [0.1, CHEAP + 0.1, 3.0 * CHEAP, 1e3])
def test_every_test_has_its_turn_as_often_as_it_is_cheap(cost):
    names = [f"tests/test_{i}.py::test_it" for i in range(50)]
    for name in names:
        turns = [turn for turn in range(120) if has_turn(name, {name: cost}, turn)]
        waits = {later - sooner for sooner, later in itertools.pairwise(turns)}
        assert len(waits) == 1
        assert cost / CHEAP <= waits.pop() or cost > LONGEST_WAIT * CHEAP
        assert turns[0] < LONGEST_WAIT
    # They do not all wait for the same commit.
    running = [sum(has_turn(name, {name: 1e3}, turn) for name in names) for turn in range(LONGEST_WAIT)]
    assert sum(running) == len(names)
    assert max(running) < len(names) / 2


def test_the_costs_are_of_tests_that_exist():
    for function in json.loads(COSTS.read_text()):
        path, *_, name = function.split("::")
        text = (TESTS.parent / path).read_text() if (TESTS.parent / path).exists() else ""
        assert f"def {name}(" in text, f"{function}: measure anew with make test-costs"


def test_cases_are_of_one_function():
    assert function_of("tests/a.py::TestB::test_c[d-[e]]") == "tests/a.py::TestB::test_c"
