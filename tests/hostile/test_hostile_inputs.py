"""Files of strangers: each ends in success or in one line of error, soon, in little memory, and does nothing else.

Of every group one case in twenty runs; ``make hostile`` runs all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from support.hostile.cases import CANARY, Case, all_cases
from support.hostile.runner import Runner, runner

_SHARE = 20
_GROUPS = all_cases()


@pytest.fixture(scope="module")
def server() -> Iterator[Runner]:
    with runner() as running:
        yield running


def test_the_corpus_is_large():
    assert sum(map(len, _GROUPS.values())) >= 990


@pytest.mark.parametrize("group", _GROUPS)
def test_inputs_do_no_harm(server, group, full_run):
    cases = _GROUPS[group] if full_run else _GROUPS[group][::_SHARE]
    found = {}
    for case in cases:
        problems = server.problems(case)
        if problems:
            found[case.name] = problems
            print(case.name, *problems, sep="\n    ", file=sys.stderr)
    assert found == {}


def test_harm_is_noticed(server, tmp_path):
    """The harness itself: a file that lies there is changed, a canary is made."""

    def write(folder):
        return [
            "run",
            "drop_box",
            "--headless",
            "--duration",
            "0.002",
            "--overwrite",
            "--json",
            "precious.txt",
        ]

    assert server.problems(Case("harness", "overwrites", write)) == ["precious.txt was changed"]

    def pretend(folder):
        return ["run", "drop_box", "--headless", "--duration", "0.002", "--json", CANARY]

    assert "a command of the input was run" in server.problems(Case("harness", "runs", pretend))
