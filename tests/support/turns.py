"""Expensive tests take turns: a quick run has a share of them, another one after the next commit.

``make test`` runs ``pytest --turns``. A test function of which ``tests/costs.json`` knows that it takes more than
``CHEAP`` seconds of processor time then runs at one in so many commits; plain ``pytest`` and full runs leave none out.
``make test-costs`` measures anew: ``pytest --measure-costs`` sums what every function and the programs that it starts
take, and writes those that are not cheap. ``python -m support.turns`` prints the number of this commit.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import zlib
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

COSTS = Path(__file__).parents[1] / "costs.json"
#: Processor time that every run has for a function, s.
CHEAP = 0.15
#: No test waits for its turn longer than this, commits.
LONGEST_WAIT = 12


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("turns")
    group.addoption(
        "--turns", action="store_true", help="leave out expensive tests whose turn is at other commits"
    )
    group.addoption("--measure-costs", action="store_true", help="measure what tests cost")
    group.addoption("--costs", type=Path, default=COSTS, help="file with what they cost")


def pytest_configure(config: pytest.Config) -> None:
    """Measure where that is asked for."""
    if config.getoption("measure_costs"):
        config.pluginmanager.register(_Meter(config), "costs")


@pytest.hookimpl(tryfirst=True)  # shares of what is heavy are taken of what runs
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has its turn at other commits."""
    if not config.getoption("turns"):
        return
    costs = json.loads(config.getoption("costs").read_text())
    turn = number_of_commits(config.rootpath)
    waiting = [item for item in items if not has_turn(function_of(item.nodeid), costs, turn)]
    if waiting:
        config.hook.pytest_deselected(items=waiting)
        items[:] = [item for item in items if item not in set(waiting)]


def function_of(nodeid: str) -> str:
    """A test without its parameters."""
    return nodeid.partition("[")[0]


def has_turn(function: str, costs: dict[str, float], turn: int) -> bool:
    """Whether a test function runs at a commit of this number; those without known cost always do."""
    wait = min(LONGEST_WAIT, math.ceil(costs.get(function, 0.0) / CHEAP)) or 1
    return (turn + zlib.crc32(function.encode())) % wait == 0


def number_of_commits(folder: Path) -> int:
    """Number of commits up to the one that is checked out; 0 outside of a repository."""
    if _git(folder, "rev-parse", "--is-shallow-repository") == "true":
        # Only the last commits are there: its name is as good as a number that was drawn.
        return int(_git(folder, "rev-parse", "HEAD"), 16)
    return int(_git(folder, "rev-list", "--count", "HEAD") or 0)


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


class _Meter:
    """Sums the processor time of test functions; with workers, each its own, and the controller those of all."""

    def __init__(self, config: pytest.Config) -> None:
        self._config, self._costs = config, Counter[str]()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        begin = os.times()
        result = yield
        self._costs[function_of(item.nodeid)] += sum(os.times()[:4]) - sum(begin[:4])
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        self._costs.update(getattr(node, "workeroutput", {}).get("costs", {}))

    def pytest_sessionfinish(self) -> None:
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["costs"] = dict(self._costs)
        else:
            known = {name: round(cost, 1) for name, cost in sorted(self._costs.items()) if cost > CHEAP}
            self._config.getoption("costs").write_text(json.dumps(known, indent=0) + "\n")


if __name__ == "__main__":
    print(number_of_commits(Path(__file__).parents[2]))
