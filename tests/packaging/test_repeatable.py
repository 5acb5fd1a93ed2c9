"""Property tests draw the same examples for the same commit, and others when they are told to explore."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TEST = """
from hypothesis import given, settings, strategies as st

@settings(max_examples=20, database=None)
@given(st.integers(), st.floats())
def test_draws(x, y):
    print("drew", x, y)
"""


@pytest.mark.parametrize(("options", "count", "repeats"), [([], 20, True), (["explore"], 200, False)])
def test_examples_repeat_unless_told_to_explore(tmp_path, options, count, repeats):
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_draws.py").write_text(TEST)
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
            [*command, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout
        drawn.append(re.findall(r"drew .*", done.stdout))
    assert len(drawn[0]) == len(drawn[1]) == count
    assert (drawn[0] == drawn[1]) == repeats
