"""Property tests draw the same examples for the same commit, and others when they are told to explore."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TEST = """
import pytest
from hypothesis import given, settings, strategies as st

{mark}
@settings(max_examples=20, database=None)
@given(st.integers(), st.floats())
def test_draws(x, y):
    print("drew", x, y)
"""
HEAVY = "@pytest.mark.heavy"


@pytest.mark.parametrize(
    ("mark", "options", "count", "repeats"),
    [
        ("", [], 20, True),
        ("", ["full"], 20, True),
        ("", ["explore"], 200, False),
        (HEAVY, [], 2, True),
        (HEAVY, ["full"], 20, True),
        (HEAVY, ["explore"], 200, False),
    ],
)
def test_examples_repeat_unless_told_to_explore(tmp_path, mark, options, count, repeats):
    """A tenth of them is drawn of a heavy test, unless for a full run or to explore."""
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "test_draws.py").write_text(TEST.format(mark=mark))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-s",
        "-p",
        "no:cacheprovider",
        *map("--hypothesis-profile={}".format, options),
    ]
    drawn = []
    for _ in range(2):
        done = subprocess.run(
            [*command, str(tmp_path)],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(TESTS)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout
        drawn.append(re.findall(r"drew .*", done.stdout))
    assert len(drawn[0]) == len(drawn[1]) == count
    assert (drawn[0] == drawn[1]) == repeats
