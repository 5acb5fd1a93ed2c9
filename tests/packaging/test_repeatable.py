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

@settings(max_examples=20, database=None)
@given(st.integers(), st.floats())
def test_draws(x, y):
    print("light drew", x, y)

@pytest.mark.heavy
@settings(max_examples=20, database=None)
@given(st.integers(), st.floats())
def test_draws_much(x, y):
    print("heavy drew", x, y)
"""


@pytest.mark.parametrize(
    ("profile", "light", "heavy", "repeats"),
    [(None, 20, 2, True), ("full", 20, 20, True), ("explore", 200, 200, False)],
)
def test_examples_repeat_unless_told_to_explore(tmp_path, profile, light, heavy, repeats):
    """A tenth of them is drawn of a heavy test, unless for a full run or to explore."""
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "test_draws.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider"]
    command += ["-p", "_hypothesis_pytestplugin", *([f"--hypothesis-profile={profile}"] if profile else [])]
    drawn = []
    for _ in range(2):
        done = subprocess.run(
            [*command, str(tmp_path)],
            cwd=tmp_path,
            # Every other plugin takes its time to be imported.
            env=os.environ | {"PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout
        drawn.append({kind: re.findall(f"{kind} drew .*", done.stdout) for kind in ("light", "heavy")})
    for kind, count in (("light", light), ("heavy", heavy)):
        assert len(drawn[0][kind]) == len(drawn[1][kind]) == count
        assert (drawn[0][kind] == drawn[1][kind]) == repeats
